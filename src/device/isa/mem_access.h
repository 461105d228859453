/**
 * @file mem_access.h
 * @brief This header says what the memory handlers (mem_*.c) share: elements, lanes, addresses,
 * faults.
 */
#ifndef RP_DEVICE_ISA_MEM_ACCESS_H
#define RP_DEVICE_ISA_MEM_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

#define RP_INLINE static inline __attribute__((always_inline))

/**
 * One lane moves one of these. The D16 forms load into half a register, and the _HI forms also
 * store from half a register.
 */
enum rp_elem {
    RP_ELEM_U8,
    RP_ELEM_I8,
    RP_ELEM_U16,
    RP_ELEM_I16,
    RP_ELEM_B32,
    RP_ELEM_B64,
    RP_ELEM_B96,
    RP_ELEM_B128,
    RP_ELEM_U8_D16,
    RP_ELEM_U8_D16_HI,
    RP_ELEM_I8_D16,
    RP_ELEM_I8_D16_HI,
    RP_ELEM_B16_D16,
    RP_ELEM_B16_D16_HI,
    RP_ELEM_B8 = RP_ELEM_U8, /**< stores do not extend */
    RP_ELEM_B16 = RP_ELEM_U16,
    RP_ELEM_B8_HI = RP_ELEM_U8_D16_HI,
    RP_ELEM_B16_HI = RP_ELEM_B16_D16_HI,
};

/* X(handler suffix, element) for every load and store form of FLAT, DS and MUBUF. */
#define RP_LOAD_FORMS(X)                                                                           \
    X(u8, U8)                                                                                      \
    X(i8, I8)                                                                                      \
    X(u16, U16)                                                                                    \
    X(i16, I16)                                                                                    \
    X(b32, B32)                                                                                    \
    X(b64, B64)                                                                                    \
    X(b96, B96)                                                                                    \
    X(b128, B128)                                                                                  \
    X(u8_d16, U8_D16)                                                                              \
    X(u8_d16_hi, U8_D16_HI)                                                                        \
    X(i8_d16, I8_D16)                                                                              \
    X(i8_d16_hi, I8_D16_HI)
#define RP_STORE_FORMS(X)                                                                          \
    X(b8, B8)                                                                                      \
    X(b16, B16)                                                                                    \
    X(b8_hi, B8_HI)                                                                                \
    X(b16_hi, B16_HI)                                                                              \
    X(b32, B32)                                                                                    \
    X(b64, B64)                                                                                    \
    X(b96, B96)                                                                                    \
    X(b128, B128)

typedef uint32_t rp_row[RP_LANES];

#define RP_FOR_LANES(lane, exec)                                                                   \
    for (uint64_t left_ = (exec); left_; left_ &= left_ - 1)                                       \
        for (unsigned lane = (unsigned)__builtin_ctzll(left_), once_ = 1; once_; once_ = 0)

/**
 * These go byte by byte, for ranges that rp_mem_at() cannot give in one piece. At most 64 bytes
 * are allowed; a write happens as a whole or not at all.
 * @return false when a byte is not mapped
 */
bool rp_mem_read_split(struct rp_wave *w, uint64_t va, void *to, unsigned bytes);
bool rp_mem_write_split(struct rp_wave *w, uint64_t va, const void *from, unsigned bytes);

/* FLAT reaches the private segment (scratch) and LDS through apertures. */

enum rp_space { RP_SPACE_GLOBAL, RP_SPACE_LDS, RP_SPACE_PRIVATE };

/** Computes the addresses of all lanes of a FLAT or GLOBAL instruction, offset included. */
void rp_flat_addresses(struct rp_wave *w, const struct rp_insn *in, uint64_t ret_va[RP_LANES]);

/** Lane set of an instruction, and how many they are. */
RP_INLINE unsigned rp_lane_count(uint64_t exec)
{
    return exec == ~0ull ? RP_LANES : (unsigned)__builtin_popcountll(exec);
}

