/* Runs a session from its lock to its end. In each round kernels are ranked anew and at most one
 * change is accepted. */
#include "optimize/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "experiment/session_folder.h"
#include "optimize/kernel_source.h"
#include "optimize/session_parts.h"
#include "run/run_program.h"

/* A session begins with a check that the user's program does the same as the one that the build
 * command makes of the source. It is done once; a resumed session takes the result from the
 * journal. */

/** Reads the program's output from the journal. */
static bool restore(struct rp_session *s)
{
    const json_t *data = rp_journal_find(s->journal, "program", NULL);
    const char *sha256 = json_string_value(json_object_get(data, "stdout_sha256"));

    if (!data || !sha256 || strlen(sha256) >= sizeof s->expected.sha256 ||
        !rp_session_is_file(s->rebuilt, data, "program_sha256"))
        return false;
    s->measure.status = (int)json_integer_value(json_object_get(data, "status"));
    s->expected = (struct rp_output){
        .status = (int)json_integer_value(json_object_get(data, "status")),
        .bytes = (uint64_t)json_integer_value(json_object_get(data, "stdout_bytes")),
        .checked = json_is_true(json_object_get(data, "checked")),
        .right = true};
    memcpy(s->expected.sha256, sha256, strlen(sha256) + 1);
    s->patience.longest_ns =
        (int64_t)(1e9 * json_number_value(json_object_get(data, "host_seconds")));
    return true;
}

static int keep(struct rp_session *s, struct rp_err *err)
{
    char hash[RP_SHA256_TEXT];
    int rc = rp_sha256_file(s->rebuilt, hash, err);

    return rc < 0
               ? rc
               : rp_journal_add(s->journal, "program", NULL,
                                json_pack("{s:s, s:s, s:I, s:i, s:b, s:f}", "program_sha256", hash,
                                          "stdout_sha256", s->expected.sha256, "stdout_bytes",
                                          (json_int_t)s->expected.bytes, "status",
                                          s->expected.status, "checked", s->expected.checked,
                                          "host_seconds", (double)s->patience.longest_ns / 1e9),
                                err);
}

/** Builds the program of the source as it is. What builds may write to one folder, and the session
 * keeps the program in another. */
