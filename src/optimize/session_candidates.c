/* Candidates of one kernel are proposed, guarded, built, read, and compared. Each ends with a
 * record in the journal, which a resumed session uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "optimize/kernel_facts.h"
#include "optimize/session_parts.h"

enum { MOST_REPAIRS = 2 };

void rp_session_candidate_free(struct rp_session_candidate *tried)
{
    rp_session_launch_end(tried);
    free(tried->title);
    free(tried->text);
    free(tried->reason);
    free(tried->compiler_output);
    free(tried->note);
    free(tried->source);
    free(tried->hsaco);
    free(tried->key);
    json_decref(tried->json);
    *tried = (struct rp_session_candidate){0};
}

/** @return 0: it has ended */
static int end_with(struct rp_session_candidate *tried, enum rp_outcome outcome, const char *reason)
{
    free(tried->reason);
    tried->outcome = outcome;
    tried->reason = rp_strdup(reason);
    return 0;
}

/* --- one candidate ------------------------------------------------------------------------- */

static json_t *use_json(const struct rp_code_use *use)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:s?}", "vgprs", (json_int_t)use->vgprs,
                     "agprs", (json_int_t)use->agprs, "sgprs", (json_int_t)use->sgprs, "lds_bytes",
                     (json_int_t)use->lds_bytes, "scratch_bytes", (json_int_t)use->scratch_bytes,
                     "occupancy", use->occupancy_known ? json_real(use->occupancy) : json_null(),
                     "limiter", use->limiter);
}

static void add_resources(const struct rp_kernel_run *run, const struct rp_code_object *object,
                          uint32_t workgroup, json_t *json)
{
    const struct rp_captured *c = &run->captures.list[0];
    const uint32_t items = c->workgroup[0] * c->workgroup[1] * c->workgroup[2];
    const uint64_t own = run->object.kernel.group_bytes;
    const uint64_t dynamic = c->group_bytes > own ? c->group_bytes - own : 0;
    struct rp_code_use before, after;

    rp_code_object_use(&run->object, run->facts->arch, items, dynamic, &before);
    rp_code_object_use(object, run->facts->arch, workgroup ? workgroup : items, dynamic, &after);
    json_object_set_new(json, "resources_before", use_json(&before));
    json_object_set_new(json, "resources_after", use_json(&after));
}

static int compare_candidate(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                             json_t *record, struct rp_err *err)
{
    struct rp_decision decision;
    json_t *comparisons;
    int rc;

    if (run->s->o->dry_run)
        return end_with(tried, RP_OUTCOME_UNDECIDED, "not measured (--dry-run)");
    rc = rp_session_compare(run, tried, false, &decision, &comparisons, err);
    if (rc < 0)
        return rc;
    json_object_set_new(record, "comparisons", comparisons);
    tried->measured = ++run->s->measured;
    tried->ratio_known = decision.ratio_known;
    tried->ratio = decision.ratio;
    tried->low = decision.low;
    tried->error = decision.error;
    if (decision.ratio_known)
        json_object_set_new(tried->json, "ratio",
                            json_pack("{s:f, s:f, s:f}", "estimate", decision.ratio, "low",
                                      decision.low, "high", decision.high));
    return end_with(tried, decision.outcome, decision.reason);
}

static int read_object(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                       json_t *record, struct rp_err *err)
{
    struct rp_code_object object = {0};
    struct rp_err why = RP_ERR_INIT;
    int rc;

    free(tried->note);
    tried->note = NULL;
    if (rp_code_object_read(tried->hsaco, run->facts->symbol, &object, &why) < 0 ||
        rp_code_object_fits(&run->object, &object, &why) < 0 ||
        rp_code_launches_fit(&run->object, &object,
                             tried->workgroup ? tried->workgroup
                                              : rp_captures_largest(&run->captures),
                             &tried->note, &why) < 0) {
        rp_code_object_free(&object);
        return end_with(tried, RP_OUTCOME_UNFIT, why.text);
    }
    json_object_set_new(record, "code_object_sha256", json_string(object.file_sha256));
    json_object_set_new(tried->json, "code_sha256", json_string(object.code_sha256));
    add_resources(run, &object, tried->workgroup, tried->json);
    if (!tried->workgroup && strcmp(object.code_sha256, run->object.code_sha256) == 0)
        rc = end_with(tried, RP_OUTCOME_SAME, "the compiler makes the same instructions of it");
    else
        rc = compare_candidate(run, tried, record, err);
    rp_code_object_free(&object);
    return rc;
}