/** Returns the register rows of a vector operand. */
RP_INLINE rp_row *rp_rows(struct rp_wave *w, const struct rp_opnd *o)
{
    return (o->kind == RP_OPND_AGPR ? w->agpr : w->vgpr) + o->index;
}

RP_INLINE unsigned rp_elem_bytes(enum rp_elem e)
{
    switch (e) {
    case RP_ELEM_U8:
    case RP_ELEM_I8:
    case RP_ELEM_U8_D16:
    case RP_ELEM_U8_D16_HI:
    case RP_ELEM_I8_D16:
    case RP_ELEM_I8_D16_HI:
        return 1;
    case RP_ELEM_U16:
    case RP_ELEM_I16:
    case RP_ELEM_B16_D16:
    case RP_ELEM_B16_D16_HI:
        return 2;
    case RP_ELEM_B64:
        return 8;
    case RP_ELEM_B96:
        return 12;
    case RP_ELEM_B128:
        return 16;
    default:
        return 4;
    }
}

/** Returns the dwords of an element that is whole dwords, else 0. */
RP_INLINE unsigned rp_elem_dwords(enum rp_elem e)
{
    return rp_elem_bytes(e) / 4;
}

RP_INLINE uint16_t rp_read16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

RP_INLINE uint32_t rp_read32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

RP_INLINE uint64_t rp_read64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/**
 * Loads one lane from memory at @p p into register rows @p d. A load into one half of a register
 * clears the other half: with SRAM ECC, which all targets have (their ISA names say sramecc+), a
 * load writes whole registers (LLVM: GCNSubtarget::d16PreservesUnusedBits is false then).
 */
RP_INLINE void rp_elem_load(enum rp_elem e, rp_row *d, unsigned lane, const void *p)
{
    const uint8_t *b = p;
    uint32_t *r = &d[0][lane];
    switch (e) {
    case RP_ELEM_U8:
        *r = *b;
        break;
    case RP_ELEM_I8:
        *r = (uint32_t)(int32_t)(int8_t)*b;
        break;
    case RP_ELEM_U16:
        *r = rp_read16(p);
        break;
    case RP_ELEM_I16:
        *r = (uint32_t)(int32_t)(int16_t)rp_read16(p);
        break;
    case RP_ELEM_U8_D16:
        *r = *b;
        break;
    case RP_ELEM_U8_D16_HI:
        *r = (uint32_t)*b << 16;
        break;
    case RP_ELEM_I8_D16:
        *r = (uint16_t)(int16_t)(int8_t)*b;
        break;
    case RP_ELEM_I8_D16_HI:
        *r = (uint32_t)(uint16_t)(int16_t)(int8_t)*b << 16;
        break;
    case RP_ELEM_B16_D16:
        *r = rp_read16(p);
        break;
    case RP_ELEM_B16_D16_HI:
        *r = (uint32_t)rp_read16(p) << 16;
        break;
    case RP_ELEM_B64: {
        /* It is one access, as in hardware, because flags that are polled must not tear. */
        uint64_t v = rp_read64(p);
        d[0][lane] = (uint32_t)v;
        d[1][lane] = (uint32_t)(v >> 32);
        break;
    }
    default:
        for (unsigned i = 0; i < rp_elem_bytes(e) / 4; i++)
            d[i][lane] = rp_read32(b + 4 * i);
        break;
    }
}

/** Stores one lane from register rows @p s to memory at @p p. */
RP_INLINE void rp_elem_store(enum rp_elem e, rp_row *s, unsigned lane, void *p)
{
    uint8_t *b = p;
    uint32_t v = s[0][lane];
    switch (e) {
    case RP_ELEM_B8:
        *b = (uint8_t)v;
        break;
    case RP_ELEM_B8_HI:
        *b = (uint8_t)(v >> 16);
        break;
    case RP_ELEM_B16:
        memcpy(p, &(uint16_t){(uint16_t)v}, 2);
        break;
    case RP_ELEM_B16_HI:
        memcpy(p, &(uint16_t){(uint16_t)(v >> 16)}, 2);
        break;
    case RP_ELEM_B64:
        memcpy(p, &(uint64_t){v | (uint64_t)s[1][lane] << 32}, 8);
        break;
    default:
        for (unsigned i = 0; i < rp_elem_bytes(e) / 4; i++)
            memcpy(b + 4 * i, &s[i][lane], 4);
        break;
    }
}

