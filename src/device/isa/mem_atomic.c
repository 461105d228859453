/* This file executes atomics of FLAT, GLOBAL, MUBUF and SMEM. */
#include "device/isa/mem_atomic.h"

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/mem_access.h"
#include "device/isa/mem_address.h"
#include "device/isa/wave_state.h"

/**
 * Compare and swap of FLAT, GLOBAL and MUBUF takes the new value first and the expected value
 * second.
 */
#define RP_ATOMIC_CMPSWAP_OPS(X)                                                                   \
    X(cmpswap_32, uint32_t, old == b ? a : old)                                                    \
    X(cmpswap_64, uint64_t, old == b ? a : old)

/** Tests whether atomics of the current instruction are noted instead of applied. */
static inline bool atomic_log_is_open(const struct rp_wave *w)
{
    return w->group->env->logging;
}

#define DEFINE(name, type, value)                                                                  \
    static uint64_t at_##name(void *p, uint64_t data, uint64_t data2, bool *ret_changed)           \
    {                                                                                              \
        type *word = p, a = (type)data, b = (type)data2, next;                                     \
        type old = __atomic_load_n(word, __ATOMIC_RELAXED);                                        \
        do {                                                                                       \
            (void)b;                                                                               \
            next = (type)(value);                                                                  \
        } while (!__atomic_compare_exchange_n(word, &old, next, 0, __ATOMIC_SEQ_CST,               \
                                              __ATOMIC_RELAXED));                                  \
        *ret_changed = next != old;                                                                \
        return old;                                                                                \
    }
RP_ATOMIC_MEM_OPS(DEFINE)
RP_ATOMIC_CMPSWAP_OPS(DEFINE)
RP_ATOMIC_BF16_OPS(DEFINE)

/* Counts a lane's traffic. An atomic that is known to have left memory unchanged does not hide
 * that a wave only waits.
 */
static void count(struct rp_wave *w, unsigned bytes, bool changed)
{
    rp_counts_of(w)->read_bytes += bytes;
    rp_counts_of(w)->write_bytes += bytes;
    if (!changed)
        w->wait.kept_bytes += bytes;
}

/* Returns host memory for an atomic of one lane (-1: scalar), or NULL after recording the fault. */
static void *atomic_at(struct rp_wave *w, const struct rp_insn *in, int lane, uint64_t va,
                       unsigned bytes)
{
    if (va % bytes) {
        rp_wave_fault_address(w, in, RP_FAULT_MEMORY, lane, va, "misaligned atomic at");
        return NULL;
    }
    void *p = rp_mem_at(rp_mem_of(w), va, bytes, 1);
    if (!p)
        rp_wave_fault_address(w, in, RP_FAULT_MEMORY, lane, va,
                              "atomic at unmapped or read-only address");
    return p;
}

/* Executes a lane's atomic in LDS or scratch, which nobody else can see half done. */
static int local_atomic(struct rp_wave *w, const struct rp_insn *in, unsigned lane, uint64_t va,
                        unsigned bytes, enum rp_space space, rp_atomic_fn *fn, uint64_t data[2],
                        uint64_t *ret_old)
{
    uint32_t offset = (uint32_t)va;
    uint64_t limit = space == RP_SPACE_LDS ? w->group->lds_bytes : w->scratch_lane_bytes;
    if (offset % bytes || (uint64_t)offset + bytes > limit)
        return rp_wave_fault_address(w, in, space == RP_SPACE_LDS ? RP_FAULT_LDS : RP_FAULT_MEMORY,
                                     (int)lane, va,
                                     "atomic outside LDS or private segment, or misaligned, at");
    bool changed;
    if (space == RP_SPACE_LDS) {
        *ret_old = fn(w->group->lds + offset, data[0], data[1], &changed);
        rp_counts_of(w)->lds_bytes += 2ull * bytes;
        return RP_STEP_NEXT;
    }
    uint64_t copy = 0;
    rp_private_read(w, lane, offset, &copy, bytes);
    *ret_old = fn(&copy, data[0], data[1], &changed);
    rp_private_write(w, lane, offset, &copy, bytes);
    count(w, bytes, true);
    return RP_STEP_NEXT;
}

/* Executes an atomic on memory that others see. One without result may be applied later. */
static uint64_t global_atomic(struct rp_wave *w, rp_atomic_fn *fn, void *p, uint64_t va,
                              unsigned bytes, const uint64_t data[2], bool result)
{
    bool changed = true;
    uint64_t old = 0;
    if (!result && atomic_log_is_open(w))
        rp_atomic_log_add(w, fn, va, bytes, data[0]);
    else
        old = fn(p, data[0], data[1], &changed);
    count(w, bytes, changed || !result);
    return old;
}

static uint64_t row_word(rp_row *rows, unsigned lane, unsigned bytes)
{
    return bytes == 4 ? rows[0][lane] : rows[0][lane] | (uint64_t)rows[1][lane] << 32;
}

