/*
 * How far the detailed timing model is from published measurements of MI300X: prints
 * bench/model-accuracy.md, or the same as JSON. Kernels run on the software device as any others;
 * what the model takes for them is compared in the unit of the publication.
 *
 * usage: model-accuracy [--json] [--group NAME]... <folder with timing.co, gemm.co, micro.co and
 * counters.co of tests/isa>
 * Groups are the headings of the page; without any, all. JSON: schemas/model_accuracy.schema.json.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy.h"
#include "arch/arch.h"
#include "device/timing/timing_model.h"

/* ---- measuring ----------------------------------------------------------------------------- */

double accuracy_launch(struct accuracy *b, const struct sim_code *code, const char *kernel,
                       const struct sim_launch *l)
{
    const uint64_t kd = sim_kernel(code, kernel);
    if (!kd || sim_run(&b->sim, kd, l) != RP_RUN_DONE || !b->sim.replayed) {
        fprintf(stderr, "model-accuracy: %s: %s\n", kernel, kd ? b->sim.fault.text : "not there");
        b->failed = true;
        return NAN;
    }
    return rp_timing_simulated_clocks(b->sim.arch, &b->sim.counts, &b->sim.stats);
}

double accuracy_clocks(struct accuracy *b, const struct sim_code *code, const char *kernel,
                       uint32_t blocks, uint32_t threads, const void *args, size_t args_bytes)
{
    return accuracy_launch(b, code, kernel,
                           &(struct sim_launch){.grid = {blocks * threads, 1, 1},
                                                .block = {threads, 1, 1},
                                                .args = args,
                                                .args_bytes = args_bytes});
}

double accuracy_seconds(const struct accuracy *b)
{
    return (double)b->sim.ticks / (b->sim.arch->timestamp_mhz * 1e6);
}

void accuracy_add(struct accuracy_group *g, struct accuracy_row row)
{
    if (g->count < ACCURACY_ROWS)
        g->row[g->count++] = row;
}

/* ---- the report ---------------------------------------------------------------------------- */

static bool is_published(const struct accuracy_row *r)
{
    return !isnan(r->published);
}

static double error_percent(const struct accuracy_row *r)
{
    return 100 * (r->modelled - r->published) / r->published;
}

struct summary {
    unsigned count; /* rows with something published */
    double mean_percent, worst_percent;
};

static void summarise(const struct accuracy_row *r, unsigned count, struct summary *s)
{
    for (unsigned i = 0; i < count; i++) {
        if (!is_published(&r[i]))
            continue;
        const double error = fabs(error_percent(&r[i]));
        s->mean_percent = (s->mean_percent * s->count + error) / (s->count + 1);
        s->worst_percent = fmax(s->worst_percent, error);
        s->count++;
    }
}

static void print_summary(const char *what, const struct summary *s)
{
    printf("%s: %u rows, mean absolute error %.1f %%, worst %.1f %%.\n", what, s->count,
           s->mean_percent, s->worst_percent);
}

static void print_group(const struct accuracy_group *g)
{
    struct summary s = {0};
    printf("\n## %s\n\n%s\n\n", g->name, g->text);
    printf("| # | quantity | published | modelled | unit | error | source |\n"
           "|---|---|---:|---:|---|---:|---|\n");
    for (unsigned i = 0; i < g->count; i++) {
        const struct accuracy_row *r = &g->row[i];
        if (is_published(r))
            printf("| %s | %s | %.6g | %.6g | %s | %+.1f %% | %s |\n", r->number, r->what,
                   r->published, r->modelled, r->unit, error_percent(r), r->source);
        else
            printf("| %s | %s | none | %.6g | %s | | |\n", r->number, r->what, r->modelled,
                   r->unit);
    }
    summarise(g->row, g->count, &s);
    printf("\n");
    if (s.count)
        print_summary(g->name, &s);
    else
        printf("Nothing is claimed about these.\n");
}

/* Rows 15 to 24, which were used for nothing; with and without those whose clock is not known. */
static void summarise_held_out(const struct accuracy_group *g, unsigned groups, int first, int last,
                               struct summary *s)
{
    for (unsigned i = 0; i < groups; i++)
        for (unsigned k = 0; k < g[i].count; k++) {
            const int number = atoi(g[i].row[k].number);
            if (number >= first && number <= last)
                summarise(&g[i].row[k], 1, s);
        }
}

