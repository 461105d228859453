/**
 * @file test_capture.c
 * @brief Capture folders: what is written is what is read, for random memory; small for memory that
 *        is mostly zero; and every damaged byte is found and its file named.
 */
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "effort.h"
#include "trace/capture.h"
#include "unit/cmocka_all.h"

#include "trace/capture_write.c"

enum { PAGE = RP_PAGE_BYTES, REGIONS = 5 };

static const char work_template[] = "/tmp/rp-capture-XXXXXX";
static char work[sizeof work_template];
static char folder[sizeof work + sizeof "/shot"];

static int set_up(void **state)
{
    (void)state;
    memcpy(work, work_template, sizeof work);
    assert_non_null(mkdtemp(work));
    snprintf(folder, sizeof folder, "%s/shot", work);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rp_remove_tree(work);
    return 0;
}

/* --- a program's memory and what its tool sends --------------------------------------------- */

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

struct memory {
    struct rp_snapshot_region region;
    uint8_t *before, *after;
    size_t pages;
};

static char *same_name(const char *symbol, void *data)
{
    (void)data;
    return strdup(symbol);
}

static bool wants_all(const char *symbol, const char *name, uint32_t code, void *data)
{
    (void)code;
    (void)symbol;
    (void)data;
    return strcmp(name, "unwanted") != 0;
}

static const char *const command[] = {"./app", "\xff odd", NULL};

static const struct rp_snapshot_request wishes = {
    .folder = folder,
    .origin = {.command = command, .version = "1.2.3"},
    .name = same_name,
    .wants = wants_all,
};

static int send(struct rp_snapshot_feed *feed, uint32_t kind, const void *a, size_t a_bytes,
                const void *b, size_t b_bytes, struct rp_err *err)
{
    const struct rp_snapshot_message m = {.kind = kind, .bytes = a_bytes + b_bytes};
    char *bytes = malloc(a_bytes + b_bytes + 1);
    uint32_t reply;
    int rc;

    if (a_bytes)
        memcpy(bytes, a, a_bytes);
    if (b_bytes)
        memcpy(bytes + a_bytes, b, b_bytes);
    rc = rp_snapshot_feed_take(feed, &m, bytes, &reply, err);
    free(bytes);
    return rc;
}

static void must_send(struct rp_snapshot_feed *feed, uint32_t kind, const void *a, size_t a_bytes,
                      const void *b, size_t b_bytes)
{
    struct rp_err err = RP_ERR_INIT;

    if (send(feed, kind, a, a_bytes, b, b_bytes, &err) < 0)
        fail_msg("message %u: %s", kind, err.text);
}

static const struct rp_snapshot_hello hello = {
    .version = RP_SNAPSHOT_VERSION, .pid = 77, .software = 1, .timing = RP_TRACE_TIMING_DETAILED};

static const struct rp_snapshot_dispatch dispatch = {
    .dispatch_id = 9,
    .match = 2,
    .kernel_object = 0x7f0000001040,
    .kernarg = 0x7f0000002000,
    .code_base = 0x7f0000000000,
    .code_bytes = 0x3000,
    .grid = {1024, 2, 1},
    .private_bytes = 16,
    .group_bytes = 512,
    .kernarg_bytes = 24,
    .kernarg_align_bytes = 8,
    .queue_index = 3,
    .node = 1,
    .workgroup = {256, 1, 1},
    .header = 2 | 1 << 8 | 2 << 9 | 1 << 11,
    .setup = 2,
    .isa = "gfx942",
    .product = "AMD Instinct MI300X",
};

static struct rp_snapshot_feed *begin(void)
{
    struct rp_snapshot_feed *feed = NULL;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_snapshot_feed_open(&wishes, &feed, &err), 0);
    must_send(feed, RP_SNAPSHOT_HELLO, &hello, sizeof hello, NULL, 0);
    must_send(feed, RP_SNAPSHOT_BEGIN, &dispatch, sizeof dispatch, "_Z3addPf.kd", 11);
    must_send(feed, RP_SNAPSHOT_CODE, "\177ELF", 4, NULL, 0);
    must_send(feed, RP_SNAPSHOT_KERNARG, "012345678901234567890123", 24, NULL, 0);
    return feed;
}

