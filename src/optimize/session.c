/* A session from its lock to its end: rounds, in each of which kernels are ranked anew and one
 * change is accepted at most. */
#include "optimize/session.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/kernel_match.h"
#include "optimize/compile.h"
#include "optimize/rank.h"
#include "optimize/session_parts.h"

enum { MOST_SOURCE_BYTES = 16 << 20 };

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

void rp_session_say(const struct rp_session *s, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!s->o->progress)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    s->o->progress(s->o->context, rp_buf_text(&text));
}

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

bool rp_session_has_time(const struct rp_session *s)
{
    return s->o->budget_s <= 0 || (double)(now_ns() - s->begin_ns) < s->o->budget_s * 1e9;
}

static void close_session(struct rp_session *s)
{
    if (s->proposer_state)
        s->o->proposer->close(s->proposer_state);
    rp_compile_command_free(s->command);
    rp_journal_close(s->journal);
    rp_output_free(&s->expected);
    json_decref(s->rounds);
    json_decref(s->accepted);
    free(s->scratch);
    free(s->original);
    free(s->source);
    free(s->program);
    free(s->rebuilt);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
}

/* --- beginning ----------------------------------------------------------------------------- */

/** Two sessions in a folder would write one journal. */
static int lock(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(s->o->folder, "lock");

    if (!path)
        return out_of_memory(err);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make %s", path);
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return rp_fail(err, RP_USAGE, "%s is in use by another session: choose another -o",
                       s->o->folder);
    return 0;
}

/** All that decides what the session does. */
static json_t *begin_json(const struct rp_session *s)
{
    const struct rp_session_options *o = s->o;
    char source[RP_SHA256_TEXT], program[RP_SHA256_TEXT] = "";
    json_t *argv = json_array();

    rp_sha256(s->original, s->original_bytes, source);
    rp_sha256_file(o->program[0], program, NULL);
    for (size_t i = 0; o->program[i]; i++)
        json_array_append_new(argv, rp_journal_text(o->program[i], strlen(o->program[i])));
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s, s:s?, s:s, s:s, s:s?, s:s?, s:I, s:I, s:I, s:f, s:s?, "
        "s:s?, s:b}",
        "format", "rocm-perf-optimize 1", "source", o->source, "source_sha256", source, "program",
        argv, "program_sha256", program, "build", rp_compile_command_origin(s->command),
        "build_command", o->build.build, "proposer", o->proposer->name, "scope",
        o->scope == RP_EDIT_UNROLL ? "unroll" : "body", "kernel", o->kernel, "check", o->check,
        "most_attempts", (json_int_t)o->most_attempts, "most_rounds", (json_int_t)o->most_rounds,
        "most_geometries", (json_int_t)o->most_geometries, "least_improvement",
        o->least_improvement, "device", o->device, "timing", o->timing, "dry_run", o->dry_run);
}

/** The first word of what differs, so that the message says what to mend. */
static const char *what_differs(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)(const void *)a, key,
                        value) if (!json_equal(value, json_object_get(b, key))) return key;
    return "format";
}

static int open_journal(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(s->o->folder, "journal.jsonl");
    json_t *begin = begin_json(s);
    const json_t *before;
    uint64_t cut = 0;
    int rc;

    if (!path || !begin) {
        json_decref(begin);
        return out_of_memory(err);
    }
    rc = s->o->resume ? rp_journal_resume(path, &s->journal, &cut, err)
                      : rp_journal_create(path, &s->journal, err);
    if (rc < 0) {
        json_decref(begin);
        return rc;
    }
    if (cut)
        rp_session_say(s, "the last record was not complete: %llu bytes are cut off",
                       (unsigned long long)cut);
    before = rp_journal_find(s->journal, "session", NULL);
    if (!before)
        return rp_journal_add(s->journal, "session", NULL, begin, err);
    /* Numbers went through text and back; so do those of now. */
    if (json_equal(before, begin)) {
        json_decref(begin);
        return 0;
    }
    rc = rp_fail(err, RP_USAGE,
                 "--resume: %s was begun with another \"%s\"; begin a new session with another -o",
                 s->o->folder, what_differs(before, begin));
    json_decref(begin);
    return rc;
}

static int read_source(struct rp_session *s, struct rp_err *err)
{
    s->original = rp_read_text(s->o->source, MOST_SOURCE_BYTES);
    if (!s->original)
        return rp_fail(err, RP_USAGE, "--source %s: it cannot be read, or has more than %d MiB",
                       s->o->source, MOST_SOURCE_BYTES >> 20);
    s->original_bytes = strlen(s->original);
    s->source = strdup(s->o->source);
    s->program = strdup(s->o->program[0]);
    return s->source && s->program ? 0 : out_of_memory(err);
}

