/*
 * Loads and stores of the LDS by all lanes, as they mostly lie: in each quarter of the wave within
 * a few lines of its first lane's place (loads), or side by side (stores). Matrix tiles are read
 * and written so, rows of them and single elements for a row of lanes. Whatever is otherwise takes
 * the detour to the handler, before anything has been changed. What is written for each is what its
 * handler in mem_lds.c does.
 */
#include "device/exec/executor.h"
#include "device/jit/jit_block.h"

enum {
    /* General registers: host addresses of each quarter's first lane, and others. */
    GROUP = RP_R11,
    LDS = RP_RCX,
    LAST = RP_RDX,
    /* Vector registers of tests. */
    EXPECTED = RP_ZMM_TEMP2,
    DIFFERS = RP_ZMM_TEMP,
    LINE_BYTES = 64,
    OR_XOR = 0xf6, /* VPTERNLOGD: a | (b ^ c) */
};

static const uint8_t quarter_reg[4] = {RP_R8, RP_R9, RP_R10, RP_RDI};

static const struct access {
    rp_insn_fn *fn;
    uint8_t dwords; /**< of an element */
    uint8_t unit;   /**< two elements: of their offsets, in bytes / 4; 0: one */
    bool is_store;
} accesses[] = {
    {rp_ds_read_b32, 1, 0, false},        {rp_ds_read_b64, 2, 0, false},
    {rp_ds_read_b96, 3, 0, false},        {rp_ds_read_b128, 4, 0, false},
    {rp_ds_read2_b32, 1, 1, false},       {rp_ds_read2_b64, 2, 2, false},
    {rp_ds_read2st64_b32, 1, 64, false},  {rp_ds_read2st64_b64, 2, 128, false},
    {rp_ds_write_b32, 1, 0, true},        {rp_ds_write_b64, 2, 0, true},
    {rp_ds_write_b128, 4, 0, true},       {rp_ds_write2_b32, 1, 1, true},
    {rp_ds_write2_b64, 2, 2, true},       {rp_ds_write2st64_b32, 1, 64, true},
    {rp_ds_write2st64_b64, 2, 128, true},
};

static uint32_t offset_of(const struct access *a, const struct rp_insn *in, unsigned which)
{
    const uint32_t offset = (uint32_t)in->offset;
    return a->unit ? (offset >> 8 * which & 0xff) * a->unit * 4 : offset & 0xffff;
}

static unsigned elements(const struct access *a)
{
    return a->unit ? 2 : 1;
}

static const struct access *find(const struct rp_insn *in)
{
    if (in->fmt != RP_FMT_DS || in->gated || in->flags & RP_IF_GDS ||
        in->src[0].kind != RP_OPND_VGPR)
        return NULL;
    for (unsigned i = 0; i < sizeof accesses / sizeof accesses[0]; i++) {
        const struct access *a = &accesses[i];
        if (a->fn != in->fn)
            continue;
        if (!a->is_store)
            return in->dst.kind == RP_OPND_VGPR ? a : NULL;
        if (in->src[1].kind != RP_OPND_VGPR || (a->unit && in->src[3].kind != RP_OPND_VGPR))
            return NULL;
        /* to one place twice: only the first is written */
        return a->unit && offset_of(a, in, 0) == offset_of(a, in, 1) ? NULL : a;
    }
    return NULL;
}

static void detour_if(struct rp_jit_translation *t, enum rp_x86_cc cc)
{
    rp_jit_detour(t, rp_x86_jcc(&t->x86, cc));
}

/* The detour, when a bit of DIFFERS is set that is also in a constant. */
static void detour_if_bits(struct rp_jit_translation *t, uint32_t bits)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_v(e, RP_X86_VPTESTMD, RP_BROADCAST, 1, DIFFERS, rp_jit_constant(t, bits), 0);
    rp_x86_k(e, RP_X86_KORTESTW, 1, 0, rp_reg(1));
    detour_if(t, RP_CC_NE);
}

