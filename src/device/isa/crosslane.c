/*
 * Moves between lanes, scalar registers and accumulation registers, and the swap. readlane,
 * readfirstlane and writelane ignore EXEC; the accumulation moves and the swap honour it.
 */
#include "device/isa/mem_access.h"
#include "device/isa/valu.h"
#include "device/isa/wave_state.h"

/* Returns the instruction after index mode and the register check, or NULL when the fault is set.
 */
static const struct rp_insn *prepare(struct rp_wave *w, const struct rp_insn *in,
                                     struct rp_insn *moved)
{
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, moved);
    if (used && rp_registers_exist(w, used))
        return used;
    rp_fault_register(w, in);
    return NULL;
}

static uint32_t lane_value(const struct rp_wave *w, const struct rp_opnd *o, unsigned lane)
{
    if (o->kind == RP_OPND_VGPR)
        return w->vgpr[o->index][lane];
    return rp_opnd_u32(w, o);
}

int rp_v_readfirstlane_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    const uint64_t exec = RP_EXEC(w);
    const unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
    w->sgpr[in->dst.index] = lane_value(w, &in->src[0], lane);
    return RP_STEP_NEXT;
}

int rp_v_readlane_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    if (in->src[1].kind == RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    w->sgpr[in->dst.index] = lane_value(w, &in->src[0], rp_opnd_u32(w, &in->src[1]) & 63);
    return RP_STEP_NEXT;
}

int rp_v_writelane_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    if (in->src[0].kind == RP_OPND_VGPR || in->src[1].kind == RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    w->vgpr[in->dst.index][rp_opnd_u32(w, &in->src[1]) & 63] = rp_opnd_u32(w, &in->src[0]);
    return RP_STEP_NEXT;
}

static int acc_move(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    struct rp_rows b;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    uint32_t(*file)[RP_LANES] = in->dst.kind == RP_OPND_AGPR ? w->agpr : w->vgpr;
    rp_row_blend(file[in->dst.index], rp_fetch(w, &in->src[0], &b), RP_EXEC(w));
    return RP_STEP_NEXT;
}

int rp_v_accvgpr_read_b32(struct rp_wave *w, const struct rp_insn *in)
{
    return acc_move(w, in);
}

int rp_v_accvgpr_write_b32(struct rp_wave *w, const struct rp_insn *in)
{
    return acc_move(w, in);
}

int rp_v_accvgpr_mov_b32(struct rp_wave *w, const struct rp_insn *in)
{
    return acc_move(w, in);
}

int rp_v_swap_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    struct rp_rows old;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    if (in->src[0].kind != RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    uint32_t *dst = w->vgpr[in->dst.index], *src = w->vgpr[in->src[0].index];
    memcpy(old.row[0], dst, sizeof old.row[0]);
    rp_row_blend(dst, src, RP_EXEC(w));
    rp_row_blend(src, old.row[0], RP_EXEC(w));
    return RP_STEP_NEXT;
}

/* v_permlane16_swap and v_permlane32_swap exchange the odd groups of 16 (32) lanes of the first
 * register with the even ones of the second. The ISA document does not mention EXEC, nor what FI
 * and BOUND_CTRL do: where EXEC separates two lanes that would be exchanged, nobody says what
 * happens.
 */
int rp_v_permlane_swap(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    const unsigned group = in->op == RP_OP_v_permlane16_swap_b32 ? 16 : 32;
    const uint64_t exec = RP_EXEC(w);
    const uint64_t even = group == 16 ? 0x0000ffff0000ffff : 0x00000000ffffffff;
    if (in->src[0].kind != RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    if ((exec & even) != (exec >> group & even))
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED,
                             "lanes change places with lanes that EXEC switches off");
    uint32_t *dst = w->vgpr[in->dst.index], *src = w->vgpr[in->src[0].index];
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        if (!((exec & even) >> lane & 1))
            continue;
        const uint32_t old = src[lane];
        src[lane] = dst[lane + group];
        dst[lane + group] = old;
    }
    return RP_STEP_NEXT;
}

/* These DS instructions move data between lanes or address memory by lane number: permutes,
 * swizzle, append/consume, add-TID forms, global wave sync.
 */

