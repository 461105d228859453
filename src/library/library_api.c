/* The opaque handle of include/rocm-perf/rocm-perf.h is implemented here. */
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "library/library.h"
#include "report/report.h"
#include "rocm-perf/rocm-perf.h"

/** Numbers have a point, whatever the program's locale says. */
struct rp_c_locale {
    void *own, *former; /**< locale_t; NULL: out of memory, and nothing was changed */
};

/** Writes the error to the caller's struct, which may be NULL.
 * @return -err->code */
static int run_failed(const struct rp_err *err, struct rocm_perf_error *ret)
{
    _Static_assert(sizeof ret->text == sizeof err->text, "every message fits");
    if (ret) {
        ret->code = (int)err->code;
        memcpy(ret->text, err->text, sizeof ret->text);
    }
    return -(int)err->code;
}

static struct rp_c_locale c_locale_begin(void)
{
    struct rp_c_locale ret = {.own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};

    if (ret.own)
        ret.former = uselocale(ret.own);
    return ret;
}

static void c_locale_end(struct rp_c_locale *plain)
{
    if (!plain->own)
        return;
    uselocale(plain->former);
    freelocale(plain->own);
}

const char *rocm_perf_version(void)
{
    return RP_VERSION;
}

static void keep_note(void *ctx, const char *text)
{
    struct rocm_perf *run = ctx;
    char **grown = realloc(run->notes, (run->note_count + 1) * sizeof *grown);

    if (!grown)
        return;
    run->notes = grown;
    run->notes[run->note_count] = strdup(text);
    run->note_count += run->notes[run->note_count] != NULL;
}

void rocm_perf_close(struct rocm_perf *run)
{
    if (!run)
        return;
    rp_analysis_free(&run->parts);
    rp_inputs_close(&run->in);
    for (size_t i = 0; i < run->note_count; i++)
        free(run->notes[i]);
    free(run->notes);
    free(run->kernels);
    free(run->arch);
    free(run);
}

int rocm_perf_open(const char *const *paths, size_t count, struct rocm_perf **ret,
                   struct rocm_perf_error *error)
{
    rp_cleanup(c_locale_end) struct rp_c_locale plain = c_locale_begin();
    struct rp_err err = RP_ERR_INIT;
    struct rocm_perf *run;
    int rc = 0;

    if (count == 0)
        rc = rp_fail(&err, RP_USAGE, "rocm_perf_open: no path is given");
    else if (!paths || !ret)
        rc = rp_fail(&err, RP_USAGE, "rocm_perf_open: paths or ret is NULL");
    for (size_t i = 0; i < count && rc == 0; i++)
        if (!paths[i])
            rc = rp_fail(&err, RP_USAGE, "rocm_perf_open: path %zu of %zu is NULL", i, count);
    if (rc < 0)
        return run_failed(&err, error);
    run = calloc(1, sizeof *run);
    if (!run || !plain.own) {
        free(run);
        rp_out_of_memory(&err);
        return run_failed(&err, error);
    }
    run->in.notes = (struct rp_note_sink){.put = keep_note, .ctx = run};
    if (rp_inputs_open((char *const *)paths, count, &run->in, &err) < 0) {
        rocm_perf_close(run);
        return run_failed(&err, error);
    }
    *ret = run;
    return 0;
}

int rocm_perf_set_arch(struct rocm_perf *run, const char *arch, struct rocm_perf_error *error)
{
    struct rp_err err = RP_ERR_INIT;
    char *copy = NULL;

    if (!run || !arch)
        rp_fail(&err, RP_USAGE, "rocm_perf_set_arch: run or arch is NULL");
    else if (run->state != RP_RUN_OPENED)
        rp_fail(&err, RP_USAGE, "rocm_perf_set_arch: call it before rocm_perf_analyze");
    else if (rp_roofline_check_arch(arch, &err) == 0 && !(copy = strdup(arch)))
        rp_out_of_memory(&err);
    if (!copy)
        return run_failed(&err, error);
    free(run->arch);
    run->arch = copy;
    return 0;
}

/* --- analyses --------------------------------------------------------------------------------- */

