/*
 * Matrix instructions around their kernels (lane_mfma.h): operands, CBSZ, ABID and BLGP. EXEC and
 * MODE have no say: all 64 lanes take part, always (CDNA3 ISA document, "Matrix Arithmetic").
 */
#include "valu.h"

enum { AB_ROWS_MAX = 8, CD_ROWS_MAX = 32 };

/** What the modifiers of an opcode mean. */
struct shape {
    uint8_t m;      /**< rows of A and columns of B per block */
    uint8_t blocks; /**< 1, 2, 4 or 16 */
    bool blgp;      /**< BLGP permutes B */
    bool sparse;    /**< CBSZ and ABID choose the index set */
    bool f64;
    bool negates; /**< BLGP negates A, B, C */
    bool any;     /**< CBSZ and BLGP name the formats of A and B */
    uint8_t sets; /**< sparse: index sets per dword */
};

/*
 * From the mnemonic, which says it all but the blocks: those fill the result. On CDNA2 all but f64
 * have BLGP, on CDNA3 not the shapes of one block, but for f32; and only CDNA3 negates f64 (AMD
 * matrix instruction calculator).
 */
static struct shape shape_of(const struct rp_insn *in)
{
    const char *name = rp_isa_mnemonic(in->op);
    struct shape s = {.m = 4, .blocks = 1};
    const bool gfx90a = rp_isa_target_get() == RP_ISA_GFX90A;
    const bool wide = strstr(name, "_32x32x"), square = strstr(name, "_16x16x");
    if (wide || square)
        s.m = wide ? 32 : 16;
    s.sparse = strncmp(name, "v_smfmac", 8) == 0;
    s.f64 = strstr(name, "_f64") != NULL;
    s.blocks = (uint8_t)(in->dst.dwords * RP_LANES / (s.f64 ? 2 : 1) / (s.m * s.m));
    s.blgp = !s.f64 && (s.blocks > 1 || in->op == RP_OP_v_mfma_f32_32x32x2_f32 ||
                        in->op == RP_OP_v_mfma_f32_16x16x4_f32 || gfx90a);
    s.negates = s.f64 && !gfx90a;
    s.any = rp_mfma_any_format(in->op);
    /* Two bits for each of a lane's stored values, of 16 or 8 bits. */
    s.sets = (uint8_t)(32 / (in->src[0].dwords * (strstr(name, "f16") ? 4 : 8)));
    return s;
}

static bool modifiers_are_defined(const struct rp_insn *in, const struct shape *s)
{
    if (s->any) /* ABID: whether there are scales */
        return in->cbsz <= 4 && in->blgp <= 4 && in->abid == (in->fmt == RP_FMT_VOP3PX2);
    if (in->blgp && !s->blgp && !s->negates)
        return false;
    if (s->sparse) /* with one set nothing is chosen */
        return in->cbsz || s->sets == 1 || in->abid < s->sets;
    if (s->f64 && in->cbsz)
        return false;
    return 1u << in->cbsz <= s->blocks && in->abid < 1u << in->cbsz;
}

bool rp_mfma_any_format(unsigned op)
{
    return strstr(rp_isa_mnemonic(op), "_f8f6f4") != NULL;
}

void rp_mfma_bind(struct rp_insn *in)
{
    const struct shape s = shape_of(in);
    in->lane = rp_target_lane(in->op);
    if (!in->lane || !modifiers_are_defined(in, &s))
        in->fn = rp_fault_operand;
    if (rp_isa_target_get() == RP_ISA_GFX90A && strstr(rp_isa_mnemonic(in->op), "f16"))
        in->flags |= RP_IF_FLUSH;
}

static const uint32_t *rows_of(const struct rp_wave *w, const struct rp_opnd *o)
{
    return o->kind == RP_OPND_AGPR ? w->agpr[o->index] : w->vgpr[o->index];
}

/* CBSZ and ABID: of every 2^CBSZ blocks, all get the A of block ABID. */
static unsigned a_lane(const struct shape *s, const struct rp_insn *in, unsigned lane)
{
    const unsigned per_group = s->m * s->blocks, group = lane / per_group;
    const unsigned block = lane % per_group / s->m;
    const unsigned from = (block >> in->cbsz << in->cbsz) + in->abid;
    return group * per_group + from * s->m + lane % s->m;
}

/* BLGP: which lane's B a lane gets (CDNA3 ISA document, table of "BLGP"). */
static unsigned b_lane(unsigned blgp, unsigned lane)
{
    switch (blgp) {
    case 0:
        return lane;
    case 1:
        return lane % 32;
    case 2:
        return lane % 32 + 32;
    case 3:
        return (lane + 16) % 64;
    default:
        return lane % 16 + 16 * (blgp - 4);
    }
}

