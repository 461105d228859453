/*
 * How far the detailed timing model is from published measurements of MI300X: prints
 * docs/model-accuracy.md. Kernels run on the software device as any others; what the model takes
 * for them is compared in the unit of the publication.
 *
 * usage: model-accuracy <timing.co of tests/isa>
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/timing/mode.h"
#include "hsaco.h"

enum { BLOCKS = 304, ROUND_BYTES = 16 << 10, STREAM = 1 << 25 };

static const double GIB = 1073741824.0;

struct bench {
    struct sim sim;
    struct sim_code code;
    double clock_hz;
    double *a, *b, *c; /* of STREAM doubles each */
    bool failed;
};

/* A row of the report: what was published, and what the model says. */
struct row {
    const char *number, *what, *unit, *source;
    double published, modelled;
    bool fitted;
};

/* Modelled clocks of a launch. */
static double clocks(struct bench *b, const char *kernel, uint32_t blocks, uint32_t threads,
                     const void *args, size_t args_bytes)
{
    const uint64_t kd = sim_kernel(&b->code, kernel);
    const struct sim_launch l = {.grid = {blocks * threads, 1, 1},
                                 .block = {threads, 1, 1},
                                 .args = args,
                                 .args_bytes = args_bytes};
    if (!kd || sim_run(&b->sim, kd, &l) != RP_RUN_DONE || !b->sim.replayed) {
        fprintf(stderr, "model-accuracy: %s: %s\n", kernel, kd ? b->sim.fault.text : "not there");
        b->failed = true;
        return NAN;
    }
    return b->sim.stats.clocks;
}

/* ---- latency ------------------------------------------------------------------------------- */

/* A ring of pointers, @p stride bytes apart. */
static void *make_ring(struct bench *b, size_t lines, size_t stride)
{
    uint8_t *ring = sim_alloc(&b->sim, lines * stride);
    for (size_t i = 0; i < lines; i++) {
        uint8_t *next = ring + (i + 1) % lines * stride;
        memcpy(ring + i * stride, &next, sizeof next);
    }
    return ring;
}

/* Clocks per step of a chase through a ring, beyond the first @p skipped steps. */
static double chase(struct bench *b, const char *kernel, size_t lines, size_t stride, int skipped,
                    int steps)
{
    struct {
        void *at, *out;
        int steps;
    } args = {make_ring(b, lines, stride), b->c, skipped};
    const double before = skipped ? clocks(b, kernel, 1, 1, &args, sizeof args) : 0;
    args.steps = skipped + steps;
    return (clocks(b, kernel, 1, 1, &args, sizeof args) - before) / steps;
}

static double chase_lds(struct bench *b)
{
    struct {
        void *out;
        int steps;
    } args = {b->c, 1024};
    const double before = clocks(b, "chase_lds", 1, 64, &args, sizeof args);
    args.steps = 5120;
    return (clocks(b, "chase_lds", 1, 64, &args, sizeof args) - before) / 4096;
}

/* ---- bandwidth ----------------------------------------------------------------------------- */

/* Bytes per second of all CUs, each with @p rounds * 16 KiB of its own, so many laps more. */
static double rate(struct bench *b, bool writes, int rounds, int laps, int more_rounds,
                   int more_laps)
{
    uint8_t *memory = sim_alloc(&b->sim, (size_t)BLOCKS * ROUND_BYTES * (rounds + more_rounds));
    double took[2], bytes[2];
    for (int k = 0; k < 2; k++) {
        const int r = rounds + k * more_rounds, l = laps + k * more_laps;
        const struct {
            void *from, *out;
            int rounds, laps;
        } read = {memory, b->c, r, l};
        const struct {
            void *to;
            int rounds, laps;
        } write = {memory, r, l};
        took[k] = writes ? clocks(b, "write_blocks", BLOCKS, 1024, &write, sizeof write)
                         : clocks(b, "read_blocks", BLOCKS, 1024, &read, sizeof read);
        bytes[k] = (double)BLOCKS * ROUND_BYTES * r * l;
    }
    return (bytes[1] - bytes[0]) / (took[1] - took[0]) * b->clock_hz;
}

