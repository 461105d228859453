/* What `rocm-perf bench` measures, and what it has found, as JSON and for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/roofline.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/stats.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "report/report.h"

enum { NEAR_PERCENT = 5, NAME = 34, NUMBER = 14 };

/* --- the rows ------------------------------------------------------------------------------- */

static bool is_gfx950(const struct rp_arch *a)
{
    return a->name && strcmp(a->name, "gfx950") == 0;
}

static bool is_gfx908(const struct rp_arch *a)
{
    return a->name && strcmp(a->name, "gfx908") == 0;
}

static double harmonic(double a, double b)
{
    return a > 0 && b > 0 ? 2 / (1 / a + 1 / b) : 0;
}

#define ROW(id, group, kind, text, kernel, threads, work_, modelled, hardware, peak_, model_)      \
    static double work_of_##id(const struct rp_arch *a, double T, double R)                        \
    {                                                                                              \
        (void)a, (void)T, (void)R;                                                                 \
        return work_;                                                                              \
    }                                                                                              \
    static double peak_of_##id(const struct rp_arch *a)                                            \
    {                                                                                              \
        (void)a;                                                                                   \
        return peak_;                                                                              \
    }                                                                                              \
    static double model_of_##id(const struct rp_arch *a)                                           \
    {                                                                                              \
        (void)a;                                                                                   \
        return model_;                                                                             \
    }
#include "cli/bench_rows.def"

#define SIZE(t1, r1, t2, r2)                                                                       \
    {                                                                                              \
        t1, r1, t2, r2                                                                             \
    }
const struct rp_bench_row rp_bench_rows[RP_BENCH_ROWS] = {
#define ROW(id, group_, kind_, text_, kernel_, threads_, work_, modelled_, hardware_, peak_,       \
            model_)                                                                                \
    [RP_BENCH_##id] = {.name = #id,                                                                \
                       .text = text_,                                                              \
                       .kernel = #kernel_,                                                         \
                       .group = RP_BENCH_GROUP_##group_,                                           \
                       .kind = RP_BENCH_##kind_,                                                   \
                       .threads = threads_,                                                        \
                       .modelled = SIZE modelled_,                                                 \
                       .hardware = SIZE hardware_,                                                 \
                       .work = work_of_##id,                                                       \
                       .peak = peak_of_##id,                                                       \
                       .model = model_of_##id},
#include "cli/bench_rows.def"
};

const struct rp_bench_group_row rp_bench_groups[RP_BENCH_GROUPS] = {
#define GROUP(id, text_) [RP_BENCH_GROUP_##id] = {#id, text_},
#include "cli/bench_rows.def"
};

double rp_bench_expected(const struct rp_bench *bench, size_t row)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];

    return (bench->work.software ? r->model : r->peak)(&bench->work.arch);
}

/* --- numbers -------------------------------------------------------------------------------- */

double rp_bench_median(const struct rp_bench_value *value)
{
    return rp_samples_median(value->samples, value->count);
}

static double min_of(const struct rp_bench_value *value)
{
    double found = NAN;

    for (size_t i = 0; i < value->count; i++)
        found = fmin(found, value->samples[i]);
    return found;
}

static double max_of(const struct rp_bench_value *value)
{
    double found = NAN;

    for (size_t i = 0; i < value->count; i++)
        found = fmax(found, value->samples[i]);
    return found;
}

/* From the smallest to the largest sample, as a part of the median. */
static double spread(const struct rp_bench_value *value)
{
    return (max_of(value) - min_of(value)) / rp_bench_median(value);
}

static const char *unit_of(enum rp_bench_kind kind)
{
    static const char *const units[] = {
        [RP_BENCH_BYTES] = "B/s",  [RP_BENCH_FLOPS] = "FLOP/s", [RP_BENCH_OPERATIONS] = "OP/s",
        [RP_BENCH_LATENCY] = "ns", [RP_BENCH_LAUNCH] = "ns",    [RP_BENCH_COPY] = "B/s",
    };

    return units[kind];
}