/* Writes the active lanes of a finished row. */
static void write_active(struct rp_wave *w, const struct rp_insn *in, const uint32_t *row,
                         uint64_t exec)
{
    uint32_t *d = rp_rows(w, &in->dst)[0];
    RP_FOR_LANES(lane, exec)
    d[lane] = row[lane];
}

/* This permute pulls: lane n receives the value of the lane that its address names, or 0 if that
 * lane is off.
 */
int rp_ds_bpermute_b32(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w);
    const uint32_t *address = rp_rows(w, &in->src[0])[0], *s = rp_rows(w, &in->src[1])[0];
    uint32_t offset = (uint32_t)in->offset & 0xffff;
    rp_row masked, out;
    if (exec == ~0ull) {
        rp_lanes_of(w)->permute(out, s, address, offset);
        memcpy(rp_rows(w, &in->dst)[0], out, sizeof out);
        return RP_STEP_NEXT;
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        masked[lane] = exec >> lane & 1 ? s[lane] : 0;
    rp_lanes_of(w)->permute(out, masked, address, offset);
    write_active(w, in, out, exec);
    return RP_STEP_NEXT;
}

/* This permute pushes: if several lanes name one target, the highest lane wins, and lanes that
 * nobody names receive 0.
 */
int rp_ds_permute_b32(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w);
    const uint32_t *address = rp_rows(w, &in->src[0])[0], *s = rp_rows(w, &in->src[1])[0];
    uint32_t offset = (uint32_t)in->offset & 0xffff;
    rp_row out = {0};
    RP_FOR_LANES(lane, exec)
    out[(address[lane] + offset) / 4 % RP_LANES] = s[lane];
    write_active(w, in, out, exec);
    return RP_STEP_NEXT;
}

/* The lanes are in bit-reversed order, except for the bits set in the mask, which stay as they
 * are.
 */
static unsigned fft_source(unsigned mask, unsigned n)
{
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; bit++)
        reversed |= (n >> bit & 1) << (4 - bit);
    return reversed >> __builtin_popcount(mask) | (n & mask);
}

/* Returns the source lane of ds_swizzle (ISA guide, DS_SWIZZLE_B32). All modes work within 32 or 4
 * lanes.
 */
static unsigned swizzle_source(unsigned pattern, unsigned lane)
{
    unsigned half = lane & 32, n = lane & 31;
    if (pattern >= 0xe000)
        return half | fft_source(pattern & 31, n);
    /* The pattern rotates: mask is in [4:0], distance in [9:5], direction in [10]. */
    if (pattern >= 0xc000) {
        unsigned mask = pattern & 31, distance = pattern >> 5 & 31;
        unsigned turned = pattern >> 10 & 1 ? n - distance : n + distance;
        return half | ((n & mask) | (turned & 31 & ~mask));
    }
    if (pattern & 0x8000) /* The pattern permutes quads, with two bits for each of four lanes. */
        return (lane & ~3u) | (pattern >> (2 * (lane & 3)) & 3);
    return half | (((n & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

int rp_ds_swizzle_b32(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w);
    unsigned pattern = (uint32_t)in->offset & 0xffff;
    const uint32_t *s = rp_rows(w, &in->src[0])[0];
    rp_row out;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        unsigned source = swizzle_source(pattern, lane);
        out[lane] = exec >> source & 1 ? s[source] : 0;
    }
    write_active(w, in, out, exec);
    return RP_STEP_NEXT;
}

/* Returns the LDS offset of the forms that take their base from M0 instead of a vector register. */
static uint64_t m0_offset(const struct rp_wave *w, const struct rp_insn *in)
{
    return (uint64_t)(w->sgpr[RP_SGPR_M0] & 0xffff) + ((uint32_t)in->offset & 0xffff);
}

int rp_ds_read_addtid_b32(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w), base = m0_offset(w, in);
    uint32_t *d = rp_rows(w, &in->dst)[0];
    RP_FOR_LANES(lane, exec)
    {
        uint64_t at = base + 4 * lane;
        d[lane] = at + 4 <= w->group->lds_bytes ? rp_read32(w->group->lds + at) : 0;
    }
    rp_counts_of(w)->lds_bytes += 4ull * rp_lane_count(exec);
    return RP_STEP_NEXT;
}

int rp_ds_write_addtid_b32(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w), base = m0_offset(w, in);
    const uint32_t *s = rp_rows(w, &in->src[1])[0];
    RP_FOR_LANES(lane, exec)
    {
        uint64_t at = base + 4 * lane;
        if (at + 4 <= w->group->lds_bytes)
            memcpy(w->group->lds + at, &s[lane], 4);
    }
    rp_counts_of(w)->lds_bytes += 4ull * rp_lane_count(exec);
    return RP_STEP_NEXT;
}

