/* Databases are made with the store's writer and read back, as a traced program leaves them. */
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/rocpd.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define VADD_EXTDATA                                                                               \
    "{\"cu_count\":304,\"wave_front_size\":64,\"num_xcc\":8,\"device_id\":29857,"                  \
    "\"max_engine_clk_fcompute\":2100,\"mem_banks\":[{\"size_in_bytes\":1000,"                     \
    "\"mem_clk_max\":1300},{\"size_in_bytes\":206141652992}]}"

/** Databases under construction and open ones; a folder that goes away with the test. */
struct lab {
    char dir[64];
    char *path[4];
    struct rp_store *stores[4];
    size_t count;
    struct rp_store_writer *writer;
    struct rp_err err;
};

static int lab_setup(void **state)
{
    struct lab *lab = calloc(1, sizeof *lab);

    assert_non_null(lab);
    strcpy(lab->dir, "/tmp/rp_profile_XXXXXX");
    assert_non_null(mkdtemp(lab->dir));
    *state = lab;
    return 0;
}

static int lab_teardown(void **state)
{
    struct lab *lab = *state;

    rp_store_writer_abandon(lab->writer);
    for (size_t i = 0; i < lab->count; i++) {
        rp_store_close(lab->stores[i]);
        unlink(lab->path[i]);
        free(lab->path[i]);
    }
    rmdir(lab->dir);
    free(lab);
    return 0;
}

static void ok(struct lab *lab, int rc)
{
    if (rc < 0)
        print_message("%s\n", lab->err.text);
    assert_int_equal(rc, 0);
}

/** @param device  NULL: as rocprofv3 writes it, without our metadata */
static void begin(struct lab *lab, const char *device, bool complete)
{
    const struct rp_store_origin origin = {
        .hostname = "test",
        .system_name = "Linux",
        .release = "6",
        .version = "1",
        .hardware_name = "x86_64",
        .machine_id = "0",
        .guid_time_ms = 1000 + lab->count,
        .guid_random = {1, lab->count},
        .device = device,
        .complete = complete,
    };
    const struct rp_row_process process = {.pid = 100 + (int64_t)lab->count, .command = "app"};
    const struct rp_row_queue queue = {.id = 1, .name = "Queue 0"};
    const struct rp_row_queue stream = {.id = 1, .name = "Stream 0"};
    char *path;

    path = rp_path_join(lab->dir, "0.db");
    assert_non_null(path);
    path[strlen(path) - 4] += (char)lab->count;
    lab->path[lab->count] = path;
    ok(lab, rp_store_writer_open(lab->path[lab->count], &origin, &lab->writer, &lab->err));
    ok(lab, rp_store_put_process(lab->writer, &process, &lab->err));
    ok(lab, rp_store_put_thread(lab->writer, process.pid, &lab->err));
    ok(lab, rp_store_put_queue(lab->writer, &queue, &lab->err));
    ok(lab, rp_store_put_stream(lab->writer, &stream, &lab->err));
}

static void put_agent(struct lab *lab, int64_t id, const char *name, const char *product,
                      const char *extdata)
{
    const struct rp_row_agent agent = {
        .id = id,
        .is_gpu = true,
        .absolute_index = id,
        .logical_index = id,
        .type_index = id,
        .name = name,
        .product_name = product,
        .extdata = extdata,
    };
    const struct rp_row_code_object object = {.id = id + 1, .agent_id = id, .uri = "memory://1"};

    ok(lab, rp_store_put_agent(lab->writer, &agent, &lab->err));
    ok(lab, rp_store_put_code_object(lab->writer, &object, &lab->err));
}

static void put_kernel(struct lab *lab, int64_t id, int64_t agent, const char *symbol,
                       const char *name, int64_t vgpr, int64_t agpr)
{
    const struct rp_row_kernel kernel = {
        .id = id,
        .code_object_id = agent + 1,
        .kernel_name = symbol,
        .display_name = name,
        .kernel_object = 0x1000 * id,
        .arch_vgpr_count = vgpr,
        .accum_vgpr_count = agpr,
        .sgpr_count = vgpr ? 16 : 0, /* no registers: a row that stands for an unknown kernel */
    };

    ok(lab, rp_store_put_kernel(lab->writer, &kernel, &lab->err));
}

struct launch {
    int64_t id, agent, kernel, start, end, grid, block, lds;
};

static void put_dispatch(struct lab *lab, struct launch l)
{
    const struct rp_row_dispatch row = {
        .id = l.id,
        .tid = 100 + (int64_t)lab->count,
        .agent_id = l.agent,
        .kernel_id = l.kernel,
        .dispatch_id = l.id,
        .queue_id = 1,
        .stream_id = 1,
        .correlation_id = l.id,
        .start_ns = l.start,
        .end_ns = l.end,
        .group_bytes = l.lds,
        .workgroup = {l.block, 1, 1},
        .grid = {l.grid, 1, 1},
    };

    ok(lab, rp_store_put_dispatch(lab->writer, &row, &lab->err));
}

static void finish(struct lab *lab)
{
    struct rp_store_writer *writer = lab->writer;

    lab->writer = NULL;
    ok(lab, rp_store_writer_commit(writer, &lab->err));
    ok(lab, rp_store_open(lab->path[lab->count], &lab->stores[lab->count], &lab->err));
    lab->count++;
}

static struct rp_profile *compute(struct lab *lab)
{
    static const double runs_ms[] = {1.0, 1.0, 1.0};
    struct rp_profile *profile = NULL;

    ok(lab, rp_store_tell_apart(lab->stores, lab->count, NULL, &lab->err));
    ok(lab, rp_profile_compute(lab->stores, lab->count, runs_ms, 3, &profile, &lab->err));
    assert_non_null(profile);
    return profile;
}

