/* This file executes buffer instructions, and converts between buffer data formats and registers.
 * Field positions and meanings are those of the CDNA3 ISA guide, "Buffer Data Formats". It
 * converts only what that document (and the definitions of normalised numbers that it shares with
 * every graphics interface) settles. Where hardware rounds in a way that nobody has published, the
 * instruction is refused, depending on the value.
 */
#include "device/isa/mem_address.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/isa/mem_access.h"
#include "device/isa/mem_atomic.h"
#include "device/isa/wave_state.h"

/** BUF_NUM_FORMAT_* */
enum rp_num_format {
    RP_NUM_UNORM = 0,
    RP_NUM_SNORM = 1,
    RP_NUM_USCALED = 2,
    RP_NUM_SSCALED = 3,
    RP_NUM_UINT = 4,
    RP_NUM_SINT = 5,
    RP_NUM_FLOAT = 7,
};

/** The components x, y, z, w of an element start from the lowest bit. */
struct rp_data_format {
    uint8_t bytes; /**< 0 = no such format */
    uint8_t components;
    uint8_t bits[4];
    uint8_t at_bit[4];
};

/** Returns the layout of BUF_DATA_FORMAT_* number @p data_format; bytes is 0 for invalid ones. */
static const struct rp_data_format *rp_data_format(unsigned data_format)
{
    static const struct rp_data_format formats[16] = {
        [1] = {1, 1, {8}, {0}},
        [2] = {2, 1, {16}, {0}},
        [3] = {2, 2, {8, 8}, {0, 8}},
        [4] = {4, 1, {32}, {0}},
        [5] = {4, 2, {16, 16}, {0, 16}},
        [6] = {4, 3, {11, 11, 10}, {0, 11, 22}},        /* The name 10_11_11 counts from the top. */
        [7] = {4, 3, {10, 11, 11}, {0, 10, 21}},        /* 11_11_10 */
        [8] = {4, 4, {2, 10, 10, 10}, {0, 2, 12, 22}},  /* 10_10_10_2 */
        [9] = {4, 4, {10, 10, 10, 2}, {0, 10, 20, 30}}, /* 2_10_10_10 */
        [10] = {4, 4, {8, 8, 8, 8}, {0, 8, 16, 24}},    /* 8_8_8_8 */
        [11] = {8, 2, {32, 32}, {0, 32}},               /* 32_32 */
        [12] = {8, 4, {16, 16, 16, 16}, {0, 16, 32, 48}},  /* 16_16_16_16 */
        [13] = {12, 3, {32, 32, 32}, {0, 32, 64}},         /* 32_32_32 */
        [14] = {16, 4, {32, 32, 32, 32}, {0, 32, 64, 96}}, /* 32_32_32_32 */
    };
    return &formats[data_format & 15];
}

/** Returns NULL if components of @p bits can be numbers of that kind, else the reason why not. */
static const char *format_check(unsigned bits, unsigned num_format)
{
    if (num_format == 6)
        return "reserved number format 6";
    if (num_format == RP_NUM_FLOAT)
        return bits == 8 || bits == 2 ? "floats of 8 or 2 bits are no buffer format" : NULL;
    if (bits == 11)
        return "components of 11 bits are floats only";
    if (bits == 32 && num_format != RP_NUM_UINT && num_format != RP_NUM_SINT)
        return "components of 32 bits are integers or floats only";
    return NULL;
}

static int32_t sign_extend_raw(uint32_t raw, unsigned bits)
{
    return (int32_t)(raw << (32 - bits)) >> (32 - bits);
}

/* Floats of 10 and 11 bits are halves without a sign and with fewer mantissa bits. */
static uint32_t small_to_half(uint32_t raw, unsigned bits)
{
    return raw << (15 - bits);
}

