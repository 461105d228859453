#include "store/writer.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mode.h"
#include "rocm-perf/store.h"
#include "store/sqlerr.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The file is private until it is renamed, so SQLite need not protect it from crashes: the one
 * fsync before the rename does. */
static const char pragmas[] = "PRAGMA journal_mode = OFF;"
                              "PRAGMA synchronous = OFF;"
                              "PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA foreign_keys = OFF;"
                              "PRAGMA page_size = 4096;"
                              "PRAGMA encoding = 'UTF-8';"
                              "PRAGMA cache_size = -16384;"
                              "BEGIN EXCLUSIVE;";

/* Version 7: 48 bits of time, 12 and 62 random ones, the rest says "7" and "variant 10". */
static void format_guid(const struct rp_store_origin *origin, char ret[RP_GUID_BYTES])
{
    uint64_t time_ms = origin->guid_time_ms & 0xffffffffffffu;
    uint64_t low = (origin->guid_random[1] & 0x3fffffffffffffffu) | 0x8000000000000000u;

    snprintf(ret, RP_GUID_BYTES,
             "%08" PRIx64 "-%04" PRIx64 "-7%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, time_ms >> 16,
             time_ms & 0xffff, origin->guid_random[0] & 0xfff, low >> 48, low & 0xffffffffffffu);
}

/* Folder of @p path with its last '/', or "./", so that SQLite cannot take the name for a URI. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* An empty file with a name of its own in the folder of w->path. */
static int create_temp(struct rp_store_writer *w, struct rp_err *err)
{
    rp_autofree char *folder = folder_of(w->path);

    if (!folder)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (int n = 0; n < 1000; n++) {
        rp_autobuf name = {0};
        struct stat st;
        int fd;

        rp_buf_printf(&name, "%s.rocm-perf-%ld-%d.tmp", folder, (long)getpid(), n);
        if (name.failed)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, RP_MODE_FILE);
        if (fd >= 0) {
            if (lstat(w->path, &st) == 0 && S_ISREG(st.st_mode))
                (void)!fchmod(fd, st.st_mode & 0777); /* whose place it takes */
            close(fd);
            w->temp_path = rp_buf_steal(&name);
            return 0;
        }
        if (errno != EEXIST)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot create a file in '%s'",
                                 folder);
    }
    return rp_fail(err, RP_ENVIRONMENT, "too many unfinished databases in '%s'", folder);
}

static int put_node(struct rp_store_writer *w, const struct rp_store_origin *origin,
                    struct rp_err *err)
{
    const char *const texts[] = {origin->machine_id ? origin->machine_id : "",
                                 origin->system_name,
                                 origin->hostname,
                                 origin->release,
                                 origin->version,
                                 origin->hardware_name};
    sqlite3_stmt *stmt = w->insert_node;

    sqlite3_bind_int64(stmt, 1, RP_STORE_NODE_ID);
    sqlite3_bind_int64(stmt, 2, origin->node_hash);
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++)
        if (rp_writer_bind_text(w, stmt, i + 3, texts[i], err) < 0)
            return -(int)RP_ENVIRONMENT;
    return rp_writer_step(w, stmt, "node", RP_STORE_NODE_ID, err);
}

static int add_metadata(struct rp_store_writer *w, const char *tag, const char *value,
                        struct rp_err *err)
{
    if (rp_writer_bind_text(w, w->insert_metadata, 1, tag, err) < 0 ||
        rp_writer_bind_text(w, w->insert_metadata, 2, value, err) < 0)
        return -(int)RP_ENVIRONMENT;
    return rp_writer_step(w, w->insert_metadata, "metadata", 0, err);
}

static int put_origin(struct rp_store_writer *w, const struct rp_store_origin *origin,
                      struct rp_err *err)
{
    char uuid[RP_GUID_BYTES + 1] = "_";
    int result;

