#include "counted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/exec/exec.h"
#include "trace/records.h"

struct rp_counted_entry {
    struct rp_counted_entry *next;
    uint64_t signal_va, start_ticks, end_ticks;
    struct rp_rec_simulation replay;
    double value[]; /**< rp_counted.count of them */
};

static bool is_known(const struct rp_counted *counted, const char *name)
{
    for (uint32_t i = 0; i < counted->count; i++)
        if (!strcmp(counted->name[i], name))
            return true;
    return false;
}

void rp_counted_init(struct rp_counted *counted, const char *names)
{
    char *state = NULL;

    *counted = (struct rp_counted){.names = names && *names ? strdup(names) : NULL};
    pthread_mutex_init(&counted->lock, NULL);
    for (char *name = counted->names ? strtok_r(counted->names, ",", &state) : NULL; name;
         name = strtok_r(NULL, ",", &state)) {
        const struct rp_device_counter_row *row = rp_device_counter_find(name);
        if (!row || row->value < 0 || is_known(counted, name) || counted->count == RP_COUNTED_MOST)
            continue;
        counted->memory |= row->kind == RP_COUNTER_CACHES || row->kind == RP_COUNTER_WAVES;
        counted->kind[counted->count] = (uint8_t)row->kind;
        counted->name[counted->count] = name;
        counted->value[counted->count++] = (uint16_t)row->value;
    }
}

void rp_counted_release(struct rp_counted *counted)
{
    for (unsigned i = 0; i < RP_COUNTED_BUCKETS; i++)
        while (counted->bucket[i]) {
            struct rp_counted_entry *entry = counted->bucket[i];
            counted->bucket[i] = entry->next;
            free(entry);
        }
    free(counted->names);
}

static struct rp_counted_entry **bucket_of(struct rp_counted *counted, uint64_t signal_va)
{
    return &counted
                ->bucket[(signal_va >> 6) * 0x9e3779b97f4a7c15u >> 32 & (RP_COUNTED_BUCKETS - 1)];
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
static void note_values(const struct rp_counted *counted, const struct rp_arch *arch,
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

void rp_counted_note(struct rp_counted *counted, const struct rp_arch *arch,
                     const struct rp_dispatch *dispatch, uint64_t signal_va, uint64_t start_ticks,
                     uint64_t end_ticks)
{
    const struct rp_counts *counts = rp_dispatch_counts(dispatch);
    struct rp_rec_simulation replay = {.waves = counts->waves,
                                       .fast_clock_waves = counts->fast_clock_waves};
    struct rp_counted_entry *entry, **bucket;
    const bool replayed =
        rp_dispatch_replayed(dispatch, &replay.replayed_waves, &replay.error_share);

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
    bucket = counted->pending < RP_COUNTED_PENDING ? bucket_of(counted, signal_va) : NULL;
    if (bucket) {
        entry->next = *bucket;
        *bucket = entry;
        counted->pending++;
    }
    pthread_mutex_unlock(&counted->lock);
    if (!bucket) /* nobody takes them: the collector is not there */
        free(entry);
}

bool rp_counted_take(struct rp_counted *counted, uint64_t signal_va, uint64_t start_ticks,
                     uint64_t end_ticks, double *ret_values, struct rp_rec_simulation *ret_replay)
{
    struct rp_counted_entry **at, *entry;

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
