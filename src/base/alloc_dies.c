/* Ends a program whose memory has ended. Only RP_MEMORY_DIES links this file; alloc.h says where.
 */
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

void rp_die_of_memory(void) __attribute__((noreturn, visibility("hidden")));

/* Nothing here takes memory or a lock, and no handler runs: another thread may hold what it wants,
 * and a result that was begun must not be written out as if it were whole. */
void rp_die_of_memory(void)
{
    static const char text[] = "rocm-perf: out of memory\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);

    (void)written;
    _exit(RP_ENVIRONMENT);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);

    if (!memory)
        rp_die_of_memory();
    return memory;
}

/* This runs before main, because jansson must free what it allocated by the same functions. */
__attribute__((constructor)) static void let_jansson_die(void)
{
    json_set_alloc_funcs(allocate, free);
}
