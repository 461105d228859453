/**
 * @file sdma.c
 * @brief This file executes the DMA engine's packets that move data: linear and rectangular
 * copies, fills.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/exec/host_traps.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_model.h"

enum rp_sdma_opcode {
    RP_SDMA_NOP = 0,
    RP_SDMA_COPY = 1,
    RP_SDMA_WRITE = 2,
    RP_SDMA_FENCE = 5,
    RP_SDMA_TRAP = 6,
    RP_SDMA_POLL_REGMEM = 8,
    RP_SDMA_ATOMIC = 10,
    RP_SDMA_CONST_FILL = 11,
    RP_SDMA_TIMESTAMP = 13,
    RP_SDMA_GCR = 17,
};

enum { RP_SDMA_COPY_LINEAR = 0, RP_SDMA_COPY_RECT = 4 };

enum { RP_SDMA_TIMESTAMP_GLOBAL = 2 };

enum { RP_SDMA_GCR_USER = 1 };

enum { RP_SDMA_PACKET_DWORDS = 13 }; /**< the longest of those with a fixed length */

/** This is the state of one rp_sdma_step() call. */
struct rp_sdma_turn {
    const struct rp_cp *cp;
    struct rp_sdma_queue *queue;
    const uint32_t *dw;    /**< the packet */
    uint64_t budget_bytes; /**< left in this turn */
    uint64_t ticks;        /**< queue time at which the packet may start */
};

enum rp_sdma_result {
    RP_SDMA_DONE,  /**< the packet is finished */
    RP_SDMA_MORE,  /**< out of budget, go on here next turn */
    RP_SDMA_WAIT,  /**< its condition does not hold yet */
    RP_SDMA_FAULT, /**< reported, the queue is stopped */
};

static inline uint64_t sdma_address(const uint32_t *low)
{
    return low[0] | (uint64_t)low[1] << 32;
}

int rp_sdma_queue_init(const struct rp_cp *cp, struct rp_sdma_queue *queue, uint64_t ring_va,
                       uint32_t ring_bytes, uint64_t read_pointer_va, uint64_t write_pointer_va)
{
    if (ring_bytes < 1024 || (ring_bytes & (ring_bytes - 1)) || ring_va % 256 ||
        read_pointer_va % sizeof(uint64_t) || write_pointer_va % sizeof(uint64_t))
        return -EINVAL;
    const struct rp_exec_host *host = cp->host;
    queue->ring = host->translate(host->ctx, ring_va, ring_bytes, 1);
    queue->read_pointer = host->translate(host->ctx, read_pointer_va, sizeof(uint64_t), 1);
    queue->write_pointer = host->translate(host->ctx, write_pointer_va, sizeof(uint64_t), 1);
    if (!queue->ring || !queue->read_pointer || !queue->write_pointer)
        return -EFAULT;
    queue->cp = cp;
    queue->ring_va = ring_va;
    queue->ring_bytes = ring_bytes;
    queue->read_bytes = __atomic_load_n(queue->read_pointer, __ATOMIC_ACQUIRE);
    queue->batch_end_bytes = queue->read_bytes;
    if (cp->causal)
        rp_happens_before_add(cp->causal, &queue->line, queue->write_pointer, queue->read_bytes);
    return 0;
}

/**
 * Reports a fault and stops the queue. @p fmt completes "rocm-perf-device: SDMA queue 1, byte
 * 0x40: ".
 */
