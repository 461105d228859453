/* In each round of a session, kernels are ranked anew and at most one change is accepted. If a
 * kernel cannot be judged, it is left with the reason, and the others are tried all the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "optimize/kernel_facts.h"
#include "optimize/launch_size.h"
#include "optimize/session_parts.h"
#include "run/kernel_names.h"

/* One kernel in a round has its source, its code, its dispatches, all candidates, and the best of
 * them. */

static void free_run(struct rp_kernel_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        rp_session_candidate_free(&run->tried[i]);
    free(run->tried);
    rp_captures_free(&run->captures);
    rp_code_object_free(&run->object);
    rp_kernel_source_free(run->source);
    free(run->hsaco);
    free(run->folder);
}

static int does_not_compile(const struct rp_kernel_run *run, const struct rp_build_result *built,
                            struct rp_err *err)
{
    rp_autofree char *reason = rp_build_result_reason(built);

    return rp_fail(err, RP_BAD_INPUT, "%s does not compile for %s%s: %s", run->s->source,
                   run->facts->arch, rp_compile_command_hint(run->s->command),
                   reason ? reason : built->why);
}

static int build_twice(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_session *s = run->s;
    struct rp_build_result built;
    bool same;
    int rc =
        rp_compile_twice(s->command, s->source, run->facts->arch, run->hsaco, &built, &same, err);

    if (rc < 0)
        return rc;
    if (!built.ok)
        rc = does_not_compile(run, &built, err);
    else if (!same)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "two builds of %s are not the same to the byte: nothing can be told of a "
                     "change (does it use __DATE__ or __TIME__?)",
                     s->source);
    rp_build_result_free(&built);
    return rc;
}

/** Builds the best source so far as a code object, once. */
static int build_base(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_journal *journal = run->s->journal;
    rp_autofree char *key = rp_format("%u/%s", run->round, run->facts->symbol);
    const json_t *data = rp_journal_find(journal, "base", key);
    int rc = 0;

    run->hsaco = rp_path_join(run->folder, "before.hsaco");
    if (!data || !rp_session_is_file(run->hsaco, data, "code_object_sha256")) {
        rc = build_twice(run, err);
        data = NULL;
    }
    if (rc == 0)
        rc = rp_code_object_read(run->hsaco, run->facts->symbol, &run->object, err);
    return rc < 0 || data
               ? rc
               : rp_journal_add(journal, "base", key,
                                json_pack("{s:s}", "code_object_sha256", run->object.file_sha256),
                                err);
}

/** Checks that the code that ran is the one that the source and the build command make. */
static int check_origin(struct rp_kernel_run *run, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(run->captures.list[0].folder, "kernel.hsaco");
    struct rp_code_object captured;
    bool same;
    int rc = rp_code_object_read(path, run->facts->symbol, &captured, err);

    if (rc < 0)
        return rc;
    same = strcmp(captured.code_sha256, run->object.code_sha256) == 0;
    rp_code_object_free(&captured);
    if (same)
        return 0;
    return rp_fail(
        err, RP_BAD_INPUT,
        "%s: the code of %s is not what %s makes of %s: give the source as it was built, "
        "and with --build the command that built it, or build the program anew%s%s",
        run->s->program, run->facts->name, rp_compile_command_origin(run->s->command),
        run->s->source, rp_compile_command_lines_hint(run->s->command),
        rp_compile_command_hint(run->s->command));
}

static json_t *geometries_json(const struct rp_captures *captures)
{
    json_t *list = json_array();

    for (size_t i = 0; i < captures->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "geometry", captures->list[i].name,
                                              "time_ns", captures->list[i].weight));
    return list;
}

/**
 * Captures its dispatches into run->captures.
 * @return 1 they are there, 0 they cannot be captured (the JSON says why), negative; RP_VERDICT:
 * the time of --budget was over
 */
static int session_capture(struct rp_kernel_run *run, const char *profile, const char *folder,
                           struct rp_err *err)
{
    struct rp_session *s = run->s;
    struct rp_err why = RP_ERR_INIT;
    int rc;

    if (!rp_path_exists(folder)) /* A session that goes on has captured them. */
        rp_session_message(s, "  capturing its dispatches");
    rc = rp_captures_make(&s->measure, s->program, run->facts->name, run->facts->symbol, profile,
                          folder, &run->captures, &why);
    if (rc == 0)
        return 1;
    if (why.code != RP_VERDICT) {
        *err = why;
        return rc;
    }
    if (s->patience.over) { /* That is no verdict on the kernel, and --resume captures it. */
        json_object_set_new(run->json, "stop", json_string("the time of --budget was over"));
        *err = why;
        return rc;
    }
    json_object_set_new(run->json, "stop", rp_session_text(why.text));
    return rp_session_folder_check(&s->folder, err) < 0 ? rp_wrap(err, "%s", why.text) : 0;
}

/** Only some proposers ask for them, and the compiler takes its time. */
static int find_constants(struct rp_kernel_run *run, struct rp_err *err)
{
    const struct rp_session *s = run->s;

    return s->o->proposer->changes_launches
               ? rp_launch_constants_find(s->command, run->facts->arch, run->source, err)
               : 0;
}