static void sums_up_a_run_with_a_runtime_kernel(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;
    const struct rp_kernel_summary *k;
    uint64_t ns, dispatches, bad;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "_Z4vaddPf.kd", "vadd(float*)", 12, 4);
    put_kernel(lab, 2, 1, "_Z4saxpPf.kd", "saxpy(float*) [clone .kd]", 72, 0);
    put_kernel(lab, 3, 1, "__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer", 8, 0);
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1500, 4096, 256, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 2000, 2300, 4096, 256, 0});
    put_dispatch(lab, (struct launch){3, 1, 2, 3000, 5000, 8192, 128, 1024});
    put_dispatch(lab, (struct launch){4, 1, 3, 6000, 6100, 512, 512, 0});
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->kernel_count, 3);
    assert_int_equal(p->dispatches, 4);
    assert_true(p->complete);
    assert_int_equal(p->user_ns, 2800);
    assert_int_equal(p->runtime_internal_ns, 100);

    k = &p->kernels[0];
    assert_string_equal(k->name, "saxpy(float*)");
    assert_string_equal(k->symbol, "_Z4saxpPf");
    assert_int_equal(k->calls, 1);
    assert_int_equal(k->resources.lds_bytes, 1024);
    assert_int_equal(k->occupancy.vgpr_waves_per_simd, 7);
    assert_int_equal(k->occupancy.limiter, RP_LIMIT_VGPR);

    k = &p->kernels[1];
    assert_string_equal(k->name, "vadd(float*)");
    assert_int_equal(k->calls, 2);
    assert_int_equal(k->timed_calls, 2);
    assert_int_equal(k->total_ns, 800);
    assert_int_equal(k->min_ns, 300);
    assert_int_equal(k->max_ns, 500);
    assert_true(fabs(k->share - 800.0 / 2800) < 1e-12);
    assert_int_equal(k->grid[0], 4096);
    assert_int_equal(k->block[0], 256);
    assert_int_equal(k->geometries, 1);
    assert_true(k->occupancy.known && k->occupancy.theoretical == 1.0);

    k = &p->kernels[2];
    assert_true(k->runtime_internal);
    assert_true(k->share == 1.0);

    assert_int_equal(p->stability.runs, 3);
    assert_int_equal(p->stability.classification, RP_STABLE);
    ok(lab, rp_store_runtime_ns(lab->stores[0], &ns, &dispatches, &bad, &lab->err));
    assert_int_equal(ns, 2900);
    assert_int_equal(dispatches, 4);
    assert_int_equal(bad, 0);
    rp_profile_free(p);
}

/* Times of two clocks do not add up; the other trace may be of hardware, which has none modelled.
 */
static void clocks_are_not_mixed(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p = NULL;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", "{\"cu_count\":304,\"device_id\":29857}");
    put_agent(lab, 2, "gfx942", "",
              "{\"cu_count\":304,\"device_id\":29857,\"rocm_perf_engine_clk\":1050}");
    for (int64_t i = 1; i <= 2; i++) {
        put_kernel(lab, i, i, "k.kd", "k", 8, 0);
        put_dispatch(lab, (struct launch){i, i, i, 10 * i, 10 * i + 5, 64, 64, 0});
    }
    finish(lab);
    assert_int_equal(rp_profile_compute(lab->stores, lab->count, NULL, 0, &p, &lab->err),
                     -(int)RP_BAD_INPUT);
    assert_string_equal(lab->err.text,
                        "one trace was modelled at 1050 MHz (--clock), and one trace was not: "
                        "analyse results of one clock at a time, or profile with the same --clock");
    lab->err = (struct rp_err)RP_ERR_INIT;
}

static void describes_the_gpu_from_the_trace(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_agent(lab, 2, "gfx942", "MI300A here", "{\"cu_count\":228,\"device_id\":29856}");
    put_agent(lab, 3, "gfx999", "", "{\"cu_count\":[304]}");
    put_agent(lab, 4, "gfx1030", NULL, "{\"cu_count\":-5,\"wave_front_size\":\"x\"}");
    put_agent(lab, 5, "gfx90a", "", "{\"cu_count\":104}"); /* runs nothing */
    put_agent(lab, 6, "gfx1201", "", "{\"cu_count\":56,\"device_id\":30032}");
    put_agent(lab, 7, "gfx1250", "", "{\"wave_front_size\":32}");
    for (int64_t i = 1; i <= 7; i++) {
        if (i == 5)
            continue;
        put_kernel(lab, i, i, "k.kd", "k", 8, 0);
        put_dispatch(lab, (struct launch){i, i, i, 10 * i, 10 * i + 5, 64, 64, 0});
    }
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->agent_count, 6);

    assert_string_equal(p->agents[0].product, "AMD Instinct MI300X");
    assert_int_equal(p->agents[0].compute_units, 304);
    assert_int_equal(p->agents[0].wave_size, 64);
    assert_int_equal(p->agents[0].memory_clock_mhz, 1300);
    assert_true(p->agents[0].memory_bytes == 206141652992);

    assert_string_equal(p->agents[1].product, "MI300A here");
    assert_int_equal(p->agents[1].compute_units, 228);
    assert_int_equal(p->agents[1].xcc_count, 6); /* of the product, not of the MI300X */

    assert_string_equal(p->agents[2].name, "gfx999");
    assert_null(p->agents[2].arch);
    assert_int_equal(p->agents[2].compute_units, 0);

    assert_string_equal(p->agents[3].product, "");
    assert_int_equal(p->agents[3].compute_units, 80);
    assert_int_equal(p->agents[3].wave_size, 32);

    assert_string_equal(p->agents[4].product, "AMD Radeon RX 9070");
    assert_string_equal(p->agents[4].family, "RDNA4");
    assert_int_equal(p->agents[4].memory_clock_mhz, 1258);
    assert_int_equal(p->agents[5].compute_units, 256);
    assert_int_equal(p->agents[5].lds_bytes_per_cu, 320 * 1024);

    /* One kernel on six GPUs is six rows; equal times and names: in the order of the GPUs. */
    assert_int_equal(p->kernel_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(p->kernels[i].agent, i);
    assert_false(p->kernels[2].occupancy.known);
    assert_string_equal(p->kernels[2].occupancy.reason,
                        "the architecture gfx999 is not in the table");
    assert_int_equal(p->kernels[3].occupancy.wave_size, 32);
    assert_int_equal(p->kernels[4].occupancy.max_waves_per_cu, 64); /* of two CUs */
    assert_int_equal(p->kernels[4].occupancy.cus_per_block, 2);
    assert_true(p->kernels[5].occupancy.known);
    assert_int_equal(p->kernels[5].occupancy.max_waves_per_cu, 64);
    assert_int_equal(p->kernels[5].occupancy.cus_per_block, 1);
    rp_profile_free(p);
}

/* Some tracers close a trace in order and say in it that not everything is there. */
static void what_was_lost_makes_it_incomplete(void **state)
{
    static const char *const tags[] = {"rocm_perf_lost_dispatches", "rocm_perf_lost_records",
                                       "rocm_perf_untraced_queues"};
    struct lab *lab = *state;

    for (size_t i = 0; i < 4; i++) {
        struct rp_profile *p = NULL;

        begin(lab, "software", true);
        put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
        put_kernel(lab, 1, 1, "a.kd", "a", 8, 0);
        put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1400, 64, 64, 0});
        if (i < 3)
            ok(lab, rp_store_put_metadata(lab->writer, tags[i], "3", &lab->err));
        finish(lab);
        ok(lab, rp_profile_compute(&lab->stores[i], 1, NULL, 0, &p, &lab->err));
        if (p->complete != (i == 3))
            fail_msg("%s", i < 3 ? tags[i] : "nothing lost");
        rp_profile_free(p);
    }
}