static float value_of(uint32_t raw, unsigned bits, unsigned num_format)
{
    float biggest = (float)((1u << (bits - 1)) - 1);
    switch (num_format) {
    case RP_NUM_UNORM:
        return (float)raw / (float)((1u << bits) - 1);
    case RP_NUM_SNORM: { /* The smallest two values both mean -1. */
        float value = (float)sign_extend_raw(raw, bits) / biggest;
        return value < -1 ? -1 : value;
    }
    case RP_NUM_USCALED:
        return (float)raw;
    default:
        return (float)sign_extend_raw(raw, bits);
    }
}

/* Converts a float to 16 bits, if nothing is lost. */
static const char *exact_half(float value, uint32_t *ret_half)
{
    uint32_t half = (uint16_t)rp_h16_of_f32(value);
    if (rp_f32_of_h16((uint16_t)half) != value)
        return "this value has no exact f16, and how the hardware rounds it is not published";
    *ret_half = half;
    return NULL;
}

static const char *load_float(uint32_t raw, unsigned bits, bool d16, uint32_t *ret_value)
{
    if (bits == 32 && d16)
        return exact_half(rp_f32_from(raw), ret_value);
    if (bits == 32) {
        *ret_value = raw;
        return NULL;
    }
    uint32_t half = bits == 16 ? raw : small_to_half(raw, bits);
    *ret_value = d16 ? half : rp_f32_word(rp_f32_of_h16((uint16_t)half));
    return NULL;
}

/**
 * Converts one component to a register.
 * @param raw  the component's bits
 * @param d16  the register is 16 bits wide: f16 for everything but UINT and SINT
 * @return NULL with *ret_value, or why it cannot be converted
 */
static const char *format_load(uint32_t raw, unsigned bits, unsigned num_format, bool d16,
                               uint32_t *ret_value)
{
    const uint32_t mask = d16 ? 0xffff : UINT32_MAX;
    const char *why = format_check(bits, num_format);
    if (why)
        return why;
    switch (num_format) {
    case RP_NUM_UINT:
        *ret_value = raw & mask;
        return NULL;
    case RP_NUM_SINT:
        *ret_value = (uint32_t)sign_extend_raw(raw, bits) & mask;
        return NULL;
    case RP_NUM_FLOAT:
        return load_float(raw, bits, d16, ret_value);
    default:
        break;
    }
    float value = value_of(raw, bits, num_format);
    if (!d16) {
        *ret_value = rp_f32_word(value);
        return NULL;
    }
    /* A quotient by 2^n-1 repeats after n <= 16 bits, so rounding it twice is rounding it once. */
    if (num_format == RP_NUM_UNORM || num_format == RP_NUM_SNORM) {
        *ret_value = (uint16_t)rp_h16_of_f32(value);
        return NULL;
    }
    return exact_half(value, ret_value);
}

static const char *store_integer(int64_t value, unsigned bits, bool has_sign, uint32_t *ret_raw)
{
    int64_t low = has_sign ? -((int64_t)1 << (bits - 1)) : 0;
    int64_t high = ((int64_t)1 << (bits - has_sign)) - 1;
    if (value < low || value > high)
        return "this value is outside the format, and what the hardware stores is not published";
    *ret_raw = (uint32_t)value & (uint32_t)(((uint64_t)1 << bits) - 1);
    return NULL;
}

static const char *store_float(uint32_t value, unsigned bits, bool d16, uint32_t *ret_raw)
{
    uint32_t half = value & 0xffff;
    if (bits == 32) {
        *ret_raw = d16 ? rp_f32_word(rp_f32_of_h16((uint16_t)half)) : value;
        return NULL;
    }
    const char *why = d16 ? NULL : exact_half(rp_f32_from(value), &half);
    if (why)
        return why;
    if (bits < 16 && (half >> 15 || half & ((1u << (15 - bits)) - 1)))
        return "this value has no exact small float, and how the hardware rounds is not published";
    *ret_raw = bits == 16 ? half : half >> (15 - bits);
    return NULL;
}

