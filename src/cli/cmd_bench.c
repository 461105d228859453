/* `rocm-perf bench`: kernels of its own run as a user's program does, traced by the collector, and
 * what was traced becomes rates and latencies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "base/vec.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "trace/rocpd.h"

enum {
    ROUND_BYTES = 16 << 10,
    STATE_LAUNCHES = 16,      /**< while clock, power and temperature are read */
    LEAST_BYTES = 1 << 16,    /**< of each place */
    FLUSH_BYTES = 512u << 20, /**< more than the Infinity Cache of any GPU holds */
    GROUP_S = 120,            /**< that a group may take on a GPU, and */
    SOFTWARE_GROUP_S = 3600,  /**< on a busy machine without one */
};

/* --- sizes ---------------------------------------------------------------------------------- */

static const struct rp_bench_size *size_of(const struct rp_bench *bench, size_t row)
{
    return bench->work.software ? &rp_bench_rows[row].modelled : &rp_bench_rows[row].hardware;
}

static bool is_rate(const struct rp_bench_row *row)
{
    return row->kind <= RP_BENCH_OPERATIONS;
}

/* Blocks of 1024 work-items with memory of their own: so much each. */
static double bytes_of(const struct rp_bench *bench, size_t row)
{
    const struct rp_bench_size *size = size_of(bench, row);
    const double rounds = size->rounds > size->more_rounds ? size->rounds : size->more_rounds;

    if (rp_bench_rows[row].kind == RP_BENCH_LATENCY)
        return (double)size->rounds * size->more_rounds;
    return bench->work.arch.compute_units * ROUND_BYTES * fmax(rounds, 1);
}

/* What this GPU has not, or is not known to have; NULL: nothing. */
static const char *lacks(const struct rp_bench *bench, size_t row)
{
    const struct rp_arch *a = &bench->work.arch;

    if (row != RP_BENCH_infinity_cache && row != RP_BENCH_infinity_cache_latency)
        return NULL;
    if (!a->mall_bytes)
        return "no Infinity Cache of this GPU is known";
    return bytes_of(bench, row) > 0.75 * (double)a->mall_bytes
               ? "its Infinity Cache is smaller than what the kernel reads"
               : NULL;
}

/* --- the plan ------------------------------------------------------------------------------- */

/* A kernel that the program is to launch, if the GPU has its instructions. */
struct launch {
    size_t row;    /**< RP_BENCH_ROWS: it makes a ring, or empties caches */
    bool warms_up; /**< the first ones load code */
    bool more;     /**< the second of the two */
    const char *kernel;
};

struct plan {
    RP_VEC(struct launch);
    struct rp_buf text;
    double places[2]; /**< bytes */
};

static void plan_free(struct plan *plan)
{
    rp_buf_free(&plan->text);
    rp_vec_free(plan);
}

static void plan_launch(struct plan *plan, struct launch launch, uint32_t blocks, uint32_t threads,
                        uint32_t times, uint32_t rounds)
{
    rp_vec_push(plan, launch);
    rp_buf_printf(&plan->text, "launch bench_%s %u %u %u %u\n", launch.kernel, blocks, threads,
                  times, rounds);
}

static void plan_place(struct plan *plan, unsigned at, double bytes)
{
    bytes = fmax(bytes, LEAST_BYTES);
    if (plan->places[at] >= bytes)
        return;
    plan->places[at] = bytes;
    rp_buf_printf(&plan->text, "place %u %.0f\n", at, bytes);
}

/* Of a GPU the last chase has left its lines in the caches; the model's are empty at every launch.
 */
static void plan_flush(const struct rp_bench *bench, size_t row, struct plan *plan)
{
    const uint32_t cus = bench->work.arch.compute_units, rounds = FLUSH_BYTES / (cus * ROUND_BYTES);

    if (bench->work.software || row != RP_BENCH_hbm_latency)
        return;
    plan_place(plan, 1, (double)cus * ROUND_BYTES * rounds);
    plan_launch(plan, (struct launch){.row = RP_BENCH_ROWS, .kernel = "write"}, cus, 1024, 1,
                rounds);
}