static void counts_unusable_times_and_leaves_them_out(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;
    uint64_t ns, dispatches, bad;

    begin(lab, "software", false);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 8, 0);
    put_kernel(lab, 2, 1, "b.kd", "b", 8, 0);
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1400, 64, 64, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 5000, 4000, 64, 64, 0}); /* ends before start */
    put_dispatch(lab, (struct launch){3, 1, 2, 0, 100, 64, 64, 0});     /* no start */
    put_dispatch(lab, (struct launch){4, 1, 1, 2000, 2000, 64, 64, 0}); /* zero is a time */
    finish(lab);
    p = compute(lab);
    assert_false(p->complete);
    assert_int_equal(p->dispatches, 4);
    assert_int_equal(p->repaired_timestamps, 2);
    assert_int_equal(p->user_ns, 400);
    assert_string_equal(p->kernels[0].name, "a");
    assert_int_equal(p->kernels[0].calls, 3);
    assert_int_equal(p->kernels[0].timed_calls, 2);
    assert_int_equal(p->kernels[0].min_ns, 0);
    assert_int_equal(p->kernels[1].calls, 1);
    assert_int_equal(p->kernels[1].timed_calls, 0);
    assert_int_equal(p->kernels[1].total_ns, 0);
    ok(lab, rp_store_runtime_ns(lab->stores[0], &ns, &dispatches, &bad, &lab->err));
    assert_int_equal(ns, 400);
    assert_int_equal(bad, 2);
    rp_profile_free(p);
}

static void shows_the_most_frequent_geometry(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 8, 0);
    put_kernel(lab, 2, 1, "tie.kd", "tie", 8, 0);
    put_dispatch(lab, (struct launch){1, 1, 1, 100, 109, 64, 64, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 200, 209, 1024, 256, 4096});
    put_dispatch(lab, (struct launch){3, 1, 1, 300, 309, 512, 64, 0});
    put_dispatch(lab, (struct launch){4, 1, 1, 400, 409, 1024, 256, 4096});
    put_dispatch(lab, (struct launch){5, 1, 1, 500, 509, 1024, 256, 0});
    /* The bigger grid came first and is named although it sorts last. */
    put_dispatch(lab, (struct launch){6, 1, 2, 600, 601, 2048, 64, 0});
    put_dispatch(lab, (struct launch){7, 1, 2, 700, 701, 128, 64, 0});
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->kernels[0].geometries, 4);
    assert_int_equal(p->kernels[0].grid[0], 1024);
    assert_int_equal(p->kernels[0].block[0], 256);
    assert_int_equal(p->kernels[0].resources.lds_bytes, 4096);
    assert_int_equal(p->kernels[1].geometries, 2);
    assert_int_equal(p->kernels[1].grid[0], 2048);
    rp_profile_free(p);
}

/* Two processes number their kernels differently; the same kernel is one row, a kernel of the same
 * name with other registers (another build) is another. */
static void joins_the_processes_of_a_run(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 8, 0);
    put_dispatch(lab, (struct launch){1, 1, 1, 100, 200, 64, 64, 0});
    finish(lab);
    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 16, 0);
    put_kernel(lab, 2, 1, "a.kd", "a", 8, 0);
    put_dispatch(lab, (struct launch){1, 1, 2, 100, 150, 64, 64, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 160, 170, 64, 64, 0});
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->agent_count, 1);
    assert_int_equal(p->kernel_count, 2);
    assert_int_equal(p->kernels[0].resources.arch_vgpr, 8);
    assert_int_equal(p->kernels[0].calls, 2);
    assert_int_equal(p->kernels[0].total_ns, 150);
    assert_int_equal(p->kernels[1].resources.arch_vgpr, 16);
    assert_int_equal(p->user_ns, 160);
    rp_profile_free(p);
}

static void orders_equal_times_by_name(void **state)
{
    struct lab *lab = *state;
    static const char *const names[] = {"delta", "alpha", "charlie", "bravo"};
    static const char *const expected[] = {"alpha", "bravo", "charlie", "delta"};
    struct rp_profile *p;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    for (int64_t i = 0; i < 4; i++) {
        put_kernel(lab, i + 1, 1, names[i], names[i], 8, 0);
        put_dispatch(lab, (struct launch){i + 1, 1, i + 1, 100 * i + 1, 100 * i + 11, 64, 64, 0});
    }
    finish(lab);
    p = compute(lab);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(p->kernels[i].name, expected[i]);
    rp_profile_free(p);
}

static void keeps_the_time_of_kernels_without_name(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 8, 0);
    put_kernel(lab, 7, 1, "", "", 0, 0);
    put_dispatch(lab, (struct launch){1, 1, 1, 100, 200, 64, 64, 0});
    put_dispatch(lab, (struct launch){2, 1, 7, 300, 700, 64, 64, 512});
    put_dispatch(lab, (struct launch){3, 1, 7, 800, 900, 64, 64, 512});
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->unknown_kernels, 2);
    assert_int_equal(p->user_ns, 600);
    assert_string_equal(p->kernels[0].name, "(unknown kernel 7)");
    assert_false(p->kernels[0].symbol_known);
    assert_false(p->kernels[0].occupancy.known);
    assert_int_equal(p->kernels[0].calls, 2);
    assert_int_equal(p->kernels[0].resources.lds_bytes, 512);
    assert_true(p->kernels[1].symbol_known);
    rp_profile_free(p);
}

static void first_gfx950(struct lab *lab, const char *device, int64_t agpr)
{
    begin(lab, device, true);
    put_agent(lab, 1, "gfx950", "", "{}");
    put_kernel(lab, 1, 1, "a.kd", "a", 124, agpr);
    put_kernel(lab, 2, 1, "b.kd", "b", 20, 0);
    put_dispatch(lab, (struct launch){1, 1, 1, 100, 200, 256, 256, 0});
    put_dispatch(lab, (struct launch){2, 1, 2, 300, 310, 256, 256, 0});
    finish(lab);
}

static void mends_the_halved_registers_of_gfx950(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    first_gfx950(lab, NULL, 0);
    p = compute(lab);
    assert_true(p->agents[0].vgprs_doubled);
    assert_int_equal(p->kernels[0].resources.arch_vgpr, 248);
    assert_int_equal(p->kernels[0].occupancy.waves_per_simd, 2);
    assert_int_equal(p->kernels[1].resources.arch_vgpr, 40);
    rp_profile_free(p);
}

static void leaves_sound_gfx950_registers_alone(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    first_gfx950(lab, NULL, 4); /* one kernel shows AGPRs: this tracer knows gfx950 */
    p = compute(lab);
    assert_false(p->agents[0].vgprs_doubled);
    assert_int_equal(p->kernels[0].resources.arch_vgpr, 124);
    rp_profile_free(p);
}

static void trusts_its_own_gfx950_traces(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    first_gfx950(lab, "hardware", 0);
    p = compute(lab);
    assert_false(p->agents[0].vgprs_doubled);
    assert_int_equal(p->kernels[0].resources.arch_vgpr, 124);
    rp_profile_free(p);
}

