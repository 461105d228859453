#include "base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/units.h"
#include "base/utf8.h"

/** This stands behind the name of a journal. That file has the number of its records and the hash
 * of the last one. */
#define RP_JOURNAL_HEAD ".head"

/* A line is {"sha256":"...","record":BODY}: the hash is of the line before's and BODY's bytes, so
 * that a line that is missing, changed or moved is found. */
#define HEAD "{\"sha256\":\""
#define MID  "\",\"record\":"
enum {
    HASH = RP_SHA256_TEXT - 1,
    HEAD_BYTES = sizeof HEAD - 1,
    MID_BYTES = sizeof MID - 1,
    BODY_AT = HEAD_BYTES + HASH + MID_BYTES,
    MOST_BYTES = 1 << 30
};

struct rp_journal {
    int fd;
    char *path;
    json_t *records;
    char last_hash[RP_SHA256_TEXT];
    const char *again; /**< how a user goes on; NULL: with --resume */
    bool broken;       /**< a line may have been written in part: nothing may follow it */
};

static void hash_of(const char *before, const char *body, size_t bytes, char ret[RP_SHA256_TEXT])
{
    rp_autobuf both = {0};

    rp_buf_puts(&both, before);
    rp_buf_add(&both, body, bytes);
    rp_sha256(rp_buf_text(&both), both.len, ret);
}

static void first_hash(char ret[RP_SHA256_TEXT])
{
    memset(ret, '0', HASH);
    ret[HASH] = 0;
}

/** Reads the record of a line without its newline. It returns NULL when the line is damaged. */
static json_t *read_line(const char *line, size_t bytes, size_t sequence, char hash[RP_SHA256_TEXT])
{
    char expected[RP_SHA256_TEXT];
    const char *body = line + BODY_AT;
    json_t *record;

    if (bytes <= BODY_AT + 1 || memcmp(line, HEAD, HEAD_BYTES) != 0 ||
        memcmp(line + HEAD_BYTES + HASH, MID, MID_BYTES) != 0 || line[bytes - 1] != '}')
        return NULL;
    hash_of(hash, body, bytes - BODY_AT - 1, expected);
    if (memcmp(expected, line + HEAD_BYTES, HASH) != 0)
        return NULL;
    record = json_loadb(body, bytes - BODY_AT - 1, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_string(json_object_get(record, "kind")) ||
        !json_is_string(json_object_get(record, "key")) ||
        !json_is_object(json_object_get(record, "data")) ||
        json_integer_value(json_object_get(record, "sequence")) != (json_int_t)sequence) {
        json_decref(record);
        return NULL;
    }
    memcpy(hash, expected, sizeof expected);
    return record;
}

int rp_journal_parse(const char *text, size_t bytes, json_t **ret_records, size_t *ret_good_bytes,
                     char ret_last_hash[65], struct rp_err *err)
{
    json_t *records = json_array();
    size_t good = 0;

    if (!records)
        return rp_out_of_memory(err);
    first_hash(ret_last_hash);
    while (good < bytes) {
        const char *line = text + good, *end = memchr(line, '\n', bytes - good);
        const size_t count = json_array_size(records);
        json_t *record =
            end ? read_line(line, (size_t)(end - line), count + 1, ret_last_hash) : NULL;

        if (!record && end && (size_t)(end + 1 - text) < bytes) {
            json_decref(records);
            return rp_fail(err, RP_BAD_INPUT,
                           "line %zu is damaged, and is not the last one: restore the file from a "
                           "copy, or begin anew with another -o",
                           count + 1);
        }
        if (!record) /* The line was being written when the session was killed. */
            break;
        if (json_array_append_new(records, record) != 0) {
            json_decref(records);
            return rp_out_of_memory(err);
        }
        good = (size_t)(end + 1 - text);
    }
    *ret_records = records;
    *ret_good_bytes = good;
    return 0;
}

static struct rp_journal *new_journal(const char *path, int fd)
{
    struct rp_journal *journal = rp_alloc_zero(1, sizeof *journal);