static enum rp_sdma_result sdma_fault(struct rp_sdma_turn *turn, const char *fmt, ...)
{
    char why[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    rp_fault_sdma(turn->cp, turn->queue, why);
    turn->queue->faulted = true;
    return RP_SDMA_FAULT;
}

/**
 * Returns the host pointer to @p bytes at @p va for a packet of kind @p what, or NULL after
 * sdma_fault().
 */
static void *sdma_at(struct rp_sdma_turn *turn, const char *what, uint64_t va, uint64_t bytes,
                     bool write)
{
    const struct rp_exec_host *host = turn->cp->host;
    if (va % (bytes < 8 ? bytes : 8)) {
        sdma_fault(turn, "%s at unaligned address 0x%llx", what, (unsigned long long)va);
        return NULL;
    }
    void *at = host->translate(host->ctx, va, bytes, write);
    if (!at) {
        turn->queue->fault_va = va;
        turn->queue->fault_read_only = write;
        sdma_fault(turn, "%s at unmapped%s address 0x%llx", what, write ? " or read-only" : "",
                   (unsigned long long)va);
    }
    return at;
}

/* ---- packets that move no data ------------------------------------------------------------ */

static enum rp_sdma_result nop(struct rp_sdma_turn *turn)
{
    (void)turn;
    /* Cache maintenance has no effect either, because there is one coherent memory. */
    return RP_SDMA_DONE;
}

static enum rp_sdma_result fence(struct rp_sdma_turn *turn)
{
    uint64_t va = sdma_address(turn->dw + 1);
    uint32_t *at = sdma_at(turn, "fence", va, sizeof *at, true);
    if (!at)
        return RP_SDMA_FAULT;
    rp_signal_store_begin(turn->cp);
    __atomic_store_n(at, turn->dw[3], __ATOMIC_RELEASE);
    rp_signal_store_end(turn->cp, va, at, turn->ticks);
    rp_host_wake();
    return RP_SDMA_DONE;
}

static enum rp_sdma_result trap(struct rp_sdma_turn *turn)
{
    rp_events_change(turn->cp->events, turn->dw[1] & 0xfffffff, RP_EVENT_SET);
    return RP_SDMA_DONE;
}

/** Evaluates the 3-bit function of a poll. */
static bool holds(unsigned function, uint32_t value, uint32_t reference)
{
    switch (function) {
    case 1:
        return value < reference;
    case 2:
        return value <= reference;
    case 3:
        return value == reference;
    case 4:
        return value != reference;
    case 5:
        return value >= reference;
    case 6:
        return value > reference;
    default:
        return true;
    }
}

static enum rp_sdma_result poll_regmem(struct rp_sdma_turn *turn)
{
    const uint32_t *dw = turn->dw;
    unsigned function = dw[0] >> 28 & 7;
    bool memory = dw[0] >> 31;
    /* Function 0 always holds; the runtime also flushes the host data path with it. */
    if (function == 0)
        return RP_SDMA_DONE;
    if (!memory || function == 7)
        return sdma_fault(turn, "poll of a register is not supported");
    if ((dw[5] >> 16 & 0xfff) != 0xfff)
        return sdma_fault(turn, "poll that gives up is not supported");
    uint64_t va = sdma_address(dw + 1);
    const uint32_t *at = sdma_at(turn, "poll", va, sizeof *at, false);
    if (!at)
        return RP_SDMA_FAULT;
    if (!holds(function, __atomic_load_n(at, __ATOMIC_ACQUIRE) & dw[4], dw[3]))
        return RP_SDMA_WAIT;
    uint64_t end = rp_signal_end_ticks(turn->cp, va & ~7ull);
    if (end > turn->ticks)
        turn->ticks = end;
    return RP_SDMA_DONE;
}

static enum rp_sdma_result timestamp(struct rp_sdma_turn *turn)
{
    uint64_t *at = sdma_at(turn, "timestamp", sdma_address(turn->dw + 1), sizeof *at, true);
    if (!at)
        return RP_SDMA_FAULT;
    __atomic_store_n(at, turn->ticks, __ATOMIC_RELEASE);
    return RP_SDMA_DONE;
}

static enum rp_sdma_result write_linear(struct rp_sdma_turn *turn)
{
    struct rp_sdma_queue *queue = turn->queue;
    uint64_t count = (turn->dw[3] & 0xfffff) + 1ull;
    uint32_t *at = sdma_at(turn, "write", sdma_address(turn->dw + 1), 4, true);
    const struct rp_exec_host *host = turn->cp->host;
    if (at)
        at = host->translate(host->ctx, sdma_address(turn->dw + 1), count * 4, 1);
    if (!at)
        return queue->faulted ? RP_SDMA_FAULT : sdma_fault(turn, "write beyond mapped memory");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t offset = (queue->read_bytes + (4 + i) * 4) & (queue->ring_bytes - 1);
        __atomic_store_n(&at[i], *(const uint32_t *)(queue->ring + offset), __ATOMIC_RELAXED);
    }
    return RP_SDMA_DONE;
}