static void a_run_without_traces_has_no_kernels(void **state)
{
    static const double wall_ms[] = {10, 20};
    struct rp_profile *p = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_profile_compute(NULL, 0, wall_ms, 2, &p, &err), 0);
    assert_int_equal(p->kernel_count, 0);
    assert_int_equal(p->agent_count, 0);
    assert_true(p->complete);
    assert_true(p->stability.mean_ms == 15);
    assert_int_equal(p->stability.classification, RP_UNSTABLE);
    rp_profile_free(p);
    rp_profile_free(NULL);
}

static void refuses_times_that_add_up_to_nonsense(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p = NULL;
    uint64_t ns, dispatches, bad;

    begin(lab, "software", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 8, 0);
    for (int64_t i = 1; i <= 3; i++)
        put_dispatch(lab, (struct launch){i, 1, 1, 1, INT64_MAX, 64, 64, 0});
    finish(lab);
    assert_int_equal(rp_profile_compute(lab->stores, 1, NULL, 0, &p, &lab->err),
                     -(int)RP_BAD_INPUT);
    assert_null(p);
    assert_int_equal(rp_store_runtime_ns(lab->stores[0], &ns, &dispatches, &bad, &lab->err),
                     -(int)RP_BAD_INPUT);
}

static void put_replay(struct lab *lab, int64_t id, int64_t waves, int64_t replayed, double error)
{
    const struct rp_row_simulation row = {
        .id = id, .waves = waves, .replayed_waves = replayed, .error_share = error};

    ok(lab, rp_store_put_simulation(lab->writer, &row, &lab->err));
}

static void begin_modelled(struct lab *lab, const char *model, const char *version)
{
    begin(lab, "software", true);
    ok(lab, rp_store_put_metadata(lab->writer, RP_STORE_TIMING_TAG, model, &lab->err));
    ok(lab, rp_store_put_metadata(lab->writer, RP_STORE_TIMING_VERSION_TAG, version, &lab->err));
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 12, 4);
    put_kernel(lab, 2, 1, "b.kd", "b", 12, 4);
}

/* Two geometries of a; one launch of a and all of b were not replayed. */
static void errors_of_replays_weigh_by_time(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin_modelled(lab, "detailed", "7");
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1100, 640, 64, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 2000, 2300, 640, 64, 0});
    put_dispatch(lab, (struct launch){3, 1, 1, 3000, 3600, 1280, 64, 0});
    put_dispatch(lab, (struct launch){4, 1, 1, 4000, 5000, 640, 64, 0});
    put_dispatch(lab, (struct launch){5, 1, 2, 5000, 6000, 64, 64, 0});
    put_replay(lab, 3, 20, 5, 0.5);
    put_replay(lab, 1, 10, 10, 0);
    put_replay(lab, 2, 10, 4, 0.2);
    finish(lab);
    p = compute(lab);
    assert_string_equal(p->timing_model, "detailed");
    assert_int_equal(p->timing_version, 7);
    assert_int_equal(p->kernel_count, 2);
    assert_string_equal(p->kernels[0].name, "a");
    assert_int_equal(p->kernels[0].replayed.calls, 3);
    assert_int_equal(p->kernels[0].replayed.waves, 40);
    assert_int_equal(p->kernels[0].replayed.replayed_waves, 19);
    /* (0 * 100 + 0.2 * 300 + 0.5 * 600) / 1000 */
    assert_true(fabs(p->kernels[0].replayed.error_share - 0.36) < 1e-12);
    assert_int_equal(p->kernels[1].replayed.calls, 0);
    assert_int_equal(p->replayed.calls, 3);
    assert_true(fabs(p->replayed.error_share - 0.36) < 1e-12);
    rp_profile_free(p);
}

/* Launches of times from counts have bounds, and no replays; of b, one launch has none. */
static void bounds_add_up(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin_modelled(lab, "fast", "2");
    for (int64_t i = 1; i <= 4; i++) {
        const struct rp_row_simulation row = {
            .id = i, .waves = 10, .shortest_ns = 100 * i, .longest_ns = 1000 * i};

        put_dispatch(lab, (struct launch){i, 1, 1 + (i > 2), 1000 * i, 1000 * i + 100, 640, 64, 0});
        if (i < 4)
            ok(lab, rp_store_put_simulation(lab->writer, &row, &lab->err));
    }
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->kernel_count, 2);
    assert_int_equal(p->kernels[0].replayed.bounded_calls, 2);
    assert_int_equal(p->kernels[0].replayed.calls, 0);
    assert_true(p->kernels[0].replayed.shortest_ns == 300);
    assert_true(p->kernels[0].replayed.longest_ns == 3000);
    assert_int_equal(p->kernels[1].replayed.bounded_calls, 1);
    assert_int_equal(p->replayed.bounded_calls, 3);
    assert_true(p->replayed.shortest_ns == 600 && p->replayed.longest_ns == 6000);
    rp_profile_free(p);
}

static void bounds_in_the_wrong_order_are_refused(void **state)
{
    struct lab *lab = *state;
    const struct rp_row_simulation row = {
        .id = 1, .waves = 10, .shortest_ns = 1001, .longest_ns = 1000};
    struct rp_profile *p = NULL;

    begin_modelled(lab, "fast", "2");
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1100, 640, 64, 0});
    ok(lab, rp_store_put_simulation(lab->writer, &row, &lab->err));
    finish(lab);
    assert_int_equal(rp_profile_compute(lab->stores, 1, NULL, 0, &p, &lab->err),
                     -(int)RP_BAD_INPUT);
    assert_null(p);
}

/* What waves read of the clock is known only if every launch of a kernel says it. */
static void clocks_of_replays_add_up(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin_modelled(lab, "detailed", "7");
    for (int64_t i = 1; i <= 4; i++) {
        const struct rp_row_simulation row = {
            .id = i, .waves = 10, .replayed_waves = 10, .fast_clock_waves = i == 4 ? -1 : 2 * i};

        put_dispatch(lab, (struct launch){i, 1, 1 + (i > 2), 1000 * i, 1000 * i + 100, 640, 64, 0});
        ok(lab, rp_store_put_simulation(lab->writer, &row, &lab->err));
    }
    finish(lab);
    p = compute(lab);
    assert_int_equal(p->kernel_count, 2);
    assert_true(p->kernels[0].replayed.fast_clocks_known);
    assert_int_equal(p->kernels[0].replayed.fast_clock_waves, 2 + 4);
    assert_false(p->kernels[1].replayed.fast_clocks_known);
    assert_false(p->replayed.fast_clocks_known);
    rp_profile_free(p);
}

enum { OVERLAP_NS = 200 };