    if (!journal)
        return NULL;
    *journal = (struct rp_journal){.fd = fd, .path = rp_strdup(path), .records = json_array()};
    first_hash(journal->last_hash);
    if (journal->path && journal->records)
        return journal;
    journal->fd = -1;
    rp_journal_close(journal);
    return NULL;
}

static int read_all(int fd, const char *path, char **ret, size_t *ret_bytes, struct rp_err *err)
{
    struct stat st;
    size_t have = 0;
    rp_autofree char *text = NULL;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MOST_BYTES)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is no regular file, or larger than 1 GiB: choose another -o", path);
    text = rp_alloc((size_t)st.st_size + 1);
    if (!text)
        return rp_out_of_memory(err);
    while (have < (size_t)st.st_size) {
        ssize_t got = pread(fd, text + have, (size_t)st.st_size - have, (off_t)have);

        if (got <= 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, got < 0 ? errno : EIO, "cannot read %s",
                                 path);
        have += (size_t)got;
    }
    *ret = rp_steal(text);
    *ret_bytes = have;
    return 0;
}

/** Says whether a session left nothing to go on with: no whole line, or only the one that says what
 * it is.
 * @param count number of its whole lines */
static bool is_empty(const char *path, const char *text, size_t bytes, size_t count)
{
    rp_autofree char *head = rp_format("%s" RP_JOURNAL_HEAD, path);

    return count <= 1 && head && !rp_path_exists(head) &&
           memcmp(text, HEAD, bytes < HEAD_BYTES ? bytes : HEAD_BYTES) == 0;
}

/** Says whether a session may begin anew in that file. */
static bool may_begin(int fd, const char *path)
{
    struct rp_err why = RP_ERR_INIT;
    rp_autofree char *text = NULL;
    json_t *records = NULL;
    size_t bytes = 0, good = 0;
    char hash[RP_SHA256_TEXT];
    bool may;

    if (read_all(fd, path, &text, &bytes, &why) < 0 ||
        rp_journal_parse(text, bytes, &records, &good, hash, &why) < 0)
        return false;
    may = is_empty(path, text, bytes, json_array_size(records));
    json_decref(records);
    return may;
}

bool rp_journal_is_begun(const char *path)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? errno != ENOENT : !may_begin(fd, path);
}

static int open_again(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_APPEND | O_NONBLOCK);

    if (fd >= 0 && may_begin(fd, path) && ftruncate(fd, 0) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = EEXIST;
    return -1;
}

const char *rp_journal_remedy(int why)
{
    return why == ENOSPC || why == EDQUOT ? "make space"
           : why == EFBIG                 ? "allow larger files (ulimit -f)"
                                          : "fix that";
}

/** @param doing what failed, with errno: "make", "remove" */
static int cannot_begin(const char *doing, const char *path, struct rp_err *err)
{
    return rp_fail_with_remedy(err, RP_ENVIRONMENT, "cannot %s %s: %s: %s, or choose another -o",
                               doing, path, strerror(errno), rp_journal_remedy(errno));
}

/** The head is of a journal that was there before, and would say that the end of the new one is
 * missing. */
static int remove_head(const char *path, struct rp_err *err)
{
    rp_autofree char *head = rp_format("%s" RP_JOURNAL_HEAD, path);

    if (!head)
        return rp_out_of_memory(err);
    return unlink(head) == 0 || errno == ENOENT ? 0 : cannot_begin("remove", head, err);
}

/** Makes what the journal needs beside its open file, and the names of both last. */
static int settle(const char *path, struct rp_err *err)
{
    int rc = remove_head(path, err);

    if (rc < 0)
        return rc;
    return rp_sync_folder_of(path) == 0 ? 0 : cannot_begin("make", path, err);
}

