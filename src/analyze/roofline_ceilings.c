#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline_counters.h"
#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/path.h"
#include "base/units.h"
#include "trace/csv_read.h"

/* Measured ceilings are a file of `rocm-perf bench`, or of rocprof-compute: its roofline.csv has
 * one row for each GPU, with what its benchmarks reached in GB/s and GFLOP/s. Columns with Low and
 * High at the end are the confidence interval. */

enum { MAX_FILE = 16 << 20 };

static const struct {
    const char *column;
    bool is_rate; /**< of a level, else of FLOPs */
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

/* Rates in GB/s and GFLOP/s beyond these are of no GPU: the file is damaged, or of other units. */
static const double least_rate = 1e-3, most_rate = 1e9;

/* "N/A", nan and values that are not above 0 were not measured. */
static struct rp_quantity number(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !isfinite(value) || value < least_rate || value > most_rate)
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
                         "no column HBMBw, FP32Flops ...: neither a roofline.csv of "
                         "rocprof-compute nor a file of rocm-perf bench");
}

static void read_row(const struct rp_csv *csv, const size_t found[COLUMNS], struct rp_ceilings *ret)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        struct rp_quantity *to =
            columns[c].is_rate ? &ret->gbps[columns[c].at] : &ret->gflops[columns[c].at];
        struct rp_quantity q = {0};

        if (found[c] != SIZE_MAX)
            q = number(rp_csv_field(csv, found[c]));
        if (q.known && (!to->known || q.value > to->value)) /* F6 and F4 share one counter. */
            *to = q;
    }
}

static int read_csv(const char *text, struct rp_ceilings *ret, struct rp_err *err)
{
    rp_cleanup(rp_csv_free) struct rp_csv csv = {.at = text, .end = text + strlen(text)};
    struct rp_ceilings first = {0};
    size_t found[COLUMNS];
    int rc = read_header(&csv, found, err);

    if (rc < 0)
        return rc;
    rc = rp_csv_next(&csv, err); /* The first GPU is enough, because they are of one kind. */
    if (rc == 0)
        return rp_fail(err, RP_BAD_INPUT, "it has no row");
    if (rc < 0)
        return rc;
    read_row(&csv, found, &first);
    *ret = first;
    return 0;
}

/* A ceiling of the file of bench, as roofline.json calls it. */
static int read_ceiling(const json_t *ceilings, const char *name, const char *unit,
                        struct rp_quantity *ret, struct rp_err *err)
{
    char key[64];

    snprintf(key, sizeof key, "%s_%s", name, unit);
    const json_t *value = json_object_get(ceilings, key);
    const double number = json_number_value(value);

    if (!value || json_is_null(value))
        return 0;
    if (!json_is_number(value) || !isfinite(number) || number <= 0)
        return rp_fail(err, RP_BAD_INPUT, "ceilings.%s is no number above 0", key);
    if (number < least_rate || number > most_rate)
        return rp_fail(err, RP_BAD_INPUT, "ceilings.%s is %g G%s/s, which no GPU has", key, number,
                       strcmp(unit, "gbps") == 0 ? "B" : "FLOP");
    *ret = (struct rp_quantity){.known = true, .value = number};
    return 0;
}

static int read_all_ceilings(const json_t *ceilings, struct rp_ceilings *ret, struct rp_err *err)
{
    bool any = false;
    int rc = 0;

    for (size_t l = 0; rc == 0 && l < RP_LEVEL_COUNT; l++) {
        rc = read_ceiling(ceilings, rp_level_names[l], "gbps", &ret->gbps[l], err);
        any |= ret->gbps[l].known;
    }
    for (size_t t = 0; rc == 0 && t < RP_FLOP_COUNT; t++) {
        rc = read_ceiling(ceilings, rp_flop_names[t], "gflops", &ret->gflops[t], err);
        any |= ret->gflops[t].known;
    }
    return rc < 0 || any ? rc : rp_fail(err, RP_BAD_INPUT, "none of its ceilings was measured");
}

/* Texts of the file reach messages and results: they are short, and of printable ASCII. */
static bool read_word(const json_t *value, char *ret, size_t room)
{
    const char *text = json_string_value(value);

    if (!text || !*text || strlen(text) >= room)
        return false;
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            return false;
    memcpy(ret, text, strlen(text) + 1);
    return true;
}

/* Of which model of time they are; what is not said is not known. */
static void read_timing(const json_t *timing, struct rp_measured_ceilings *ret)
{
    const json_int_t version = json_integer_value(json_object_get(timing, "version"));

    if (version < 1 || version > UINT16_MAX ||
        !read_word(json_object_get(timing, "model"), ret->timing_model, sizeof ret->timing_model))
        ret->timing_model[0] = 0;
    else
        ret->timing_version = (uint32_t)version;
}

