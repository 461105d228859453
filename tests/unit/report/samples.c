#include "report/samples.h"

#include "arch/arch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const vadd_command[] = {"./vadd", "1024", "--check"};
static const char *const vadd_traces[] = {".rocpd_profile/trace_results.db"};
static const double equal_ms[] = {0.0034, 0.0034, 0.0034};
static const double wall_ms[] = {181.25, 179.5, 190.125};

static struct rp_agent_summary mi300x(void)
{
    return (struct rp_agent_summary){
        .name = "gfx942",
        .product = "AMD Instinct MI300X",
        .arch = rp_arch_find("gfx942"),
        .trace_id = 1,
        .compute_units = 304,
        .wave_size = 64,
        .xcc_count = 8,
        .engine_clock_mhz = 2100,
        .memory_clock_mhz = 1300,
        .memory_bytes = 206141652992,
        .family = "CDNA3",
        .simds_per_cu = 4,
        .max_waves_per_simd = 8,
        .lds_bytes_per_cu = 65536,
    };
}

static struct rp_kernel_summary kernel(const char *name, uint64_t total_ns, uint32_t vgpr)
{
    struct rp_kernel_summary k = {
        .name = name,
        .symbol = "_Z4vaddPKfS0_Pfi",
        .symbol_known = true,
        .calls = 2,
        .timed_calls = 2,
        .total_ns = total_ns,
        .min_ns = total_ns / 3,
        .max_ns = total_ns - total_ns / 3,
        .share = 1,
        .grid = {1024, 1, 1},
        .block = {256, 1, 1},
        .geometries = 1,
        .resources = {.arch_vgpr = vgpr,
                      .accum_vgpr = 4,
                      .sgpr = 16,
                      .lds_bytes = 1024,
                      .workgroup_size = 256,
                      .wave_size = 64},
    };

    rp_occupancy_compute(rp_arch_find("gfx942"), &k.resources, &k.occupancy);
    return k;
}

static struct rp_profile_report report_of(const struct rp_profile *profile)
{
    return (struct rp_profile_report){
        .profile = profile,
        .device = "software",
        .measurement = RP_MEASURED_DISPATCHES,
        .runtime_ms = equal_ms,
        .runs = COUNT(equal_ms),
        .provenance = {.command = vadd_command,
                       .command_count = COUNT(vadd_command),
                       .rocm_version = "7.2.4",
                       .tool_version = "0.1.0",
                       .tracer = "builtin",
                       .tracer_version = "0.1.0",
                       .trace_schema = "3.0.0",
                       .traces = vadd_traces,
                       .trace_count = COUNT(vadd_traces),
                       .wall_ms = wall_ms,
                       .wall_count = COUNT(wall_ms)},
    };
}

/** A zeroed profile that lives as long as the program; everything in it is set by the caller. */
static struct rp_profile *new_profile(size_t kernels, size_t agents)
{
    static struct {
        struct rp_profile profile;
        struct rp_kernel_summary kernels[64];
        struct rp_agent_summary agents[2];
    } pool[8];
    static size_t used;
    struct rp_profile *p;

    if (used == COUNT(pool) || kernels > COUNT(pool[0].kernels) || agents > COUNT(pool[0].agents))
        abort();
    p = &pool[used].profile;
    p->kernels = pool[used].kernels;
    p->agents = pool[used].agents;
    used++;
    p->kernel_count = kernels;
    p->agent_count = agents;
    p->complete = true;
    rp_stability_compute(equal_ms, COUNT(equal_ms), &p->stability);
    return p;
}

static struct rp_profile_report make_one(void)
{
    static const double kernel_ms[COUNT(equal_ms) * 2] = {0.003, 0.0004, 0.003, NAN, 0.003, NAN};
    static double late_ms[COUNT(equal_ms)] = {NAN, 0.0007, NAN};
    static uint64_t late_calls[COUNT(equal_ms)] = {0, 1, 2};
    static struct rp_repeat_kernel late = {.calls = late_calls, .ms = late_ms, .total_ms = 0.0007};
    static const struct rp_repeat_kernels repeats = {.list = &late, .count = 1};
    static struct rp_run_difference differs = {
        .name = "late(float*)", .symbol = "late", .agent = 1, .calls = late_calls};
    static const struct rp_run_differences differences = {.list = &differs, .count = 1};
    struct rp_profile *p = new_profile(2, 1);
    struct rp_profile_report r;

    p->agents[0] = mi300x();
    p->kernels[0] = kernel("vadd(float const*, float const*, float*, int)", 3000, 12);
    p->kernels[1] = kernel("__amd_rocclr_copyBuffer", 400, 8);
    p->kernels[1].runtime_internal = true;
    p->user_ns = 3000;
    p->runtime_internal_ns = 400;
    p->dispatches = 4;
    r = report_of(p);
    r.kernel_ms = kernel_ms;
    late.summary = kernel("late(float*)", 700, 16);
    late.summary.agent = 1; /* the base run has one GPU */
    r.repeat_kernels = &repeats;
    r.differences = &differences;
    return r;
}

static struct rp_profile_report make_many(void)
{
    static char names[50][160];
    struct rp_profile *p = new_profile(50, 2);
    struct rp_profile_report r = report_of(p);

