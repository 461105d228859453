/* Rounds of a session: in each, kernels are ranked anew and one change is accepted at most. A
 * kernel of which nothing can be told is left with the reason; the others are tried all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/kernel_match.h"
#include "optimize/rank.h"
#include "optimize/session_parts.h"

static int profile(struct rp_session *s, unsigned round, const char *folder, struct rp_facts *ret,
                   struct rp_err *err)
{
    rp_autofree char *key = rp_format("%u", round);
    int rc;

    if (!key)
        return rp_out_of_memory(err);
    if (rp_journal_find(s->journal, "profile", key) && rp_path_is_dir(folder))
        return rp_facts_read(folder, ret, err);
    rp_remove_tree(folder);
    rp_session_say(s, "round %u: profiling %s", round, s->program);
    rc = rp_application_profile(&s->measure, s->program, RP_RUNS_LONGER, folder, ret, err);
    if (rc == 0 && ret->failed_launches.known && ret->failed_launches.value > 0) {
        rp_autofree char *failed = rp_application_failed_launches(ret);

        rp_session_say(s, "%s: %s", s->program, failed ? failed : "some of its launches failed");
    }
    if (rc == 0) {
        rc = rp_journal_add(s->journal, "profile", key,
                            json_pack("{s:o}", "folder", rp_session_text(folder)), err);
        if (rc < 0)
            rp_facts_free(ret);
    }
    return rc;
}

/** Which kernels the user has named; NULL in ret: none was. */
static int named_kernels(const struct rp_session *s, const struct rp_facts *facts, bool **ret,
                         struct rp_err *err)
{
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};
    bool *list;
    int rc;

    *ret = NULL;
    if (!s->o->kernel)
        return 0;
    rc = rp_kernel_pattern_compile("--kernel", s->o->kernel, &pattern, err);
    if (rc < 0)
        return rc;
    list = calloc(facts->count + 1, sizeof *list);
    for (size_t i = 0; list && i < facts->count; i++)
        list[i] =
            rp_kernel_pattern_finds(&pattern, facts->kernels[i].name, facts->kernels[i].symbol);
    *ret = list;
    return list ? 0 : rp_out_of_memory(err);
}

/**
 * An expression that finds nothing is a mistake. Nothing has been decided: the journal is emptied,
 * so that another session can begin in the same folder.
 */
static int check_named(const struct rp_session *s, const struct rp_facts *facts, const bool *named,
                       struct rp_err *err)
{
    enum { MOST_NAMES = 10 };
    rp_autofree char *journal = rp_path_join(s->o->folder, "journal.jsonl");
    rp_autobuf names = {0};
    size_t count = 0;

    for (size_t i = 0; i < facts->count; i++) {
        const struct rp_kernel_facts *k = &facts->kernels[i];

        if (!named || named[i])
            return 0;
        if (!k->runtime_internal && count++ < MOST_NAMES)
            rp_buf_printf(&names, "%s%s", count > 1 ? ", " : "", k->name);
    }
    if (!named)
        return 0;
    if (journal && truncate(journal, 0) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot empty %s", journal);
    return rp_fail(err, RP_USAGE, "--kernel %s finds none of the program's kernels: %s%s",
                   s->o->kernel, rp_buf_text(&names), count > MOST_NAMES ? " ..." : "");
}

static json_t *quantity(struct rp_quantity q)
{
    return q.known ? json_real(q.value) : json_null();
}

static json_t *kernel_json(const struct rp_kernel_facts *k, const struct rp_rank_entry *e)
{
    return json_pack("{s:s, s:s?, s:o, s:s?, s:o, s:o, s:o, s:s?, s:s?, s:b, s:[]}", "name",
                     k->name, "symbol", k->symbol, "weight", quantity(e->weight), "weight_of",
                     !e->weight.known           ? NULL
                     : e->weight_of_kernel_time ? "kernel_time"
                                                : "critical_path",
                     "headroom", quantity(e->headroom), "end_to_end_bound", quantity(e->bound),
                     "time_ns", quantity(k->time_ns), "bottleneck", k->bottleneck, "stop", e->stop,
                     "failed", false, "attempts");
}

/** They are ranked anew with what was accepted. */
static void leave_for_later(json_t *kernels, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        json_object_set_new(json_array_get(kernels, i), "stop",
                            json_string("a change of another kernel was accepted before"));
}

bool rp_session_ends_by(const struct rp_err *failed)
{
    return failed->code == RP_INTERRUPTED || failed->code == RP_ENVIRONMENT;
}

static bool ends_session(const struct rp_session *s, const struct rp_err *failed,
                         struct rp_err *err)
{
    if (rp_session_ends_by(failed)) {
        *err = *failed;
        return true;
    }
    if (rp_session_check_disk(s, err) == 0)
        return false;
    rp_wrap(err, "%s", failed->text);
    return true;
}

/** @return as rp_session_kernel; 0 also when nothing can be told of this kernel */
static int try_kernel(struct rp_session *s, unsigned round, size_t place,
                      const struct rp_kernel_facts *facts, const char *profile, json_t *json,
                      struct rp_err *err)
{
    struct rp_err failed = RP_ERR_INIT;
    int rc = rp_session_kernel(s, round, place, facts, profile, json, &failed);

