#include "capture/capture_checksums.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "capture/capture_files.h"
#include "capture/capture_open.h"

enum { CHUNK_BYTES = 1 << 20, DIGEST_CHARS = 33 };

static void drop(json_t **json)
{
    json_decref(*json);
}

static int hash_fd(int fd, uint64_t *ret_bytes, char ret_digest[DIGEST_CHARS])
{
    rp_autofree char *chunk = malloc(CHUNK_BYTES);
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t canonical;
    uint64_t bytes = 0;
    ssize_t got = -1;

    errno = ENOMEM;
    if (chunk && state && XXH3_128bits_reset(state) == XXH_OK)
        while ((got = read(fd, chunk, CHUNK_BYTES)) > 0 || (got < 0 && errno == EINTR))
            if (got > 0) {
                XXH3_128bits_update(state, chunk, (size_t)got);
                bytes += (uint64_t)got;
            }
    if (got == 0) {
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
        for (size_t i = 0; i < sizeof canonical.digest; i++)
            snprintf(ret_digest + 2 * i, 3, "%02x", canonical.digest[i]);
        *ret_bytes = bytes;
    }
    XXH3_freeState(state);
    return got == 0 ? 0 : -1;
}

static int hash_file(const char *folder, const char *name, uint64_t *ret_bytes,
                     char ret_digest[DIGEST_CHARS], struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autoclose int fd = -1;
    int rc;

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_capture_open_file(path, &fd, err);
    if (rc == 0 && hash_fd(fd, ret_bytes, ret_digest) < 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    return rc;
}

/* Sorted: by folder, then by name. */
static int list_files(const char *folder, glob_t *found, struct rp_err *err)
{
    static const char *const patterns[] = {"*.json", "*.bin", "*.hsaco", "memory/*", "after/*"};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        rp_autofree char *pattern = rp_path_pattern(folder, patterns[i]);
        int failed = pattern ? glob(pattern, i ? GLOB_APPEND : 0, NULL, found) : GLOB_NOSPACE;

        if (failed == GLOB_NOSPACE)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (failed && (failed != GLOB_NOMATCH || i == 0)) /* there is dispatch.json at least */
            return rp_fail(err, RP_ENVIRONMENT, "cannot list the files of %s", folder);
    }
    return 0;
}

/* An entry of the list. */
static int hash_entry(const char *folder, const char *name, json_t **ret, struct rp_err *err)
{
    char digest[DIGEST_CHARS];
    uint64_t bytes;
    int rc = hash_file(folder, name, &bytes, digest, err);

    if (rc < 0)
        return rc;
    *ret = json_pack("{s:s, s:I, s:s}", "name", name, "bytes", (json_int_t)bytes, "xxh128", digest);
    return *ret ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static int write_list(const char *folder, const json_t *all, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_CHECKSUMS_FILE);
    rp_autofree char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    rp_autofree char *line = text ? rp_format("%s\n", text) : NULL;

    if (!line || !path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_write_private_file(path, line, strlen(line), err);
}

int rp_capture_write_checksums(const char *folder, struct rp_err *err)
{
    rp_cleanup(drop) json_t *files = json_array();
    rp_cleanup(drop) json_t *all = NULL;
    glob_t found = {0};
    int rc = list_files(folder, &found, err);

    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++) {
        const char *name = found.gl_pathv[i] + strlen(folder) + 1;
        json_t *entry = NULL;

        if (strcmp(name, RP_CAPTURE_CHECKSUMS_FILE) == 0) /* of before, if there is one */
            continue;
        rc = hash_entry(folder, name, &entry, err);
        if (rc == 0 && json_array_append_new(files, entry) < 0)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    globfree(&found);
    if (rc < 0)
        return rc;
    all = json_pack("{s:s, s:O}", "algorithm", "XXH3 128", "files", files);
    return write_list(folder, all, err);
}

/* Names lead nowhere else. */
static bool is_inside(const char *name)
{
    return name[0] != '/' && !strstr(name, "..");
}

static bool is_listed(const json_t *files, const char *wanted)
{
    size_t i;
    json_t *file;

    json_array_foreach(files, i, file)
    {
        const char *name = json_string_value(json_object_get(file, "name"));

        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* What every capture has. */
static int check_list(const char *path, const json_t *files, struct rp_err *err)
{
    static const char *const names[] = {RP_CAPTURE_DISPATCH_FILE, RP_CAPTURE_REGIONS_FILE,
                                        RP_CAPTURE_COVERAGE_FILE, RP_CAPTURE_KERNARG_FILE,
                                        RP_CAPTURE_CODE_FILE,     RP_CAPTURE_PAGES_FILE};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!is_listed(files, names[i]))
            return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it does not list %s", path, names[i]);
    return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void close_walk(FTS **walk)
{
    if (*walk)
        fts_close(*walk);
}

/* The result of the self-check is added to a whole capture: it is there before the list has it, and
 * each is written under another name first, which a run that was killed leaves. */
static bool is_added_later(const char *name)
{
    static const char *const files[] = {RP_CAPTURE_SELF_FILE, RP_CAPTURE_CHECKSUMS_FILE};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const size_t length = strlen(files[i]);

        if (strncmp(name, files[i], length) == 0 &&
            (!name[length] ||
             strncmp(name + length, RP_WRITE_PARTIAL, sizeof RP_WRITE_PARTIAL - 1) == 0))
            return true;
    }
    return false;
}

/* What is there besides would be read by nobody, or in place of what was not captured. */
static int check_rest(const char *folder, const json_t *files, struct rp_err *err)
{
    rp_autofree char *root = strdup(folder);
    char *const roots[] = {root, NULL};
    rp_cleanup(close_walk) FTS *walk =
        root ? fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name) : NULL;
    size_t skip;
    FTSENT *at;

    if (!walk)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot list the files of %s", folder);
    for (skip = strlen(root); skip > 1 && root[skip - 1] == '/'; skip--)
        ;
    while ((at = fts_read(walk))) {
        const char *name = at->fts_path + skip;

        if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR)
            return rp_fail_errno(err, RP_ENVIRONMENT, at->fts_errno, "cannot read %s",
                                 at->fts_path);
        if (at->fts_info == FTS_D || at->fts_info == FTS_DP)
            continue;
        while (*name == '/')
            name++;
        if (!is_added_later(name) && !is_listed(files, name))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is not in %s: it is no part of the capture, remove it", at->fts_path,
                           RP_CAPTURE_CHECKSUMS_FILE);
    }
    return 0;
}