/* Nanosecond by nanosecond: who shares one with another of its device, and how many are shared. */
static struct rp_overlapped overlapped_by_counting(const struct launch *launches, size_t count,
                                                   int64_t agents)
{
    struct rp_overlapped sum = {0};
    bool *shares = calloc(count + 1, sizeof *shares);

    assert_non_null(shares);
    for (int64_t agent = 1; agent <= agents; agent++)
        for (int64_t ns = 0; ns < OVERLAP_NS; ns++) {
            size_t here = 0;
            for (int pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < count; i++)
                    if (launches[i].agent == agent && launches[i].start <= ns &&
                        ns < launches[i].end) {
                        here += pass == 0;
                        shares[i] |= pass == 1 && here > 1;
                    }
            sum.ns += here > 1;
        }
    for (size_t i = 0; i < count; i++)
        sum.dispatches += shares[i];
    free(shares);
    return sum;
}

/* At random, on two GPUs, from no overlaps to many at once; some take no time. */
static void tells_what_overlaps(void **state)
{
    enum { MOST = 24, AGENTS = 2 };
    unsigned seed = 7;
    uint64_t some = 0;

    lab_teardown(state);
    for (int round = 0; round < 40; round++) {
        struct launch launches[MOST];
        const size_t count = 1 + (size_t)round % MOST;
        struct rp_overlapped wanted;
        struct rp_profile *p;
        struct lab *lab;

        lab_setup(state);
        lab = *state;
        begin_modelled(lab, round % 2 ? "detailed" : "fast", "7");
        put_agent(lab, 2, "gfx942", "", VADD_EXTDATA);
        for (size_t i = 0; i < count; i++) {
            const int64_t start = 1 + rand_r(&seed) % (OVERLAP_NS - 40);
            const int64_t end = start + (i % 5 ? rand_r(&seed) % (i % 3 ? 8 : 39) : 0);

            launches[i] = (struct launch){
                (int64_t)i + 1, 1 + rand_r(&seed) % AGENTS, 1, start, end, 64, 64, 0};
            put_dispatch(lab, launches[i]);
        }
        finish(lab);
        p = compute(lab);
        wanted = overlapped_by_counting(launches, count, AGENTS);
        assert_int_equal(p->overlapped.dispatches, wanted.dispatches);
        assert_int_equal(p->overlapped.ns, wanted.ns);
        some += wanted.dispatches;
        rp_profile_free(p);
        if (round < 39)
            lab_teardown(state);
    }
    assert_true(some > 100);
}

/* Times that were measured have their overlaps in them. */
static void measured_times_overlap_without_a_word(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, "hardware", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "a.kd", "a", 12, 4);
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 2000, 640, 64, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 1500, 2500, 640, 64, 0});
    finish(lab);
    p = compute(lab);
    assert_null(p->timing_model);
    assert_int_equal(p->overlapped.dispatches, 0);
    rp_profile_free(p);
}

/* Results for which it does not matter that models differ say where their times are from. */
static void origins_of_traces(void **state)
{
    struct lab *lab = *state;
    struct rp_origin origin = rp_origin_of(NULL, 0);

    assert_null(origin.device);
    assert_null(origin.timing_model);
    begin_modelled(lab, "fast", "3"); /* as counts timing was called before */
    finish(lab);
    begin_modelled(lab, "counts", "3");
    finish(lab);
    begin_modelled(lab, "counts", "4");
    finish(lab);
    begin(lab, NULL, true); /* of rocprofv3 */
    finish(lab);
    origin = rp_origin_of(lab->stores, 2);
    assert_string_equal(origin.device, "software");
    assert_string_equal(origin.timing_model, "counts");
    assert_int_equal(origin.timing_version, 3);
    origin = rp_origin_of(lab->stores, 3); /* of two versions */
    assert_string_equal(origin.device, "software");
    assert_null(origin.timing_model);
    origin = rp_origin_of(lab->stores + 2, 2);
    assert_string_equal(origin.device, "software");
    assert_null(origin.timing_model);
    origin = rp_origin_of(lab->stores + 3, 1);
    assert_null(origin.device);
    assert_null(origin.timing_model);
}

static void traces_keep_the_old_name_of_their_model(void **state)
{
    struct lab *lab = *state;
    const double run_ms = 1;
    struct rp_profile *p = NULL;

    begin_modelled(lab, "fast", "2");
    finish(lab);
    begin_modelled(lab, "counts", "2");
    finish(lab);
    assert_int_equal(rp_profile_compute(lab->stores, 2, &run_ms, 1, &p, &lab->err), 0);
    assert_string_equal(p->timing_model, "counts");
    rp_profile_free(p);
}

static void several_models_of_time_are_refused(void **state)
{
    static const char *const others[][2] = {{"counts", "2"}, {"detailed", "1"}, {NULL, NULL}};
    struct lab *lab = *state;
    const double run_ms = 1;

    begin_modelled(lab, "fast", "1");
    finish(lab);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct rp_store *stores[2] = {lab->stores[0]};
        struct rp_profile *p = NULL;

        if (others[i][0])
            begin_modelled(lab, others[i][0], others[i][1]);
        else
            begin(lab, "software", true); /* of a version that did not say */
        finish(lab);
        stores[1] = lab->stores[i + 1];
        assert_true(rp_profile_compute(stores, 2, &run_ms, 1, &p, &lab->err) < 0);
        assert_int_equal(lab->err.code, RP_BAD_INPUT);
        assert_non_null(strstr(lab->err.text, "several models of time"));
        lab->err = (struct rp_err)RP_ERR_INIT;
    }
}

static void impossible_replays_are_refused(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p = NULL;
    const double run_ms = 1;

    begin_modelled(lab, "detailed", "1");
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1100, 640, 64, 0});
    put_replay(lab, 1, 10, 11, 0);
    finish(lab);
    assert_true(rp_profile_compute(lab->stores, 1, &run_ms, 1, &p, &lab->err) < 0);
    assert_int_equal(lab->err.code, RP_BAD_INPUT);
    assert_non_null(strstr(lab->err.text, "dispatch 1 says what cannot be"));
}

/* By name, symbol, GPU and registers, in whatever order a run has them. */
static void kernels_are_found_in_another_run(void **state)
{
    struct rp_kernel_summary before[] = {{.name = "a", .symbol = "a", .timed_calls = 1},
                                         {.name = "b", .symbol = "b", .timed_calls = 1},
                                         {.name = "c", .symbol = "c", .timed_calls = 1}};
    struct rp_kernel_summary after[] = {
        {.name = "c", .symbol = "c", .resources.sgpr = 16, .timed_calls = 1, .total_ns = 5},
        {.name = "b", .symbol = "b", .timed_calls = 0},
        {.name = "a", .symbol = "a", .agent = 1, .timed_calls = 1, .total_ns = 6},
        {.name = "a", .symbol = "a", .timed_calls = 2, .total_ns = 7000000},
    };
    const struct rp_profile base = {.kernels = before, .kernel_count = 3};
    const struct rp_profile run = {.kernels = after, .kernel_count = 4};
    double ms[3];

    (void)state;
    rp_profile_kernel_ms(&base, &run, ms);
    assert_true(ms[0] == 7);
    assert_true(isnan(ms[1]) && isnan(ms[2]));
}