static int build(struct rp_kernel_run *run, struct rp_session_candidate *tried, json_t *record,
                 struct rp_err *err)
{
    struct rp_build_result built;
    rp_autofree char *reason = NULL;
    bool same;
    int rc = rp_compile_twice(run->s->command, tried->source, run->facts->arch, tried->hsaco,
                              &built, &same, err);

    if (rc < 0)
        return rc;
    if (!built.ok) {
        reason = rp_build_result_reason(&built);
        rc = end_with(tried, RP_OUTCOME_NOT_COMPILED, reason);
        tried->compiler_output = rp_steal(built.output);
    } else if (!same) {
        rc = end_with(tried, RP_OUTCOME_UNSTEADY, "two builds of it are not the same to the byte");
    } else {
        rc = read_object(run, tried, record, err);
    }
    rp_build_result_free(&built);
    return rc;
}

static bool was_proposed(const struct rp_kernel_run *run, const struct rp_session_candidate *tried)
{
    for (size_t i = 0; i < run->count; i++)
        if (strcmp(run->tried[i].text, tried->text) == 0)
            return true;
    return strlen(tried->text) == run->source->end - run->source->begin &&
           memcmp(tried->text, run->source->text + run->source->begin, strlen(tried->text)) == 0;
}

static int write_and_build(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                           const char *text, size_t bytes, json_t *record, struct rp_err *err)
{
    char hash[RP_SHA256_TEXT];
    int rc;

    rp_sha256(text, bytes, hash);
    json_object_set_new(tried->json, "source_sha256", json_string(hash));
    rc = rp_write_private_file(tried->source, text, bytes, err);
    return rc < 0 ? rc : build(run, tried, record, err);
}

static int evaluate_launch(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                           json_t *record, struct rp_err *err)
{
    struct rp_err why = RP_ERR_INIT;

    return rp_session_launch_guard(run, tried, &why) < 0
               ? end_with(tried, RP_OUTCOME_REFUSED, why.text)
               : write_and_build(run, tried, tried->text, strlen(tried->text), record, err);
}

static int evaluate(struct rp_kernel_run *run, struct rp_session_candidate *tried, json_t *record,
                    struct rp_err *err)
{
    struct rp_guard_result guarded = {0};
    struct rp_err why = RP_ERR_INIT;
    int rc;

    if (was_proposed(run, tried))
        return end_with(tried, RP_OUTCOME_REFUSED, "it is what was there or proposed before");
    if (tried->workgroup)
        return evaluate_launch(run, tried, record, err);
    rc = rp_guard_check(run->source, tried->text, strlen(tried->text),
                        run->s->o->proposer->changes_body ? RP_EDIT_BODY : run->s->o->scope,
                        run->s->command, run->facts->arch, run->s->scratch, &guarded, &why);
    if (rc < 0 && why.code == RP_INTERRUPTED) {
        *err = why;
        return rc;
    }
    /* This includes an unknown result: only what is known to be harmless is accepted. */
    if (rc < 0) {
        rc = end_with(tried, guarded.compiler_output ? RP_OUTCOME_NOT_COMPILED : RP_OUTCOME_REFUSED,
                      why.text);
        tried->compiler_output = rp_steal(guarded.compiler_output);
    } else {
        rc = write_and_build(run, tried, guarded.file_text, guarded.bytes, record, err);
    }
    rp_guard_result_free(&guarded);
    return rc;
}

/* --- the journal --------------------------------------------------------------------------- */