/* ---- atomics ------------------------------------------------------------------------------ */

/* The operation is a TC_OP (public gfx9 register headers): the 32-bit ones begin at 0, their
 * 64-bit counterparts 0x20 later, both again 0x40 later without a returned value. */
enum {
    TC_SWAP = 0x07,
    TC_CMPSWAP = 0x08,
    TC_ADD = 0x0f,
    TC_SUB,
    TC_SMIN,
    TC_UMIN,
    TC_SMAX,
    TC_UMAX,
    TC_AND,
    TC_OR,
    TC_XOR,
    TC_INC,
    TC_DEC,
};

struct operands {
    uint64_t source, compare;
    bool wide;
};

static int64_t as_signed(uint64_t value, bool wide)
{
    return wide ? (int64_t)value : (int32_t)(uint32_t)value;
}

/** Returns the new value. *ret_known is false for any other operation. */
static uint64_t combine(unsigned operation, uint64_t old, const struct operands *o, bool *ret_known)
{
    bool less = as_signed(o->source, o->wide) < as_signed(old, o->wide);
    *ret_known = true;
    switch (operation) {
    case TC_SWAP:
        return o->source;
    case TC_CMPSWAP:
        return old == o->compare ? o->source : old;
    case TC_ADD:
        return old + o->source;
    case TC_SUB:
        return old - o->source;
    case TC_SMIN:
        return less ? o->source : old;
    case TC_SMAX:
        return less ? old : o->source;
    case TC_UMIN:
        return o->source < old ? o->source : old;
    case TC_UMAX:
        return o->source < old ? old : o->source;
    case TC_AND:
        return old & o->source;
    case TC_OR:
        return old | o->source;
    case TC_XOR:
        return old ^ o->source;
    case TC_INC:
        return old >= o->source ? 0 : old + 1;
    case TC_DEC:
        return old == 0 || old > o->source ? o->source : old - 1;
    default:
        *ret_known = false;
        return old;
    }
}