static void permute(uint32_t (*to)[RP_LANES], const uint32_t *rows, unsigned n, const uint8_t *from)
{
    for (unsigned r = 0; r < n; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            to[r][lane] = rows[r * RP_LANES + from[lane]];
}

/* With modifiers: A and B with their lanes moved. */
static int run_modified(const struct rp_insn *in, struct rp_lane_args *a)
{
    uint32_t rows_a[AB_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
    uint32_t rows_b[AB_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
    uint8_t from[RP_LANES];
    const struct shape s = shape_of(in);
    if (s.sparse) {
        a->select = in->cbsz || s.sets == 1 ? 0 : 32u / s.sets * in->abid;
    } else if (s.f64) {
        a->select = in->blgp;
    } else {
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            from[lane] = (uint8_t)a_lane(&s, in, lane);
        permute(rows_a, a->s0, in->src[0].dwords, from);
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            from[lane] = (uint8_t)b_lane(in->blgp, lane);
        permute(rows_b, a->s1, in->src[1].dwords, from);
        a->s0 = rows_a[0];
        a->s1 = rows_b[0];
    }
    in->lane(a);
    return RP_STEP_NEXT;
}

static int run_any_format(const struct rp_insn *in, struct rp_lane_args *a)
{
    const unsigned byte_a = (in->op_sel & 1) | (in->op_sel_hi & 1) << 1;
    const unsigned byte_b = (in->op_sel >> 1 & 1) | (in->op_sel_hi & 2);
    a->select = (uint32_t)in->cbsz << RP_F8F6F4_A | (uint32_t)in->blgp << RP_F8F6F4_B |
                byte_a << RP_F8F6F4_BYTE_A | byte_b << RP_F8F6F4_BYTE_B;
    in->lane(a);
    return RP_STEP_NEXT;
}

static int run_kept(const struct rp_insn *in, struct rp_lane_args *a)
{
    if (rp_op_rows[in->op].src[0] == RP_T_B256)
        return run_any_format(in, a);
    if (__builtin_expect(in->cbsz | in->abid | in->blgp, 0))
        return run_modified(in, a);
    in->lane(a);
    return RP_STEP_NEXT;
}

static void flush_f32(uint32_t (*to)[RP_LANES], const uint32_t *rows, unsigned n)
{
    for (unsigned i = 0; i < n * RP_LANES; i++)
        to[i / RP_LANES][i % RP_LANES] = rows[i] & 0x7f800000 ? rows[i] : rows[i] & 0x80000000;
}

/* Both halves of each dword. */
static void flush_halves(uint32_t (*to)[RP_LANES], const uint32_t *rows, unsigned n,
                         uint32_t exponent)
{
    for (unsigned i = 0; i < n * RP_LANES; i++) {
        const uint32_t low = rows[i] & exponent ? 0x7fff : 0;
        const uint32_t high = rows[i] >> 16 & exponent ? 0x7fff : 0;
        to[i / RP_LANES][i % RP_LANES] = rows[i] & (0x80008000 | high << 16 | low);
    }
}

/*
 * CDNA2's matrix instructions on f16 and bf16 take denormals for zeros and give none (AMD, "MI200
 * matrix fused multiply-add behavior specifics"). C counts as an input, too.
 */
static int run_flushed(const struct rp_insn *in, struct rp_lane_args *a)
{
    uint32_t rows_a[AB_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
    uint32_t rows_b[AB_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
    uint32_t rows_c[CD_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
    const uint32_t exponent = strstr(rp_isa_mnemonic(in->op), "bf16") ? 0x7f80 : 0x7c00;
    uint32_t(*d)[RP_LANES] = (uint32_t(*)[RP_LANES])(void *)a->d;
    flush_halves(rows_a, a->s0, in->src[0].dwords, exponent);
    flush_halves(rows_b, a->s1, in->src[1].dwords, exponent);
    flush_f32(rows_c, a->s2, a->c_stride ? in->dst.dwords : 1);
    a->s0 = rows_a[0];
    a->s1 = rows_b[0];
    a->s2 = rows_c[0];
    int step = run_kept(in, a);
    flush_f32(d, a->d, in->dst.dwords);
    return step;
}

static int run(const struct rp_insn *in, struct rp_lane_args *a)
{
    return in->flags & RP_IF_FLUSH ? run_flushed(in, a) : run_kept(in, a);
}

/* C and D share registers but are not the same: the kernel gets a copy of C. */
static int run_with_copy(const struct rp_insn *in, struct rp_lane_args *a)
{
    uint32_t c[CD_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
    memcpy(c, a->s2, in->dst.dwords * sizeof c[0]);
    a->s2 = c[0];
    return run(in, a);
}

static bool overlap_in_part(const struct rp_insn *in)
{
    const struct rp_opnd *c = &in->src[2], *d = &in->dst;
    return c->kind == d->kind && c->index != d->index && c->index < d->index + d->dwords &&
           d->index < c->index + c->dwords;
}

static int run_with_constant(const struct rp_insn *in, struct rp_lane_args *a)
{
    uint32_t c[2][RP_LANES] __attribute__((aligned(64)));
    rp_row_fill(c[0], (uint32_t)in->src[2].imm);
    rp_row_fill(c[1], (uint32_t)(in->src[2].imm >> 32)); /* read by the f64 kernels only */
    a->s2 = c[0];
    a->c_stride = 0;
    return run(in, a);
}

int rp_mfma(struct rp_wave *w, const struct rp_insn *in)
{
    if (w->gpr_idx & RP_VALU_INDEX)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "matrix instruction in index mode");
    if (!rp_registers_exist(w, in))
        return rp_fault_register(w, in);
    struct rp_lane_args a = {.d = in->dst.kind == RP_OPND_AGPR ? w->agpr[in->dst.index]
                                                               : w->vgpr[in->dst.index],
                             .s0 = rows_of(w, &in->src[0]),
                             .s1 = rows_of(w, &in->src[1]),
                             .c_stride = RP_LANES};
    if (in->src[2].type == RP_T_B32) { /* smfmac: D accumulates, src2 has the indices */
        a.s2 = a.d;
        a.s3 = rows_of(w, &in->src[2]);
        return run(in, &a);
    }
    if (in->fmt == RP_FMT_VOP3PX2) {
        a.s3 = rows_of(w, &in->src[3]);
        a.s4 = rows_of(w, &in->sdst);
    }
    if (in->src[2].kind == RP_OPND_CONST)
        return run_with_constant(in, &a);
    a.s2 = rows_of(w, &in->src[2]);
    return overlap_in_part(in) ? run_with_copy(in, &a) : run(in, &a);
}
