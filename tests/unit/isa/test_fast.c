/* Handlers with their arithmetic inside (valu_fast.def) against the lane kernels of the base level,
 * around which this file does on its own what operands, neg, abs, op_sel and EXEC ask for. */
#include "device/isa/valu_fast.h"
#include "wave_fixture.h"

enum { DST = 4, DST_OTHER = 2, SDST = 20, MASK = 22, ROUNDS = 12 };
enum shape { ONE_ROW, SIGNED, COMPARED, COMPARED_SIGNED, CARRYING, PACKED, PACKED_HALVES, WIDE };

static const struct op {
    unsigned op, sources;
    enum shape shape;
} ops[] = {
#define RP_FAST_I(n, name, ...) {RP_OP_##name, n, ONE_ROW},
#define RP_FAST_F(n, name, ...) {RP_OP_##name, n, SIGNED},
#define RP_FAST_S(name, ...)    {RP_OP_##name, 2, SIGNED},
#define RP_FAST_C(name, ...)    {RP_OP_##name, 2, COMPARED},
#define RP_FAST_CF(name, ...)   {RP_OP_##name, 2, COMPARED_SIGNED},
#define RP_FAST_M(name, ...)    {RP_OP_##name, 2, CARRYING},
#include "device/isa/valu_fast.def"
#define RP_FAST_H(n, name, f)   {RP_OP_##name, n, ONE_ROW},
#define RP_FAST_P(n, name, f)   {RP_OP_##name, n, PACKED_HALVES},
#define RP_FAST_D(n, name, ...) {RP_OP_##name, n, SIGNED},
#define RP_FAST_L(name, ...)    {RP_OP_##name, 2, WIDE},
#define RP_FAST_CW(name, ...)   {RP_OP_##name, 2, COMPARED},
#define RP_FAST_CD(name, ...)   {RP_OP_##name, 2, COMPARED_SIGNED},
#define RP_FAST_W(name, ...)    {RP_OP_##name, 1, WIDE},
#include "device/isa/valu_fast_wide.def"
    {RP_OP_v_div_fmas_f32, 3, CARRYING}, {RP_OP_v_pk_add_f32, 2, PACKED},
    {RP_OP_v_pk_mul_f32, 2, PACKED},     {RP_OP_v_pk_fma_f32, 3, PACKED},
    {RP_OP_v_mad_u64_u32, 3, WIDE},      {RP_OP_v_lshl_add_u64, 3, WIDE},
};

static struct fixture f, before;
static uint64_t seed;

static uint32_t next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

/* Every second round has no NaN; the others have many values where the rules part. */
static uint32_t value(unsigned round)
{
    static const uint32_t odd[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                   0x7f7fffff, 0xff7fffff, 0x3f800000, 0xffffffff, 0x80000002,
                                   0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345, 0x7f800001,
                                   0xffa00000, 0x7fffffff, 31,         32};
    uint32_t v = next() >> 7 & 1 ? next() : odd[next() % (round & 1 ? 19 : 10)];
    if (!(round & 1) && (v & 0x7f800000) == 0x7f800000)
        v &= 0xbfffffff;
    return v;
}

static void start(unsigned round)
{
    static const uint64_t exec[] = {
        ~0ull, ~0ull, 0x8000000000000001, 0xfedcba9876543210, 0, 0x00000000ffff0000};
    fixture_init(&f);
    for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f.vgpr[r][lane] = value(round);
    for (unsigned i = 0; i < 100; i++)
        f.wave.sgpr[i] = value(round);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec[round / 2]);
}

static bool is_packed(const struct op *o)
{
    return o->shape == PACKED || o->shape == PACKED_HALVES;
}

/* Bit i of @p scalars: source i is an SGPR, or a constant when bit i of @p constants is set. */
static struct rp_insn instruction(const struct op *o, unsigned scalars, unsigned constants,
                                  unsigned round)
{
    const struct rp_op_row *row = &rp_op_rows[o->op];
    struct rp_insn in = {.fn = row->fn, .op = (uint16_t)o->op, .size_bytes = 8};
    in.fmt = is_packed(o) ? RP_FMT_VOP3P : RP_FMT_VOP3;
    in.vgpr_top = FIXTURE_VGPRS;
    if (is_packed(o)) {
        in.op_sel = next() >> 5 & 7;
        in.op_sel_hi = next() >> 5 & 7;
    }
    for (unsigned i = 0; i < o->sources; i++) {
        const unsigned dwords = rp_type_dwords(row->src[i]);
        struct rp_opnd *s = &in.src[i];
        *s = (struct rp_opnd){RP_OPND_VGPR, (uint8_t)dwords, (uint8_t)(4 + 4 * i), row->src[i], 0};
        if (scalars >> i & 1) {
            s->kind = constants >> i & 1 ? RP_OPND_CONST : RP_OPND_SGPR;
            s->imm = (uint64_t)value(round) << 32 | value(round);
            if (o->shape == PACKED && s->kind == RP_OPND_CONST) { /* else it is refused */
                in.op_sel &= (uint8_t) ~(1u << i);
                in.op_sel_hi &= (uint8_t) ~(1u << i);
            }
        }
    }
    if (row->dst != RP_T_NONE) /* perhaps over a source */
        in.dst = (struct rp_opnd){RP_OPND_VGPR, (uint8_t)rp_type_dwords(row->dst),
                                  next() >> 9 & 1 ? DST : DST_OTHER, row->dst, 0};
    if (row->sdst != RP_T_NONE)
        in.sdst = (struct rp_opnd){RP_OPND_SGPR, 2, SDST, RP_T_MASK, 0};
    if (row->src[3] != RP_T_NONE)
        in.src[3] = (struct rp_opnd){RP_OPND_SGPR, 2, MASK, RP_T_MASK, 0};
    return in;
}