static int read_document(const json_t *root, struct rp_measured_ceilings *ret, struct rp_err *err)
{
    const char *device = json_string_value(json_object_get(root, "device"));
    const json_t *gpu = json_object_get(root, "gpu"), *ceilings = json_object_get(root, "ceilings");
    const json_t *product = json_object_get(gpu, "product");
    const json_int_t cus = json_integer_value(json_object_get(gpu, "compute_units"));
    int rc = 0;

    if (!json_is_object(ceilings) || !json_is_array(json_object_get(root, "measurements")))
        return rp_fail(err, RP_BAD_INPUT, "it is no file of rocm-perf bench");
    rc = rp_schema_version_check(json_string_value(json_object_get(root, "schema_version")), "it",
                                 err);
    if (rc < 0)
        return rc;
    if (!device || (strcmp(device, "software") != 0 && strcmp(device, "hardware") != 0))
        return rp_fail(err, RP_BAD_INPUT, "it does not say of which device it is");
    if (!read_word(json_object_get(gpu, "arch"), ret->arch, sizeof ret->arch) || cus < 1 ||
        cus > UINT16_MAX)
        return rp_fail(err, RP_BAD_INPUT, "it does not say of which GPU it is");
    if (!read_word(json_object_get(root, "date"), ret->date, sizeof ret->date))
        return rp_fail(err, RP_BAD_INPUT, "it does not say of which date it is");
    if (!product || json_is_null(product))
        snprintf(ret->gpu, sizeof ret->gpu, "%s", ret->arch);
    else if (!read_word(product, ret->gpu, sizeof ret->gpu))
        return rp_fail(err, RP_BAD_INPUT, "it does not say of which product it is");
    ret->compute_units = (uint32_t)cus;
    ret->software = strcmp(device, "software") == 0;
    read_timing(json_object_get(root, "timing"), ret);
    ret->by_bench = true;
    return read_all_ceilings(ceilings, &ret->of, err);
}

static int read_json(const char *text, struct rp_measured_ceilings *ret, struct rp_err *err)
{
    json_error_t why;
    json_t *root = json_loads(text, 0, &why);
    int rc;

    if (!root)
        return rp_fail(err, RP_BAD_INPUT, "line %d: %s", why.line, why.text);
    rc = read_document(root, ret, err);
    json_decref(root);
    return rc;
}

int rp_roofline_parse_ceilings(const char *text, struct rp_measured_ceilings *ret,
                               struct rp_err *err)
{
    struct rp_measured_ceilings found = {0};
    const int rc = text[strspn(text, " \t\r\n")] == '{' ? read_json(text, &found, err)
                                                        : read_csv(text, &found.of, err);

    if (rc == 0)
        *ret = found;
    return rc;
}

int rp_roofline_read_ceilings(const char *path, struct rp_measured_ceilings *ret,
                              struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int why;

    errno = 0;
    text = rp_read_text(path, MAX_FILE);
    why = errno;
    if (!text) {
        if (why)
            rp_fail(err, RP_BAD_INPUT, "%s", strerror(why));
        else
            rp_fail(err, RP_BAD_INPUT, "it is larger than %d MiB", MAX_FILE >> 20);
        return rp_wrap(err, "read ceilings %s", path);
    }
    return rp_roofline_parse_ceilings(text, ret, err) < 0 ? rp_wrap(err, "read ceilings %s", path)
                                                          : 0;
}

int rp_roofline_ceilings_fit(const struct rp_measured_ceilings *measured, const char *path,
                             const char *device, const char *product, uint32_t clock_mhz,
                             struct rp_err *err)
{
    if (!measured->by_bench)
        return 0;
    if (measured->software && clock_mhz)
        return rp_fail(err, RP_BAD_INPUT,
                       "--ceilings: %s was modelled at the highest clock, and the results at %u "
                       "MHz: leave it out, and they are the data sheet's at that clock",
                       path, clock_mhz);
    if (measured->software && device && strcmp(device, "hardware") == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "--ceilings: %s was modelled by the software device, and the results are of "
                       "hardware: use what rocm-perf bench measures there, or none",
                       path);
    /* What is in no table is called as its architecture is. */
    if (product && *product && strcmp(measured->gpu, measured->arch) != 0 &&
        strcmp(measured->gpu, product) != 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "--ceilings: %s is of an %s, and the results are of an %s: use ceilings of "
                       "that GPU, or none",
                       path, measured->gpu, product);
    return 0;
}

static void take(struct rp_quantity *own, struct rp_quantity measured)
{
    if (measured.known)
        *own = measured;
}

/** Replaces ceilings by measured ones, where these are known. */
static void roof_take_measured(const struct rp_measured_ceilings *from,
                               struct rp_ceilings *ceilings)
{
    const struct rp_ceilings *measured = &from->of;
    const struct rp_quantity *f16 = &measured->gflops[RP_FLOP_MFMA_F16];
    struct rp_quantity bf16 = measured->gflops[RP_FLOP_MFMA_BF16];

    for (size_t l = 0; l < RP_LEVEL_COUNT; l++)
        take(&ceilings->gbps[l], measured->gbps[l]);
    /* rocprof-compute's benchmark for BF16 is slower than the hardware (516 against 916 TFLOP/s for
     * F16 on MI300X, where both have the same peak). */
    if (!from->by_bench && bf16.known && f16->known && f16->value > bf16.value &&
        ceilings->gflops[RP_FLOP_MFMA_BF16].value >= ceilings->gflops[RP_FLOP_MFMA_F16].value)
        bf16 = *f16;
    for (size_t t = 0; t < RP_FLOP_COUNT; t++) {
        bool vector = t <= RP_FLOP_VALU_F64;
        struct rp_quantity m = t == RP_FLOP_MFMA_BF16 ? bf16 : measured->gflops[t];

        /* Its other benchmarks use packed instructions, whose work the counters see half of, so a
         * rate above the ceiling of counted work is no ceiling. */
        if (!from->by_bench && vector && ceilings->gflops[t].known && m.known &&
            m.value > ceilings->gflops[t].value)
            continue;
        take(&ceilings->gflops[t], m);
    }
}

/* Returns FLOPs a clock and CU; 0 means that the architecture has no such instructions, or they are
 * unknown. */
