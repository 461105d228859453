/*
 * The n-th write, sync, rename or allocation fails, for every n: a clear error, the previous file
 * intact, nothing else in the folder.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct rp_err err;

/* --- failing allocations, fsync and rename (linked with --wrap) ---------------------------- */

static long allocations_left = -1; /* negative: never fail */
static bool fail_fsync, fail_rename;

static bool allocation_fails(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return allocation_fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
    return allocation_fails() ? NULL : __real_strndup(text, len);
}

int __wrap_fsync(int fd)
{
    errno = EIO;
    return fail_fsync ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    errno = EXDEV;
    return fail_rename ? -1 : __real_rename(from, to);
}

/* --- failing allocations of SQLite --------------------------------------------------------- */

static sqlite3_mem_methods real_memory;
static long sqlite_allocations_left = -1;

static bool sqlite_allocation_fails(void)
{
    return sqlite_allocations_left >= 0 && sqlite_allocations_left-- == 0;
}

static void *sqlite_malloc(int bytes)
{
    return sqlite_allocation_fails() ? NULL : real_memory.xMalloc(bytes);
}

static void *sqlite_realloc(void *old, int bytes)
{
    return sqlite_allocation_fails() ? NULL : real_memory.xRealloc(old, bytes);
}

/* --- failing writes: a layer between SQLite and the system ---------------------------------- */

struct layered_file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_vfs *system_vfs;
static sqlite3_vfs layer;
static sqlite3_io_methods layered_methods;
static long writes_left = -1;
static int write_failure;

static sqlite3_file *real_file(sqlite3_file *file)
{
    return ((struct layered_file *)file)->real;
}

static int layer_close(sqlite3_file *file)
{
    return real_file(file)->pMethods->xClose(real_file(file));
}

static int layer_read(sqlite3_file *file, void *to, int bytes, sqlite3_int64 at)
{
    return real_file(file)->pMethods->xRead(real_file(file), to, bytes, at);
}

static int layer_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    if (writes_left >= 0 && writes_left-- == 0)
        return write_failure;
    return real_file(file)->pMethods->xWrite(real_file(file), from, bytes, at);
}

static int layer_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    return real_file(file)->pMethods->xTruncate(real_file(file), bytes);
}

static int layer_sync(sqlite3_file *file, int flags)
{
    return real_file(file)->pMethods->xSync(real_file(file), flags);
}

static int layer_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    return real_file(file)->pMethods->xFileSize(real_file(file), ret);
}

static int layer_lock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xLock(real_file(file), level);
}

static int layer_unlock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xUnlock(real_file(file), level);
}

static int layer_check(sqlite3_file *file, int *ret)
{
    return real_file(file)->pMethods->xCheckReservedLock(real_file(file), ret);
}

static int layer_control(sqlite3_file *file, int op, void *arg)
{
    return real_file(file)->pMethods->xFileControl(real_file(file), op, arg);
}

static int layer_sector(sqlite3_file *file)
{
    return real_file(file)->pMethods->xSectorSize(real_file(file));
}

static int layer_traits(sqlite3_file *file)
{
    return real_file(file)->pMethods->xDeviceCharacteristics(real_file(file));
}

static int layer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
    struct layered_file *layered = (struct layered_file *)file;
    int result;

    (void)vfs;
    layered->real = (sqlite3_file *)(layered + 1);
    result = system_vfs->xOpen(system_vfs, name, layered->real, flags, ret);
    layered->base.pMethods = layered->real->pMethods ? &layered_methods : NULL;
    return result;
}

