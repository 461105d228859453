#include "library/run.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/name_index.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/rocm-perf.h"

int rp_run_failed(const struct rp_err *err, struct rocm_perf_error *ret)
{
    _Static_assert(sizeof ret->text == sizeof err->text, "every message fits");
    if (ret) {
        ret->code = (int)err->code;
        memcpy(ret->text, err->text, sizeof ret->text);
    }
    return -(int)err->code;
}

struct rp_plain_numbers rp_plain_numbers_begin(void)
{
    struct rp_plain_numbers ret = {.own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};

    if (ret.own)
        ret.former = uselocale(ret.own);
    return ret;
}

void rp_plain_numbers_end(struct rp_plain_numbers *plain)
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
    rp_parts_free(&run->parts);
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
    rp_cleanup(rp_plain_numbers_end) struct rp_plain_numbers plain = rp_plain_numbers_begin();
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
        return rp_run_failed(&err, error);
    run = calloc(1, sizeof *run);
    if (!run || !plain.own) {
        free(run);
        rp_out_of_memory(&err);
        return rp_run_failed(&err, error);
    }
    run->in.notes = (struct rp_note_sink){.put = keep_note, .ctx = run};
    if (rp_inputs_open((char *const *)paths, count, &run->in, &err) < 0) {
        rocm_perf_close(run);
        return rp_run_failed(&err, error);
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
        return rp_run_failed(&err, error);
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

/* The place of the first kernel of that name, of several the one that took most time; or -1. */
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
        if (roofline < 0 && to->summary) /* counters may know the symbol only */
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
    rp_cleanup(rp_plain_numbers_end) struct rp_plain_numbers plain = rp_plain_numbers_begin();
    const struct rp_roofline_options roof = {.arch = run ? run->arch : NULL};
    const struct rp_parts_wish wish = {.dag = true, .ranking = true, .roof = &roof};
    struct rp_err err = RP_ERR_INIT;
    int rc;

    if (!run) {
        rp_fail(&err, RP_USAGE, "rocm_perf_analyze: run is NULL");
        return rp_run_failed(&err, error);
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
        rc = rp_parts_make(&run->in, &wish, &run->parts, &err);
    if (rc == 0)
        rc = join_kernels(run, &err);
    run->state = rc == 0 ? RP_RUN_ANALYSED : RP_RUN_FAILED;
    if (rc < 0)
        return rp_run_failed(&err, error);
    run->origin = rp_origin_of(run->in.stores, run->in.store_count);
    return 0;
}
