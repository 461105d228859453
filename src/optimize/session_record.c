/* What a session stands for: all that decides what it does, and the source as it was. The first
 * record of the journal holds it; --resume with anything else is refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/device_identity.h"
#include "optimize/child.h"
#include "optimize/session_parts.h"

enum { MOST_VERSION = 4096 };
static const int64_t VERSION_PATIENCE_NS = (int64_t)60 * 1000000000;
static const char any_arch[] = "gfx942"; /* in a command that is only compared */

/** What is run to build; null where that cannot be made. */
static json_t *words_of(const struct rp_session *s, enum rp_compile_what what)
{
    struct rp_err why = RP_ERR_INIT;
    json_t *list = json_array();
    char **argv;

    if (rp_compile_argv(s->command, what, s->o->source, "OUTPUT",
                        what == RP_COMPILE_PROGRAM ? NULL : any_arch, &argv, &why) < 0) {
        json_decref(list);
        return json_null();
    }
    for (size_t i = 0; argv[i]; i++)
        json_array_append_new(list, rp_session_text(argv[i]));
    rp_compile_argv_free(&argv);
    return list;
}

/** What the compiler says of itself; "" when it says nothing. */
static json_t *compiler_version(const struct rp_session *s, const char *compiler)
{
    rp_autofree char *log = rp_path_join(s->scratch, "compiler.log");
    rp_autofree char *text = NULL;
    struct rp_err why = RP_ERR_INIT;
    struct rp_proc_end end;

    if (compiler && log &&
        rp_child_run(&(struct rp_child){.argv = (const char *const[]){compiler, "--version", NULL},
                                        .stdout_path = log,
                                        .timeout_ns = VERSION_PATIENCE_NS,
                                        .limits = rp_compiler_limits()},
                     &end, &why) == 0)
        text = rp_child_text(log, MOST_VERSION);
    return rp_session_text(text ? text : "");
}

/** Whose times they are, whichever options and variables have said so. @return NULL: no memory */
static json_t *device_of(const struct rp_device_identity *on)
{
    rp_autofree char *gpu = rp_device_identity_gpu(on);
    rp_autofree char *timing = rp_device_identity_timing(on);

    return gpu && timing ? json_pack("{s:o, s:o, s:o}", "gpu", rp_session_text(gpu), "rocm",
                                     rp_session_text(on->rocm), "timing", rp_session_text(timing))
                         : NULL;
}

/** @return NULL when out of memory */
static json_t *record_of(const struct rp_session *s)
{
    const struct rp_session_options *o = s->o;
    char source[RP_SHA256_TEXT], program[RP_SHA256_TEXT] = "";
    json_t *argv = json_array(), *device = words_of(s, RP_COMPILE_DEVICE);
    const char *compiler = json_string_value(json_array_get(device, 0));

    rp_sha256(s->original, s->original_bytes, source);
    rp_sha256_file(o->program_path, program, NULL);
    for (size_t i = 0; o->program[i]; i++)
        json_array_append_new(argv, rp_session_text(o->program[i]));
    return json_pack(
        "{s:s, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, "
        "s:I, "
        "s:I, s:I, s:f, s:o, s:b}",
        "format", "rocm-perf-optimize 3", "source", rp_session_text(o->source), "source_sha256",
        source, "program", argv, "program_sha256", program, "build",
        rp_session_text(rp_compile_command_origin(s->command)), "build_command",
        rp_session_text(o->build.build), "compile_commands",
        rp_session_text(o->build.compile_commands), "flags", rp_session_text(o->build.flags),
        "unit", rp_session_text(o->build.unit), "compiler", compiler_version(s, compiler),
        "device_command", device, "program_command", words_of(s, RP_COMPILE_PROGRAM), "proposer",
        o->proposer->name, "scope", o->scope == RP_EDIT_UNROLL ? "unroll" : "body", "kernel",
        rp_session_text(o->kernel), "check", rp_session_text(o->check), "most_attempts",
        (json_int_t)o->most_attempts, "most_rounds", (json_int_t)o->most_rounds, "most_geometries",
        (json_int_t)o->most_geometries, "least_improvement", o->least_improvement, "on",
        device_of(o->on), "dry_run", o->dry_run);
}