static int group_setup(void **state)
{
    static sqlite3_mem_methods memory;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    memory = real_memory;
    memory.xMalloc = sqlite_malloc;
    memory.xRealloc = sqlite_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_initialize();
    system_vfs = sqlite3_vfs_find(NULL);
    layer = *system_vfs;
    layer.szOsFile = (int)sizeof(struct layered_file) + system_vfs->szOsFile;
    layer.zName = "layer";
    layer.xOpen = layer_open;
    layered_methods = (sqlite3_io_methods){
        .iVersion = 1,
        .xClose = layer_close,
        .xRead = layer_read,
        .xWrite = layer_write,
        .xTruncate = layer_truncate,
        .xSync = layer_sync,
        .xFileSize = layer_size,
        .xLock = layer_lock,
        .xUnlock = layer_unlock,
        .xCheckReservedLock = layer_check,
        .xFileControl = layer_control,
        .xSectorSize = layer_sector,
        .xDeviceCharacteristics = layer_traits,
    };
    return sqlite3_vfs_register(&layer, 1) == SQLITE_OK ? kit_setup(state) : -1;
}

/* --- the loops ------------------------------------------------------------------------------ */

enum { ROWS = 3000 };

/* A whole trace; every call's result counts. */
static int write_trace(const char *path, int rows)
{
    struct rp_store_origin origin = kit_origin(3);
    struct rp_store_writer *w = NULL;
    int result = rp_store_writer_open(path, &origin, &w, &err);

    if (result < 0)
        return result;
    result = kit_put_sample(w, 1000, &err);
    if (result == 0) /* texts that must be mended take allocations of their own */
        result = rp_store_put_queue(
            w, &(struct rp_row_queue){.id = 9, .name = "a\xff", .extdata = "{\"a\":\"\xff\"}"},
            &err);
    if (result == 0)
        result = rp_store_put_copy(w, &(struct rp_row_copy){.name = "b\xff"}, &err);
    if (result == 0)
        result = rp_store_put_metadata(w, "rocm_perf_x", "c\xff", &err);
    for (int i = 0; i < rows && result == 0; i++)
        result = rp_store_put_dispatch(
            w,
            &(struct rp_row_dispatch){
                .tid = 4242, .agent_id = 1, .kernel_id = 1, .dispatch_id = i, .correlation_id = i},
            &err);
    if (result == 0)
        return rp_store_writer_commit(w, &err);
    rp_store_writer_abandon(w);
    return -(int)err.code;
}

static void place_previous(void)
{
    kit_remove_all();
    kit_write_file(kit_path("t.db"), "previous", 8);
}

static void previous_is_intact(void)
{
    size_t len;
    rp_autofree char *bytes = kit_read_file(kit_path("t.db"), &len);

    assert_int_equal(len, 8);
    assert_memory_equal(bytes, "previous", 8);
    assert_int_equal(kit_file_count(), 1);
}

static void expect_failure(const char *says)
{
    if (err.code != RP_ENVIRONMENT || !strstr(err.text, says))
        fail_msg("not '%s' but %d '%s'", says, err.code, err.text);
    previous_is_intact();
}

static void test_every_write_fails_once(void **state)
{
    static const struct {
        int failure;
        const char *says;
    } kinds[] = {{SQLITE_FULL, "no space left for the database"},
                 {SQLITE_IOERR_WRITE, "disk I/O error"}};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        long n = 0;
        write_failure = kinds[k].failure;
        place_previous();
        for (;; n++) {
            int result;
            err = (struct rp_err)RP_ERR_INIT;
            writes_left = n;
            result = write_trace(kit_path("t.db"), ROWS);
            writes_left = -1;
            if (result == 0)
                break;
            expect_failure(kinds[k].says);
            assert_says(err, "write ");
            n += n > 60 ? 7 : 0; /* the pages of a big table are all alike */
        }
        assert_true(n > 60);
        assert_int_equal(kit_file_count(), 1);
        assert_ok(kit_open_and_read(kit_path("t.db"), &err));
    }
}

static void test_sync_and_rename_fail(void **state)
{
    (void)state;
    place_previous();
    fail_fsync = true;
    assert_int_equal(write_trace(kit_path("t.db"), 1), -RP_ENVIRONMENT);
    fail_fsync = false;
    expect_failure("t.db: cannot bring it to the disk: Input/output error");
    fail_rename = true;
    assert_int_equal(write_trace(kit_path("t.db"), 1), -RP_ENVIRONMENT);
    fail_rename = false;
    expect_failure("t.db: cannot put it in place: Invalid cross-device link");
}