int rp_journal_create(const char *path, struct rp_journal **ret, struct rp_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600);
    int rc;

    if (fd < 0 && errno == EEXIST)
        fd = open_again(path);
    if (fd < 0)
        return errno == EEXIST ? rp_fail(err, RP_USAGE,
                                         "%s is there already: --resume goes on with it; to begin "
                                         "anew, choose another -o or remove that folder",
                                         path)
                               : cannot_begin("make", path, err);
    rc = settle(path, err);
    if (rc == 0 && (*ret = new_journal(path, fd)))
        return 0;
    close(fd);
    return rc < 0 ? rc : rp_out_of_memory(err);
}

/** A journal whose end is missing looks like one that was not finished, so PATH.head is compared
 * with it.
 * @param text whole lines, which the chain has shown to be as they were written */
static int check_head(const char *path, const char *text, size_t count, struct rp_err *err)
{
    rp_autofree char *head = rp_format("%s" RP_JOURNAL_HEAD, path);
    json_t *json = head && rp_path_exists(head) ? json_load_file(head, 0, NULL) : NULL;
    const char *hash = json_string_value(json_object_get(json, "sha256"));
    const json_int_t records = json_integer_value(json_object_get(json, "records"));
    const char *line = text;
    int rc = 0;

    if (!head)
        return rp_out_of_memory(err);
    if (!json && !rp_path_exists(head))
        return 0;
    if (!hash || strlen(hash) != HASH || records < 1)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "%s is damaged: restore both from a copy, or, if the journal is whole, remove "
                     "%s",
                     head, head);
    else if ((size_t)records > count)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "it has %zu record%s, and %s says that it had %" JSON_INTEGER_FORMAT
                     ": its end is missing: restore it from a copy, or begin anew with another -o",
                     count, rp_plural(count), head, records);
    for (json_int_t i = 1; rc == 0 && i < records; i++)
        line = (const char *)rawmemchr(line, '\n') + 1;
    if (rc == 0 && memcmp(line + HEAD_BYTES, hash, HASH) != 0)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "record %" JSON_INTEGER_FORMAT " is not the one that %s names: restore both "
                     "from one copy, or begin anew with another -o",
                     records, head);
    json_decref(json);
    return rc;
}

const char *rp_journal_last_hash(const struct rp_journal *journal)
{
    return journal->last_hash;
}

int rp_journal_write_head(const struct rp_journal *journal, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s" RP_JOURNAL_HEAD, journal->path);
    rp_autofree char *text = rp_format("{\"records\": %zu, \"sha256\": \"%s\"}\n",
                                       rp_journal_count(journal), journal->last_hash);

    return path && text ? rp_write_private_file(path, text, strlen(text), err)
                        : rp_out_of_memory(err);
}

/** The user may not read or write it, or it is no file. */
static int cannot_open(const char *path, struct rp_err *err)
{
    return errno == EISDIR
               ? rp_fail(err, RP_BAD_INPUT, "the journal %s is a folder: choose another -o", path)
               : rp_fail(err, RP_ENVIRONMENT,
                         "cannot open the journal %s: %s: --resume reads and writes it; give "
                         "yourself the right to, or begin anew with another -o",
                         path, strerror(errno));
}

int rp_journal_resume(const char *path, struct rp_journal **ret, uint64_t *ret_cut_bytes,
                      struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_APPEND | O_NONBLOCK);
    rp_autofree char *text = NULL;
    struct rp_journal *journal;
    size_t bytes = 0, good = 0;
    json_t *records = NULL;
    char hash[RP_SHA256_TEXT];
    int rc;

    if (fd < 0)
        return cannot_open(path, err);
    rc = read_all(fd, path, &text, &bytes, err);
    if (rc == 0)
        rc = rp_journal_parse(text, bytes, &records, &good, hash, err);
    if (rc == 0)
        rc = check_head(path, text, json_array_size(records), err);
    if (rc < 0) {
        json_decref(records);
        return rp_wrap(err, "read the journal %s", path);
    }
    if (good < bytes && (ftruncate(fd, (off_t)good) != 0 || fsync(fd) != 0)) {
        json_decref(records);
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot cut %s", path);
    }
    journal = new_journal(path, fd);
    if (!journal) {
        json_decref(records);
        return rp_out_of_memory(err);
    }
    fd = -1;
    json_decref(journal->records);
    journal->records = records;
    memcpy(journal->last_hash, hash, sizeof hash);
    *ret = journal;
    *ret_cut_bytes = bytes - good;
    return 0;
}

