/* Chooses handlers and lane kernels for VALU and matrix instructions whose operands need more than
 * their rows.
 *
 * v_cvt_scalef32_* converts between f32, f16 or bf16 and the small formats with a scale, which is
 * the exponent of the last source. Narrowing divides by it before it rounds, and widening
 * multiplies by it. Sources and destinations are those of the CDNA4 ISA document, whose text
 * behind the pseudo code says that fp6, bf6 and fp4 saturate. It does not say what becomes of a
 * NaN, which these formats lack; here it also becomes the largest magnitude.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/valu.h"

/**
 * Returns the value of an inline constant in an f16 operand, where a float's pattern becomes the
 * f16 one.
 */
static inline uint32_t inline_as_f16(const struct rp_opnd *o)
{
    const bool is_float = o->index >= SRC_FLOAT_FIRST && o->index <= SRC_FLOAT_LAST;
    return is_float ? (uint32_t)rp_inline_float(o->index, RP_T_F16) : (uint32_t)o->imm;
}

enum format { F32, F16, BF16, FP8, BF8, FP6, BF6, FP4, FORMATS };

/** A float has its sign on top; the exponent has the bits that are left. */
struct layout {
    char name[5];
    uint8_t bits, mant_bits, bias;
    uint32_t largest;  /**< magnitude of the largest number */
    uint32_t overflow; /**< what is larger: infinity or NaN, or the largest again */
    uint32_t nan;
};

static const struct layout layouts[FORMATS] = {
    [F32] = {"f32", 32, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000},
    [F16] = {"f16", 16, 10, 15, 0x7bff, 0x7c00, 0x7e00},
    [BF16] = {"bf16", 16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0},
    [FP8] = {"fp8", 8, 3, 7, 0x7e, 0x7f, 0x7f},
    [BF8] = {"bf8", 8, 2, 15, 0x7b, 0x7c, 0x7f},
    [FP6] = {"fp6", 6, 3, 1, 0x1f, 0x1f, 0x1f},
    [BF6] = {"bf6", 6, 2, 3, 0x1f, 0x1f, 0x1f},
    [FP4] = {"fp4", 4, 1, 1, 0x7, 0x7, 0x7},
};

/** This describes what one instruction does. Decoding derives it from the mnemonic. */
struct conversion {
    enum format from, to;
    unsigned count;   /**< 1, 2 or 32 numbers */
    bool random;      /**< stochastic rounding with src[1] */
    bool two_sources; /**< the numbers come from src[0] and src[1] in turn */
};

/* The fields of rp_insn for matrix instructions keep it. */
enum { COUNT_IS_32 = 32, RANDOM = 64, TWO_SOURCES = 128 };

static struct conversion conversion_of(const struct rp_insn *in)
{
    const unsigned count = in->abid & 3;
    return (struct conversion){.from = (enum format)in->cbsz,
                               .to = (enum format)in->blgp,
                               .count = in->abid & COUNT_IS_32 ? 32 : count,
                               .random = in->abid & RANDOM,
                               .two_sources = in->abid & TWO_SOURCES};
}

static enum format format_named(const char *name)
{
    unsigned i = F32;
    while (i < FP4 && strcmp(layouts[i].name, name) != 0)
        i++;
    return (enum format)i;
}

static const char *skip(const char *text, const char *prefix, bool *ret)
{
    *ret = strncmp(text, prefix, strlen(prefix)) == 0;
    return *ret ? text + strlen(prefix) : text;
}