/**
 * Loads the same element for all lanes in @p exec. It is read once, because lanes must not see
 * different values.
 */
RP_INLINE void rp_lanes_broadcast(enum rp_elem e, rp_row *d, const uint8_t *at, uint64_t exec)
{
    rp_row value[4];
    const unsigned rows = rp_elem_bytes(e) > 4 ? rp_elem_bytes(e) / 4 : 1;
    rp_elem_load(e, value, 0, at);
    for (unsigned i = 0; i < rows; i++) {
        uint32_t word = value[i][0];
        if (exec == ~0ull) {
            for (unsigned lane = 0; lane < RP_LANES; lane++)
                d[i][lane] = word;
            continue;
        }
        RP_FOR_LANES(lane, exec)
        d[i][lane] = word;
    }
}

/**
 * Moves elements of all lanes in @p exec between rows and memory that advances by @p stride bytes.
 */
RP_INLINE void rp_lanes_load(enum rp_elem e, rp_row *d, const uint8_t *lane0, int64_t stride,
                             uint64_t exec)
{
    const unsigned bytes = rp_elem_bytes(e);
    if (stride == 0) {
        rp_lanes_broadcast(e, d, lane0, exec);
        return;
    }
    if (exec == ~0ull && stride == (int64_t)bytes) {
        if (e == RP_ELEM_B32) {
            memcpy(d[0], lane0, sizeof d[0]);
            return;
        }
        uint8_t copy[RP_LANES * 16]; /* The copy tells the compiler that d does not overlap it. */
        memcpy(copy, lane0, RP_LANES * bytes);
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            rp_elem_load(e, d, lane, copy + lane * bytes);
        return;
    }
    if (exec == ~0ull) {
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            rp_elem_load(e, d, lane, lane0 + (int64_t)lane * stride);
        return;
    }
    RP_FOR_LANES(lane, exec)
    rp_elem_load(e, d, lane, lane0 + (int64_t)lane * stride);
}

RP_INLINE void rp_lanes_store(enum rp_elem e, rp_row *s, uint8_t *lane0, int64_t stride,
                              uint64_t exec)
{
    const unsigned bytes = rp_elem_bytes(e);
    if (exec == ~0ull && stride == (int64_t)bytes) {
        if (e == RP_ELEM_B32) {
            memcpy(lane0, s[0], sizeof s[0]);
            return;
        }
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            rp_elem_store(e, s, lane, lane0 + lane * bytes);
        return;
    }
    RP_FOR_LANES(lane, exec)
    rp_elem_store(e, s, lane, lane0 + (int64_t)lane * stride);
}

/** First and last set lane of a non-empty set. */
RP_INLINE unsigned rp_first_lane(uint64_t exec)
{
    return (unsigned)__builtin_ctzll(exec);
}

RP_INLINE unsigned rp_last_lane(uint64_t exec)
{
    return 63 - (unsigned)__builtin_clzll(exec);
}

/** Returns the lane loops for this CPU. */
RP_INLINE const struct rp_mem_lanes *rp_lanes_of(const struct rp_wave *w)
{
    return w->group->env->lanes;
}

/**
 * Moves elements of the lanes in @p exec at their places in @p spread, none of which is beyond
 * last.
 */