static const char *summary_name(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].name;
}

static const char *roofline_name(const void *list, size_t at)
{
    return ((const struct rp_roofline_kernel *)list)[at].name;
}

static const char *summary_symbol(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].symbol;
}

/* Finds the first kernel of that name; of several the one that took most time. It returns -1 when
 * there is none. */
static long find(const struct rp_name_index *index, const char *name)
{
    size_t count;
    const struct rp_indexed_name *found = name ? rp_name_index_find(index, name, &count) : NULL;

    return found ? (long)found->at : -1;
}

static void join(struct rocm_perf *run, const struct rp_name_index *names,
                 const struct rp_name_index *symbols, const struct rp_name_index *rooflines)
{
    const struct rp_ranking *ranking = &run->parts.ranking;

    for (size_t i = 0; i < ranking->found.kernel_count; i++) {
        struct rp_run_kernel *to = &run->kernels[i];
        const char *name = ranking->found.kernels[i].name;
        long summary = find(names, name), roofline = find(rooflines, name);

        if (summary < 0)
            summary = find(symbols, name);
        if (summary >= 0)
            to->summary = &ranking->profile->kernels[summary];
        if (roofline < 0 && to->summary) /* Counters may know only the symbol. */
            roofline = find(rooflines, to->summary->symbol);
        if (roofline >= 0)
            to->roofline = &run->parts.roofline.kernels[roofline];
    }
}

static int join_kernels(struct rocm_perf *run, struct rp_err *err)
{
    const struct rp_profile *profile = run->parts.ranking.profile;
    const struct rp_roofline *roofline = &run->parts.roofline;
    const void *kernels = profile ? profile->kernels : NULL;
    size_t count = profile ? profile->kernel_count : 0;
    struct rp_name_index names = {0}, symbols = {0}, rooflines = {0};
    bool ok;

    run->kernels = calloc(run->parts.ranking.found.kernel_count + 1, sizeof *run->kernels);
    ok = run->kernels && rp_name_index_make(&names, kernels, count, summary_name) &&
         rp_name_index_make(&symbols, kernels, count, summary_symbol) &&
         rp_name_index_make(&rooflines, roofline->kernels, roofline->kernel_count, roofline_name);
    if (ok)
        join(run, &names, &symbols, &rooflines);
    rp_name_index_free(&names);
    rp_name_index_free(&symbols);
    rp_name_index_free(&rooflines);
    return ok ? 0 : rp_out_of_memory(err);
}

int rocm_perf_analyze(struct rocm_perf *run, struct rocm_perf_error *error)
{
    rp_cleanup(c_locale_end) struct rp_c_locale plain = c_locale_begin();
    const struct rp_roofline_options roof = {.arch = run ? run->arch : NULL};
    const struct rp_analysis_request wish = {.dag = true, .ranking = true, .roof = &roof};
    struct rp_err err = RP_ERR_INIT;
    int rc;

    if (!run) {
        rp_fail(&err, RP_USAGE, "rocm_perf_analyze: run is NULL");
        return run_failed(&err, error);
    }
    if (run->state == RP_RUN_ANALYSED)
        return 0;
    if (run->state == RP_RUN_FAILED)
        rc = rp_fail(&err, RP_USAGE,
                     "rocm_perf_analyze has failed before: open the files again and fix what it "
                     "named then");
    else if (!plain.own)
        rc = rp_out_of_memory(&err);
    else
        rc = rp_analysis_make(&run->in, &wish, &run->parts, &err);
    if (rc == 0)
        rc = join_kernels(run, &err);
    run->state = rc == 0 ? RP_RUN_ANALYSED : RP_RUN_FAILED;
    if (rc < 0)
        return run_failed(&err, error);
    run->origin = rp_origin_of(run->in.stores, run->in.store_count);
    return 0;
}

/* From here on are the functions of include/rocm-perf/rocm-perf.h that only read results. */

enum { NO_SUCH = -RP_USAGE };

size_t rocm_perf_note_count(const struct rocm_perf *run)
{
    return run ? run->note_count : 0;
}