/* BabelStream: bytes per second as it counts them, from the duration of the kernel. */
static double stream(struct bench *b, const char *kernel, unsigned arrays, const void *args,
                     size_t args_bytes)
{
    const bool dot = strcmp(kernel, "stream_dot") == 0;
    clocks(b, kernel, dot ? 4 * BLOCKS : STREAM / 1024, 1024, args, args_bytes);
    const double seconds = (double)b->sim.ticks / (b->sim.arch->timestamp_mhz * 1e6);
    return arrays * 8.0 * STREAM / seconds;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void measure_latencies(struct bench *b, struct row *r)
{
    *r++ = (struct row){"1", "LDS latency", "clocks", "mt4g", 51.3, chase_lds(b), true};
    *r++ = (struct row){
        "2", "scalar L1 latency", "clocks", "mt4g", 48, chase(b, "chase_scalar", 64, 64, 64, 4096),
        true};
    *r++ = (struct row){
        "3", "vector L1 latency", "clocks", "mt4g", 116, chase(b, "chase", 64, 128, 64, 4096),
        true};
    *r++ = (struct row){
        "4", "L2 latency", "clocks", "mt4g", 287.5, chase(b, "chase", 4096, 128, 4096, 4096), true};
    *r++ = (struct row){"12", "Infinity Cache latency",
                        "ns", "Chips and Cheese",
                        218,  chase(b, "chase", 65536, 128, 65536, 65536) / b->clock_hz * 1e9,
                        true};
    *r++ = (struct row){
        "5", "HBM latency, mean", "clocks", "mt4g", 900, chase(b, "chase", 16384, 4224, 1024, 8192),
        true};
}

static void measure_bandwidths(struct bench *b, struct row *r)
{
    *r++ = (struct row){"8", "L2 read", "GiB/s", "mt4g", 14365, rate(b, false, 4, 3, 0, 6) / GIB,
                        true};
    *r++ =
        (struct row){"9", "L2 write", "GiB/s", "mt4g", 6562, rate(b, true, 2, 3, 0, 6) / GIB, true};
    *r++ = (struct row){"10", "HBM read", "GiB/s", "mt4g", 3690, rate(b, false, 8, 1, 8, 0) / GIB,
                        true};
    *r++ = (struct row){"11", "HBM write", "GiB/s", "mt4g", 4117, rate(b, true, 8, 1, 8, 0) / GIB,
                        true};
    *r++ = (struct row){"13",   "Infinity Cache read",
                        "TB/s", "Chips and Cheese",
                        11.9,   rate(b, false, 16, 2, 0, 2) / 1e12,
                        true};
}

static void measure_streams(struct bench *b, struct row *r)
{
    const struct {
        double *x, *y, *z;
        size_t n;
    } abc = {b->a, b->b, b->c, STREAM};
    const struct {
        double *x, *y;
    } ac = {b->a, b->c}, bc = {b->b, b->c};
    static const char source[] = "AMD acceptance floor";
    *r++ =
        (struct row){"14",   "BabelStream Copy", "GB/s",
                     source, 4177.285,           stream(b, "stream_copy", 2, &ac, sizeof ac) * 1e-9,
                     false};
    *r++ =
        (struct row){"15",   "BabelStream Mul", "GB/s",
                     source, 4067.069,          stream(b, "stream_mul", 2, &bc, sizeof bc) * 1e-9,
                     false};
    *r++ = (struct row){"16",   "BabelStream Add", "GB/s",
                        source, 3920.853,          stream(b, "stream_add", 3, &abc, 24) * 1e-9,
                        false};
    *r++ = (struct row){"17",     "BabelStream Triad",
                        "GB/s",   source,
                        3885.301, stream(b, "stream_triad", 3, &abc, 24) * 1e-9,
                        false};
    *r++ =
        (struct row){"18",   "BabelStream Dot", "GB/s",
                     source, 3660.781,          stream(b, "stream_dot", 2, &abc, sizeof abc) * 1e-9,
                     false};
}

enum { LATENCIES = 6, BANDWIDTHS = 5, STREAMS = 5, RATES = 9 };
enum { PUBLISHED = LATENCIES + BANDWIDTHS + STREAMS };

/* Matrix instructions: peak rates of the data sheet, from a wave on each SIMD of the device. */
static void measure_rates(struct bench *b, struct row *r)
{
    static const struct {
        const char *kernel, *what;
        double flops, peak;
    } all[RATES] = {
        {"rate_f32_32x32x2", "f32 32x32x2", 2.0 * 32 * 32 * 2, 163.4},
        {"rate_f32_16x16x4", "f32 16x16x4", 2.0 * 16 * 16 * 4, 163.4},
        {"rate_f16_32x32x8", "f16 32x32x8", 2.0 * 32 * 32 * 8, 1307.4},
        {"rate_f16_16x16x16", "f16 16x16x16", 2.0 * 16 * 16 * 16, 1307.4},
        {"rate_i8_32x32x16", "i8 32x32x16", 2.0 * 32 * 32 * 16, 2614.9},
        {"rate_i8_16x16x32", "i8 16x16x32", 2.0 * 16 * 16 * 32, 2614.9},
        {"rate_fp8_32x32x16", "fp8 32x32x16", 2.0 * 32 * 32 * 16, 2614.9},
        {"rate_fp8_16x16x32", "fp8 16x16x32", 2.0 * 16 * 16 * 32, 2614.9},
        {"rate_f64_16x16x4", "f64 16x16x4", 2.0 * 16 * 16 * 4, 163.4},
    };
    for (unsigned i = 0; i < RATES; i++) {
        double took[2];
        for (int k = 0; k < 2; k++) {
            const struct {
                void *out;
                int n;
            } args = {b->c, 128 << k};
            took[k] = clocks(b, all[i].kernel, BLOCKS, 256, &args, sizeof args);
        }
        const double flops = all[i].flops * 128 * BLOCKS * 4;
        *r++ = (struct row){"",          all[i].what,
                            "TFLOP/s",   "MI300X data sheet",
                            all[i].peak, flops / ((took[1] - took[0]) / b->clock_hz) * 1e-12,
                            false};
    }
}

/* ---- the report ---------------------------------------------------------------------------- */

static double error_percent(const struct row *r)
{
    return 100 * (r->modelled - r->published) / r->published;
}

static void print_rows(const struct row *r, unsigned count)
{
    printf("| # | quantity | published | modelled | unit | error | source |\n"
           "|---|---|---:|---:|---|---:|---|\n");
    for (unsigned i = 0; i < count; i++)
        printf("| %s | %s | %.6g | %.6g | %s | %+.1f %% | %s |\n", r[i].number, r[i].what,
               r[i].published, r[i].modelled, r[i].unit, error_percent(&r[i]), r[i].source);
    printf("\n");
}

static void print_summary(const char *what, const struct row *r, unsigned count)
{
    double sum = 0, worst = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += fabs(error_percent(&r[i]));
        worst = fmax(worst, fabs(error_percent(&r[i])));
    }
    printf("%s: %u rows, mean absolute error %.1f %%, worst %.1f %%.\n\n", what, count, sum / count,
           worst);
}