static bool is_zero(const uint8_t *page)
{
    for (size_t i = 0; i < PAGE; i++)
        if (page[i])
            return false;
    return true;
}

/* Runs of pages that are not zero, cut at random. */
static void send_memory(struct rp_snapshot_feed *feed, const struct memory *m, const uint8_t *bytes)
{
    must_send(feed, RP_SNAPSHOT_REGION, &m->region, sizeof m->region, NULL, 0);
    for (uint64_t page = 0; page < m->pages;) {
        uint64_t end = page;

        while (end < m->pages && !is_zero(bytes + end * PAGE) && end - page < 1 + any(8))
            end++;
        if (end > page)
            must_send(feed, RP_SNAPSHOT_PAGES, &page, sizeof page, bytes + page * PAGE,
                      (end - page) * PAGE);
        page = end + (end == page);
    }
}

/* A page of nothing, of few patterns, of text, or of noise. */
static void fill(uint8_t *page)
{
    uint64_t word;

    switch (any(4)) {
    case 0:
        memset(page, 0, PAGE);
        break;
    case 1:
        memset(page, (int)any(3), PAGE);
        break;
    case 2:
        for (size_t i = 0; i < PAGE; i++)
            page[i] = (uint8_t)('a' + any(4));
        break;
    default:
        for (size_t i = 0; i < PAGE; i += sizeof word) {
            word = any(UINT64_MAX);
            memcpy(page + i, &word, sizeof word);
        }
    }
}

static void make_memory(struct memory *all)
{
    uint64_t base = 0x7e0000000000;

    for (size_t i = 0; i < REGIONS; i++) {
        struct memory *m = &all[i];
        const uint64_t bytes = i == 0 ? 4 : any(300 * PAGE) + 1; /* a variable, and all sizes */

        m->region = (struct rp_snapshot_region){
            .base = base + any(PAGE), .bytes = bytes, .memory_class = i % 3, .flags = i, .node = 1};
        m->pages = bytes / PAGE + (bytes % PAGE != 0);
        m->before = calloc(m->pages, PAGE);
        m->after = calloc(m->pages, PAGE);
        for (size_t p = 0; p < m->pages; p++) {
            fill(m->before + p * PAGE);
            if (i > 0 && any(5) == 0) /* equal to one before, of the same or another region */
                memcpy(m->before + p * PAGE, all[i - 1].before, PAGE);
            memcpy(m->after + p * PAGE, m->before + p * PAGE, PAGE);
            if (i != 2 && any(3) == 0) /* nothing changes in one of them */
                fill(m->after + p * PAGE);
        }
        base += bytes + (1 << 20);
    }
}

static void free_memory(struct memory *all)
{
    for (size_t i = 0; i < REGIONS; i++) {
        free(all[i].before);
        free(all[i].after);
    }
}

static void write_capture(const struct memory *all)
{
    static const struct rp_snapshot_region left_out = {
        .base = 0x1000, .bytes = 8192, .memory_class = RP_MEMORY_IPC, .node = UINT32_MAX};
    struct rp_snapshot_feed *feed = begin();

    for (size_t i = 0; i < REGIONS; i++)
        send_memory(feed, &all[i], all[i].before);
    must_send(feed, RP_SNAPSHOT_REFUSED, &left_out, sizeof left_out, "of another process", 18);
    must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
    for (size_t i = 0; i < REGIONS; i++)
        send_memory(feed, &all[i], all[i].after);
    assert_false(rp_path_exists(folder));
    must_send(feed, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
    assert_int_equal(rp_snapshot_feed_state(feed)->done, 1);
    rp_snapshot_feed_close(feed);
}

static struct rp_capture *must_open(void)
{
    struct rp_capture *capture;
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_open(folder, &capture, &err) < 0)
        fail_msg("%s", err.text);
    return capture;
}