static uint32_t roof_flops_per_clock(const struct rp_arch_roofline *arch, enum rp_flop_type type)
{
    switch (type) {
    case RP_FLOP_VALU_F16:
    case RP_FLOP_VALU_F32:
        return arch->valu;
    case RP_FLOP_VALU_F64:
        return arch->valu_f64;
    case RP_FLOP_MFMA_F16:
        return arch->mfma_f16;
    case RP_FLOP_MFMA_BF16:
        return arch->mfma_bf16;
    case RP_FLOP_MFMA_F32:
        return arch->mfma_f32;
    case RP_FLOP_MFMA_F64:
        return arch->mfma_f64;
    case RP_FLOP_MFMA_F8:
        return arch->mfma_f8;
    case RP_FLOP_MFMA_F6F4:
        return arch->mfma_f6f4;
    case RP_FLOP_COUNT:
        break;
    }
    return 0;
}

static struct rp_quantity positive(double value)
{
    return (struct rp_quantity){.known = value > 0, .value = value > 0 ? value : 0};
}

/* The units are GB/s and GFLOP/s, because clocks are MHz. */
static void set_ceilings(struct rp_roofline_device *d, double memory_gbps, uint32_t l2_channels,
                         const struct rp_roofline_options *options)
{
    const struct rp_arch_roofline *roof = rp_roof_arch_find(d->arch);
    double clock = options->clock_mhz > 0 ? options->clock_mhz : d->engine_clock_mhz;
    double cu_clocks = clock * d->compute_units / 1000;
    struct rp_ceilings *c = &d->ceilings;

    c->gbps[RP_LEVEL_HBM] = positive(options->memory_gbps > 0 ? options->memory_gbps : memory_gbps);
    if (!roof)
        return;
    c->gbps[RP_LEVEL_L2] = positive(clock / 1000 * l2_channels * roof->l2_bytes);
    c->gbps[RP_LEVEL_L1] = positive(cu_clocks * roof->l1_bytes);
    c->gbps[RP_LEVEL_LDS] = positive(cu_clocks * roof->lds_bytes);
    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        c->gflops[i] = positive(cu_clocks * roof_flops_per_clock(roof, (enum rp_flop_type)i));
}

static uint32_t first_of(uint32_t a, uint32_t b)
{
    return a ? a : b;
}

/* Returns the number by which a mode that the driver knows divides the GPU; 0: it is no mode. */
static uint32_t compute_parts(const char *mode, uint32_t xcc_count)
{
    static const struct {
        const char *mode;
        uint32_t parts;
    } modes[] = {{"SPX", 1}, {"DPX", 2}, {"TPX", 3}, {"QPX", 4}};

    if (strcmp(mode, "CPX") == 0) /* An XCD is a device of its own here. */
        return xcc_count;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(mode, modes[i].mode) == 0)
            return modes[i].parts;
    return 0;
}

/* Reads NPS1, NPS2, NPS4 ...: how many parts the memory is split into; 0: not known. */
static uint32_t memory_parts(const char *mode)
{
    return strncmp(mode, "NPS", 3) == 0 && mode[3] >= '1' && mode[3] <= '8' && !mode[4]
               ? (uint32_t)(mode[3] - '0')
               : 0;
}

/* A part of a GPU has its share of CUs and XCDs. It reaches all of the memory unless that is split,
 * too; then it reaches its own part. */
static uint32_t take_part(const struct rp_counted_device *facts,
                          const struct rp_arch_product *product, struct rp_roofline_device *d)
{
    uint32_t xccs = product->xcc_count, parts = compute_parts(facts->compute_mode, xccs);
    uint32_t memory = memory_parts(facts->memory_mode);

    /* A file that lists fewer XCDs than the product has lists a part. rocprof-compute guesses 1 XCD
     * for unknown ones; that is a part if the CUs are fewer by the same factor. */
    if (!parts && facts->xcc_count && xccs % facts->xcc_count == 0 &&
        (!facts->guessed ||
         facts->compute_units * (xccs / facts->xcc_count) == product->compute_units))
        parts = xccs / facts->xcc_count;
    if (parts < 2 || xccs % parts || product->compute_units % parts)
        return 1;
    d->parts = parts;
    d->xcc_count = xccs / parts;
    d->compute_units = product->compute_units / parts;
    d->memory_parts = memory > 1 && memory <= parts ? memory : 1;
    return d->memory_parts;
}

/* What was modelled at a lower clock has lower ceilings on its dies. */
static void take_modelled_clock(const struct rp_counted_device *facts, struct rp_roofline_device *d)
{
    d->modelled_clock_mhz = facts->modelled_clock_mhz;
    if (d->modelled_clock_mhz)
        d->engine_clock_mhz = d->modelled_clock_mhz;
}

static void describe(const struct rp_counted_device *facts, struct rp_roofline_device *d,
                     const struct rp_roofline_options *options)
{
    static const struct rp_arch_product nothing;
    const struct rp_arch *arch = rp_arch_find(facts->arch);
    const struct rp_arch_product *found, *product;
    uint32_t memory_share;

    snprintf(d->arch, sizeof d->arch, "%s", arch ? arch->name : facts->arch);
    found = arch ? rp_arch_product_find(arch, facts->pci_device_id, facts->compute_units,
                                        facts->guessed ? 0 : facts->memory_clock_mhz)
                 : NULL;
    product = found ? found : &nothing;
    if (found && facts->pci_device_id)
        d->product = found->name;
    if (facts->guessed) {
        d->compute_units = first_of(product->compute_units, facts->compute_units);
        d->xcc_count = first_of(product->xcc_count, facts->xcc_count);
        d->engine_clock_mhz = first_of(product->engine_clock_mhz, facts->engine_clock_mhz);
    } else {
        d->compute_units = first_of(facts->compute_units, product->compute_units);
        d->xcc_count = first_of(facts->xcc_count, product->xcc_count);
        d->engine_clock_mhz = first_of(facts->engine_clock_mhz, product->engine_clock_mhz);
    }
    take_modelled_clock(facts, d);
    memory_share = take_part(facts, product, d);
    set_ceilings(d, found ? rp_arch_memory_peak(arch, found) / memory_share : 0,
                 arch ? arch->l2_channels_per_xcc * d->xcc_count : 0, options);
}

