#include <errno.h>
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
#include "base/path.h"
#include "trace/csv_read.h"

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

/** Puts measured ceilings in the place of others, where they are known. */
static void rp_roof_take_measured(const struct rp_ceilings *measured, struct rp_ceilings *ceilings)
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

const struct rp_arch_roofline *rp_roof_arch_find(const char *name)
{
    const struct rp_arch *arch = rp_arch_find(name);

    return arch && arch->roofline.traffic != RP_TRAFFIC_UNKNOWN ? &arch->roofline : NULL;
}

uint32_t rp_roof_flops_per_clock(const struct rp_arch_roofline *arch, enum rp_flop_type type)
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

/* GB/s and GFLOP/s: clocks are MHz. */
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
        c->gflops[i] = positive(cu_clocks * rp_roof_flops_per_clock(roof, (enum rp_flop_type)i));
}

static uint32_t first_of(uint32_t a, uint32_t b)
{
    return a ? a : b;
}

static double memory_peak(const struct rp_arch *arch, const struct rp_arch_product *product)
{
    if (!product)
        return 0;
    return (double)product->memory_width_bits / 8 * product->memory_clock_mhz *
           arch->memory_transfers_per_clock / 1000;
}

/* What a mode that the driver knows divides the GPU by; 0: it is none. */
static uint32_t compute_parts(const char *mode, uint32_t xcc_count)
{
    static const struct {
        const char *mode;
        uint32_t parts;
    } modes[] = {{"SPX", 1}, {"DPX", 2}, {"TPX", 3}, {"QPX", 4}};

    if (strcmp(mode, "CPX") == 0) /* an XCD is a device of its own */
        return xcc_count;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(mode, modes[i].mode) == 0)
            return modes[i].parts;
    return 0;
}

/* NPS1, NPS2, NPS4 ...: how many parts the memory is split into; 0: not known. */
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

    /* Who lists fewer XCDs than the product has lists a part. rocprof-compute guesses 1 XCD for
     * what it does not know; that is a part if the CUs are fewer by the same factor. */
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
    memory_share = take_part(facts, product, d);
    set_ceilings(d, arch ? memory_peak(arch, found) / memory_share : 0,
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

/* --arch: all of it from the tables. */
static int describe_as(const char *spec, struct rp_roofline_device *d,
                       const struct rp_roofline_options *options, struct rp_err *err)
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

/* What the files say of a GPU that --arch says something else of. */
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

    if (options->arch) { /* of which only the architecture can be compared with a guess */
        gpu = (struct rp_counted_device){.compute_units = d->compute_units};
        snprintf(gpu.arch, sizeof gpu.arch, "%s", d->arch);
    }
    if (!on || !rp_counted_differ(on, &gpu) || !has_dispatch(counters, device))
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    ret->device_count = counters->device_count;
    for (size_t i = 0; i < counters->device_count && result == 0; i++) {
        const struct rp_counted_device *facts = &counters->devices[i];

        ret->devices[i].id = facts->id;
        if (options->arch)
            result = describe_as(options->arch, &ret->devices[i], options, err);
        else
            describe(rp_counters_facts(counters, i), &ret->devices[i], options);
        if (result == 0 && options->arch)
            note_overruled(counters, i, &ret->devices[i], options);
        if (result == 0 && options->measured)
            result = check_measured(counters, i, &ret->devices[i], options, err);
        if (options->measured)
            rp_roof_take_measured(options->measured, &ret->devices[i].ceilings);
        if (options->memory_gbps > 0) /* what the user says goes before a file */
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
