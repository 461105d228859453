#include "mem_ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* "ubyte", "dwordx3", "b96", "i16" ...: what is moved. */
static bool parse_moved(const char *what, struct ref_shape *s)
{
    static const struct {
        const char *word;
        unsigned bytes;
        bool sign;
    } words[] = {{"ubyte", 1, 0},    {"sbyte", 1, 1},    {"byte", 1, 0},      {"ushort", 2, 0},
                 {"sshort", 2, 1},   {"short", 2, 0},    {"dwordx16", 64, 0}, {"dwordx2", 8, 0},
                 {"dwordx3", 12, 0}, {"dwordx4", 16, 0}, {"dwordx8", 32, 0},  {"dword", 4, 0},
                 {"u8", 1, 0},       {"i8", 1, 1},       {"b8", 1, 0},        {"u16", 2, 0},
                 {"i16", 2, 1},      {"b16", 2, 0},      {"b32", 4, 0},       {"b64", 8, 0},
                 {"b96", 12, 0},     {"b128", 16, 0}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strncmp(what, words[i].word, strlen(words[i].word))) {
            s->bytes = words[i].bytes;
            s->sign = words[i].sign;
            s->d16 = has(what, "_d16");
            s->hi = has(what, "_d16_hi");
            return true;
        }
    return false;
}

static void set_op(struct ref_shape *s, const char *from, size_t length)
{
    snprintf(s->op, sizeof s->op, "%.*s", (int)length, from);
}

/* "add_x2", "smin", "pk_add_bf16", "add_f64" */
static void parse_atomic(const char *what, struct ref_shape *s)
{
    size_t length = strlen(what);
    s->kind = REF_RMW;
    s->bytes = has(what, "_x2") || has(what, "_f64") ? 8 : 4;
    s->number = 'u';
    if (has(what, "bf16"))
        s->number = 'g';
    else if (has(what, "f16"))
        s->number = 'h';
    else if (has(what, "_f32") || has(what, "_f64"))
        s->number = 'f';
    if (!strncmp(what, "pk_", 3)) {
        set_op(s, "add", 3);
        return;
    }
    const char *end = strchr(what, '_');
    if (end)
        length = (size_t)(end - what);
    if (what[0] == 's' && (!strncmp(what, "smin", 4) || !strncmp(what, "smax", 4))) {
        s->number = 'i';
        set_op(s, what + 1, 3);
    } else if (!strncmp(what, "umin", 4) || !strncmp(what, "umax", 4)) {
        set_op(s, what + 1, 3);
    } else {
        set_op(s, what, length);
    }
}

/* ds_add_rtn_u32, ds_cmpst_f64, ds_pk_add_rtn_bf16, ds_wrxchg2st64_rtn_b64 */
static bool parse_ds(const char *what, struct ref_shape *s)
{
    const char *type = strrchr(what, '_');
    type = type ? type + 1 : what;
    s->pair = has(what, "2_") || has(what, "2st64");
    if (!strncmp(what, "read", 4) || !strncmp(what, "write", 5)) {
        if (has(what, "addtid"))
            return false;
        s->kind = what[0] == 'r' ? REF_LOAD : REF_STORE;
        if (!parse_moved(strchr(what, '_') + 1, s))
            return false;
    } else {
        static const char *const ops[] = {
            "add", "sub",   "rsub",        "inc",     "dec",    "min",   "max",  "and", "or",
            "xor", "mskor", "wrxchg2st64", "wrxchg2", "wrxchg", "cmpst", "wrap", "pk"};
        size_t i = 0, n = sizeof ops / sizeof ops[0];
        while (i < n && strncmp(what, ops[i], strlen(ops[i])))
            i++;
        if (i == n || what[strlen(ops[i])] != '_')
            return false;
        s->kind = REF_RMW;
        set_op(s, ops[i], strncmp(ops[i], "wrxchg", 6) ? strlen(ops[i]) : 6);
        s->returns = has(what, "_rtn");
        s->number = type[0];
        s->bytes = type[1] == '6' ? 8 : 4;
        if (!strcmp(type, "f16") || !strcmp(type, "bf16")) {
            s->bytes = 4;
            s->number = type[0] == 'b' ? 'g' : 'h';
            set_op(s, "add", 3);
        }
    }
    s->unit = s->bytes * (has(what, "st64") ? 64 : 1);
    return true;
}