/* By driver node, for a run that uses other GPUs numbers them in another way. */
static void gpus_of_another_run_are_told_apart(void **state)
{
    struct rp_agent_summary two[] = {{.trace_id = 3}, {.trace_id = 7}}, one[] = {{.trace_id = 7}};
    struct rp_kernel_summary before[] = {
        {.name = "a", .symbol = "a", .timed_calls = 1, .total_ns = 1},
        {.name = "a", .symbol = "a", .agent = 1, .timed_calls = 1, .total_ns = 2}};
    struct rp_kernel_summary after[] = {
        {.name = "a", .symbol = "a", .timed_calls = 1, .total_ns = 5000000}};
    const struct rp_profile base = {
        .agents = two, .agent_count = 2, .kernels = before, .kernel_count = 2};
    const struct rp_profile run = {
        .agents = one, .agent_count = 1, .kernels = after, .kernel_count = 1};
    double ms[2];

    (void)state;
    rp_profile_kernel_ms(&base, &run, ms);
    assert_true(isnan(ms[0]));
    assert_true(ms[1] == 5);
}

/* Each once, with the runs that launched it, whatever these have beside it. */
static void kernels_of_repeats_are_found(void **state)
{
    struct rp_agent_summary gpu = {.trace_id = 3}, other = {.trace_id = 9};
    struct rp_kernel_summary first[] = {{.name = "a", .symbol = "a", .calls = 1}};
    struct rp_kernel_summary second[] = {
        {.name = "b", .symbol = "b", .calls = 2, .timed_calls = 2, .total_ns = 1000000},
        {.name = "a", .symbol = "a", .calls = 1},
        {.name = "rt",
         .symbol = "rt",
         .calls = 1,
         .timed_calls = 1,
         .total_ns = 90000000,
         .runtime_internal = true}};
    struct rp_kernel_summary third[] = {
        {.name = "c", .symbol = "c", .calls = 3, .timed_calls = 3, .total_ns = 8000000},
        {.name = "b", .symbol = "b", .calls = 4}};
    struct rp_profile base = {
        .agents = &gpu, .agent_count = 1, .kernels = first, .kernel_count = 1};
    struct rp_profile two = {
        .agents = &gpu, .agent_count = 1, .kernels = second, .kernel_count = 3};
    struct rp_profile three = {
        .agents = &other, .agent_count = 1, .kernels = third, .kernel_count = 2};
    struct rp_profile *const repeats[] = {NULL, &two, &three};
    struct rp_repeat_kernels found;

    (void)state;
    assert_int_equal(rp_profile_repeat_kernels(&base, repeats, 3, &found, NULL), 0);
    /* b of the third run is on another GPU. */
    assert_int_equal(found.count, 4);
    assert_string_equal(found.list[0].summary.name, "c");
    assert_int_equal(found.list[0].summary.agent, 1);
    assert_true(isnan(found.list[0].ms[0]) && isnan(found.list[0].ms[1]));
    assert_true(found.list[0].ms[2] == 8 && found.list[0].calls[2] == 3);
    assert_string_equal(found.list[1].summary.name, "b");
    assert_int_equal(found.list[1].summary.agent, 0);
    assert_true(found.list[1].ms[1] == 1 && found.list[1].calls[1] == 2);
    assert_true(found.list[1].calls[0] == 0 && found.list[1].calls[2] == 0);
    assert_int_equal(found.list[2].calls[2], 4);
    assert_true(isnan(found.list[2].ms[2]));
    assert_string_equal(found.list[3].summary.name, "rt");
    rp_repeat_kernels_free(&found);
    three.agents = &gpu;
    assert_int_equal(rp_profile_repeat_kernels(&base, repeats, 3, &found, NULL), 0);
    assert_int_equal(found.count, 3);
    assert_true(found.list[1].calls[1] == 2 && found.list[1].calls[2] == 4);
    rp_repeat_kernels_free(&found);
    assert_int_equal(rp_profile_repeat_kernels(&base, repeats, 1, &found, NULL), 0);
    assert_int_equal(found.count, 0);
}

/* Repeats of less or other work: their spread is not that of one program. */
static void runs_of_different_work_are_told(void **state)
{
    struct rp_agent_summary gpu = {.trace_id = 3};
    struct rp_kernel_summary first[] = {
        {.name = "a", .symbol = "a", .calls = 7},
        {.name = "b", .symbol = "b", .calls = 1, .grid = {64, 1, 1}},
        {.name = "same", .symbol = "same", .calls = 2},
        {.name = "rt", .symbol = "rt", .calls = 1, .runtime_internal = true}};
    struct rp_kernel_summary second[] = {
        {.name = "b", .symbol = "b", .calls = 1, .grid = {128, 1, 1}},
        {.name = "same", .symbol = "same", .calls = 2},
        {.name = "a", .symbol = "a", .calls = 5},
        {.name = "rt", .symbol = "rt", .calls = 9, .runtime_internal = true},
        {.name = "late", .symbol = "late", .calls = 3},
        {.name = "rt2", .symbol = "rt2", .calls = 3, .runtime_internal = true}};
    struct rp_profile base = {
        .agents = &gpu, .agent_count = 1, .kernels = first, .kernel_count = 4};
    struct rp_profile two = {
        .agents = &gpu, .agent_count = 1, .kernels = second, .kernel_count = 6};
    struct rp_profile none = {.agents = &gpu, .agent_count = 1};
    struct rp_profile *const repeats[] = {NULL, &two, &none}, *const same[] = {NULL, &base};
    struct rp_run_differences found;

    (void)state;
    two.launches.failed = 1;
    assert_int_equal(rp_profile_run_differences(&base, repeats, 2, &found, NULL), 0);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.list[0].name, "a");
    assert_true(found.list[0].calls[0] == 7 && found.list[0].calls[1] == 5);
    assert_false(found.list[0].geometry);
    assert_string_equal(found.list[1].name, "b");
    assert_true(found.list[1].geometry && found.list[1].calls[1] == 1);
    assert_string_equal(found.list[2].name, "late"); /* the base run never launched it */
    assert_true(found.list[2].calls[0] == 0 && found.list[2].calls[1] == 3);
    assert_false(found.list[2].geometry);
    assert_true(found.failed);
    rp_run_differences_free(&found);
    assert_int_equal(rp_profile_run_differences(&base, repeats, 3, &found, NULL), 0);
    assert_int_equal(found.count, 4); /* the third run launched none of them */
    assert_true(found.list[2].calls[1] == 2 && found.list[2].calls[2] == 0);
    rp_run_differences_free(&found);
    assert_int_equal(rp_profile_run_differences(&base, same, 2, &found, NULL), 0);
    assert_true(found.count == 0 && !found.failed);
    rp_run_differences_free(&found);
}