void rp_cvt_scale_bind(struct rp_insn *in)
{
    bool random, twice, many, pair;
    const char *text = rp_isa_mnemonic(in->op) + strlen("v_cvt_scalef32_");
    char to[8] = "";
    text = skip(text, "sr_", &random);
    text = skip(text, "2xpk16_", &twice);
    text = skip(text, "pk32_", &many);
    text = skip(text, "pk_", &pair);
    const size_t length = strcspn(text, "_");
    memcpy(to, text, length < sizeof to ? length : sizeof to - 1);
    in->blgp = (uint8_t)format_named(to);
    in->cbsz = (uint8_t)format_named(text + length + 1);
    const bool two_sources = twice || (pair && !random && in->cbsz == F32);
    in->abid = (uint8_t)((twice || many ? COUNT_IS_32
                          : pair        ? 2
                                        : 1) |
                         (random ? RANDOM : 0) | (two_sources ? TWO_SOURCES : 0));
    /* Nobody documents which of several numbers these modifiers change, and how. */
    const bool packed =
        in->src[0].dwords > 1 || in->src[0].type == RP_T_PKF16 || in->src[0].type == RP_T_PKBF16;
    if ((packed && (in->neg | in->abs) & 1) || in->flags & RP_IF_CLAMP || in->omod)
        in->fn = rp_fault_operand;
}

/* ---- numbers ---- */

static double decode(const struct layout *f, uint32_t bits)
{
    const uint32_t mag = bits & ((1u << (f->bits - 1)) - 1);
    const int e = (int)(mag >> f->mant_bits), mant = (int)(mag & ((1u << f->mant_bits) - 1));
    double v = e == 0 ? ldexp(mant, 1 - f->bias - f->mant_bits)
                      : ldexp(mant + (1 << f->mant_bits), e - f->bias - f->mant_bits);
    if (mag > f->largest)
        v = mag == f->overflow && f->overflow != f->nan ? HUGE_VAL : (double)NAN;
    return bits >> (f->bits - 1) & 1 ? -v : v;
}

/* Decides how part of a unit in the last place is rounded: to nearest even, or stochastically. */
static bool goes_up(double rest, bool odd, const uint32_t *random)
{
    if (random)
        return rest >= 1 - *random * 0x1p-32;
    return rest > 0.5 || (rest == 0.5 && odd);
}

static uint32_t encode(const struct layout *f, double v, const uint32_t *random, bool saturate)
{
    const uint32_t sign = signbit(v) ? 1u << (f->bits - 1) : 0;
    const double mag = fabs(v);
    const int smallest = 1 - f->bias; /* This is the exponent of the denormals. */
    if (mag != mag)
        return sign | f->nan;
    if (mag == 0)
        return sign;
    const uint32_t overflow = saturate ? f->largest : f->overflow;
    if (mag == HUGE_VAL || ilogb(mag) > 2 * f->bias + 2)
        return sign | overflow;
    const int e = ilogb(mag) < smallest ? smallest : ilogb(mag);
    const double units = ldexp(mag, f->mant_bits - e);
    uint32_t whole = (uint32_t)units;
    if (goes_up(units - whole, whole & 1, random))
        whole++;
    const uint32_t code = ((uint32_t)(e - smallest) << f->mant_bits) + whole;
    return sign | (code > f->largest ? overflow : code);
}

/* ---- registers ---- */

/* Returns @p count bits from bit @p at of a lane's registers; no value lies across three
 * registers.
 */
static uint32_t take(const uint32_t *rows, unsigned lane, unsigned at, unsigned count)
{
    const uint32_t *row = rows + at / 32 * RP_LANES;
    const unsigned shift = at % 32;
    const uint64_t high = shift + count > 32 ? row[RP_LANES + lane] : 0;
    return (uint32_t)((row[lane] | high << 32) >> shift & ((1ull << count) - 1));
}

static void put(uint32_t *words, unsigned at, unsigned count, uint32_t v)
{
    const uint64_t mask = ((1ull << count) - 1) << (at % 32), value = (uint64_t)v << (at % 32);
    uint32_t *word = words + at / 32;
    word[0] = (word[0] & ~(uint32_t)mask) | (uint32_t)value;
    if (at % 32 + count > 32)
        word[1] = (word[1] & ~(uint32_t)(mask >> 32)) | (uint32_t)(value >> 32);
}

/* Returns the first bit of a source or result that op_sel names, which is a byte or a half of a
 * register.
 */