/* Dword @p part of a source in a lane, from the state before. */
static uint32_t dword(const struct rp_opnd *s, unsigned part, unsigned lane)
{
    if (s->kind == RP_OPND_VGPR)
        return before.vgpr[s->index + part][lane];
    if (s->kind == RP_OPND_SGPR)
        return before.wave.sgpr[s->index + part];
    return (uint32_t)(s->imm >> (32 * part));
}

/* Both halves of a packed f16 source. */
static uint32_t expected_halves(const struct rp_insn *in, unsigned i, unsigned lane)
{
    const uint32_t v = dword(&in->src[i], 0, lane);
    const uint32_t lo = (in->op_sel >> i & 1 ? v >> 16 : v & 0xffff) ^ (in->neg >> i & 1u) << 15;
    const uint32_t hi = (in->op_sel_hi >> i & 1 ? v >> 16 : v & 0xffff) ^ (in->abs >> i & 1u) << 15;
    return hi << 16 | lo;
}

static uint32_t expected_dword(const struct op *o, const struct rp_insn *in, unsigned i,
                               unsigned part, unsigned lane)
{
    if (o->shape == PACKED_HALVES)
        return expected_halves(in, i, lane);
    if (o->shape == PACKED) {
        const unsigned from = (part ? in->op_sel_hi : in->op_sel) >> i & 1;
        return dword(&in->src[i], from, lane) ^
               ((uint32_t)((part ? in->abs : in->neg) >> i & 1) << 31);
    }
    uint32_t v = dword(&in->src[i], part, lane);
    if (part + 1u < in->src[i].dwords) /* the sign is in the last */
        return v;
    if (in->abs >> i & 1)
        v &= 0x7fffffff;
    return v ^ ((uint32_t)(in->neg >> i & 1) << 31);
}

static void check(const struct op *o, struct rp_insn *in, unsigned round)
{
    static uint32_t rows[4][2][RP_LANES] __attribute__((aligned(64)));
    const char *name = rp_isa_mnemonic(o->op);
    const unsigned all = (1u << o->sources) - 1;
    bool signs = in->neg || in->abs, modified = signs || in->op_sel || in->op_sel_hi;
    if (o->shape == PACKED_HALVES) /* as the decoder: the high halves make the high result */
        signs = modified = signs || (in->op_sel & all) || (in->op_sel_hi & all) != all;
    if (modified)
        in->flags |= RP_IF_SRCMOD;
    rp_valu_bind(in);
    if (in->fn != rp_valu_fast_find(in, signs))
        fail_msg("%s: not the fast handler", name);
    before = f;
    for (unsigned i = 0; i < o->sources; i++)
        for (unsigned part = 0; part < in->src[i].dwords; part++)
            for (unsigned lane = 0; lane < RP_LANES; lane++)
                rows[i][part][lane] = expected_dword(o, in, i, part, lane);
    struct rp_lane_args a = {rows[3][0], rows[0][0], rows[1][0], rows[2][0], .mode = f.wave.mode};
    a.mask_in = rp_sgpr64(&before.wave, MASK);
    rp_lane_find_level(name, RP_LANE_BASE)(&a);
    const uint64_t exec = RP_EXEC(&before.wave);
    for (unsigned part = 0; part < in->dst.dwords; part++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            if (exec >> lane & 1)
                before.vgpr[in->dst.index + part][lane] = rows[3][part][lane];
    if (in->sdst.dwords)
        rp_sgpr64_set(&before.wave, SDST, a.mask_out & exec);
    assert_int_equal(in->fn(&f.wave, in), RP_STEP_NEXT);
    if (memcmp(f.wave.sgpr, before.wave.sgpr, sizeof f.wave.sgpr))
        fail_msg("%s: round %u, neg %u, abs %u: scalar result", name, round, in->neg, in->abs);
    for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            if (f.vgpr[r][lane] != before.vgpr[r][lane])
                fail_msg("%s: round %u, neg %u, abs %u: v%u lane %u is 0x%x, not 0x%x", name, round,
                         in->neg, in->abs, r, lane, f.vgpr[r][lane], before.vgpr[r][lane]);
}

static void check_signs(const struct op *o, unsigned scalars, unsigned constants, unsigned round)
{
    const bool has_signs = o->shape == SIGNED || o->shape == COMPARED_SIGNED || is_packed(o);
    for (unsigned turn = 0; turn < (has_signs ? 4u : 1u); turn++) {
        start(round);
        struct rp_insn in = instruction(o, scalars, constants, round);
        const unsigned all = (1u << o->sources) - 1;
        if (turn) {
            in.neg = (uint8_t)(next() & all);
            in.abs = (uint8_t)(next() & all);
        }
        check(o, &in, round);
    }
}

static void test_against_lanes(void **state)
{
    (void)state;
    if (!rp_lane_find_level("v_mov_b32", RP_LANE_V4))
        skip(); /* this CPU never takes these ways */
    seed = 1;
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (unsigned round = 0; round < ROUNDS; round++)
            for (unsigned scalars = 0; scalars < 1u << ops[i].sources; scalars++) {
                check_signs(&ops[i], scalars, 0, round);
                if (scalars)
                    check_signs(&ops[i], scalars, next() & 7, round);
            }
}

/* What the fast handlers leave to the long way. */
static void test_long_way(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        start(0);
        struct rp_insn in = instruction(&ops[i], 0, 0, 0);
        rp_valu_bind(&in);
        in.vgpr_top = FIXTURE_VGPRS + 1;
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
        f.wave.gpr_idx = RP_VALU_SKIP;
        before = f;
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_NEXT);
        assert_memory_equal(f.vgpr, before.vgpr, sizeof f.vgpr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_lanes),
        cmocka_unit_test(test_long_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
