#include "analysis/roofline/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/csv_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* roofline.csv of rocprof-compute: what its benchmarks reached, one row for each GPU. GB/s and
 * GFLOP/s. Columns with Low and High at the end are the confidence interval. */

enum { MAX_FILE = 16 << 20 };

static const struct {
    const char *column;
    bool is_rate; /* of a level, else of FLOPs */
    unsigned at;
} columns[] = {
    {"HBMBw", true, RP_LEVEL_HBM},
    {"L2Bw", true, RP_LEVEL_L2},
    {"L1Bw", true, RP_LEVEL_L1},
    {"LDSBw", true, RP_LEVEL_LDS},
    {"FP16Flops", false, RP_FLOP_VALU_F16},
    {"FP32Flops", false, RP_FLOP_VALU_F32},
    {"FP64Flops", false, RP_FLOP_VALU_F64},
    {"MFMAF16Flops", false, RP_FLOP_MFMA_F16},
    {"MFMABF16Flops", false, RP_FLOP_MFMA_BF16},
    {"MFMAF32Flops", false, RP_FLOP_MFMA_F32},
    {"MFMAF64Flops", false, RP_FLOP_MFMA_F64},
    {"MFMAF8Flops", false, RP_FLOP_MFMA_F8},
    {"MFMAF6F4Flops", false, RP_FLOP_MFMA_F6F4},
    {"MFMA_FLOPs_F6F4", false, RP_FLOP_MFMA_F6F4},
    {"MFMAF6Flops", false, RP_FLOP_MFMA_F6F4},
    {"MFMAF4Flops", false, RP_FLOP_MFMA_F6F4},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* "N/A", nan and what is not above 0 was not measured. */
static struct rp_quantity number(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !isfinite(value) || value <= 0)
        return (struct rp_quantity){0};
    return (struct rp_quantity){.known = true, .value = value};
}

static int read_header(struct rp_csv *csv, size_t found[COLUMNS], struct rp_err *err)
{
    bool any = false;
    int rc = rp_csv_next(csv, err);

    if (rc < 0)
        return rc;
    for (size_t c = 0; c < COLUMNS; c++) {
        found[c] = SIZE_MAX;
        for (size_t i = 0; rc > 0 && i < csv->count; i++)
            if (strcmp(rp_csv_field(csv, i), columns[c].column) == 0)
                found[c] = i;
        any |= found[c] != SIZE_MAX;
    }
    return any ? 0
               : rp_fail(err, RP_BAD_INPUT,
                         "no column HBMBw, FP32Flops ...: not a roofline.csv of rocprof-compute");
}

static void read_row(const struct rp_csv *csv, const size_t found[COLUMNS], struct rp_ceilings *ret)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        struct rp_quantity *to =
            columns[c].is_rate ? &ret->gbps[columns[c].at] : &ret->gflops[columns[c].at];
        struct rp_quantity q = {0};

        if (found[c] != SIZE_MAX)
            q = number(rp_csv_field(csv, found[c]));
        if (q.known && (!to->known || q.value > to->value)) /* F6 and F4 are one counter */
            *to = q;
    }
}

static int read_all(const char *text, struct rp_ceilings *ret, struct rp_err *err)
{
    rp_cleanup(rp_csv_free) struct rp_csv csv = {.at = text, .end = text + strlen(text)};
    struct rp_ceilings first = {0};
    size_t found[COLUMNS];
    int rc = read_header(&csv, found, err);

    if (rc < 0)
        return rc;
    rc = rp_csv_next(&csv, err); /* the first GPU: they are of one kind */
    if (rc == 0)
        return rp_fail(err, RP_BAD_INPUT, "it has no row");
    if (rc < 0)
        return rc;
    read_row(&csv, found, &first);
    *ret = first;
    return 0;
}

int rp_roofline_read_ceilings(const char *path, struct rp_ceilings *ret, struct rp_err *err)
{
    rp_autofree char *text = rp_read_text(path, MAX_FILE);

    if (!text) {
        rp_fail(err, RP_BAD_INPUT, "it cannot be read, or is larger than %d MB", MAX_FILE >> 20);
        return rp_wrap(err, "read ceilings %s", path);
    }
    return read_all(text, ret, err) < 0 ? rp_wrap(err, "read ceilings %s", path) : 0;
}

static void take(struct rp_quantity *own, struct rp_quantity measured)
{
    if (measured.known)
        *own = measured;
}

void rp_roof_take_measured(const struct rp_ceilings *measured, struct rp_ceilings *ceilings)
{
    const struct rp_quantity *f16 = &measured->gflops[RP_FLOP_MFMA_F16];
    struct rp_quantity bf16 = measured->gflops[RP_FLOP_MFMA_BF16];

    for (size_t l = 0; l < RP_LEVEL_COUNT; l++)
        take(&ceilings->gbps[l], measured->gbps[l]);
    /* The benchmark for BF16 is slower than the hardware (516 against 916 TFLOP/s for F16 on
     * MI300X, where both have the same peak). */
    if (bf16.known && f16->known && f16->value > bf16.value &&
        ceilings->gflops[RP_FLOP_MFMA_BF16].value >= ceilings->gflops[RP_FLOP_MFMA_F16].value)
        bf16 = *f16;
    for (size_t t = 0; t < RP_FLOP_COUNT; t++) {
        bool vector = t <= RP_FLOP_VALU_F64;
        struct rp_quantity m = t == RP_FLOP_MFMA_BF16 ? bf16 : measured->gflops[t];

        /* Benchmarks use packed instructions, whose work the counters see half of: more than the
         * ceiling of what is counted is none. */
        if (vector && ceilings->gflops[t].known && m.known && m.value > ceilings->gflops[t].value)
            continue;
        take(&ceilings->gflops[t], m);
    }
}
