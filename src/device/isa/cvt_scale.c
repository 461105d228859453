/*
 * v_cvt_scalef32_*: between f32, f16 or bf16 and the small formats, with a scale: the exponent of
 * the last source. Narrowing divides by it before it rounds, widening multiplies by it. What is
 * read from and written to where is that of the CDNA4 ISA document; its text behind the pseudo code
 * says that fp6, bf6 and fp4 saturate. It does not say what becomes of a NaN there, which they have
 * not: here the largest magnitude too.
 */
#include <math.h>

#include "valu.h"

enum format { F32, F16, BF16, FP8, BF8, FP6, BF6, FP4, FORMATS };

/** A float with sign on top; the exponent has what is left of the bits. */
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

/** What one instruction does; worked out of its mnemonic when it is decoded. */
struct conversion {
    enum format from, to;
    unsigned count;   /**< 1, 2 or 32 numbers */
    bool random;      /**< stochastic rounding with src[1] */
    bool two_sources; /**< the numbers come from src[0] and src[1] in turn */
};

/* rp_insn's fields for matrix instructions keep it. */
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
    /* Of which of several numbers, and what they change, nothing says. */
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

/* What becomes of part of a unit in the last place: nearest even, or stochastic. */
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
    const int smallest = 1 - f->bias; /* exponent of the denormals */
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

/* @p count bits from bit @p at of a lane's registers; none lies across three. */
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

/* The first bit of a source or result that op_sel names: a byte or a half of a register. */
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

/* 2 to the power of a scale's exponent, without its bias. */
static double factor_of(uint32_t scale)
{
    const int e = (int)(scale >> 23 & 0xff);
    return e == 0xff ? (double)NAN : ldexp(1, e - 127);
}

static uint32_t next_random(uint32_t v) /* as v_prng_b32 */
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
