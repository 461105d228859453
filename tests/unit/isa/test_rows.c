/*
 * Every VALU row with a lane oracle through the whole of the VALU: decoded from VOP3 or VOP3P words
 * with random operands (vector and scalar registers, inline constants), neg, abs, op_sel and clamp,
 * under full, partial and empty EXEC. The oracle knows only the arithmetic; operands, modifiers and
 * placement are worked out here, from the ISA document's description.
 */
#include <stdio.h>

#include "lane_oracle/oracle.h"
#include "wave_fixture.h"

enum { ROUNDS = 24, SRC0 = 0, SRC1 = 4, SRC2 = 8, DST = 12, SGPR = 40, VCC = 106, SDST = 20 };

static struct fixture f;
static unsigned below(unsigned n)
{
    return (unsigned)(random64() >> 20) % n;
}

/* ---- types ---- */

static bool is_packed16(unsigned type)
{
    return type == RP_T_PK16 || type == RP_T_PKF16;
}

static bool has_sign(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_F32 || type == RP_T_F64;
}

/* Edges of floats and integers alike, and noise. */
static uint64_t random_value(unsigned type)
{
    static const uint64_t words[] = {0,          0x80000000, 1,          0x7f800000, 0xff800000,
                                     0x7fc00000, 0x7f800001, 0x3f800000, 0xbf800000, 0x40490fdb,
                                     0x00400000, 0x7f7fffff, 0xffffffff, 0x7fffffff, 0x1f,
                                     0x00008000, 0x3c003c00, 0x7c00fc00, 0x7e017c01, 0x00018400};
    static const uint64_t longs[] = {0,
                                     0x8000000000000000,
                                     1,
                                     0x7ff0000000000000,
                                     0x7ff8000000000000,
                                     0x7ff0000000000001,
                                     0x3ff0000000000000,
                                     0xc00921fb54442d18,
                                     0x000fffffffffffff,
                                     0xffffffffffffffff};
    const uint64_t noise = random64();
    if (below(3) == 0)
        return noise;
    if (rp_type_dwords(type) == 1 || type == RP_T_PKF32)
        return words[below(sizeof words / sizeof words[0])] |
               words[below(sizeof words / sizeof words[0])] << 32;
    return longs[below(sizeof longs / sizeof longs[0])];
}

/* ---- operands ---- */

struct operand {
    unsigned type, encoding;
    bool vector;
    uint64_t constant[2]; /* value of a scalar one; of 128 bits the upper half */
};

/* Values 240..248, as f16, f32 and f64. */
static uint64_t inline_constant(unsigned i, unsigned type)
{
    static const double value[8] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
    const double d = i < 8 ? value[i] : 0;
    const float s = (float)d;
    uint64_t bits;
    uint32_t word;
    memcpy(&bits, &d, sizeof bits);
    memcpy(&word, &s, sizeof word);
    switch (type) {
    case RP_T_F16:
    case RP_T_PKF16:
        return i == 8 ? 0x3118 : fmt_round(fmt_f16, d);
    case RP_T_F64:
    case RP_T_B64:
    case RP_T_U64:
    case RP_T_I64:
        return i == 8 ? 0x3fc45f306dc9c882 : bits;
    default:
        return i == 8 ? 0x3e22f983 : word;
    }
}

static struct operand random_operand(unsigned type, unsigned reg, unsigned sgpr)
{
    struct operand o = {.type = type, .encoding = 256 + reg, .vector = true};
    const unsigned kind = below(8), dwords = rp_type_dwords(type);
    if (kind > 1 || dwords > 2 || type == RP_T_PKF32)
        return o;
    o.vector = false;
    if (kind == 0) {
        o.encoding = sgpr;
        o.constant[0] = random_value(type);
        f.wave.sgpr[sgpr] = (uint32_t)o.constant[0];
        f.wave.sgpr[sgpr + 1] = (uint32_t)(o.constant[0] >> 32);
    } else if (below(2)) {
        const int v = (int)below(81) - 16;
        o.encoding = v >= 0 ? 128u + (unsigned)v : 192u + (unsigned)-v;
        o.constant[0] = (uint64_t)(int64_t)v;
    } else {
        o.encoding = 240 + below(9);
        o.constant[0] = inline_constant(o.encoding - 240, type);
    }
    if (dwords == 1)
        o.constant[0] &= 0xffffffff;
    return o;
}