static int select_arch(const char *spec, struct rp_arch *ret, struct rp_err *err)
{
    char choices[512];

    if (rp_arch_select(spec, ret) != -ENOENT)
        return 0;
    rp_arch_choices(RP_ARCH_ANY, choices, sizeof choices);
    return rp_fail(err, RP_USAGE, "--arch %s is unknown; known are %s", spec, choices);
}

int rp_roofline_check_arch(const char *spec, struct rp_err *err)
{
    struct rp_arch arch = {0};

    return select_arch(spec, &arch, err);
}

/* --arch takes everything from the tables but a clock that was modelled. */
static int describe_as(const char *spec, const struct rp_counted_device *facts,
                       struct rp_roofline_device *d, const struct rp_roofline_options *options,
                       struct rp_err *err)
{
    struct rp_arch arch = {0};
    int result = select_arch(spec, &arch, err);

    if (result < 0)
        return result;
    snprintf(d->arch, sizeof d->arch, "%s", arch.name);
    d->product = arch.product;
    d->compute_units = arch.compute_units;
    d->xcc_count = arch.xcc_count;
    d->engine_clock_mhz = arch.engine_clock_mhz;
    take_modelled_clock(facts, d);
    set_ceilings(d, arch.hbm_peak_gbps, arch.l2_channels_per_xcc * arch.xcc_count, options);
    return 0;
}

static bool has_dispatch(const struct rp_counters *counters, size_t device)
{
    for (size_t i = 0; i < counters->dispatch_count; i++)
        if (counters->dispatches[i].device == device)
            return true;
    return false;
}

/* Notes what the files say of a GPU where --arch contradicts them. */
static void note_overruled(const struct rp_counters *counters, size_t device,
                           struct rp_roofline_device *d, const struct rp_roofline_options *options)
{
    struct rp_roofline_device own = {0};

    describe(rp_counters_facts(counters, device), &own, options);
    if (!own.arch[0] || !has_dispatch(counters, device))
        return;
    if (strcmp(own.arch, d->arch) != 0)
        snprintf(d->overruled, sizeof d->overruled, "%s", own.arch);
    else if (own.compute_units && own.compute_units != d->compute_units)
        snprintf(d->overruled, sizeof d->overruled, "%s with %u CUs", own.arch, own.compute_units);
}

/* Ceilings hold for the GPU that they were measured on. */
static int check_measured(const struct rp_counters *counters, size_t device,
                          const struct rp_roofline_device *d,
                          const struct rp_roofline_options *options, struct rp_err *err)
{
    struct rp_counted_device gpu = *rp_counters_facts(counters, device);
    const struct rp_counted_device *on = options->measured_on;

    if (options->arch) { /* Only the architecture can be compared with a guess. */
        gpu = (struct rp_counted_device){.compute_units = d->compute_units};
        snprintf(gpu.arch, sizeof gpu.arch, "%s", d->arch);
    }
    if (!has_dispatch(counters, device))
        return 0;
    if (on && rp_roofline_ceilings_fit(options->measured, on->source, options->origin.device,
                                       d->product, d->modelled_clock_mhz, err) < 0)
        return -(int)RP_BAD_INPUT;
    if (!on || !rp_counted_differ(on, &gpu))
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "--ceilings: %s says that they were measured on %s with %u CUs, the counters"
                   " are of %s with %u CUs: use ceilings of that GPU, or none",
                   on->source ? on->source : "the file", on->arch, on->compute_units, gpu.arch,
                   gpu.compute_units);
}

int rp_roof_devices(const struct rp_counters *counters, const struct rp_roofline_options *options,
                    struct rp_roofline *ret, struct rp_err *err)
{
    int result = 0;

    ret->devices = calloc(counters->device_count + 1, sizeof *ret->devices);
    if (!ret->devices)
        return rp_out_of_memory(err);
    ret->device_count = counters->device_count;
    for (size_t i = 0; i < counters->device_count && result == 0; i++) {
        const struct rp_counted_device *facts = &counters->devices[i];

        ret->devices[i].id = facts->id;
        if (options->arch)
            result = describe_as(options->arch, rp_counters_facts(counters, i), &ret->devices[i],
                                 options, err);
        else
            describe(rp_counters_facts(counters, i), &ret->devices[i], options);
        if (result == 0 && options->arch)
            note_overruled(counters, i, &ret->devices[i], options);
        if (result == 0 && options->measured)
            result = check_measured(counters, i, &ret->devices[i], options, err);
        if (options->measured)
            roof_take_measured(options->measured, &ret->devices[i].ceilings);
        if (options->memory_gbps > 0) /* The user's value takes precedence over a file. */
            ret->devices[i].ceilings.gbps[RP_LEVEL_HBM] = positive(options->memory_gbps);
    }
    return result;
}

const char *const rp_flop_names[] = {
#define RP_FLOP(id, name, unit) name,
#include "analyze/flop_types.def"
#undef RP_FLOP
};

const char *const rp_level_names[] = {"hbm", "l2", "l1", "lds"};

const char *const rp_bound_names[] = {NULL, "hbm", "l2", "l1", "lds", "valu", "mfma"};

/* These notes tell a reader what to know before trusting a number. */