/* --- the disk ------------------------------------------------------------------------------ */

static size_t synced_files, synced_systems;

int fsync(int fd)
{
    synced_files++;
    return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
    synced_systems++;
    return (int)syscall(SYS_syncfs, fd);
}

/* Until END the program is held: it waits for no disk. Then all of it comes there. */
static void no_disk_is_waited_for_before_the_end(size_t regions)
{
    struct rp_snapshot_feed *feed;
    uint8_t page[PAGE];
    const uint64_t first = 0;

    synced_files = synced_systems = 0;
    feed = begin();
    for (size_t after = 0; after < 2; after++) {
        for (size_t i = 0; i < regions; i++) {
            const struct rp_snapshot_region region = {
                .base = (i + 1) << 20, .bytes = PAGE, .memory_class = RP_MEMORY_POOL};

            memset(page, (int)(i % 200) + (after && i == 3) + 1, PAGE); /* one changes */
            must_send(feed, RP_SNAPSHOT_REGION, &region, sizeof region, NULL, 0);
            must_send(feed, RP_SNAPSHOT_PAGES, &first, sizeof first, page, PAGE);
        }
        if (!after)
            must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
    }
    assert_int_equal(synced_files + synced_systems, 0);
    must_send(feed, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
    rp_snapshot_feed_close(feed);
    assert_true(synced_systems || synced_files > regions);
    assert_true(synced_files < 200); /* each is a commit of the file system */
}

static size_t files_in(const char *name)
{
    char pattern[128];
    glob_t found = {0};
    size_t count;

    snprintf(pattern, sizeof pattern, "%s/%s/*", folder, name);
    glob(pattern, 0, NULL, &found);
    count = found.gl_pathc;
    globfree(&found);
    return count;
}

static void the_program_waits_for_no_disk(void **state)
{
    uint64_t files, bytes;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t regions = 5; regions <= 405; regions += 400) {
        no_disk_is_waited_for_before_the_end(regions);
        assert_int_equal(files_in("memory"), regions + 1 /* their pages */);
        assert_int_equal(files_in("after"), 1);
        assert_int_equal(rp_capture_check_checksums(folder, &files, &bytes, &err), 0);
        rp_remove_tree(folder);
    }
}

/* --- round trip ---------------------------------------------------------------------------- */

static void compare(struct rp_capture *capture, const struct rp_capture_memory *got,
                    const struct memory *m)
{
    struct rp_err err = RP_ERR_INIT;
    uint64_t nonzero = 0, changed = 0;
    uint8_t page[PAGE];

    assert_memory_equal(&got->region, &m->region, sizeof m->region);
    for (size_t p = 0; p < m->pages; p++) {
        assert_int_equal(rp_capture_page(capture, got, RP_STATE_BEFORE, p, page, &err), 0);
        assert_memory_equal(page, m->before + p * PAGE, PAGE);
        assert_int_equal(rp_capture_page(capture, got, RP_STATE_AFTER, p, page, &err), 0);
        assert_memory_equal(page, m->after + p * PAGE, PAGE);
        nonzero += !is_zero(m->before + p * PAGE);
        changed += memcmp(m->before + p * PAGE, m->after + p * PAGE, PAGE) != 0;
    }
    assert_int_equal(got->nonzero_pages, nonzero);
    assert_int_equal(got->changed_pages, changed);
    assert_int_not_equal(rp_capture_page(capture, got, RP_STATE_AFTER, m->pages, page, &err), 0);
}