    rc = rp_session_is_over(s, rc, &failed);
    if (rc >= 0)
        return rc;
    json_object_set_new(json, "failed", json_true());
    json_object_set_new(json, "stop", rp_session_text(failed.text));
    rp_wrap(&failed, "%s", facts->name);
    if (ends_session(s, &failed, err))
        return rc;
    rp_session_say(s, "  goes no further: %s", json_string_value(json_object_get(json, "stop")));
    if (s->failure.code == RP_OK)
        s->failure = failed;
    return 0;
}

static int run_kernels(struct rp_session *s, unsigned round, const struct rp_facts *facts,
                       const struct rp_rank *rank, const char *folder, json_t *kernels,
                       struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < rank->count; i++) {
        const struct rp_rank_entry *e = &rank->entries[i];

        json_array_append_new(kernels, kernel_json(&facts->kernels[e->kernel], e));
    }
    for (size_t i = 0; i < rank->tried && rc == 0; i++) {
        const struct rp_kernel_facts *k = &facts->kernels[rank->entries[i].kernel];
        json_t *json = json_array_get(kernels, i);
        rp_autofree char *key = rp_format("%u/%s", round, k->symbol);

        if (s->proposer_ended)
            json_object_set_new(json, "stop", json_string("nobody proposes any more"));
        else if (rp_session_goes_on(s, "base", key))
            rc = try_kernel(s, round, i + 1, k, folder, json, err);
        else
            json_object_set_new(json, "stop", json_string("the time of --budget was over"));
        if (rc == 1)
            leave_for_later(kernels, i + 1, rank->tried);
    }
    return rc;
}

/** @return 1 something was accepted, 0 not, negative */
static int run_round(struct rp_session *s, unsigned round, struct rp_err *err)
{
    const struct rp_rank_limits limits = rp_rank_usual_limits();
    rp_autofree char *folder = rp_format("%s/round-%u/profile", s->o->folder, round);
    rp_autofree bool *named = NULL;
    struct rp_facts facts = {0};
    struct rp_rank rank = {0};
    json_t *kernels = json_array();
    int rc = folder && kernels ? profile(s, round, folder, &facts, err) : rp_out_of_memory(err);

    if (rc == 0)
        rc = named_kernels(s, &facts, &named, err);
    if (rc == 0 && round == 1)
        rc = check_named(s, &facts, named, err);
    if (rc == 0)
        rc = rp_rank_kernels(&facts, &limits, named, &rank, err);
    if (rc == 0) {
        s->modelled = facts.device && strcmp(facts.device, "software") == 0;
        s->profiled = &facts;
        json_array_append_new(s->rounds,
                              json_pack("{s:I, s:o, s:s?, s:O}", "round", (json_int_t)round,
                                        "runtime_ms", quantity(facts.runtime_ms), "device",
                                        facts.device, "kernels", kernels));
        rc = run_kernels(s, round, &facts, &rank, folder, kernels, err);
    }
    s->profiled = NULL;
    rp_rank_free(&rank);
    rp_facts_free(&facts);
    json_decref(kernels);
    return rc;
}

int rp_session_rounds(struct rp_session *s, struct rp_err *err)
{
    int rc = 1;

    for (unsigned round = 1; round <= s->o->most_rounds && rc == 1; round++) {
        rp_autofree char *key = rp_format("%u", round);

        s->attempts_over = false;
        rc = rp_session_goes_on(s, "profile", key) && !s->proposer_ended ? run_round(s, round, err)
                                                                         : 0;
        rc = rp_session_is_over(s, rc, err);
    }
    return rc < 0 ? rc : 0;
}
