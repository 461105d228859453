/* Executes VALU instructions by lane kernels. There are short ways and a long one: an instruction
 * without modifiers needs only a register check, the fetch of its rows and the kernel. All others
 * go to rp_valu().
 */
#include "device/isa/valu.h"

#include <math.h>

#include "base/cpu.h"
#include "device/isa/wave_state.h"

const uint32_t *rp_fetch_scalar(const struct rp_wave *w, const struct rp_opnd *o,
                                struct rp_rows *rows)
{
    if (o->kind == RP_OPND_SGPR) {
        for (unsigned i = 0; i < o->dwords; i++)
            rp_row_fill(rows->row[i], w->sgpr[o->index + i]);
        return rows->row[0];
    }
    const uint64_t value = rp_opnd_u64(w, o);
    rp_row_fill(rows->row[0], (uint32_t)value);
    if (o->dwords > 1)
        rp_row_fill(rows->row[1], (uint32_t)(value >> 32));
    for (unsigned i = 2; i < o->dwords; i++)
        rp_row_fill(rows->row[i], 0);
    return rows->row[0];
}

int rp_fault_register(struct rp_wave *w, const struct rp_insn *in)
{
    return rp_wave_fault(w, in, RP_FAULT_ILLEGAL_OPCODE,
                         "a vector register beyond the %u allocated ones", w->vgpr_count);
}

/* Index mode and missing registers need the long way, whatever the instruction is. */
static inline bool is_plain(const struct rp_wave *w, const struct rp_insn *in)
{
    return __builtin_expect(!w->gpr_idx && in->vgpr_top <= w->vgpr_count, 1);
}

/* Fetches a 32- or 64-bit float source with its abs and neg. */
static inline const uint32_t *fetch_signed(const struct rp_wave *w, const struct rp_insn *in,
                                           unsigned i, struct rp_rows *b)
{
    const struct rp_opnd *o = &in->src[i];
    const uint32_t *src = rp_fetch(w, o, b);
    const bool neg = in->neg >> i & 1, abs = in->abs >> i & 1;
    const unsigned top = o->dwords - 1u;
    if (!neg && !abs)
        return src;
    if (top)
        rp_row_mask(b->row[0], src, ~0u, 0);
    rp_row_mask(b->row[top], src + top * RP_LANES, abs ? 0x7fffffffu : ~0u, neg ? 0x80000000u : 0);
    return b->row[0];
}

/* Computes d = f(sources) without masks. @p n sources, @p rows result rows and @p sign (with neg
 * and abs) are constants at every use.
 */