static int flat_atomic(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                       rp_atomic_fn *fn)
{
    uint64_t exec = RP_EXEC(w), vas[RP_LANES];
    rp_row *s = rp_rows(w, &in->src[1]);
    rp_row *s2 = in->src[1].dwords * 4u > bytes ? s + bytes / 4 : s;
    rp_row *d = in->dst.kind != RP_OPND_NONE ? rp_rows(w, &in->dst) : NULL;
    rp_flat_addresses(w, in, vas);
    RP_FOR_LANES(lane, exec)
    {
        uint64_t data[2] = {row_word(s, lane, bytes), row_word(s2, lane, bytes)}, old = 0;
        enum rp_space space =
            in->seg == RP_SEG_GLOBAL ? RP_SPACE_GLOBAL : rp_space_of(rp_wave_host(w), vas[lane]);
        if (space == RP_SPACE_GLOBAL) {
            void *p = atomic_at(w, in, (int)lane, vas[lane], bytes);
            if (!p)
                return RP_STEP_FAULT;
            old = global_atomic(w, fn, p, vas[lane], bytes, data, d);
        } else if (local_atomic(w, in, lane, vas[lane], bytes, space, fn, data, &old)) {
            return RP_STEP_FAULT;
        }
        if (d) {
            d[0][lane] = (uint32_t)old;
            if (bytes == 8)
                d[1][lane] = (uint32_t)(old >> 32);
        }
    }
    return exec ? rp_note_poll(w, vas[rp_first_lane(exec)]) : RP_STEP_NEXT;
}

#define FLAT(name, type, value)                                                                    \
    int rp_flat_atomic_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return flat_atomic(w, in, sizeof(type), at_##name);                                        \
    }
RP_ATOMIC_MEM_OPS(FLAT)
RP_ATOMIC_CMPSWAP_OPS(FLAT)
RP_ATOMIC_BF16_OPS(FLAT)

/* ---- MUBUF ---- */

static int buffer_atomic(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                         rp_atomic_fn *fn)
{
    uint64_t exec = RP_EXEC(w);
    struct rp_buffer b;
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    rp_row *s = rp_rows(w, &in->src[1]);
    rp_row *s2 = in->src[1].dwords * 4u > bytes ? s + bytes / 4 : s;
    /* MUBUF returns the old value in the data registers. */
    rp_row *d = in->flags & RP_IF_SC0 ? s : NULL;
    RP_FOR_LANES(lane, exec)
    {
        uint64_t old = 0; /* Out of range, nothing is written and zero is returned. */
        if (rp_buffer_inside(&b, lane, 0, bytes)) {
            uint64_t va = rp_buffer_at(&b, lane, 0);
            void *p = atomic_at(w, in, (int)lane, va, bytes);
            if (!p)
                return RP_STEP_FAULT;
            const uint64_t data[2] = {row_word(s, lane, bytes), row_word(s2, lane, bytes)};
            old = global_atomic(w, fn, p, va, bytes, data, d);
        }
        if (d) {
            d[0][lane] = (uint32_t)old;
            if (bytes == 8)
                d[1][lane] = (uint32_t)(old >> 32);
        }
    }
    return RP_STEP_NEXT;
}

#define BUFFER(name, type, value)                                                                  \
    int rp_buffer_atomic_##name(struct rp_wave *w, const struct rp_insn *in)                       \
    {                                                                                              \
        return buffer_atomic(w, in, sizeof(type), at_##name);                                      \
    }
RP_ATOMIC_MEM_OPS(BUFFER)
RP_ATOMIC_CMPSWAP_OPS(BUFFER)
RP_ATOMIC_BF16_OPS(BUFFER)

/* ---- SMEM: one word per wave, whatever EXEC says ---- */

static uint64_t sgpr_word(const struct rp_wave *w, unsigned index, unsigned bytes)
{
    return bytes == 4 ? w->sgpr[index] : rp_sgpr64(w, index);
}

static int scalar_atomic(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                         rp_atomic_fn *fn)
{
    const struct rp_opnd *data = &in->src[0];
    bool buffer = in->src[2].dwords == 4, changed;
    if (!rp_sgprs_fit(data) || !rp_sgprs_fit(&in->src[2]))
        return rp_fault_illegal(w, in);
    uint64_t va, old = 0; /* Out of range, nothing is written and zero is returned. */
    bool inside = true;
    if (buffer) {
        struct rp_smem_buffer b = rp_smem_buffer(w, in);
        va = b.va;
        inside = rp_smem_inside(&b, 0) && rp_smem_inside(&b, bytes / 4 - 1);
    } else {
        va = rp_smem_address(w, in);
    }
    if (inside) {
        void *p = atomic_at(w, in, -1, va, bytes);
        if (!p)
            return RP_STEP_FAULT;
        unsigned second = data->dwords * 4u > bytes ? bytes / 4 : 0;
        old = fn(p, sgpr_word(w, data->index, bytes), sgpr_word(w, data->index + second, bytes),
                 &changed);
        count(w, bytes, changed);
    }
    if (in->flags & RP_IF_SC0) {
        w->sgpr[data->index] = (uint32_t)old;
        if (bytes == 8)
            w->sgpr[data->index + 1] = (uint32_t)(old >> 32);
    }
    return RP_STEP_NEXT;
}

#define SCALAR(name, type, value)                                                                  \
    int rp_smem_atomic_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return scalar_atomic(w, in, sizeof(type), at_##name);                                      \
    }
RP_ATOMIC_INT_OPS(SCALAR, 32)
RP_ATOMIC_INT_OPS(SCALAR, 64)
RP_ATOMIC_CMPSWAP_OPS(SCALAR)
