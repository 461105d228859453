/**
 * @file fuzz_space_file.c
 * @brief Any bytes as a search space: refused with a reason, or a space that keeps what it
 * promises.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tune/space.h"

#include "tune/space_file.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_space(const struct rp_space *space)
{
    must(space->count > 0 && space->parameter_count > 0);
    for (size_t i = 0; i < space->count && i < 200; i++) {
        char *key = rp_space_key(space, i);

        must(key && rp_space_find(space, rp_space_row(space, i)) == (int64_t)i);
        for (size_t p = 0; p < space->parameter_count; p++) {
            const struct rp_value *value = rp_space_value(space, i, p);
            rp_autobuf text = {0};

            if (value)
                rp_value_text(value, &text);
            must(strlen(rp_buf_text(&text)) == text.len);
        }
        free(key);
    }
}

/** Where T1 can say it, it says the same: rp_fair_t1_text looks itself. */
static void check_export(const struct rp_space *space, const struct rp_rules *rules)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_space *again;
    char *text;

    if (rp_fair_t1_text(space, rules, "fuzzed", &text, &err) < 0) {
        must(err.code == RP_BAD_INPUT);
        return;
    }
    must(space_parse(text, strlen(text), NULL, NULL, &again, NULL, &err) == 0);
    must(again->count == space->count);
    rp_space_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_rules rules = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_space *space;
    rp_autobuf notes = {0};

    if (space_parse((const char *)data, size, &notes, NULL, &space, &rules, &err) < 0) {
        must(err.code == RP_BAD_INPUT && err.text[0]);
        return 0;
    }
    check_space(space);
    check_export(space, &rules);
    rp_rules_free(&rules);
    rp_space_free(space);
    return 0;
}