static inline __attribute__((always_inline)) int arith(struct rp_wave *w, const struct rp_insn *in,
                                                       unsigned n, unsigned rows, bool sign)
{
    if (!is_plain(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    if (exec == 0)
        return RP_STEP_NEXT;
    struct rp_rows b[3];
    struct rp_lane_args a;
    a.mode = w->mode;
    a.s0 = sign ? fetch_signed(w, in, 0, &b[0]) : rp_fetch(w, &in->src[0], &b[0]);
    if (n > 1)
        a.s1 = sign ? fetch_signed(w, in, 1, &b[1]) : rp_fetch(w, &in->src[1], &b[1]);
    if (n > 2)
        a.s2 = sign ? fetch_signed(w, in, 2, &b[2]) : rp_fetch(w, &in->src[2], &b[2]);
    uint32_t *dst = w->vgpr[in->dst.index];
    if (__builtin_expect(exec == ~0ull, 1)) {
        a.d = dst;
        in->lane(&a);
        return RP_STEP_NEXT;
    }
    struct rp_rows result;
    a.d = result.row[0];
    in->lane(&a);
    for (unsigned i = 0; i < rows; i++)
        rp_row_blend(dst + i * RP_LANES, result.row[i], exec);
    return RP_STEP_NEXT;
}

#define ARITH(n, rows)                                                                             \
    static int arith_##n##_##rows(struct rp_wave *w, const struct rp_insn *in)                     \
    {                                                                                              \
        return arith(w, in, n, rows, false);                                                       \
    }                                                                                              \
    static int signed_##n##_##rows(struct rp_wave *w, const struct rp_insn *in)                    \
    {                                                                                              \
        return arith(w, in, n, rows, true);                                                        \
    }
ARITH(1, 1)
ARITH(2, 1)
ARITH(3, 1)
ARITH(1, 2)
ARITH(2, 2)
ARITH(3, 2)

/* Computes with a lane mask that goes in or out: carries, selects, division helpers. */
static int arith_masked(struct rp_wave *w, const struct rp_insn *in)
{
    if (!is_plain(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    struct rp_rows b[3], result;
    struct rp_lane_args a = {.mode = w->mode, .d = w->vgpr[in->dst.index]};
    a.s0 = rp_fetch(w, &in->src[0], &b[0]);
    a.s1 = rp_fetch(w, &in->src[1], &b[1]);
    if (in->src[2].kind != RP_OPND_NONE)
        a.s2 = rp_fetch(w, &in->src[2], &b[2]);
    if (in->src[3].kind != RP_OPND_NONE)
        a.mask_in = rp_opnd_u64(w, &in->src[3]);
    if (exec != ~0ull)
        a.d = result.row[0];
    in->lane(&a);
    if (exec != ~0ull)
        for (unsigned i = 0; i < in->dst.dwords; i++)
            rp_row_blend(w->vgpr[in->dst.index + i], result.row[i], exec);
    if (in->sdst.kind != RP_OPND_NONE)
        rp_sgpr64_set(w, in->sdst.index, a.mask_out & exec);
    return RP_STEP_NEXT;
}

/* Compares write 0 for inactive lanes. */
static int compare(struct rp_wave *w, const struct rp_insn *in)
{
    if (!is_plain(w, in))
        return rp_valu_cmp(w, in);
    struct rp_rows b[2];
    struct rp_lane_args a;
    a.mode = w->mode;
    a.s0 = rp_fetch(w, &in->src[0], &b[0]);
    a.s1 = rp_fetch(w, &in->src[1], &b[1]);
    in->lane(&a);
    rp_sgpr64_set(w, in->sdst.index, a.mask_out & RP_EXEC(w));
    return RP_STEP_NEXT;
}

/* ---- choosing a handler at decode time ---- */

/* 16-bit results of the gfx9 VOP3 opcodes go to the half that op_sel names and keep the other
 * half. The older opcodes (VOP1, VOP2 and the "legacy" forms) clear the upper half.
 */
bool rp_keeps_other_half(const struct rp_insn *in)
{
    if (rp_op_rows[in->op].fmt != RP_FMT_VOP3 || !rp_type_is_16bit(in->dst.type))
        return false;
    switch (in->op) {
    case RP_OP_v_mad_legacy_f16:
    case RP_OP_v_mad_legacy_u16:
    case RP_OP_v_mad_legacy_i16:
    case RP_OP_v_fma_legacy_f16:
    case RP_OP_v_div_fixup_legacy_f16:
        return false;
    default:
        return true;
    }
}

bool rp_valu_only_signs(const struct rp_insn *in)
{
    if (in->flags & (RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA) || in->fmt != RP_FMT_VOP3 ||
        in->op_sel != 0)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (((in->neg | in->abs) >> i & 1) && in->src[i].type != RP_T_F32 &&
            in->src[i].type != RP_T_F64)
            return false;
    return true;
}

bool rp_valu_only_packed_f32(const struct rp_insn *in)
{
    return in->fmt == RP_FMT_VOP3P && in->dst.type == RP_T_PKF32 && !(in->flags & RP_IF_DSTMOD);
}

static int valu_packed_f32(struct rp_wave *w, const struct rp_insn *in);

void rp_valu_choose_short_way(struct rp_insn *in)
{
    static rp_insn_fn *const plain[3][2] = {
        {arith_1_1, arith_1_2}, {arith_2_1, arith_2_2}, {arith_3_1, arith_3_2}};
    static rp_insn_fn *const with_signs[3][2] = {
        {signed_1_1, signed_1_2}, {signed_2_1, signed_2_2}, {signed_3_1, signed_3_2}};
    const bool modified = in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA);
    const bool masked = in->sdst.kind != RP_OPND_NONE || in->src[3].kind != RP_OPND_NONE;
    unsigned n = 0;
    while (n < 3 && in->src[n].kind != RP_OPND_NONE)
        n++;
    if (in->fn == rp_valu_cmp && !modified)
        in->fn = compare;
    if (in->fn != rp_valu || n == 0 || in->dst.dwords > 2)
        return;
    if (!modified)
        in->fn = masked ? arith_masked : plain[n - 1][in->dst.dwords - 1];
    else if (!masked && rp_valu_only_packed_f32(in))
        in->fn = valu_packed_f32;
    else if (!masked && rp_valu_only_signs(in))
        in->fn = with_signs[n - 1][in->dst.dwords - 1];
}

/* The long way handles source modifiers, SDWA, DPP, packed operand selection, destination
 * modifiers, partial registers and VGPR index mode. The order is that of the hardware: DPP moves
 * lanes of src0; SDWA or op_sel picks a part; abs, then neg; the operation; clamp; placement in
 * the destination; EXEC.
 */

/* ---- VGPR index mode ---- */

/* M0[15:12] enables src0, src1, src2 and dst. A tied accumulator moves with its destination. */
const struct rp_insn *rp_apply_gpr_idx(const struct rp_wave *w, const struct rp_insn *in,
                                       struct rp_insn *moved)
{
    if (!(w->gpr_idx & RP_VALU_INDEX))
        return in;
    const uint32_t m0 = w->sgpr[RP_SGPR_M0], index = m0 & 0xff, enables = m0 >> 12 & 15;
    const bool accumulates =
        rp_op_rows[in->op].fmt == RP_FMT_VOP2 || in->op == RP_OP_v_cvt_pkaccum_u8_f32;
    const bool tied =
        accumulates && in->src[2].kind == RP_OPND_VGPR && in->src[2].index == in->dst.index;
    *moved = *in;
    struct rp_opnd *const operands[4] = {&moved->src[0], &moved->src[1], &moved->src[2],
                                         &moved->dst};
    const uint32_t limit = w->vgpr_count < 256 ? w->vgpr_count : 256;
    moved->vgpr_top = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct rp_opnd *o = operands[i];
        if (o->kind != RP_OPND_VGPR)
            continue;
        const unsigned slot = i == 2 && tied ? 3 : i;
        const unsigned first = o->index + (enables >> slot & 1 ? index : 0);
        if (first + o->dwords > limit)
            return NULL;
        o->index = (uint8_t)first;
    }
    return moved;
}

/* ---- DPP ---- */

/* Returns the source lane of @p lane, or -1 when the pattern has none. The control codes are those
 * of the CDNA3 ISA guide, DPP.
 */
static int dpp_lane(unsigned ctrl, int lane)
{
    const int row = lane & ~15, pos = lane & 15, n = (int)(ctrl & 15);
    if (ctrl < 0x100) /* This is quad_perm. */
        return (lane & ~3) | (int)(ctrl >> (2 * (lane & 3)) & 3);
    switch (ctrl >> 4) {
    case 0x10: /* This is row_shl. */
        return pos + n < 16 ? lane + n : -1;
    case 0x11: /* This is row_shr. */
        return pos >= n ? lane - n : -1;
    case 0x12: /* This is row_ror. */
        return row | ((pos - n) & 15);
    case 0x15: /* This is row_newbcast. */
        return row | n;
    }
    switch (ctrl) {
    case 0x130: /* This is wave_shl:1. */
        return lane < 63 ? lane + 1 : -1;
    case 0x134: /* This is wave_rol:1. */
        return (lane + 1) & 63;
    case 0x138: /* This is wave_shr:1. */
        return lane - 1;
    case 0x13c: /* This is wave_ror:1. */
        return (lane - 1) & 63;
    case 0x140: /* This is row_mirror. */
        return row | (15 - pos);
    case 0x141: /* This is row_half_mirror. */
        return (lane & ~7) | (7 - (lane & 7));
    case 0x142: /* row_bcast:15 copies the last lane of each row to the next row. */
        return row - 1;
    case 0x143: /* row_bcast:31 copies lane 31 to the upper half. */
        return lane >= 32 ? 31 : -1;
    }
    return -1;
}

static bool dpp_ctrl_exists(unsigned ctrl)
{
    if (ctrl < 0x100)
        return true;
    if (ctrl >> 4 == 0x10 || ctrl >> 4 == 0x11 || ctrl >> 4 == 0x12)
        return (ctrl & 15) != 0;
    if (ctrl >> 4 == 0x15)
        return true;
    return ctrl == 0x130 || ctrl == 0x134 || ctrl == 0x138 || ctrl == 0x13c ||
           (ctrl >= 0x140 && ctrl <= 0x143);
}

/* Moves lanes of src0 as dpp_ctrl says. A lane whose source is outside or switched off reads 0
 * under bound_ctrl and is not written otherwise; row_mask and bank_mask switch lanes off. @param
 * active in: EXEC; out: lanes to be written
 */
static const uint32_t *apply_dpp(const struct rp_insn *in, const uint32_t *src, unsigned rows,
                                 struct rp_rows *out, uint64_t *active)
{
    const uint64_t exec = *active;
    for (int lane = 0; lane < RP_LANES; lane++) {
        const int from = dpp_lane(in->dpp_ctrl, lane);
        const bool valid = from >= 0 && (exec >> from & 1);
        const bool enabled =
            (in->row_mask >> (lane >> 4) & 1) && (in->bank_mask >> (lane >> 2 & 3) & 1);
        if (!enabled || (!valid && !in->bound_ctrl))
            *active &= ~(1ull << lane);
        for (unsigned r = 0; r < rows; r++)
            out->row[r][lane] = valid ? src[r * RP_LANES + (unsigned)from] : 0;
    }
    return out->row[0];
}

/* ---- parts of registers ---- */

/* Bytes 0 to 3 and halves 0 and 1 are SDWA's selections 0 to 5; 6 is all of the register. */
struct part {
    unsigned width, shift;
};

bool rp_has_avx512;

__attribute__((constructor)) static void ask_cpu(void)
{
    rp_has_avx512 = rp_cpu_has_v4();
}

static struct part selected_part(unsigned sel)
{
    if (sel < 4)
        return (struct part){8, 8 * sel};
    return sel < 6 ? (struct part){16, 16 * (sel - 4)} : (struct part){32, 0};
}

__attribute__((target("avx512f"))) static void
shift_avx512(uint32_t *dst, const uint32_t *src, unsigned left, unsigned right, bool sext)
{
    const __m128i l = _mm_cvtsi32_si128((int)left), r = _mm_cvtsi32_si128((int)right);
    for (unsigned i = 0; i < RP_LANES; i += 16) {
        const __m512i v = _mm512_sll_epi32(_mm512_loadu_si512(src + i), l);
        _mm512_storeu_si512(dst + i, sext ? _mm512_sra_epi32(v, r) : _mm512_srl_epi32(v, r));
    }
}

/* Computes dst[lane] = src[lane] << left >> right, where the right shift copies the sign if @p
 * sext.
 */
static void shift_row(uint32_t *dst, const uint32_t *src, unsigned left, unsigned right, bool sext)
{
    if (rp_has_avx512) {
        shift_avx512(dst, src, left, right, sext);
        return;
    }
    const __m128i l = _mm_cvtsi32_si128((int)left), r = _mm_cvtsi32_si128((int)right);
    for (unsigned i = 0; i < RP_LANES; i += 4) {
        const __m128i v = _mm_sll_epi32(_mm_loadu_si128((const __m128i *)(src + i)), l);
        _mm_storeu_si128((__m128i *)(dst + i), sext ? _mm_sra_epi32(v, r) : _mm_srl_epi32(v, r));
    }
}

__attribute__((target("avx512f"))) static void merge_avx512(uint32_t *dst, const uint32_t *src,
                                                            uint32_t mask, uint32_t flip)
{
    const __m512i m = _mm512_set1_epi32((int)mask), x = _mm512_set1_epi32((int)flip);
    for (unsigned i = 0; i < RP_LANES; i += 16) {
        const __m512i v = _mm512_and_si512(_mm512_loadu_si512(src + i), m);
        const __m512i both = _mm512_or_si512(_mm512_loadu_si512(dst + i), v);
        _mm512_storeu_si512(dst + i, _mm512_xor_si512(both, x));
    }
}

/* Computes dst[lane] = (dst[lane] | (src[lane] & mask)) ^ flip. */
static void merge_rows(uint32_t *dst, const uint32_t *src, uint32_t mask, uint32_t flip)
{
    if (rp_has_avx512) {
        merge_avx512(dst, src, mask, flip);
        return;
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        dst[lane] = (dst[lane] | (src[lane] & mask)) ^ flip;
}

/* ---- sources ---- */

static void take_part(uint32_t *dst, const uint32_t *src, struct part part, bool sext)
{
    shift_row(dst, src, 32 - part.width - part.shift, 32 - part.width, sext);
}

/* Returns which bit of which row is the sign bit of a type. */
static uint32_t sign_bit(unsigned type, unsigned *ret_row)
{
    *ret_row = rp_type_dwords(type) == 2 && type != RP_T_PKF32 ? 1 : 0;
    return rp_type_is_16bit(type) ? 0x8000u : 0x80000000u;
}

/* VOP3P sources take the halves that op_sel and op_sel_hi pick; then neg_lo and neg_hi (in->abs)
 * apply.
 */
static const uint32_t *packed_source(const struct rp_insn *in, unsigned i, const uint32_t *src,
                                     struct rp_rows *out)
{
    const unsigned type = in->src[i].type;
    const bool lo_sel = in->op_sel >> i & 1, hi_sel = in->op_sel_hi >> i & 1;
    const bool neg_lo = in->neg >> i & 1, neg_hi = in->abs >> i & 1;
    if (type == RP_T_PKF32) {
        struct rp_rows copy;
        if (!lo_sel && hi_sel && !neg_lo && !neg_hi)
            return src;
        if (src == out->row[0]) /* The rows of a broadcast scalar are about to be overwritten. */
            src = memcpy(copy.row, src, 2 * sizeof copy.row[0]);
        rp_row_mask(out->row[0], src + (lo_sel ? RP_LANES : 0), ~0u, neg_lo ? 0x80000000u : 0);
        rp_row_mask(out->row[1], src + (hi_sel ? RP_LANES : 0), ~0u, neg_hi ? 0x80000000u : 0);
        return out->row[0];
    }
    if (type == RP_T_PK16 || type == RP_T_PKF16 || type == RP_T_PKBF16) {
        const bool f = type != RP_T_PK16;
        const uint32_t flip = (f && neg_lo ? 0x8000u : 0) | (f && neg_hi ? 0x80000000u : 0);
        if (!lo_sel && hi_sel) {
            if (flip == 0)
                return src;
            rp_row_mask(out->row[0], src, ~0u, flip);
            return out->row[0];
        }
        struct rp_rows high;
        shift_row(high.row[0], src, hi_sel ? 0 : 16, 0, false);
        shift_row(out->row[0], src, lo_sel ? 0 : 16, 16, false);
        merge_rows(out->row[0], high.row[0], 0xffff0000u, flip);
        return out->row[0];
    }
    if (type != RP_T_F32 || !neg_lo)
        return src;
    rp_row_mask(out->row[0], src, ~0u, 0x80000000u); /* This is the f32 accumulator of dot2. */
    return out->row[0];
}

static const uint32_t *modified_source(const struct rp_insn *in, unsigned i, const uint32_t *src,
                                       struct rp_rows *out)
{
    const struct rp_opnd *o = &in->src[i];
    const bool sdwa = in->flags & RP_IF_SDWA && i < 2;
    const bool half = in->fmt == RP_FMT_VOP3 && (in->op_sel >> i & 1) && o->type != RP_T_B8 &&
                      rp_type_is_16bit(o->type);
    const bool neg = in->neg >> i & 1, abs = in->abs >> i & 1;
    if (!sdwa && !half && !neg && !abs)
        return src;
    if (sdwa)
        take_part(out->row[0], src, selected_part(in->src_sel[i]), in->sdwa_sext >> i & 1);
    else if (half)
        shift_row(out->row[0], src, 0, 16, false);
    if (sdwa || half)
        src = out->row[0];
    unsigned sign_row;
    const uint32_t sign = sign_bit(o->type, &sign_row);
    for (unsigned r = 0; r < o->dwords; r++) {
        const uint32_t bit = r == sign_row ? sign : 0;
        rp_row_mask(out->row[r], src + r * RP_LANES, abs ? ~bit : ~0u, neg ? bit : 0);
    }
    return out->row[0];
}

/* Makes all sources ready for the lane kernel, and narrows @p active under DPP. */
static void fetch_sources(const struct rp_wave *w, const struct rp_insn *in, struct rp_rows b[3],
                          const uint32_t *s[3], uint64_t *active)
{
    const bool usual = !(w->gpr_idx & RP_VALU_MODE);
    for (unsigned i = 0; i < 3; i++) {
        if (in->src[i].kind == RP_OPND_NONE)
            continue;
        s[i] = rp_fetch(w, &in->src[i], &b[i]);
        if (i == 0 && in->flags & RP_IF_DPP)
            s[i] = apply_dpp(in, s[i], in->src[i].dwords, &b[i], active);
        s[i] = in->fmt == RP_FMT_VOP3P ? packed_source(in, i, s[i], &b[i])
                                       : modified_source(in, i, s[i], &b[i]);
        if (!usual)
            s[i] = rp_mode_source(w->mode, in, in->src[i].type, s[i], &b[i]);
    }
}

/* ---- results ---- */

/* NaN becomes 0 under DX10_CLAMP, and stays otherwise. */
static uint32_t clamp_f32(uint32_t bits, bool dx10)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    if (f != f && !dx10)
        return bits;
    f = f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f;
    memcpy(&bits, &f, sizeof f);
    return bits;
}

static uint64_t clamp_f64(uint64_t bits, bool dx10)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    if (f != f && !dx10)
        return bits;
    f = f > 0.0 ? (f < 1.0 ? f : 1.0) : 0.0;
    memcpy(&bits, &f, sizeof f);
    return bits;
}

/* f16 bit patterns order like integers, so negative values and NaN become 0, and those above 1.0
 * (0x3c00) become 1.0.
 */
static uint32_t clamp_f16(uint32_t half, bool dx10)
{
    half &= 0xffff;
    if ((half & 0x7fff) > 0x7c00 && !dx10)
        return half;
    if (half & 0x8000 || half > 0x7c00)
        return 0;
    return half > 0x3c00 ? 0x3c00 : half;
}

/* Does the same for bf16, whose infinity is 0x7f80 and whose 1.0 is 0x3f80. */
static uint32_t clamp_bf16(uint32_t half, bool dx10)
{
    half &= 0xffff;
    if ((half & 0x7fff) > 0x7f80 && !dx10)
        return half;
    if (half & 0x8000 || half > 0x7f80)
        return 0;
    return half > 0x3f80 ? 0x3f80 : half;
}

static void clamp_result(unsigned type, bool dx10, struct rp_rows *r)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t *lo = &r->row[0][lane], *hi = &r->row[1][lane];
        switch (type) {
        case RP_T_F32:
            *lo = clamp_f32(*lo, dx10);
            break;
        case RP_T_PKF32:
            *lo = clamp_f32(*lo, dx10);
            *hi = clamp_f32(*hi, dx10);
            break;
        case RP_T_F16:
            *lo = clamp_f16(*lo, dx10);
            break;
        case RP_T_PKF16:
            *lo = clamp_f16(*lo, dx10) | clamp_f16(*lo >> 16, dx10) << 16;
            break;
        case RP_T_PKBF16:
            *lo = clamp_bf16(*lo, dx10) | clamp_bf16(*lo >> 16, dx10) << 16;
            break;
        case RP_T_F64: {
            const uint64_t v = clamp_f64((uint64_t)*hi << 32 | *lo, dx10);
            *lo = (uint32_t)v;
            *hi = (uint32_t)(v >> 32);
            break;
        }
        default: /* Integers saturate in their lane kernel. */
            return;
        }
    }
}