static uint64_t raw_value(const struct operand *o, unsigned reg, unsigned lane, bool upper)
{
    const unsigned dwords = rp_type_dwords(o->type);
    if (!o->vector)
        return o->constant[upper];
    if (upper)
        return dwords > 2 ? f.vgpr[reg + 2][lane] | (uint64_t)f.vgpr[reg + 3][lane] << 32 : 0;
    return f.vgpr[reg][lane] | (dwords > 1 ? (uint64_t)f.vgpr[reg + 1][lane] << 32 : 0);
}

/* ---- one instruction ---- */

struct test {
    unsigned op;
    const struct rp_op_row *row;
    struct operand src[3];
    unsigned neg, abs, op_sel, op_sel_hi;
    bool clamp, accumulates, halves; /* halves: op_sel chooses among them */
    uint64_t exec, mask_in;
    uint32_t words[2];
};

static const char *kernel_name(const struct rp_op_row *row)
{
    static char name[64];
    snprintf(name, sizeof name, "%s", row->mnemonic);
    if (strncmp(name, "v_cmpx_", 7) == 0)
        memmove(name + 5, name + 6, strlen(name + 6) + 1);
    return name;
}

/* Rows with other forms or rules, which have tests of their own. */
static bool is_special(const char *name)
{
    static const char *const names[] = {"v_fmamk_f32", "v_fmaak_f32", "v_madmk_f16",
                                        "v_madak_f16", "v_fma_mix",   "v_pk_mov_b32"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_legacy(const char *name)
{
    return strstr(name, "_legacy_") && strstr(name, "16");
}

static void choose_modifiers(struct test *t)
{
    const struct rp_op_row *row = t->row;
    const bool vop3p = row->fmt == RP_FMT_VOP3P;
    t->op_sel_hi = 7;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned type = row->src[i];
        const bool sign = has_sign(type) && !vop3p;
        const bool packed = is_packed16(type) || type == RP_T_PKF32;
        if (sign || (vop3p && (type == RP_T_PKF16 || type == RP_T_PKF32))) {
            t->neg |= below(2) << i;
            t->abs |= below(2) << i; /* VOP3P: neg_hi */
        }
        if (vop3p && packed) {
            t->op_sel |= below(2) << i;
            t->op_sel_hi &= ~(below(2) << i);
        }
        if (t->halves && rp_type_is_16bit(type))
            t->op_sel |= below(2) << i;
    }
    if (t->halves && rp_type_is_16bit(row->dst) && row->dst != RP_T_B8)
        t->op_sel |= below(2) << 3;
    if (row->dst == RP_T_B8)
        t->op_sel = below(4) << 2;
    if (row->sdst == RP_T_MASK && row->fmt != RP_FMT_VOPC)
        t->abs = 0; /* the second destination is in its place */
    t->clamp = rp_type_is_float(row->dst) && below(4) == 0;
}

static void encode(struct test *t)
{
    const struct rp_op_row *row = t->row;
    const unsigned twin = row->fmt == RP_FMT_VOP2 ? 0x100 : row->fmt == RP_FMT_VOP1 ? 0x140 : 0;
    const bool carry = row->sdst == RP_T_MASK && row->fmt != RP_FMT_VOPC;
    const unsigned dst = row->fmt == RP_FMT_VOPC ? SDST : DST;
    uint32_t sources = 0;
    for (unsigned i = 0; i < 3; i++)
        if (row->src[i] != RP_T_NONE && !(i == 2 && t->accumulates))
            sources |= t->src[i].encoding << (9 * i);
    if (row->src[3] == RP_T_MASK && row->src[2] == RP_T_NONE)
        sources |= VCC << 18;
    t->words[1] = sources | t->neg << 29;
    if (row->fmt == RP_FMT_VOP3P) {
        t->words[0] = 0xd3800000u | (uint32_t)row->opcode << 16 | dst | t->abs << 8 |
                      t->op_sel << 11 | (t->op_sel_hi >> 2) << 14 | (uint32_t)t->clamp << 15;
        t->words[1] |= (t->op_sel_hi & 3) << 27;
        return;
    }
    t->words[0] = 0xd0000000u | (row->opcode + twin) << 16 | dst | (uint32_t)t->clamp << 15;
    t->words[0] |= carry ? (uint32_t)SDST << 8 : t->abs << 8 | t->op_sel << 11;
}

/* A source as the arithmetic gets it. */
static uint64_t source_value(const struct test *t, unsigned i, unsigned lane)
{
    const unsigned type = t->row->src[i], regs[3] = {SRC0, SRC1, t->accumulates ? DST : SRC2};
    const bool neg = t->neg >> i & 1, abs = t->abs >> i & 1, lo = t->op_sel >> i & 1,
               hi = t->op_sel_hi >> i & 1;
    uint64_t v = raw_value(&t->src[i], regs[i], lane, false);
    if (t->row->fmt == RP_FMT_VOP3P && is_packed16(type)) {
        const uint64_t low = lo ? v >> 16 & 0xffff : v & 0xffff;
        const uint64_t high = hi ? v >> 16 & 0xffff : v & 0xffff;
        v = (low | high << 16) ^ (neg ? 0x8000 : 0) ^ (abs ? 0x80000000 : 0);
    } else if (t->row->fmt == RP_FMT_VOP3P && type == RP_T_PKF32) {
        const uint64_t low = lo ? v >> 32 : v & 0xffffffff;
        const uint64_t high = hi ? v >> 32 : v & 0xffffffff;
        v = (low | high << 32) ^ (neg ? 0x80000000 : 0) ^ (abs ? 1ull << 63 : 0);
    } else if (t->row->fmt != RP_FMT_VOP3P) {
        if (t->halves && rp_type_is_16bit(type) && lo)
            v >>= 16;
        const uint64_t sign = type == RP_T_F64   ? 1ull << 63
                              : type == RP_T_F32 ? 1ull << 31
                              : type == RP_T_F16 ? 1ull << 15
                                                 : 0;
        v = (abs ? v & ~sign : v) ^ (neg ? sign : 0);
        if (type == RP_T_F16 || type == RP_T_U16 || type == RP_T_I16)
            v &= 0xffff;
    }
    return v;
}

static uint64_t clamped_part(struct fmt t, uint64_t bits)
{
    const __float128 v = fmt_value(t, bits);
    return v > 1 ? fmt_round(t, 1) : v > 0 ? bits : 0; /* NaN: 0 */
}

static uint64_t clamped(unsigned type, uint64_t v)
{
    switch (type) {
    case RP_T_F16:
        return clamped_part(fmt_f16, v & 0xffff);
    case RP_T_F32:
        return clamped_part(fmt_f32, v);
    case RP_T_F64:
        return clamped_part(fmt_f64, v);
    case RP_T_PKF16:
        return clamped_part(fmt_f16, v & 0xffff) | clamped_part(fmt_f16, v >> 16 & 0xffff) << 16;
    default:
        return clamped_part(fmt_f32, v & 0xffffffff) | clamped_part(fmt_f32, v >> 32) << 32;
    }
}

/* What a result narrower than the register leaves of @p old. */
static uint64_t placed(const struct test *t, uint64_t v, uint32_t old)
{
    const bool kept = t->row->fmt == RP_FMT_VOP3 && !is_legacy(t->row->mnemonic);
    if (!kept || !rp_type_is_16bit(t->row->dst))
        return v;
    const unsigned shift = t->row->dst == RP_T_B8 ? 8 * (t->op_sel >> 2) : t->op_sel & 8 ? 16 : 0;
    const uint32_t mask = (t->row->dst == RP_T_B8 ? 0xffu : 0xffffu) << shift;
    return (old & ~mask) | ((uint32_t)v << shift & mask);
}

static void prepare(struct test *t)
{
    fixture_init(&f);
    for (unsigned reg = 0; reg < 16; reg += 2)
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const uint64_t v = random_value(t->row->src[reg < 12 ? reg / 4 : 2]);
            f.vgpr[reg][lane] = (uint32_t)v;
            f.vgpr[reg + 1][lane] = (uint32_t)(v >> 32);
        }
    t->src[0] = random_operand(t->row->src[0], SRC0, SGPR);
    t->src[1] = random_operand(t->row->src[1], SRC1, SGPR + 4);
    t->src[2] =
        t->accumulates
            ? (struct operand){.type = t->row->src[2], .vector = true, .encoding = 256 + DST}
            : random_operand(t->row->src[2], SRC2, SGPR + 8);
    t->mask_in = random64();
    t->exec = below(3) == 0 ? ~0ull : below(4) == 0 ? 0 : random64();
    rp_sgpr64_set(&f.wave, VCC, t->mask_in);
    rp_sgpr64_set(&f.wave, SDST, 0x1234567812345678);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, t->exec);
    choose_modifiers(t);
    encode(t);
}