/** @return 1 ready, 0 it cannot be tried (the JSON says why), negative */
static int prepare(struct rp_kernel_run *run, const char *profile, struct rp_err *err)
{
    struct rp_session *s = run->s;
    rp_autofree char *captures = rp_path_join(run->folder, "captures");
    struct rp_err why = RP_ERR_INIT;
    int rc = rp_mkdirs_private(run->folder, err);

    if (rc < 0)
        return rc;
    if (!run->facts->arch) {
        json_object_set_new(run->json, "stop", json_string("its GPU is not known"));
        return 0;
    }
    rc = rp_kernel_source_read(s->command, s->source, run->facts->symbol, run->facts->arch,
                               &run->source, &why);
    if (rc < 0 && why.code != RP_BAD_INPUT) {
        *err = why;
        return rc;
    }
    if (rc == 0)
        rc = find_constants(run, err);
    if (rc == 0)
        rc = build_base(run, err);
    else if (!run->source)
        json_object_set_new(run->json, "stop", rp_session_text(why.text));
    if (!run->source || rc < 0)
        return run->source ? rc : rp_session_folder_check(&s->folder, err);
    rc = session_capture(run, profile, captures, err);
    if (rc <= 0)
        return rc;
    rc = check_origin(run, err);
    json_object_set_new(run->json, "geometries", geometries_json(&run->captures));
    json_object_set_new(run->json, "geometries_time_share",
                        run->captures.covered >= 0 ? json_real(run->captures.covered)
                                                   : json_null());
    run->floor = rp_facts_time_floor(run->facts, s->o->scope == RP_EDIT_UNROLL);
    return rc < 0 ? rc : 1;
}

static int best_first(const void *a, const void *b)
{
    const struct rp_session_candidate *const *x = a, *const *y = b;

    if ((*x)->low != (*y)->low)
        return (*x)->low > (*y)->low ? -1 : 1;
    return *x < *y ? -1 : 1;
}

static int accept_best(struct rp_kernel_run *run, struct rp_err *err)
{
    rp_autofree struct rp_session_candidate **winners =
        rp_alloc_zero(run->count + 1, sizeof *winners);
    const int64_t end_ns = run->s->patience.end_ns;
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i < run->count; i++)
        if (run->tried[i].outcome == RP_OUTCOME_FASTER)
            winners[count++] = &run->tried[i];
    qsort(winners, count, sizeof *winners, best_first);
    run->s->patience.end_ns = 0; /* The budget is for the search, and not for its result. */
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = rp_session_accept(run, winners[i], err);
    run->s->patience.end_ns = end_ns;
    return rc;
}

/** Nothing was proposed, so each loop gets the reason why it may not be unrolled. */
static char *why_nothing(const struct rp_kernel_run *run)
{
    rp_autobuf text = {0};

    if (run->s->o->proposer == rp_proposer_named("llm"))
        return rp_strdup("the proposer has nothing for it");
    rp_buf_puts(&text, run->source->loop_count ? "none of its loops can be unrolled"
                                               : "no loop stands in its text");
    for (size_t i = 0; i < run->source->loop_count; i++) {
        const struct rp_source_loop *loop = &run->source->loops[i];

        rp_buf_printf(&text, "%s line %u: %s", i ? ";" : ":", loop->line,
                      loop->why_not ? loop->why_not : "each factor is there already");
    }
    return rp_buf_steal(&text);
}

static void report_why_nothing(struct rp_kernel_run *run)
{
    struct rp_session *s = run->s;
    rp_autofree char *why = NULL;

    if (run->count || s->budget_over || s->proposer_ended ||
        json_is_string(json_object_get(run->json, "stop")))
        return;
    why = why_nothing(run);
    rp_session_message(s, "  not tried: %s", why);
    json_object_set_new(run->json, "stop", rp_session_text(why));
}

static bool session_ends_by(const struct rp_err *failed);

/** Attempts before a failure are decided as always, unless the session ends with it. */
static int try_and_accept(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_err failed = RP_ERR_INIT;
    int rc = rp_session_excuse_budget_end(run->s, rp_session_try_candidates(run, &failed), &failed);

    if (rc < 0 && session_ends_by(&failed)) {
        *err = failed;
        return rc;
    }
    if (rc == 0)
        report_why_nothing(run);
    rc = accept_best(run, err);
    if (rc < 0 || failed.code == RP_OK)
        return rc;
    if (rc == 0) {
        *err = failed;
        return -(int)failed.code;
    }
    json_object_set_new(run->json, "failed", json_true());
    json_object_set_new(run->json, "stop", rp_session_text(failed.text));
    return rc;
}

/**
 * Tries changes of one kernel and accepts the best, if it is good enough.
 * @param json gets all attempts, also those before a failure
 * @return 1 accepted, 0 nothing, negative
 */