/** Converts in the other direction. @return NULL with *ret_raw, or why it cannot be converted */
static const char *format_store(uint32_t value, unsigned bits, unsigned num_format, bool d16,
                                uint32_t *ret_raw)
{
    const char *why = format_check(bits, num_format);
    if (why)
        return why;
    switch (num_format) {
    case RP_NUM_UINT:
        return store_integer(d16 ? value & 0xffff : value, bits, false, ret_raw);
    case RP_NUM_SINT:
        return store_integer(d16 ? (int16_t)value : (int32_t)value, bits, true, ret_raw);
    case RP_NUM_FLOAT:
        return store_float(value, bits, d16, ret_raw);
    default:
        break;
    }
    double number = (double)(d16 ? rp_f32_of_h16((uint16_t)value) : rp_f32_from(value));
    bool has_sign = num_format == RP_NUM_SNORM || num_format == RP_NUM_SSCALED;
    if (num_format == RP_NUM_UNORM || num_format == RP_NUM_SNORM) {
        double low = has_sign ? -1 : 0;
        number = !(number >= low) ? (number < low ? low : 0) : number > 1 ? 1 : number;
        number = rint(number * (double)((1u << (bits - has_sign)) - 1));
    } else if (!(fabs(number) <= 65536) || number != rint(number)) {
        return "this value is no integer of the format, and how the hardware rounds is not "
               "published";
    }
    return store_integer((int64_t)number, bits, has_sign, ret_raw);
}

/** Returns the constant one in a register, as selector SEL_1 gives it. */
static uint32_t format_one(unsigned num_format, bool d16)
{
    if (num_format == RP_NUM_UINT || num_format == RP_NUM_SINT)
        return 1;
    return d16 ? 0x3c00 : 0x3f800000;
}

/* MUBUF has untyped loads and stores through a buffer resource, loads to LDS, and cache
 * maintenance.
 */

/* Loads and stores that convert: MTBUF, and the _format_ rows of MUBUF. */
static bool is_format(const struct rp_insn *in)
{
    return in->fmt == RP_FMT_MTBUF || strstr(rp_isa_mnemonic(in->op), "_format_");
}

int rp_buffer_open(struct rp_wave *w, const struct rp_insn *in, struct rp_buffer *ret)
{
    if (in->src[2].kind != RP_OPND_SGPR || in->src[2].index + 4 > RP_SGPR_COUNT)
        return rp_fault_illegal(w, in);
    const uint32_t *v = &w->sgpr[in->src[2].index];
    bool idxen = in->flags & RP_IF_IDXEN, offen = in->flags & RP_IF_OFFEN;
    bool add_tid = v[3] >> 23 & 1, swizzle = v[1] >> 31;
    const rp_row *rows = idxen || offen ? rp_rows(w, &in->src[0]) : NULL;
    struct rp_buffer b = {
        .base = v[0] | (uint64_t)(v[1] & 0xffff) << 32,
        .stride_bytes = v[1] >> 16 & 0x3fff,
        .num_records = v[2],
        .scalar_offset = rp_opnd_u32(w, &in->src[3]),
        .inst_offset = (uint32_t)in->offset,
        .index_stride = 8u << (v[3] >> 21 & 3),
        .dst_sel = v[3] & 0xfff,
        .num_format = v[3] >> 12 & 7,
        .data_format = v[3] >> 15 & 15,
        .add_lane = add_tid && (swizzle || !idxen),
        .swizzled = add_tid && swizzle,
        .unchecked = add_tid && !idxen,
        .index = idxen ? rows[0] : NULL,
        .offset = offen ? rows[idxen] : NULL,
    };
    b.private = rp_buffer_is_private(v);
    b.by_record = idxen && b.stride_bytes;
    /* The lane's number wants long strides: their upper bits are where the format would be. */
    if (b.add_lane && v[3] >> 15 & 15 && !is_format(in))
        b.stride_bytes |= (uint32_t)b.data_format << 14;
    *ret = b;
    return RP_STEP_NEXT;
}

