/* What a session leaves: optimize.json, and when something was accepted the better source beside
 * the user's, its patch, and with --apply the user's source replaced. In this order, each file
 * whole or not at all, and the journal knows their hashes before: behind a kill --resume writes
 * what is missing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/patch.h"
#include "optimize/session_parts.h"

/* --- whose the files there are ------------------------------------------------------------- */

/** A patch begins with this, the SHA-256 of the source that it leads to, and its own behind it. */
static const char mark[] = "rocm-perf optimize: leads to ";
static const char mark_own[] = " by ";

static char *beside(const char *source, const char *name_end, const char *extension)
{
    const char *slash = strrchr(source, '/'), *dot = strrchr(source, '.');
    const bool has = dot && (!slash || dot > slash + 1) && dot != source;
    const int stem = (int)(has ? (size_t)(dot - source) : strlen(source));

    return rp_format("%.*s%s%s", stem, source, name_end, extension ? extension : has ? dot : "");
}

static int name_files(const struct rp_session *s, char **ret_source, char **ret_patch,
                      struct rp_err *err)
{
    *ret_source = beside(s->o->source, "_opt", NULL);
    *ret_patch = beside(s->o->source, "_opt", ".patch");
    return *ret_source && *ret_patch ? 0 : rp_out_of_memory(err);
}

bool rp_session_has_left(const struct rp_session *s, const char *key, const char *hash)
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

/** A patch as a session wrote it, unchanged since. @param ret  hash of the source it leads to */
static bool is_own_patch(const char *path, char ret[RP_SHA256_TEXT])
{
    const size_t hash = RP_SHA256_TEXT - 1, first = sizeof mark - 1;
    const size_t second = first + hash + sizeof mark_own - 1;
    rp_autofree char *text = rp_read_text(path, 2 * RP_MOST_SOURCE_BYTES);
    const char *line = text ? strchr(text, '\n') : NULL;
    char own[RP_SHA256_TEXT];

    if (!line || (size_t)(line - text) != second + hash || memcmp(text, mark, first) != 0 ||
        memcmp(text + first + hash, mark_own, sizeof mark_own - 1) != 0)
        return false;
    rp_sha256(line + 1, strlen(line + 1), own);
    memcpy(ret, text + first, hash);
    ret[hash] = 0;
    return memcmp(own, text + second, hash) == 0;
}

static int refuse(const char *path, struct rp_err *err)
{
    return rp_fail(err, RP_USAGE,
                   "%s is in the way of the result, and is not what a session left there: move it "
                   "to another place",
                   path);
}

/** What another wrote, or changed, is not overwritten. */
static int check_files(const struct rp_session *s, const char *source, const char *patch,
                       struct rp_err *err)
{
    char hash[RP_SHA256_TEXT], vouched[RP_SHA256_TEXT] = "";
    const bool own = is_own_patch(patch, vouched);

    if (access(patch, F_OK) == 0 && !own &&
        (rp_sha256_file(patch, hash, NULL) < 0 || !rp_session_has_left(s, "patch_sha256", hash)))
        return refuse(patch, err);
    if (access(source, F_OK) != 0)
        return 0;
    if (rp_sha256_file(source, hash, NULL) < 0)
        return refuse(source, err);
    return (own && strcmp(hash, vouched) == 0) || rp_session_has_left(s, "source_sha256", hash)
               ? 0
               : refuse(source, err);
}

int rp_session_check_place(const struct rp_session *s, struct rp_err *err)
{
    const char *slash = strrchr(s->o->source, '/');
    rp_autofree char *source = NULL, *patch = NULL, *folder = NULL;
    int rc;

    if (s->o->dry_run)
        return 0;
    folder = slash ? strndup(s->o->source, (size_t)(slash - s->o->source) + 1) : strdup(".");
    rc = folder ? name_files(s, &source, &patch, err) : rp_out_of_memory(err);
    if (rc == 0 && access(folder, W_OK) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                             "%s could not be written: give a copy of %s in a folder that can",
                             source, s->o->source);
    return rc < 0 ? rc : check_files(s, source, patch, err);
}

/* --- --apply ------------------------------------------------------------------------------- */

static bool holds(const char *path, const char *text, size_t bytes)
{
    rp_autofree char *now = rp_read_text(path, RP_MOST_SOURCE_BYTES);

    return now && strlen(now) == bytes && memcmp(now, text, bytes) == 0;
}