/* Puts @p row into the selected part of registers that hold @p old. Outside of the part, 2
 * preserves the bits, 1 extends the sign above it and clears below, and 0 clears.
 */
static void put_part(uint32_t *row, const uint32_t *old, struct part part, unsigned unused)
{
    const unsigned left = 32 - part.width, right = left - part.shift;
    shift_row(row, row, left, right, unused == 1);
    if (unused == 2 && part.width < 32)
        merge_rows(row, old, ~(~0u >> left << part.shift), 0);
}

/* Says where a value that is narrower than a register goes in it. */
static void place_result(const struct rp_insn *in, const uint32_t *old, struct rp_rows *r)
{
    const bool sdwa = in->flags & RP_IF_SDWA, byte = in->dst.type == RP_T_B8;
    if (!sdwa && !rp_keeps_other_half(in))
        return;
    unsigned sel = in->dst_sel, unused = in->dst_unused;
    if (!sdwa) {
        sel = byte ? in->op_sel >> 2 & 3u : 4u + (in->op_sel >> 3 & 1u);
        unused = 2;
    }
    put_part(r->row[0], old, selected_part(sel), unused);
}

/* d.lo is a half of src0, d.hi a half of src1; op_sel bit i names the half. */
static void pk_mov(const struct rp_insn *in, const uint32_t *const s[2], struct rp_rows *r)
{
    memcpy(r->row[0], s[0] + (in->op_sel & 1 ? RP_LANES : 0), sizeof r->row[0]);
    memcpy(r->row[1], s[1] + (in->op_sel & 2 ? RP_LANES : 0), sizeof r->row[1]);
}

