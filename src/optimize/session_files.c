/* The identity of a session has everything that decides what it does, and the original source. It
 * is the first record of the journal, and --resume with anything else is refused. */
#include "optimize/session_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sha256.h"
#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "experiment/session_folder.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"
#include "optimize/program_test.h"
#include "optimize/propose.h"
#include "optimize/session.h"
#include "run/run_program.h"

enum { RP_MAX_SOURCE_BYTES = 16 << 20 };

/* The difference of two texts is a unified diff, which patch(1) and git apply take. */

enum { CONTEXT = 3 };

struct lines {
    const char **at; /**< one more than there are lines: the end */
    size_t count;
    bool open; /**< no newline at the end */
};

static void split(const char *text, size_t bytes, struct lines *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += text[i] == '\n';
    ret->open = bytes && text[bytes - 1] != '\n';
    ret->count = count + ret->open;
    ret->at = rp_alloc((ret->count + 1) * sizeof *ret->at);
    ret->at[0] = text;
    for (size_t i = 0, line = 0; i < bytes; i++)
        if (text[i] == '\n')
            ret->at[++line] = text + i + 1;
    ret->at[ret->count] = text + bytes;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
    const size_t length = (size_t)(a->at[i + 1] - a->at[i]);

    return length == (size_t)(b->at[j + 1] - b->at[j]) && memcmp(a->at[i], b->at[j], length) == 0;
}

static void add(char mark, const struct lines *lines, size_t from, size_t to, struct rp_buf *ret)
{
    for (size_t i = from; i < to; i++) {
        rp_buf_add(ret, &mark, 1);
        rp_buf_add(ret, lines->at[i], (size_t)(lines->at[i + 1] - lines->at[i]));
        if (lines->open && i + 1 == lines->count)
            rp_buf_puts(ret, "\n\\ No newline at end of file\n");
    }
}

/** A range of no lines is named by the line before it. */
static size_t first_line(size_t begin, size_t count)
{
    return count ? begin + 1 : begin;
}

/**
 * Writes one hunk from the first line that differs to the last one, or nothing when the texts are
 * equal.
 * @param name of the file, without blanks at its ends
 */
static void patch_write(const char *name, const char *before, size_t before_bytes,
                        const char *after, size_t after_bytes, struct rp_buf *ret)
{
    struct lines a = {0}, b = {0};
    size_t head = 0, tail = 0, begin, end;

    split(before, before_bytes, &a);
    split(after, after_bytes, &b);
    while (head < a.count && head < b.count && same_line(&a, head, &b, head))
        head++;
    while (tail < a.count - head && tail < b.count - head &&
           same_line(&a, a.count - 1 - tail, &b, b.count - 1 - tail))
        tail++;
    if (head < a.count || head < b.count) {
        begin = head > CONTEXT ? head - CONTEXT : 0;
        end = tail > CONTEXT ? CONTEXT : tail;
        rp_buf_printf(ret, "--- a/%s\n+++ b/%s\n@@ -%zu,%zu +%zu,%zu @@\n", name, name,
                      first_line(begin, a.count - tail + end - begin), a.count - tail + end - begin,
                      first_line(begin, b.count - tail + end - begin),
                      b.count - tail + end - begin);
        add(' ', &a, begin, head, ret);
        add('-', &a, head, a.count - tail, ret);
        add('+', &b, head, b.count - tail, ret);
        add(' ', &a, a.count - tail, a.count - tail + end, ret);
    }
    free(a.at);
    free(b.at);
}

/* A session leaves optimize.json, and when something was accepted the better source beside the
 * user's, its patch, and with --apply the user's source replaced. They are written in this order,
 * each file whole or not at all, and the journal has their hashes before. After a kill --resume
 * writes the missing ones. */

/* --- whose the files there are ------------------------------------------------------------- */

/** A patch begins with this, the SHA-256 of the source that it leads to, and its own behind it. */
static const char session_write_mark[] = "rocm-perf optimize: leads to ";
static const char mark_own[] = " by ";

