/**
 * @file fuzz_compare.c
 * @brief Any bytes as a gate, or as a result that is compared with itself: refused with a reason,
 *        or of a verdict that is not faster or slower than itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void gate(const char *text)
{
    struct rp_versus_condition first, again;
    struct rp_err err = RP_ERR_INIT;

    if (rp_versus_condition_parse(text, &first, &err) < 0) {
        must(err.code == RP_USAGE && strstr(err.text, "--gate"));
        return;
    }
    must(rp_versus_condition_parse(first.text, &again, &err) == 0);
    must(again.runtime == first.runtime && again.metric == first.metric &&
         again.relation == first.relation && again.bound == first.bound &&
         again.of_before == first.of_before && !again.kernel == !first.kernel);
    must(!first.runtime || !first.of_before);
    rp_versus_condition_free(&first);
    rp_versus_condition_free(&again);
}

static void with_itself(const struct rp_versus_side *side)
{
    const struct rp_versus_rule rule = {.margin = 0.01, .alpha = 0.01};
    struct rp_versus_found found;
    struct rp_err err = RP_ERR_INIT;

    if (side->told.is ? rp_versus_find_reported(side, &found, &err) < 0
                      : rp_versus(side, side, &rule, &found, &err) < 0) {
        must(err.code == RP_BAD_INPUT);
        return;
    }
    must(side->told.is || found.whole.verdict >= RP_COMPARE_EQUAL);
    must(found.kernel_count == side->kernel_count || side->told.is);
    for (size_t i = 0; i < found.kernel_count; i++)
        must(found.kernels[i].time.verdict >= RP_COMPARE_EQUAL);
    rp_versus_found_free(&found);
}

static void result(const char *text)
{
    struct rp_versus_side side;
    struct rp_err err = RP_ERR_INIT;

    if (rp_versus_side_parse(text, "file", &side, &err) < 0) {
        must(err.code == RP_BAD_INPUT && strstr(err.text, "file"));
        return;
    }
    must(rp_versus_side_add(&side, text, "file", &err) == 0 || err.code == RP_BAD_INPUT);
    with_itself(&side);
    rp_versus_side_free(&side);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_autobuf text = {0};

    if (size == 0)
        return 0;
    rp_buf_add(&text, data + 1, size - 1);
    if (data[0] == 'G')
        gate(rp_buf_text(&text));
    else
        result(rp_buf_text(&text));
    return 0;
}