/* Writes a computed result into the destination, which takes MODE, clamp, placement and EXEC. */
static void write_result(struct rp_wave *w, const struct rp_insn *in,
                         const struct rp_lane_args *args, struct rp_rows *result, uint64_t active)
{
    uint32_t *dst = w->vgpr[in->dst.index];
    if (w->gpr_idx & RP_VALU_MODE)
        rp_mode_result(in, args, result);
    if (in->flags & RP_IF_CLAMP)
        clamp_result(in->dst.type, w->mode & RP_MODE_DX10_CLAMP, result);
    place_result(in, dst, result);
    for (unsigned i = 0; i < in->dst.dwords; i++)
        rp_row_blend(dst + i * RP_LANES, result->row[i], active);
}

static int execute(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_rows b[3], result;
    const uint32_t *s[3] = {NULL, NULL, NULL};
    uint64_t active = RP_EXEC(w);
    struct rp_lane_args a = {.mode = w->mode, .d = result.row[0]};
    bool direct = false;
    if (in->op == RP_OP_v_pk_mov_b32) {
        for (unsigned i = 0; i < 2; i++)
            s[i] = rp_fetch(w, &in->src[i], &b[i]);
        pk_mov(in, s, &result);
    } else {
        fetch_sources(w, in, b, s, &active);
        a.s0 = s[0];
        a.s1 = s[1];
        a.s2 = s[2];
        if (in->src[3].kind != RP_OPND_NONE)
            a.mask_in = rp_opnd_u64(w, &in->src[3]);
        direct = active == ~0ull && !(in->flags & (RP_IF_DSTMOD | RP_IF_SDWA)) &&
                 !(w->gpr_idx & RP_VALU_MODE);
        if (in->dst.kind == RP_OPND_NONE)
            a.d = NULL;
        else if (direct)
            a.d = w->vgpr[in->dst.index];
        in->lane(&a);
    }
    if (in->dst.kind != RP_OPND_NONE && !direct)
        write_result(w, in, &a, &result, active);
    if (in->sdst.kind != RP_OPND_NONE)
        rp_sgpr64_set(w, in->sdst.index, a.mask_out & active);
    return RP_STEP_NEXT;
}