static int session_kernel(struct rp_session *s, unsigned round, size_t place,
                          const struct rp_kernel_facts *facts, const char *profile, json_t *json,
                          struct rp_err *err)
{
    rp_cleanup(free_run) struct rp_kernel_run run = {
        .s = s, .round = round, .facts = facts, .profile = profile, .json = json};
    int rc;

    rp_session_message(s, "%s", facts->name);
    run.folder = rp_format("%s/round-%u/kernel-%zu", s->o->folder, round, place);
    rc = prepare(&run, profile, err);
    if (rc == 0)
        rp_session_message(s, "  not tried: %s", json_string_value(json_object_get(json, "stop")));
    if (rc <= 0)
        return rc;
    rc = try_and_accept(&run, err);
    for (size_t i = 0; i < run.count; i++)
        json_array_append(json_object_get(json, "attempts"), run.tried[i].json);
    return rc;
}

static int profile(struct rp_session *s, unsigned round, const char *folder, struct rp_facts *ret,
                   struct rp_err *err)
{
    rp_autofree char *key = rp_format("%u", round);
    int rc;

    if (rp_journal_find(s->journal, "profile", key) && rp_path_is_dir(folder))
        return rp_facts_read(folder, ret, err);
    rp_remove_tree(folder);
    rp_session_message(s, "round %u: profiling %s", round, s->program);
    rc = rp_program_test_profile(&s->measure, s->program, RP_RUN_KIND_TRACED, folder, ret, err);
    if (rc == 0 && ret->failed_launches.known && ret->failed_launches.value > 0) {
        rp_autofree char *failed = rp_program_test_failed_launches(ret);

        rp_session_message(s, "%s: %s", s->program,
                           failed ? failed : "some of its launches failed");
    }
    if (rc == 0) {
        rc = rp_journal_add(s->journal, "profile", key,
                            json_pack("{s:o}", "folder", rp_session_text(folder)), err);
        if (rc < 0)
            rp_facts_free(ret);
    }
    return rc;
}

/** Finds which kernels the user has named. NULL in ret means none. */
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
    list = rp_alloc_zero(facts->count + 1, sizeof *list);
    for (size_t i = 0; i < facts->count; i++)
        list[i] =
            rp_kernel_pattern_finds(&pattern, facts->kernels[i].name, facts->kernels[i].symbol);
    *ret = list;
    return 0;
}

/**
 * An expression that finds nothing is a mistake. Nothing has been decided, so the journal is
 * emptied, and another session can begin in the same folder.
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

/** Says whether this failure of a kernel would affect the others, too. */
static bool session_ends_by(const struct rp_err *failed)
{
    return failed->code == RP_INTERRUPTED || failed->code == RP_ENVIRONMENT;
}

static bool ends_session(const struct rp_session *s, const struct rp_err *failed,
                         struct rp_err *err)
{
    if (session_ends_by(failed)) {
        *err = *failed;
        return true;
    }
    if (rp_session_folder_check(&s->folder, err) == 0)
        return false;
    rp_wrap(err, "%s", failed->text);
    return true;
}

/** @return as session_kernel; 0 also when this kernel cannot be judged */
static int try_kernel(struct rp_session *s, unsigned round, size_t place,
                      const struct rp_kernel_facts *facts, const char *profile, json_t *json,
                      struct rp_err *err)
{
    struct rp_err failed = RP_ERR_INIT;
    int rc = session_kernel(s, round, place, facts, profile, json, &failed);

    rc = rp_session_excuse_budget_end(s, rc, &failed);
    if (rc >= 0)
        return rc;
    json_object_set_new(json, "failed", json_true());
    json_object_set_new(json, "stop", rp_session_text(failed.text));
    rp_wrap(&failed, "%s", facts->name);
    if (ends_session(s, &failed, err))
        return rc;
    rp_session_message(s, "  goes no further: %s",
                       json_string_value(json_object_get(json, "stop")));
    if (s->failure.code == RP_OK)
        s->failure = failed;
    return 0;
}

static int run_kernels(struct rp_session *s, unsigned round, const struct rp_facts *facts,
                       const struct rp_ranked_kernels *rank, const char *folder, json_t *kernels,
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
        else if (rp_session_may_begin(s, "base", key))
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
    struct rp_rank_limits limits = rp_rank_usual_limits();
    rp_autofree char *folder = rp_format("%s/round-%u/profile", s->o->folder, round);
    rp_autofree bool *named = NULL;
    struct rp_facts facts = {0};
    struct rp_ranked_kernels rank = {0};
    json_t *kernels = json_array();
    int rc = profile(s, round, folder, &facts, err);

    if (rc == 0)
        rc = named_kernels(s, &facts, &named, err);
    if (rc == 0 && round == 1)
        rc = check_named(s, &facts, named, err);
    limits.best_anyway = round == 1;
    if (rc == 0)
        rp_rank_kernels(&facts, &limits, named, &rank);
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
    rp_ranked_kernels_free(&rank);
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
        rc = rp_session_may_begin(s, "profile", key) && !s->proposer_ended
                 ? run_round(s, round, err)
                 : 0;
        rc = rp_session_excuse_budget_end(s, rc, err);
    }
    return rc < 0 ? rc : 0;
}
