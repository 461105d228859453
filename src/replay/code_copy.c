/**
 * @file code_copy.c
 * @brief The captured code object where the program had it: memory that no kernel runs from.
 *
 * The loader puts the code that runs elsewhere. What memory points to is here, variables above all.
 */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "replay/replay.h"

/* Variables are compared by their contents (variables.c). @param from  offset in the code object */
static void leave_out_variables(const struct rp_replay_kernel *k, uint64_t from, uint64_t bytes,
                                uint8_t *contents, const uint8_t *expected)
{
    for (size_t i = 0; i < k->segment_count; i++) {
        const struct rp_replay_span *s = &k->segments[i];
        const uint64_t low = s->from > from ? s->from : from;
        const uint64_t end = s->from + s->bytes;
        const uint64_t high = end < from + bytes ? end : from + bytes;

        if (low < high)
            memcpy(contents + (low - from), expected + (low - from), high - low);
    }
}

static int check_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    const struct rp_replay *r = data;
    uint8_t got[RP_PAGE_BYTES], before[RP_PAGE_BYTES];
    struct rp_replay_verdict v = {0};
    int rc;

    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, page, before, err);
    if (rc < 0)
        return rc;
    memcpy(got, contents, sizeof got);
    leave_out_variables(&r->original, page * RP_PAGE_BYTES, RP_PAGE_BYTES, got, before);
    rp_replay_note(&v, m->region.base + page * RP_PAGE_BYTES, got, before, RP_PAGE_BYTES);
    return v.different_bytes == 0
               ? 0
               : rp_fail(err, RP_VERDICT,
                         "a kernel under test writes into the captured code object, at 0x%" PRIx64
                         ": what it keeps there for its next run would make it seem faster or "
                         "right",
                         v.first_address);
}

int rp_replay_check_copy(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = rp_replay_kernel_code(r);

    return m ? rp_replay_look_at_region(r, m, check_page, r, err) : 0;
}