static const char *reason_of(const struct rp_bench *bench, size_t row)
{
    const struct rp_bench_value *value = &bench->values[row];

    if (value->count)
        return NULL;
    if (value->reason)
        return value->reason;
    if (bench->failures[rp_bench_rows[row].group])
        return bench->failures[rp_bench_rows[row].group];
    return row == RP_BENCH_peer ? "there is one GPU"
           : rp_bench_rows[row].kind == RP_BENCH_OPERATIONS ||
                   rp_bench_rows[row].kind == RP_BENCH_FLOPS
               ? "this GPU has no such instruction"
               : "its times are not in the trace";
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* What is not known is null. */
static json_t *number(double value)
{
    return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

static json_t *row_json(const struct rp_bench *bench, size_t row)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];
    const struct rp_bench_value *value = &bench->values[row];
    const double expected = rp_bench_expected(bench, row), median = rp_bench_median(value);

    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "name", r->name, "group", rp_bench_groups[r->group].name, "text", r->text,
                     "unit", unit_of(r->kind), "median", number(median), "least",
                     number(min_of(value)), "most", number(max_of(value)), "samples",
                     (int)value->count, "expected", number(expected), "share",
                     number(expected > 0 ? median / expected : NAN), "clock_mhz",
                     number(value->clock_mhz), "power_w", number(value->power_w), "temperature_c",
                     number(value->temperature_c), "reason", rp_text_json(reason_of(bench, row)));
}

/* The ceilings of rooflines: the counters see half of the work of packed instructions. */
static void ceilings_of(const struct rp_bench *bench, double *gbps, double *gflops)
{
    static const struct {
        unsigned row, at;
        bool is_rate;
        double factor;
    } of[] = {
        {RP_BENCH_hbm_read, RP_LEVEL_HBM, true, 1},
        {RP_BENCH_hbm_write, RP_LEVEL_HBM, true, 1},
        {RP_BENCH_hbm_copy, RP_LEVEL_HBM, true, 1},
        {RP_BENCH_l2_read, RP_LEVEL_L2, true, 1},
        {RP_BENCH_l1, RP_LEVEL_L1, true, 1},
        {RP_BENCH_lds, RP_LEVEL_LDS, true, 1},
        {RP_BENCH_fma_f16, RP_FLOP_VALU_F16, false, 0.5},
        {RP_BENCH_fma_f32, RP_FLOP_VALU_F32, false, 1},
        {RP_BENCH_fma_f64, RP_FLOP_VALU_F64, false, 1},
        {RP_BENCH_mfma_f16, RP_FLOP_MFMA_F16, false, 1},
        {RP_BENCH_mfma_bf16, RP_FLOP_MFMA_BF16, false, 1},
        {RP_BENCH_mfma_f32, RP_FLOP_MFMA_F32, false, 1},
        {RP_BENCH_mfma_f64, RP_FLOP_MFMA_F64, false, 1},
        {RP_BENCH_mfma_f8, RP_FLOP_MFMA_F8, false, 1},
        {RP_BENCH_mfma_f6, RP_FLOP_MFMA_F6F4, false, 1},
        {RP_BENCH_mfma_f4, RP_FLOP_MFMA_F6F4, false, 1},
    };

    for (size_t i = 0; i < RP_COUNT(of); i++) {
        double *to = of[i].is_rate ? &gbps[of[i].at] : &gflops[of[i].at];

        *to = fmax(*to, rp_bench_median(&bench->values[of[i].row]) / 1e9 * of[i].factor);
    }
}