static unsigned source_start(const struct rp_insn *in)
{
    switch (in->src[0].type) {
    case RP_T_B8:
        return 8 * (in->op_sel & 3u);
    case RP_T_B16:
    case RP_T_F16:
    case RP_T_BF16:
        return 16 * (in->op_sel & 1u);
    default:
        return 0;
    }
}

static unsigned result_start(const struct rp_insn *in)
{
    switch (in->dst.type) {
    case RP_T_B8:
        return 8 * (in->op_sel >> 2 & 3u);
    case RP_T_B16:
    case RP_T_F16:
        return 16 * (in->op_sel >> 3 & 1u);
    default:
        return 0;
    }
}

/* Returns 2 to the power of a scale's exponent, without its bias. */
static double factor_of(uint32_t scale)
{
    const int e = (int)(scale >> 23 & 0xff);
    return e == 0xff ? (double)NAN : ldexp(1, e - 127);
}

static uint32_t next_random(uint32_t v) /* This is the generator of v_prng_b32. */
{
    return v << 1 ^ (v >> 31 ? 0xc5u : 0);
}

static double number(uint32_t mode, const struct rp_insn *in, const struct conversion *c,
                     const uint32_t *const s[3], unsigned lane, unsigned n)
{
    const struct layout *f = &layouts[c->from];
    const unsigned source = c->two_sources ? n % 2 : 0, i = c->two_sources ? n / 2 : n;
    uint32_t bits = take(s[source], lane, source_start(in) + i * f->bits, f->bits);
    if (in->abs >> source & 1)
        bits &= ~(1u << (f->bits - 1));
    if (in->neg >> source & 1)
        bits ^= 1u << (f->bits - 1);
    if (c->from == F32)
        bits = rp_mode_flush_f32(mode, false, bits);
    return decode(f, bits);
}

static void convert_lane(const struct rp_wave *w, const struct rp_insn *in,
                         const struct conversion *c, const uint32_t *const s[3], unsigned scale_at,
                         unsigned lane)
{
    const struct layout *to = &layouts[c->to];
    const bool narrows = to->bits < layouts[c->from].bits;
    const bool saturate = w->mode & RP_MODE_FP16_OVFL && (c->to == FP8 || c->to == BF8);
    const double factor = factor_of(s[scale_at][lane]);
    uint32_t random = c->random ? s[1][lane] : 0, words[32];
    for (unsigned i = 0; i < in->dst.dwords; i++)
        words[i] = w->vgpr[in->dst.index + i][lane];
    for (unsigned n = 0; n < c->count; n++) {
        const double v = number(w->mode, in, c, s, lane, n);
        const double scaled = narrows ? v / factor : v * factor;
        uint32_t code = encode(to, scaled, c->random ? &random : NULL, saturate);
        if (c->to == F32)
            code = rp_mode_flush_f32(w->mode, true, code);
        put(words, result_start(in) + n * to->bits, to->bits, code);
        random = next_random(random);
    }
    for (unsigned i = 0; i < in->dst.dwords; i++)
        w->vgpr[in->dst.index + i][lane] = words[i];
}

int rp_v_cvt_scalef32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    struct rp_rows rows[3];
    const uint32_t *s[3] = {NULL, NULL, NULL};
    if (w->gpr_idx & RP_VALU_SKIP)
        return RP_STEP_NEXT;
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, &moved);
    if (!used || !rp_registers_exist(w, used))
        return rp_fault_register(w, in);
    const struct conversion c = conversion_of(in);
    unsigned last = 0;
    for (unsigned i = 0; i < 3; i++)
        if (used->src[i].kind != RP_OPND_NONE) {
            s[i] = rp_fetch(w, &used->src[i], &rows[i]);
            last = i;
        }
    const uint64_t exec = RP_EXEC(w);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        if (exec >> lane & 1)
            convert_lane(w, used, &c, s, last, lane);
    return RP_STEP_NEXT;
}

/* Operands, CBSZ, ABID and BLGP are prepared for matrix kernels (lane_mfma.h). EXEC and MODE
 * do not matter: all 64 lanes always take part (CDNA3 ISA document, "Matrix Arithmetic").
 */

