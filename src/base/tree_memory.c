#include "base/tree_memory.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct process {
    pid_t pid, parent;
    uint64_t resident_pages;
    bool ours;
};

/** The name of a process may hold anything: fields are counted from its last parenthesis. */
static bool read_process(const char *name, struct process *ret)
{
    char path[64], text[1024];
    const char *at;
    FILE *file;
    size_t got;
    int parent;

    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    file = fopen(path, "re");
    if (!file)
        return false;
    got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = 0;
    at = strrchr(text, ')');
    /* proc(5): behind the name the state, then the parent; rss is field 24. */
    if (!at || sscanf(at + 1, " %*c %d", &parent) != 1)
        return false;
    for (unsigned field = 2; field < 24 && at; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return false;
    *ret = (struct process){atoi(name), parent, strtoull(at + 1, NULL, 10), false};
    return true;
}

static struct process *read_all(size_t *ret_count)
{
    struct process *list = NULL, one;
    size_t count = 0, room = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !read_process(entry->d_name, &one))
            continue;
        if (count == room) {
            struct process *more = realloc(list, (room = 2 * room + 64) * sizeof *list);

            if (!more)
                break;
            list = more;
        }
        list[count++] = one;
    }
    if (dir)
        closedir(dir);
    *ret_count = count;
    return list;
}

uint64_t rp_tree_resident_bytes(void)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const pid_t self = getpid();
    size_t count;
    rp_autofree struct process *list = read_all(&count);
    uint64_t pages = 0;
    bool more = true;

    while (more) { /* as often as the tree is deep */
        more = false;
        for (size_t i = 0; i < count; i++) {
            bool below = list[i].parent == self;

            for (size_t j = 0; j < count && !below && !list[i].ours; j++)
                below = list[j].ours && list[j].pid == list[i].parent;
            if (below && !list[i].ours) {
                list[i].ours = more = true;
                pages += list[i].resident_pages;
            }
        }
    }
    return pages * page_bytes;
}
