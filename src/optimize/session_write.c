/* What a session leaves: optimize.json, and when something was accepted the better source beside
 * the user's, its patch, and with --apply the user's source replaced. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/patch.h"
#include "optimize/session_parts.h"

enum { MOST_SOURCE_BYTES = 16 << 20 };

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/** First and last time of the program: of the acceptances' own measurements. */
static json_t *program_json(const struct rp_session *s)
{
    const size_t count = json_array_size(s->accepted);
    const json_t *first = json_object_get(json_array_get(s->accepted, 0), "program");
    const json_t *last =
        json_object_get(json_array_get(s->accepted, count ? count - 1 : 0), "program");
    const double before = json_number_value(json_object_get(first, "program_before_ms"));
    const double after = json_number_value(json_object_get(last, "program_after_ms"));

    if (!count || !(after > 0))
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "before_ms", before, "after_ms", after, "speedup",
                     before / after);
}

json_t *rp_session_json(const struct rp_session *s)
{
    const struct rp_session_options *o = s->o;
    const char *slash = strrchr(o->source, '/');
    const json_t *round = json_array_get(s->rounds, 0);
    char before[RP_SHA256_TEXT], after[RP_SHA256_TEXT];

    rp_sha256(s->original, s->original_bytes, before);
    if (rp_sha256_file(s->source, after, NULL) < 0)
        return NULL;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:f, s:b, s:O, s:O, s:o, s:b}", "schema_version",
        "1.0", "source", slash ? slash + 1 : o->source, "source_sha256", before, "result_sha256",
        after, "build", rp_compile_command_origin(s->command), "device",
        json_string_value(json_object_get(round, "device")), "proposer", o->proposer->name, "scope",
        o->scope == RP_EDIT_UNROLL ? "unroll" : "body", "least_improvement", o->least_improvement,
        "dry_run", o->dry_run, "rounds", s->rounds, "accepted", s->accepted, "program",
        program_json(s), "times_modelled", s->modelled);
}

static char *beside(const char *source, const char *mark, const char *extension)
{
    const char *slash = strrchr(source, '/'), *dot = strrchr(source, '.');
    const bool has = dot && (!slash || dot > slash + 1) && dot != source;
    const int stem = (int)(has ? (size_t)(dot - source) : strlen(source));

    return rp_format("%.*s%s%s", stem, source, mark, extension ? extension : has ? dot : "");
}

static int write_patch(const struct rp_session *s, const char *text, size_t bytes, const char *path,
                       struct rp_err *err)
{
    const char *slash = strrchr(s->o->source, '/');
    rp_autobuf patch = {0};

    rp_patch_write(slash ? slash + 1 : s->o->source, s->original, s->original_bytes, text, bytes,
                   &patch);
    return patch.failed ? out_of_memory(err)
                        : rp_write_file(path, rp_buf_text(&patch), patch.len, err);
}

/** A name that is free: an older backup is never overwritten. */
static int write_backup(const struct rp_session *s, char **ret, struct rp_err *err)
{
    for (unsigned i = 0; i < 1000; i++) {
        rp_autofree char *path =
            i ? rp_format("%s.orig.%u", s->o->source, i) : rp_format("%s.orig", s->o->source);
        rp_autofree char *temporary = path ? rp_format("%s.new", path) : NULL;
        int rc;

        if (!temporary)
            return out_of_memory(err);
        rc = rp_write_file(temporary, s->original, s->original_bytes, err);
        if (rc < 0)
            return rc;
        if (link(temporary, path) == 0) { /* fails when it is there */
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

/** Only if it is what the session began with, and with the rights it has. */
static int apply(struct rp_session *s, const char *text, size_t bytes,
                 struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *now = rp_read_text(s->o->source, MOST_SOURCE_BYTES);
    struct stat st;
    int rc;

    if (!now || strlen(now) != s->original_bytes ||
        memcmp(now, s->original, s->original_bytes) != 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "--apply: %s was changed meanwhile, and is left as it is; %s has the result",
                       s->o->source, ret->patch_path);
    if (stat(s->o->source, &st) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", s->o->source);
    rc = write_backup(s, &ret->backup_path, err);
    if (rc == 0)
        rc = rp_write_file(s->o->source, text, bytes, err);
    if (rc == 0)
        (void)!chmod(s->o->source, st.st_mode & 07777);
    return rc;
}

static int write_source(struct rp_session *s, struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *text = rp_read_text(s->source, MOST_SOURCE_BYTES);
    size_t bytes;
    int rc;

    ret->source_path = beside(s->o->source, "_opt", NULL);
    ret->patch_path = beside(s->o->source, "_opt", ".patch");
    if (!ret->source_path || !ret->patch_path)
        return out_of_memory(err);
    if (!text)
        return rp_fail(err, RP_ENVIRONMENT, "cannot read %s", s->source);
    bytes = strlen(text);
    rc = rp_write_file(ret->source_path, text, bytes, err);
    if (rc == 0)
        rc = write_patch(s, text, bytes, ret->patch_path, err);
    if (rc == 0 && s->o->apply)
        rc = apply(s, text, bytes, ret, err);
    return rc;
}

int rp_session_write(struct rp_session *s, json_t *json, struct rp_session_result *ret,
                     struct rp_err *err)
{
    rp_autofree char *text =
        json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    rp_autofree char *line = text ? rp_format("%s\n", text) : NULL;
    int rc;

    ret->json_path = rp_path_join(s->o->folder, "optimize.json");
    if (!line || !ret->json_path)
        return out_of_memory(err);
    rc = json_array_size(s->accepted) ? write_source(s, ret, err) : 0;
    return rc < 0 ? rc : rp_write_file(ret->json_path, line, strlen(line), err);
}
