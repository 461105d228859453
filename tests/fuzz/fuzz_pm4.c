/**
 * @file fuzz_pm4.c
 * @brief Any dwords as a PM4 command buffer: walked to an end, a wait or a refusal that says why.
 *
 * The input is the program's memory, so buffers may call themselves and change their own commands.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/gpu_registers.h"
#include "device/exec/dispatch.h"

/* No fuzz input waits for a buffer of a second. */
#define MOST_PM4_DWORDS (1 << 16)

#include "device/driver/pm4.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void rp_exec_invalidate_code(uint64_t gpu_va, uint64_t bytes)
{
    if (gpu_va + bytes < gpu_va)
        __builtin_trap();
}

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
    struct rp_pm4_walk walk;

    if (!memory.bytes)
        return 0;
    memcpy(memory.bytes, data, memory.count);
    rp_registers_init(&registers, 8);
    rp_pm4_begin(&walk, &host, &registers, jump, 1);
    for (int turn = 0; turn < 2; turn++) {
        const enum rp_pm4_state state = rp_pm4_walk(&walk);
        if (state == RP_PM4_REFUSED && !walk.why[0])
            __builtin_trap();
        if (state != RP_PM4_WAITING)
            break;
    }
    rp_registers_release(&registers);
    free(memory.bytes);
    return 0;
}