static int valu_packed_f32(struct rp_wave *w, const struct rp_insn *in)
{
    if (w->gpr_idx || !rp_registers_exist(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    struct rp_rows b[3], result;
    struct rp_lane_args a;
    uint32_t *dst = w->vgpr[in->dst.index];
    a.mode = w->mode;
    a.d = exec == ~0ull ? dst : result.row[0];
    a.s0 = packed_source(in, 0, rp_fetch(w, &in->src[0], &b[0]), &b[0]);
    a.s1 = packed_source(in, 1, rp_fetch(w, &in->src[1], &b[1]), &b[1]);
    if (in->src[2].kind != RP_OPND_NONE)
        a.s2 = packed_source(in, 2, rp_fetch(w, &in->src[2], &b[2]), &b[2]);
    in->lane(&a);
    if (exec != ~0ull)
        for (unsigned i = 0; i < 2; i++)
            rp_row_blend(dst + i * RP_LANES, result.row[i], exec);
    return RP_STEP_NEXT;
}

int rp_valu(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (w->gpr_idx & RP_VALU_SKIP)
        return RP_STEP_NEXT;
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, &moved);
    if (!used || !rp_registers_exist(w, used))
        return rp_fault_register(w, in);
    if (in->flags & RP_IF_DPP && !dpp_ctrl_exists(in->dpp_ctrl))
        return rp_fault_operand(w, in);
    return execute(w, used);
}

int rp_valu_cmp(struct rp_wave *w, const struct rp_insn *in)
{
    return rp_valu(w, in);
}

/* v_cmpx writes its mask and EXEC. */
int rp_valu_cmpx(struct rp_wave *w, const struct rp_insn *in)
{
    const int step = rp_valu(w, in);
    if (step == RP_STEP_NEXT && !(w->gpr_idx & RP_VALU_SKIP))
        rp_sgpr64_set(w, RP_SGPR_EXEC_LO, rp_sgpr64(w, in->sdst.index));
    return step;
}

/* ---- v_fma_mix: each source is f32, or the f16 half op_sel names where op_sel_hi is set ---- */

static const uint32_t *mix_source(const struct rp_wave *w, const struct rp_insn *in, unsigned i,
                                  struct rp_rows *b)
{
    const bool neg = in->neg >> i & 1, abs = in->abs >> i & 1;
    const uint32_t *src = rp_fetch(w, &in->src[i], b);
    const bool half = in->op_sel_hi >> i & 1;
    if (half) {
        struct rp_lane_args widen = {.mode = w->mode, .s0 = src, .d = b->row[0]};
        if (in->op_sel >> i & 1) {
            for (unsigned lane = 0; lane < RP_LANES; lane++)
                b->row[1][lane] = src[lane] >> 16;
            widen.s0 = b->row[1];
        }
        for (unsigned lane = 0; lane < RP_LANES && w->gpr_idx & RP_VALU_MODE; lane++)
            b->row[1][lane] = rp_mode_flush_f16(w->mode, false, widen.s0[lane] & 0xffff);
        if (w->gpr_idx & RP_VALU_MODE)
            widen.s0 = b->row[1];
        rp_lane_widen_f16()(&widen);
        src = b->row[0];
    } else if (w->gpr_idx & RP_VALU_MODE) {
        src = rp_mode_source(w->mode, in, RP_T_F32, src, b);
    }
    if (!neg && !abs)
        return src;
    rp_row_mask(b->row[0], src, abs ? 0x7fffffffu : ~0u, neg ? 0x80000000u : 0);
    return b->row[0];
}

/* Computes again, in the wave's MODE, what the lane kernel of v_fma_mix has computed to nearest
 * even.
 */
static void mix_in_mode(uint32_t mode, bool to_f16, const struct rp_lane_args *a,
                        struct rp_rows *result)
{
    const unsigned round = rp_mode_round(mode, RP_T_F32);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t *d = &result->row[0][lane], bits;
        float v[3], r;
        memcpy(&v[0], &a->s0[lane], sizeof v[0]);
        memcpy(&v[1], &a->s1[lane], sizeof v[1]);
        memcpy(&v[2], &a->s2[lane], sizeof v[2]);
        r = rp_round_fma_f32(v[0], v[1], v[2], round);
        if (r != r)
            continue; /* The kernel's NaN is right. */
        memcpy(&bits, &r, sizeof bits);
        *d = bits = rp_mode_flush_f32(mode, true, bits);
        if (!to_f16)
            continue;
        const bool finite = isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
        memcpy(&r, &bits, sizeof r);
        *d = rp_round_f16((double)r, rp_mode_round(mode, RP_T_F16));
        *d = rp_mode_flush_f16(mode, true, rp_mode_f16_overflow(mode, *d, finite));
    }
}