static int build(struct rp_session *s, struct rp_err *err)
{
    rp_cleanup(rp_build_result_free) struct rp_build_result built = {0};
    rp_autofree char *program = rp_path_join(s->scratch, "program");
    rp_autofree char *reason = NULL;
    int rc;

    rp_session_message(s, "building %s by %s", s->o->source, rp_compile_command_origin(s->command));
    rc = rp_compile(s->command, s->source, NULL, program, &built, err);
    if (rc < 0)
        return rc;
    if (built.ok && rename(program, s->rebuilt) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", s->rebuilt);
    if (built.ok)
        return 0;
    reason = rp_build_result_reason(&built);
    return rp_fail(err, RP_BAD_INPUT, "%s does not build%s: %s", s->source,
                   rp_compile_command_hint(s->command), reason ? reason : built.why);
}

/** Says how a message continues before the last words of a program or of --check. */
static const char *before_words(const struct rp_output *output)
{
    return !output->said || !*output->said ? ""
           : output->check_why             ? "; it said: "
                                           : "; its stderr ends with: ";
}

static int run_original(struct rp_session *s, struct rp_err *err)
{
    struct rp_output *o = &s->expected;
    const char *why;
    int rc;

    rp_session_message(s, "running %s as it is", s->program);
    rc = rp_program_test_run(&s->measure, s->program, RP_RUN_KIND_ORIGINAL, s->o->check, o, err);
    if (rc < 0)
        return rc;
    why = o->why ? o->why : o->check_why;
    if (why)
        return rp_fail(
            err, RP_PROGRAM, "%s as it is: %s%s%s%s", s->program, why, before_words(o), o->said,
            rp_candidate_sandbox_hint(s->measure.programs_outside ? NULL : s->measure.sandbox));
    s->measure.status = o->status;
    if (!o->checked && !o->bytes && s->o->scope == RP_EDIT_BODY)
        return rp_fail(err, RP_USAGE,
                       "%s prints nothing to stdout, so nothing would show that a kernel with "
                       "another body makes it do something else: say with --check which command "
                       "tells right from wrong, such as cmp of a file that it writes",
                       s->program);
    if (o->status)
        rp_session_message(s, "%s ends with exit status %d: that is taken for right%s%s",
                           s->program, o->status, before_words(o), o->said);
    return 0;
}

static int run_rebuilt(struct rp_session *s, struct rp_err *err)
{
    rp_cleanup(rp_output_free) struct rp_output output = {0};
    rp_autofree char *why = NULL;
    const char *words;
    int rc;

    rp_session_message(s, "running what is built of %s", s->source);
    rc = rp_program_test_run(&s->measure, s->rebuilt, RP_RUN_KIND_CANDIDATE, s->o->check, &output,
                             err);
    if (rc < 0)
        return rc;
    why = rp_output_differs(&s->measure, &s->expected, &output);
    if (!why)
        return 0;
    words =
        output.why || output.check_why || output.status != s->expected.status ? output.said : NULL;
    return rp_fail(
        err, RP_BAD_INPUT,
        "%s, built anew, does not do what %s does: %s%s%s. It is run as %s. If it prints "
        "something else each time, say with --check which command tells right from wrong",
        s->source, s->program, why, words ? before_words(&output) : "", words ? words : "",
        s->rebuilt);
}

/** Builds and runs the program to get its output. */
static int session_build(struct rp_session *s, struct rp_err *err)
{
    int rc;

    s->rebuilt = rp_path_join(s->o->folder, "program");
    if (restore(s))
        return 0;
    rc = build(s, err);
    if (rc == 0)
        rc = run_original(s, err);
    if (rc == 0)
        rc = run_rebuilt(s, err);
    return rc < 0 ? rc : keep(s, err);
}

static void close_session(struct rp_session *s)
{
    if (s->proposer_state)
        s->o->proposer->close(s->proposer_state);
    rp_compile_command_free(s->command);
    rp_candidate_sandbox_free(&s->sandbox);
    rp_output_free(&s->expected);
    json_decref(s->rounds);
    json_decref(s->accepted);
    json_decref(s->whole);
    free(s->proposer_ended);
    if (s->temporary)
        rp_remove_tree(s->temporary);
    free(s->temporary);
    free(s->scratch);
    free(s->original);
    free(s->source);
    free(s->program);
    free(s->rebuilt);
    rp_session_folder_close(&s->folder);
}

/* --- beginning ----------------------------------------------------------------------------- */

static int read_source(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *path = NULL;

    if (rp_source_file_read(s->o->source, &path, &s->original, &s->original_bytes, err) < 0)
        return rp_wrap(err, "--source");
    s->source = rp_strdup(s->o->source);
    s->program = rp_strdup(s->o->program[0]);
    return 0;
}

/** Keeps the question to a model server, and its answer. If that fails, the next record fails, too.
 */
static void keep_exchange(void *context, const struct rp_llm_record *r)
{
    struct rp_session *s = context;
    json_t *data =
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o?, s:I, s:I, s:I, s:b}", "attempt",
                  (json_int_t)r->attempt, "base_url", rp_session_text(r->base_url), "model",
                  rp_session_text(r->model), "system", rp_session_text(r->system), "user",
                  rp_session_text(r->user), "answer", rp_session_text(r->answer), "failure",
                  rp_session_text(r->failure), "http_status", (json_int_t)r->http_status,
                  "prompt_tokens", (json_int_t)r->prompt_tokens, "answer_tokens",
                  (json_int_t)r->answer_tokens, "tokens_estimated", r->tokens_estimated);

    rp_journal_add(s->journal, "exchange", NULL, data, NULL);
}

