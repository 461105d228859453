/*
 * Writes a random HIP program whose kernels are compared with the same code on the host.
 *
 * usage: rp-diff-gen SEED KERNELS [ONLY]
 *
 * A kernel is a row of phases over a per-thread state (struct S). The phases are functions for host
 * and device alike: integer, f16, f32 and f64 arithmetic, packed 16-bit, loops, branches, switches,
 * calls, private arrays with computed indices, loads of every width, global atomics whose result
 * does not depend on order. Between phases, where all threads are together, the kernel exchanges
 * values: shuffles, ballots, LDS with a barrier, LDS atomics. For these the host has its own
 * few lines. Nothing undefined is written: shifts are masked, divisors odd, conversions
 * in range, and a NaN never shows its bits. So every bit of the final state must be equal.
 *
 * The same arguments give the same program on every machine.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum type { U32, U64, F32, F64, F16, H2, W2, TYPES };

struct field {
    const char *type, *name;
    unsigned count; /* power of two */
};

static const struct field fields[TYPES] = {
    [U32] = {"u32", "u", 8},    [U64] = {"u64", "q", 4}, [F32] = {"float", "f", 4},
    [F64] = {"double", "d", 4}, [F16] = {"f16", "h", 4}, [H2] = {"h2", "p", 2},
    [W2] = {"w2", "w", 2},
};

enum { ARRAY = 8, INPUT_WORDS = 1024, EXPR_DEPTH = 3, FUNCTIONS = 3, MAX_PHASES = 4 };

static uint64_t state;

static uint32_t rnd(uint32_t n)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

/* What the code being written may use. */
struct place {
    unsigned loops; /* open loops: variables i0 .. */
    unsigned indent;
    unsigned calls; /* functions k_f0 .. that exist already */
    unsigned kernel;
    bool atomics;
    bool may_return;
};

static struct place at;

static void expr(enum type type, unsigned depth);
static void statements(unsigned count, unsigned depth);