/** Restores the end of an attempt from the journal, if its files are unchanged. */
static bool restore(struct rp_kernel_run *run, struct rp_session_candidate *tried)
{
    const json_t *data = rp_journal_find(run->s->journal, "attempt", tried->key);
    const json_t *shown = json_object_get(data, "attempt"),
                 *ratio = json_object_get(shown, "ratio");
    const char *output = json_string_value(json_object_get(data, "compiler_output"));
    const char *note = json_string_value(json_object_get(data, "note"));
    const char *reason = json_string_value(json_object_get(shown, "reason"));

    tried->outcome = rp_outcome_of(json_string_value(json_object_get(shown, "outcome")));
    if (!data || !reason || tried->outcome == RP_OUTCOME_COUNT ||
        !rp_session_is_file(tried->source, shown, "source_sha256") ||
        !rp_session_is_file(tried->hsaco, data, "code_object_sha256"))
        return false;
    tried->reason = rp_strdup(reason);
    tried->compiler_output = output ? rp_strdup(output) : NULL;
    tried->note = note ? rp_strdup(note) : NULL;
    tried->measured = (size_t)json_integer_value(json_object_get(data, "measured"));
    tried->error = json_number_value(json_object_get(data, "error"));
    tried->ratio_known = ratio != NULL;
    tried->ratio = json_number_value(json_object_get(ratio, "estimate"));
    tried->low = json_number_value(json_object_get(ratio, "low"));
    json_decref(tried->json);
    tried->json = json_deep_copy(shown);
    if (tried->measured > run->s->measured)
        run->s->measured = tried->measured;
    return true;
}

static int keep(struct rp_kernel_run *run, struct rp_session_candidate *tried, json_t *record,
                struct rp_err *err)
{
    json_object_set_new(tried->json, "outcome", json_string(rp_outcome_word(tried->outcome)));
    json_object_set_new(tried->json, "reason", rp_session_text(tried->reason));
    json_object_set_new(record, "attempt", json_deep_copy(tried->json));
    json_object_set_new(record, "measured", json_integer((json_int_t)tried->measured));
    json_object_set_new(record, "error", json_real(tried->error));
    if (tried->compiler_output)
        json_object_set_new(record, "compiler_output", rp_session_text(tried->compiler_output));
    if (tried->note)
        json_object_set_new(record, "note", rp_session_text(tried->note));
    return rp_journal_add(run->s->journal, "attempt", tried->key, record, err);
}

/* --- proposals ----------------------------------------------------------------------------- */

/** Makes the list of attempts that proposers see. */
static struct rp_attempt *attempts_of(const struct rp_kernel_run *run)
{
    struct rp_attempt *list = rp_alloc_zero(run->count + 1, sizeof *list);

    for (size_t i = 0; i < run->count; i++) {
        const struct rp_session_candidate *t = &run->tried[i];

        list[i] = (struct rp_attempt){.title = t->title,
                                      .kernel_text = t->text,
                                      .workgroup = t->workgroup,
                                      .outcome = rp_outcome_word(t->outcome),
                                      .reason = t->reason,
                                      .ratio_known = t->ratio_known,
                                      .ratio = t->ratio};
    }
    return list;
}

static int ask(struct rp_kernel_run *run, const struct rp_session_candidate *failed,
               struct rp_session_candidate *tried, struct rp_err *err)
{
    const struct rp_session_options *o = run->s->o;
    rp_autofree struct rp_attempt *attempts = attempts_of(run);
    struct rp_proposal proposal = {0};
    struct rp_err why = RP_ERR_INIT;
    int rc;

