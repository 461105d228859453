/**
 * @file occupy.c
 * @brief Preloaded: has a page at the address $OCCUPY before the program begins.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static void __attribute__((constructor)) occupy(void)
{
    const char *at = getenv("OCCUPY");

    if (at)
        mmap((void *)(uintptr_t)strtoull(at, NULL, 16), 4096, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
