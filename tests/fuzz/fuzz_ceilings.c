/**
 * @file fuzz_ceilings.c
 * @brief Any text as a file of ceilings: refused with a reason, or numbers above 0 and short texts
 *        of printable characters.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline.h"
#include "base/err.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(const struct rp_quantity *q, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must(!q[i].known || (isfinite(q[i].value) && q[i].value > 0));
}

static void check_text(const char *text, size_t room)
{
    must(memchr(text, 0, room));
    for (; *text; text++)
        must(*text >= ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_measured_ceilings got = {0};
    struct rp_err err = RP_ERR_INIT;
    char *text = malloc(size + 1);

    must(text);
    memcpy(text, data, size);
    text[size] = 0;
    if (rp_roofline_parse_ceilings(text, &got, &err) < 0) {
        must(err.code == RP_BAD_INPUT && err.text[0]);
    } else {
        check_numbers(got.of.gbps, RP_LEVEL_COUNT);
        check_numbers(got.of.gflops, RP_FLOP_COUNT);
        check_text(got.gpu, sizeof got.gpu);
        check_text(got.arch, sizeof got.arch);
        check_text(got.date, sizeof got.date);
        must(!got.by_bench || got.compute_units > 0);
    }
    free(text);
    return 0;
}