static const char intro[] =
    "# Accuracy of the detailed timing model\n\n"
    "Written by `bench/model-accuracy`; do not edit. HIP kernels (`tests/isa/timing.hip`, "
    "`gemm.hip`,\n`micro.hip`, `counters.hip`), compiled for gfx942 and executed on the software "
    "MI300X, with the\ntime of its detailed timing model (docs/device.md, \"Detailed timing\") "
    "against published measurements\nof MI300X. This project has run nothing on an MI300X.\n\n"
    "Sources:\n\n"
    "* mt4g: TUM's report of an MI300X VF at 2100 MHz, 2025-08-08\n"
    "* SC25: gpu-latency, gpu-stream (as many waves as fit) and gpu-l2-cache (40 MiB and more) on "
    "bare metal in\n"
    "  hibagus/SC25_AMD_CDNA3_Artifact; mt4g has 287.5 clocks, 3690 and 4117 GiB/s, Chips and "
    "Cheese 11.9 TB/s\n"
    "* Chips and Cheese: \"Testing AMD's Giant MI300X\", 2024\n"
    "* AMD acceptance example, AMD acceptance floor: AMD Instinct documentation, \"System "
    "acceptance\",\n  MI300X performance benchmarks: outputs that it shows, and thresholds that "
    "healthy devices exceed\n"
    "* ROCm blog, MAF part 2: \"Measuring Max-Achievable FLOPs\", with the clocks that the device "
    "had\n"
    "* rocBLAS tuning table: `aquavanjaram_Cijk_Ailk_Bjlk_SB.yaml`, efficiency of a kernel as AMD "
    "measured it\n"
    "* rocprof-compute sample: counters and timestamps of a vector copy on an MI300X, in its "
    "tests\n"
    "* MI300X data sheet; CDNA3 ISA guide; ROCm Compute Profiler documentation; LLVM's scheduling "
    "model\n";