static struct rp_rm first_lane(const struct rp_insn *in, unsigned quarter)
{
    return rp_at(RP_JIT_ROWS, rp_row_disp(in->src[0].index, quarter));
}

/*
 * The quarters' registers become the host's addresses of their first lanes, with the lower offset;
 * from there on so many bytes of LDS follow, and as many more as the other offset is higher.
 */
static void find_quarters(struct rp_jit_translation *t, const struct rp_insn *in,
                          const struct access *a, unsigned bytes)
{
    struct rp_x86 *e = &t->x86;
    const uint32_t one = offset_of(a, in, 0), two = offset_of(a, in, elements(a) - 1);
    const uint32_t low = one < two ? one : two, high = one < two ? two : one;
    rp_x86_load(e, true, GROUP, rp_at(RP_JIT_W, offsetof(struct rp_wave, group)));
    rp_x86_load(e, false, LAST, rp_at(GROUP, offsetof(struct rp_group, lds_bytes)));
    rp_x86_alu_imm(e, false, RP_SUB, rp_reg(LAST), (int32_t)(high - low + bytes));
    detour_if(t, RP_CC_B);
    rp_x86_load(e, true, LDS, rp_at(GROUP, offsetof(struct rp_group, lds)));
    for (unsigned q = 0; q < 4; q++) {
        rp_x86_load(e, false, quarter_reg[q], first_lane(in, q));
        if (low) /* modulo 2^32, as the handler */
            rp_x86_alu_imm(e, false, RP_ADD, rp_reg(quarter_reg[q]), (int32_t)low);
        rp_x86_alu(e, false, RP_CMP, quarter_reg[q], rp_reg(LAST));
        detour_if(t, RP_CC_A);
    }
    for (unsigned q = 0; q < 4; q++)
        rp_x86_alu(e, true, RP_ADD, quarter_reg[q], rp_reg(LDS));
}

static struct rp_jit_lines lines_of(const struct rp_insn *in, const struct access *a,
                                    unsigned which)
{
    struct rp_jit_lines l = {.disp = 0};
    const uint32_t other = offset_of(a, in, !which), own = offset_of(a, in, which);
    for (unsigned q = 0; q < 4; q++)
        l.reg[q] = quarter_reg[q];
    if (a->unit && own > other)
        l.disp = (int32_t)(own - other);
    return l;
}

static void count(struct rp_jit_translation *t, const struct access *a)
{
    struct rp_x86 *e = &t->x86;
    const int32_t counter =
        offsetof(struct rp_wave_env, counts) + offsetof(struct rp_counts, lds_bytes);
    rp_x86_load(e, true, GROUP, rp_at(GROUP, offsetof(struct rp_group, env)));
    rp_x86_alu_imm(e, true, RP_ADD, rp_at(GROUP, counter),
                   (int32_t)(RP_LANES * 4 * a->dwords * elements(a)));
}

/* ---- loads ---- */

/* A slot with the dwords of the window behind its quarter's first lane where each lane's begin. */
static unsigned find_indices(struct rp_jit_translation *t, const struct rp_insn *in,
                             unsigned window_bytes)
{
    struct rp_x86 *e = &t->x86;
    const struct rp_src address = rp_src(t, in, 0, 0);
    const unsigned index = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, EXPECTED, 0, first_lane(in, q), 0);
        rp_x86_v(e, RP_X86_VPSUBD, RP_ALL, index + q, rp_src_reg(t, &address, q), rp_reg(EXPECTED),
                 0);
        if (q)
            rp_x86_v(e, RP_X86_VPORD, RP_ALL, DIFFERS, q == 1 ? index : (unsigned)DIFFERS,
                     rp_reg(index + q), 0);
    }
    detour_if_bits(t, ~(window_bytes - 4));
    for (unsigned q = 0; q < 4; q++)
        rp_x86_v(e, RP_X86_VPSRLD_IMM, RP_ALL, 0, index + q, rp_reg(index + q), 2);
    return index;
}