static char *beside(const char *source, const char *name_end, const char *extension)
{
    const char *slash = strrchr(source, '/'), *dot = strrchr(source, '.');
    const bool has = dot && (!slash || dot > slash + 1) && dot != source;
    const int stem = (int)(has ? (size_t)(dot - source) : strlen(source));

    return rp_format("%.*s%s%s", stem, source, name_end, extension ? extension : has ? dot : "");
}

static void name_files(const struct rp_session *s, char **ret_source, char **ret_patch)
{
    *ret_source = beside(s->o->source, "_opt", NULL);
    *ret_patch = beside(s->o->source, "_opt", ".patch");
}

/** Says whether a result of this session has that hash.
 * @param key "source_sha256" or "patch_sha256" */
static bool session_left_result(const struct rp_session *s, const char *key, const char *hash)
{
    for (size_t i = 0; i < rp_journal_count(s->journal); i++) {
        const char *kind;
        const json_t *data = rp_journal_at(s->journal, i, &kind, NULL);
        const char *left = json_string_value(json_object_get(data, key));

        if (strcmp(kind, "result") == 0 && left && strcmp(left, hash) == 0)
            return true;
    }
    return false;
}

/** Says whether it is a patch as a session wrote it, unchanged since.
 * @param ret hash of the source it leads to */
static bool is_own_patch(const char *path, char ret[RP_SHA256_TEXT])
{
    const size_t hash = RP_SHA256_TEXT - 1, first = sizeof session_write_mark - 1;
    const size_t second = first + hash + sizeof mark_own - 1;
    rp_autofree char *text = rp_read_text(path, 2 * RP_MAX_SOURCE_BYTES);
    const char *line = text ? strchr(text, '\n') : NULL;
    char own[RP_SHA256_TEXT];

    if (!line || (size_t)(line - text) != second + hash ||
        memcmp(text, session_write_mark, first) != 0 ||
        memcmp(text + first + hash, mark_own, sizeof mark_own - 1) != 0)
        return false;
    rp_sha256(line + 1, strlen(line + 1), own);
    memcpy(ret, text + first, hash);
    ret[hash] = 0;
    return memcmp(own, text + second, hash) == 0;
}

static int session_write_refuse(const char *path, struct rp_err *err)
{
    return rp_fail(err, RP_USAGE,
                   "%s is in the way of the result, and is not what a session left there: move it "
                   "to another place",
                   path);
}

/** Files that others wrote or changed are not overwritten. */
static int check_files(const struct rp_session *s, const char *source, const char *patch,
                       struct rp_err *err)
{
    char hash[RP_SHA256_TEXT], vouched[RP_SHA256_TEXT] = "";
    const bool own = is_own_patch(patch, vouched);

    if (access(patch, F_OK) == 0 && !own &&
        (rp_sha256_file(patch, hash, NULL) < 0 || !session_left_result(s, "patch_sha256", hash)))
        return session_write_refuse(patch, err);
    if (access(source, F_OK) != 0)
        return 0;
    if (rp_sha256_file(source, hash, NULL) < 0)
        return session_write_refuse(source, err);
    return (own && strcmp(hash, vouched) == 0) || session_left_result(s, "source_sha256", hash)
               ? 0
               : session_write_refuse(source, err);
}

/** Checks that the result can be written beside the source, and would not replace a file of others.
 */
static int session_check_place(const struct rp_session *s, struct rp_err *err)
{
    const char *slash = strrchr(s->o->source, '/');
    rp_autofree char *source = NULL, *patch = NULL, *folder = NULL;

    if (s->o->dry_run)
        return 0;
    folder = slash ? rp_strndup(s->o->source, (size_t)(slash - s->o->source) + 1) : rp_strdup(".");
    name_files(s, &source, &patch);
    if (access(folder, W_OK) != 0)
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s could not be written: %s: give --source a copy of %s in a folder in "
                       "which files can be written",
                       source, strerror(errno), s->o->source);
    return check_files(s, source, patch, err);
}

/* --- --apply ------------------------------------------------------------------------------- */

static bool holds(const char *path, const char *text, size_t bytes)
{
    rp_autofree char *now = rp_read_text(path, RP_MAX_SOURCE_BYTES);

    return now && strlen(now) == bytes && memcmp(now, text, bytes) == 0;
}