/* --- what differs -------------------------------------------------------------------------- */

/** In the order in which a user would want to know. */
static const struct {
    const char *key;
    const char *option; /**< that says it; NULL */
    const char *what;   /**< where no option does */
} fields[] = {
    {"format", NULL, "by another version of rocm-perf"},
    {"source", "--source", NULL},
    {"program", NULL, "with another program, or other arguments"},
    {"source_sha256", NULL, "with another text in the source"},
    {"program_sha256", NULL, "with another build of the program"},
    {"build_command", "--build", NULL},
    {"compile_commands", "--compile-commands", NULL},
    {"flags", "--flags", NULL},
    {"unit", "--unit", NULL},
    {"build", NULL, "with another compile_commands.json"},
    {"program_command", NULL, "with another command that builds the program"},
    {"device_command", NULL, "with other options of the compiler"},
    {"compiler", NULL, "with another compiler, or another version of it"},
    {"proposer", "--proposer", NULL},
    {"scope", "--allow", NULL},
    {"kernel", "--kernel", NULL},
    {"check", "--check", NULL},
    {"most_attempts", "--max-iters", NULL},
    {"most_rounds", "--max-rounds", NULL},
    {"most_geometries", "--geometries", NULL},
    {"least_improvement", "--min-improvement", NULL},
    {"dry_run", "--dry-run", NULL},
};

/** "with --max-iters 8"; free it. */
static char *given(const char *option, const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_integer(value))
        return rp_format("with %s %lld", option, (long long)json_integer_value(value));
    if (json_is_real(value))
        return rp_format("with %s %g", option, 100 * json_real_value(value));
    if (json_is_true(value))
        return rp_format("with %s", option);
    if (text && (strcmp(option, "--allow") != 0 || strcmp(text, "unroll") != 0))
        return rp_format("with %s %s", option, text);
    return rp_format("without %s", option);
}

/** @return RP_OK: on the same */
static int refuse_device(const struct rp_session *s, const json_t *before, const json_t *now,
                         struct rp_err *err)
{
    static const struct {
        const char *key, *what, *how;
    } parts[] = {{"gpu", "on", "--device, ROCM_PERF_DEVICE"},
                 {"rocm", "with ROCm", "ROCM_PATH"},
                 {"timing", "with the model of time", "--timing, ROCM_PERF_DEVICE_TIMING"}};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *was = json_string_value(json_object_get(before, parts[i].key));
        const char *is = json_string_value(json_object_get(now, parts[i].key));

        if (!was || !is || strcmp(was, is) != 0)
            return rp_fail(
                err, RP_USAGE,
                "--resume: %s was begun %s %s, and this is %s %s, whose times are not to "
                "be compared with those: give the same (%s), or begin a new session "
                "with another -o",
                s->o->folder, parts[i].what, was && *was ? was : "not known", parts[i].what,
                is && *is ? is : "not known", parts[i].how);
    }
    return 0;
}

static int refuse(const struct rp_session *s, const json_t *before, const json_t *now,
                  struct rp_err *err)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *was = json_object_get(before, fields[i].key);
        const json_t *is = json_object_get(now, fields[i].key);
        rp_autofree char *then = NULL, *today = NULL;

        if (json_equal(was, is))
            continue;
        if (!fields[i].option)
            return rp_fail(err, RP_USAGE,
                           "--resume: %s was begun %s; begin a new session with another -o",
                           s->o->folder, fields[i].what);
        then = given(fields[i].option, was);
        today = given(fields[i].option, is);
        return rp_fail(err, RP_USAGE,
                       "--resume: %s was begun %s, and this is %s: give the same options, or begin "
                       "a new session with another -o",
                       s->o->folder, then ? then : "?", today ? today : "?");
    }
    if (refuse_device(s, json_object_get(before, "on"), json_object_get(now, "on"), err) < 0)
        return -RP_USAGE;
    return rp_fail(err, RP_USAGE, "--resume: %s was begun otherwise; use another -o", s->o->folder);
}