bool ref_parse(unsigned op, struct ref_shape *ret)
{
    const char *name = rp_isa_mnemonic(op), *at;
    memset(ret, 0, sizeof *ret);
    if (has(name, "_format_") || has(name, "_gws_"))
        return false;
    if (!strncmp(name, "ds_", 3))
        return parse_ds(name + 3, ret);
    if ((at = strstr(name, "load_lds_"))) {
        ret->kind = REF_LOAD;
        ret->to_lds = true;
        return parse_moved(at + 9, ret);
    }
    if ((at = strstr(name, "load_"))) {
        ret->kind = REF_LOAD;
        return parse_moved(at + 5, ret);
    }
    if ((at = strstr(name, "store_"))) {
        ret->kind = REF_STORE;
        return parse_moved(at + 6, ret);
    }
    if ((at = strstr(name, "atomic_"))) {
        parse_atomic(at + 7, ret);
        return true;
    }
    return false;
}

/* ---- arithmetic ---- */

/* @p value rounded to @p digits binary digits, with the smallest exponent of a format. */
static double round_to(double value, int digits, int smallest)
{
    int exponent;
    if (value == 0 || isinf(value) || isnan(value))
        return value;
    frexp(value, &exponent);
    int unit = exponent - digits < smallest ? smallest : exponent - digits;
    return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

static double half_value(uint32_t h)
{
    double mantissa = h & 0x3ff;
    int exponent = (int)(h >> 10 & 31);
    double v = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h & 0x8000 ? -v : v;
}

static uint32_t half_word(double v)
{
    uint32_t sign = signbit(v) ? 0x8000 : 0;
    int exponent;
    v = fabs(round_to(v, 11, -24));
    if (v == 0)
        return sign;
    if (v >= 65536)
        return sign | 0x7c00;
    frexp(v, &exponent);
    if (exponent <= -14)
        return sign | (uint32_t)ldexp(v, 24);
    return sign | (uint32_t)(exponent + 14) << 10 | ((uint32_t)ldexp(v, 11 - exponent) - 1024);
}

static float float_of(uint32_t word)
{
    float f;
    memcpy(&f, &word, 4);
    return f;
}

static uint32_t word_of(float f)
{
    uint32_t word;
    memcpy(&word, &f, 4);
    return word;
}

static uint32_t packed_add(char number, uint32_t old, uint32_t a)
{
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        uint32_t x = old >> shift & 0xffff, y = a >> shift & 0xffff, sum;
        if (number == 'h') {
            sum = half_word(half_value(x) + half_value(y));
        } else {
            double exact = (double)float_of(x << 16) + (double)float_of(y << 16);
            sum = word_of((float)round_to(exact, 8, -133)) >> 16;
        }
        result |= sum << shift;
    }
    return result;
}

static uint64_t apply_float(const struct ref_shape *s, uint64_t old, uint64_t a, uint64_t b)
{
    double x, y;
    if (s->bytes == 4) {
        x = float_of((uint32_t)old);
        y = float_of((uint32_t)a);
    } else {
        memcpy(&x, &old, 8);
        memcpy(&y, &a, 8);
    }
    if (!strcmp(s->op, "add")) {
        if (s->bytes == 4)
            return word_of((float)(x + y)); /* 53 digits hold what 24 need: rounded once */
        x += y;
        memcpy(&old, &x, 8);
        return old;
    }
    if (!strcmp(s->op, "cmpst"))
        return x == y ? b : old;
    bool max = !strcmp(s->op, "max");
    if (isnan(x) || isnan(y))
        return isnan(x) ? a : old;
    if (x == y) /* zeros of both signs are ordered */
        return (signbit(x) != 0) == max ? a : old;
    return (x < y) == max ? a : old;
}

uint64_t ref_apply(const struct ref_shape *s, bool lds, uint64_t old, uint64_t a, uint64_t b)
{
    const char *op = s->op;
    uint64_t mask = s->bytes == 8 ? UINT64_MAX : UINT32_MAX;
    if (s->number == 'h' || s->number == 'g')
        return packed_add(s->number, (uint32_t)old, (uint32_t)a);
    if (s->number == 'f')
        return apply_float(s, old, a, b);
    if (!strcmp(op, "swap") || !strcmp(op, "wrxchg"))
        return a;
    if (!strcmp(op, "cmpswap")) /* memory instructions: new value, then the expected one */
        return old == b ? a : old;
    if (!strcmp(op, "cmpst")) /* LDS: the expected value, then the new one */
        return lds && old == a ? b : old;
    if (!strcmp(op, "add"))
        return (old + a) & mask;
    if (!strcmp(op, "sub"))
        return (old - a) & mask;
    if (!strcmp(op, "rsub"))
        return (a - old) & mask;
    if (!strcmp(op, "and"))
        return old & a;
    if (!strcmp(op, "or"))
        return old | a;
    if (!strcmp(op, "xor"))
        return old ^ a;
    if (!strcmp(op, "mskor"))
        return (old & ~a) | b;
    if (!strcmp(op, "inc"))
        return old >= a ? 0 : old + 1;
    if (!strcmp(op, "dec"))
        return old == 0 || old > a ? a : old - 1;
    if (!strcmp(op, "wrap"))
        return old >= a ? old - a : (old + b) & mask;
    bool max = !strcmp(op, "max");
    if (!max && strcmp(op, "min"))
        fail_msg("the reference has no %s", op);
    if (s->number == 'i') {
        uint64_t flip = s->bytes == 8 ? 1ull << 63 : 1ull << 31; /* orders signed as unsigned */
        return ((old ^ flip) < (a ^ flip)) == max ? a : old;
    }
    return (old < a) == max ? a : old;
}