enum { AB_ROWS_MAX = 8, CD_ROWS_MAX = 32 };

/** This says what the modifiers of an opcode mean. */
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

/* The mnemonic gives everything but the blocks, which fill the result. On CDNA2 all shapes except
 * f64 have BLGP. On CDNA3 the shapes of one block do not, except for f32, and only CDNA3 negates
 * f64 (AMD matrix instruction calculator).
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
    /* Each of a lane's stored values, of 16 or 8 bits, has an index of two bits. */
    s.sets = (uint8_t)(32 / (in->src[0].dwords * (strstr(name, "f16") ? 4 : 8)));
    return s;
}

static bool modifiers_are_defined(const struct rp_insn *in, const struct shape *s)
{
    if (s->any) /* ABID says whether there are scales. */
        return in->cbsz <= 4 && in->blgp <= 4 && in->abid == (in->fmt == RP_FMT_VOP3PX2);
    if (in->blgp && !s->blgp && !s->negates)
        return false;
    if (s->sparse) /* With a single set there is nothing to choose. */
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

/* CBSZ and ABID give all of every 2^CBSZ blocks the A of block ABID. */
static unsigned a_lane(const struct shape *s, const struct rp_insn *in, unsigned lane)
{
    const unsigned per_group = s->m * s->blocks, group = lane / per_group;
    const unsigned block = lane % per_group / s->m;
    const unsigned from = (block >> in->cbsz << in->cbsz) + in->abid;
    return group * per_group + from * s->m + lane % s->m;
}

/* BLGP says which lane's B a lane gets (CDNA3 ISA document, table of "BLGP"). */
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

/* Runs the kernel with modifiers, which move the lanes of A and B. */
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

/* Flushes both halves of each dword. */
static void flush_halves(uint32_t (*to)[RP_LANES], const uint32_t *rows, unsigned n,
                         uint32_t exponent)
{
    for (unsigned i = 0; i < n * RP_LANES; i++) {
        const uint32_t low = rows[i] & exponent ? 0x7fff : 0;
        const uint32_t high = rows[i] >> 16 & exponent ? 0x7fff : 0;
        to[i / RP_LANES][i % RP_LANES] = rows[i] & (0x80008000 | high << 16 | low);
    }
}

/* CDNA2's matrix instructions on f16 and bf16 treat denormals as zeros and produce none (AMD,
 * "MI200 matrix fused multiply-add behavior specifics"). C counts as an input, too.
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
    rp_row_fill(c[1], (uint32_t)(in->src[2].imm >> 32)); /* Only the f64 kernels read this row. */
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
    if (in->src[2].type == RP_T_B32) { /* In smfmac D accumulates, and src2 has the indices. */
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

/* These lane kernels execute integer instructions under CLAMP: they bring the exact result into
 * the range of its type. Integer instructions that cannot leave their range (minima, shifts, and
 * conversions, which always saturate) have none here, because CLAMP does nothing to them.
 */

typedef __int128 wide;

static uint64_t within(wide r, wide lo, wide hi)
{
    return (uint64_t)(r < lo ? lo : r > hi ? hi : r);
}

static wide sext(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static uint64_t pair(const uint32_t *rows, unsigned lane)
{
    return (uint64_t)rows[RP_LANES + lane] << 32 | rows[lane];
}

/* Clamps to the range of a type of so many bits, unsigned or signed. */
#define U(r, bits) within(r, 0, ((wide)1 << (bits)) - 1)
#define I(r, bits) within(r, -((wide)1 << ((bits)-1)), ((wide)1 << ((bits)-1)) - 1)

/* One dword goes in and one comes out; u and s are a source's low bits, unsigned and signed. */
#define LANES(name, ...)                                                                           \
    static void name(struct rp_lane_args *args)                                                    \
    {                                                                                              \
        const uint32_t *const none = args->s0; /* With two sources, the third is not read. */      \
        const uint32_t *const s2 = args->s2 ? args->s2 : none;                                     \
        for (unsigned lane = 0; lane < RP_LANES; lane++) {                                         \
            const uint32_t a = args->s0[lane], b = args->s1[lane], c = s2[lane];                   \
            (void)c;                                                                               \
            args->d[lane] = (uint32_t)(__VA_ARGS__);                                               \
        }                                                                                          \
    }
#define Z16(x) ((wide)((x)&0xffff))
#define S16(x) sext((x)&0xffff, 16)
#define S32(x) sext(x, 32)
#define Z24(x) ((wide)((x)&0xffffff))
#define S24(x) sext((x)&0xffffff, 24)

LANES(add_u32, U((wide)a + b, 32))
LANES(sub_u32, U((wide)a - b, 32))
LANES(subrev_u32, U((wide)b - a, 32))
LANES(add_i32, I(S32(a) + S32(b), 32))
LANES(sub_i32, I(S32(a) - S32(b), 32))
LANES(add_u16, U(Z16(a) + Z16(b), 16))
LANES(sub_u16, U(Z16(a) - Z16(b), 16))
LANES(subrev_u16, U(Z16(b) - Z16(a), 16))
LANES(add_i16, I(S16(a) + S16(b), 16) & 0xffff)
LANES(sub_i16, I(S16(a) - S16(b), 16) & 0xffff)
LANES(mad_u16, U(Z16(a) * Z16(b) + Z16(c), 16))
LANES(mad_i16, I(S16(a) * S16(b) + S16(c), 16) & 0xffff)
LANES(mad_u32_u16, U(Z16(a) * Z16(b) + c, 32))
LANES(mad_i32_i16, I(S16(a) * S16(b) + S32(c), 32))
LANES(mul_u32_u24, U(Z24(a) * Z24(b), 32))
LANES(mul_i32_i24, I(S24(a) * S24(b), 32))
LANES(mad_u32_u24, U(Z24(a) * Z24(b) + c, 32))
LANES(mad_i32_i24, I(S24(a) * S24(b) + S32(c), 32))

/* Sums over the fields of a and b, @p bits wide. */
static wide dot(uint32_t a, uint32_t b, unsigned bits, bool is_signed)
{
    wide sum = 0;
    for (unsigned i = 0; i < 32; i += bits) {
        const uint64_t x = a >> i & (~0u >> (32 - bits)), y = b >> i & (~0u >> (32 - bits));
        sum += is_signed ? sext(x, bits) * sext(y, bits) : (wide)x * y;
    }
    return sum;
}

static wide sad(uint32_t a, uint32_t b, unsigned bits, bool masked)
{
    wide sum = 0;
    for (unsigned i = 0; i < 32; i += bits) {
        const wide x = a >> i & (~0u >> (32 - bits)), y = b >> i & (~0u >> (32 - bits));
        sum += masked && y == 0 ? 0 : x > y ? x - y : y - x;
    }
    return sum;
}

LANES(dot2_i32, I(dot(a, b, 16, true) + S32(c), 32))
LANES(dot2_u32, U(dot(a, b, 16, false) + c, 32))
LANES(dot4_i32, I(dot(a, b, 8, true) + S32(c), 32))
LANES(dot4_u32, U(dot(a, b, 8, false) + c, 32))
LANES(dot8_i32, I(dot(a, b, 4, true) + S32(c), 32))
LANES(dot8_u32, U(dot(a, b, 4, false) + c, 32))
LANES(sad_u8, U(sad(a, b, 8, false) + c, 32))
LANES(sad_hi_u8, U((sad(a, b, 8, false) << 16) + c, 32))
LANES(sad_u16, U(sad(a, b, 16, false) + c, 32))
LANES(sad_u32, U(sad(a, b, 32, false) + c, 32))
LANES(msad_u8, U(sad(a, b, 8, true) + c, 32))

/* This computes both halves. */
#define PACKED(name, lo, hi) LANES(name, ((lo)&0xffff) | (hi) << 16)
PACKED(pk_add_u16, U(Z16(a) + Z16(b), 16), U(Z16(a >> 16) + Z16(b >> 16), 16))
PACKED(pk_sub_u16, U(Z16(a) - Z16(b), 16), U(Z16(a >> 16) - Z16(b >> 16), 16))
PACKED(pk_add_i16, I(S16(a) + S16(b), 16), I(S16(a >> 16) + S16(b >> 16), 16))
PACKED(pk_sub_i16, I(S16(a) - S16(b), 16), I(S16(a >> 16) - S16(b >> 16), 16))
PACKED(pk_mul_lo_u16, U(Z16(a) * Z16(b), 16), U(Z16(a >> 16) * Z16(b >> 16), 16))
PACKED(pk_mad_u16, U(Z16(a) * Z16(b) + Z16(c), 16),
       U(Z16(a >> 16) * Z16(b >> 16) + Z16(c >> 16), 16))
PACKED(pk_mad_i16, I(S16(a) * S16(b) + S16(c), 16),
       I(S16(a >> 16) * S16(b >> 16) + S16(c >> 16), 16))

/* ---- 64 bits and more ---- */

static void mad_64(struct rp_lane_args *args, bool is_signed)
{
    uint64_t carries = 0;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t a = args->s0[lane], b = args->s1[lane];
        const uint64_t c = pair(args->s2, lane);
        const wide sum =
            is_signed ? S32(a) * S32(b) + sext(c, 64) : (wide)((uint64_t)a * b) + (wide)c;
        const uint64_t r = is_signed ? I(sum, 64) : U(sum, 64);
        carries |= (uint64_t)(sum >> 64 & 1) << lane;
        args->d[lane] = (uint32_t)r;
        args->d[RP_LANES + lane] = (uint32_t)(r >> 32);
    }
    args->mask_out = carries; /* The carry is bit 64 of the exact sum, as without CLAMP. */
}

static void mad_u64_u32(struct rp_lane_args *args)
{
    mad_64(args, false);
}

static void mad_i64_i32(struct rp_lane_args *args)
{
    mad_64(args, true);
}

static void quad_sad_pk(struct rp_lane_args *args, bool masked)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t a = pair(args->s0, lane), c = pair(args->s2, lane);
        uint64_t r = 0;
        for (unsigned i = 0; i < 4; i++) {
            const wide sum =
                sad((uint32_t)(a >> (8 * i)), args->s1[lane], 8, masked) + Z16(c >> (16 * i));
            r |= U(sum, 16) << (16 * i);
        }
        args->d[lane] = (uint32_t)r;
        args->d[RP_LANES + lane] = (uint32_t)(r >> 32);
    }
}