static bool note_times(const struct rp_counters *counters, struct rp_roofline *r)
{
    uint64_t untimed = 0;

    for (size_t i = 0; i < counters->dispatch_count; i++)
        untimed += !counters->dispatches[i].timed;
    if (counters->spoilt_times &&
        !rp_roof_note(r,
                      "timestamps of %" PRIu64 " dispatches were rounded, as spreadsheets do: their"
                      " times are unknown",
                      counters->spoilt_times))
        return false;
    if (counters->added_files &&
        !rp_roof_note(r,
                      "%u file%s the counters of others and not their times: added up, although"
                      " results only hold for one run",
                      counters->added_files, counters->added_files == 1 ? " has" : "s have"))
        return false;
    return untimed == 0 || untimed == counters->spoilt_times ||
           rp_roof_note(r, "%" PRIu64 " dispatches have no usable times", untimed);
}

/* Notes work that the GPU can do and nobody counted. */
static bool note_uncounted(struct rp_roofline *r)
{
    rp_autobuf text = {0};

    for (size_t t = 0; t < RP_FLOP_COUNT; t++) {
        for (size_t k = 0; k < r->kernel_count; k++) {
            const struct rp_roofline_kernel *kernel = &r->kernels[k];
            const struct rp_arch_roofline *arch =
                rp_roof_arch_find(r->devices[kernel->device].arch);

            if (kernel->flops_by_width || kernel->flops_by_type[t].known || !kernel->flops.known ||
                (arch && roof_flops_per_clock(arch, (enum rp_flop_type)t) == 0))
                continue;
            rp_buf_printf(&text, "%s %s", text.len ? "," : "", rp_flop_names[t]);
            break;
        }
    }
    if (text.failed)
        return false;
    return text.len == 0 ||
           rp_roof_note(r, "not counted in every dispatch, so not in flops:%s", rp_buf_text(&text));
}

/* The software device leaves out what it cannot know of a dispatch. */
static bool note_lacking(struct rp_roofline *r, struct rp_roofline_kernel *k)
{
    if (!r->origin.device || strcmp(r->origin.device, "software") != 0 || r->reason ||
        k->hbm_read.known)
        return true;
    k->lacks = "counters of caches were not asked for, or too little was recorded of what its "
               "sampled workgroups access";
    return rp_roof_note(r, "bytes of %s are unknown: %s", k->name, k->lacks);
}

static bool note_kernel(struct rp_roofline *r, const struct rp_roofline_kernel *k)
{
    const struct rp_roofline_device *d = &r->devices[k->device];
    bool ok = true;

    if (d->arch[0] == '\0')
        ok = rp_roof_note(r,
                          "the files do not say which GPU it was: bytes that depend on it, and the"
                          " ceilings, are unknown without --arch");
    else if (!d->ceilings.gflops[RP_FLOP_VALU_F32].known)
        ok = rp_roof_note(r,
                          d->ceilings.gbps[RP_LEVEL_HBM].known
                              ? "ceilings of %s are not known, except that of its memory"
                              : "ceilings of %s are not known",
                          d->arch);
    if (ok && k->flops_by_width)
        ok = rp_roof_note(r, "FLOPs by the simple model, 8 for each vector instruction, can be far"
                             " off: see flop_model of each kernel");
    if (ok && k->reads_by_width)
        ok = rp_roof_note(r,
                          "bytes read from HBM by the simple model, without requests of 128 bytes,"
                          " can be half of the true ones: see read_model of each kernel");
    if (ok && k->hbm_read_least.known)
        ok = rp_roof_note(r,
                          "TCC_BUBBLE reads 0 on %s: without TCC_EA0_RDREQ_128B the bytes"
                          " read are only known within hbm_read_bytes_range",
                          d->arch);
    if (ok && !k->flops_by_width &&
        (k->flops_by_type[RP_FLOP_VALU_F16].value > 0 ||
         k->flops_by_type[RP_FLOP_VALU_F32].value > 0 ||
         k->flops_by_type[RP_FLOP_VALU_F64].value > 0))
        ok = rp_roof_note(r, "vector FLOPs count 64 lanes for each instruction: less was done where"
                             " lanes are masked off");
    if (ok && !k->flops_by_width &&
        (k->flops_by_type[RP_FLOP_VALU_F16].value > 0 ||
         k->flops_by_type[RP_FLOP_VALU_F32].value > 0))
        ok = rp_roof_note(r, "packed vector instructions (v_pk_*) count once although they do twice"
                             " the work");
    return ok;
}

/* Notes ceilings of a part of a GPU; programs in the other parts share the memory. */
static bool note_part(struct rp_roofline *r, const struct rp_roofline_device *d)
{
    if (d->parts < 2)
        return true;
    if (d->memory_parts > 1)
        return rp_roof_note(r,
                            "GPU %" PRId64 " is one of %u partitions: its ceilings are those of %u"
                            " CUs on %u XCD%s, that of HBM is 1/%u of the GPU's",
                            d->id, d->parts, d->compute_units, d->xcc_count,
                            rp_plural(d->xcc_count), d->memory_parts);
    return rp_roof_note(r,
                        "GPU %" PRId64 " is one of %u partitions: its ceilings are those of %u CUs"
                        " on %u XCD%s; that of HBM is the GPU's, which the partitions share",
                        d->id, d->parts, d->compute_units, d->xcc_count, rp_plural(d->xcc_count));
}

/* Tests whether two vector instructions at a time explain what is above the ceiling, which is that
 * of one: where a SIMD has two ports it may issue f32 instructions of two waves at once. */
static bool issues_two(const struct rp_roofline *r, const struct rp_roofline_kernel *k)
{
    const struct rp_arch *arch = rp_arch_find(r->devices[k->device].arch);

    return k->bound == RP_BOUND_VALU && k->bound_share.value <= 2 && arch && arch->timing &&
           arch->timing->valu_ports == 2;
}