static void plan_two(const struct rp_bench *bench, size_t row, bool warms_up, struct plan *plan)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];
    const struct rp_bench_size *size = size_of(bench, row);
    const uint32_t blocks = is_rate(r) ? bench->work.arch.compute_units : 1;
    struct launch launch = {.row = row, .warms_up = warms_up, .kernel = r->kernel};

    plan_flush(bench, row, plan);
    plan_launch(plan, launch, blocks, r->threads, size->times, size->rounds);
    if (warms_up)
        return;
    plan_flush(bench, row, plan);
    launch.more = true;
    plan_launch(plan, launch, blocks, r->threads, size->more_times, size->more_rounds);
}

static void plan_ring(const struct rp_bench_size *size, struct plan *plan)
{
    const uint32_t lines = size->rounds;

    plan_launch(plan, (struct launch){.row = RP_BENCH_ROWS, .kernel = "ring"}, (lines + 63) / 64,
                64, lines, size->more_rounds);
}

static void plan_kernels(const struct rp_bench *bench, size_t row, struct plan *plan)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];
    const struct rp_bench_size *size = size_of(bench, row);

    plan_place(plan, 0, bytes_of(bench, row));
    plan_place(plan, 1, is_rate(r) ? bytes_of(bench, row) : 0);
    if (r->kind == RP_BENCH_LATENCY && size->rounds)
        plan_ring(size, plan);
    if (!bench->work.software)
        plan_two(bench, row, true, plan);
    for (uint32_t i = 0; i < bench->repeats; i++)
        plan_two(bench, row, false, plan);
    /* The sensors are slow: the GPU must work as long as they are read. */
    for (unsigned i = 0; !bench->work.software && i < STATE_LAUNCHES; i++)
        plan_launch(plan, (struct launch){.row = RP_BENCH_ROWS, .kernel = r->kernel},
                    is_rate(r) ? bench->work.arch.compute_units : 1, r->threads, size->more_times,
                    size->more_rounds);
    rp_buf_printf(&plan->text, "state %s\nwait\n", r->name);
}

static void plan_row(const struct rp_bench *bench, size_t row, struct plan *plan)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];
    const struct rp_bench_size *size = size_of(bench, row);

    if (r->kind != RP_BENCH_LAUNCH && r->kind != RP_BENCH_COPY) {
        plan_kernels(bench, row, plan);
        return;
    }
    for (uint32_t i = 0; i < bench->repeats; i++) {
        if (r->kind == RP_BENCH_COPY)
            rp_buf_printf(&plan->text, "copy %s %u\n", r->kernel, size->times << 20);
        for (uint32_t k = 0; r->kind == RP_BENCH_LAUNCH && k < size->times; k++)
            plan_launch(plan, (struct launch){.row = row, .more = k > 0, .kernel = r->kernel}, 1,
                        r->threads, 0, 0);
        rp_buf_puts(&plan->text, "wait\n");
    }
}

/* --- what was traced ------------------------------------------------------------------------ */

static void add_sample(struct rp_bench *bench, size_t row, double sample)
{
    struct rp_bench_value *value = &bench->values[row];

    if (isfinite(sample) && sample > 0 && value->count < RP_BENCH_MOST_REPEATS)
        value->samples[value->count++] = sample;
}

static double duration_ns(const struct rp_row_dispatch *d)
{
    return (double)(d->end_ns - d->start_ns);
}

/* Of two launches: what the second has done more, in the time that it has taken longer. */
static void take_two(struct rp_bench *bench, size_t row, const struct rp_row_dispatch *less,
                     const struct rp_row_dispatch *more)
{
    const struct rp_bench_row *r = &rp_bench_rows[row];
    const struct rp_bench_size *size = size_of(bench, row);
    const struct rp_arch *a = &bench->work.arch;
    const double blocks = is_rate(r) ? a->compute_units : 1,
                 work = blocks * (r->work(a, size->more_times, size->more_rounds) -
                                  r->work(a, size->times, size->rounds)),
                 ns = duration_ns(more) - duration_ns(less);

    add_sample(bench, row, r->kind == RP_BENCH_LATENCY ? ns / work : work / (ns / 1e9));
}