const char *rocm_perf_note(const struct rocm_perf *run, size_t index)
{
    return index < rocm_perf_note_count(run) ? run->notes[index] : NULL;
}

static struct rp_quantity known(double value)
{
    return (struct rp_quantity){.known = true, .value = value};
}

static struct rp_quantity known_if(bool is_known, double value)
{
    return (struct rp_quantity){.known = is_known, .value = value};
}

static int give_number(struct rp_quantity quantity, double *ret)
{
    if (!quantity.known)
        return 0;
    *ret = quantity.value;
    return 1;
}

/* --- the run ---------------------------------------------------------------------------------- */

static bool of_profile(const struct rp_profile *p, enum rocm_perf_number which,
                       struct rp_quantity *ret)
{
    bool timed = p && (p->dispatches == 0 || p->repaired_timestamps < p->dispatches);

    switch (which) {
    case ROCM_PERF_KERNELS_NS:
        *ret = known_if(timed, p ? (double)p->user_ns : 0);
        return true;
    case ROCM_PERF_RUNTIME_KERNELS_NS:
        *ret = known_if(timed, p ? (double)p->runtime_internal_ns : 0);
        return true;
    case ROCM_PERF_DISPATCHES:
        *ret = known_if(p, p ? (double)p->dispatches : 0);
        return true;
    case ROCM_PERF_BAD_TIMESTAMPS:
        *ret = known_if(p, p ? (double)p->repaired_timestamps : 0);
        return true;
    default:
        return false;
    }
}

static bool of_graph(const struct rp_dag_result *dag, bool has_dag, enum rocm_perf_number which,
                     struct rp_quantity *ret)
{
    double makespan_ns = (double)dag->makespan_ns;

    switch (which) {
    case ROCM_PERF_END_TO_END_NS:
        *ret = known_if(has_dag, makespan_ns);
        return true;
    case ROCM_PERF_COPIES_NS:
        *ret = known_if(has_dag, (double)dag->copy_time_ns);
        return true;
    case ROCM_PERF_SPAN_NS:
        *ret = known_if(has_dag, (double)dag->true_span_ns);
        return true;
    case ROCM_PERF_GUESSED_PATH_SHARE:
        *ret = known_if(has_dag && dag->makespan_ns > 0,
                        (double)dag->grade_path_ns[RP_DAG_INFERRED] / makespan_ns);
        return true;
    default:
        return false;
    }
}

int rocm_perf_number(const struct rocm_perf *run, enum rocm_perf_number which, double *ret)
{
    bool has_dag = run && run->state == RP_RUN_ANALYSED && run->parts.has_dag;
    struct rp_quantity quantity;

    if (!run || !ret)
        return NO_SUCH;
    if (!of_profile(run->parts.ranking.profile, which, &quantity) &&
        !of_graph(&run->parts.dag, has_dag, which, &quantity))
        return NO_SUCH;
    return run->state == RP_RUN_ANALYSED ? give_number(quantity, ret) : 0;
}

const char *rocm_perf_text(const struct rocm_perf *run, enum rocm_perf_text which)
{
    if (!run)
        return NULL;
    switch (which) {
    case ROCM_PERF_DEVICE:
        return run->origin.device;
    case ROCM_PERF_TIMING_MODEL:
        return run->origin.timing_model;
    case ROCM_PERF_NO_ROOFLINE:
        return run->parts.roofline.reason;
    }
    return NULL;
}

/* --- kernels ---------------------------------------------------------------------------------- */

size_t rocm_perf_kernel_count(const struct rocm_perf *run)
{
    return run && run->state == RP_RUN_ANALYSED ? run->parts.ranking.found.kernel_count : 0;
}

static bool of_summary(const struct rp_kernel_summary *s, enum rocm_perf_kernel_number which,
                       struct rp_quantity *ret)
{
    static const struct rp_kernel_summary none;
    const struct rp_kernel_resources *r = s ? &s->resources : &none.resources;
    bool registers = s && s->symbol_known;