static void print_report(const struct accuracy_group *g, unsigned groups)
{
    struct summary all = {0}, clocks = {0};
    printf("%s\n", intro);
    summarise_held_out(g, groups, 15, 24, &all);
    summarise_held_out(g, groups, 15, 18, &clocks);
    summarise_held_out(g, groups, 21, 24, &clocks);
    printf("Of the numbered rows 1 to 24 of the list that this follows, 1 to 5 and 8 to 14 were "
           "used for\nfitting (14 for what a turn from reads to writes costs), 15 to 24 for "
           "nothing; 6 and 7\n(sizes and lines) are constants of the caches.\n\n");
    print_summary("* Rows 15 to 18 and 21 to 24, which are comparable", &clocks);
    print_summary("* Rows 15 to 24 with 19 and 20, of which the device's clock was not published",
                  &all);
    for (unsigned i = 0; i < groups; i++)
        print_group(&g[i]);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_number(const char *name, double x, const char *end)
{
    if (isnan(x))
        printf("\"%s\": null%s", name, end);
    else
        printf("\"%s\": %.6g%s", name, x, end);
}

static void print_json(const struct accuracy_group *g, unsigned groups)
{
    printf("{\n  \"schema_version\": \"1.0\",\n  \"device\": \"software\",\n  \"groups\": [\n");
    for (unsigned i = 0; i < groups; i++) {
        struct summary s = {0};
        summarise(g[i].row, g[i].count, &s);
        printf("    {\"name\": \"%s\", \"fitted\": %s, ", g[i].name,
               g[i].fitted ? "true" : "false");
        print_number("mean_absolute_error_percent", s.count ? s.mean_percent : NAN, ", ");
        print_number("worst_error_percent", s.count ? s.worst_percent : NAN, ", \"rows\": [\n");
        for (unsigned k = 0; k < g[i].count; k++) {
            const struct accuracy_row *r = &g[i].row[k];
            printf("      {\"number\": \"%s\", \"quantity\": \"%s\", \"unit\": \"%s\", "
                   "\"source\": \"%s\", ",
                   r->number, r->what, r->unit, r->source);
            print_number("published", r->published, ", ");
            print_number("modelled", r->modelled, ", ");
            print_number("error_percent", is_published(r) ? error_percent(r) : NAN,
                         k + 1 < g[i].count ? "},\n" : "}\n");
        }
        printf("    ]}%s\n", i + 1 < groups ? "," : "");
    }
    printf("  ]\n}\n");
}

/* ---- groups -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
    bool fitted;
    void (*measure)(struct accuracy *b, struct accuracy_group *g);
} groups[] = {
    {"Fitted",
     "The model's constants are these very values (`src/arch/gfx942.c`), and the launch's clocks "
     "were\nchosen by the duration of the copy, which took 5.2 to 9.6 us in the sample: the rows "
     "show that it\ngives back what was put in, no more.",
     true, accuracy_latencies},
    {"BabelStream",
     "33554432 doubles per array (268 MB each), bytes over the duration of the kernel, launch "
     "included.\nThe floors are rows 14 to 18; the example was measured with 268435456 doubles per "
     "array, which is\nlonger than this model needs and more memory than its tests may take.",
     false, accuracy_streams},
    {"Matrix products in clocks",
     "A device at its power limit computes at 1.1 to 1.2 GHz, and the model knows no power: "
     "compared "
     "is the\nwork of a clock, published rates over their published clocks. The kernels are this "
     "project's own, not\nthe libraries': tiles of 256 x 256 (fp8: 256 x 192) as suit the "
     "published shape M 4096, N 4864\n(fp8: 3648), K 32896, one for each of 304 compute units. "
     "That shape is computed with K of 4224 and\n8320, and each further K taken to last as long as "
     "those between. The blog's numbers for fp8\ncontradict each other (1273 TFLOP/s in the text, "
     "1223.6 in a note). Memory is slower in clocks here\nthan it was there: the model's clock is "
     "2100 MHz. The f32 kernel has the tile of rocBLAS's solution\nfor its shape, and is computed "
     "whole; on which device of the family the table was made it does not\nsay, but the shape "
     "fills 228 compute units as well as 304.",
     false, accuracy_gemm_clocks},
    {"Matrix products in time",
     "rocblas-bench repeats each product ten times on a device that was idle, and no clock is "
     "published with\nits output. The model's is always 2100 MHz, so these rows say what the "
     "device "
     "may reach, and errors\nabove zero are to be expected; with the modelled clocks the published "
     "times would be those of a\ndevice at 1.4 to 1.6 GHz. The kernels are this project's own, "
     "with "
     "the tiles, the depth and the order\nof stores of the solutions that rocBLAS's tables for "
     "gfx942 have nearest to these shapes: 128 x 128 x\n16 for f32, 256 x 128 x 16 for f16, 64 x "
     "64 x 64 for bytes. That was read from the tables, not seen\non a device. AMD's floors are "
     "94.1, 130.6 and 162.7.",
     false, accuracy_gemm_time},
    {"Matrix instructions",
     "Four independent accumulators in each of 1216 waves, against peaks. Their passes are of "
     "LLVM's\nscheduling model.",
     false, accuracy_matrix},
    {"Issue rates",
     "Clocks from one instruction to the next on a SIMD with two waves. The classes' constants are "
     "of the same\ndocuments (`src/device/isa/instruction.h`): the rows show that nothing comes "
     "between, but for branches of the\nloop.",
     false, accuracy_issue},
    {"LDS",
     "Clocks for each instruction of a wave, eight waves on each compute unit: the peak of 128 "
     "bytes a clock, and\n32 banks, where words s apart are on 32 / gcd(s, 32) of them.",
     false, accuracy_lds},
    {"Counters of a vector copy",
     "1,048,576 doubles, workgroups of 256, counters of detailed timing's replay. Counts of "
     "instructions and\nwaves are exact; instruction fetches of the L2 are not counted.",
     false, accuracy_counters},
    {"No reference",
     "No published measurement of an MI300X was found for these. Vector instructions as in \"Issue "
     "rates\",\nLDS instructions as in \"LDS\", additions of the whole device.",
     false, accuracy_unknown},
};
enum { GROUPS = sizeof groups / sizeof *groups };

struct chosen {
    bool json, some;
    bool group[GROUPS];
};

static bool choose_group(const char *name, struct chosen *ret)
{
    for (unsigned i = 0; i < GROUPS; i++)
        if (strcmp(groups[i].name, name) == 0)
            return ret->some = ret->group[i] = true;
    fprintf(stderr, "model-accuracy: there is no group %s\n", name);
    return false;
}

/* All but the last argument. */
static bool choose(int argc, char **argv, struct chosen *ret)
{
    for (int i = 1; i < argc - 1; i++)
        if (strcmp(argv[i], "--json") == 0)
            ret->json = true;
        else if (strcmp(argv[i], "--group") != 0 || ++i == argc - 1 || !choose_group(argv[i], ret))
            return false;
    return argc > 1;
}

static int load(struct accuracy *b, const char *folder)
{
    const struct {
        const char *name;
        struct sim_code *code;
    } all[] = {{"timing", &b->timing},
               {"gemm", &b->gemm},
               {"micro", &b->micro},
               {"counters", &b->counters}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.co", folder, all[i].name);
        if (sim_load(&b->sim, path, all[i].code))
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct accuracy b;
    static struct accuracy_group group[GROUPS];
    struct chosen chosen = {0};
    sim_init(&b.sim);
    if (!choose(argc, argv, &chosen) || load(&b, argv[argc - 1])) {
        fprintf(stderr, "usage: model-accuracy [--json] [--group NAME]... <folder with timing.co, "
                        "gemm.co, micro.co and counters.co>\n");
        return 2;
    }
    rp_timing_set_mode(RP_TIMING_DETAILED);
    b.clock_hz = b.sim.arch->engine_clock_mhz * 1e6;
    b.a = sim_alloc(&b.sim, (size_t)ACCURACY_STREAM * 8);
    b.b = sim_alloc(&b.sim, (size_t)ACCURACY_STREAM * 8);
    b.c = sim_alloc(&b.sim, (size_t)ACCURACY_STREAM * 8);
    unsigned count = 0;
    for (unsigned i = 0; i < GROUPS && !b.failed; i++) {
        if (chosen.some && !chosen.group[i])
            continue;
        group[count] = (struct accuracy_group){
            .name = groups[i].name, .text = groups[i].text, .fitted = groups[i].fitted};
        groups[i].measure(&b, &group[count++]);
    }
    if (!b.failed && chosen.json)
        print_json(group, count);
    else if (!b.failed && !chosen.some)
        print_report(group, count);
    for (unsigned i = 0; i < count && !b.failed && chosen.some && !chosen.json; i++)
        print_group(&group[i]);
    sim_free(&b.sim);
    return b.failed;
}