    rc = o->proposer->propose(run->s->proposer_state,
                              &(struct rp_proposer_input){
                                  .source = run->source,
                                  .facts = run->facts,
                                  .attempts = attempts,
                                  .attempt_count = run->count,
                                  .largest_workgroup = rp_captures_largest(&run->captures),
                                  .failed_text = failed ? failed->text : NULL,
                                  .compiler_output = failed ? failed->compiler_output : NULL,
                                  .scope = o->scope,
                              },
                              &proposal, &why);
    if (rc == 0 && !*why.text)
        return 0;
    /* Earlier attempts are not lost because of it. */
    if (rc == 0 || (rc < 0 && why.code == RP_ENVIRONMENT)) {
        run->s->proposer_ended = rp_strdup(why.text);
        run->s->proposer_failed = rc < 0;
        return 0;
    }
    if (rc < 0 && why.code == RP_BAD_INPUT) { /* The kernel is too long to ask about. */
        rp_session_message(run->s, "  no more proposals: %s", why.text);
        if (!run->count)
            json_object_set_new(run->json, "stop", rp_session_text(why.text));
        return 0;
    }
    if (rc < 0 && why.code != RP_VERDICT) {
        *err = why;
        return rc;
    }
    if (rc < 0) { /* An answer without a kernel is an attempt like others. */
        tried->title = rp_strdup("no proposal");
        tried->text = rp_strdup("");
        tried->outcome = RP_OUTCOME_REFUSED;
        tried->reason = rp_strdup(why.text);
    } else {
        tried->title = rp_steal(proposal.title);
        tried->text = rp_strndup(proposal.kernel_text, proposal.bytes);
        tried->workgroup = proposal.workgroup;
        rp_proposal_free(&proposal);
    }
    return 1;
}

/** Writes a proposal to the journal before it is used, because a model server gives it only once.
 */
static int propose(struct rp_kernel_run *run, const struct rp_session_candidate *failed,
                   struct rp_session_candidate *tried, struct rp_err *err)
{
    const json_t *data = rp_journal_find(run->s->journal, "proposal", tried->key);
    const char *title = json_string_value(json_object_get(data, "title"));
    const char *text = json_string_value(json_object_get(data, "kernel_text"));
    const char *reason = json_string_value(json_object_get(data, "refused"));
    int rc;

    if (title && text) {
        tried->title = rp_strdup(title);
        tried->text = rp_strdup(text);
        tried->reason = reason ? rp_strdup(reason) : NULL;
        tried->workgroup = (uint32_t)json_integer_value(json_object_get(data, "launch_work_items"));
        return 1;
    }
    rc = ask(run, failed, tried, err);
    if (rc <= 0)
        return rc;
    rc = rp_journal_add(
        run->s->journal, "proposal", tried->key,
        json_pack("{s:s, s:o, s:o, s:o, s:b, s:o*}", "proposer", run->s->o->proposer->name, "title",
                  rp_session_text(tried->title), "kernel_text", rp_session_text(tried->text),
                  "refused", rp_session_text(tried->reason), "repair", failed != NULL,
                  "launch_work_items", tried->workgroup ? json_integer(tried->workgroup) : NULL),
        err);
    return rc < 0 ? rc : 1;
}

static void name_files(struct rp_kernel_run *run, struct rp_session_candidate *tried)
{
    const char *dot = strrchr(run->source->path, '.');
    const size_t number = run->count + 1;

    tried->key = rp_format("%u/%s/%zu", run->round, run->facts->symbol, number);
    tried->source = rp_format("%s/candidate-%zu%s", run->folder, number,
                              dot && !strchr(dot, '/') ? dot : ".hip");
    tried->hsaco = rp_format("%s/candidate-%zu.hsaco", run->folder, number);
}

/** These are failures of compilers or of the run, and no verdict on a measurement. */
static bool is_failure(enum rp_outcome outcome)
{
    return outcome == RP_OUTCOME_REFUSED || outcome == RP_OUTCOME_NOT_COMPILED ||
           outcome == RP_OUTCOME_UNSTEADY || outcome == RP_OUTCOME_UNFIT ||
           outcome == RP_OUTCOME_WRONG;
}

/** @return 1 it was tried, 0 there is none, negative */
static int try_one(struct rp_kernel_run *run, const struct rp_session_candidate *failed,
                   struct rp_session_candidate *tried, struct rp_err *err)
{
    json_t *record;
    int rc;

