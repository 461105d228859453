#include "device/driver/dispatch_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/exec/dispatch.h"
#include "device/exec/executor.h"
#include "device/timing/dispatch_timing.h"
#include "trace/records.h"

struct rp_counter_results_entry {
    struct rp_counter_results_entry *next;
    uint64_t signal_va, start_ticks, end_ticks;
    struct rp_rec_simulation replay;
    double value[]; /**< rp_counter_results.count of them */
};

static bool is_known(const struct rp_counter_results *counted, const char *name)
{
    for (uint32_t i = 0; i < counted->count; i++)
        if (!strcmp(counted->name[i], name))
            return true;
    return false;
}

void rp_counter_results_init(struct rp_counter_results *counted, const char *names)
{
    char *state = NULL;

    *counted = (struct rp_counter_results){.names = names && *names ? strdup(names) : NULL};
    pthread_mutex_init(&counted->lock, NULL);
    for (char *name = counted->names ? strtok_r(counted->names, ",", &state) : NULL; name;
         name = strtok_r(NULL, ",", &state)) {
        const struct rp_device_counter_row *row = rp_device_counter_find(name);
        if (!row || row->value < 0 || is_known(counted, name) ||
            counted->count == RP_COUNTER_RESULTS_NAMES)
            continue;
        counted->memory |= row->kind == RP_COUNTER_CACHES || row->kind == RP_COUNTER_WAVES;
        counted->kind[counted->count] = (uint8_t)row->kind;
        counted->name[counted->count] = name;
        counted->value[counted->count++] = (uint16_t)row->value;
    }
}

void rp_counter_results_release(struct rp_counter_results *counted)
{
    for (unsigned i = 0; i < RP_COUNTER_RESULTS_BUCKETS; i++)
        while (counted->bucket[i]) {
            struct rp_counter_results_entry *entry = counted->bucket[i];
            counted->bucket[i] = entry->next;
            free(entry);
        }
    free(counted->names);
}

static struct rp_counter_results_entry **bucket_of(struct rp_counter_results *counted,
                                                   uint64_t signal_va)
{
    return &counted->bucket[(signal_va >> 6) * 0x9e3779b97f4a7c15u >> 32 &
                            (RP_COUNTER_RESULTS_BUCKETS - 1)];
}

/*
 * Cycles of one XCD while the dispatch ran, summed over all as rocprofv3 does. On a real MI300X
 * (rocprof-compute's sample vcopy_MI300X_A1) SQ_CYCLES and SPI_CSN_WINDOW_VALID are 4 times
 * GRBM_COUNT, of 4 shader engines a die, and TCC_CYCLE 16 times, of 16 channels; the command
 * processor is busy all the time, and idle never.
 */
static void count_time(const struct rp_arch *arch, uint64_t ticks, uint64_t *values)
{
    const uint64_t dies = arch->xcc_count ? arch->xcc_count : 1;
    const uint64_t cycles = ticks * arch->engine_clock_mhz / arch->timestamp_mhz;
    const uint64_t engines = arch->shader_engines ? arch->shader_engines : dies;

    values[RP_COUNTER_GRBM_COUNT] = values[RP_COUNTER_GRBM_GUI_ACTIVE] = cycles * dies;
    values[RP_COUNTER_CPC_CPC_STAT_BUSY] = values[RP_COUNTER_CPF_CPF_STAT_BUSY] = cycles * dies;
    values[RP_COUNTER_CPC_CPC_STAT_IDLE] = values[RP_COUNTER_CPF_CPF_STAT_IDLE] = 0;
    values[RP_COUNTER_SQ_CYCLES] = values[RP_COUNTER_SPI_CSN_WINDOW_VALID] = cycles * engines;
    values[RP_COUNTER_TCC_CYCLE] = cycles * dies * arch->l2_channels_per_xcc;
}

/* FETCH_SIZE and WRITE_SIZE are in kilobytes, of which a dispatch may take a part. */
static double value_of(const uint64_t *values, uint32_t counter)
{
    const bool sizes = counter == RP_COUNTER_FETCH_SIZE || counter == RP_COUNTER_WRITE_SIZE;

    return sizes ? (double)values[counter] / 1024 : (double)values[counter];
}

static bool is_known_of(enum rp_device_counter_kind kind, enum rp_counting known, bool replayed)
{
    if (kind == RP_COUNTER_WAVES)
        return known != RP_COUNT_NOTHING && replayed;
    return known == RP_COUNT_MEMORY ||
           (known == RP_COUNT_INSTRUCTIONS && kind != RP_COUNTER_CACHES);
}

/* NAN for what is not known of this dispatch. */
static void note_values(const struct rp_counter_results *counted, const struct rp_arch *arch,
                        const struct rp_dispatch *dispatch, uint64_t ticks, bool replayed,
                        double *ret)
{
    uint64_t values[RP_DEVICE_COUNTERS];
    const enum rp_counting known =
        counted->count ? rp_dispatch_count(dispatch, values) : RP_COUNT_NOTHING;

    if (known != RP_COUNT_NOTHING)
        count_time(arch, ticks, values);
    for (uint32_t i = 0; i < counted->count; i++)
        ret[i] = is_known_of(counted->kind[i], known, replayed)
                     ? value_of(values, counted->value[i])
                     : NAN;
}