/* The launches of the program in their order: those of the plan, but for kernels that it has not.
 */
static void take_launches(struct rp_bench *bench, const struct plan *plan,
                          const struct rp_workload_trace *trace)
{
    const struct rp_row_dispatch *before = NULL, *first = NULL;
    uint32_t since = 0;
    size_t at = 0;

    for (size_t i = 0; i < plan->count; i++) {
        const struct launch *launch = &plan->items[i];
        rp_autofree char *name = rp_format("bench_%s", launch->kernel);

        while (at < trace->dispatch_count &&
               !rp_workload_is_named(trace, &trace->dispatches[at], "bench_"))
            at++; /* of HIP itself */
        if (at == trace->dispatch_count ||
            !rp_workload_is_named(trace, &trace->dispatches[at], name))
            continue;
        const struct rp_row_dispatch *d = &trace->dispatches[at++];
        if (launch->row == RP_BENCH_ROWS || launch->warms_up)
            continue;
        if (rp_bench_rows[launch->row].kind == RP_BENCH_LAUNCH) {
            first = launch->more ? first : d;
            since = launch->more ? since + 1 : 0;
            if (since + 1 == size_of(bench, launch->row)->times)
                add_sample(bench, launch->row, (double)(d->start_ns - first->start_ns) / since);
        } else if (launch->more && before) {
            take_two(bench, launch->row, before, d);
        }
        before = launch->more ? NULL : d;
    }
}

static int take_copies(struct rp_bench *bench, struct rp_store *store, struct rp_err *err)
{
    static const struct {
        size_t row;
        const char *name;
    } ways[] = {{RP_BENCH_host_to_device, "MEMORY_COPY_HOST_TO_DEVICE"},
                {RP_BENCH_device_to_host, "MEMORY_COPY_DEVICE_TO_HOST"},
                {RP_BENCH_peer, "MEMORY_COPY_DEVICE_TO_DEVICE"}};
    const struct rp_row_copy *copies;
    size_t count;
    int rc = rp_store_copies(store, &copies, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++)
        for (size_t k = 0; k < RP_COUNT(ways); k++)
            if (strcmp(copies[i].name, ways[k].name) == 0 &&
                copies[i].bytes == (int64_t)size_of(bench, ways[k].row)->times << 20)
                add_sample(bench, ways[k].row,
                           (double)copies[i].bytes * 1e9 /
                               (double)(copies[i].end_ns - copies[i].start_ns));
    return rc;
}

/* Of a sensor; negative: there is none. */
static double known(double value, double unit)
{
    return value >= 0 ? value / unit : NAN;
}

/* What the sensors said meanwhile: Hz, microwatts, thousandths of a degree. */
static void take_states(struct rp_bench *bench, const char *result)
{
    rp_autofree char *path = rp_format("%s/%s.txt", bench->work.folder, result);
    rp_autofree char *text = rp_read_text(path, 1 << 20);
    char *rest = NULL;

    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        double hz, microwatts, millidegrees;
        char name[64];

        if (sscanf(line, "state %63s %lf %lf %lf", name, &hz, &microwatts, &millidegrees) != 4)
            continue;
        for (size_t i = 0; i < RP_BENCH_ROWS; i++)
            if (strcmp(name, rp_bench_rows[i].name) == 0) {
                bench->values[i].clock_mhz = known(hz, 1e6);
                bench->values[i].power_w = known(microwatts, 1e6);
                bench->values[i].temperature_c = known(millidegrees, 1e3);
            }
    }
}

static int take_trace(struct rp_bench *bench, const struct plan *plan, const char *name,
                      struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s/trace_results.db", bench->work.folder, name);
    struct rp_workload_trace trace = {0};
    struct rp_store *store = NULL;
    int rc = rp_store_open(path, &store, err);

    if (rc == 0)
        rc = rp_workload_read_trace(store, &trace, err);
    if (rc == 0) {
        take_launches(bench, plan, &trace);
        rc = take_copies(bench, store, err);
    }
    rp_store_close(store);
    take_states(bench, name);
    return rc;
}

/* --- running -------------------------------------------------------------------------------- */