/** Applies the operation. @return false for an unknown one */
static bool apply(unsigned operation, void *at, const struct operands *o)
{
    bool known;
    if (o->wide) {
        uint64_t old = __atomic_load_n((uint64_t *)at, __ATOMIC_RELAXED), fresh;
        do {
            fresh = combine(operation, old, o, &known);
        } while (known && !__atomic_compare_exchange_n((uint64_t *)at, &old, fresh, 0,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    } else {
        uint32_t old = __atomic_load_n((uint32_t *)at, __ATOMIC_RELAXED), fresh;
        do {
            fresh = (uint32_t)combine(operation, old, o, &known);
        } while (known && !__atomic_compare_exchange_n((uint32_t *)at, &old, fresh, 0,
                                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    }
    return known;
}

static enum rp_sdma_result atomic(struct rp_sdma_turn *turn)
{
    enum { LOOP = 1 << 16 };
    const uint32_t *dw = turn->dw;
    unsigned operation = dw[0] >> 25 & 0x3f;
    struct operands operands = {
        .source = sdma_address(dw + 3),
        .compare = sdma_address(dw + 5),
        .wide = operation & 0x20,
    };
    if (!operands.wide) {
        operands.source &= UINT32_MAX;
        operands.compare &= UINT32_MAX;
    }
    if (dw[0] & LOOP)
        return sdma_fault(turn, "atomic that loops until it matches is not supported");
    uint64_t va = sdma_address(dw + 1);
    void *at = sdma_at(turn, "atomic", va, operands.wide ? 8 : 4, true);
    if (!at)
        return RP_SDMA_FAULT;
    rp_signal_store_begin(turn->cp);
    bool known = apply(operation & 0x1f, at, &operands);
    rp_signal_store_end(turn->cp, va, at, turn->ticks);
    if (!known)
        return sdma_fault(turn, "atomic operation 0x%02x is not supported", dw[0] >> 25);
    rp_host_wake();
    return RP_SDMA_DONE;
}

/* ---- the loop's body ---------------------------------------------------------------------- */

static enum rp_sdma_result sdma_fill(struct rp_sdma_turn *turn);
static enum rp_sdma_result sdma_copy_linear(struct rp_sdma_turn *turn);
static enum rp_sdma_result sdma_copy_rect(struct rp_sdma_turn *turn);

static const struct packet_kind {
    uint8_t opcode, sub;
    uint8_t dwords; /**< without what follows a WRITE or NOP header */
    bool moves;     /**< data: the next of its kind hides its latency behind this one */
    enum rp_sdma_result (*run)(struct rp_sdma_turn *turn);
} kinds[] = {
    {RP_SDMA_NOP, 0, 1, false, nop},
    {RP_SDMA_COPY, RP_SDMA_COPY_LINEAR, 7, true, sdma_copy_linear},
    {RP_SDMA_COPY, RP_SDMA_COPY_RECT, 13, true, sdma_copy_rect},
    {RP_SDMA_WRITE, 0, 4, false, write_linear},
    {RP_SDMA_FENCE, 0, 4, false, fence},
    {RP_SDMA_TRAP, 0, 2, false, trap},
    {RP_SDMA_POLL_REGMEM, 0, 6, false, poll_regmem},
    {RP_SDMA_ATOMIC, 0, 8, false, atomic},
    {RP_SDMA_CONST_FILL, 0, 5, true, sdma_fill},
    {RP_SDMA_TIMESTAMP, RP_SDMA_TIMESTAMP_GLOBAL, 3, false, timestamp},
    {RP_SDMA_GCR, RP_SDMA_GCR_USER, 5, false, nop},
};

static const struct packet_kind *find_kind(uint32_t header)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].opcode == (header & 0xff) && kinds[i].sub == (header >> 8 & 0xff))
            return &kinds[i];
    return NULL;
}

static uint32_t dword(const struct rp_sdma_queue *queue, uint64_t index)
{
    uint64_t offset = (queue->read_bytes + index * 4) & (queue->ring_bytes - 1);
    return *(const uint32_t *)(queue->ring + offset);
}

/**
 * Returns how long the packet is; @p available dwords of it may be read. 0: more are needed to
 * tell
 */
static uint64_t packet_dwords(const struct rp_sdma_queue *queue, const struct packet_kind *kind,
                              uint64_t available)
{
    uint32_t header = dword(queue, 0);
    switch (kind->opcode) {
    case RP_SDMA_NOP:
        return 1 + (header >> 16 & 0x3fff);
    case RP_SDMA_COPY:
        return kind->dwords + (kind->sub == RP_SDMA_COPY_LINEAR && header >> 27 & 1 ? 2u : 0u);
    case RP_SDMA_WRITE:
        return available < 4 ? 0 : 4 + (dword(queue, 3) & 0xfffff) + 1;
    default:
        return kind->dwords;
    }
}

static void retire(struct rp_sdma_turn *turn, uint64_t dwords, bool moves)
{
    struct rp_sdma_queue *queue = turn->queue;
    queue->end_ticks = turn->ticks;
    queue->done = 0;
    queue->streaming = moves;
    rp_clock_advance(turn->cp->clock, turn->ticks);
    queue->read_bytes += dwords * 4;
    __atomic_store_n(queue->read_pointer, queue->read_bytes, __ATOMIC_RELEASE);
}

/** Sets when the packet at the read pointer was submitted. @return false while it is held */
static bool submission_known(const struct rp_cp *cp, struct rp_sdma_queue *queue, uint64_t written)
{
    if (cp->causal && rp_happens_before_is_active(cp->causal))
        return rp_happens_before_submitted(cp->causal, &queue->line, queue->read_bytes,
                                           &queue->seen_ticks);
    if (queue->read_bytes >= queue->batch_end_bytes) {
        queue->batch_end_bytes = written;
        queue->seen_ticks = rp_clock_now(cp->clock);
    }
    return true;
}

/** Works on the packet at the read pointer. */
static enum rp_cp_progress run_packet(struct rp_sdma_turn *turn)
{
    struct rp_sdma_queue *queue = turn->queue;
    uint64_t written = __atomic_load_n(queue->write_pointer, __ATOMIC_ACQUIRE);
    uint64_t available = (written - queue->read_bytes) / 4;
    if (available == 0)
        return RP_CP_IDLE;
    if (!submission_known(turn->cp, queue, written))
        return RP_CP_WAITING;
    const struct packet_kind *kind = find_kind(dword(queue, 0));
    if (!kind) {
        sdma_fault(turn, "packet 0x%08x (opcode %u, sub-opcode %u) is not supported",
                   dword(queue, 0), dword(queue, 0) & 0xff, dword(queue, 0) >> 8 & 0xff);
        return RP_CP_PROGRESS;
    }
    uint64_t dwords = packet_dwords(queue, kind, available);
    if (dwords * 4 > queue->ring_bytes) {
        sdma_fault(turn, "packet of %llu dwords is longer than its ring",
                   (unsigned long long)dwords);
        return RP_CP_PROGRESS;
    }
    if (dwords == 0 || dwords > available)
        return RP_CP_IDLE; /* The write pointer is in the middle of the packet. */
    uint32_t packet[RP_SDMA_PACKET_DWORDS];
    for (uint64_t i = 0; i < dwords && i < RP_SDMA_PACKET_DWORDS; i++)
        packet[i] = dword(queue, i);
    turn->dw = packet;
    turn->ticks = queue->end_ticks > queue->seen_ticks ? queue->end_ticks : queue->seen_ticks;
    enum rp_sdma_result result = kind->run(turn);
    if (result == RP_SDMA_WAIT)
        return RP_CP_WAITING;
    if (result == RP_SDMA_DONE)
        retire(turn, dwords, kind->moves);
    return RP_CP_PROGRESS;
}

enum rp_cp_progress rp_sdma_step(const struct rp_cp *cp, struct rp_sdma_queue *queue,
                                 uint64_t budget_bytes)
{
    enum { PACKETS_PER_TURN = 256 };
    struct rp_sdma_turn turn = {.cp = cp, .queue = queue, .budget_bytes = budget_bytes};
    enum rp_cp_progress first = RP_CP_IDLE;
    for (int i = 0; i < PACKETS_PER_TURN && turn.budget_bytes > 0; i++) {
        if (rp_sdma_queue_idle(queue))
            break;
        rp_exec_dma_begin();
        enum rp_cp_progress step = run_packet(&turn);
        rp_exec_dma_end();
        if (step == RP_CP_PROGRESS)
            first = RP_CP_PROGRESS;
        else if (first == RP_CP_IDLE)
            first = step;
        if (step != RP_CP_PROGRESS)
            break;
    }
    return first;
}

/** This is a range of GPU addresses that lies in one piece in this process. */
struct window {
    uint64_t begin, end;
    int64_t delta;
};

/**
 * Returns the host pointer at @p va, with *bytes cut to what lies in one piece. NULL: after a
 * fault
 */
static uint8_t *reach(struct rp_sdma_turn *turn, struct window *w, uint64_t va, bool write,
                      uint64_t *bytes)
{
    if (va < w->begin || va >= w->end) {
        const struct rp_exec_host *host = turn->cp->host;
        if (!host->range(host->ctx, va, write, &w->begin, &w->end, &w->delta)) {
            w->begin = w->end = 0;
            turn->queue->fault_va = va;
            turn->queue->fault_read_only = write;
            sdma_fault(turn,
                       write ? "copy or fill writes unmapped or read-only address 0x%llx"
                             : "copy reads unmapped address 0x%llx",
                       (unsigned long long)va);
            return NULL;
        }
    }
    if (*bytes > w->end - va)
        *bytes = w->end - va;
    return (uint8_t *)(uintptr_t)(va + (uint64_t)w->delta);
}

struct move {
    void *to;
    const void *from;
    uint64_t bytes;
};

static void move_body(void *ctx)
{
    const struct move *move = ctx;
    memmove(move->to, move->from, move->bytes);
}

/** Moves bytes where the program may take memory away meanwhile. @return false after a fault */
static bool move(struct rp_sdma_turn *turn, void *to, const void *from, uint64_t bytes)
{
    struct move move = {to, from, bytes};
    const struct rp_exec_host *host = turn->cp->host;
    struct rp_trap trap;
    if (!host->borrows || !__atomic_load_n(host->borrows, __ATOMIC_RELAXED)) {
        move_body(&move);
        return true;
    }
    if (rp_trap_run(move_body, &move, &trap))
        return true;
    /* The memory is the program's and has the same address on both sides. */
    turn->queue->fault_va = trap.address;
    sdma_fault(turn, "copy: the program's memory at 0x%llx %s", (unsigned long long)trap.address,
               rp_trap_text(trap.kind));
    return false;
}

static enum rp_memory_location place_of(const struct rp_cp *cp, uint64_t va)
{
    return cp->host->place ? cp->host->place(cp->host->ctx, va) : RP_PLACE_LOCAL;
}

/** The packet's data are where they belong: time passes. */
static enum rp_sdma_result moved(struct rp_sdma_turn *turn, uint64_t bytes, uint64_t source_va,
                                 uint64_t destination_va, bool reads)
{
    const struct rp_cp *cp = turn->cp;
    enum rp_memory_location source = reads ? place_of(cp, source_va) : RP_PLACE_LOCAL;
    if (rp_timing_mode() == RP_TIMING_OFF) {
        turn->ticks++;
        return RP_SDMA_DONE;
    }
    turn->ticks += rp_timing_copy_ticks(cp->arch, bytes, source, place_of(cp, destination_va),
                                        reads, turn->queue->streaming);
    return RP_SDMA_DONE;
}

/* ---- linear ------------------------------------------------------------------------------- */

struct linear {
    uint64_t source, destination, bytes;
};

/** Copies from queue->done - @p base on. @return DONE without any time passing */
static enum rp_sdma_result copy_some(struct rp_sdma_turn *turn, const struct linear *copy,
                                     uint64_t base)
{
    struct window from = {0}, to = {0};
    uint64_t done = turn->queue->done - base;
    while (done < copy->bytes) {
        uint64_t bytes = copy->bytes - done;
        if (turn->budget_bytes == 0)
            return RP_SDMA_MORE;
        if (bytes > turn->budget_bytes)
            bytes = turn->budget_bytes;
        const uint8_t *source = reach(turn, &from, copy->source + done, false, &bytes);
        uint8_t *destination =
            source ? reach(turn, &to, copy->destination + done, true, &bytes) : NULL;
        if (!destination || !move(turn, destination, source, bytes))
            return RP_SDMA_FAULT;
        done += bytes;
        turn->queue->done = base + done;
        turn->budget_bytes -= bytes;
    }
    return RP_SDMA_DONE;
}

/** These handlers move data; queue->done says how far they are. */
static enum rp_sdma_result sdma_copy_linear(struct rp_sdma_turn *turn)
{
    enum { BROADCAST = 1 << 27 };
    const uint32_t *dw = turn->dw;
    struct linear copy = {
        .source = sdma_address(dw + 3),
        .destination = sdma_address(dw + 5),
        /* gfx90a and later have 30 bits; older GPUs have 22, and the rest is zero there. */
        .bytes = (dw[1] & 0x3fffffff) + 1ull,
    };
    if (dw[2] & (3u << 16 | 3u << 24))
        return sdma_fault(turn, "copy with byte swapping is not supported");
    enum rp_sdma_result rc =
        turn->queue->done < copy.bytes ? copy_some(turn, &copy, 0) : RP_SDMA_DONE;
    if (rc != RP_SDMA_DONE)
        return rc;
    uint64_t source = copy.source, first = copy.destination, all = copy.bytes;
    if (dw[0] & BROADCAST) {
        copy.destination = sdma_address(dw + 7);
        rc = copy_some(turn, &copy, copy.bytes);
        if (rc != RP_SDMA_DONE)
            return rc;
        all *= 2;
    }
    return moved(turn, all, source, first, true);
}

/* ---- rectangles --------------------------------------------------------------------------- */

/** This is one side of a sub-window copy, in bytes. */
struct side {
    uint64_t origin, pitch, slice;
};

/**
 * Reads one side of a copy. @p dw are its five dwords: address, x and y, z and pitch, slice pitch.
 */
static struct side side_of(const uint32_t *dw, unsigned element_log2)
{
    uint64_t x = dw[2] & 0x3fff, y = dw[2] >> 16 & 0x3fff, z = dw[3] & 0x7ff;
    struct side side = {
        .pitch = ((dw[3] >> 13) + 1ull) << element_log2,
        .slice = ((dw[4] & 0xfffffff) + 1ull) << element_log2,
    };
    side.origin = sdma_address(dw) + (x << element_log2) + y * side.pitch + z * side.slice;
    return side;
}

static enum rp_sdma_result copy_row(struct rp_sdma_turn *turn, struct window *from,
                                    struct window *to, uint64_t source, uint64_t destination,
                                    uint64_t row_bytes)
{
    for (uint64_t done = 0; done < row_bytes;) {
        uint64_t bytes = row_bytes - done;
        const uint8_t *in = reach(turn, from, source + done, false, &bytes);
        uint8_t *out = in ? reach(turn, to, destination + done, true, &bytes) : NULL;
        if (!out || !move(turn, out, in, bytes))
            return RP_SDMA_FAULT;
        done += bytes;
    }
    return RP_SDMA_DONE;
}

static enum rp_sdma_result sdma_copy_rect(struct rp_sdma_turn *turn)
{
    const uint32_t *dw = turn->dw;
    unsigned element_log2 = dw[0] >> 29;
    if (element_log2 > 4)
        return sdma_fault(turn, "rectangle of elements of 2^%u bytes", element_log2);
    if (dw[12] & (3u << 16 | 3u << 24))
        return sdma_fault(turn, "copy with byte swapping is not supported");
    struct side source = side_of(dw + 1, element_log2), destination = side_of(dw + 6, element_log2);
    uint64_t row_bytes = ((dw[11] & 0x3fff) + 1ull) << element_log2;
    uint64_t rows = (dw[11] >> 16 & 0x3fff) + 1ull, slices = (dw[12] & 0x7ff) + 1ull;
    struct window from = {0}, to = {0};
    for (uint64_t *row = &turn->queue->done; *row < rows * slices; ++*row) {
        if (turn->budget_bytes == 0)
            return RP_SDMA_MORE;
        uint64_t y = *row % rows, z = *row / rows;
        enum rp_sdma_result rc =
            copy_row(turn, &from, &to, source.origin + y * source.pitch + z * source.slice,
                     destination.origin + y * destination.pitch + z * destination.slice, row_bytes);
        if (rc != RP_SDMA_DONE)
            return rc;
        turn->budget_bytes -= row_bytes < turn->budget_bytes ? row_bytes : turn->budget_bytes;
    }
    return moved(turn, row_bytes * rows * slices, source.origin, destination.origin, true);
}

/* ---- fills -------------------------------------------------------------------------------- */

static enum rp_sdma_result sdma_fill(struct rp_sdma_turn *turn)
{
    enum { CHUNK = 4096 };
    const uint32_t *dw = turn->dw;
    unsigned size_log2 = dw[0] >> 30;
    if (size_log2 > 2)
        return sdma_fault(turn, "fill of elements of 2^%u bytes", size_log2);
    uint64_t va = sdma_address(dw + 1);
    /* The count is one byte, or one element, less than is filled: both are in use. */
    uint64_t bytes = ((dw[4] & 0x3fffffff) >> size_log2 << size_log2) + (1ull << size_log2);
    uint8_t pattern[CHUNK + 4];
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)(dw[3] >> (i & ((1u << size_log2) - 1)) * 8);
    struct window to = {0};
    while (turn->queue->done < bytes) {
        uint64_t piece = bytes - turn->queue->done;
        if (turn->budget_bytes == 0)
            return RP_SDMA_MORE;
        uint8_t *out = reach(turn, &to, va + turn->queue->done, true, &piece);
        if (!out)
            return RP_SDMA_FAULT;
        if (piece > CHUNK)
            piece = CHUNK;
        if (!move(turn, out, pattern + turn->queue->done % 4, piece))
            return RP_SDMA_FAULT;
        turn->queue->done += piece;
        turn->budget_bytes -= piece < turn->budget_bytes ? piece : turn->budget_bytes;
    }
    return moved(turn, bytes, 0, va, false);
}