/** What a model server was asked and said. A failure to keep it fails the next record. */
static void keep_exchange(void *context, const struct rp_llm_record *r)
{
    struct rp_session *s = context;
    json_t *data = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o?, s:I, s:I, s:I, s:b}", "attempt",
        (json_int_t)r->attempt, "base_url", rp_journal_text(r->base_url, strlen(r->base_url)),
        "model", rp_journal_text(r->model, strlen(r->model)), "system",
        rp_journal_text(r->system, strlen(r->system)), "user",
        rp_journal_text(r->user, strlen(r->user)), "answer",
        rp_journal_text(r->answer, strlen(r->answer)), "failure",
        r->failure ? rp_journal_text(r->failure, strlen(r->failure)) : NULL, "http_status",
        (json_int_t)r->http_status, "prompt_tokens", (json_int_t)r->prompt_tokens, "answer_tokens",
        (json_int_t)r->answer_tokens, "tokens_estimated", r->tokens_estimated);

    rp_journal_add(s->journal, "exchange", NULL, data, NULL);
}

static int open_proposer(struct rp_session *s, struct rp_err *err)
{
    s->llm = (struct rp_llm_config){
        .settings_file = s->o->llm_settings, .log = keep_exchange, .log_context = s};
    return s->o->proposer->open(&(struct rp_proposer_config){.llm = &s->llm}, &s->proposer_state,
                                err);
}

static int begin(struct rp_session *s, struct rp_err *err)
{
    int rc = read_source(s, err);

    if (rc == 0)
        rc = rp_compile_command_read(&s->o->build, s->o->source, &s->command, err);
    if (rc == 0 && !rp_compile_command_makes_program(s->command))
        rc = rp_fail(err, RP_USAGE,
                     "%s makes no program of %s: say with --build how the program is built",
                     rp_compile_command_origin(s->command), s->o->source);
    if (rc == 0)
        rc = rp_mkdirs(s->o->folder, err);
    if (rc == 0)
        rc = lock(s, err);
    if (rc == 0)
        rc = open_journal(s, err);
    s->scratch = rp_path_join(s->o->folder, "scratch");
    s->rounds = json_array();
    s->accepted = json_array();
    if (rc == 0 && (!s->scratch || !s->rounds || !s->accepted))
        rc = out_of_memory(err);
    if (rc == 0)
        rc = rp_mkdirs(s->scratch, err);
    s->measure = (struct rp_measure){.self = s->o->self,
                                     .device = s->o->device,
                                     .timing = s->o->timing,
                                     .folder = s->scratch,
                                     .program = s->o->program,
                                     .most_geometries = s->o->most_geometries,
                                     .least_improvement = s->o->least_improvement};
    return rc < 0 ? rc : open_proposer(s, err);
}

/** The program that the user gives and the one that the command builds do the same. */
static int rebuild(struct rp_session *s, struct rp_err *err)
{
    struct rp_output again = {0};
    rp_autofree char *why = NULL;
    struct rp_built built;
    int rc;

    rp_session_say(s, "building %s by %s", s->o->source, rp_compile_command_origin(s->command));
    s->rebuilt = rp_path_join(s->o->folder, "program");
    rc = s->rebuilt ? rp_compile(s->command, s->source, NULL, s->rebuilt, &built, err)
                    : out_of_memory(err);
    if (rc < 0)
        return rc;
    if (!built.ok)
        rc = rp_fail(err, RP_BAD_INPUT, "%s does not build: %s: %.600s", s->source, built.why,
                     built.output);
    rp_built_free(&built);
    if (rc == 0)
        rc = rp_application_run(&s->measure, s->program, s->o->check, &s->expected, err);
    if (rc == 0)
        why = rp_output_differs(&s->expected, &s->expected);
    if (rc == 0 && why)
        return rp_fail(err, RP_PROGRAM, "%s as it is: %s", s->program, why);
    if (rc == 0)
        rc = rp_application_run(&s->measure, s->rebuilt, s->o->check, &again, err);
    if (rc < 0)
        return rc;
    why = rp_output_differs(&s->expected, &again);
    rp_output_free(&again);
    return !why ? 0
                : rp_fail(err, RP_BAD_INPUT,
                          "%s, built anew, does not do what %s does: %s. If it prints something "
                          "else each time, say with --check which command tells right from wrong",
                          s->source, s->program, why);
}

/* --- rounds -------------------------------------------------------------------------------- */

static int profile(struct rp_session *s, unsigned round, const char *folder, struct rp_facts *ret,
                   struct rp_err *err)
{
    rp_autofree char *key = rp_format("%u", round);
    int rc;