/* @param ret_all  to be dropped; has an array "files" of one at least */
static int load_list(const char *path, json_t **ret_all, struct rp_err *err)
{
    json_error_t why;
    int rc;

    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s is missing: the capture is not complete", path);
    rc = rp_capture_load_json(path, &why, ret_all, err);
    if (rc < 0)
        return rc;
    if (json_array_size(json_object_get(*ret_all, "files")) == 0)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it lists no files", path);
    return 0;
}

/* @param ret_all  to be dropped; a list of what every capture has, at least */
static int open_list(const char *folder, json_t **ret_all, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_CHECKSUMS_FILE);
    int rc = path ? load_list(path, ret_all, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    return rc < 0 ? rc : check_list(path, json_object_get(*ret_all, "files"), err);
}

/* Where rp_capture_write_checksums would have put it. */
static size_t place_of(const json_t *files, const char *name)
{
    size_t i;
    json_t *file;

    json_array_foreach(files, i, file)
    {
        const char *other = json_string_value(json_object_get(file, "name"));

        if (!other || strchr(other, '/') || !strstr(other, ".json") || strcmp(other, name) >= 0)
            break;
    }
    return i;
}

int rp_capture_add_checksum(const char *folder, const char *name, struct rp_err *err)
{
    rp_cleanup(drop) json_t *all = NULL;
    json_t *entry = NULL, *files;
    size_t place;
    int rc = open_list(folder, &all, err);

    if (rc == 0)
        rc = hash_entry(folder, name, &entry, err);
    if (rc < 0)
        return rc;
    files = json_object_get(all, "files");
    place = place_of(files, name);
    if (is_listed(files, name))
        rc = json_array_set_new(files, place, entry);
    else
        rc = json_array_insert_new(files, place, entry);
    if (rc < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return write_list(folder, all, err);
}

/* One file against its entry, which is number @p i. */
static int check_file(const char *folder, const json_t *file, size_t i, uint64_t *ret_bytes,
                      struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(file, "name"));
    const char *expected = json_string_value(json_object_get(file, "xxh128"));
    const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
    char digest[DIGEST_CHARS];
    int rc;

    if (!name || !expected || !is_inside(name))
        return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: file %zu of its list", folder,
                       RP_CAPTURE_CHECKSUMS_FILE, i);
    rc = hash_file(folder, name, ret_bytes, digest, err);
    if (rc < 0)
        return rc;
    if (*ret_bytes != (uint64_t)bytes)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s/%s is damaged: it has %" PRIu64 " bytes, %lld were written", folder,
                       name, *ret_bytes, (long long)bytes);
    if (strcmp(digest, expected) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: its checksum is %s, %s was written",
                       folder, name, digest, expected);
    return 0;
}

int rp_capture_check_small_files(const char *folder, struct rp_err *err)
{
    rp_cleanup(drop) json_t *all = NULL;
    int rc = open_list(folder, &all, err);
    uint64_t bytes;
    size_t i;
    json_t *file;

    if (rc < 0)
        return rc;
    json_array_foreach(json_object_get(all, "files"), i, file)
    {
        const char *name = json_string_value(json_object_get(file, "name"));

        if (name && (strchr(name, '/') || strcmp(name, RP_CAPTURE_PAGES_FILE) == 0))
            continue;
        rc = check_file(folder, file, i, &bytes, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int rp_capture_check_checksums(const char *folder, uint64_t *ret_files, uint64_t *ret_bytes,
                               struct rp_err *err)
{
    rp_cleanup(drop) json_t *all = NULL;
    const json_t *files;
    uint64_t sum = 0, bytes;
    size_t i;
    json_t *file;
    int rc = open_list(folder, &all, err);

    if (rc < 0)
        return rc;
    files = json_object_get(all, "files");
    json_array_foreach(files, i, file)
    {
        rc = check_file(folder, file, i, &bytes, err);
        if (rc < 0)
            return rc;
        sum += bytes;
    }
    rc = check_rest(folder, files, err);
    if (rc < 0)
        return rc;
    *ret_files = json_array_size(files);
    *ret_bytes = sum;
    return 0;
}