static json_t *ceilings_json(const struct rp_bench *bench)
{
    double gbps[RP_LEVEL_COUNT] = {0}, gflops[RP_FLOP_COUNT] = {0};
    json_t *object = json_object();

    ceilings_of(bench, gbps, gflops);
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        rp_autofree char *key = rp_format("%s_gbps", rp_level_names[i]);

        json_object_set_new(object, key, number(gbps[i]));
    }
    for (size_t i = 0; i < RP_FLOP_COUNT; i++) {
        rp_autofree char *key = rp_format("%s_gflops", rp_flop_names[i]);

        json_object_set_new(object, key, number(gflops[i]));
    }
    return object;
}

json_t *rp_bench_document(const struct rp_bench *bench)
{
    const struct rp_device_identity *on = &bench->work.on;
    json_t *rows = json_array(), *timing = bench->work.software
                                               ? json_pack("{s:s, s:i}", "model", on->timing,
                                                           "version", (int)on->timing_version)
                                               : json_null();

    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        if (bench->values[i].wanted)
            json_array_append_new(rows, row_json(bench, i));
    return json_pack("{s:s, s:s, s:s, s:f, s:s, s:o, s:{s:s, s:o, s:i}, s:o, s:s, s:o, s:o}",
                     "schema_version", "1.0", "tool_version", RP_VERSION, "date", bench->date,
                     "seconds", round(bench->seconds * 1e3) / 1e3, "device",
                     bench->work.software ? "software" : "hardware", "timing", timing, "gpu",
                     "arch", bench->work.isa, "product", rp_text_json(on->gpu), "compute_units",
                     (int)bench->work.arch.compute_units, "rocm_version", rp_text_json(on->rocm),
                     "expected_from", bench->work.software ? "model" : "data_sheet", "ceilings",
                     ceilings_json(bench), "measurements", rows);
}

/* --- for people ----------------------------------------------------------------------------- */

/* A number with its unit. Operations have the prefixes of FLOPs. */
static struct rp_unit_text figure(const struct rp_page *page, enum rp_bench_kind kind, double value)
{
    const char *unit = unit_of(kind);
    struct rp_unit_text text = {"-"};
    char *flop;

    if (!(value > 0))
        return text;
    text = rp_unit_one(strcmp(unit, "ns") == 0    ? RP_UNIT_TIME
                       : strcmp(unit, "B/s") == 0 ? RP_UNIT_RATE
                                                  : RP_UNIT_FLOPS,
                       value, page->utf8);
    flop = kind == RP_BENCH_OPERATIONS ? strstr(text.text, "FLOP/s") : NULL;
    if (flop)
        memcpy(flop, "OP/s", sizeof "OP/s");
    return text;
}

static void put_cell(const char *text, struct rp_buf *to)
{
    const size_t cells = rp_utf8_cells(text);

    rp_buf_printf(to, "  %*s%s", cells < NUMBER ? (int)(NUMBER - cells) : 0, "", text);
}

static void put_percent(double share, struct rp_buf *to)
{
    rp_autofree char *text =
        isfinite(share) ? rp_format("%s %%", rp_number_fixed(100 * share, 1).text) : rp_strdup("-");

    rp_buf_printf(to, "  %8s", text);
}

static void put_row(const struct rp_bench *bench, size_t row, const struct rp_page *page)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];
    const struct rp_bench_value *value = &bench->values[row];
    const double median = rp_bench_median(value), expected = rp_bench_expected(bench, row);
    rp_autobuf cells = {0};

    if (!value->count) {
        rp_page_words(page, RP_INK_DIM, 2, NAME, "%-*s  not measured: %s", NAME - 2, r->text,
                      reason_of(bench, row));
        return;
    }
    put_cell(figure(page, r->kind, median).text, &cells);
    put_percent(spread(value), &cells);
    put_cell(figure(page, r->kind, expected).text, &cells);
    put_percent(expected > 0 ? median / expected : NAN, &cells);
    if (value->clock_mhz > 0 && !bench->work.software)
        rp_buf_printf(&cells, "  %5.0f MHz", value->clock_mhz);
    if (value->power_w > 0)
        rp_buf_printf(&cells, "  %4.0f W", value->power_w);
    if (value->temperature_c > 0)
        rp_buf_printf(&cells, "  %3.0f C", value->temperature_c);
    rp_page_line(page, RP_INK_PLAIN, 2, "%-*s%s", NAME - 2, r->text, rp_buf_text(&cells));
}

