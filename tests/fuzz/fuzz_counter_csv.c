/**
 * @file fuzz_counter_csv.c
 * @brief Any bytes as a counter file: refused with a reason, or read and merged with themselves.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/counter_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_counters *set = NULL, *again = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t count;

    if (rp_counters_parse("fuzz", (const char *)data, size, &set, &err) < 0) {
        if (err.code != RP_BAD_INPUT || !err.text[0])
            __builtin_trap();
        return 0;
    }
    count = set->dispatch_count;
    for (size_t i = 0; i < count; i++)
        if (set->dispatches[i].kernel >= set->kernel_count ||
            set->dispatches[i].device >= set->device_count)
            __builtin_trap();
    if (rp_counters_parse("fuzz", (const char *)data, size, &again, &err) < 0 ||
        (rp_counters_merge(set, again, &err) == 0 && set->dispatch_count > 2 * count))
        __builtin_trap();
    rp_counters_free(again);
    rp_counters_free(set);
    return 0;
}