/* --- the source as it was ------------------------------------------------------------------ */

static char *copy_path(const struct rp_session *s)
{
    const char *dot = strrchr(s->o->source, '.');

    return rp_format("%s/original%s", s->o->folder, dot && !strchr(dot, '/') ? dot : "");
}

/**
 * The user's file may be the result of this session already: --apply was the last thing before a
 * kill, or was given before. The session goes on with its copy of what the file was.
 */
static int restore_original(struct rp_session *s, struct rp_err *err)
{
    const json_t *before = rp_journal_find(s->journal, "session", NULL);
    const char *expected = json_string_value(json_object_get(before, "source_sha256"));
    rp_autofree char *path = copy_path(s), *text = NULL;
    char hash[RP_SHA256_TEXT];

    if (!path)
        return rp_out_of_memory(err);
    rp_sha256(s->original, s->original_bytes, hash);
    if (!expected)
        return rp_write_private_file(path, s->original, s->original_bytes, err);
    if (strcmp(hash, expected) == 0 || !rp_session_has_left(s, "source_sha256", hash))
        return 0;
    text = rp_read_text(path, RP_MOST_SOURCE_BYTES);
    if (text)
        rp_sha256(text, strlen(text), hash);
    if (!text || strcmp(hash, expected) != 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s, in which this session keeps what %s was, is gone or changed: restore "
                       "%s from its backup",
                       path, s->o->source, s->o->source);
    free(s->original);
    free(s->source);
    s->original = rp_steal(text);
    s->original_bytes = strlen(s->original);
    s->source = rp_steal(path);
    return 0;
}

static int open_journal(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(s->o->folder, "journal.jsonl");
    uint64_t cut = 0;
    bool begun;
    int rc;

    if (!path)
        return rp_out_of_memory(err);
    if (s->o->resume && access(path, F_OK) != 0)
        return rp_fail(err, RP_USAGE,
                       "--resume: there is no session in %s: leave it out to begin one",
                       s->o->folder);
    begun = rp_journal_is_begun(path);
    if (!begun && access(path, F_OK) == 0)
        rp_session_say(s, "%s: the session there ended before it had done anything; it begins anew",
                       s->o->folder);
    rc = s->o->resume && begun ? rp_journal_resume(path, &s->journal, &cut, err)
                               : rp_journal_create(path, &s->journal, err);
    if (rc == 0 && cut)
        rp_session_say(s, "the last record was not complete: %llu bytes are cut off",
                       (unsigned long long)cut);
    return rc;
}

static void say_if_finished(const struct rp_session *s)
{
    const json_t *finished = rp_journal_find(s->journal, "finished", NULL);
    const char *by = json_string_value(json_object_get(finished, "ended_by"));

    if (by && strcmp(by, "budget") != 0 && strcmp(by, "proposer") != 0 &&
        !json_is_true(json_object_get(finished, "failures")))
        rp_session_say(s, "this session was finished before (%s): what it came to is told again",
                       by);
}

int rp_session_record(struct rp_session *s, struct rp_err *err)
{
    const json_t *before;
    json_t *now;
    int rc = open_journal(s, err);

    if (rc == 0)
        rc = rp_session_check_place(s, err); /* no record yet: one can begin here later */
    if (rc == 0)
        rc = restore_original(s, err);
    if (rc < 0)
        return rc;
    now = record_of(s);
    if (!now)
        return rp_out_of_memory(err);
    before = rp_journal_find(s->journal, "session", NULL);
    if (!before)
        return rp_journal_add(s->journal, "session", NULL, now, err);
    /* Numbers went through text and back; so do those of now. */
    if (!json_equal(before, now))
        rc = refuse(s, before, now, err);
    else
        say_if_finished(s);
    json_decref(now);
    return rc;
}