    p->agents[0] = mi300x();
    p->agents[1] = mi300x();
    for (size_t i = 0; i < 50; i++) {
        snprintf(names[i], sizeof names[i],
                 "void gemm_%zu<128, 128, 16, (anonymous namespace)::Layout, float, "
                 "std::integral_constant<int, %zu> >(float const*, float const*, float*, int)",
                 i, i);
        p->kernels[i] = kernel(names[i], 1000000000000ull - i, 8 + 8 * (uint32_t)i);
        p->kernels[i].geometries = 1 + i % 3;
        p->kernels[i].agent = i % 2;
        p->kernels[i].share = 0.02;
        p->user_ns += p->kernels[i].total_ns;
    }
    p->dispatches = 100;
    r.device = "hardware";
    r.provenance.tracer = "rocprofv3";
    return r;
}

static struct rp_profile_report make_unknown_arch(void)
{
    struct rp_profile *p = new_profile(2, 1);
    struct rp_profile_report r = report_of(p);

    p->agents[0] = (struct rp_agent_summary){.name = "gfx1250", .trace_id = 1};
    p->kernels[0] = kernel("k", 10, 8);
    rp_occupancy_compute(NULL, &p->kernels[0].resources, &p->kernels[0].occupancy);
    p->kernels[1] = kernel("(unknown kernel 3)", 0, 0);
    p->kernels[1].symbol = "";
    p->kernels[1].symbol_known = false;
    p->kernels[1].timed_calls = p->kernels[1].min_ns = p->kernels[1].max_ns = 0;
    p->kernels[1].resources.workgroup_size = 0;
    memset(&p->kernels[1].occupancy, 0, sizeof p->kernels[1].occupancy);
    strcpy(p->kernels[1].occupancy.reason, "the trace has no symbol of this kernel");
    p->user_ns = 10;
    p->dispatches = 4;
    p->unknown_kernels = 2;
    p->repaired_timestamps = 2;
    p->complete = false;
    r.provenance.incomplete_traces = 1;
    r.provenance.lost_records = 5;
    r.provenance.lost_dispatches = 6;
    r.provenance.untraced_queues = 1;
    r.provenance.exit_status = 139;
    r.provenance.rocm_version = NULL;
    r.provenance.tracer_version = NULL;
    return r;
}

static struct rp_profile_report make_wallclock(void)
{
    struct rp_profile *p = new_profile(0, 0);
    struct rp_profile_report r = report_of(p);

    rp_stability_compute(wall_ms, COUNT(wall_ms), &p->stability);
    r.measurement = RP_MEASURED_WALL_CLOCK;
    r.runtime_ms = wall_ms;
    r.runs = COUNT(wall_ms);
    r.provenance.tracer = "wallclock";
    r.provenance.trace_schema = NULL;
    r.provenance.trace_count = 0;
    return r;
}

static struct rp_profile_report make_hostile(void)
{
    static const char *const command[] = {"./a \"b\"", "\x1b[31mred\x1b[0m", "\xff\xfe", ""};
    struct rp_profile *p = new_profile(4, 1);
    struct rp_profile_report r = report_of(p);

    p->agents[0] = mi300x();
    p->agents[0].vgprs_doubled = true;
    p->kernels[0] = kernel("quote\" back\\slash \x1b[2J\x07 new\nline\ttab", 40, 12);
    p->kernels[1] = kernel("b\xc3\xa4r \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x9a\x80 \xe2\x80\xae"
                           "reversed",
                           30, 12);
    /* Cut-off, overlong, surrogate, beyond U+10FFFF, lone continuation. */
    p->kernels[2] = kernel("\xe4\xb8 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \x80 \xf0\x9f", 20, 12);
    p->kernels[3] = kernel("", 10, 12);
    p->user_ns = 100;
    p->dispatches = 8;
    r.provenance.command = command;
    r.provenance.command_count = COUNT(command);
    return r;
}

static struct rp_profile_report make_runtime_only(void)
{
    struct rp_profile *p = new_profile(1, 1);

    p->agents[0] = mi300x();
    p->kernels[0] = kernel("__amd_rocclr_fillBufferAligned", 400, 8);
    p->kernels[0].runtime_internal = true;
    p->runtime_internal_ns = 400;
    p->dispatches = 2;
    return report_of(p);
}

const struct sample *samples(size_t *ret_count)
{
    static struct sample all[7];

    if (!all[0].name) {
        struct rp_profile *empty = new_profile(0, 0);

        all[0] = (struct sample){"empty", report_of(empty)};
        all[1] = (struct sample){"one", make_one()};
        all[2] = (struct sample){"many", make_many()};
        all[3] = (struct sample){"unknown_arch", make_unknown_arch()};
        all[4] = (struct sample){"wallclock", make_wallclock()};
        all[5] = (struct sample){"hostile", make_hostile()};
        all[6] = (struct sample){"runtime_only", make_runtime_only()};
    }
    *ret_count = COUNT(all);
    return all;
}

const struct rp_profile_report *sample(const char *name)
{
    size_t count;
    const struct sample *all = samples(&count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0)
            return &all[i].report;
    }
    abort();
}
