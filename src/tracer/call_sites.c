/**
 * @file call_sites.c
 * @brief Finds where the program called HIP: its frames on the stack, as addresses of ELF files.
 *
 * Names and lines are found afterwards, by the program that reads the records, which has the time
 * for it. A place that was seen before costs the walk of the stack and a look into a table.
 */
#include "tracer/tracer.h"

#include <execinfo.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/records.h"

enum {
    MOST_WALKED = 24,            /**< the runtime's own frames come first, few of them */
    MOST_PYTHON_SITES = 1 << 16, /**< recursion makes any number of them */
    MOST_SITES = MOST_PYTHON_SITES + (1 << 14), /**< with those that are without Python frames */
};

/** It has no padding, because all of its bytes are compared. */
struct frames {
    uintptr_t native[RP_REC_FRAMES]; /**< return addresses; 0 behind the last */
    uint64_t python;                 /**< of those of Python code; 0: there are none */
};

struct rp_known_site {
    struct frames frames;
    uint32_t id; /**< 0: this entry of the table is free */
};

/** This is what dl_iterate_phdr is asked for: the ELF file that has an address. */
struct module {
    uintptr_t address;
    uintptr_t begin, end; /**< of all its segments */
    uintptr_t bias;       /**< address in memory less that of the file */
};

/* --- modules ------------------------------------------------------------------------------- */

static int is_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module *m = data;
    uintptr_t begin = UINTPTR_MAX, end = 0;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + info->dlpi_phdr[i].p_memsz > end ? at + info->dlpi_phdr[i].p_memsz : end;
    }
    if (m->address < begin || m->address >= end)
        return 0;
    m->begin = begin;
    m->end = end;
    m->bias = info->dlpi_addr;
    return 1;
}

/* The loader's list has no path for the program itself, and where ld.so was started with the
 * program as its argument, /proc/self/exe is ld.so. The kernel's list of mappings has all paths.
 * @return whether the mapping is of a file; @p ret_path ends without its newline */