/* Each wave moves the counter once by the number of its active lanes, all of which get the old
 * value.
 */
static int append(struct rp_wave *w, const struct rp_insn *in, bool consume)
{
    uint64_t exec = RP_EXEC(w), at = m0_offset(w, in);
    uint32_t old = 0, lanes = rp_lane_count(exec);
    if (!exec)
        return RP_STEP_NEXT;
    if (at + 4 <= w->group->lds_bytes) {
        old = rp_read32(w->group->lds + at);
        memcpy(w->group->lds + at, &(uint32_t){consume ? old - lanes : old + lanes}, 4);
    }
    uint32_t *d = rp_rows(w, &in->dst)[0];
    RP_FOR_LANES(lane, exec)
    d[lane] = old;
    rp_counts_of(w)->lds_bytes += 8;
    return RP_STEP_NEXT;
}

int rp_ds_append(struct rp_wave *w, const struct rp_insn *in)
{
    return append(w, in, false);
}

int rp_ds_consume(struct rp_wave *w, const struct rp_insn *in)
{
    return append(w, in, true);
}

/* ---- transposing reads (gfx950) ---- */

/* Returns the bits of an element, which are the number behind "_tr_b". */
static unsigned element_bits(unsigned op)
{
    switch (op) {
    case RP_OP_ds_read_b64_tr_b4:
        return 4;
    case RP_OP_ds_read_b96_tr_b6:
        return 6;
    case RP_OP_ds_read_b64_tr_b8:
        return 8;
    default:
        return 16;
    }
}

/* Returns @p count bits from bit @p at of little-endian words. At most 16 are allowed, which may
 * lie across two words.
 */
static uint32_t bits_at(const uint32_t *words, unsigned at, unsigned count)
{
    const unsigned word = at / 32, shift = at % 32;
    const uint64_t high = shift + count > 32 ? words[word + 1] : 0;
    return (uint32_t)((words[word] | high << 32) >> shift) & ((1u << count) - 1);
}

/*
 * Every 16 lanes read a matrix of 16 columns: a lane reads n elements side by side, 16 / n lanes
 * one row, the next lanes the next row. Lane i gets column i: from row j its element j. (CDNA4 ISA
 * document, "MFMA Transpose Load from LDS", which also wants all lanes on; for eight bits,
 * published probes of an MI350X.) Outside the allocation there are zeros.
 */
int rp_ds_read_tr(struct rp_wave *w, const struct rp_insn *in)
{
    const unsigned width = element_bits(in->op), bytes = 4u * in->dst.dwords;
    const unsigned n = 8 * bytes / width, lanes_per_row = 16 / n;
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    uint32_t read[RP_LANES][3] = {{0}}, result[RP_LANES][3] = {{0}};
    if (RP_EXEC(w) != ~0ull)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED,
                             "a transposing read wants all lanes switched on");
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t at = (uint32_t)(address[lane] + ((uint32_t)in->offset & 0xffff));
        if (at + bytes <= w->group->lds_bytes)
            memcpy(read[lane], w->group->lds + at, bytes);
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned j = 0; j < n; j++) {
            const unsigned i = lane % 16, from = lane - i + j * lanes_per_row + i / n;
            const uint32_t v = bits_at(read[from], i % n * width, width);
            const unsigned word = j * width / 32, shift = j * width % 32;
            result[lane][word] |= v << shift;
            if (shift + width > 32)
                result[lane][word + 1] |= v >> (32 - shift);
        }
    for (unsigned r = 0; r < in->dst.dwords; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            rp_rows(w, &in->dst)[r][lane] = result[lane][r];
    rp_counts_of(w)->lds_bytes += (uint64_t)RP_LANES * bytes;
    return RP_STEP_NEXT;
}