/*
 * The lanes' places when the resource is a plain range of bytes, all active lanes are inside and
 * their memory is mapped in one piece.
 */
RP_INLINE bool map_plain(struct rp_wave *w, const struct rp_buffer *b, unsigned bytes,
                         uint64_t exec, unsigned write, struct rp_spread *ret)
{
    uint32_t low, high;
    if (b->index || !b->offset || b->add_lane || b->swizzled || !exec)
        return false;
    rp_lanes_of(w)->bounds(b->offset, exec, &low, &high);
    uint64_t last = (uint64_t)high + b->inst_offset;
    if (last > UINT32_MAX || high - low > INT32_MAX ||
        last + b->scalar_offset + bytes > b->num_records)
        return false;
    uint64_t va = b->base + b->scalar_offset + b->inst_offset + low;
    uint8_t *p = rp_mem_lanes_at(rp_mem_of(w), va, (uint64_t)high - low + bytes, write, exec);
    *ret = (struct rp_spread){.base = p, .index = b->offset, .zero = low, .last = high - low};
    return p;
}

static int unmapped(struct rp_wave *w, const struct rp_insn *in, unsigned lane, uint64_t va,
                    bool write)
{
    return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, va,
                                 write ? "write to unmapped or read-only address"
                                       : "read of unmapped address");
}

/* ---- private memory, of waves without architected flat scratch ---- */

/* Returns a place in private memory. rp_wave.scratch is laid out as the swizzle of the resource
 * says. NULL: the access leaves what the lane has
 */
RP_INLINE uint8_t *private_at(struct rp_wave *w, const struct rp_buffer *b, unsigned lane,
                              uint32_t extra, unsigned bytes)
{
    uint64_t at = rp_buffer_at(b, lane, extra) - RP_SCRATCH_BASE_VA;
    return at + bytes <= (uint64_t)w->scratch_lane_bytes * RP_LANES ? w->scratch + at : NULL;
}

/* Returns the first of the lanes' neighbouring dwords, if all use the same offset, else NULL. */
RP_INLINE uint8_t *private_rows(struct rp_wave *w, const struct rp_buffer *b, unsigned bytes)
{
    if (b->index || bytes % 4 || b->scalar_offset % 256 || b->base % 256 ||
        (b->offset && !rp_lanes_of(w)->uniform(b->offset)) || rp_buffer_offset(b, 0) % 4 ||
        !private_at(w, b, RP_LANES - 1, bytes - 4, 4))
        return NULL;
    return private_at(w, b, 0, 0, 4);
}

RP_INLINE void merge_rows(uint32_t *to, const uint32_t *from, unsigned rows, uint64_t exec)
{
    if (exec == ~0ull) {
        memcpy(to, from, rows * sizeof(rp_row));
        return;
    }
    for (unsigned i = 0; i < rows; i++)
        RP_FOR_LANES(lane, exec)
    to[i * RP_LANES + lane] = from[i * RP_LANES + lane];
}

static int outside_private(struct rp_wave *w, const struct rp_insn *in, const struct rp_buffer *b,
                           unsigned lane, bool write)
{
    uint64_t offset =
        (b->base - RP_SCRATCH_BASE_VA + b->scalar_offset) / RP_LANES + rp_buffer_offset(b, lane);
    return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, offset,
                                 write ? "write outside the private segment"
                                       : "read outside the private segment");
}