static void put_call(struct lab *lab, int64_t id, const char *name, int64_t start_ns,
                     int64_t end_ns)
{
    const struct rp_row_region row = {.id = id,
                                      .tid = 100 + (int64_t)lab->count,
                                      .start_ns = start_ns,
                                      .end_ns = end_ns,
                                      .name = name,
                                      .correlation_id = id};

    ok(lab, rp_store_put_region(lab->writer, &row, NULL, 0, &lab->err));
}

/* rocprofv3 records no results of calls: what tells is that there is no dispatch of the call,
 * unless it only made a node of a graph. */
static void launches_without_a_dispatch_are_found(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, NULL, true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "_Z4vaddPf.kd", "vadd(float*)", 12, 4);
    put_call(lab, 10, "hipLaunchKernel", 50, 60); /* in a capture that began before the trace */
    put_call(lab, 11, "hipStreamEndCapture", 100, 110);
    put_call(lab, 1, "hipLaunchKernel", 200, 210);
    put_call(lab, 2, "hipLaunchKernel", 220, 230);
    put_call(lab, 3, "hipLaunchKernel", 240, 250);
    put_call(lab, 12, "hipStreamBeginCapture", 300, 310);
    put_call(lab, 13, "hipLaunchKernel", 320, 330);
    put_call(lab, 14, "hipStreamEndCapture", 400, 410);
    put_call(lab, 15, "hipGraphLaunch", 420, 430); /* of an empty graph */
    put_call(lab, 16, "hipModuleLaunchKernel", 500, 510);
    put_call(lab, 17, "hipExtModuleLaunchKernel", 600, 610);
    put_call(lab, 18, "hipExtModuleLaunchKernel", 700, 710);
    put_call(lab, 19, "hipLaunchHostFunc", 800, 810);
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1500, 4096, 256, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 2000, 2500, 4096, 256, 0});
    put_dispatch(lab, (struct launch){3, 1, 1, 3000, 3500, 4096, 256, 0});
    finish(lab);
    p = compute(lab);
    assert_true(p->launches.known && p->launches.inferred);
    assert_int_equal(p->launches.calls, 6);
    assert_int_equal(p->launches.failed, 3);
    assert_int_equal(p->launches.count, 2);
    assert_string_equal(p->launches.list[0].api, "hipModuleLaunchKernel");
    assert_string_equal(p->launches.list[1].api, "hipExtModuleLaunchKernel");
    assert_int_equal(p->launches.list[1].calls, 2);
    assert_null(p->launches.list[1].error);
    rp_profile_free(p);
}

/* Without a single one that fits, dispatches do not say who launched them. */
static void calls_that_fit_no_dispatch_are_not_failed(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    begin(lab, NULL, true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "_Z4vaddPf.kd", "vadd(float*)", 12, 4);
    put_call(lab, 7, "hipLaunchKernel", 200, 210);
    put_call(lab, 1, "hipLaunchKernel", 220, 230);
    put_call(lab, 8, "hipLaunchKernel", 240, 250); /* most fit none */
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1500, 4096, 256, 0});
    finish(lab);
    p = compute(lab);
    assert_false(p->launches.known);
    assert_int_equal(p->launches.failed, 0);
    rp_profile_free(p);
}

#define SAID(calls, failed, rows)                                                                  \
    "{\"calls\":" #calls ",\"failed\":" #failed ",\"list\":[" rows "]}"
#define ROW(n)                                                                                     \
    "{\"api\":\"hipLaunchKernel\",\"block\":[2048,1,1],\"calls\":" #n ",\"code\":9,"               \
    "\"dynamic_lds_bytes\":0,\"error\":\"hipErrorInvalidConfiguration\",\"grid\":[4096,1,1],"      \
    "\"kernel\":\"k(int*)\",\"symbol\":\"_Z1kPi\"}"

/* Of each process; damage is as nothing. */
static void launches_that_failed_add_up(void **state)
{
    static const char *const said[] = {SAID(5, 1, ROW(1)), SAID(7, 3, ROW(3) ",7,{\"calls\":-1}"),
                                       "[", "{\"calls\":\"x\",\"list\":{}}"};
    struct lab *lab = *state;
    rp_autofree char *text = NULL;
    struct rp_profile *p;

    for (size_t i = 0; i < 4; i++) {
        begin(lab, "software", true);
        put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
        put_kernel(lab, 1, 1, "_Z4vaddPf.kd", "vadd(float*)", 12, 4);
        ok(lab, rp_store_put_metadata(lab->writer, RP_STORE_LAUNCHES_TAG, said[i], &lab->err));
        put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1500, 4096, 256, 0});
        finish(lab);
    }
    p = compute(lab);
    assert_true(p->launches.known && !p->launches.inferred);
    assert_true(p->launches.calls == 12 && p->launches.failed == 4 && p->launches.count == 1);
    text = rp_launches_text(&p->launches);
    assert_string_equal(text,
                        "4 of 12 launch calls started no kernel: 4 x hipLaunchKernel of k(int*): "
                        "hipErrorInvalidConfiguration (the first: block 2048 x 1 x 1, grid 2 x 1 x "
                        "1 blocks)");
    rp_profile_free(p);
}