static void qsad_pk_u16_u8(struct rp_lane_args *args)
{
    quad_sad_pk(args, false);
}

static void mqsad_pk_u16_u8(struct rp_lane_args *args)
{
    quad_sad_pk(args, true);
}

static void mqsad_u32_u8(struct rp_lane_args *args)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t a = pair(args->s0, lane);
        const uint32_t b = args->s1[lane];
        for (unsigned i = 0; i < 4; i++) {
            const wide sum =
                sad((uint32_t)(a >> (8 * i)), b, 8, true) + args->s2[i * RP_LANES + lane];
            args->d[i * RP_LANES + lane] = (uint32_t)U(sum, 32);
        }
    }
}

/* ---- with a carry: it is the one of the exact result, saturated or not ---- */

#define CARRY(name, x, y, sign)                                                                    \
    static void name(struct rp_lane_args *args)                                                    \
    {                                                                                              \
        uint64_t carries = 0;                                                                      \
        for (unsigned lane = 0; lane < RP_LANES; lane++) {                                         \
            const wide a = args->s0[lane], b = args->s1[lane], in = args->mask_in >> lane & 1;     \
            const wide r = (x)sign(y) sign in;                                                     \
            (void)a, (void)b;                                                                      \
            carries |= (uint64_t)(r < 0 || r > UINT32_MAX) << lane;                                \
            args->d[lane] = (uint32_t)U(r, 32);                                                    \
        }                                                                                          \
        args->mask_out = carries;                                                                  \
    }