static bool note_two_at_once(struct rp_roofline *r)
{
    const struct rp_roofline_kernel *most = NULL;

    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];

        if (k->bound_share.known && k->bound_share.value > 1 && issues_two(r, k) &&
            (!most || k->bound_share.value > most->bound_share.value))
            most = k;
    }
    return !most || rp_roof_note(r,
                                 "%s is above its VALU ceiling (%.1f %%), which is that of one "
                                 "vector instruction at a time: a SIMD of this GPU can issue two "
                                 "f32 ones at once",
                                 most->name, most->bound_share.value * 100);
}

/* Notes rates above what a benchmark reached, or more FLOPs than the units can do. */
static bool note_shares(const struct rp_roofline_options *options, struct rp_roofline *r)
{
    static const char *const names[] = {NULL, "HBM", "L2", "vector L1", "LDS", "VALU", "MFMA"};
    const struct rp_roofline_kernel *worst = NULL;

    if (!options->measured && !note_two_at_once(r))
        return false;

    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];

        if (!k->bound_share.known || k->bound_share.value <= 1 ||
            (!options->measured &&
             ((k->bound != RP_BOUND_VALU && k->bound != RP_BOUND_MFMA) || issues_two(r, k))))
            continue;
        if (!worst || k->bound_share.value > worst->bound_share.value)
            worst = k;
    }
    if (!worst)
        return true;
    return rp_roof_note(r, "%s exceeds its %s ceiling (%.1f %%): %s", worst->name,
                        names[worst->bound], worst->bound_share.value * 100,
                        options->measured
                            ? "the measured ceilings are of another GPU, or its benchmarks did not"
                              " reach what it can do"
                            : "GPU or clock are not those of the run, or its times are wrong");
}

/* --- above a peak ------------------------------------------------------------------------- */

/* Finds the kernel that is furthest above the peak of a level in this way. */
static const struct rp_roofline_kernel *furthest(const struct rp_roofline *r, size_t level,
                                                 enum rp_peak peak, size_t *ret_count)
{
    const struct rp_roofline_kernel *worst = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < r->kernel_count; i++) {
        if (r->kernels[i].peak[level] != peak)
            continue;
        ++*ret_count;
        if (!worst || r->kernels[i].gbps[level].value > worst->gbps[level].value)
            worst = &r->kernels[i];
    }
    return worst;
}

static const char *more_kernels(size_t count, char room[40])
{
    room[0] = '\0';
    if (count > 1)
        snprintf(room, 40, ", and %zu more kernel%s", count - 1, rp_plural(count - 1));
    return room;
}

/* Says what the memory side could serve beyond HBM, for a rate that is above even that. */
static void put_memory_side(const struct rp_roofline_device *d, struct rp_buf *to)
{
    const struct rp_arch *arch = rp_arch_find(d->arch);
    const struct rp_arch_roofline *roof = rp_roof_arch_find(d->arch);

    if (!arch || arch->mall_bytes == 0)
        return;
    if (roof && roof->mall_gbps > 0)
        rp_buf_printf(to, " and the %.3g TB/s of the Infinity Cache", roof->mall_gbps / 1000);
    else
        rp_buf_printf(to, " and the %.3g TB/s of the L2",
                      d->ceilings.gbps[RP_LEVEL_L2].value / 1000);
}

static bool note_peak(struct rp_roofline *r, size_t level, enum rp_peak peak)
{
    static const char *const names[] = {"HBM", "L2", "vector L1", "LDS"};
    rp_autobuf text = {0};
    char room[40];
    size_t count;
    const struct rp_roofline_kernel *k = furthest(r, level, peak, &count);
    const struct rp_roofline_device *d = k ? &r->devices[k->device] : NULL;

    if (!k)
        return true;
    rp_buf_printf(&text, "%s%s: %.4g TB/s exceeds the %s peak of %.3g TB/s (%.0f %%)", k->name,
                  more_kernels(count, room), k->gbps[level].value / 1000, names[level],
                  d->ceilings.gbps[level].value / 1000,
                  100 * k->gbps[level].value / d->ceilings.gbps[level].value);
    if (peak == RP_PEAK_CACHED) {
        rp_buf_printf(&text, ": probably served by the Infinity Cache (%" PRIu64 " MB)",
                      rp_arch_find(d->arch)->mall_bytes >> 20);
    } else {
        if (level == RP_LEVEL_HBM)
            put_memory_side(d, &text);
        rp_buf_puts(&text, ", so counters, times or the GPU are not those of one run");
    }
    return !text.failed && rp_roof_note(r, "%s", rp_buf_text(&text));
}

static bool note_peaks(struct rp_roofline *r)
{
    bool ok = true;

    for (size_t l = 0; l < RP_LEVEL_COUNT && ok; l++)
        ok = note_peak(r, l, RP_PEAK_CACHED) && note_peak(r, l, RP_PEAK_IMPOSSIBLE);
    return ok;
}

/* Notes what the counters of memory traffic see. */
static bool note_fabric(struct rp_roofline *r)
{
    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];
        const struct rp_arch *arch = rp_arch_find(r->devices[k->device].arch);

        if ((k->hbm_read.known || k->hbm_write.known) && arch && arch->mall_bytes)
            return rp_roof_note(
                r,
                "HBM bytes are what the L2 asks of the fabric: what fits the Infinity"
                " Cache (%" PRIu64 " MB) is counted, too, but never reaches HBM",
                arch->mall_bytes >> 20);
    }
    return true;
}

/* --- passes ------------------------------------------------------------------------------- */

enum { MOST_OF_A_KIND = 8 /**< notes about single kernels */ };