/** Returns what of the budget was spent before the session was resumed. */
static uint64_t spent_tokens(const struct rp_journal *journal)
{
    uint64_t spent = 0;

    for (size_t i = 0; i < rp_journal_count(journal); i++) {
        const char *kind, *key;
        const json_t *data = rp_journal_at(journal, i, &kind, &key);

        if (strcmp(kind, "exchange") != 0)
            continue;
        spent = rp_llm_add_tokens(
            spent, (uint64_t)json_integer_value(json_object_get(data, "prompt_tokens")));
        spent = rp_llm_add_tokens(
            spent, (uint64_t)json_integer_value(json_object_get(data, "answer_tokens")));
    }
    return spent;
}

static int open_proposer(struct rp_session *s, struct rp_err *err)
{
    s->llm = (struct rp_llm_config){.settings_file = s->o->llm_settings,
                                    .log = keep_exchange,
                                    .log_context = s,
                                    .spent_tokens = spent_tokens(s->journal)};
    return s->o->proposer->open(&(struct rp_proposer_config){.llm = &s->llm}, &s->proposer_state,
                                err);
}

/** Says how long its runs may take. */
static struct rp_run_deadline session_deadline(const struct rp_session_options *o, int64_t begin_ns)
{
    return (struct rp_run_deadline){
        .timeout_ns = (int64_t)(o->timeout_s * 1e9),
        .end_ns = o->budget_s > 0 ? begin_ns + (int64_t)(o->budget_s * 1e9) : 0,
        .modelled = o->on->software,
        .waiting = o->waiting,
        .context = o->context};
}

/** Temporary files are removed with the session, and those of a session that was killed when the
 * next one begins. */
static int make_temporary(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(s->o->folder, "tmp");
    int rc;

    rp_remove_tree(path);
    rc = rp_session_folder_make(&s->folder, "tmp", &s->temporary, err);
    if (rc == 0)
        rp_compile_command_set_temporary(s->command, s->temporary);
    return rc;
}

static int begin(struct rp_session *s, struct rp_err *err)
{
    int rc = read_source(s, err);

    if (rc == 0)
        rc = rp_compile_command_read(&s->o->build, s->o->source, &s->command, err);
    if (rc == 0)
        rc = rp_compile_command_check_program(s->command, err);
    if (rc == 0)
        rc = rp_session_folder_claim(&s->folder, err);
    s->scratch = rp_path_join(s->o->folder, "scratch");
    s->rounds = json_array();
    s->accepted = json_array();
    if (rc == 0)
        rc = rp_mkdirs_private(s->scratch, err) < 0 ? rp_wrap(err, "-o") : 0;
    if (rc == 0)
        rc = rp_session_record(s, err);
    if (rc == 0) /* From here on the folder is known to be the session's. */
        rc = make_temporary(s, err);
    if (rc == 0)
        rc = rp_session_folder_keep_input(&s->folder, err);
    s->patience = session_deadline(s->o, s->begin_ns);
    s->measure = (struct rp_child_context){.self = s->o->self,
                                           .device = s->o->device,
                                           .timing = s->o->timing,
                                           .run = &s->o->run,
                                           .folder = s->scratch,
                                           .input = s->folder.input,
                                           .program = s->o->program,
                                           .patience = &s->patience,
                                           .most_geometries = s->o->most_geometries,
                                           .least_improvement = s->o->least_improvement,
                                           .compare = s->o->compare};
    if (rc == 0)
        rc = rp_session_make_sandbox(s, err);
    return rc < 0 ? rc : open_proposer(s, err);
}

void rp_session_result_free(struct rp_session_result *result)
{
    json_decref(result->json);
    free(result->text);
    free(result->source_path);
    free(result->patch_path);
    free(result->backup_path);
    *result = (struct rp_session_result){0};
}