CARRY(add_co, a, b, +) /* mask_in is 0 for the forms without carry-in. */
CARRY(sub_co, a, b, -)
CARRY(subrev_co, b, a, -)

/**
 * Returns lane kernels with saturation for the integer forms of CLAMP, or NULL where CLAMP does
 * nothing.
 */
static rp_lane_fn *saturating_lane(unsigned op)
{
    static rp_lane_fn *const lanes[RP_OP_ALL] = {
        [RP_OP_v_add_u32] = add_u32,
        [RP_OP_v_sub_u32] = sub_u32,
        [RP_OP_v_subrev_u32] = subrev_u32,
        [RP_OP_v_add_i32] = add_i32,
        [RP_OP_v_sub_i32] = sub_i32,
        [RP_OP_v_add_u16] = add_u16,
        [RP_OP_v_sub_u16] = sub_u16,
        [RP_OP_v_subrev_u16] = subrev_u16,
        [RP_OP_v_add_i16] = add_i16,
        [RP_OP_v_sub_i16] = sub_i16,
        [RP_OP_v_mad_u16] = mad_u16,
        [RP_OP_v_mad_legacy_u16] = mad_u16,
        [RP_OP_v_mad_i16] = mad_i16,
        [RP_OP_v_mad_legacy_i16] = mad_i16,
        [RP_OP_v_mad_u32_u16] = mad_u32_u16,
        [RP_OP_v_mad_i32_i16] = mad_i32_i16,
        [RP_OP_v_mul_u32_u24] = mul_u32_u24,
        [RP_OP_v_mul_i32_i24] = mul_i32_i24,
        [RP_OP_v_mad_u32_u24] = mad_u32_u24,
        [RP_OP_v_mad_i32_i24] = mad_i32_i24,
        [RP_OP_v_mad_u64_u32] = mad_u64_u32,
        [RP_OP_v_mad_i64_i32] = mad_i64_i32,
        [RP_OP_v_dot2_i32_i16] = dot2_i32,
        [RP_OP_v_dot2c_i32_i16] = dot2_i32,
        [RP_OP_v_dot2_u32_u16] = dot2_u32,
        [RP_OP_v_dot4_i32_i8] = dot4_i32,
        [RP_OP_v_dot4c_i32_i8] = dot4_i32,
        [RP_OP_v_dot4_u32_u8] = dot4_u32,
        [RP_OP_v_dot8_i32_i4] = dot8_i32,
        [RP_OP_v_dot8c_i32_i4] = dot8_i32,
        [RP_OP_v_dot8_u32_u4] = dot8_u32,
        [RP_OP_v_sad_u8] = sad_u8,
        [RP_OP_v_sad_hi_u8] = sad_hi_u8,
        [RP_OP_v_sad_u16] = sad_u16,
        [RP_OP_v_sad_u32] = sad_u32,
        [RP_OP_v_msad_u8] = msad_u8,
        [RP_OP_v_qsad_pk_u16_u8] = qsad_pk_u16_u8,
        [RP_OP_v_mqsad_pk_u16_u8] = mqsad_pk_u16_u8,
        [RP_OP_v_mqsad_u32_u8] = mqsad_u32_u8,
        [RP_OP_v_pk_add_u16] = pk_add_u16,
        [RP_OP_v_pk_sub_u16] = pk_sub_u16,
        [RP_OP_v_pk_add_i16] = pk_add_i16,
        [RP_OP_v_pk_sub_i16] = pk_sub_i16,
        [RP_OP_v_pk_mul_lo_u16] = pk_mul_lo_u16,
        [RP_OP_v_pk_mad_u16] = pk_mad_u16,
        [RP_OP_v_pk_mad_i16] = pk_mad_i16,
        [RP_OP_v_add_co_u32] = add_co,
        [RP_OP_v_addc_co_u32] = add_co,
        [RP_OP_v_sub_co_u32] = sub_co,
        [RP_OP_v_subb_co_u32] = sub_co,
        [RP_OP_v_subrev_co_u32] = subrev_co,
        [RP_OP_v_subbrev_co_u32] = subrev_co,
    };
    return lanes[op];
}