    switch (which) {
    case ROCM_PERF_KERNEL_VGPRS:
        *ret = known_if(registers, r->arch_vgpr);
        return true;
    case ROCM_PERF_KERNEL_AGPRS:
        *ret = known_if(registers, r->accum_vgpr);
        return true;
    case ROCM_PERF_KERNEL_SGPRS:
        *ret = known_if(registers, r->sgpr);
        return true;
    case ROCM_PERF_KERNEL_LDS_BYTES:
        *ret = known_if(rp_kernel_bytes_known(s, r->lds_bytes), r->lds_bytes);
        return true;
    case ROCM_PERF_KERNEL_SCRATCH_BYTES:
        *ret = known_if(rp_kernel_bytes_known(s, r->scratch_bytes), r->scratch_bytes);
        return true;
    case ROCM_PERF_KERNEL_WORKGROUP_SIZE:
        *ret = known_if(r->workgroup_size > 0, r->workgroup_size);
        return true;
    case ROCM_PERF_KERNEL_OCCUPANCY:
        *ret = known_if(s && s->occupancy.known, s ? s->occupancy.theoretical : 0);
        return true;
    default:
        return false;
    }
}

static bool of_roofline(const struct rp_roofline_kernel *r, enum rocm_perf_kernel_number which,
                        struct rp_quantity *ret)
{
    static const struct rp_roofline_kernel none;

    r = r ? r : &none;
    switch (which) {
    case ROCM_PERF_KERNEL_FLOPS:
        *ret = r->flops;
        return true;
    case ROCM_PERF_KERNEL_HBM_BYTES:
        *ret = r->bytes[RP_LEVEL_HBM];
        return true;
    case ROCM_PERF_KERNEL_INTENSITY:
        *ret = r->intensity[RP_LEVEL_HBM];
        return true;
    case ROCM_PERF_KERNEL_GFLOPS:
        *ret = r->gflops;
        return true;
    case ROCM_PERF_KERNEL_HBM_GBPS:
        *ret = r->gbps[RP_LEVEL_HBM];
        return true;
    case ROCM_PERF_KERNEL_BOUND_SHARE:
        *ret = r->bound_share;
        return true;
    default:
        return false;
    }
}

static bool of_ranking(const struct rp_bottleneck_kernel *b, enum rocm_perf_kernel_number which,
                       struct rp_quantity *ret)
{
    switch (which) {
    case ROCM_PERF_KERNEL_CALLS:
        *ret = b->calls ? known((double)b->calls) : known_if(false, 0);
        return true;
    case ROCM_PERF_KERNEL_TIME_NS:
        *ret = b->time_ns;
        return true;
    case ROCM_PERF_KERNEL_WEIGHT:
        *ret = b->weight;
        return true;
    case ROCM_PERF_KERNEL_HEADROOM:
        *ret = b->headroom;
        return true;
    case ROCM_PERF_KERNEL_PRIORITY:
        *ret = b->priority;
        return true;
    case ROCM_PERF_KERNEL_END_TO_END_BOUND:
        *ret = b->end_to_end_bound;
        return true;
    case ROCM_PERF_KERNEL_FREE_BOUND:
        *ret = b->free_bound;
        return true;
    default:
        return false;
    }
}

int rocm_perf_kernel_number(const struct rocm_perf *run, size_t kernel,
                            enum rocm_perf_kernel_number which, double *ret)
{
    struct rp_quantity quantity;

    if (!ret || kernel >= rocm_perf_kernel_count(run))
        return NO_SUCH;
    if (!of_ranking(&run->parts.ranking.found.kernels[kernel], which, &quantity) &&
        !of_summary(run->kernels[kernel].summary, which, &quantity) &&
        !of_roofline(run->kernels[kernel].roofline, which, &quantity))
        return NO_SUCH;
    return give_number(quantity, ret);
}

const char *rocm_perf_kernel_text(const struct rocm_perf *run, size_t kernel,
                                  enum rocm_perf_kernel_text which)
{
    const struct rp_kernel_summary *summary;
    const struct rp_roofline_kernel *roofline;