/** Finds a free name, or the backup that is there: an older one is never overwritten. */
static int write_backup(const struct rp_session *s, char **ret, struct rp_err *err)
{
    for (unsigned i = 0; i < 1000; i++) {
        rp_autofree char *path =
            i ? rp_format("%s.orig.%u", s->o->source, i) : rp_format("%s.orig", s->o->source);
        rp_autofree char *temporary = rp_format("%s.new", path);
        int rc;

        if (holds(path, s->original, s->original_bytes)) {
            *ret = rp_steal(path);
            return 0;
        }
        rc = rp_write_file_like(temporary, s->o->source, s->original, s->original_bytes, err);
        if (rc < 0)
            return rc;
        if (link(temporary, path) == 0) { /* link() fails when the file is there. */
            unlink(temporary);
            *ret = rp_steal(path);
            return 0;
        }
        rc = errno;
        unlink(temporary);
        if (rc != EEXIST)
            return rp_fail_errno(err, RP_ENVIRONMENT, rc, "cannot make %s", path);
    }
    return rp_fail(err, RP_ENVIRONMENT, "%s.orig to .orig.999 are there already", s->o->source);
}

/** Replaces the source only if it is the one that the session began with, and keeps its
 * permissions. It may be done already. */
static int apply(struct rp_session *s, const char *text, size_t bytes,
                 struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *file = realpath(s->o->source, NULL); /* A link to the file stays a link. */
    char hash[RP_SHA256_TEXT];
    bool done, of_a_result;
    int rc;

    if (!file || rp_sha256_file(file, hash, NULL) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", s->o->source);
    done = holds(file, text, bytes);
    of_a_result = session_left_result(s, "source_sha256", hash);
    if (!done && !of_a_result && !holds(file, s->original, s->original_bytes))
        return rp_fail(err, RP_BAD_INPUT,
                       "--apply: %s was changed meanwhile, and is left as it is; %s has the result",
                       s->o->source, ret->patch_path);
    ret->was_applied = done;
    rc = write_backup(s, &ret->backup_path, err);
    return rc < 0 || done ? rc : rp_write_file_like(file, file, text, bytes, err);
}

/* --- the files ----------------------------------------------------------------------------- */

static void make_patch(const struct rp_session *s, const char *text, const char *hash,
                       struct rp_buf *ret)
{
    const char *slash = strrchr(s->o->source, '/');
    rp_autobuf lines = {0};
    char own[RP_SHA256_TEXT];

    patch_write(slash ? slash + 1 : s->o->source, s->original, s->original_bytes, text,
                strlen(text), &lines);
    rp_sha256(rp_buf_text(&lines), lines.len, own);
    rp_buf_printf(ret, "%s%s%s%s\n", session_write_mark, hash, mark_own, own);
    rp_buf_add(ret, rp_buf_text(&lines), lines.len);
}

/** Writes to the journal what the files will be, so that they are recognised after a kill. */
static int announce(struct rp_session *s, const char *source_hash, const struct rp_buf *patch,
                    struct rp_err *err)
{
    char hash[RP_SHA256_TEXT];

    rp_sha256(patch->data, patch->len, hash);
    if (session_left_result(s, "source_sha256", source_hash) &&
        session_left_result(s, "patch_sha256", hash))
        return 0;
    return rp_journal_add(
        s->journal, "result", NULL,
        json_pack("{s:s, s:s}", "source_sha256", source_hash, "patch_sha256", hash), err);
}

static int write_files(struct rp_session *s, const char *text, const struct rp_buf *patch,
                       bool whole, struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *source_path = NULL, *patch_path = NULL;
    int rc;

    name_files(s, &source_path, &patch_path);
    rc = check_files(s, source_path, patch_path, err);
    if (rc == 0)
        rc = rp_write_file_like(source_path, s->o->source, text, strlen(text), err);
    if (rc == 0)
        rc = rp_write_file_like(patch_path, s->o->source, patch->data, patch->len, err);
    if (rc < 0) {
        rp_wrap(err, "the result is in %s", s->source);
        return rc;
    }
    ret->source_path = rp_steal(source_path);
    ret->patch_path = rp_steal(patch_path);
    return whole && s->o->apply ? apply(s, text, strlen(text), ret, err) : 0;
}

/** Each file is tried, even if one before failed; the first failure is reported. */
int rp_session_write(struct rp_session *s, const json_t *json, bool whole,
                     struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(s->o->folder, "optimize.json"), *text = NULL;
    struct rp_err failed[3] = {RP_ERR_INIT, RP_ERR_INIT, RP_ERR_INIT};
    const bool accepted = json_array_size(s->accepted) > 0;
    rp_autobuf patch = {0}, lines = {0};
    char hash[RP_SHA256_TEXT];

    ret->text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    if (accepted) {
        text = rp_read_text(s->source, RP_MAX_SOURCE_BYTES);
        if (!text)
            return rp_fail(err, RP_ENVIRONMENT, "cannot read %s", s->source);
        rp_sha256(text, strlen(text), hash);
        make_patch(s, text, hash, &patch);
        announce(s, hash, &patch, &failed[0]);
    }
    rp_buf_printf(&lines, "%s\n", ret->text);
    rp_write_private_file(path, rp_buf_text(&lines), lines.len, &failed[1]);
    if (accepted)
        write_files(s, text, &patch, whole, ret, &failed[2]);
    for (size_t i = 0; i < 3; i++)
        if (failed[i].code != RP_OK) {
            *err = failed[i];
            return -(int)err->code;
        }
    return 0;
}

enum { MOST_VERSION = 4096 };
static const int64_t VERSION_PATIENCE_NS = (int64_t)60 * 1000000000;
static const char any_arch[] = "gfx942"; /* The command is only compared, so any GPU will do. */

/** Makes the words of the build command, or null where that cannot be made. */
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

/** Returns the compiler's own version text, or "" when it has none. */
static json_t *compiler_version(const struct rp_session *s, const char *compiler)
{
    rp_autofree char *log = rp_path_join(s->scratch, "compiler.log");
    rp_autofree char *text = NULL;
    struct rp_err why = RP_ERR_INIT;
    struct rp_proc_end end;

    if (compiler &&
        rp_child_run(&(struct rp_child){.argv = (const char *const[]){compiler, "--version", NULL},
                                        .stdout_path = log,
                                        .timeout_ns = VERSION_PATIENCE_NS,
                                        .limits = rp_compiler_limits()},
                     &end, &why) == 0)
        text = rp_child_text(log, MOST_VERSION);
    return rp_session_text(text ? text : "");
}

/** Describes the device whose times they are, whichever options and variables chose it. */
static json_t *device_of(const struct rp_device_identity *on)
{
    rp_autofree char *gpu = rp_device_identity_gpu(on);
    rp_autofree char *timing = rp_device_identity_timing(on);

    return gpu && timing ? json_pack("{s:o, s:o, s:o}", "gpu", rp_session_text(gpu), "rocm",
                                     rp_session_text(on->rocm), "timing", rp_session_text(timing))
                         : NULL;
}

/** @return NULL: JSON cannot hold it */
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
        "s:I, s:I, s:f, s:o, s:b, s:o}",
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
        device_of(o->on), "dry_run", o->dry_run, "compare", rp_session_text(o->compare));
}