static void print_report(const struct row *r)
{
    const unsigned fitted = LATENCIES + BANDWIDTHS;
    printf("# Accuracy of the detailed timing model\n\n"
           "Written by `bench/model-accuracy`; do not edit. HIP kernels (`tests/isa/timing.hip`), "
           "compiled for\ngfx942 and executed on the software MI300X, with the time of its "
           "detailed timing model\n(docs/device.md, \"Detailed timing\") against published "
           "measurements of MI300X. This project has run\nnothing on an MI300X.\n\n"
           "Sources: mt4g is TUM's report of an MI300X VF at 2100 MHz of 2025-08-08; Chips and "
           "Cheese, \"Testing\nAMD's Giant MI300X\", 2024; AMD acceptance floor, the thresholds "
           "of AMD's acceptance tests, which\nhealthy devices exceed; MI300X data sheet.\n\n"
           "## Fitted\n\nThe model's constants are these very values (`src/arch/gfx942.c`): the "
           "rows show that it gives\nback what was put in, no more.\n\n");
    print_rows(r, fitted);
    print_summary("Fitted", r, fitted);
    printf("## Not fitted\n\nBabelStream with %d doubles per array (%d MB each), as "
           "published;\nbytes over the duration of the kernel, launch "
           "included.\n\n",
           STREAM, (int)(STREAM * 8.0 / 1e6));
    print_rows(r + fitted, STREAMS);
    print_summary("Not fitted", r + fitted, STREAMS);
    printf("## Matrix instructions\n\nFour independent accumulators in each of 1216 waves, against "
           "peaks. Their passes are of LLVM's\nscheduling model.\n\n");
    print_rows(r + PUBLISHED, RATES);
    print_summary("Matrix instructions", r + PUBLISHED, RATES);
    printf("## Not covered\n\nRows 6 and 7 (sizes and lines) are constants of the caches. Rows 19 "
           "to 24 (rocBLAS and hipBLASLt\nGEMM) need the kernels of those libraries, which are not "
           "part of the private ROCm: no claim is made\nabout them.\n");
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct row rows[PUBLISHED + RATES];
    sim_init(&b.sim);
    if (argc != 2 || sim_load(&b.sim, argv[1], &b.code)) {
        fprintf(stderr, "usage: model-accuracy <timing.co>\n");
        return 2;
    }
    rp_timing_set_mode(RP_TIMING_DETAILED);
    b.clock_hz = b.sim.arch->engine_clock_mhz * 1e6;
    b.a = sim_alloc(&b.sim, (size_t)STREAM * 8);
    b.b = sim_alloc(&b.sim, (size_t)STREAM * 8);
    b.c = sim_alloc(&b.sim, (size_t)STREAM * 8);
    measure_latencies(&b, rows);
    measure_bandwidths(&b, rows + LATENCIES);
    measure_streams(&b, rows + LATENCIES + BANDWIDTHS);
    measure_rates(&b, rows + PUBLISHED);
    if (!b.failed)
        print_report(rows);
    sim_free(&b.sim);
    return b.failed;
}