static void put_excess_parts(const struct rp_pass_difference *d, struct rp_buf *to)
{
    size_t count = 0;

    for (size_t i = 0; i < RP_DIFFERENCE_PARTS && d->parts[i]; i++, count++)
        rp_buf_printf(to, "%s%s", i ? " + " : "", d->parts[i]);
    rp_buf_printf(to, " %s %s", count == 1 ? "exceeds" : "exceed", d->whole);
}

/* Writes by how much, behind the name of the whole. A whole of 0 has no percentage. */
static void put_excess(double fraction, struct rp_buf *to)
{
    if (!isfinite(fraction))
        rp_buf_puts(to, ", which counted nothing");
    else
        rp_buf_printf(to, fraction < 1 ? " by %.2g %%" : " by %.0f %%", fraction * 100);
}

/* Notes kernels whose passes disagree within the tolerance, in one sentence for each difference. */
static bool note_disagreement(struct rp_roofline *r, enum rp_difference difference)
{
    rp_autobuf text = {0};
    const struct rp_roofline_kernel *worst = NULL;
    uint64_t negative = 0, calls = 0;
    size_t kernels = 0;
    double most;
    char room[40];

    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];
        const struct rp_pass_difference *d = &k->differences[difference];

        if (!d->asked || d->withheld || d->negative == 0)
            continue;
        kernels++;
        negative += d->negative;
        calls += k->calls;
        if (!worst || d->most > worst->differences[difference].most)
            worst = k;
    }
    if (!worst)
        return true;
    most = worst->differences[difference].most;
    rp_buf_puts(&text, "passes disagree: ");
    put_excess_parts(&worst->differences[difference], &text);
    if (isfinite(most)) {
        put_excess(most, &text);
        rp_buf_puts(&text, " at most,");
    }
    rp_buf_printf(&text, " in %" PRIu64 " of %" PRIu64 " dispatches of %s%s", negative, calls,
                  worst->name, more_kernels(kernels, room));
    if (!isfinite(most))
        rp_buf_printf(&text, ", where %s counted nothing in at least one",
                      worst->differences[difference].whole);
    rp_buf_puts(&text, ": what is left counts as 0");
    return !text.failed && rp_roof_note(r, "%s", rp_buf_text(&text));
}

static bool note_withheld(struct rp_roofline *r, const struct rp_roofline_kernel *k,
                          enum rp_difference difference)
{
    const struct rp_pass_difference *d = &k->differences[difference];
    rp_autobuf text = {0};

    rp_buf_printf(&text, "%s of %s are not known: ", rp_difference_names[difference], k->name);
    put_excess_parts(d, &text);
    put_excess(d->share, &text);
    if (isfinite(d->share))
        rp_buf_printf(&text, ", and passes of one program disagree by %.0f %% at most",
                      rp_pass_tolerance() * 100);
    return !text.failed && rp_roof_note(r, "%s", rp_buf_text(&text));
}

static bool note_differences(struct rp_roofline *r)
{
    size_t withheld = 0;
    bool ok = true;

    for (unsigned d = 0; d < RP_DIFFERENCE_COUNT && ok; d++)
        ok = note_disagreement(r, (enum rp_difference)d);
    for (size_t i = 0; i < r->kernel_count && ok; i++)
        for (unsigned d = 0; d < RP_DIFFERENCE_COUNT && ok; d++)
            if (r->kernels[i].differences[d].withheld && withheld++ < MOST_OF_A_KIND)
                ok = note_withheld(r, &r->kernels[i], (enum rp_difference)d);
    if (ok && withheld > MOST_OF_A_KIND)
        ok = rp_roof_note(r, "passes disagree too much in %zu more kernels: see pass_differences",
                          withheld - MOST_OF_A_KIND);
    return ok;
}

/* --- what lacks a pass -------------------------------------------------------------------- */

/* Says where the counters of the formulas are in the file, in both spellings; -1: absent. */
struct spelled {
    int64_t at[RP_ROOF_COUNTERS][2];
};

static struct spelled find_spelled(const struct rp_counters *counters)
{
    struct spelled ret;

    for (int c = 0; c < RP_ROOF_COUNTERS; c++)
        for (int sum = 0; sum < 2; sum++)
            ret.at[c][sum] = rp_roof_find(counters, (enum rp_roof_counter)c, sum);
    return ret;
}

/* Counts in how many dispatches of the kernel the counter is. Its counts are in the order of the
 * file. */
static uint64_t counted(const struct rp_roofline_kernel *k, int64_t counter)
{
    size_t low = 0, high = k->count_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (k->counts[middle].counter < counter)
            low = middle + 1;
        else
            high = middle;
    }
    return counter >= 0 && low < k->count_count && k->counts[low].counter == counter
               ? k->counts[low].dispatches
               : 0;
}

/* A value in which passes contradict each other is not missing: it has a note of its own. */
static bool is_disputed(const struct rp_counters *counters, const struct rp_roofline_kernel *k,
                        const int64_t at[2])
{
    for (size_t i = 0; i < counters->dispute_count; i++) {
        const struct rp_counter_dispute *d = &counters->disputes[i];

        if ((d->counter == at[0] || d->counter == at[1]) &&
            strcmp(counters->kernels[d->kernel], k->name) == 0)
            return true;
    }
    return false;
}

/* Writes "write requests in 2, vector instructions in 1". Counters of formulas are named by what
 * they count. */
