/**
 * @file recording.c
 * @brief This file says whether what the program does now is to be recorded.
 *
 * Who started the program may switch recording off and on for all of its processes, in a page that
 * all of them map. Within a process, recording may be limited to what the program marks with ROCTx:
 * between roctxProfilerResume and roctxProfilerPause, or within ranges of a name. For that this
 * library is in LD_PRELOAD, and its functions stand in front of those of librocprofiler-sdk-roctx
 * or libroctx64, which they call. Without it they are never called.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/records.h"
#include "tracer/tracer.h"

#define RP_EXPORT __attribute__((visibility("default")))

enum { MOST_NESTED = 64, PAGE_RANGES = 255, NAMES_SEEN = 8, NAME_BYTES = 100 };

/** Ids of ranges that were started and have not ended. */
struct started {
    struct started *next;      /**< atomic: where this one is full */
    uint64_t ids[PAGE_RANGES]; /**< atomic: 1 more than the id; 0: free */
};

/* ROCTx may be called before ROCr loads the tool, and more often than it: this is the process's. */
static struct {
    uint32_t resumed; /**< atomic: since roctxProfilerResume */
    uint32_t open;    /**< atomic: ranges of the name that have not ended */
    uint64_t last_id; /**< atomic: of ranges that no library numbers */
    struct started started;
} regions;

/* Names of ranges that were begun, the first few: where none is the wanted one, they say what there
 * is. */
static struct {
    pthread_mutex_t lock;
    size_t count; /**< atomic */
    bool found;   /**< atomic: one of the wanted name was begun */
    char names[NAMES_SEEN][NAME_BYTES];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct rp_recording_control *control; /**< NULL: nobody switches */
static const char *wanted_range;                   /**< NULL: of any */
static bool selected;                              /**< resumed ones only */

/** Ranges of a thread that are nested deeper than it has bits count as others. */
static __thread struct {
    uint64_t wanted; /**< a bit for each */
    unsigned depth;
} pushed;

/* A thread that ends has left its ranges, whether it has popped them or not. */
static void on_thread_end(void *data)
{
    const uint32_t open = (uint32_t)__builtin_popcountll(pushed.wanted);

    (void)data;
    pushed.wanted = 0;
    if (open)
        __atomic_sub_fetch(&regions.open, open, __ATOMIC_RELEASE);
}

static pthread_key_t ending; /**< of threads that have pushed a wanted range */
static bool ending_made;

static void make_ending(void)
{
    ending_made = pthread_key_create(&ending, on_thread_end) == 0;
}

static void watch_end(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_ending);
    if (ending_made)
        pthread_setspecific(ending, &regions);
}

void rp_recording_start(const char *folder)
{
    const char *regions_wanted = secure_getenv(RP_REGIONS_VARIABLE);
    struct stat st;
    char path[4096];
    void *map;
    int fd;

    selected = regions_wanted && strcmp(regions_wanted, "on") == 0;
    if (control ||
        snprintf(path, sizeof path, "%s/%s", folder, RP_RECORDING_CONTROL_FILE) >= (int)sizeof path)
        return;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    map = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof *control
              ? mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, fd, 0)
              : MAP_FAILED;
    close(fd);
    if (map != MAP_FAILED)
        control = map;
}

bool rp_recording_switched_off(void)
{
    return control && __atomic_load_n(&control->paused, __ATOMIC_ACQUIRE);
}

bool rp_recording_can_be_switched(void)
{
    return control != NULL;
}

static const char *range_name(void)
{
    static uint32_t known;

    if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) {
        wanted_range = secure_getenv(RP_RANGE_VARIABLE);
        __atomic_store_n(&known, 1, __ATOMIC_RELEASE);
    }
    return wanted_range;
}

bool rp_recording(const struct rp_tool *tool)
{
    return rp_tool_records(tool) && !rp_recording_switched_off() &&
           (!selected || __atomic_load_n(&regions.resumed, __ATOMIC_ACQUIRE)) &&
           (!range_name() || __atomic_load_n(&regions.open, __ATOMIC_ACQUIRE));
}

/* --- ROCTx ----------------------------------------------------------------------------------- */

typedef uint64_t range_id;

RP_EXPORT int roctxProfilerPause(uint64_t tid);
RP_EXPORT int roctxProfilerResume(uint64_t tid);
RP_EXPORT int roctxRangePushA(const char *message);
RP_EXPORT int roctxRangePop(void);
RP_EXPORT range_id roctxRangeStartA(const char *message);
RP_EXPORT void roctxRangeStop(range_id id);