static void put_groups(const struct rp_bench *bench, const struct rp_page *page)
{
    enum rp_bench_group group = RP_BENCH_GROUPS;

    rp_buf_puts(page->out, "\n");
    rp_page_line(page, RP_INK_DIM, 0, "%-*s  %*s  %8s  %*s  %8s", NAME, "", NUMBER, "median",
                 "spread", NUMBER, bench->work.software ? "model" : "data sheet", "share");
    for (size_t i = 0; i < RP_BENCH_ROWS; i++) {
        if (!bench->values[i].wanted)
            continue;
        if (rp_bench_rows[i].group != group) {
            group = rp_bench_rows[i].group;
            rp_page_line(page, RP_INK_BOLD, 0, "%s", rp_bench_groups[group].text);
        }
        put_row(bench, i, page);
    }
}

/* The model must give its own constants back. */
static void put_model(const struct rp_bench *bench, const char *gpu, const struct rp_page *page)
{
    size_t known = 0, near = 0;
    rp_autobuf others = {0};

    for (size_t i = 0; i < RP_BENCH_ROWS; i++) {
        const double expected = rp_bench_expected(bench, i),
                     share = rp_bench_median(&bench->values[i]) / expected;

        if (!bench->values[i].count || !(expected > 0))
            continue;
        known++;
        if (fabs(share - 1) * 100 <= NEAR_PERCENT)
            near++;
        else
            rp_buf_printf(&others, "%s %s", others.len ? "," : "; not", rp_bench_rows[i].text);
    }
    rp_page_words(page, RP_INK_PLAIN, 0, 2,
                  "%s gives back %zu of %zu constants of its model within %d %%%s", gpu, near,
                  known, NEAR_PERCENT, rp_buf_text(&others));
}

/* How much of the data sheet is reached, where it matters most. */
static void put_hardware(const struct rp_bench *bench, const char *gpu, const struct rp_page *page)
{
    static const struct {
        size_t row;
        const char *text;
    } first[] = {{RP_BENCH_hbm_read, "of the memory's bandwidth"},
                 {RP_BENCH_mfma_f16, "of the f16 matrix rate"},
                 {RP_BENCH_fma_f32, "of the f32 vector rate"}};
    rp_autobuf line = {0};

    for (size_t i = 0; i < RP_COUNT(first); i++) {
        const double share =
            rp_bench_median(&bench->values[first[i].row]) / rp_bench_expected(bench, first[i].row);

        if (isfinite(share))
            rp_buf_printf(&line, "%s %s %% %s", line.len ? "," : " reaches",
                          rp_number_fixed(100 * share, 0).text, first[i].text);
    }
    rp_page_words(page, RP_INK_PLAIN, 0, 2, "%s%s%s", gpu,
                  line.len ? rp_buf_text(&line) : " was measured",
                  line.len ? " that its data sheet says" : "");
}

void rp_bench_text(const struct rp_bench *bench, const char *path, struct rp_term_style style,
                   struct rp_buf *to)
{
    const struct rp_page page = rp_page_of(to, style, 60);
    rp_autofree char *gpu = rp_device_identity_gpu(&bench->work.on);

    if (bench->work.software)
        rp_software_line(&page, bench->work.on.timing);
    (bench->work.software ? put_model : put_hardware)(bench, gpu, &page);
    put_groups(bench, &page);
    rp_buf_puts(to, "\n");
    rp_page_next(&page, (const char *const[]){"rocm-perf", "profile", "--roofline", "--ceilings",
                                              path, "./program", NULL});
}