/* --- what differs -------------------------------------------------------------------------- */

static char *allow_text(const json_t *scope)
{
    return strcmp(json_string_value(scope) ?: "", "unroll") == 0 ? rp_strdup("not given")
                                                                 : rp_identity_word(scope);
}

/** The rows are in the order that is most useful to a user. */
static const struct rp_identity_row rows[] = {
    {"format", "the format of the journal", NULL},
    {"source", "--source", NULL},
    {"program", "the program, or its arguments,", NULL},
    {"source_sha256", "the text of the source", NULL},
    {"program_sha256", "the build of the program", NULL},
    {"build_command", "--build", NULL},
    {"compile_commands", "--compile-commands", NULL},
    {"flags", "--flags", NULL},
    {"unit", "--unit", NULL},
    {"build", "the compile_commands.json", NULL},
    {"program_command", "the command that builds the program", NULL},
    {"device_command", "the compiler's options for device code", NULL},
    {"compiler", "the compiler, or its version,", NULL},
    {"proposer", "--proposer", NULL},
    {"scope", "--allow", allow_text},
    {"kernel", "--kernel", NULL},
    {"check", "--check", NULL},
    {"compare", "--compare", NULL},
    {"most_attempts", "--max-iters", NULL},
    {"most_rounds", "--max-rounds", NULL},
    {"most_geometries", "--geometries", NULL},
    {"least_improvement", "--min-improvement", rp_identity_percent},
    {"dry_run", "--dry-run", NULL},
};