int rp_valu_mix(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (w->gpr_idx & RP_VALU_SKIP)
        return RP_STEP_NEXT;
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, &moved);
    if (!used || !rp_registers_exist(w, used))
        return rp_fault_register(w, in);
    struct rp_rows b[3], result;
    const uint64_t exec = RP_EXEC(w);
    uint32_t *dst = w->vgpr[used->dst.index];
    const bool to_f16 = in->op != RP_OP_v_fma_mix_f32;
    const bool usual = !(w->gpr_idx & RP_VALU_MODE);
    const bool direct = exec == ~0ull && !to_f16 && !(in->flags & RP_IF_CLAMP) && usual;
    struct rp_lane_args a = {.mode = w->mode,
                             .s0 = mix_source(w, used, 0, &b[0]),
                             .s1 = mix_source(w, used, 1, &b[1]),
                             .s2 = mix_source(w, used, 2, &b[2]),
                             .d = direct ? dst : result.row[0]};
    in->lane(&a);
    if (direct)
        return RP_STEP_NEXT;
    if (!usual)
        mix_in_mode(w->mode, to_f16, &a, &result);
    /* 0 and 1 are f16 values, so clamping before or after rounding is the same. */
    if (in->flags & RP_IF_CLAMP)
        clamp_result(in->dst.type, w->mode & RP_MODE_DX10_CLAMP, &result);
    const unsigned shift = in->op == RP_OP_v_fma_mixhi_f16 ? 16 : 0;
    const uint32_t keep = to_f16 ? ~(0xffffu << shift) : 0;
    for (unsigned lane = 0; lane < RP_LANES && to_f16; lane++)
        result.row[0][lane] = (dst[lane] & keep) | result.row[0][lane] << shift;
    rp_row_blend(dst, result.row[0], exec);
    return RP_STEP_NEXT;
}

