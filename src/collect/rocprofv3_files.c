#include "collect/rocprofv3_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/rocpd.h"

struct database {
    char *path;
    int64_t start_ns, pid;
};

struct list {
    struct database *items;
    size_t count;
};

static void free_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
}

static bool is_sqlite(const char *path)
{
    char magic[16];
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
           memcmp(magic, "SQLite format 3", sizeof magic) == 0;
}

/* Also processes that never touched the GPU, such as a shell, may leave a database. One that cannot
 * be read must not go unseen. */
static bool used_gpu(const char *path)
{
    struct rp_err ignored = RP_ERR_INIT;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_copy *copies;
    const struct rp_row_region *regions;
    struct rp_store *store;
    size_t n = 0;
    bool used;

    if (rp_store_open(path, &store, &ignored) < 0)
        return true;
    used = rp_store_dispatches(store, &dispatches, &n, &ignored) < 0 || n ||
           rp_store_copies(store, &copies, &n, &ignored) < 0 || n ||
           rp_store_regions(store, &regions, &n, &ignored) < 0 || n;
    rp_store_close(store);
    return used;
}

/* False when it is no rocpd database, or not whole. */
static bool look(const char *path, struct database *ret)
{
    struct rp_err ignored = RP_ERR_INIT;
    const struct rp_row_process *rows;
    struct rp_store *store;
    size_t count = 0;
    bool ok;

    if (rp_store_open(path, &store, &ignored) < 0)
        return false;
    ok = rp_store_processes(store, &rows, &count, &ignored) == 0;
    if (ok && count) {
        ret->start_ns = rows[0].init_ns ? rows[0].init_ns : rows[0].start_ns;
        ret->pid = rows[0].pid;
    }
    rp_store_close(store);
    return ok;
}

static int take_file(const char *path, struct list *list, struct rp_rocprofv3_files *files,
                     struct rp_err *err)
{
    struct database found = {0};
    struct database *grown;

    if (!is_sqlite(path))
        return 0;
    if (!look(path, &found)) {
        files->unreadable++;
        return 0;
    }
    found.path = strdup(path);
    grown = reallocarray(list->items, list->count + 1, sizeof *grown);
    if (grown)
        list->items = grown;
    if (!grown || !found.path) {
        free(found.path);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    grown[list->count++] = found;
    return 0;
}

/* The list of instructions and the index of waves stand in one folder. */
static bool is_thread_trace(const char *dir)
{
    rp_autofree char *code = rp_path_join(dir, "code.json");
    rp_autofree char *index = rp_path_join(dir, "filenames.json");

    return code && index && rp_path_exists(code) && rp_path_exists(index);
}

static int walk(const char *dir, struct list *list, struct rp_rocprofv3_files *files,
                struct rp_err *err)
{
    char *paths[] = {(char *)(uintptr_t)dir, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    int rc = 0;

    if (!fts)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", dir);
    while (rc == 0 && (entry = fts_read(fts))) {
        if (entry->fts_info == FTS_D && is_thread_trace(entry->fts_accpath)) {
            files->thread_traces = true;
            fts_set(fts, entry, FTS_SKIP); /* thousands of waves, no database */
        } else if (entry->fts_info == FTS_F) {
            rc = take_file(entry->fts_accpath, list, files, err);
        }
    }
    fts_close(fts);
    return rc;
}

/* By start, then pid, then name: never by the order of the folder. */
static int by_start(const void *left, const void *right)
{
    const struct database *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return strcmp(a->path, b->path);
}

int rp_rocprofv3_files_find(const char *dir, struct rp_rocprofv3_files *ret, struct rp_err *err)
{
    rp_cleanup(free_list) struct list list = {0};
    struct rp_rocprofv3_files files = {0};
    int rc = walk(dir, &list, &files, err);

    if (rc < 0)
        return rc;
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_start);
    files.databases = calloc(list.count + 1, sizeof *files.databases);
    if (!files.databases)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < list.count; i++)
        if (list.count == 1 || used_gpu(list.items[i].path))
            files.databases[files.database_count++] = rp_steal(list.items[i].path);
    *ret = files;
    return 0;
}

void rp_rocprofv3_files_free(struct rp_rocprofv3_files *files)
{
    for (size_t i = 0; i < files->database_count; i++)
        free(files->databases[i]);
    free(files->databases);
    memset(files, 0, sizeof *files);
}