void rp_counter_results_add(struct rp_counter_results *counted, const struct rp_arch *arch,
                            const struct rp_dispatch *dispatch, uint64_t signal_va,
                            uint64_t start_ticks, uint64_t end_ticks)
{
    const struct rp_counts *counts = rp_dispatch_counts(dispatch);
    struct rp_rec_simulation replay = {.waves = counts->waves,
                                       .fast_clock_waves = counts->fast_clock_waves};
    struct rp_counter_results_entry *entry, **bucket;
    const bool replayed =
        rp_dispatch_simulated(dispatch, &replay.replayed_waves, &replay.error_share);

    if (!signal_va || !(counted->count || replayed))
        return;
    entry = malloc(sizeof *entry + counted->count * sizeof entry->value[0]);
    if (!entry)
        return;
    entry->signal_va = signal_va;
    entry->start_ticks = start_ticks;
    entry->end_ticks = end_ticks;
    entry->replay = replay;
    note_values(counted, arch, dispatch, end_ticks - start_ticks, replayed, entry->value);
    pthread_mutex_lock(&counted->lock);
    bucket = counted->pending < RP_COUNTER_RESULTS_PENDING ? bucket_of(counted, signal_va) : NULL;
    if (bucket) {
        entry->next = *bucket;
        *bucket = entry;
        counted->pending++;
    }
    pthread_mutex_unlock(&counted->lock);
    if (!bucket) /* nobody takes them: the collector is not there */
        free(entry);
}

bool rp_counter_results_take(struct rp_counter_results *counted, uint64_t signal_va,
                             uint64_t start_ticks, uint64_t end_ticks, double *ret_values,
                             struct rp_rec_simulation *ret_replay)
{
    struct rp_counter_results_entry **at, *entry;

    pthread_mutex_lock(&counted->lock);
    at = bucket_of(counted, signal_va);
    while (*at && ((*at)->signal_va != signal_va || (*at)->start_ticks != start_ticks ||
                   (*at)->end_ticks != end_ticks))
        at = &(*at)->next;
    entry = *at;
    if (entry) {
        *at = entry->next;
        counted->pending--;
    }
    pthread_mutex_unlock(&counted->lock);
    if (!entry)
        return false;
    if (counted->count)
        memcpy(ret_values, entry->value, counted->count * sizeof *ret_values);
    *ret_replay = entry->replay;
    free(entry);
    return true;
}

/* What waits here in all if nobody takes it: the collector is not there any more. */
#define MOST_BYTES ((size_t)512 << 20)

enum { MOST_ENTRIES = 1 << 16 };

/* A wish, or with bytes the trace that it has become. */
struct rp_trace_requests_entry {
    struct rp_trace_requests_entry *next;
    uint64_t signal_va, kernel_object_va;
    struct rp_threads_request wish;
    uint64_t start_ticks, end_ticks;
    void *bytes;
    size_t count;
};

void rp_trace_requests_release(struct rp_trace_requests *traced)
{
    while (traced->first) {
        struct rp_trace_requests_entry *entry = traced->first;
        traced->first = entry->next;
        free(entry->bytes);
        free(entry);
    }
}

static bool add(struct rp_trace_requests *traced, const struct rp_trace_requests_entry *what)
{
    struct rp_trace_requests_entry *entry = malloc(sizeof *entry);
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
static struct rp_trace_requests_entry *take_out(struct rp_trace_requests *traced,
                                                struct rp_trace_requests_entry **at)
{
    struct rp_trace_requests_entry *entry = *at;
    if (entry) {
        *at = entry->next;
        if (traced->last == &entry->next)
            traced->last = at;
        traced->bytes -= entry->count;
        __atomic_sub_fetch(&traced->pending, 1, __ATOMIC_RELEASE);
    }
    return entry;
}

bool rp_trace_requests_add(struct rp_trace_requests *traced, uint64_t signal_va,
                           uint64_t kernel_object_va, const struct rp_threads_request *wish)
{
    return add(traced, &(struct rp_trace_requests_entry){.signal_va = signal_va,
                                                         .kernel_object_va = kernel_object_va,
                                                         .wish = *wish});
}

bool rp_trace_requests_has(struct rp_trace_requests *traced, uint64_t signal_va,
                           uint64_t kernel_object_va, struct rp_threads_request *ret_wish)
{
    if (!__atomic_load_n(&traced->pending, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&traced->lock);
    struct rp_trace_requests_entry **at = &traced->first;
    while (*at && ((*at)->bytes || (*at)->signal_va != signal_va ||
                   (*at)->kernel_object_va != kernel_object_va))
        at = &(*at)->next;
    struct rp_trace_requests_entry *entry = take_out(traced, at);
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

void rp_trace_requests_begin(const struct rp_arch *arch, struct rp_dispatch *dispatch,
                             const struct rp_threads_request *wish)
{
    rp_dispatch_watch_threads(dispatch, arch, wish, tell);
}

void rp_trace_requests_keep(struct rp_trace_requests *traced, const struct rp_arch *arch,
                            struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                            uint64_t signal_va, uint64_t start_ticks, uint64_t end_ticks)
{
    struct rp_trace_requests_entry entry = {
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

bool rp_trace_requests_take(struct rp_trace_requests *traced, uint64_t signal_va,
                            uint64_t start_ticks, uint64_t end_ticks, void **ret_bytes,
                            size_t *ret_count)
{
    pthread_mutex_lock(&traced->lock);
    struct rp_trace_requests_entry **at = &traced->first;
    while (*at && (!(*at)->bytes || (*at)->signal_va != signal_va ||
                   (*at)->start_ticks != start_ticks || (*at)->end_ticks != end_ticks))
        at = &(*at)->next;
    struct rp_trace_requests_entry *entry = take_out(traced, at);
    pthread_mutex_unlock(&traced->lock);
    if (!entry)
        return false;
    *ret_bytes = entry->bytes;
    *ret_count = entry->count;
    free(entry);
    return true;
}
