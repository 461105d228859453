/**
 * @file sdma_copy.c
 * @brief The DMA engine's packets that move data: linear and rectangular copies, fills.
 */
#include <string.h>

#include "arch/arch.h"
#include "device/exec/guard.h"
#include "device/timing/copy.h"
#include "device/timing/mode.h"
#include "sdma_packet.h"

/** A range of GPU addresses that lies in one piece in this process. */
struct window {
    uint64_t begin, end;
    int64_t delta;
};

/** Host pointer at @p va with *bytes cut to what lies in one piece; NULL after a fault. */
static uint8_t *reach(struct rp_sdma_turn *turn, struct window *w, uint64_t va, bool write,
                      uint64_t *bytes)
{
    if (va < w->begin || va >= w->end) {
        const struct rp_exec_host *host = turn->cp->host;
        if (!host->range(host->ctx, va, write, &w->begin, &w->end, &w->delta)) {
            w->begin = w->end = 0;
            turn->queue->fault_va = va;
            turn->queue->fault_read_only = write;
            rp_sdma_fault(turn,
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

/** memmove, where the program may take memory away meanwhile. False after a fault. */
static bool move(struct rp_sdma_turn *turn, void *to, const void *from, uint64_t bytes)
{
    struct move move = {to, from, bytes};
    const struct rp_exec_host *host = turn->cp->host;
    struct rp_trap trap;
    if (!host->borrows || !__atomic_load_n(host->borrows, __ATOMIC_RELAXED)) {
        move_body(&move);
        return true;
    }
    if (rp_guarded(move_body, &move, &trap))
        return true;
    turn->queue->fault_va = trap.address; /* the program's: the same address on both sides */
    rp_sdma_fault(turn, "copy: the program's memory at 0x%llx %s", (unsigned long long)trap.address,
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

/** Copies from queue->done - @p base on. Returns DONE without any time passing. */
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

enum rp_sdma_result rp_sdma_copy_linear(struct rp_sdma_turn *turn)
{
    enum { BROADCAST = 1 << 27 };
    const uint32_t *dw = turn->dw;
    struct linear copy = {
        .source = rp_sdma_address(dw + 3),
        .destination = rp_sdma_address(dw + 5),
        .bytes = (dw[1] & 0x3fffffff) + 1ull, /* 22 bits before gfx90a, the rest zero there */
    };
    if (dw[2] & (3u << 16 | 3u << 24))
        return rp_sdma_fault(turn, "copy with byte swapping is not supported");
    enum rp_sdma_result rc =
        turn->queue->done < copy.bytes ? copy_some(turn, &copy, 0) : RP_SDMA_DONE;
    if (rc != RP_SDMA_DONE)
        return rc;
    uint64_t source = copy.source, first = copy.destination, all = copy.bytes;
    if (dw[0] & BROADCAST) {
        copy.destination = rp_sdma_address(dw + 7);
        rc = copy_some(turn, &copy, copy.bytes);
        if (rc != RP_SDMA_DONE)
            return rc;
        all *= 2;
    }
    return moved(turn, all, source, first, true);
}

/* ---- rectangles --------------------------------------------------------------------------- */

/** One side of a sub-window copy, in bytes. */
struct side {
    uint64_t origin, pitch, slice;
};

/** @p dw are the five dwords of one side: address, x and y, z and pitch, slice pitch. */
static struct side side_of(const uint32_t *dw, unsigned element_log2)
{
    uint64_t x = dw[2] & 0x3fff, y = dw[2] >> 16 & 0x3fff, z = dw[3] & 0x7ff;
    struct side side = {
        .pitch = ((dw[3] >> 13) + 1ull) << element_log2,
        .slice = ((dw[4] & 0xfffffff) + 1ull) << element_log2,
    };
    side.origin = rp_sdma_address(dw) + (x << element_log2) + y * side.pitch + z * side.slice;
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

enum rp_sdma_result rp_sdma_copy_rect(struct rp_sdma_turn *turn)
{
    const uint32_t *dw = turn->dw;
    unsigned element_log2 = dw[0] >> 29;
    if (element_log2 > 4)
        return rp_sdma_fault(turn, "rectangle of elements of 2^%u bytes", element_log2);
    if (dw[12] & (3u << 16 | 3u << 24))
        return rp_sdma_fault(turn, "copy with byte swapping is not supported");
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

enum rp_sdma_result rp_sdma_fill(struct rp_sdma_turn *turn)
{
    enum { CHUNK = 4096 };
    const uint32_t *dw = turn->dw;
    unsigned size_log2 = dw[0] >> 30;
    if (size_log2 > 2)
        return rp_sdma_fault(turn, "fill of elements of 2^%u bytes", size_log2);
    uint64_t va = rp_sdma_address(dw + 1);
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