/* The cause has to be among the sizes: what is empty, and how many blocks there are of it. */
static void sizes_of_a_failed_launch(void **state)
{
    static const struct {
        uint64_t grid[3];
        uint32_t block[3];
        const char *text;
    } rows[] = {
        {{0, 1, 1}, {0, 1, 1}, "block 0 x 1 x 1, which is empty, 64 bytes of dynamic LDS"},
        {{0, 1, 1},
         {64, 1, 1},
         "block 64 x 1 x 1, grid 0 x 1 x 1 blocks, which is empty, 64 bytes "
         "of dynamic LDS"},
        {{102400000, 2, 1},
         {1024, 1, 1},
         "block 1024 x 1 x 1, grid 100000 x 2 x 1 blocks, 64 bytes "
         "of dynamic LDS"},
        {{1000, 8, 1},
         {64, 8, 1},
         "block 64 x 8 x 1, grid 1000 x 8 x 1 work-items, 64 bytes of "
         "dynamic LDS"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_failed_launch launch = {
            .api = "hipLaunchKernel", .error = "hipErrorX", .calls = 1, .dynamic_lds_bytes = 64};
        rp_autobuf text = {0};
        rp_autofree char *expected = rp_format("hipLaunchKernel: hipErrorX (%s)", rows[i].text);

        memcpy(launch.grid, rows[i].grid, sizeof launch.grid);
        memcpy(launch.block, rows[i].block, sizeof launch.block);
        rp_failed_launch_put(&text, &launch);
        assert_string_equal(rp_buf_text(&text), expected);
    }
}

/* --- lines of calls ------------------------------------------------------------------------ */

static void put_call_at(struct lab *lab, int64_t id, const char *name, int64_t start_ns,
                        int64_t end_ns, const char *line_info)
{
    const struct rp_row_region row = {.id = id,
                                      .tid = 100 + (int64_t)lab->count,
                                      .start_ns = start_ns,
                                      .end_ns = end_ns,
                                      .name = name,
                                      .correlation_id = id,
                                      .line_info = line_info};

    ok(lab, rp_store_put_region(lab->writer, &row, NULL, 0, &lab->err));
}

static void put_copy(struct lab *lab, int64_t call, int64_t start_ns, int64_t end_ns)
{
    const struct rp_row_copy row = {.id = call,
                                    .tid = 100 + (int64_t)lab->count,
                                    .start_ns = start_ns,
                                    .end_ns = end_ns,
                                    .name = "MEMORY_COPY_HOST_TO_DEVICE",
                                    .dst_agent_id = 1,
                                    .src_agent_id = 1,
                                    .bytes = 8,
                                    .correlation_id = call};

    ok(lab, rp_store_put_copy(lab->writer, &row, &lab->err));
}

/* Two lines launch k, the second more often; j has no line. One copy from line 30 takes longer than
 * two from line 31. Before the wait of line 40 the program does most. */
static void put_run_with_lines(struct lab *lab, const char *times, const char *sites)
{
    begin(lab, "hardware", true);
    put_agent(lab, 1, "gfx942", "", VADD_EXTDATA);
    put_kernel(lab, 1, 1, "k.kd", "k", 12, 4);
    put_kernel(lab, 2, 1, "j.kd", "j", 12, 4);
    put_call_at(lab, 1, "hipLaunchKernel", 0, 10, "{\"file\":\"/p/a.hip\",\"line\":10}");
    put_call_at(lab, 2, "hipLaunchKernel", 10, 20, "{\"file\":\"/p/a.hip\",\"line\":20}");
    put_call_at(lab, 3, "hipLaunchKernel", 20, 30, "{\"file\":\"/p/a.hip\",\"line\":20}");
    put_call_at(lab, 4, "hipLaunchKernel", 30, 40, NULL);
    put_call_at(lab, 5, "hipLaunchKernel", 40, 50, "{\"line\":50}");
    put_call_at(lab, 6, "hipMemcpy", 150, 160, "{\"file\":\"/p/a.hip\",\"line\":30}");
    put_call_at(lab, 7, "hipMemcpy", 160, 170, "{\"file\":\"/p/a.hip\",\"line\":31}");
    put_call_at(lab, 8, "hipMemcpy", 170, 180, "{\"file\":\"/p/a.hip\",\"line\":31}");
    put_call_at(lab, 9, "hipDeviceSynchronize", 990, 995, "{\"file\":\"/p/a.hip\",\"line\":40}");
    put_dispatch(lab, (struct launch){1, 1, 1, 1000, 1500, 4096, 256, 0});
    put_dispatch(lab, (struct launch){2, 1, 1, 2000, 2300, 4096, 256, 0});
    put_dispatch(lab, (struct launch){3, 1, 1, 3000, 3001, 4096, 256, 0});
    put_dispatch(lab, (struct launch){4, 1, 2, 4000, 4001, 4096, 256, 0});
    put_dispatch(lab, (struct launch){5, 1, 2, 5000, 5001, 4096, 256, 0});
    put_copy(lab, 6, 10, 50);
    put_copy(lab, 7, 60, 70);
    put_copy(lab, 8, 70, 80);
    ok(lab, rp_store_put_metadata(lab->writer, "rocm_perf_hip_calls", times, &lab->err));
    if (sites)
        ok(lab, rp_store_put_metadata(lab->writer, RP_STORE_CALL_SITES_TAG, sites, &lab->err));
    finish(lab);
}

static void lines_of_calls_are_weighed(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    put_run_with_lines(lab, "host", "5");
    p = compute(lab);
    assert_string_equal(p->kernels[0].launch_line, "/p/a.hip:20");
    assert_int_equal(p->kernels[0].launch_order, 1);
    assert_string_equal(p->kernels[1].name, "j");
    assert_null(p->kernels[1].launch_line);
    assert_string_equal(p->copy_line, "/p/a.hip:30");
    assert_string_equal(p->host_line, "/p/a.hip:40");
    rp_profile_free(p);
}

static void modelled_calls_have_no_line_of_the_host(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    put_run_with_lines(lab, "order", "5");
    p = compute(lab);
    assert_string_equal(p->kernels[0].launch_line, "/p/a.hip:20");
    assert_null(p->host_line);
    rp_profile_free(p);
}

static void events_are_not_read_without_lines(void **state)
{
    struct lab *lab = *state;
    struct rp_profile *p;

    put_run_with_lines(lab, "host", NULL);
    p = compute(lab);
    assert_null(p->kernels[0].launch_line);
    assert_null(p->copy_line);
    rp_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define LAB_TEST(f) cmocka_unit_test_setup_teardown(f, lab_setup, lab_teardown)
        LAB_TEST(sums_up_a_run_with_a_runtime_kernel),
        LAB_TEST(clocks_are_not_mixed),
        LAB_TEST(describes_the_gpu_from_the_trace),
        LAB_TEST(what_was_lost_makes_it_incomplete),
        LAB_TEST(counts_unusable_times_and_leaves_them_out),
        LAB_TEST(shows_the_most_frequent_geometry),
        LAB_TEST(joins_the_processes_of_a_run),
        LAB_TEST(orders_equal_times_by_name),
        LAB_TEST(keeps_the_time_of_kernels_without_name),
        LAB_TEST(mends_the_halved_registers_of_gfx950),
        LAB_TEST(leaves_sound_gfx950_registers_alone),
        LAB_TEST(trusts_its_own_gfx950_traces),
        LAB_TEST(refuses_times_that_add_up_to_nonsense),
        LAB_TEST(errors_of_replays_weigh_by_time),
        LAB_TEST(clocks_of_replays_add_up),
        LAB_TEST(bounds_add_up),
        LAB_TEST(bounds_in_the_wrong_order_are_refused),
        LAB_TEST(tells_what_overlaps),
        LAB_TEST(measured_times_overlap_without_a_word),
        LAB_TEST(origins_of_traces),
        LAB_TEST(traces_keep_the_old_name_of_their_model),
        LAB_TEST(several_models_of_time_are_refused),
        LAB_TEST(impossible_replays_are_refused),
        cmocka_unit_test(a_run_without_traces_has_no_kernels),
        cmocka_unit_test(kernels_are_found_in_another_run),
        cmocka_unit_test(gpus_of_another_run_are_told_apart),
        cmocka_unit_test(kernels_of_repeats_are_found),
        cmocka_unit_test(runs_of_different_work_are_told),
        LAB_TEST(launches_without_a_dispatch_are_found),
        LAB_TEST(calls_that_fit_no_dispatch_are_not_failed),
        LAB_TEST(launches_that_failed_add_up),
        LAB_TEST(sizes_of_a_failed_launch),
        LAB_TEST(lines_of_calls_are_weighed),
        LAB_TEST(modelled_calls_have_no_line_of_the_host),
        LAB_TEST(events_are_not_read_without_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