static bool is_float(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_BF16 || type == RP_T_PKBF16 || type == RP_T_F32 ||
           type == RP_T_F64 || type == RP_T_PKF16 || type == RP_T_PKF32;
}

/* Halves named where the opcode has none to choose between, or none in its result: LLVM's assembler
 * writes no such thing, and its disassembler reads over it. */
static bool has_undefined_op_sel(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const unsigned named = in->raw[0] >> 11 & 15;
    /* The instruction has an sdst. */
    const bool carries = row->sdst != RP_T_NONE && row->fmt != RP_FMT_VOPC;
    bool narrow = rp_type_is_16bit(row->dst);
    if (in->fmt != RP_FMT_VOP3 || carries || !named)
        return false;
    if (in->op_sel != 0)
        return (named & 8) && !narrow;
    for (unsigned i = 0; i < 3; i++)
        narrow |= rp_type_is_16bit(row->src[i]);
    return narrow;
}

/* This file would have to guess the result of these modifier combinations: LLVM assembles them,
 * but no public source says what they do. The ISA documents' pseudo code of v_align* has no
 * op_sel. Nobody says whether neg and abs of packed operands outside VOP3P (v_dot2c, SDWA) apply
 * to one half or to both.
 */
static bool is_unsupported(const struct rp_insn *in)
{
    if (in->op_sel != 0 && (in->op == RP_OP_v_alignbit_b32 || in->op == RP_OP_v_alignbyte_b32))
        return true;
    if (has_undefined_op_sel(in))
        return true;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned type = in->src[i].type;
        const bool packed = type == RP_T_PK16 || type == RP_T_PKF16 || type == RP_T_PKBF16;
        if (packed && in->fmt != RP_FMT_VOP3P && ((in->neg | in->abs) >> i & 1))
            return true;
        /* An inline constant has one f32 (the other may be 0 or the same), unless it is 0. */
        const unsigned high =
            in->op == RP_OP_v_pk_mov_b32 ? in->op_sel : in->op_sel | in->op_sel_hi;
        if (type == RP_T_PKF32 && in->src[i].kind == RP_OPND_CONST && in->src[i].imm != 0 &&
            (high >> i & 1))
            return true;
    }
    return false;
}