RP_INLINE void rp_spread_load(struct rp_wave *w, enum rp_elem e, rp_row *d,
                              const struct rp_spread *spread, uint64_t exec)
{
    if (rp_elem_dwords(e)) {
        rp_lanes_of(w)->load[rp_elem_dwords(e)](d, spread, exec);
        return;
    }
    RP_FOR_LANES(lane, exec)
    rp_elem_load(e, d, lane, spread->base + (spread->index[lane] - spread->zero));
}

RP_INLINE void rp_spread_store(struct rp_wave *w, enum rp_elem e, rp_row *s,
                               const struct rp_spread *spread, uint64_t exec)
{
    if (rp_elem_dwords(e)) {
        rp_lanes_of(w)->store[rp_elem_dwords(e)]((const rp_row *)s, spread, exec);
        return;
    }
    RP_FOR_LANES(lane, exec)
    rp_elem_store(e, s, lane, spread->base + (spread->index[lane] - spread->zero));
}

/** Notes a load; a second one of the same address may be a wave that waits for somebody else. */
RP_INLINE int rp_note_poll(struct rp_wave *w, uint64_t va)
{
    if (va == w->poll_va) {
        w->poll_count++;
        return RP_STEP_POLL;
    }
    w->poll_va = va;
    w->poll_count = 0;
    w->wait.armed = w->wait.idle = false;
    return RP_STEP_NEXT;
}

/** Returns the memory view of the thread that executes the wave. */
RP_INLINE struct rp_mem *rp_mem_of(struct rp_wave *w)
{
    return &w->group->env->mem;
}

RP_INLINE struct rp_counts *rp_counts_of(struct rp_wave *w)
{
    return &w->group->env->counts;
}

/** Returns which memory a flat address means: the hardware compares the high halves. */
RP_INLINE enum rp_space rp_space_of(const struct rp_exec_host *host, uint64_t va)
{
    uint32_t high = (uint32_t)(va >> 32);
    if (high == (uint32_t)(host->lds_aperture >> 32))
        return RP_SPACE_LDS;
    if (high == (uint32_t)(host->scratch_aperture >> 32))
        return RP_SPACE_PRIVATE;
    return RP_SPACE_GLOBAL;
}

RP_INLINE uint8_t *rp_private_at(const struct rp_wave *w, unsigned lane, uint32_t offset)
{
    return w->scratch + (((size_t)(offset / 4) * RP_LANES) + lane) * 4 + offset % 4;
}

/* The byte order of a lane's segment is interleaved: move it in pieces that stay inside a dword,
 * whole ones where that is known beforehand. */
RP_INLINE void rp_private_read(const struct rp_wave *w, unsigned lane, uint32_t offset, void *to,
                               unsigned bytes)
{
    uint8_t *out = to;
    for (; (offset | bytes) % 4 == 0 && bytes; offset += 4, out += 4, bytes -= 4)
        memcpy(out, rp_private_at(w, lane, offset), 4);
    while (bytes) {
        unsigned piece = 4 - offset % 4 < bytes ? 4 - offset % 4 : bytes;
        memcpy(out, rp_private_at(w, lane, offset), piece);
        out += piece;
        offset += piece;
        bytes -= piece;
    }
}

RP_INLINE void rp_private_touch(struct rp_wave *w, uint32_t end)
{
    end = (end + 3) & ~3u;
    if (end > w->scratch_dirty_bytes)
        w->scratch_dirty_bytes = end;
}

RP_INLINE void rp_private_write(struct rp_wave *w, unsigned lane, uint32_t offset, const void *from,
                                unsigned bytes)
{
    const uint8_t *in = from;
    rp_private_touch(w, offset + bytes);
    for (; (offset | bytes) % 4 == 0 && bytes; offset += 4, in += 4, bytes -= 4)
        memcpy(rp_private_at(w, lane, offset), in, 4);
    while (bytes) {
        unsigned piece = 4 - offset % 4 < bytes ? 4 - offset % 4 : bytes;
        memcpy(rp_private_at(w, lane, offset), in, piece);
        in += piece;
        offset += piece;
        bytes -= piece;
    }
}

#endif