/* v_bitop3 of gfx950 is any function of three bits. Bit (4 * a + 2 * b + c) of the truth table is
 * the result for the bits a, b, c of the three sources.
 */

static inline uint32_t any_function(uint32_t table, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

/* The 16-bit form takes the half of each source that op_sel names, and writes the one that bit 3
 * names, keeping the other. */
int rp_v_bitop3(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, &moved);
    if (!used || !rp_registers_exist(w, used))
        return rp_fault_register(w, in);
    const bool half = used->op == RP_OP_v_bitop3_b16;
    const uint64_t exec = RP_EXEC(w);
    const unsigned up = used->op_sel & 8 ? 16 : 0;
    uint32_t *d = w->vgpr[used->dst.index];
    const uint32_t *src[3];
    struct rp_rows rows[3];
    for (unsigned i = 0; i < 3; i++) {
        src[i] = rp_fetch(w, &used->src[i], &rows[i]);
        if (used->op_sel >> i & 1 && used->src[i].kind == RP_OPND_CONST)
            /* Nobody documents what the upper half of a constant is. */
            return rp_fault_operand(w, in);
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        if (!(exec >> lane & 1))
            continue;
        const uint32_t r = any_function(used->cbsz, src[0][lane] >> (used->op_sel & 1 ? 16 : 0),
                                        src[1][lane] >> (used->op_sel & 2 ? 16 : 0),
                                        src[2][lane] >> (used->op_sel & 4 ? 16 : 0));
        d[lane] = half ? (d[lane] & ~(0xffffu << up)) | (r & 0xffff) << up : r;
    }
    return RP_STEP_NEXT;
}