    rp_schema_suffix(w->guid, uuid + 1);
    result = add_metadata(w, "schema_version", "3", err);
    if (result == 0)
        result = add_metadata(w, "uuid", uuid, err);
    if (result == 0)
        result = add_metadata(w, "guid", w->guid, err);
    if (result == 0 && origin->device)
        result = add_metadata(w, "rocm_perf_device", origin->device, err);
    if (result == 0 && !origin->complete)
        result = add_metadata(w, "rocm_perf_incomplete", "1", err);
    return result < 0 ? result : put_node(w, origin, err);
}

static int begin(struct rp_store_writer *w, const struct rp_store_origin *origin,
                 struct rp_err *err)
{
    int result;

    if (create_temp(w, err) < 0)
        return -(int)RP_ENVIRONMENT;
    result =
        sqlite3_open_v2(w->temp_path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return rp_sql_fail(w->db, result, err);
    sqlite3_extended_result_codes(w->db, 1);
    format_guid(origin, w->guid);
    result = rp_sql_exec(w->db, pragmas, err);
    if (result == 0)
        result = rp_schema_create(w->db, w->guid, err);
    if (result == 0)
        result = rp_writer_prepare(w, err);
    return result < 0 ? result : put_origin(w, origin, err);
}

int rp_store_writer_open(const char *path, const struct rp_store_origin *origin,
                         struct rp_store_writer **ret, struct rp_err *err)
{
    struct rp_store_writer *w;
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return rp_fail_errno(err, RP_ENVIRONMENT, EISDIR, "write %s", path);
    w = calloc(1, sizeof *w);
    if (w)
        w->path = strdup(path);
    if (!w || !w->path) {
        rp_store_writer_abandon(w);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    if (begin(w, origin, err) < 0) {
        rp_store_writer_abandon(w);
        return rp_wrap(err, "write %s", path);
    }
    *ret = w;
    return 0;
}

int rp_store_put_metadata(struct rp_store_writer *w, const char *tag, const char *value,
                          struct rp_err *err)
{
    static const char *const own[] = {"schema_version", "uuid", "guid"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(tag, own[i]) == 0)
            return rp_fail(err, RP_BAD_INPUT, "metadata '%s' belongs to the schema", tag);
    return add_metadata(w, tag, value ? value : "", err);
}

static int sync_path(const char *path, int flags, struct rp_err *err)
{
    rp_autoclose int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot bring it to the disk");
    return 0;
}

static int finish(struct rp_store_writer *w, struct rp_err *err)
{
    rp_autofree char *folder = folder_of(w->path);
    int result;

    if (w->spoilt)
        return rp_fail(err, RP_ENVIRONMENT, "an earlier write failed");
    if (!folder)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    result = rp_writer_complete(w, err);
    if (result == 0)
        result = rp_sql_exec(w->db, "COMMIT", err);
    if (result < 0)
        return result;
    rp_writer_finalize(w);
    result = sqlite3_close(w->db);
    if (result != SQLITE_OK)
        return rp_sql_fail(w->db, result, err);
    w->db = NULL;
    if (sync_path(w->temp_path, O_RDONLY, err) < 0)
        return -(int)RP_ENVIRONMENT;
    if (rename(w->temp_path, w->path) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot put it in place");
    free(rp_steal(w->temp_path));
    /* The database is in place and whole; a folder that cannot be synced is no reason to say
     * otherwise. */
    sync_path(folder, O_RDONLY | O_DIRECTORY, NULL);
    return 0;
}

int rp_store_writer_commit(struct rp_store_writer *w, struct rp_err *err)
{
    int result = finish(w, err);

    if (result < 0)
        result = rp_wrap(err, "write %s", w->path);
    rp_store_writer_abandon(w);
    return result;
}

void rp_store_writer_abandon(struct rp_store_writer *w)
{
    if (!w)
        return;
    rp_writer_finalize(w);
    sqlite3_close(w->db);
    if (w->temp_path)
        unlink(w->temp_path);
    for (int t = 0; t < RP_TABLE_COUNT; t++)
        rp_idset_free(&w->ids[t]);
    rp_names_free(&w->names);
    free(w->temp_path);
    free(w->path);
    free(w);
}