RP_INLINE int private_load(struct rp_wave *w, const struct rp_insn *in, const struct rp_buffer *b,
                           enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    const uint64_t exec = RP_EXEC(w);
    rp_row *d = rp_rows(w, &in->dst), value[4];
    rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    const uint8_t *rows = private_rows(w, b, bytes);
    if (rows) {
        merge_rows(d[0], (const uint32_t *)(const void *)rows, parts, exec);
        return RP_STEP_NEXT;
    }
    memcpy(value, d, parts * sizeof value[0]); /* The offset may be in a destination register. */
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        const uint8_t *at = private_at(w, b, lane, 4 * p, rp_elem_bytes(piece));
        if (!at)
            return outside_private(w, in, b, lane, false);
        rp_elem_load(piece, &value[p], lane, at);
    }
    memcpy(d, value, parts * sizeof value[0]);
    return RP_STEP_NEXT;
}

RP_INLINE int private_store(struct rp_wave *w, const struct rp_insn *in, const struct rp_buffer *b,
                            enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    const uint64_t exec = RP_EXEC(w);
    rp_row *s = rp_rows(w, &in->src[1]);
    rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    uint8_t *rows = private_rows(w, b, bytes);
    if (rows) {
        rp_private_touch(w, (uint32_t)((uint64_t)(rows - w->scratch) / RP_LANES + bytes));
        merge_rows((uint32_t *)(void *)rows, s[0], parts, exec);
        return RP_STEP_NEXT;
    }
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        uint8_t *at = private_at(w, b, lane, 4 * p, rp_elem_bytes(piece));
        if (!at)
            return outside_private(w, in, b, lane, true);
        rp_private_touch(
            w, (uint32_t)((uint64_t)(at + rp_elem_bytes(piece) - 1 - w->scratch) / 256 * 4 + 4));
        rp_elem_store(piece, s + p, lane, at);
    }
    return RP_STEP_NEXT;
}

/* ---- memory ---- */

/* Wide accesses are checked dword by dword, and dwords out of range read as zero. */
RP_INLINE int buffer_load(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    static const uint8_t zero[4];
    uint64_t exec = RP_EXEC(w), moved = 0;
    struct rp_buffer b;
    struct rp_spread spread;
    rp_row *d = rp_rows(w, &in->dst), value[4];
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    if (b.private)
        return private_load(w, in, &b, e);
    if (map_plain(w, &b, bytes, exec, 0, &spread)) {
        rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
        rp_spread_load(w, e, d, &spread, exec);
        return RP_STEP_NEXT;
    }
    memcpy(value, d, parts * sizeof value[0]); /* The address may be in a destination register. */
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        const void *at = zero;
        uint8_t split[4];
        if (rp_buffer_inside(&b, lane, 4 * p, rp_elem_bytes(piece))) {
            uint64_t va = rp_buffer_at(&b, lane, 4 * p);
            at = rp_mem_at(rp_mem_of(w), va, rp_elem_bytes(piece), 0);
            if (!at && rp_mem_read_split(w, va, split, rp_elem_bytes(piece)))
                at = split;
            if (!at)
                return unmapped(w, in, lane, va, false);
            moved += rp_elem_bytes(piece);
        }
        rp_elem_load(piece, &value[p], lane, at);
    }
    memcpy(d, value, parts * sizeof value[0]);
    rp_counts_of(w)->read_bytes += moved;
    return RP_STEP_NEXT;
}

uint8_t *rp_load_lds_at(struct rp_wave *w, const struct rp_insn *in, unsigned lane, unsigned bytes)
{
    const bool wide = rp_isa_target_get() == RP_ISA_GFX950;
    const uint32_t mask = !wide ? 0xffff : in->fmt == RP_FMT_FLAT ? 0x3fffc : 0x3ffff;
    const uint32_t start = (w->sgpr[RP_SGPR_M0] & mask) + (uint32_t)in->offset;
    const uint64_t at = (uint64_t)start + (bytes == 4 ? 4 : 16) * lane;
    return at + bytes <= w->group->lds_bytes ? w->group->lds + at : NULL;
}