static void note_name(const char *message)
{
    char name[NAME_BYTES];
    size_t i;

    if (__atomic_load_n(&seen.count, __ATOMIC_ACQUIRE) == NAMES_SEEN)
        return;
    snprintf(name, sizeof name, "%s", message);
    pthread_mutex_lock(&seen.lock);
    for (i = 0; i < seen.count && strcmp(seen.names[i], name) != 0; i++)
        ;
    if (i == seen.count && i < NAMES_SEEN) {
        memcpy(seen.names[i], name, sizeof name);
        __atomic_store_n(&seen.count, i + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&seen.lock);
}

static bool is_wanted(const char *message)
{
    const char *name = range_name();
    const bool wanted = name && message && fnmatch(name, message, 0) == 0;

    if (wanted)
        __atomic_store_n(&seen.found, true, __ATOMIC_RELAXED);
    else if (name && message && *message)
        note_name(message);
    return wanted;
}

static void write_name(struct rp_tool *tool, const char *name)
{
    struct rp_record record = {.kind = RP_REC_RANGE_NAME};

    record.u.range_name.name_id = rp_trace_string(&tool->trace, name);
    if (record.u.range_name.name_id)
        rp_trace_append(&tool->trace, &record);
}

void rp_recording_finish(struct rp_tool *tool)
{
    pthread_mutex_lock(&seen.lock);
    if (__atomic_load_n(&seen.found, __ATOMIC_RELAXED))
        write_name(tool, range_name());
    else
        for (size_t i = 0; i < seen.count; i++)
            write_name(tool, seen.names[i]);
    __atomic_store_n(&seen.found, false, __ATOMIC_RELAXED);
    __atomic_store_n(&seen.count, 0, __ATOMIC_RELEASE); /* They are said once. */
    pthread_mutex_unlock(&seen.lock);
}

#define NEXT(function)                                                                             \
    __typeof__(&function) next;                                                                    \
    void *symbol = dlsym(RTLD_NEXT, #function);                                                    \
    memcpy(&next, &symbol, sizeof next)

int roctxProfilerPause(uint64_t tid)
{
    NEXT(roctxProfilerPause);

    __atomic_store_n(&regions.resumed, 0, __ATOMIC_RELEASE);
    return next ? next(tid) : 0;
}

int roctxProfilerResume(uint64_t tid)
{
    NEXT(roctxProfilerResume);
    int result = next ? next(tid) : 0;

    __atomic_store_n(&regions.resumed, 1, __ATOMIC_RELEASE);
    return result;
}

int roctxRangePushA(const char *message)
{
    NEXT(roctxRangePushA);
    const unsigned level = pushed.depth++;
    int result = next ? next(message) : (int)level;

    if (level < MOST_NESTED && is_wanted(message)) {
        pushed.wanted |= UINT64_C(1) << level;
        watch_end();
        __atomic_add_fetch(&regions.open, 1, __ATOMIC_RELEASE);
    }
    return result;
}

int roctxRangePop(void)
{
    NEXT(roctxRangePop);
    int result = next ? next() : pushed.depth ? (int)pushed.depth - 1 : -1;
    uint64_t bit;

    if (!pushed.depth)
        return result;
    pushed.depth--;
    bit = pushed.depth < MOST_NESTED ? UINT64_C(1) << pushed.depth : 0;
    if (pushed.wanted & bit)
        __atomic_sub_fetch(&regions.open, 1, __ATOMIC_RELEASE);
    pushed.wanted &= ~bit;
    return result;
}

/** @return the page behind a full one; NULL: memory ended */
static struct started *add_page(struct started *page)
{
    struct started *made = calloc(1, sizeof(*made)), *next = NULL;

    if (!made || __atomic_compare_exchange_n(&page->next, &next, made, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
        return made;
    free(made); /* Another thread was first. */
    return next;
}

static bool replace_id(uint64_t *at, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/** Replaces the first such id. Ranges of a program may be open by the thousand: pages are added,
 * and stay. */
static bool replace_started(uint64_t from, uint64_t to)
{
    for (struct started *page = &regions.started, *next; page; page = next) {
        for (size_t i = 0; i < PAGE_RANGES; i++)
            if (replace_id(&page->ids[i], from, to))
                return true;
        next = __atomic_load_n(&page->next, __ATOMIC_ACQUIRE);
        if (!next && !from)
            next = add_page(page);
    }
    return false;
}

range_id roctxRangeStartA(const char *message)
{
    NEXT(roctxRangeStartA);
    const range_id id =
        next ? next(message) : __atomic_add_fetch(&regions.last_id, 1, __ATOMIC_RELAXED);

    if (is_wanted(message) && replace_started(0, id + 1))
        __atomic_add_fetch(&regions.open, 1, __ATOMIC_RELEASE);
    return id;
}

void roctxRangeStop(range_id id)
{
    NEXT(roctxRangeStop);

    if (replace_started(id + 1, 0))
        __atomic_sub_fetch(&regions.open, 1, __ATOMIC_RELEASE);
    if (next)
        next(id);
}