/* ---- moving ---- */

static uint64_t read_word(struct state *s, ref_byte_fn *byte, unsigned lane, uint64_t at,
                          unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        const uint8_t *p = byte(s, lane, at + i);
        if (!p)
            return 0;
        value |= (uint64_t)*p << (8 * i);
    }
    return value;
}

static void write_word(struct state *s, ref_byte_fn *byte, unsigned lane, uint64_t at,
                       unsigned bytes, uint64_t value)
{
    if (!byte(s, lane, at) || !byte(s, lane, at + bytes - 1))
        return;
    for (unsigned i = 0; i < bytes; i++)
        *byte(s, lane, at + i) = (uint8_t)(value >> (8 * i));
}

static uint64_t register_word(uint32_t (*rows)[RP_LANES], unsigned reg, unsigned lane,
                              unsigned bytes)
{
    return bytes == 8 ? rows[reg][lane] | (uint64_t)rows[reg + 1][lane] << 32 : rows[reg][lane];
}

static void load_element(const struct ref_shape *shape, struct state *s, uint32_t (*rows)[RP_LANES],
                         unsigned dst, unsigned lane, uint64_t at, ref_byte_fn *byte,
                         uint32_t lds_at)
{
    if (shape->bytes >= 4) {
        for (unsigned i = 0; i < shape->bytes / 4; i++) {
            uint32_t value = (uint32_t)read_word(s, byte, lane, at + 4 * i, 4);
            if (shape->to_lds)
                memcpy(s->lds + lds_at, &value, 4);
            else
                rows[dst + i][lane] = value;
        }
        return;
    }
    uint32_t value = (uint32_t)read_word(s, byte, lane, at, shape->bytes);
    unsigned top = 8 * shape->bytes - 1;
    if (shape->sign && value >> top)
        value |= UINT32_MAX << top;
    if (shape->to_lds)
        memcpy(s->lds + lds_at, &value, 4);
    else if (shape->d16) /* with SRAM ECC the other half is cleared */
        rows[dst][lane] = (value & 0xffff) << (shape->hi ? 16 : 0);
    else
        rows[dst][lane] = value;
}

void ref_lane(const struct ref_shape *shape, struct state *s, uint32_t (*rows)[RP_LANES],
              unsigned data, unsigned data2, unsigned dst, unsigned lane, const uint64_t at[2],
              ref_byte_fn *byte, bool lds, bool returns, uint32_t lds_at)
{
    unsigned count = shape->pair ? 2 : 1, words = shape->bytes / 4;
    uint64_t old[2], a[2], b = 0;
    if (shape->kind == REF_LOAD) {
        for (unsigned k = 0; k < count; k++)
            load_element(shape, s, rows, dst + k * words, lane, at[k], byte, lds_at);
        return;
    }
    if (shape->kind == REF_STORE) {
        for (unsigned k = 0; k < count; k++) {
            unsigned from = k ? data2 : data;
            if (shape->bytes < 4)
                write_word(s, byte, lane, at[k], shape->bytes,
                           shape->hi ? rows[from][lane] >> 16 : rows[from][lane]);
            for (unsigned i = 0; i < words; i++)
                write_word(s, byte, lane, at[k] + 4 * i, 4, rows[from + i][lane]);
        }
        return;
    }
    a[0] = register_word(rows, data, lane, shape->bytes);
    a[1] = register_word(rows, data2, lane, shape->bytes);
    b = a[1];
    if (!strcmp(shape->op, "cmpswap")) /* both in one register group */
        b = register_word(rows, data + words, lane, shape->bytes);
    for (unsigned k = 0; k < count; k++)
        old[k] = read_word(s, byte, lane, at[k], shape->bytes);
    for (unsigned k = 0; k < count; k++)
        write_word(s, byte, lane, at[k], shape->bytes, ref_apply(shape, lds, old[k], a[k], b));
    for (unsigned k = 0; returns && k < count; k++)
        for (unsigned i = 0; i < words; i++)
            rows[dst + k * words + i][lane] = (uint32_t)(old[k] >> (32 * i));
}