/* A load whose result goes to LDS: what is narrower than a dword extended to one. */
RP_INLINE int buffer_load_lds(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    static const uint8_t zero[4];
    uint64_t exec = RP_EXEC(w);
    struct rp_buffer b;
    rp_row value;
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    RP_FOR_LANES(lane, exec)
    {
        uint8_t *const to = rp_load_lds_at(w, in, lane, 4 * parts);
        for (unsigned p = 0; p < parts; p++) {
            const void *at = zero;
            if (rp_buffer_inside(&b, lane, 4 * p, rp_elem_bytes(piece))) {
                uint64_t va = rp_buffer_at(&b, lane, 4 * p);
                at = rp_mem_at(rp_mem_of(w), va, rp_elem_bytes(piece), 0);
                if (!at)
                    return unmapped(w, in, lane, va, false);
                rp_counts_of(w)->read_bytes += rp_elem_bytes(piece);
            }
            rp_elem_load(piece, &value, lane, at);
            if (to)
                memcpy(to + 4 * p, &value[lane], 4);
        }
    }
    rp_counts_of(w)->lds_bytes += (uint64_t)rp_lane_count(exec) * 4 * parts;
    return RP_STEP_NEXT;
}

RP_INLINE int buffer_store(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    uint64_t exec = RP_EXEC(w), moved = 0;
    struct rp_buffer b;
    struct rp_spread spread;
    rp_row *s = rp_rows(w, &in->src[1]);
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    w->poll_va = 0;
    if (b.private)
        return private_store(w, in, &b, e);
    if (map_plain(w, &b, bytes, exec, 1, &spread)) {
        rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
        rp_spread_store(w, e, s, &spread, exec);
        return RP_STEP_NEXT;
    }
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        if (!rp_buffer_inside(&b, lane, 4 * p, rp_elem_bytes(piece)))
            continue;
        uint64_t va = rp_buffer_at(&b, lane, 4 * p);
        void *at = rp_mem_at(rp_mem_of(w), va, rp_elem_bytes(piece), 1);
        uint8_t split[4];
        rp_elem_store(piece, s + p, lane, at ? at : split);
        if (!at && !rp_mem_write_split(w, va, split, rp_elem_bytes(piece)))
            return unmapped(w, in, lane, va, true);
        moved += rp_elem_bytes(piece);
    }
    rp_counts_of(w)->write_bytes += moved;
    return RP_STEP_NEXT;
}

#define LOAD(name, elem)                                                                           \
    int rp_buffer_load_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return buffer_load(w, in, RP_ELEM_##elem);                                                 \
    }
LOAD(b64, B64)
LOAD(u8_d16, U8_D16)
LOAD(u8_d16_hi, U8_D16_HI)
LOAD(i8_d16, I8_D16)
LOAD(i8_d16_hi, I8_D16_HI)
LOAD(b16_d16, B16_D16)
LOAD(b16_d16_hi, B16_D16_HI)