    name_files(run, tried);
    rc = propose(run, failed, tried, err);
    if (rc <= 0)
        return rc;
    if (tried->reason) /* It was refused before there was a text. */
        tried->outcome = RP_OUTCOME_REFUSED;
    tried->json = json_pack("{s:I, s:s, s:o, s:b}", "number", (json_int_t)run->count + 1,
                            "proposer", run->s->o->proposer->name, "title",
                            rp_session_text(tried->title), "repair", failed != NULL);
    if (!tried->reason && restore(run, tried))
        return 1;
    record = json_object();
    rc = tried->reason ? 0 : evaluate(run, tried, record, err);
    if (rc < 0) {
        json_decref(record);
        return rc;
    }
    if (is_failure(tried->outcome) && rp_session_folder_check(&run->s->folder, err) < 0) {
        json_decref(record);
        return rp_wrap(err, "%s: %s", tried->title, tried->reason);
    }
    rc = keep(run, tried, record, err);
    return rc < 0 ? rc : 1;
}

static const struct rp_session_candidate *to_repair(const struct rp_kernel_run *run,
                                                    unsigned *repairs)
{
    const struct rp_session_candidate *last = run->count ? &run->tried[run->count - 1] : NULL;

    if (!last || last->outcome != RP_OUTCOME_NOT_COMPILED || !last->compiler_output) {
        *repairs = 0;
        return NULL;
    }
    if (*repairs == MOST_REPAIRS) {
        *repairs = 0;
        return NULL;
    }
    (*repairs)++;
    return last;
}

static bool may_begin(struct rp_kernel_run *run)
{
    rp_autofree char *key = rp_format("%u/%s/%zu", run->round, run->facts->symbol, run->count + 1);

    return rp_session_may_begin(run->s, "attempt", key);
}

int rp_session_try_candidates(struct rp_kernel_run *run, struct rp_err *err)
{
    const unsigned most = run->s->o->most_attempts;
    unsigned repairs = 0;

    run->tried = rp_alloc_zero(most + 1, sizeof *run->tried);
    while (run->count < most && may_begin(run)) {
        struct rp_session_candidate *tried = &run->tried[run->count];
        int rc = try_one(run, to_repair(run, &repairs), tried, err);

        if (rc == 1 && tried->outcome != RP_OUTCOME_FASTER) /* Others are confirmed. */
            rp_session_launch_end(tried);
        if (rc <= 0) {
            rp_session_candidate_free(tried);
            return rc;
        }
        run->count++;
        run->s->tried++;
        rp_session_message(run->s, "  %zu. %s: %s: %s", run->count, tried->title,
                           rp_outcome_word(tried->outcome), tried->reason);
    }
    run->s->attempts_over = run->s->attempts_over || run->count == most;
    return 0;
}

/* --- other kernels that it changes --------------------------------------------------------- */

static const struct rp_kernel_facts *find_profiled(const struct rp_session *s, const char *symbol)
{
    for (size_t i = 0; s->profiled && i < s->profiled->count; i++)
        if (s->profiled->kernels[i].symbol && strcmp(s->profiled->kernels[i].symbol, symbol) == 0)
            return &s->profiled->kernels[i];
    return NULL;
}

static void not_captured(const char *name, const char *why, struct rp_decision *ret)
{
    ret->outcome = RP_OUTCOME_UNDECIDED;
    snprintf(ret->reason, sizeof ret->reason,
             "it also changes %.120s, which was not captured: %.200s", name, why);
}

/** Compares another kernel on its own dispatches, if the program has any. */
static int compare_another(struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                           const char *symbol, struct rp_decision *decision, json_t *json,
                           struct rp_err *err)
{
    const struct rp_session *s = run->s;
    const struct rp_kernel_facts *k = find_profiled(s, symbol);
    rp_cleanup(rp_captures_free) struct rp_captures captures = {0};
    rp_cleanup(rp_launches_free) struct rp_captures launches = {0};
    rp_autofree char *parent = rp_path_join(run->folder, "others");
    rp_autofree char *folder = NULL;
    char hash[RP_SHA256_TEXT];
    struct rp_err why = RP_ERR_INIT;
    int rc;