/** A failure may be due to a full disk, whatever its message says, because compilers and programs
 * are many. One that knows what helps is no guess. */
static int explain(const struct rp_session *s, int rc, struct rp_err *err)
{
    const struct rp_err failed = *err;
    struct rp_err full = RP_ERR_INIT;

    if (!s->journal || rc == -RP_INTERRUPTED || rc == -RP_USAGE || err->has_remedy ||
        rp_session_folder_check(&s->folder, &full) == 0)
        return rc;
    return rp_fail_with_remedy(err, RP_ENVIRONMENT, "%s; %s", failed.text, full.text);
}

/** Says why there were no more rounds. */
static const char *ended_by(const struct rp_session *s, int rc)
{
    if (rc < 0)
        return rc == -RP_INTERRUPTED ? "interrupted" : "error";
    if (s->budget_over)
        return "budget";
    if (s->proposer_ended)
        return "proposer";
    if (s->o->dry_run)
        return "dry-run";
    if (json_array_size(s->accepted) == s->o->most_rounds)
        return "max-rounds";
    return s->attempts_over ? "max-iters" : "nothing left";
}

/**
 * Writes the result, also when the session ends by a failure, so that accepted changes are not
 * lost.
 * @param rc how it ended; its failure is reported rather than one of writing
 */
static int finish(struct rp_session *s, int rc, struct rp_session_result *ret, struct rp_err *err)
{
    struct rp_session_result result = {.accepted = json_array_size(s->accepted),
                                       .tried = s->tried,
                                       .proposer_failed = s->proposer_failed};
    struct rp_err unwritten = RP_ERR_INIT;
    int written;

    result.json = rp_session_json(s, ended_by(s, rc), rc < 0 ? err->text : NULL);
    written = result.json ? rp_session_write(s, result.json, rc == 0, &result, &unwritten)
                          : rp_fail(&unwritten, RP_ENVIRONMENT, "cannot read %s", s->source);
    if (rc == 0 && written == 0)
        written = rp_journal_add(s->journal, "finished", NULL,
                                 json_pack("{s:I, s:s, s:b}", "accepted",
                                           (json_int_t)result.accepted, "ended_by", ended_by(s, rc),
                                           "failures", s->failure.code != RP_OK),
                                 &unwritten);
    if (rc == 0 && written == 0)
        written = rp_journal_write_head(s->journal, &unwritten);
    if (rc == 0 && written < 0) {
        *err = unwritten;
        rc = explain(s, written, err);
    } else if (rc == 0 && !result.accepted && s->failure.code != RP_OK) {
        *err = s->failure; /* It would be wrong to say that nothing is worth a try. */
        rc = -(int)err->code;
    }
    *ret = result;
    return rc;
}

int rp_session_run(const struct rp_session_options *options, struct rp_session_result *ret,
                   struct rp_err *err)
{
    rp_cleanup(close_session) struct rp_session s = {.o = options,
                                                     .folder = {.path = options->folder,
                                                                .noun = "session",
                                                                .resume = options->resume,
                                                                .note = options->progress,
                                                                .context = options->context,
                                                                .lock = -1},
                                                     .begin_ns = rp_now_ns()};
    int rc = begin(&s, err);

    *ret = (struct rp_session_result){0};
    if (rc == 0)
        rc = session_build(&s, err);
    if (rc == 0)
        rc = rp_session_rounds(&s, err);
    rc = rp_session_excuse_budget_end(&s, rc, err);
    s.patience.end_ns = 0;
    if (rc == 0 && json_array_size(s.accepted))
        rc = rp_session_measure_all_changes(&s, err);
    if (rc < 0)
        rc = explain(&s, rc, err);
    if (rc == 0 || json_array_size(s.rounds))
        rc = finish(&s, rc, ret, err);
    ret->resumable = s.journal && (rc == -RP_INTERRUPTED || rc == -RP_ENVIRONMENT);
    return rc;
}
