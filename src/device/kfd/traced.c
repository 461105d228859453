#include "traced.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/exec/threads.h"
#include "log.h"

/* What waits here in all if nobody takes it: the collector is not there any more. */
#define MOST_BYTES ((size_t)512 << 20)

enum { MOST_ENTRIES = 1 << 16 };

/* A wish, or with bytes the trace that it has become. */
struct rp_traced_entry {
    struct rp_traced_entry *next;
    uint64_t signal_va, kernel_object_va;
    struct rp_threads_request wish;
    uint64_t start_ticks, end_ticks;
    void *bytes;
    size_t count;
};

void rp_traced_init(struct rp_trace_requests *traced)
{
    *traced = (struct rp_trace_requests){.last = &traced->first};
    pthread_mutex_init(&traced->lock, NULL);
}

void rp_traced_release(struct rp_trace_requests *traced)
{
    while (traced->first) {
        struct rp_traced_entry *entry = traced->first;
        traced->first = entry->next;
        free(entry->bytes);
        free(entry);
    }
}

static bool add(struct rp_trace_requests *traced, const struct rp_traced_entry *what)
{
    struct rp_traced_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return false;
    *entry = *what;
    entry->next = NULL;
    pthread_mutex_lock(&traced->lock);
    const bool fits = traced->pending < MOST_ENTRIES && traced->bytes + entry->count <= MOST_BYTES;
    if (fits) {
        *traced->last = entry; /* the oldest comes first */
        traced->last = &entry->next;
        traced->bytes += entry->count;
        __atomic_add_fetch(&traced->pending, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&traced->lock);
    if (!fits)
        free(entry);
    return fits;
}

/* Under the lock. */
static struct rp_traced_entry *take_out(struct rp_trace_requests *traced,
                                        struct rp_traced_entry **at)
{
    struct rp_traced_entry *entry = *at;
    if (entry) {
        *at = entry->next;
        if (traced->last == &entry->next)
            traced->last = at;
        traced->bytes -= entry->count;
        __atomic_sub_fetch(&traced->pending, 1, __ATOMIC_RELEASE);
    }
    return entry;
}

bool rp_traced_want(struct rp_trace_requests *traced, uint64_t signal_va, uint64_t kernel_object_va,
                    const struct rp_threads_request *wish)
{
    return add(traced, &(struct rp_traced_entry){.signal_va = signal_va,
                                                 .kernel_object_va = kernel_object_va,
                                                 .wish = *wish});
}

bool rp_traced_is_wanted(struct rp_trace_requests *traced, uint64_t signal_va,
                         uint64_t kernel_object_va, struct rp_threads_request *ret_wish)
{
    if (!__atomic_load_n(&traced->pending, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&traced->lock);
    struct rp_traced_entry **at = &traced->first;
    while (*at && ((*at)->bytes || (*at)->signal_va != signal_va ||
                   (*at)->kernel_object_va != kernel_object_va))
        at = &(*at)->next;
    struct rp_traced_entry *entry = take_out(traced, at);
    pthread_mutex_unlock(&traced->lock);
    if (!entry)
        return false;
    *ret_wish = entry->wish;
    free(entry);
    return true;
}

static void tell(double share, double left_s)
{
    dprintf(STDERR_FILENO,
            "rocm-perf-device: thread trace: %.0f %% of the kernel is replayed, about %.0f s are "
            "left%s\n",
            100 * share, left_s,
            left_s > 60 ? " (a smaller problem takes less; --timeout ends it)" : "");
}

void rp_traced_begin(const struct rp_arch *arch, struct rp_dispatch *dispatch,
                     const struct rp_threads_request *wish)
{
    rp_dispatch_watch_threads(dispatch, arch, wish, tell);
}

void rp_traced_note(struct rp_trace_requests *traced, const struct rp_arch *arch,
                    struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                    uint64_t signal_va, uint64_t start_ticks, uint64_t end_ticks)
{
    struct rp_traced_entry entry = {
        .signal_va = signal_va, .start_ticks = start_ticks, .end_ticks = end_ticks};
    const int status =
        rp_dispatch_trace(dispatch, arch, wish, start_ticks, &entry.bytes, &entry.count);
    if (status < 0) {
        rp_log("no thread trace of a dispatch: %d", status);
    } else if (!add(traced, &entry)) {
        rp_log("a thread trace of %zu bytes is dropped: nobody takes them", entry.count);
        free(entry.bytes);
    }
}

bool rp_traced_take(struct rp_trace_requests *traced, uint64_t signal_va, uint64_t start_ticks,
                    uint64_t end_ticks, void **ret_bytes, size_t *ret_count)
{
    pthread_mutex_lock(&traced->lock);
    struct rp_traced_entry **at = &traced->first;
    while (*at && (!(*at)->bytes || (*at)->signal_va != signal_va ||
                   (*at)->start_ticks != start_ticks || (*at)->end_ticks != end_ticks))
        at = &(*at)->next;
    struct rp_traced_entry *entry = take_out(traced, at);
    pthread_mutex_unlock(&traced->lock);
    if (!entry)
        return false;
    *ret_bytes = entry->bytes;
    *ret_count = entry->count;
    free(entry);
    return true;
}