static void choose_lane(struct rp_insn *in)
{
    if (in->flags & RP_IF_CLAMP && in->dst.kind != RP_OPND_NONE && !is_float(in->dst.type))
        in->lane = saturating_lane(in->op);
    if (!in->lane)
        in->lane = rp_target_lane(in->op);
    if (!in->lane)
        in->fn = rp_fault_unimplemented;
}

/*
 * Inline floats are f16 patterns for the f16 sources of v_fma_mix: Mesa's compiler for this family
 * takes such an operand for 16 bits wide when it looks for a constant.
 */
static void narrow_constants(struct rp_insn *in)
{
    for (unsigned i = 0; i < 3; i++)
        if (in->src[i].kind == RP_OPND_CONST && in->op_sel_hi >> i & 1)
            in->src[i].imm = inline_as_f16(&in->src[i]);
}

void rp_valu_bind(struct rp_insn *in)
{
    if (in->fn == rp_mfma) {
        rp_mfma_bind(in);
        return;
    }
    if (in->fn == rp_v_cvt_scalef32) {
        rp_cvt_scale_bind(in);
        return;
    }
    if (in->fn == rp_valu_mix) {
        narrow_constants(in);
        in->lane = rp_lane_find(rp_isa_mnemonic(in->op));
        return;
    }
    if (in->fn != rp_valu && in->fn != rp_valu_cmp && in->fn != rp_valu_cmpx)
        return;
    if (rp_keeps_other_half(in))
        in->flags |= RP_IF_DSTMOD;
    if (is_unsupported(in)) {
        in->fn = rp_fault_operand;
        return;
    }
    if (in->op == RP_OP_v_pk_mov_b32)
        return; /* Only moves have it, and valu.c executes them. */
    choose_lane(in);
    if (in->lane)
        rp_valu_choose_short_way(in);
}