    if (!key)
        return out_of_memory(err);
    if (rp_journal_find(s->journal, "profile", key) && rp_path_is_dir(folder))
        return rp_facts_read(folder, ret, err);
    rp_remove_tree(folder);
    rp_session_say(s, "round %u: profiling %s", round, s->program);
    rc = rp_application_profile(&s->measure, s->program, true, folder, ret, err);
    if (rc == 0) {
        rc = rp_journal_add(s->journal, "profile", key, json_pack("{s:s}", "folder", folder), err);
        if (rc < 0)
            rp_facts_free(ret);
    }
    return rc;
}

/** Which kernels the user has named; NULL in ret: none was. */
static int named_kernels(const struct rp_session *s, const struct rp_facts *facts, bool **ret,
                         struct rp_err *err)
{
    bool *list;
    regex_t regex;
    int rc;

    *ret = NULL;
    if (!s->o->kernel)
        return 0;
    rc = rp_kernel_regex_compile("--kernel", s->o->kernel, &regex, err);
    if (rc < 0)
        return rc;
    list = calloc(facts->count + 1, sizeof *list);
    for (size_t i = 0; list && i < facts->count; i++)
        list[i] = regexec(&regex, facts->kernels[i].name, 0, NULL, 0) == 0;
    regfree(&regex);
    *ret = list;
    return list ? 0 : out_of_memory(err);
}

static json_t *quantity(struct rp_quantity q)
{
    return q.known ? json_real(q.value) : json_null();
}

static json_t *kernel_json(const struct rp_kernel_facts *k, const struct rp_rank_entry *e)
{
    return json_pack("{s:s, s:s?, s:o, s:s?, s:o, s:o, s:o, s:s?, s:s?, s:[]}", "name", k->name,
                     "symbol", k->symbol, "weight", quantity(e->weight), "weight_of",
                     !e->weight.known           ? NULL
                     : e->weight_of_kernel_time ? "kernel_time"
                                                : "critical_path",
                     "headroom", quantity(e->headroom), "end_to_end_bound", quantity(e->bound),
                     "time_ns", quantity(k->time_ns), "bottleneck", k->bottleneck, "stop", e->stop,
                     "attempts");
}

/** They are ranked anew with what was accepted. */
static void leave_for_later(json_t *kernels, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        json_object_set_new(json_array_get(kernels, i), "stop",
                            json_string("a change of another kernel was accepted before"));
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

        if (rp_session_has_time(s))
            rc = rp_session_kernel(s, round, i + 1, k, folder, json, err);
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
    int rc = folder && kernels ? profile(s, round, folder, &facts, err) : out_of_memory(err);

    if (rc == 0)
        rc = named_kernels(s, &facts, &named, err);
    if (rc == 0)
        rc = rp_rank_kernels(&facts, &limits, named, &rank, err);
    if (rc == 0) {
        s->modelled = facts.device && strcmp(facts.device, "software") == 0;
        json_array_append_new(s->rounds,
                              json_pack("{s:I, s:o, s:s?, s:O}", "round", (json_int_t)round,
                                        "runtime_ms", quantity(facts.runtime_ms), "device",
                                        facts.device, "kernels", kernels));
        rc = run_kernels(s, round, &facts, &rank, folder, kernels, err);
    }
    rp_rank_free(&rank);
    rp_facts_free(&facts);
    json_decref(kernels);
    return rc;
}

static int run_rounds(struct rp_session *s, struct rp_err *err)
{
    int rc = 1;

    for (unsigned round = 1; round <= s->o->most_rounds && rc == 1; round++)
        rc = rp_session_has_time(s) ? run_round(s, round, err) : 0;
    return rc < 0 ? rc : 0;
}

void rp_session_result_free(struct rp_session_result *result)
{
    json_decref(result->json);
    free(result->json_path);
    free(result->source_path);
    free(result->patch_path);
    free(result->backup_path);
    *result = (struct rp_session_result){0};
}

int rp_session_run(const struct rp_session_options *options, struct rp_session_result *ret,
                   struct rp_err *err)
{
    rp_cleanup(close_session) struct rp_session s = {
        .o = options, .lock_fd = -1, .begin_ns = now_ns()};
    struct rp_session_result result = {0};
    int rc = begin(&s, err);

    if (rc == 0)
        rc = rebuild(&s, err);
    if (rc == 0)
        rc = run_rounds(&s, err);
    if (rc < 0)
        return rc;
    result.json = rp_session_json(&s);
    result.accepted = json_array_size(s.accepted);
    rc = result.json ? rp_session_write(&s, result.json, &result, err) : out_of_memory(err);
    if (rc == 0)
        rc = rp_journal_add(s.journal, "finished", NULL,
                            json_pack("{s:I}", "accepted", (json_int_t)result.accepted), err);
    if (rc < 0) {
        rp_session_result_free(&result);
        return rc;
    }
    *ret = result;
    return 0;
}