static void random_memory_comes_back(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 20; round++) {
        struct memory all[REGIONS];
        struct rp_capture_sizes sizes;
        struct rp_err err = RP_ERR_INIT;
        const struct rp_capture_memory *got;
        const struct rp_capture_refusal *refusals;
        struct rp_capture *capture;
        size_t count;

        seed = round + 1;
        make_memory(all);
        for (size_t i = 0; i < REGIONS; i++)
            all[i].region.flags &= RP_MEMORY_HOST | RP_MEMORY_FINE;
        write_capture(all);
        capture = must_open();
        got = rp_capture_contents(capture)->memory;
        count = rp_capture_contents(capture)->memory_count;
        assert_int_equal(count, REGIONS);
        for (size_t i = 0; i < REGIONS; i++)
            compare(capture, &got[i], &all[i]);
        refusals = rp_capture_contents(capture)->refusals;
        count = rp_capture_contents(capture)->refusal_count;
        assert_int_equal(count, 1);
        assert_int_equal(refusals[0].region.memory_class, RP_MEMORY_IPC);
        assert_string_equal(refusals[0].reason, "of another process");
        assert_int_equal(rp_capture_verify(capture, &sizes, &err), 0);
        assert_true(sizes.files > REGIONS + 5);
        rp_capture_close(capture);
        free_memory(all);
        rp_remove_tree(folder);
    }
}

static void facts_come_back(void **state)
{
    struct memory all[REGIONS];
    const struct rp_capture_facts *f;
    struct rp_capture *capture;

    (void)state;
    make_memory(all);
    write_capture(all);
    capture = must_open();
    f = &rp_capture_contents(capture)->facts;
    assert_string_equal(f->symbol, "_Z3addPf.kd");
    assert_string_equal(f->isa, "gfx942");
    assert_string_equal(f->acquire_scope, "system");
    assert_string_equal(f->release_scope, "agent");
    assert_true(f->barrier && f->software);
    assert_string_equal(f->timing, "detailed");
    assert_int_equal(f->dispatch.header, dispatch.header); /* what the replay's packet is made of */
    assert_int_equal(f->pid, 77);
    assert_int_equal(f->dispatch.grid[0], 1024);
    assert_int_equal(f->dispatch.grid[1], 2);
    assert_int_equal(f->dispatch.workgroup[0], 256);
    assert_int_equal(f->dispatch.kernarg, dispatch.kernarg);
    assert_int_equal(f->dispatch.match, 2);
    assert_int_equal(f->dispatch.group_bytes, 512);
    rp_capture_close(capture);
    free_memory(all);
}