/** Times of one device must not be compared with those of another. */
static const struct rp_identity_row device_rows[] = {
    {"gpu", "the GPU (--device, ROCM_PERF_DEVICE)", NULL},
    {"rocm", "ROCm (ROCM_PATH)", NULL},
    {"timing", "the model of time (--timing, ROCM_PERF_DEVICE_TIMING)", rp_identity_model}};

/** @return RP_OK: they are the same */
static int compare_records(const struct rp_session *s, const json_t *before, const json_t *now,
                           struct rp_err *err)
{
    rp_autobuf differ = {0};

    rp_identity_put_differences(rows, sizeof rows / sizeof *rows, before, now, true, &differ);
    rp_identity_put_differences(device_rows, sizeof device_rows / sizeof *device_rows,
                                json_object_get(before, "on"), json_object_get(now, "on"), true,
                                &differ);
    return differ.len ? rp_identity_refuse(&s->folder, &differ, err) : 0;
}

/* --- the source as it was ------------------------------------------------------------------ */

static char *copy_path(const struct rp_session *s)
{
    const char *dot = strrchr(s->o->source, '.');

    return rp_format("%s/original%s", s->o->folder, dot && !strchr(dot, '/') ? dot : "");
}

/**
 * The user's file may be the result of this session already: --apply was the last step before a
 * kill, or was given before. The session goes on with its copy of the original file.
 */