/* A trace that was written although an allocation failed is the same as any other. */
static void test_every_allocation_fails_once(void **state)
{
    long *const counters[] = {&allocations_left, &sqlite_allocations_left};
    rp_autofree char *want = NULL;
    size_t want_len;

    (void)state;
    assert_int_equal(write_trace(kit_path("t.db"), 3), 0);
    want = kit_read_file(kit_path("t.db"), &want_len);
    for (int c = 0; c < 2; c++) {
        long n = 0;
        bool reached = true;
        place_previous();
        for (; reached; n += 1 + (n > 150 ? n / 50 : 0)) {
            int result;
            err = (struct rp_err)RP_ERR_INIT;
            *counters[c] = n;
            result = write_trace(kit_path("t.db"), 3);
            reached = *counters[c] < 0;
            *counters[c] = -1;
            if (result == 0) {
                size_t len;
                rp_autofree char *have = kit_read_file(kit_path("t.db"), &len);
                assert_int_equal(len, want_len);
                assert_memory_equal(have, want, len);
                place_previous();
            } else {
                expect_failure("out of memory");
            }
        }
        assert_true(n > 10);
    }
}

static void test_every_allocation_of_the_reader_fails_once(void **state)
{
    long *const counters[] = {&allocations_left, &sqlite_allocations_left};

    (void)state;
    kit_remove_all();
    kit_write_sample(kit_path("t.db"), 3, 1000);
    for (int c = 0; c < 2; c++) {
        long n = 0;
        size_t failures = 0;
        bool reached = true;
        for (; reached; n += 1 + (n > 150 ? n / 50 : 0)) {
            int result;
            err = (struct rp_err)RP_ERR_INIT;
            *counters[c] = n;
            result = kit_open_and_read(kit_path("t.db"), &err);
            reached = *counters[c] < 0;
            *counters[c] = -1;
            if (result < 0 && (err.code != RP_ENVIRONMENT || !strstr(err.text, "out of memory")))
                fail_msg("allocation %ld of kind %d: %s", n, c, err.text);
            failures += result < 0;
        }
        assert_true(failures > 10);
    }
}

/* --- real limits ---------------------------------------------------------------------------- */

/* In a process of its own: the limits stay. */
static void in_child(void (*fn)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        fn();
        _exit(3); /* fn must say */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("child: status %x", status);
}

static void write_under_size_limit(void)
{
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 200000, .rlim_max = 200000});
    if (write_trace(kit_path("t.db"), ROWS) == 0)
        _exit(1);
    if (err.code != RP_ENVIRONMENT || !strstr(err.text, "file size limit reached")) {
        fprintf(stderr, "%s\n", err.text);
        _exit(2);
    }
    _exit(0);
}

static void test_file_size_limit(void **state)
{
    (void)state;
    place_previous();
    in_child(write_under_size_limit);
    previous_is_intact();
}

static void write_as_nobody(void)
{
    /* Root may write everywhere, so it becomes somebody else; others lock themselves out. */
    if (getuid() == 0 ? setgid(65534) < 0 || setuid(65534) < 0 : chmod(kit_path("."), 0500) < 0)
        _exit(4);
    if (write_trace(kit_path("t.db"), 1) == 0)
        _exit(1);
    _exit(err.code == RP_ENVIRONMENT && strstr(err.text, "Permission denied") ? 0 : 2);
}

static void test_folder_that_is_not_ours(void **state)
{
    (void)state;
    place_previous();
    in_child(write_as_nobody);
    assert_int_equal(chmod(kit_path("."), 0700), 0);
    previous_is_intact();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_write_fails_once),
        cmocka_unit_test(test_sync_and_rename_fail),
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test(test_every_allocation_of_the_reader_fails_once),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_folder_that_is_not_ours),
    };

    return cmocka_run_group_tests_name("store faults", tests, group_setup, kit_teardown);
}