static void check(struct test *t)
{
    static struct fixture before;
    struct rp_insn in;
    uint64_t mask = 0;
    const char *name = kernel_name(t->row);
    lane_oracle_fn *oracle = lane_oracle_find(name);
    prepare(t);
    assert_int_equal(rp_isa_decode(t->words, 2, &in), 8);
    assert_int_equal(in.op, t->op);
    before = f;
    uint64_t want[RP_LANES][2];
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        struct lane_in i = {
            .lane = lane, .carry_in = (int)(t->mask_in >> lane & 1), .mode = f.wave.mode};
        struct lane_out o = {.mask = -1};
        i.a = source_value(t, 0, lane);
        i.b = t->row->src[1] ? source_value(t, 1, lane) : 0;
        i.c = t->row->src[2] ? source_value(t, 2, lane) : 0;
        i.c_high = t->row->src[2] == RP_T_B128 ? raw_value(&t->src[2], SRC2, lane, true) : 0;
        if (oracle)
            oracle(&i, &o);
        else
            o.mask = lane_oracle_compare(name, &i);
        want[lane][0] = placed(t, t->clamp ? clamped(t->row->dst, o.d) : o.d, f.vgpr[DST][lane]);
        want[lane][1] = o.d_high;
        mask |= (uint64_t)(o.mask > 0) << lane;
    }
    char text[160];
    rp_isa_print(&in, 0, text, sizeof text);
    if (in.fn(&f.wave, &in) != RP_STEP_NEXT)
        fail_msg("%s: %s", text, f.wave.fault.text);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned i = 0; i < rp_type_dwords(t->row->dst); i++) {
            const uint32_t w = (uint32_t)(want[lane][i / 2] >> (32 * (i % 2)));
            const uint32_t e = t->exec >> lane & 1 ? w : before.vgpr[DST + i][lane];
            if (f.vgpr[DST + i][lane] != e)
                fail_msg("%s: EXEC 0x%llx lane %u dword %u of v12..: 0x%x, expected 0x%x", text,
                         (unsigned long long)t->exec, lane, i, f.vgpr[DST + i][lane], e);
        }
    if (t->row->sdst == RP_T_MASK && rp_sgpr64(&f.wave, SDST) != (mask & t->exec))
        fail_msg("%s: EXEC 0x%llx: mask 0x%llx, expected 0x%llx", text, (unsigned long long)t->exec,
                 (unsigned long long)rp_sgpr64(&f.wave, SDST),
                 (unsigned long long)(mask & t->exec));
    const bool cmpx = strncmp(t->row->mnemonic, "v_cmpx", 6) == 0;
    assert_int_equal(RP_EXEC(&f.wave), cmpx ? mask & t->exec : t->exec);
}

static void test_every_row(void **state)
{
    (void)state;
    unsigned rows = 0;
    const struct lane_in none = {0};
    for (unsigned op = 1; op < RP_OP_MAX; op++) {
        const struct rp_op_row *row = &rp_op_rows[op];
        const char *name = kernel_name(row);
        const bool compares = lane_oracle_compare(name, &none) >= 0;
        if (is_special(name) || (!compares && !lane_oracle_find(name)))
            continue;
        rows++;
        for (unsigned n = 0; n < ROUNDS; n++) {
            struct test t = {.op = op, .row = row};
            t.accumulates = (row->fmt == RP_FMT_VOP2 && row->src[2] != RP_T_NONE) ||
                            op == RP_OP_v_cvt_pkaccum_u8_f32;
            t.halves = row->fmt == RP_FMT_VOP3 && !is_legacy(row->mnemonic) &&
                       (rp_type_is_16bit(row->dst) || rp_type_is_16bit(row->src[0]));
            check(&t);
        }
    }
    assert_true(rows > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