static int profile(struct rp_bench *bench, const char *name, const struct plan *plan,
                   struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    rp_autofree char *path = rp_format("%s/%s.plan", bench->work.folder, name);
    const struct rp_run_options *options = &bench->work.options;
    int rc = rp_write_file(path, rp_buf_text((struct rp_buf *)&plan->text), plan->text.len, err);

    if (rc < 0)
        return rc;
    rp_workload_suite(&bench->work, "profile", &words);
    rp_workload_add_device(&bench->work, &words);
    if (bench->work.software)
        for (const char *const *each = (const char *const[]){"--timing", "detailed", NULL}; *each;
             each++)
            rp_workload_word(&words, "%s", *each);
    if (options->threads)
        rp_workload_word(&words, "--threads=%u", options->threads);
    if (options->gpus)
        rp_workload_word(&words, "--gpus=%u", options->gpus);
    for (const char *const *each = (const char *const[]){"--runs", "1", "--quiet", "--tracer",
                                                         "builtin", "-o", name, NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_workload_add(&bench->work, "bench", name, &words);
    rp_workload_word(&words, "%s", path);
    return rp_workload_run(&bench->work, name, &words, NULL, err);
}

static int run_group(struct rp_bench *bench, enum rp_bench_group group, struct rp_err *err)
{
    rp_cleanup(plan_free) struct plan plan = {0};
    const char *name = rp_bench_groups[group].name;
    int rc;

    for (size_t i = 0; i < RP_BENCH_ROWS; i++) {
        if (!bench->values[i].wanted || rp_bench_rows[i].group != group)
            continue;
        bench->values[i].reason = lacks(bench, i);
        if (bench->values[i].reason)
            continue;
        if (!plan.count) /* Copies alone are nothing to profile. */
            plan_launch(&plan, (struct launch){.row = RP_BENCH_ROWS, .kernel = "empty"}, 1, 64, 0,
                        0);
        plan_row(bench, i, &plan);
    }
    if (!plan.count)
        return 0;
    bench->work.deadline_ns =
        rp_now_ns() + INT64_C(1000000000) * (bench->work.software ? SOFTWARE_GROUP_S : GROUP_S);
    rc = profile(bench, name, &plan, err);
    return rc < 0 ? rc : take_trace(bench, &plan, name, err);
}

static bool wants(const struct rp_bench *bench, enum rp_bench_group group)
{
    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        if (bench->values[i].wanted && rp_bench_rows[i].group == group)
            return true;
    return false;
}

/* A group that fails ends no other. */
static int run_groups(struct rp_bench *bench, struct rp_progress *progress, struct rp_err *err)
{
    uint64_t most = 0, done = 0;

    for (size_t g = 0; g < RP_BENCH_GROUPS; g++)
        most += wants(bench, g);
    for (size_t g = 0; g < RP_BENCH_GROUPS; g++) {
        struct rp_err why = RP_ERR_INIT;
        int rc;

        if (!wants(bench, g))
            continue;
        rp_progress_at(progress, "group of kernels", done++, most);
        rc = run_group(bench, g, &why);
        if (rc == -RP_INTERRUPTED || rp_proc_interrupting_signal())
            return rp_fail(err, RP_INTERRUPTED, "interrupted");
        if (rc < 0)
            bench->failures[g] = rp_strdup(why.text);
    }
    return 0;
}

/* --- the command ---------------------------------------------------------------------------- */

static int want(struct rp_bench *bench, const char *word, struct rp_err *err)
{
    rp_autobuf names = {0};
    bool any = false;

    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        if (!word || strcmp(word, rp_bench_rows[i].name) == 0 ||
            strcmp(word, rp_bench_groups[rp_bench_rows[i].group].name) == 0)
            any = bench->values[i].wanted = true;
    if (any)
        return 0;
    for (size_t g = 0; g < RP_BENCH_GROUPS; g++)
        rp_buf_printf(&names, "%s ", rp_bench_groups[g].name);
    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        rp_buf_printf(&names, "%s%s", i ? " " : "", rp_bench_rows[i].name);
    return rp_fail(err, RP_USAGE, "--only: there is no '%s'; there are %s", word,
                   rp_buf_text(&names));
}

static int choose(struct rp_bench *bench, const struct rp_word_list *words, struct rp_err *err)
{
    int rc = words->count ? 0 : want(bench, NULL, err);

    for (size_t i = 0; rc == 0 && i < words->count; i++)
        rc = want(bench, words->at[i], err);
    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        bench->values[i].clock_mhz = bench->values[i].power_w = bench->values[i].temperature_c =
            NAN;
    return rc;
}

static int compile(struct rp_bench *bench, struct rp_err *err)
{
    const char *compiler;

    bench->work.deadline_ns = rp_now_ns() + INT64_C(1000000000) * SOFTWARE_GROUP_S;
    const int rc =
        rp_workload_compile(&bench->work, rp_bench_kernels, "bench_kernels.hip", &compiler, err);
    return rc > 0 ? -RP_ENVIRONMENT : rc;
}

static int measure(struct rp_bench *bench, const struct rp_bench_cli *cli, struct rp_err *err)
{
    struct rp_progress progress = rp_progress_begin();
    const int64_t begun_ns = rp_now_ns();
    const time_t now = time(NULL);
    struct tm parts;
    int rc = choose(bench, &cli->only, err);

    bench->repeats = (uint32_t)cli->repeats;
    rp_device_options_read(cli->device, cli->threads, cli->gpus, -1, &bench->work.options);
    bench->work.options.timing = RP_TIMING_DETAILED;
    if (rc == 0)
        rc = rp_check_output(cli->output, err);
    if (rc == 0)
        rc = rp_workload_open(&bench->work, err);
    if (rc == 0 && !bench->work.arch.compute_units)
        rc = rp_fail(err, RP_ENVIRONMENT, "nobody says how many compute units the GPU has");
    rp_progress_at(&progress, "compiling the kernels", 0, 0);
    if (rc == 0)
        rc = compile(bench, err);
    if (rc == 0)
        rc = run_groups(bench, &progress, err);
    rp_progress_clear(&progress);
    strftime(bench->date, sizeof bench->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    bench->seconds = (double)(rp_now_ns() - begun_ns) / 1e9;
    return rc;
}

static void bench_free(struct rp_bench *bench)
{
    for (size_t g = 0; g < RP_BENCH_GROUPS; g++)
        free(bench->failures[g]);
    rp_workload_close(&bench->work);
}

/* Says what failed, and whether anything was found. */
static int judge(const struct rp_bench *bench)
{
    bool any = false, failed = false;

    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        any |= bench->values[i].count > 0;
    for (size_t g = 0; g < RP_BENCH_GROUPS; g++) {
        if (!bench->failures[g])
            continue;
        failed = true;
        rp_cli_note("bench: %s: %s", rp_bench_groups[g].name, bench->failures[g]);
    }
    if (!any && !failed)
        rp_cli_note("bench: the trace has none of the kernels");
    return any && !failed ? RP_OK : RP_PROGRAM;
}

int rp_cmd_bench(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(bench_free) struct rp_bench bench = {.work = {.env = &env}};
    rp_autofree char *document = NULL;
    struct rp_err err = RP_ERR_INIT;
    rp_cleanup(rp_args_free) struct rp_bench_cli cli;
    rp_autobuf text = {0};
    int code, verdict;

    if (!rp_options_parse(RP_COMMAND_bench, argc, argv, &cli, &code))
        return code;
    rp_proc_catch_signals();
    if (rp_environment_detect(&env, &err) < 0 || measure(&bench, &cli, &err) < 0)
        return rp_cli_error(&err);
    verdict = judge(&bench);
    document = rp_workload_document_text(rp_bench_document(&bench));
    if (!document || rp_write_output(cli.output, document, strlen(document), &err) < 0)
        return rp_cli_error(document ? &err : (rp_out_of_memory(&err), &err));
    if (!cli.json)
        rp_bench_text(&bench, cli.output, rp_cli_style(), &text);
    code = rp_cli_result(cli.json ? document : rp_buf_text(&text));
    return code != RP_OK ? code : verdict;
}
