/**
 * @file fuzz_recorded.c
 * @brief Any bytes as a recorded space of any format: refused with a reason, or runs that can be
 *        searched.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "tune/space.h"

#include "tune/recorded_space.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_recorded recorded;

    if (recorded_parse((const char *)data, size, &recorded, &err) < 0) {
        must(err.code == RP_BAD_INPUT && err.text[0]);
        return 0;
    }
    must(recorded.name && recorded.device && recorded.space->count > 0);
    for (size_t i = 0; i < recorded.space->count; i++) {
        const struct rp_recorded_run *run = &recorded.runs[i];

        must(run->ok == (run->runtime_ms > 0) && isfinite(run->runtime_ms));
        must(isfinite(run->median_ms) && isfinite(run->std_ms) && isfinite(run->compile_ms));
        must(rp_space_find(recorded.space, rp_space_row(recorded.space, i)) == (int64_t)i);
    }
    rp_recorded_free(&recorded);
    return 0;
}
