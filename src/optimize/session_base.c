/* What a session begins with: the program as the user has it does the same as what the build
 * command makes of the source. Found once; a session that goes on takes it from the journal. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile.h"
#include "optimize/session_parts.h"

bool rp_session_is_file(const char *path, const json_t *data, const char *key)
{
    const char *expected = json_string_value(json_object_get(data, key));
    char hash[RP_SHA256_TEXT];

    return !expected || (rp_sha256_file(path, hash, NULL) == 0 && strcmp(hash, expected) == 0);
}

int rp_session_check_disk(const struct rp_session *s, struct rp_err *err)
{
    enum { LEAST_MIB = 64 }; /* what compilers and captures may need meanwhile */
    struct statvfs disk;
    unsigned long long mib;

    if (statvfs(s->o->folder, &disk) != 0)
        return 0;
    mib = (unsigned long long)disk.f_bavail * disk.f_frsize >> 20;
    return mib >= LEAST_MIB
               ? 0
               : rp_fail(err, RP_ENVIRONMENT,
                         "the disk of %s has %llu MiB left, which may be why: make space (%d MiB "
                         "or more) and go on with --resume",
                         s->o->folder, mib, LEAST_MIB);
}

const char *rp_session_judged_by(const struct rp_session *s)
{
    return !*s->expected.sha256  ? NULL
           : s->expected.checked ? "check"
           : s->expected.bytes   ? "stdout"
                                 : "none";
}

/** What the program prints, from the journal. */
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

static int build(struct rp_session *s, struct rp_err *err)
{
    rp_cleanup(rp_built_free) struct rp_built built = {0};
    rp_autofree char *reason = NULL;
    int rc;

    rp_session_say(s, "building %s by %s", s->o->source, rp_compile_command_origin(s->command));
    rc = rp_compile(s->command, s->source, NULL, s->rebuilt, &built, err);
    if (rc < 0)
        return rc;
    if (built.ok)
        return 0;
    reason = rp_built_reason(&built);
    return rp_fail(err, RP_BAD_INPUT, "%s does not build%s: %s", s->source,
                   rp_compile_command_doubt(s->command), reason ? reason : built.why);
}

/** How a message goes on with what a program or --check said last. */
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

    rp_session_say(s, "running %s as it is", s->program);
    rc = rp_application_run(&s->measure, s->program, RP_RUNS_ORIGINAL, s->o->check, o, err);
    if (rc < 0)
        return rc;
    why = o->why ? o->why : o->check_why;
    if (why)
        return rp_fail(err, RP_PROGRAM, "%s as it is: %s%s%s", s->program, why, before_words(o),
                       o->said);
    s->measure.status = o->status;
    if (!o->checked && !o->bytes && s->o->scope == RP_EDIT_BODY)
        return rp_fail(err, RP_USAGE,
                       "%s prints nothing to stdout, so nothing would show that a kernel with "
                       "another body makes it do something else: say with --check which command "
                       "tells right from wrong, such as cmp of a file that it writes",
                       s->program);
    if (o->status)
        rp_session_say(s, "%s ends with exit status %d: that is taken for right%s%s", s->program,
                       o->status, before_words(o), o->said);
    return 0;
}

static int run_rebuilt(struct rp_session *s, struct rp_err *err)
{
    rp_cleanup(rp_output_free) struct rp_output output = {0};
    rp_autofree char *why = NULL;
    const char *words;
    int rc;

    rp_session_say(s, "running what is built of %s", s->source);
    rc = rp_application_run(&s->measure, s->rebuilt, RP_RUNS_CANDIDATE, s->o->check, &output, err);
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

int rp_session_build(struct rp_session *s, struct rp_err *err)
{
    int rc;

    s->rebuilt = rp_path_join(s->o->folder, "program");
    if (!s->rebuilt)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (restore(s))
        return 0;
    rc = build(s, err);
    if (rc == 0)
        rc = run_original(s, err);
    if (rc == 0)
        rc = run_rebuilt(s, err);
    return rc < 0 ? rc : keep(s, err);
}
