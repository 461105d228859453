/**
 * @file fuzz_pm4.c
 * @brief Any dwords as a PM4 command buffer: walked to an end, a wait or a refusal that says why.
 *
 * The input is the program's memory, so buffers may call themselves and change their own commands.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/driver/gpu_registers.h"
#include "device/driver/thread_trace_registers.h"
#include "device/exec/dispatch.h"
#include "device/isa/instruction.h"
#include "device/timing/dispatch_timing.h"

/* No fuzz input waits for a buffer of a second. */
#define MOST_PM4_DWORDS (1 << 16)

#include "device/driver/pm4.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void rp_exec_invalidate_code(uint64_t gpu_va, uint64_t bytes)
{
    if (gpu_va + bytes < gpu_va)
        __builtin_trap();
}

/* Nothing is dispatched. */
int rp_dispatch_rows(struct rp_dispatch *d, const struct rp_arch *arch,
                     const struct rp_threads_request *wish, const struct rp_trace_rows **ret)
{
    (void)d, (void)arch, (void)wish, (void)ret;
    return -1;
}

const struct rp_op_row rp_op_rows[RP_OP_ALL];

struct memory {
    uint8_t *bytes;
    size_t count;
};

enum { MEMORY_VA = 0x1000 };

static void *translate(void *ctx, uint64_t gpu_va, uint64_t bytes, int write)
{
    const struct memory *memory = ctx;

    (void)write;
    if (gpu_va < MEMORY_VA || bytes > memory->count || gpu_va - MEMORY_VA > memory->count - bytes)
        return NULL;
    return memory->bytes + (gpu_va - MEMORY_VA);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory memory = {.bytes = aligned_alloc(64, size / 64 * 64 + 64), .count = size / 4 * 4};
    const struct rp_exec_host host = {.ctx = &memory, .translate = translate};
    const uint32_t jump[4] = {0, MEMORY_VA, 0, (uint32_t)memory.count / 4};
    struct rp_registers registers;
    struct rp_thread_trace trace;
    struct rp_threads_request wish;
    struct rp_pm4_walk walk;

    if (!memory.bytes)
        return 0;
    memcpy(memory.bytes, data, memory.count);
    rp_registers_init(&registers, 8);
    rp_thread_trace_init(&trace, rp_arch_find("gfx942"), &host, &registers, -1);
    rp_pm4_begin(&walk, &host, &registers, jump, 1);
    for (int turn = 0; turn < 8; turn++) {
        const enum rp_pm4_state state = rp_pm4_walk(&walk);
        if (state == RP_PM4_REFUSED && !walk.why[0])
            __builtin_trap();
        if (state != RP_PM4_WAITING && state != RP_PM4_MORE)
            break;
    }
    if (rp_thread_trace_wants(&trace, &wish))
        rp_thread_trace_dispatch(&trace, trace.arch, NULL, &wish, 1, MEMORY_VA, 2);
    rp_thread_trace_release(&trace);
    rp_registers_release(&registers);
    free(memory.bytes);
    return 0;
}