static void line(const char *format, ...)
{
    va_list args;
    printf("%*s", 4 * (int)at.indent, "");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

/* ---- leaves ------------------------------------------------------------------------------ */

static void u32_constant(void)
{
    static const char *const edge[] = {"0u",          "1u",         "0xffffffffu", "0x80000000u",
                                       "0x7fffffffu", "0xffffu",    "0x8000u",     "64u",
                                       "0xffffffc0u", "0x3f800000u"};
    if (rnd(2))
        printf("%s", edge[rnd(sizeof edge / sizeof *edge)]);
    else
        printf("0x%xu", rnd(2) ? rnd(0x7fffffff) : rnd(256));
}

static void float_constant(enum type type)
{
    static const char *const f32[] = {"0.0f",        "-0.0f",
                                      "1.0f",        "-1.0f",
                                      "0.5f",        "2.0f",
                                      "4.0f",        "0.15915494f",
                                      "1e-40f",      "3.4e38f",
                                      "-2.5f",       "0x1p-126f",
                                      "16777217.0f", "__builtin_inff()",
                                      "7.3e-12f",    "100.125f"};
    static const char *const f64[] = {"0.0",
                                      "-0.0",
                                      "1.0",
                                      "-1.0",
                                      "0.5",
                                      "2.0",
                                      "-4.0",
                                      "0.15915494309189532",
                                      "5e-324",
                                      "1.7e308",
                                      "-2.5",
                                      "0x1p-1022",
                                      "9007199254740993.0",
                                      "__builtin_inf()",
                                      "1e-300",
                                      "1.1"};
    static const char *const f16[] = {"0.0",    "3.0",    "1.0",  "-1.0",    "0.5",  "2.0",
                                      "-4.0",   "0.1591", "6e-8", "65504.0", "-2.5", "6.1e-5",
                                      "2049.0", "0.333",  "-7.0", "100.1"};
    unsigned i = rnd(16);
    if (type == F32)
        printf("%s", f32[i]);
    else if (type == F64)
        printf("%s", f64[i]);
    else
        printf("(f16)%s", f16[i]);
}

static void constant(enum type type)
{
    switch (type) {
    case U32:
        u32_constant();
        break;
    case U64:
        printf("(((u64)");
        u32_constant();
        printf(" << 32) | ");
        u32_constant();
        printf(")");
        break;
    case F32:
    case F64:
    case F16:
        float_constant(type);
        break;
    case H2:
        printf("(h2){");
        float_constant(F16);
        printf(", ");
        float_constant(F16);
        printf("}");
        break;
    default:
        printf("(w2){(u16)0x%x, (u16)0x%x}", rnd(65536), rnd(65536));
    }
}

/* A memory load of some width, at an index that the state decides. */
static void load(enum type type)
{
    static const char *const narrow[] = {"in_u8", "in_i8", "in_u16", "in_i16"};
    if (type == U32 && rnd(2)) {
        printf("(u32)%s(in, ", narrow[rnd(4)]);
        expr(U32, 0);
        printf(")");
        return;
    }
    printf("in_%s(in, ", fields[type].name);
    expr(U32, 0);
    printf(")");
}

static void leaf(enum type type)
{
    unsigned r = rnd(12);
    if (r < 7)
        printf("s.%s[%u]", fields[type].name, rnd(fields[type].count));
    else if (r < 9)
        constant(type);
    else if (r == 9)
        load(type);
    else if (type == U32 && at.loops && r == 10)
        printf("i%u", rnd(at.loops));
    else if (type == U32)
        printf(r == 10 ? "tid" : "s.a[s.u[%u] & 7]", rnd(8));
    else
        printf("s.%s[%u]", fields[type].name, rnd(fields[type].count));
}

/* ---- expressions ------------------------------------------------------------------------- */

/* Each form is text with $ for an operand; a letter after it names its type: u q f d h p w b
 * (b: a condition). The same letter gives a fresh expression every time. */
static const char *const u32_forms[] = {"($u + $u)",
                                        "($u - $u)",
                                        "($u * $u)",
                                        "($u & $u)",
                                        "($u | $u)",
                                        "($u ^ $u)",
                                        "(~$u)",
                                        "(- $u)",
                                        "($u << ($u & 31))",
                                        "($u >> ($u & 31))",
                                        "(u32)((i32)$u >> ($u & 31))",
                                        "rotl32($u, $u)",
                                        "(hide($u, in) / ($u | 1))",
                                        "(hide($u, in) % ($u | 1))",
                                        "(u32)((i32)$u / (i32)(($u & 0x7fff) | 1))",
                                        "(u32)((i32)$u % (i32)(($u & 0x7fffffff) | 1))",
                                        "(u32)(((u64)$u * $u) >> 32)",
                                        "(u32)(((i64)(i32)$u * (i32)$u) >> 32)",
                                        "umin($u, $u)",
                                        "umax($u, $u)",
                                        "(u32)imin((i32)$u, (i32)$u)",
                                        "(u32)imax((i32)$u, (i32)$u)",
                                        "umin(umax($u, 7u), $u)",
                                        "($b ? $u : $u)",
                                        "(u32)__builtin_popcount($u)",
                                        "(u32)__builtin_clz($u | 1)",
                                        "(u32)__builtin_ctz($u | 0x80000000u)",
                                        "__builtin_bitreverse32($u)",
                                        "__builtin_bswap32($u)",
                                        "(($u >> 5) & 0x3ffu)",
                                        "(u32)((i32)($u << 7) >> 19)",
                                        "__builtin_elementwise_add_sat($u, $u)",
                                        "__builtin_elementwise_sub_sat($u, $u)",
                                        "(u32)__builtin_elementwise_add_sat((i32)$u, (i32)$u)",
                                        "(u32)__builtin_elementwise_sub_sat((i32)$u, (i32)$u)",
                                        "((u32)$q)",
                                        "(u32)($q >> 32)",
                                        "f2u($f)",
                                        "(u32)f2i($f)",
                                        "d2u($d)",
                                        "(u32)d2i($d)",
                                        "fbits($f)",
                                        "(u32)dbits($d)",
                                        "(u32)hbits($h)",
                                        "(u32)$w.x",
                                        "(u32)(i32)(i16)$w.y",
                                        "($b ? 1u : 0u)",
                                        "($u * $u + $u)",
                                        "(($u & $u) | $u)",
                                        "(($u ^ $u) ^ $u)",
                                        "(($u << 3) + $u)",
                                        "($u + $u + $u)",
                                        "(u32)(i32)(signed char)$u",
                                        "(u32)(unsigned char)($u >> 8)",
                                        "(($u & 0xff00ff00u) | ($u >> 8 & 0x00ff00ffu))",
                                        "absdiff($u, $u)",
                                        "(u32)(u16)((u32)(u16)$u * (u16)$u)",
                                        "(u32)(u16)((u16)$u + (u16)$u)",
                                        "(u32)(i32)(i16)((u16)$u >> ($u & 15))",
                                        "(($u & 0xffffffu) * ($u & 0xffffffu))",
                                        "((~$u) & $u)",
                                        "(u32)(($q * $u) >> 40)",
                                        NULL};
static const char *const u64_forms[] = {"($q + $q)",
                                        "($q - $q)",
                                        "($q * $q)",
                                        "($q & $q)",
                                        "($q | $q)",
                                        "($q ^ $q)",
                                        "(~$q)",
                                        "($q << ($u & 63))",
                                        "($q >> ($u & 63))",
                                        "(u64)((i64)$q >> ($u & 63))",
                                        "(hide64($q, in) / ($q | 1))",
                                        "(hide64($q, in) % (u64)($u | 1))",
                                        "(u64)((i64)$q / (i64)(($q & 0x7fffffffffu) | 1))",
                                        "($b ? $q : $q)",
                                        "(u64)__builtin_popcountll($q)",
                                        "(u64)__builtin_clzll($q | 1)",
                                        "__builtin_bitreverse64($q)",
                                        "__builtin_bswap64($q)",
                                        "((u64)$u * $u)",
                                        "(u64)((i64)(i32)$u * (i32)$u)",
                                        "(u64)$u",
                                        "(u64)(i64)(i32)$u",
                                        "(((u64)$u << 32) | $u)",
                                        "dbits($d)",
                                        "f2q($f)",
                                        "d2q($d)",
                                        "((u64)$u * $u + $q)",
                                        "q_min($q, $q)",
                                        "q_max($q, $q)",
                                        "(u64)l_min((i64)$q, (i64)$q)",
                                        "(u64)l_max((i64)$q, (i64)$q)",
                                        "mulhi64($q, $q)",
                                        "(($q << 3) + $q)",
                                        NULL};
static const char *const f32_forms[] = {"($f + $f)",
                                        "($f - $f)",
                                        "($f * $f)",
                                        "($f / sane_f($f))",
                                        "__builtin_fmaf($f, $f, $f)",
                                        "(- $f)",
                                        "__builtin_fabsf($f)",
                                        "(-__builtin_fabsf($f))",
                                        "__builtin_sqrtf(__builtin_fabsf($f))",
                                        "__builtin_floorf($f)",
                                        "__builtin_ceilf($f)",
                                        "__builtin_truncf($f)",
                                        "__builtin_rintf($f)",
                                        "f_min($f, $f)",
                                        "f_max($f, $f)",
                                        "__builtin_copysignf($f, sane_f($f))",
                                        "($b ? $f : $f)",
                                        "(float)$u",
                                        "(float)(i32)$u",
                                        "(float)$q",
                                        "(float)(i64)$q",
                                        "(float)$d",
                                        "(float)$h",
                                        "(float)($u & 0xffu)",
                                        "(float)(($u >> 16) & 0xffu)",
                                        "__builtin_ldexpf($f, (int)($u & 31) - 16)",
                                        "($f * $f + $f)",
                                        "((float)$h * (float)$h)",
                                        "__builtin_fmaf((float)$h, (float)$h, $f)",
                                        "bits_f($u)",
                                        "f_min(f_max($f, 0.0f), 1.0f)",
                                        "(2.0f * $f)",
                                        NULL};
static const char *const f64_forms[] = {"($d + $d)",
                                        "($d - $d)",
                                        "($d * $d)",
                                        "($d / sane_d($d))",
                                        "__builtin_fma($d, $d, $d)",
                                        "(- $d)",
                                        "__builtin_fabs($d)",
                                        "__builtin_sqrt(__builtin_fabs($d))",
                                        "__builtin_floor($d)",
                                        "__builtin_ceil($d)",
                                        "__builtin_trunc($d)",
                                        "__builtin_rint($d)",
                                        "d_min($d, $d)",
                                        "d_max($d, $d)",
                                        "__builtin_copysign($d, sane_d($d))",
                                        "($b ? $d : $d)",
                                        "(double)$u",
                                        "(double)(i32)$u",
                                        "(double)$q",
                                        "(double)(i64)$q",
                                        "(double)$f",
                                        "__builtin_ldexp($d, (int)($u & 63) - 32)",
                                        "bits_d($q)",
                                        NULL};
static const char *const f16_forms[] = {"(f16)($h + $h)",
                                        "(f16)($h - $h)",
                                        "(f16)($h * $h)",
                                        "(f16)($h / sane_h($h))",
                                        "(f16)(- $h)",
                                        "(f16)$f",
                                        "(f16)(float)($u & 0xfffu)",
                                        "($p.x)",
                                        "($p.y)",
                                        "h_min($h, $h)",
                                        "h_max($h, $h)",
                                        "($b ? $h : $h)",
                                        "bits_h($u)",
                                        "(f16)__builtin_fabsf((float)$h)",
                                        NULL};
static const char *const h2_forms[] = {"($p + $p)",    "($p - $p)", "($p * $p)",      "(- $p)",
                                       "(h2){$h, $h}", "($p.yx)",   "($b ? $p : $p)", NULL};
static const char *const w2_forms[] = {"($w + $w)",
                                       "($w - $w)",
                                       "($w * $w)",
                                       "($w & $w)",
                                       "($w ^ $w)",
                                       "($w << (w2)(3))",
                                       "($w >> (w2)(5))",
                                       "(w2){(u16)$u, (u16)$u}",
                                       "($w.yx)",
                                       "($b ? $w : $w)",
                                       "__builtin_elementwise_min($w, $w)",
                                       "__builtin_elementwise_max($w, $w)",
                                       "__builtin_elementwise_add_sat($w, $w)",
                                       "__builtin_elementwise_sub_sat($w, $w)",
                                       "($w * $w + $w)",
                                       NULL};
static const char *const bool_forms[] = {"($u < $u)",
                                         "($u == $u)",
                                         "($u != 0)",
                                         "((i32)$u < (i32)$u)",
                                         "((i32)$u >= (i32)$u)",
                                         "(($u & 1) != 0)",
                                         "($q < $q)",
                                         "((i64)$q > (i64)$q)",
                                         "($q == $q)",
                                         "($f < $f)",
                                         "($f >= $f)",
                                         "($f == $f)",
                                         "($f != $f)",
                                         "(!($f < $f))",
                                         "(!($f > $f))",
                                         "($d < $d)",
                                         "($d <= $d)",
                                         "($d != $d)",
                                         "($h < $h)",
                                         "($h == $h)",
                                         "($b && $b)",
                                         "($b || $b)",
                                         "(!$b)",
                                         "(__builtin_isinf($f))",
                                         "((u16)$u < (u16)$u)",
                                         "(__builtin_isnan($d))",
                                         NULL};

static const char *const *const forms[TYPES + 1] = {u32_forms, u64_forms, f32_forms, f64_forms,
                                                    f16_forms, h2_forms,  w2_forms,  bool_forms};

static void expand(const char *form, unsigned depth)
{
    static const char letters[] = "uqfdhpw";
    for (; *form; form++) {
        if (*form != '$') {
            putchar(*form);
            continue;
        }
        form++;
        unsigned type = 0;
        while (letters[type] && letters[type] != *form)
            type++;
        expr((enum type)type, depth ? depth - 1 : 0); /* 7: a condition */
    }
}

static void expr(enum type type, unsigned depth)
{
    if (type != TYPES && (!depth || !rnd(4))) {
        leaf(type);
        return;
    }
    const char *const *list = forms[type];
    unsigned count = 0;
    while (list[count])
        count++;
    if (type == TYPES && !depth)
        count = 20; /* those without nested conditions */
    if (type == U32 && at.calls && !rnd(12)) {
        printf("k%u_f%u(s, in, ", at.kernel, rnd(at.calls));
        expr(U32, depth - 1);
        printf(")");
        return;
    }
    expand(list[rnd(count)], depth);
}

/* ---- statements -------------------------------------------------------------------------- */

static void assign(void)
{
    enum type type = (enum type)(rnd(10) < 4 ? U32 : rnd(TYPES));
    if (type == U32 && !rnd(5)) {
        line("s.a[s.u[%u] & 7] = ", rnd(8));
    } else {
        line("s.%s[%u] = ", fields[type].name, rnd(fields[type].count));
    }
    expr(type, EXPR_DEPTH);
    printf(";\n");
}

static void atomic(void)
{
    static const char *const ops[] = {"g_add", "g_sub", "g_min",  "g_max", "g_and",
                                      "g_or",  "g_xor", "g_imin", "g_imax"};
    unsigned op = rnd(13);
    if (op < 9) { /* each cell sees one kind of operation only */
        line("%s(&g->u[%u], ", ops[op], op);
        expr(U32, 1);
    } else if (op == 9) {
        line("g_add64(&g->q[0], ");
        expr(U64, 1);
    } else if (op == 10) {
        line("g_max64(&g->q[1], ");
        expr(U64, 1);
    } else { /* small integers: the sum is exact in any order */
        line(op == 11 ? "g_addf(&g->f, (float)(15 & " : "g_addd(&g->d, (double)(255 & ");
        expr(U32, 1);
        printf(")");
    }
    printf(");\n");
}

static void open_loop(unsigned depth)
{
    unsigned v = at.loops;
    line("for (u32 i%u = 0; i%u < 1 + (", v, v);
    expr(U32, 1);
    printf(" & %u); i%u++) {\n", rnd(2) ? 3 : 7, v);
    at.loops++;
    at.indent++;
    statements(1 + rnd(3), depth - 1);
    if (!rnd(3)) {
        line("if ");
        expr(TYPES, 1);
        printf("\n");
        line("    %s;\n", rnd(2) ? "break" : "continue");
        statements(1, 0);
    }
    at.indent--;
    at.loops--;
    line("}\n");
}

static void open_switch(unsigned depth)
{
    unsigned cases = 3 + rnd(5);
    line("switch (");
    expr(U32, 1);
    printf(" & 7) {\n");
    for (unsigned i = 0; i < cases; i++) {
        line("case %u:\n", i);
        at.indent++;
        statements(1, depth - 1);
        if (rnd(4))
            line("break;\n");
        at.indent--;
    }
    line("default:\n");
    at.indent++;
    statements(1, depth - 1);
    at.indent--;
    line("}\n");
}

static void branch(unsigned depth)
{
    line("if ");
    expr(TYPES, 2);
    printf(" {\n");
    at.indent++;
    statements(1 + rnd(3), depth - 1);
    if (at.may_return && !at.loops && !rnd(6))
        line("return;\n");
    at.indent--;
    if (rnd(2)) {
        line("} else {\n");
        at.indent++;
        statements(1 + rnd(3), depth - 1);
        at.indent--;
    }
    line("}\n");
}

static void statements(unsigned count, unsigned depth)
{
    while (count--) {
        unsigned r = rnd(12);
        if (depth && r == 0 && at.loops < 2)
            open_loop(depth);
        else if (depth && r == 1)
            open_switch(depth);
        else if (depth && r < 4)
            branch(depth);
        else if (at.atomics && r == 4)
            atomic();
        else
            assign();
    }
}

/* ---- kernels ----------------------------------------------------------------------------- */

static void function(unsigned kernel, unsigned index)
{
    at = (struct place){.indent = 1, .calls = index, .kernel = kernel};
    printf("static %s __host__ __device__ u32 k%u_f%u(S &s, const u32 *in, u32 tid)\n{\n",
           rnd(2) ? "__attribute__((noinline))" : "inline", kernel, index);
    statements(2 + rnd(3), 1);
    line("return ");
    expr(U32, 2);
    printf(";\n}\n\n");
}

static void phase(unsigned kernel, unsigned index, bool last)
{
    at = (struct place){
        .indent = 1, .calls = FUNCTIONS, .kernel = kernel, .atomics = true, .may_return = last};
    printf("static inline __host__ __device__ void k%u_p%u(S &s, const u32 *in, u32 tid, G *g)\n{\n"
           "    (void)in; (void)tid; (void)g;\n",
           kernel, index);
    statements(4 + rnd(8), 3);
    printf("}\n\n");
}

/* One exchange between phases: its name and arguments, the same for device and host. */
struct exchange {
    char text[96];
};

static struct exchange exchange(bool whole_waves)
{
    static const char *const shuffled[] = {"u", "q", "f", "d"};
    struct exchange e;
    unsigned kind = rnd(whole_waves ? 8 : 4), field = rnd(4);
    switch (kind) {
    case 0:
        snprintf(e.text, sizeof e.text, "x_lds(S, u[%u], %u)", rnd(8), rnd(255) | 1);
        break;
    case 1:
        snprintf(e.text, sizeof e.text, "x_lds(S, d[%u], %u)", rnd(4), rnd(255) | 1);
        break;
    case 2:
        snprintf(e.text, sizeof e.text, "x_ldsadd(S, u[%u], u[%u])", rnd(8), rnd(8));
        break;
    case 3:
        snprintf(e.text, sizeof e.text, "x_ldsmax(S, u[%u], u[%u])", rnd(8), rnd(8));
        break;
    case 4:
        snprintf(e.text, sizeof e.text, "x_xor(S, %s[%u], %u, %u)", shuffled[field], rnd(4),
                 rnd(64), 64u >> rnd(3));
        break;
    case 5:
        snprintf(e.text, sizeof e.text, "x_%s(S, %s[%u], %u, %u)", rnd(2) ? "up" : "down",
                 shuffled[field], rnd(4), rnd(20), 64u >> rnd(3));
        break;
    case 6:
        snprintf(e.text, sizeof e.text, "x_idx(S, %s[%u], u[%u], %u)", shuffled[field], rnd(4),
                 rnd(8), 64u >> rnd(3));
        break;
    default:
        snprintf(e.text, sizeof e.text, "x_ballot(S, u[%u], q[%u])", rnd(8), rnd(4));
    }
    return e;
}

static void write_kernel(unsigned k)
{
    static const unsigned sizes[] = {64, 128, 192, 256, 512, 33, 100, 250};
    unsigned size = sizes[rnd(8)], blocks = 1 + rnd(3), phases = 1 + rnd(MAX_PHASES);
    struct exchange between[MAX_PHASES];
    for (unsigned i = 0; i < FUNCTIONS; i++)
        function(k, i);
    for (unsigned i = 0; i < phases; i++) {
        phase(k, i, i + 1 == phases);
        between[i] = exchange(size % 64 == 0);
    }
    printf("__global__ void k%u(const u32 *in, S *out, G *g)\n{\n    DEVICE_BEGIN\n", k);
    for (unsigned i = 0; i < phases; i++) {
        if (i)
            printf("    dev_%s;\n", between[i].text);
        printf("    k%u_p%u(s, in, tid, g);\n", k, i);
    }
    printf("    DEVICE_END\n}\n\nstatic void host_k%u(const u32 *in, S *all, G *g, u32 block, u32 "
           "size)\n{\n",
           k);
    for (unsigned i = 0; i < phases; i++) {
        if (i)
            printf("    host_%s;\n", between[i].text);
        printf("    HOST_ALL k%u_p%u(all[t], in, block * size + t, g);\n", k, i);
    }
    printf("}\n\n#define K%u {\"k%u\", k%u, host_k%u, %u, %u},\n\n", k, k, k, k, blocks, size);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: rp-diff-gen SEED KERNELS [ONLY]\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 0);
    unsigned kernels = (unsigned)strtoul(argv[2], NULL, 0);
    unsigned first = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;
    unsigned end = argc == 4 ? first + 1 : kernels;
    printf("// rp-diff-gen %" PRIu64 " %u%s%s\n#include \"runtime.hpp\"\n\n", seed, kernels,
           argc == 4 ? " " : "", argc == 4 ? argv[3] : "");
    for (unsigned k = first; k < end; k++) {
        state = seed * 1000003 + k; /* a kernel is the same alone and among others */
        write_kernel(k);
    }
    printf("static const struct kernel kernels[] = {\n");
    for (unsigned k = first; k < end; k++)
        printf("    K%u\n", k);
    printf("};\n\nint main(int argc, char **argv)\n{\n"
           "    return compare_all(kernels, sizeof kernels / sizeof *kernels, argc > 1 ? argv[1] : "
           "0);\n}\n");
    return 0;
}