/* These can write to LDS instead of registers; the wide ones do so on gfx950 only. */
#define LOAD_OR_LDS(name, elem)                                                                    \
    int rp_buffer_load_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return in->flags & RP_IF_LDS ? buffer_load_lds(w, in, RP_ELEM_##elem)                      \
                                     : buffer_load(w, in, RP_ELEM_##elem);                         \
    }
LOAD_OR_LDS(u8, U8)
LOAD_OR_LDS(i8, I8)
LOAD_OR_LDS(u16, U16)
LOAD_OR_LDS(i16, I16)
LOAD_OR_LDS(b32, B32)
LOAD_OR_LDS(b96, B96)
LOAD_OR_LDS(b128, B128)

#define STORE(name, elem)                                                                          \
    int rp_buffer_store_##name(struct rp_wave *w, const struct rp_insn *in)                        \
    {                                                                                              \
        return buffer_store(w, in, RP_ELEM_##elem);                                                \
    }
RP_STORE_FORMS(STORE)

/* Memory is coherent here: nothing to write back or invalidate. */
/* MTBUF and the format rows of MUBUF are loads and stores that convert. MTBUF names the format
 * itself and takes components in order; MUBUF has format and, for loads, component selectors in
 * the resource. A lane is in range as a whole or not at all.
 */

enum { SEL_0 = 0, SEL_1 = 1, SEL_X = 4 };

struct typed {
    struct rp_buffer buffer;
    const struct rp_data_format *format;
    unsigned num_format;
    uint8_t select[4];
};

static int refuse(struct rp_wave *w, const struct rp_insn *in, const char *why)
{
    return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "%s", why);
}

static int open_typed(struct rp_wave *w, const struct rp_insn *in, struct typed *ret)
{
    struct typed t;
    if (rp_buffer_open(w, in, &t.buffer))
        return RP_STEP_FAULT;
    bool mtbuf = in->fmt == RP_FMT_MTBUF;
    t.format = rp_data_format(mtbuf ? in->cbsz : t.buffer.data_format);
    t.num_format = mtbuf ? in->blgp : t.buffer.num_format;
    if (!t.format->bytes)
        return refuse(w, in, "the data format is none of the valid ones");
    for (unsigned c = 0; c < 4; c++)
        t.select[c] = (uint8_t)(mtbuf ? SEL_X + c : (unsigned)t.buffer.dst_sel >> (3 * c) & 7);
    *ret = t;
    return RP_STEP_NEXT;
}

/* Moves the bytes of one lane's element, in pieces that a swizzle keeps together. */
static int move_element(struct rp_wave *w, const struct rp_insn *in, const struct typed *t,
                        unsigned lane, uint32_t word[4], bool write)
{
    unsigned piece = t->format->bytes < 4 ? t->format->bytes : 4;
    for (unsigned at = 0; at < t->format->bytes; at += piece) {
        uint64_t va = rp_buffer_at(&t->buffer, lane, at);
        void *p = rp_mem_at(rp_mem_of(w), va, piece, write);
        if (!p)
            return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, va,
                                         write ? "write to unmapped or read-only address"
                                               : "read of unmapped address");
        if (write)
            memcpy(p, &word[at / 4], piece);
        else
            memcpy(&word[at / 4], p, piece);
    }
    return RP_STEP_NEXT;
}

static uint32_t component(const struct rp_data_format *f, const uint32_t word[4], unsigned c)
{
    uint32_t value = word[f->at_bit[c] / 32] >> f->at_bit[c] % 32;
    return f->bits[c] == 32 ? value : value & ((1u << f->bits[c]) - 1);
}

/* Selects what register component @p c receives from an element, or returns why that is unknown. */
static const char *select_component(const struct typed *t, const uint32_t word[4], bool inside,
                                    unsigned c, bool d16, uint32_t *ret_value)
{
    unsigned sel = t->select[c];
    *ret_value = 0;
    if (sel == SEL_0)
        return NULL;
    if (sel == SEL_1) {
        *ret_value = format_one(t->num_format, d16);
        return NULL;
    }
    if (sel < SEL_X)
        return "reserved component selector";
    if (sel - SEL_X >= t->format->components)
        return "loads a component the format lacks, and what the hardware returns is not published";
    if (!inside)
        return format_check(t->format->bits[sel - SEL_X], t->num_format);
    return format_load(component(t->format, word, sel - SEL_X), t->format->bits[sel - SEL_X],
                       t->num_format, d16, ret_value);
}

/* A component is laid out in whole dwords, or in halves of them from @p first_half on. The first
 * half that is put into a register clears the other (rp_elem_load() says why).
 */
RP_INLINE void put(rp_row *d, unsigned lane, unsigned c, bool d16, unsigned first_half,
                   uint32_t value)
{
    unsigned half = c + first_half;
    if (!d16)
        d[c][lane] = value;
    else if (half % 2 == 0 || c == 0)
        d[half / 2][lane] = value << (half % 2 * 16);
    else
        d[half / 2][lane] |= value << 16;
}