/* Each distinct page once, whatever their number. */
static void equal_pages_are_stored_once(void **state)
{
    enum { PAGES = 2000, KINDS = 7 };
    const struct memory m = {.region = {.base = 1 << 20, .bytes = PAGES * PAGE},
                             .before = malloc(PAGES * PAGE),
                             .pages = PAGES};
    struct rp_snapshot_feed *feed = begin();
    struct rp_capture *capture;

    (void)state;
    for (size_t p = 0; p < PAGES; p++)
        memset(m.before + p * PAGE, (int)any(KINDS), PAGE); /* one of them is zero */
    send_memory(feed, &m, m.before);
    must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
    send_memory(feed, &m, m.before);
    must_send(feed, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
    rp_snapshot_feed_close(feed);
    capture = must_open();
    assert_int_equal(rp_capture_contents(capture)->stored_pages, KINDS - 1);
    rp_capture_close(capture);
    free(m.before);
}

/* --- size ---------------------------------------------------------------------------------- */

static uint64_t folder_bytes(void)
{
    uint64_t bytes = 0;
    glob_t found = {0};
    char pattern[128];

    snprintf(pattern, sizeof pattern, "%s/*", folder);
    glob(pattern, 0, NULL, &found);
    snprintf(pattern, sizeof pattern, "%s/*/*", folder);
    glob(pattern, GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat st;

        assert_int_equal(lstat(found.gl_pathv[i], &st), 0);
        bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    }
    globfree(&found);
    return bytes;
}

/* 10 GiB of which each hundredth page has noise, at a random place among its hundred. */
static void send_sparse(struct rp_snapshot_feed *feed, uint64_t bytes, uint64_t *ret_pages)
{
    uint8_t page[PAGE];

    *ret_pages = 0;
    for (uint64_t at = 0; at + 100 <= bytes / PAGE; at += 100) {
        uint64_t number = at + any(100), word;

        for (size_t i = 0; i < PAGE; i += sizeof word) {
            word = any(UINT64_MAX);
            memcpy(page + i, &word, sizeof word);
        }
        must_send(feed, RP_SNAPSHOT_PAGES, &number, sizeof number, page, sizeof page);
        ++*ret_pages;
    }
}

static void ten_sparse_gibibytes_are_small(void **state)
{
    const struct rp_snapshot_region region = {.base = 1ull << 40, .bytes = 10ull << 30};
    struct rp_snapshot_feed *feed = begin();
    struct rp_capture_sizes sizes;
    struct rp_err err = RP_ERR_INIT;
    const struct rp_capture_memory *m;
    struct rp_capture *capture;
    struct rusage before, after;
    uint64_t pages, again, disk;

    (void)state;
    getrusage(RUSAGE_SELF, &before);
    seed = 5;
    must_send(feed, RP_SNAPSHOT_REGION, &region, sizeof region, NULL, 0);
    send_sparse(feed, region.bytes, &pages);
    must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
    seed = 5;
    must_send(feed, RP_SNAPSHOT_REGION, &region, sizeof region, NULL, 0);
    send_sparse(feed, region.bytes, &again);
    must_send(feed, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
    rp_snapshot_feed_close(feed);
    getrusage(RUSAGE_SELF, &after);

    disk = folder_bytes();
    print_message("%" PRIu64 " pages that are not zero, %" PRIu64 " bytes on disk, %ld KiB RAM\n",
                  pages, disk, after.ru_maxrss - before.ru_maxrss);
    assert_true(disk < pages * (PAGE + 64) + (1 << 16));
#if !RP_WITH_ASAN /* which keeps what was freed */
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
#endif
    capture = must_open();
    m = rp_capture_contents(capture)->memory;
    assert_int_equal(m->nonzero_pages, pages);
    assert_int_equal(m->changed_pages, 0);
    assert_int_equal(rp_capture_verify(capture, &sizes, &err), 0);
    assert_true(sizes.bytes < disk && disk < sizes.bytes + 4096); /* the list of checksums */
    rp_capture_close(capture);
}

/* --- what goes wrong ----------------------------------------------------------------------- */

/* Opens and reads all; the message of what is wrong, "" when nothing is. */
static const char *what_is_wrong(const char *path)
{
    static struct rp_err err;
    struct rp_capture_sizes sizes;
    struct rp_capture *capture;

    err = (struct rp_err)RP_ERR_INIT;
    if (rp_capture_open(path, &capture, &err) < 0)
        return err.text;
    rp_capture_verify(capture, &sizes, &err);
    rp_capture_close(capture);
    return err.text;
}

static void put_byte(const char *path, off_t at, uint8_t byte)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static uint8_t get_byte(const char *path, off_t at)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    close(fd);
    return byte;
}

static void damage(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char aside[128];
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    for (unsigned i = 0; i < 12 && st.st_size > 0; i++) {
        off_t at = i ? (off_t)any((uint64_t)st.st_size) : 0;
        uint8_t byte = get_byte(path, at);

        put_byte(path, at, byte ^ (uint8_t)(1u << any(8)));
        /* A list of checksums that is damaged may blame any file that it lists. */
        if (!strstr(what_is_wrong(folder),
                    strcmp(name, RP_CAPTURE_CHECKSUMS_FILE) == 0 ? folder : name))
            fail_msg("%s, byte %ld: %s", path, (long)at, what_is_wrong(folder));
        put_byte(path, at, byte);
    }
    snprintf(aside, sizeof aside, "%s.aside", work);
    assert_int_equal(rename(path, aside), 0);
    if (!strstr(what_is_wrong(folder), name))
        fail_msg("without %s: %s", path, what_is_wrong(folder));
    assert_int_equal(rename(aside, path), 0);
}

/* Also cut short: the file grows again to what it was, so that the rest can be tested. */
static void cut(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char command_line[256];
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    snprintf(command_line, sizeof command_line, "cp %s %s.aside", path, work);
    assert_int_equal(system(command_line), 0);
    assert_int_equal(truncate(path, st.st_size - 1 - (off_t)any((uint64_t)st.st_size)), 0);
    if (!strstr(what_is_wrong(folder), name))
        fail_msg("%s cut short: %s", path, what_is_wrong(folder));
    snprintf(command_line, sizeof command_line, "cp %s.aside %s", work, path);
    assert_int_equal(system(command_line), 0);
}

static void damage_is_found_and_named(void **state)
{
    struct memory all[REGIONS];
    char pattern[128];
    glob_t found = {0};

    (void)state;
    seed = 3;
    make_memory(all);
    write_capture(all);
    assert_string_equal(what_is_wrong(folder), "");
    snprintf(pattern, sizeof pattern, "%s/*.*", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    snprintf(pattern, sizeof pattern, "%s/*/*.*", folder);
    assert_int_equal(glob(pattern, GLOB_APPEND, NULL, &found), 0);
    assert_true(found.gl_pathc >= 6 + 1 + REGIONS + 3);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        damage(found.gl_pathv[i]);
        cut(found.gl_pathv[i]);
    }
    assert_string_equal(what_is_wrong(folder), "");
    globfree(&found);
    free_memory(all);
}

static void a_killed_writer_leaves_no_capture(void **state)
{
    struct memory all[REGIONS];
    char pattern[128];
    glob_t found = {0};
    int status;
    pid_t child;

    (void)state;
    make_memory(all);
    child = fork();
    if (child == 0) {
        struct rp_snapshot_feed *feed = begin();

        for (size_t i = 0; i < REGIONS; i++)
            send_memory(feed, &all[i], all[i].before);
        must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_false(rp_path_exists(folder));
    snprintf(pattern, sizeof pattern, "%s" RP_CAPTURE_PARTIAL "*", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_non_null(strstr(what_is_wrong(found.gl_pathv[0]), "is missing"));
    globfree(&found);
    free_memory(all);
}

static void nothing_is_left_of_a_capture_that_is_declined(void **state)
{
    struct memory all[REGIONS];
    struct rp_snapshot_feed *feed = begin();
    char pattern[128];
    glob_t found = {0};

    (void)state;
    make_memory(all);
    send_memory(feed, &all[0], all[0].before);
    must_send(feed, RP_SNAPSHOT_DECLINED, "a queue does not come to rest", 29, NULL, 0);
    assert_string_equal(rp_snapshot_feed_state(feed)->declined, "a queue does not come to rest");
    assert_false(rp_snapshot_feed_state(feed)->done);
    rp_snapshot_feed_close(feed);
    snprintf(pattern, sizeof pattern, "%s/*", work);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
    free_memory(all);
}

/* What no sound tool sends: an error, and no folder. */
static void nonsense_is_refused(void **state)
{
    static const struct rp_snapshot_region region = {.base = 4096, .bytes = 3 * PAGE};
    static const struct rp_snapshot_region empty = {.base = 4096};
    static const struct rp_snapshot_region beyond = {.base = UINT64_MAX, .bytes = 4096};
    static const uint64_t page[513] = {2}, far[513] = {3};
    static const struct {
        struct rp_snapshot_dispatch dispatch;
        char symbol[8];
    } flat = {.dispatch = {.grid = {1, 1, 1}, .workgroup = {1, 1, 1}}, .symbol = "k"},
      no_grid = {.dispatch = {.grid = {1, 0, 1}, .workgroup = {1, 1, 1}, .setup = 1},
                 .symbol = "k"},
      no_group = {.dispatch = {.grid = {1, 1, 1}, .workgroup = {0, 1, 1}, .setup = 1},
                  .symbol = "k"};
    static const struct {
        uint32_t kind;
        const void *bytes;
        size_t size;
        uint32_t first; /* a message before it; 0: none */
        const void *first_bytes;
        size_t first_size;
    } rows[] = {
        {RP_SNAPSHOT_HELLO, &hello, sizeof hello, 0, NULL, 0},
        {RP_SNAPSHOT_BEGIN, &dispatch, sizeof dispatch, 0, NULL, 0},
        {RP_SNAPSHOT_BEGIN, &flat, sizeof flat, RP_SNAPSHOT_DECLINED, "no", 2},
        {RP_SNAPSHOT_BEGIN, &no_grid, sizeof no_grid, RP_SNAPSHOT_DECLINED, "no", 2},
        {RP_SNAPSHOT_BEGIN, &no_group, sizeof no_group, RP_SNAPSHOT_DECLINED, "no", 2},
        {RP_SNAPSHOT_END, NULL, 0, 0, NULL, 0},
        {99, NULL, 0, 0, NULL, 0},
        {0, NULL, 0, 0, NULL, 0},
        {RP_SNAPSHOT_REGION, &region, sizeof region - 1, 0, NULL, 0},
        {RP_SNAPSHOT_REGION, &empty, sizeof empty, 0, NULL, 0},
        {RP_SNAPSHOT_REGION, &beyond, sizeof beyond, 0, NULL, 0},
        {RP_SNAPSHOT_REGION, &region, sizeof region, RP_SNAPSHOT_REGION, &region, sizeof region},
        {RP_SNAPSHOT_REGION, &region, sizeof region, RP_SNAPSHOT_AFTER, NULL, 0},
        {RP_SNAPSHOT_PAGES, page, sizeof page, 0, NULL, 0},
        {RP_SNAPSHOT_PAGES, page, sizeof page - 1, RP_SNAPSHOT_REGION, &region, sizeof region},
        {RP_SNAPSHOT_PAGES, far, sizeof far, RP_SNAPSHOT_REGION, &region, sizeof region},
        {RP_SNAPSHOT_FILTERED, page, 39, 0, NULL, 0},
        {RP_SNAPSHOT_WAITS, page, 16, RP_SNAPSHOT_DECLINED, "no", 2},
        {RP_SNAPSHOT_WAITS, page, 15, 0, NULL, 0},
        {RP_SNAPSHOT_UNMAPPED, &empty, sizeof empty, 0, NULL, 0},
        {RP_SNAPSHOT_UNMAPPED, &region, sizeof region - 1, 0, NULL, 0},
        {RP_SNAPSHOT_AFTER, NULL, 0, RP_SNAPSHOT_AFTER, NULL, 0},
        {RP_SNAPSHOT_END, NULL, 0, RP_SNAPSHOT_REGION, &region, sizeof region},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_snapshot_feed *feed = begin();
        struct rp_err err = RP_ERR_INIT;

        if (rows[i].first)
            must_send(feed, rows[i].first, rows[i].first_bytes, rows[i].first_size, NULL, 0);
        if (send(feed, rows[i].kind, rows[i].bytes, rows[i].size, NULL, 0, &err) != -RP_BAD_INPUT &&
            err.code != RP_ENVIRONMENT)
            fail_msg("row %zu is accepted", i);
        assert_true(err.text[0]);
        rp_snapshot_feed_close(feed);
        assert_false(rp_path_exists(folder));
    }
}

static void what_is_there_stays(void **state)
{
    struct rp_capture_writer *w;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(capture_begin(folder, &w, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, folder));
}

/* Each occurrence of a text in a JSON file of the capture becomes another one. */
static void replace_text(const char *name, const char *from, const char *to)
{
    char path[128], shell[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(shell, sizeof shell, "sed -i 's/%s/%s/' %s", from, to, path);
    assert_int_equal(system(shell), 0);
}

/* Numbers that say something else than the maps, or that no dispatch has. */
static void numbers_that_disagree_are_found(void **state)
{
    static const struct {
        const char *file, *from, *to, *says;
    } rows[] = {
        {"dispatch.json", "\"dimensions\": 2", "\"dimensions\": 0", "out of range"},
        {"dispatch.json", "\"dimensions\": 2", "\"dimensions\": 4", "out of range"},
        {"dispatch.json", "\"dimensions\": 2", "\"dimensions\": \"2\"", "out of range"},
        {"dispatch.json", "\"dimensions\": 2,", "", "out of range"},
        {"memory_regions.json", "\"nonzero_pages\": 3", "\"nonzero_pages\": 2", "3 pages"},
        {"memory_regions.json", "\"nonzero_pages\": 3", "\"nonzero_pages\": 4", "3 pages"},
        {"memory_regions.json", "\"changed_pages\": 1", "\"changed_pages\": 2", "1 pages"},
    };
    static const struct rp_snapshot_region region = {.base = 4096, .bytes = 5 * PAGE};
    static const uint64_t first = 1;
    static uint8_t pages[3 * PAGE];

    (void)state;
    memset(pages, 9, sizeof pages);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_snapshot_feed *feed = begin();

        pages[0] = 9;
        must_send(feed, RP_SNAPSHOT_REGION, &region, sizeof region, NULL, 0);
        must_send(feed, RP_SNAPSHOT_PAGES, &first, sizeof first, pages, sizeof pages);
        must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
        must_send(feed, RP_SNAPSHOT_REGION, &region, sizeof region, NULL, 0);
        pages[0] = 8;
        must_send(feed, RP_SNAPSHOT_PAGES, &first, sizeof first, pages, sizeof pages);
        must_send(feed, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
        rp_snapshot_feed_close(feed);
        rp_capture_close(must_open());
        replace_text(rows[i].file, rows[i].from, rows[i].to);
        if (!strstr(what_is_wrong(folder), rows[i].says))
            fail_msg("row %zu: %s", i, what_is_wrong(folder));
        rp_remove_tree(folder);
    }
}

/* It is told, is no region, and nothing of it is missing. */
static void what_is_unmapped_is_no_refusal(void **state)
{
    static const struct rp_snapshot_region gone = {
        .base = 0x5000, .bytes = 2 * PAGE, .memory_class = RP_MEMORY_SVM};
    struct rp_snapshot_feed *feed = begin();
    struct rp_capture *capture;
    char shell[256];
    size_t count;

    (void)state;
    must_send(feed, RP_SNAPSHOT_UNMAPPED, &gone, sizeof gone, NULL, 0);
    must_send(feed, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0);
    must_send(feed, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
    rp_snapshot_feed_close(feed);
    capture = must_open();
    count = rp_capture_contents(capture)->memory_count;
    assert_int_equal(count, 0);
    count = rp_capture_contents(capture)->refusal_count;
    assert_int_equal(count, 0);
    rp_capture_close(capture);
    snprintf(shell, sizeof shell,
             "grep -q '\"complete\": true' %s/coverage.json && grep -A9 unmapped %s/coverage.json |"
             " grep -q '\"base\": \"0x5000\"'",
             folder, folder);
    assert_int_equal(system(shell), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(ten_sparse_gibibytes_are_small), /* first: it looks at the most memory so far */
        TEST(the_program_waits_for_no_disk),
        TEST(random_memory_comes_back),
        TEST(facts_come_back),
        TEST(equal_pages_are_stored_once),
        TEST(damage_is_found_and_named),
        TEST(a_killed_writer_leaves_no_capture),
        TEST(nothing_is_left_of_a_capture_that_is_declined),
        TEST(nonsense_is_refused),
        TEST(what_is_there_stays),
        TEST(numbers_that_disagree_are_found),
        TEST(what_is_unmapped_is_no_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