/* Dwords of one line, or of two. */
static void load_dword(struct rp_jit_translation *t, unsigned d, unsigned index, bool wide,
                       const struct rp_jit_lines *l, unsigned dword)
{
    struct rp_x86 *e = &t->x86;
    for (unsigned q = 0; q < 4; q++) {
        const int32_t disp = l->disp + (int32_t)(4 * dword);
        const struct rp_rm at = rp_at(l->reg[q], disp),
                           behind = rp_at(l->reg[q], disp + LINE_BYTES);
        if (!wide) {
            rp_x86_v(e, RP_X86_VPERMD, RP_ALL, d + q, index + q, at, 0);
            continue;
        }
        rp_x86_v(e, RP_X86_VMOVULOAD, RP_ALL, d + q, 0, at, 0);
        rp_x86_v(e, RP_X86_VPERMT2D, RP_ALL, d + q, index + q, behind, 0);
    }
}

static void write_load(struct rp_jit_translation *t, const struct rp_insn *in,
                       const struct access *a)
{
    const bool wide = a->dwords > 1;
    const unsigned window_bytes = wide ? 2 * LINE_BYTES : LINE_BYTES,
                   rows = a->dwords * elements(a);
    unsigned d[4];
    const unsigned index = find_indices(t, in, window_bytes);
    find_quarters(t, in, a, window_bytes + 4 * (a->dwords - 1u));
    count(t, a);
    t->pinned = 1u << index / 4; /* the address's slot is no longer needed */
    for (unsigned i = 0; i < rows; i++) {
        const struct rp_jit_lines l = lines_of(in, a, i / a->dwords);
        d[i] = rp_result_new(t);
        load_dword(t, d[i], index, wide, &l, i % a->dwords);
    }
    for (unsigned i = 0; i < rows; i++)
        rp_result_store(t, d[i], in->dst.index + i);
}

/* ---- stores ---- */

/* Each quarter's lanes are side by side. */
static void check_quarters(struct rp_jit_translation *t, const struct rp_insn *in, unsigned dwords)
{
    struct rp_x86 *e = &t->x86;
    const enum rp_jit_table steps = dwords == 1   ? RP_JIT_FOURS
                                    : dwords == 2 ? RP_JIT_EIGHTS
                                                  : RP_JIT_SIXTEENS;
    const struct rp_src address = rp_src(t, in, 0, 0);
    for (unsigned q = 0; q < 4; q++) {
        const struct rp_rm row = rp_src_rm(t, &address, q);
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, EXPECTED, 0, first_lane(in, q), 0);
        rp_x86_v(e, RP_X86_VPADDD, RP_ALL, EXPECTED, EXPECTED, rp_jit_table(t, steps), 0);
        if (q == 0)
            rp_x86_v(e, RP_X86_VPXORD, RP_ALL, DIFFERS, EXPECTED, row, 0);
        else
            rp_x86_v(e, RP_X86_VPTERNLOGD, RP_ALL, DIFFERS, EXPECTED, row, OR_XOR);
    }
    detour_if_bits(t, UINT32_MAX);
}

static void write_store(struct rp_jit_translation *t, const struct rp_insn *in,
                        const struct access *a)
{
    check_quarters(t, in, a->dwords);
    find_quarters(t, in, a, RP_LANES / 4 * 4u * a->dwords);
    count(t, a);
    for (unsigned which = 0; which < elements(a); which++) {
        const struct rp_jit_lines l = lines_of(in, a, which);
        struct rp_src s[4];
        t->pinned = 0;
        for (unsigned i = 0; i < a->dwords; i++)
            s[i] = rp_src_in(t, in, which ? 3 : 1, i, RP_ZMM_PART, RP_ZMM_PART + 2);
        rp_jit_lines_store(t, &l, a->dwords, s);
    }
}

bool rp_jit_lds_knows(const struct rp_insn *in)
{
    return find(in);
}

bool rp_jit_lds(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const struct access *a = find(in);
    if (!a || t->masked)
        return false;
    rp_rows_forget_widened(t);
    rp_jit_detour_begin(t);
    if (a->is_store)
        write_store(t, in, a);
    else
        write_load(t, in, a);
    rp_jit_detour_end(t);
    return true;
}