void rp_journal_close(struct rp_journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal->path);
    json_decref(journal->records);
    free(journal);
}

void rp_journal_set_again(struct rp_journal *journal, const char *again)
{
    journal->again = again;
}

static int cannot_write(const struct rp_journal *journal, const char *path, struct rp_err *err)
{
    return rp_fail_with_remedy(err, RP_ENVIRONMENT, "cannot write %s: %s: %s, and %s", path,
                               strerror(errno), rp_journal_remedy(errno),
                               journal->again ? journal->again : "go on with --resume");
}

static int write_line(struct rp_journal *journal, const struct rp_buf *line, struct rp_err *err)
{
    size_t done = 0;

    while (done < line->len) {
        ssize_t wrote = write(journal->fd, line->data + done, line->len - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return cannot_write(journal, journal->path, err);
        done += (size_t)wrote;
    }
    return fsync(journal->fd) == 0 ? 0 : cannot_write(journal, journal->path, err);
}

int rp_journal_add(struct rp_journal *journal, const char *kind, const char *key, json_t *data,
                   struct rp_err *err)
{
    json_t *record = data ? json_pack("{s:I, s:s, s:s, s:o}", "sequence",
                                      (json_int_t)json_array_size(journal->records) + 1, "kind",
                                      kind, "key", key ? key : "", "data", data)
                          : NULL;
    rp_autofree char *body =
        record ? json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
    char hash[RP_SHA256_TEXT];
    rp_autobuf line = {0};
    int rc;

    if (!body || journal->broken) {
        json_decref(record);
        return rp_fail(
            err, RP_ENVIRONMENT,
            body ? "the journal could not be written before"
                 : "a record of the journal has a name or a number that JSON cannot hold");
    }
    hash_of(journal->last_hash, body, strlen(body), hash);
    rp_buf_printf(&line, HEAD "%s" MID "%s}\n", hash, body);
    rc = line.failed ? rp_out_of_memory(err) : write_line(journal, &line, err);
    journal->broken = rc < 0;
    if (rc < 0) {
        json_decref(record);
        return rc;
    }
    memcpy(journal->last_hash, hash, sizeof hash);
    if (json_array_append_new(journal->records, record) != 0)
        return rp_out_of_memory(err);
    return 0;
}

size_t rp_journal_count(const struct rp_journal *journal)
{
    return json_array_size(journal->records);
}

const json_t *rp_journal_at(const struct rp_journal *journal, size_t index, const char **ret_kind,
                            const char **ret_key)
{
    const json_t *record = json_array_get(journal->records, index);

    if (ret_kind)
        *ret_kind = json_string_value(json_object_get(record, "kind"));
    if (ret_key)
        *ret_key = json_string_value(json_object_get(record, "key"));
    return json_object_get(record, "data");
}

const json_t *rp_journal_find(const struct rp_journal *journal, const char *kind, const char *key)
{
    for (size_t i = rp_journal_count(journal); i-- > 0;) {
        const char *its_kind, *its_key;
        const json_t *data = rp_journal_at(journal, i, &its_kind, &its_key);

        if (strcmp(its_kind, kind) == 0 && strcmp(its_key, key ? key : "") == 0)
            return data;
    }
    return NULL;
}

json_t *rp_journal_string(const char *bytes, size_t count)
{
    rp_autobuf text = {0};

    for (size_t i = 0; i < count;) {
        const size_t length = strnlen(bytes + i, count - i);

        rp_utf8_fix(&text, bytes + i, length);
        i += length;
        if (i++ < count) /* The text has a zero byte. */
            rp_buf_puts(&text, "\xef\xbf\xbd");
    }
    return text.failed ? NULL : json_stringn(rp_buf_text(&text), text.len);
}