static void put_lacking(const struct rp_counters *counters, const struct spelled *spelled,
                        const struct rp_roofline_kernel *k, uint64_t most, struct rp_buf *to)
{
    const char *said = "";

    for (int c = 0; c < RP_ROOF_COUNTERS; c++) {
        const char *what = rp_roof_counter_what((enum rp_roof_counter)c);
        const int64_t *at = spelled->at[c];
        uint64_t plain = counted(k, at[0]), sum = counted(k, at[1]);
        uint64_t count = plain > sum ? plain : sum;

        if ((at[0] < 0 && at[1] < 0) || count >= most || strcmp(said, what) == 0 ||
            is_disputed(counters, k, at))
            continue;
        said = what;
        rp_buf_printf(to, "%s%s counted in %" PRIu64, to->len ? ", " : "", what, count);
    }
    for (size_t i = 0; i < k->count_count && to->len == 0; i++)
        if (k->counts[i].dispatches < most)
            rp_buf_printf(to, "%s counted in %" PRIu64, k->counts[i].name, k->counts[i].dispatches);
}

/* A pass that ended early, or ran other dispatches, leaves sums that are too small, so they are
 * unknown. */
static bool note_passes(const struct rp_counters *counters, struct rp_roofline *r)
{
    const struct spelled spelled = find_spelled(counters);
    size_t lacking = 0;
    bool ok = true;

    for (size_t i = 0; i < r->kernel_count && ok; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];
        rp_autobuf text = {0};
        uint64_t most = 0;

        for (size_t c = 0; c < k->count_count; c++)
            most = k->counts[c].dispatches > most ? k->counts[c].dispatches : most;
        if (most > 0)
            put_lacking(counters, &spelled, k, most, &text);
        if (most > 0 && text.len == 0 && most < k->calls)
            rp_buf_printf(&text, "counters collected in %" PRIu64, most);
        if (text.len == 0 || lacking++ >= MOST_OF_A_KIND)
            continue;
        ok =
            !text.failed &&
            rp_roof_note(r, "%s of %" PRIu64 " dispatches of %s: what is made of them is not known",
                         rp_buf_text(&text), k->calls, k->name);
    }
    if (ok && lacking > MOST_OF_A_KIND)
        ok = rp_roof_note(r, "counters are missing in part of the dispatches of %zu more kernels",
                          lacking - MOST_OF_A_KIND);
    return ok;
}

/* Notes counters that several passes have. */
static bool note_repeats(const struct rp_counters *counters, struct rp_roofline *r)
{
    bool ok = true;

    if (counters->repeat_difference > 0)
        ok = rp_roof_note(r,
                          "passes that counted the same differ by up to %.2g %% (%s): the first one"
                          " counts",
                          counters->repeat_difference * 100,
                          counters->names[counters->repeat_counter]);
    for (size_t i = 0; ok && i < counters->dispute_count && i < MOST_OF_A_KIND; i++) {
        const struct rp_counter_dispute *d = &counters->disputes[i];

        ok = rp_roof_note(r,
                          "%s of %s is %.15g in one pass and %.15g in another: it is not known, as"
                          " the program may have done other work in each",
                          counters->names[d->counter], counters->kernels[d->kernel], d->first,
                          d->other);
    }
    if (ok && counters->dispute_count > MOST_OF_A_KIND)
        ok = rp_roof_note(r,
                          "passes contradict each other in %zu more counters of kernels, which are"
                          " not known",
                          counters->dispute_count - MOST_OF_A_KIND);
    return ok;
}

/* Notes registers of 32 bits that were full. */
static bool note_full(const struct rp_counters *counters, struct rp_roofline *r)
{
    rp_autofree uint64_t *full = calloc(counters->name_count + 1, sizeof *full);
    bool ok = full != NULL;

    for (size_t i = 0; ok && i < counters->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &counters->dispatches[i];

        for (uint32_t v = 0; v < d->value_count; v++)
            full[d->values[v].counter] += isnan(d->values[v].value);
    }
    for (size_t i = 0; ok && i < counters->name_count; i++)
        if (full[i])
            ok =
                rp_roof_note(r,
                             "%s reads 4294967295, which is a full register of 32 bits, in %" PRIu64
                             " dispatches: it is not known there",
                             counters->names[i], full[i]);
    return ok;
}

/* --- all ---------------------------------------------------------------------------------- */

bool rp_roof_notes(const struct rp_counters *counters, const struct rp_roofline_options *options,
                   struct rp_roofline *r)
{
    bool ok = note_times(counters, r) && note_passes(counters, r) && note_repeats(counters, r) &&
              note_full(counters, r) && note_differences(r) && note_uncounted(r) &&
              note_shares(options, r) && note_peaks(r) && note_fabric(r);

    for (size_t i = 0; i < r->kernel_count && ok; i++)
        ok = note_kernel(r, &r->kernels[i]) && note_lacking(r, &r->kernels[i]);
    for (size_t i = 0; i < r->device_count && ok && !options->arch; i++)
        ok = note_part(r, &r->devices[i]);
    if (!ok || rp_roof_find(counters, RP_ROOF_GUI_ACTIVE, false) < 0)
        return ok;
    for (size_t i = 0; i < r->device_count && ok; i++)
        if (r->devices[i].xcc_count > 1)
            ok = rp_roof_note(r,
                              "GRBM_GUI_ACTIVE is the sum over %u XCDs: utilisations divide it by"
                              " that; times are those of the dispatches",
                              r->devices[i].xcc_count);
    return ok;
}

bool rp_roof_note(struct rp_roofline *r, const char *fmt, ...)
{
    rp_autobuf text = {0};
    char **grown;
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < r->note_count && !text.failed; i++)
        if (strcmp(r->notes[i], rp_buf_text(&text)) == 0)
            return true;
    grown = realloc(r->notes, (r->note_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    r->notes = grown;
    grown[r->note_count] = rp_buf_steal(&text);
    r->note_count += grown[r->note_count] != NULL;
    return !text.failed;
}
