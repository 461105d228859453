/**
 * @file alloc.h
 * @brief Allocates memory. What happens when memory ends is chosen at link time.
 *
 * Programs (rocm-perf, rocm-perf-replay, tests of rooms that only programs have) end with one
 * message and exit code 4: their code need not look at what these functions return. In
 * librocm-perf.so and in the injected libraries they return NULL, and whatever is linked into these
 * (base, arch, trace, analyze, report, library, run/result_folder.c, tracer, device) looks.
 *
 * A program is what links alloc_dies.c, which takes a linker option, RP_MEMORY_DIES of
 * CMakeLists.txt. There jansson allocates here, too.
 */
#ifndef RP_BASE_ALLOC_H
#define RP_BASE_ALLOC_H

#include <stddef.h>

/* Release with free(). A size of 0 gives memory, too: NULL means that memory ended. */

void *rp_alloc(size_t bytes) __attribute__((malloc, warn_unused_result));
/** The memory is zeroed. */
void *rp_alloc_zero(size_t count, size_t item_bytes) __attribute__((malloc, warn_unused_result));
/** Allocates one zeroed item, as rp_alloc_zero does. */
#define rp_new(type) ((type *)rp_alloc_zero(1, sizeof(type)))
void *rp_realloc(void *old, size_t bytes) __attribute__((warn_unused_result));
void *rp_realloc_array(void *old, size_t count, size_t item_bytes)
    __attribute__((warn_unused_result));
char *rp_strdup(const char *text) __attribute__((malloc, warn_unused_result));
/** Copies at most @p len bytes of the text and adds a terminator. */
char *rp_strndup(const char *text, size_t len) __attribute__((malloc, warn_unused_result));
void *rp_memdup(const void *bytes, size_t len) __attribute__((malloc, warn_unused_result));

/** The caller, or a library that it called, got no memory: this ends a program, and returns in a
 * library. */
void rp_memory_ended(void);
/** Calls rp_memory_ended where @p ptr is NULL. */
void *rp_not_null(void *ptr);

#endif
