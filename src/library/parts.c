#include "library/parts.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "library/one_run.h"
#include "rocm-perf/analysis.h"
#include "trace/counter_set.h"

void rp_parts_free(struct rp_parts *parts)
{
    rp_ranking_free(&parts->ranking);
    rp_roofline_free(&parts->roofline);
    rp_dag_result_free(&parts->dag);
}

/* Work that did not happen is in no number of what is made of the traces. */
static int note_failed_launches(const struct rp_inputs *in, const struct rp_profile *profile,
                                struct rp_err *err)
{
    rp_autofree char *text = NULL;

    if (!profile || !profile->launches.failed)
        return 0;
    text = rp_launches_text(&profile->launches);
    if (!text)
        return rp_out_of_memory(err);
    rp_note(&in->notes, "%s", text);
    return 0;
}

/* Calls and times are those of one run: its further runs were only there for their counters.
 * @param run  its traces */
static int make_ranking(const struct rp_inputs *in, const struct rp_inputs *run,
                        const struct rp_parts_wish *wish, struct rp_parts *parts,
                        struct rp_err *err)
{
    struct rp_ranking_from from = {.dag = in->store_count ? &parts->dag : NULL,
                                   .roofline = in->counters ? &parts->roofline : NULL,
                                   .arch = wish->roof->arch};
    int rc;

    if (!wish->ranking)
        return 0;
    parts->has_ranking = true;
    rp_work_at(&in->work, RP_WORK_RANK, 0);
    rc = rp_make_ranking(run, &from, &parts->ranking, err);
    return rc < 0 ? rc : note_failed_launches(in, parts->ranking.profile, err);
}

static int make_all(struct rp_inputs *in, struct rp_store **run, size_t run_count,
                    const struct rp_parts_wish *wish, struct rp_parts *ret, struct rp_err *err)
{
    struct rp_inputs of_run;
    int rc = rp_warn_of_other_runs(in, run, run_count, err);

    ret->has_dag = in->store_count && wish->dag;
    if (rc == 0 && ret->has_dag)
        rc = rp_make_dag(in, wish->steps, &ret->dag, err);
    if (rc == 0)
        rc = rp_times_settle(in->stores, in->store_count, err);
    if (rc == 0)
        rc = rp_inputs_read_counters(in, wish->roofline, err);
    ret->has_roofline =
        in->counters && (in->counters->name_count || in->store_count == 0 || wish->roofline);
    if (rc == 0 && ret->has_roofline)
        rc = rp_make_roofline(in, wish->roof, &ret->roofline, err);
    of_run = *in;
    of_run.stores = run;
    of_run.store_count = run_count;
    return rc < 0 ? rc : make_ranking(in, &of_run, wish, ret, err);
}

int rp_parts_make(struct rp_inputs *in, const struct rp_parts_wish *wish, struct rp_parts *ret,
                  struct rp_err *err)
{
    rp_autofree struct rp_store **run = calloc(in->store_count + 1, sizeof *run);
    size_t count = 0;
    int rc = run ? rp_inputs_choose_run(in, run, &count, err) : rp_out_of_memory(err);

    return rc < 0 ? rc : make_all(in, run, count, wish, ret, err);
}