static bool path_of(uintptr_t address, char *ret_path, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    char *line = NULL;
    size_t room = 0;

    while (maps && !found && getline(&line, &room, maps) > 0) {
        unsigned long begin, end;
        char *path = strchr(line, '/');

        if (sscanf(line, "%lx-%lx", &begin, &end) != 2 || address < begin || address >= end)
            continue;
        found =
            path && (size_t)snprintf(ret_path, size, "%.*s", (int)strcspn(path, "\n"), path) < size;
        break;
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

/* --- the stack ----------------------------------------------------------------------------- */

static void find_range(const void *within, uintptr_t ret[2])
{
    struct module m = {.address = (uintptr_t)within};

    if (dl_iterate_phdr(is_module, &m)) {
        ret[0] = m.begin;
        ret[1] = m.end;
    }
}

static bool is_in(uintptr_t address, const uintptr_t range[2])
{
    return address >= range[0] && address < range[1];
}

/* Takes the frames behind the last one of the runtime or of this library.
 * @return how many there are */
static uint32_t walk(const struct rp_call_sites *sites, uintptr_t ret[RP_REC_FRAMES])
{
    void *walked[MOST_WALKED];
    int count = backtrace(walked, MOST_WALKED), i = 0;
    uint32_t used = 0;

    while (i < count &&
           (is_in((uintptr_t)walked[i], sites->own) || is_in((uintptr_t)walked[i], sites->hip)))
        i++;
    memset(ret, 0, RP_REC_FRAMES * sizeof(*ret));
    for (; i < count && used < RP_REC_FRAMES && walked[i]; i++)
        ret[used++] = (uintptr_t)walked[i];
    return used;
}

/* --- places that are known ----------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x9e3779b97f4a7c15u;
}

static struct rp_known_site *entry_of(struct rp_known_site *list, size_t capacity,
                                      const struct frames *frames)
{
    uint64_t hash = mix(0, frames->python);
    size_t at;

    for (size_t i = 0; i < RP_REC_FRAMES; i++)
        hash = mix(hash, frames->native[i]);
    for (at = (hash >> 32) & (capacity - 1); list[at].id; at = (at + 1) & (capacity - 1))
        if (memcmp(&list[at].frames, frames, sizeof(list[at].frames)) == 0)
            break;
    return &list[at];
}

/** @return whether there is room for one more */
static bool make_room(struct rp_call_sites *sites)
{
    const size_t capacity = sites->capacity ? 2 * sites->capacity : 256;
    struct rp_known_site *list;

    if (2 * (sites->count + 1) <= sites->capacity)
        return true;
    list = calloc(capacity, sizeof(*list));
    if (!list)
        return false;
    for (size_t i = 0; i < sites->capacity; i++)
        if (sites->list[i].id)
            *entry_of(list, capacity, &sites->list[i].frames) = sites->list[i];
    free(sites->list);
    sites->list = list;
    sites->capacity = capacity;
    return true;
}

/* A return address may be that of the next line, so the address before it is taken. */
static void put_site(struct rp_tool *tool, uint32_t id, const uintptr_t *frames, uint32_t count)
{
    struct rp_record record = {.kind = RP_REC_CALL_SITE};
    struct rp_rec_call_site *site = &record.u.call_site;
    char path[4096];

    site->id = id;
    site->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct module m = {.address = frames[i] - 1};

        site->address[i] = m.address;
        if (!dl_iterate_phdr(is_module, &m) || !path_of(m.address, path, sizeof(path)))
            continue;
        site->module_id[i] = rp_trace_string(&tool->trace, path);
        site->address[i] = m.address - m.bias;
    }
    rp_trace_append(&tool->trace, &record);
}

static void put_python(struct rp_tool *tool, uint32_t id, const struct rp_python_frame *frames,
                       uint32_t count)
{
    struct rp_python_place place;

    for (uint32_t i = 0; i < count; i++) {
        struct rp_record record = {.kind = RP_REC_PYTHON_FRAME};

        if (!rp_python_describe(&tool->hip.sites.python, &frames[i], &place))
            continue;
        record.u.python_frame = (struct rp_rec_python_frame){
            .call_site_id = id,
            .file_id = rp_trace_string(&tool->trace, place.file),
            .function_id = rp_trace_string(&tool->trace, place.function),
            .line = place.line};
        rp_trace_append(&tool->trace, &record);
    }
}

/** This is where a thread is. */
struct stack {
    struct frames frames;
    struct rp_python_frame python[RP_PYTHON_FRAMES];
    uint32_t count, python_count;
};

static uint32_t find_or_put(struct rp_tool *tool, const struct stack *stack)
{
    struct rp_call_sites *sites = &tool->hip.sites;
    const size_t most = stack->frames.python ? MOST_PYTHON_SITES : MOST_SITES;
    struct rp_known_site *entry;

    if (!make_room(sites))
        return 0;
    entry = entry_of(sites->list, sites->capacity, &stack->frames);
    if (entry->id || sites->count >= most)
        return entry->id;
    entry->frames = stack->frames;
    entry->id = (uint32_t)++sites->count;
    put_site(tool, entry->id, stack->frames.native, stack->count);
    put_python(tool, entry->id, stack->python, stack->python_count);
    return entry->id;
}

/* Python frames make many places of each native one. Where there are too many, the native one is
 * still known. */
static uint32_t find_some(struct rp_tool *tool, const struct stack *stack)
{
    struct stack native = {.count = stack->count};
    const uint32_t id = find_or_put(tool, stack);

    if (id || !stack->frames.python)
        return id;
    memcpy(native.frames.native, stack->frames.native, sizeof(native.frames.native));
    return find_or_put(tool, &native);
}

/* The loader is asked without the lock: it has one of its own, which a thread may hold that waits
 * for ours, because it loads a library whose constructors call HIP. */
static void know_walks(struct rp_call_sites *sites, const void *runtime)
{
    uintptr_t own[2] = {0}, hip[2] = {0};
    struct rp_python python = {0};
    bool known;

    pthread_mutex_lock(&sites->lock);
    known = sites->walks_known;
    pthread_mutex_unlock(&sites->lock);
    if (known)
        return;
    find_range((const void *)(uintptr_t)&rp_call_site, own);
    find_range(runtime, hip);
    rp_python_find(&python);
    pthread_mutex_lock(&sites->lock);
    if (!sites->walks_known) {
        memcpy(sites->own, own, sizeof(own));
        memcpy(sites->hip, hip, sizeof(hip));
        sites->python = python;
        sites->walks_known = true;
    }
    pthread_mutex_unlock(&sites->lock);
}

uint32_t rp_call_site(struct rp_tool *tool, const void *runtime)
{
    struct rp_call_sites *sites = &tool->hip.sites;
    struct stack stack = {0};
    uint32_t id = 0;

    know_walks(sites, runtime);
    stack.count = walk(sites, stack.frames.native);
    if (stack.count == 0)
        return 0;
    stack.python_count = rp_python_walk(&sites->python, stack.python);
    for (uint32_t i = 0; i < stack.python_count; i++)
        stack.frames.python =
            mix(mix(stack.frames.python, stack.python[i].identity), stack.python[i].instruction);
    pthread_mutex_lock(&sites->lock);
    id = find_some(tool, &stack);
    pthread_mutex_unlock(&sites->lock);
    return id;
}
