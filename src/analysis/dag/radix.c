#include "radix.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static void pass(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
    size_t place[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < count; i++)
        place[from[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = place[d];
        place[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

int rp_dag_radix_sort(uint64_t *keys, size_t count, struct rp_err *err)
{
    rp_autofree uint64_t *scratch = malloc((count + 1) * sizeof *scratch);
    uint64_t *from = keys, *to = scratch, all = 0;

    if (!scratch)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++)
        all |= keys[i];
    for (unsigned shift = 0; shift < 64 && all >> shift; shift += DIGIT_BITS) {
        uint64_t *sorted = to;
        pass(from, to, count, shift);
        to = from;
        from = sorted;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof *keys);
    return 0;
}