/** A name that is free, or the backup that is there: an older one is never overwritten. */
static int write_backup(const struct rp_session *s, char **ret, struct rp_err *err)
{
    for (unsigned i = 0; i < 1000; i++) {
        rp_autofree char *path =
            i ? rp_format("%s.orig.%u", s->o->source, i) : rp_format("%s.orig", s->o->source);
        rp_autofree char *temporary = path ? rp_format("%s.new", path) : NULL;
        int rc;

        if (!temporary)
            return rp_out_of_memory(err);
        if (holds(path, s->original, s->original_bytes)) {
            *ret = rp_steal(path);
            return 0;
        }
        rc = rp_write_file_like(temporary, s->o->source, s->original, s->original_bytes, err);
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

/** Only if it is what the session began with, and with the rights it has; or it is done. */
static int apply(struct rp_session *s, const char *text, size_t bytes,
                 struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *file = realpath(s->o->source, NULL); /* a link to it stays one */
    char hash[RP_SHA256_TEXT];
    bool done, of_a_result;
    int rc;

    if (!file || rp_sha256_file(file, hash, NULL) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", s->o->source);
    done = holds(file, text, bytes);
    of_a_result = rp_session_has_left(s, "source_sha256", hash);
    if (!done && !of_a_result && !holds(file, s->original, s->original_bytes))
        return rp_fail(err, RP_BAD_INPUT,
                       "--apply: %s was changed meanwhile, and is left as it is; %s has the result",
                       s->o->source, ret->patch_path);
    ret->was_applied = done;
    rc = write_backup(s, &ret->backup_path, err);
    return rc < 0 || done ? rc : rp_write_file_like(file, file, text, bytes, err);
}

/* --- the files ----------------------------------------------------------------------------- */

static int make_patch(const struct rp_session *s, const char *text, const char *hash,
                      struct rp_buf *ret, struct rp_err *err)
{
    const char *slash = strrchr(s->o->source, '/');
    rp_autobuf lines = {0};
    char own[RP_SHA256_TEXT];

    rp_patch_write(slash ? slash + 1 : s->o->source, s->original, s->original_bytes, text,
                   strlen(text), &lines);
    rp_sha256(rp_buf_text(&lines), lines.len, own);
    rp_buf_printf(ret, "%s%s%s%s\n", mark, hash, mark_own, own);
    rp_buf_add(ret, rp_buf_text(&lines), lines.len);
    return ret->failed || lines.failed ? rp_out_of_memory(err) : 0;
}

/** The journal knows what will be there, so that it is recognised behind a kill. */
static int announce(struct rp_session *s, const char *source_hash, const struct rp_buf *patch,
                    struct rp_err *err)
{
    char hash[RP_SHA256_TEXT];

    rp_sha256(patch->data, patch->len, hash);
    if (rp_session_has_left(s, "source_sha256", source_hash) &&
        rp_session_has_left(s, "patch_sha256", hash))
        return 0;
    return rp_journal_add(
        s->journal, "result", NULL,
        json_pack("{s:s, s:s}", "source_sha256", source_hash, "patch_sha256", hash), err);
}

static int write_files(struct rp_session *s, const char *text, const struct rp_buf *patch,
                       bool whole, struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *source_path = NULL, *patch_path = NULL;
    int rc = name_files(s, &source_path, &patch_path, err);

    if (rc == 0)
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

/** Each file is tried, whatever becomes of those before; the first failure is told. */
int rp_session_write(struct rp_session *s, const json_t *json, bool whole,
                     struct rp_session_result *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(s->o->folder, "optimize.json"), *text = NULL;
    struct rp_err failed[3] = {RP_ERR_INIT, RP_ERR_INIT, RP_ERR_INIT};
    const bool accepted = json_array_size(s->accepted) > 0;
    rp_autobuf patch = {0}, lines = {0};
    char hash[RP_SHA256_TEXT];

    ret->text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    if (!ret->text || !path)
        return rp_out_of_memory(err);
    if (accepted) {
        text = rp_read_text(s->source, RP_MOST_SOURCE_BYTES);
        if (!text)
            return rp_fail(err, RP_ENVIRONMENT, "cannot read %s", s->source);
        rp_sha256(text, strlen(text), hash);
        if (make_patch(s, text, hash, &patch, err) < 0)
            return rp_out_of_memory(err);
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
