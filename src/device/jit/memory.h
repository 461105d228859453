/**
 * @file memory_map.h
 * @brief Memory that holds machine code: written first, executable afterwards, never both.
 */
#ifndef RP_DEVICE_JIT_MEMORY_H
#define RP_DEVICE_JIT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/** A copy of @p code that can be executed; NULL when the system refuses or is out of memory. */
void *rp_jit_memory_new(const uint8_t *code, size_t bytes);

void rp_jit_memory_free(void *memory, size_t bytes);

#endif