    if (kernel >= rocm_perf_kernel_count(run))
        return NULL;
    summary = run->kernels[kernel].summary;
    roofline = run->kernels[kernel].roofline;
    switch (which) {
    case ROCM_PERF_KERNEL_NAME:
        return run->parts.ranking.found.kernels[kernel].name;
    case ROCM_PERF_KERNEL_SYMBOL:
        return summary && summary->symbol_known ? summary->symbol : NULL;
    case ROCM_PERF_KERNEL_BOTTLENECK:
        return rp_bottleneck_names[run->parts.ranking.found.kernels[kernel].label];
    case ROCM_PERF_KERNEL_BOUND:
        return roofline ? rp_bound_names[roofline->bound] : NULL;
    case ROCM_PERF_KERNEL_OCCUPANCY_LIMITER:
        return summary && summary->occupancy.known
                   ? rp_occupancy_limit_names[summary->occupancy.limiter]
                   : NULL;
    case ROCM_PERF_KERNEL_GPU:
        return summary ? run->parts.ranking.profile->agents[summary->agent].name : NULL;
    }
    return NULL;
}

/* --- the critical path ------------------------------------------------------------------------ */

size_t rocm_perf_path_count(const struct rocm_perf *run)
{
    return run && run->state == RP_RUN_ANALYSED ? run->parts.dag.share_count : 0;
}

const char *rocm_perf_path_name(const struct rocm_perf *run, size_t index)
{
    return index < rocm_perf_path_count(run) ? run->parts.dag.shares[index].name : NULL;
}

int rocm_perf_path_ns(const struct rocm_perf *run, size_t index, double *ret)
{
    if (!ret || index >= rocm_perf_path_count(run))
        return NO_SUCH;
    return give_number(known((double)run->parts.dag.shares[index].path_ns), ret);
}

/* --- everything ------------------------------------------------------------------------------- */

static int put_json(const struct rocm_perf *run, enum rocm_perf_json which, struct rp_buf *json,
                    struct rp_err *err)
{
    if (run->state != RP_RUN_ANALYSED)
        return rp_fail(err, RP_USAGE, "rocm_perf_json: call rocm_perf_analyze before");
    if (which == ROCM_PERF_JSON_DAG && run->parts.has_dag)
        return rp_report_dag_json(&run->parts.dag, RP_DAG_CHAIN, json, err);
    if (which == ROCM_PERF_JSON_ROOFLINE && run->parts.has_roofline)
        return rp_report_roofline_json(&run->parts.roofline, json, err);
    if (which == ROCM_PERF_JSON_ANALYSIS && run->parts.has_ranking)
        return rp_report_analysis_json(&run->parts.ranking.found, 0, json, err);
    if (which == ROCM_PERF_JSON_THREAD_TRACE && run->in.waves.count)
        return rp_report_thread_trace_json(&run->in.waves, json, err);
    if ((unsigned)which > ROCM_PERF_JSON_THREAD_TRACE)
        return rp_fail(err, RP_USAGE, "rocm_perf_json: there is no result %d", (int)which);
    return rp_fail(err, RP_BAD_INPUT, "rocm_perf_json: the files hold nothing for this result: %s",
                   which == ROCM_PERF_JSON_DAG        ? "a graph is made of a trace"
                   : which == ROCM_PERF_JSON_ROOFLINE ? "a roofline is made of counters"
                                                      : "there is no thread trace");
}

int rocm_perf_json(const struct rocm_perf *run, enum rocm_perf_json which, char **ret,
                   struct rocm_perf_error *error)
{
    rp_cleanup(c_locale_end) struct rp_c_locale plain = c_locale_begin();
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf json = {0};
    char *text = NULL;
    int rc = !run || !ret ? rp_fail(&err, RP_USAGE, "rocm_perf_json: run or ret is NULL")
             : plain.own  ? put_json(run, which, &json, &err)
                          : rp_out_of_memory(&err);

    if (rc == 0)
        text = rp_buf_steal(&json);
    if (rc == 0 && !text)
        rc = rp_out_of_memory(&err);
    if (rc < 0)
        return run_failed(&err, error);
    *ret = text;
    return 0;
}

void rocm_perf_free(char *text)
{
    free(text);
}