static int restore_original(struct rp_session *s, struct rp_err *err)
{
    const json_t *before = rp_journal_find(s->journal, "session", NULL);
    const char *expected = json_string_value(json_object_get(before, "source_sha256"));
    rp_autofree char *path = copy_path(s), *text = NULL;
    char hash[RP_SHA256_TEXT];

    rp_sha256(s->original, s->original_bytes, hash);
    if (!expected)
        return rp_write_private_file(path, s->original, s->original_bytes, err);
    if (strcmp(hash, expected) == 0 || !session_left_result(s, "source_sha256", hash))
        return 0;
    text = rp_read_text(path, RP_MAX_SOURCE_BYTES);
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

static void report_if_finished(const struct rp_session *s)
{
    const json_t *finished = rp_journal_find(s->journal, "finished", NULL);
    const char *by = json_string_value(json_object_get(finished, "ended_by"));

    if (by && strcmp(by, "budget") != 0 && strcmp(by, "proposer") != 0 &&
        !json_is_true(json_object_get(finished, "failures")))
        rp_session_message(
            s, "this session was finished before (%s): what it came to is told again", by);
}

int rp_session_record(struct rp_session *s, struct rp_err *err)
{
    const json_t *before;
    json_t *now;
    int rc = rp_session_folder_open_journal(&s->folder, err);

    s->journal = s->folder.journal;
    if (rc == 0 && rp_journal_count(s->journal) && !rp_journal_find(s->journal, "session", NULL))
        rc =
            rp_fail(err, RP_BAD_INPUT,
                    "--resume: the journal in %s is none of optimize: name the folder of a session "
                    "with -o",
                    s->o->folder);
    if (rc == 0)
        /* There is no record yet, so a session can begin here later. */
        rc = session_check_place(s, err);
    if (rc == 0)
        rc = restore_original(s, err);
    if (rc < 0)
        return rc;
    now = record_of(s);
    if (!now)
        return rp_fail(err, RP_BAD_INPUT, "an option of the session is what JSON cannot hold");
    before = rp_journal_find(s->journal, "session", NULL);
    if (!before)
        return rp_journal_add(s->journal, "session", NULL, now, err);
    rc = compare_records(s, before, now, err);
    if (rc == 0)
        report_if_finished(s);
    json_decref(now);
    return rc;
}

void rp_session_message(const struct rp_session *s, const char *fmt, ...)
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

int rp_session_make_sandbox(struct rp_session *s, struct rp_err *err)
{
    const char *const folders[] = {s->temporary, NULL};
    int rc = rp_candidate_sandbox_make(&s->o->sandbox, folders, &s->sandbox, err);

    s->measure.sandbox = s->command->sandbox = rp_candidate_sandbox_of(&s->sandbox);
    /* A file that a program could not write is what it was, and --check would find it right; other
     * programs end otherwise then. Whoever names what they write may have them in it. */
    s->measure.programs_outside = !s->o->sandbox.writable_count;
    return rc;
}

bool rp_session_may_begin(struct rp_session *s, const char *kind, const char *key)
{
    if (s->o->budget_s <= 0 || (double)(rp_now_ns() - s->begin_ns) < s->o->budget_s * 1e9 ||
        rp_journal_find(s->journal, kind, key))
        return true;
    s->budget_over = true;
    return false;
}

int rp_session_excuse_budget_end(struct rp_session *s, int rc, struct rp_err *err)
{
    if (rc != -RP_VERDICT || !s->patience.over)
        return rc;
    s->budget_over = true;
    rp_session_message(s, "%s", err->text);
    *err = (struct rp_err)RP_ERR_INIT;
    return 0;
}

bool rp_session_is_file(const char *path, const json_t *data, const char *key)
{
    const char *expected = json_string_value(json_object_get(data, key));
    char hash[RP_SHA256_TEXT];

    return !expected || (rp_sha256_file(path, hash, NULL) == 0 && strcmp(hash, expected) == 0);
}

/** Says by what the program is judged: "check", "stdout", or "none" without output. NULL means that
 * it was not run. */
static const char *session_judged_by(const struct rp_session *s)
{
    return !*s->expected.sha256  ? NULL
           : s->expected.checked ? "check"
           : s->expected.bytes   ? "stdout"
                                 : "none";
}

/* The functions from here on make the members of optimize.json. */

json_t *rp_session_text(const char *text)
{
    return text ? rp_journal_string(text, strlen(text)) : json_null();
}

static json_t *sandbox_json(const struct rp_session *s)
{
    json_t *json = rp_candidate_sandbox_json(&s->sandbox);

    json_object_set_new(json, "programs", json_boolean(!s->measure.programs_outside));
    return json;
}

json_t *rp_session_json(const struct rp_session *s, const char *ended_by, const char *error)
{
    const struct rp_session_options *o = s->o;
    const char *slash = strrchr(o->source, '/');
    const json_t *round = json_array_get(s->rounds, 0);
    char before[RP_SHA256_TEXT], after[RP_SHA256_TEXT];

    rp_sha256(s->original, s->original_bytes, before);
    if (rp_sha256_file(s->source, after, NULL) < 0)
        return NULL;
    return json_pack(
        "{s:s, s:o, s:s, s:s, s:o, s:s?, s:s, s:o, s:s, s:o, s:s, s:f, s:b, s:s?, s:O, s:O, s:o, "
        "s:b, s:s?, s:o}",
        "schema_version", "1.0", "source", rp_session_text(slash ? slash + 1 : o->source),
        "source_sha256", before, "result_sha256", after, "build",
        rp_session_text(rp_compile_command_origin(s->command)), "device",
        json_string_value(json_object_get(round, "device")), "proposer", o->proposer->name,
        "proposer_ended", rp_session_text(s->proposer_ended), "ended_by", ended_by, "error",
        rp_session_text(error), "scope", o->scope == RP_EDIT_UNROLL ? "unroll" : "body",
        "least_improvement", o->least_improvement, "dry_run", o->dry_run, "output_judged_by",
        session_judged_by(s), "rounds", s->rounds, "accepted", s->accepted, "program",
        s->whole ? json_incref(s->whole) : json_null(), "times_modelled", s->modelled, "timing",
        s->modelled ? rp_timing_word(rp_timing_in_force(&o->run)) : NULL, "sandbox",
        sandbox_json(s));
}