RP_INLINE uint32_t get(const rp_row *s, unsigned lane, unsigned c, bool d16, unsigned first_half)
{
    unsigned half = c + first_half;
    if (!d16)
        return s[c][lane];
    return s[half / 2][lane] >> (half % 2 * 16) & 0xffff;
}

static int typed_load(struct rp_wave *w, const struct rp_insn *in, unsigned components, bool d16,
                      unsigned first_half)
{
    struct typed t;
    uint64_t exec = RP_EXEC(w);
    bool lds = in->flags & RP_IF_LDS;
    rp_row value[4] = {{0}};
    if (open_typed(w, in, &t))
        return RP_STEP_FAULT;
    rp_row *d = lds ? value : rp_rows(w, &in->dst);
    memcpy(value, d, (lds ? 1 : in->dst.dwords) * sizeof value[0]);
    RP_FOR_LANES(lane, exec)
    {
        uint32_t word[4] = {0}, result;
        bool inside = rp_buffer_inside(&t.buffer, lane, 0, t.format->bytes);
        if (inside && move_element(w, in, &t, lane, word, false))
            return RP_STEP_FAULT;
        for (unsigned c = 0; c < components; c++) {
            const char *why = select_component(&t, word, inside, c, d16, &result);
            if (why)
                return refuse(w, in, why);
            put(value, lane, c, d16, first_half, result);
        }
        uint8_t *to = lds ? rp_load_lds_at(w, in, lane, 4) : NULL;
        if (to)
            memcpy(to, &value[0][lane], 4);
        rp_counts_of(w)->read_bytes += inside ? t.format->bytes : 0;
        rp_counts_of(w)->lds_bytes += lds ? 4 : 0;
    }
    if (!lds)
        memcpy(d, value, in->dst.dwords * sizeof value[0]);
    return RP_STEP_NEXT;
}

static int typed_store(struct rp_wave *w, const struct rp_insn *in, unsigned components, bool d16,
                       unsigned first_half)
{
    struct typed t;
    uint64_t exec = RP_EXEC(w);
    const rp_row *s = rp_rows(w, &in->src[1]);
    if (open_typed(w, in, &t))
        return RP_STEP_FAULT;
    if (t.format->components > components)
        return refuse(w, in,
                      "stores fewer components than the format has, and what the hardware puts "
                      "into the others is not published");
    RP_FOR_LANES(lane, exec)
    {
        uint32_t word[4] = {0}, raw;
        for (unsigned c = 0; c < t.format->components; c++) {
            const char *why = format_store(get(s, lane, c, d16, first_half), t.format->bits[c],
                                           t.num_format, d16, &raw);
            if (why)
                return refuse(w, in, why);
            word[t.format->at_bit[c] / 32] |= raw << t.format->at_bit[c] % 32;
        }
        if (!rp_buffer_inside(&t.buffer, lane, 0, t.format->bytes))
            continue;
        if (move_element(w, in, &t, lane, word, true))
            return RP_STEP_FAULT;
        rp_counts_of(w)->write_bytes += t.format->bytes;
    }
    return RP_STEP_NEXT;
}

#define FORMS(name, components, d16, first_half)                                                   \
    int rp_typed_load_##name(struct rp_wave *w, const struct rp_insn *in)                          \
    {                                                                                              \
        return typed_load(w, in, components, d16, first_half);                                     \
    }                                                                                              \
    int rp_typed_store_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return typed_store(w, in, components, d16, first_half);                                    \
    }
FORMS(x, 1, false, 0)
FORMS(xy, 2, false, 0)
FORMS(xyz, 3, false, 0)
FORMS(xyzw, 4, false, 0)
FORMS(d16_x, 1, true, 0)
FORMS(d16_xy, 2, true, 0)
FORMS(d16_xyz, 3, true, 0)
FORMS(d16_xyzw, 4, true, 0)
FORMS(d16_hi_x, 1, true, 1)
