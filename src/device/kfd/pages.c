#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Memory of devices, and the kernel's own pages: hardware's page faults refuse those too. */
static bool refused(const char *path)
{
    static const char *const prefixes[] = {"/memfd:rocm-perf-device", "/dev/dri/", "/dev/kfd",
                                           "[vvar", "[vsyscall"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/** A line of the table: "begin-end rwxp offset device inode   path". */
static int add_line(struct rp_pages *pages, const char *line)
{
    struct rp_page_span span;
    char rights[5];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &span.begin, &span.end, rights,
               &path) != 3 ||
        rights[0] != 'r' || refused(line + path))
        return 0;
    span.writable = rights[1] == 'w';
    if (pages->count == pages->capacity) {
        size_t capacity = pages->capacity ? pages->capacity * 2 : 256;
        struct rp_page_span *grown = realloc(pages->spans, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        pages->spans = grown;
        pages->capacity = capacity;
    }
    pages->spans[pages->count++] = span;
    return 0;
}

static void read_table(struct rp_pages *pages)
{
    char text[16384];
    size_t held = 0;
    ssize_t n;
    pages->count = 0;
    /* Direct calls: open() is one of our own hooks. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((n = read(fd, text + held, sizeof text - 1 - held)) > 0) {
        char *line = text, *end;
        held += (size_t)n;
        text[held] = '\0';
        while ((end = strchr(line, '\n'))) {
            *end = '\0';
            if (add_line(pages, line) < 0)
                break;
            line = end + 1;
        }
        held -= (size_t)(line - text);
        if (held == sizeof text - 1) /* no such line exists: paths end at 4096 */
            held = 0;
        memmove(text, line, held);
    }
    close(fd);
}

static bool look_up(const struct rp_pages *pages, uint64_t va, bool write, uint64_t *ret_begin,
                    uint64_t *ret_end)
{
    size_t lo = 0, hi = pages->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (pages->spans[mid].end <= va)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct rp_page_span *spans = pages->spans;
    if (lo == pages->count || spans[lo].begin > va || (write && !spans[lo].writable))
        return false;
    size_t first = lo, last = lo;
    while (first > 0 && spans[first - 1].end == spans[first].begin &&
           (!write || spans[first - 1].writable))
        first--;
    while (last + 1 < pages->count && spans[last + 1].begin == spans[last].end &&
           (!write || spans[last + 1].writable))
        last++;
    *ret_begin = spans[first].begin;
    *ret_end = spans[last].end;
    return true;
}

bool rp_pages_find(struct rp_pages *pages, uint64_t va, bool write, uint64_t generation,
                   uint64_t *ret_begin, uint64_t *ret_end)
{
    if (pages->generation == generation && look_up(pages, va, write, ret_begin, ret_end))
        return true;
    read_table(pages);
    pages->generation = generation;
    return look_up(pages, va, write, ret_begin, ret_end);
}

void rp_pages_release(struct rp_pages *pages)
{
    free(pages->spans);
    *pages = (struct rp_pages){0};
}