    if (!k) {
        not_captured(symbol, "the program does not run it", decision);
        return 0;
    }
    rp_sha256(symbol, strlen(symbol), hash); /* A mangled name may be too long for a file. */
    folder = rp_path_join(parent, hash);
    rc = rp_mkdirs_private(parent, err);
    if (rc < 0)
        return rc;
    rc = rp_captures_make(&s->measure, s->program, k->name, symbol, run->profile, folder, &captures,
                          &why);
    if (rc == 0 && tried->workgroup)
        rc = rp_session_launch_another(run, tried, k->name, hash, &captures, &launches, &why);
    /* The end of the budget is no verdict, and --resume tries it again. */
    if (rc < 0 && !s->patience.over &&
        (why.code == RP_VERDICT || why.code == RP_PROGRAM || why.code == RP_BAD_INPUT)) {
        not_captured(k->name, why.text, decision);
        return 0;
    }
    if (rc < 0) {
        *err = why;
        return rc;
    }
    rp_session_message(s, "  %s is changed as well: it is compared, too", k->name);
    rc = rp_judge_another(
        &(struct rp_judged_kernel){.measure = &s->measure,
                                   .name = k->name,
                                   .before = run->hsaco,
                                   .captures = tried->workgroup ? &launches : &captures,
                                   .progress = s->o->progress,
                                   .context = s->o->context},
        tried->hsaco, decision, json, err);
    return rc;
}

static bool is_named(char *const *names, const char *symbol)
{
    while (*names && strcmp(*names, symbol) != 0)
        names++;
    return *names != NULL;
}

/** A faster kernel is no gain if another kernel becomes slower. */
static int compare_others(struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                          struct rp_decision *decision, json_t *json, struct rp_err *err)
{
    char *const *launched = tried->launch.others;
    rp_cleanup(rp_code_object_free) struct rp_code_object after = {0};
    char **names = NULL;
    int rc = rp_code_object_read(tried->hsaco, run->facts->symbol, &after, err);

    if (rc == 0)
        rc = rp_code_changed_kernels(&run->object, &after, run->facts->symbol, &names, err);
    for (size_t i = 0; rc == 0 && names[i] && decision->outcome == RP_OUTCOME_FASTER; i++)
        rc = compare_another(run, tried, names[i], decision, json, err);
    for (; rc == 0 && launched && *launched && decision->outcome == RP_OUTCOME_FASTER; launched++)
        if (!is_named(names, *launched))
            rc = compare_another(run, tried, *launched, decision, json, err);
    rp_code_names_free(names);
    return rc;
}

/* --- all geometries ------------------------------------------------------------------------ */

/** Changes of more than unroll pragmas may change what a kernel does. */
static bool changes_body(const struct rp_kernel_run *run, const struct rp_session_candidate *tried)
{
    struct rp_guard_part part;
    struct rp_err ignored = RP_ERR_INIT;

    return rp_guard_text(run->source, tried->text, strlen(tried->text), RP_EDIT_UNROLL, &part,
                         &ignored) < 0;
}

static int judge(struct rp_kernel_run *run, const struct rp_session_candidate *tried, bool again,
                 struct rp_decision *ret, json_t **ret_json, struct rp_err *err)
{
    const struct rp_session *s = run->s;
    const bool any_body = s->o->scope == RP_EDIT_BODY || changes_body(run, tried);
    json_t *json;
    int rc =
        rp_judge(&(struct rp_judged_kernel){.measure = &s->measure,
                                            .before = run->hsaco,
                                            .captures = tried->workgroup ? &tried->launch.launches
                                                                         : &run->captures,
                                            .floor = &run->floor,
                                            .any_body = any_body,
                                            .again = again,
                                            .progress = s->o->progress,
                                            .context = s->o->context},
                 tried->hsaco, ret, &json, err);

    if (rc == 0 && any_body && !again && ret->outcome == RP_OUTCOME_FASTER) {
        rc = compare_others(run, tried, ret, json, err);
        if (rc < 0)
            json_decref(json);
    }
    if (rc == 0)
        *ret_json = json;
    return rc;
}

int rp_session_compare(struct rp_kernel_run *run, struct rp_session_candidate *tried, bool again,
                       struct rp_decision *ret, json_t **ret_json, struct rp_err *err)
{
    int rc = tried->workgroup ? rp_session_launch_learn(run, tried, ret, err) : 1;

    if (rc == 0)
        *ret_json = json_array();
    if (rc <= 0)
        return rc;
    return judge(run, tried, again, ret, ret_json, err);
}
