/**
 * @file software_device.c
 * @brief This file says what the software device knows of its dispatches besides their times:
 * hardware counters, and what the times are from.
 */
#include "tracer/software_device.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/records.h"
#include "tracer/tracer.h"

const struct rp_device_table *rp_software_device_find(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, RP_DEVICE_TABLE_SYMBOL);
    const struct rp_device_table *table;
    rp_device_table_fn *find;

    memcpy(&find, &symbol, sizeof(find));
    table = find ? find() : NULL;
    return table && table->version == RP_DEVICE_TABLE_VERSION ? table : NULL;
}

static void append(struct rp_tool *tool, uint64_t dispatch_id, const double *values, uint32_t count)
{
    struct rp_record record = {.kind = RP_REC_COUNTERS};
    struct rp_rec_counters *c = &record.u.counters;

    c->dispatch_id = dispatch_id;
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            c->name_id[c->count] = rp_trace_string(&tool->trace, tool->device->counter_name(i));
            c->value[c->count++] = values[i];
        }
        if (c->count == RP_REC_COUNTER_VALUES || (c->count && i + 1 == count)) {
            rp_trace_append(&tool->trace, &record);
            c->count = 0;
        }
    }
}

/* Then every dispatch has a row of its replay, or of its bounds. */
static bool has_rows(const struct rp_device_table *device)
{
    uint32_t version;
    const uint32_t timing = device->timing(&version);

    return timing != RP_TRACE_TIMING_NONE && timing != RP_TRACE_TIMING_OFF;
}

static void record_counters(struct rp_tool *tool, const struct rp_pending *entry)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)entry->signal;
    const uint64_t dispatch_id = entry->rec.dispatch.dispatch_id;
    struct rp_record record = {.kind = RP_REC_SIMULATION};
    uint32_t count = tool->device ? tool->device->counter_count() : 0;
    double *values;

    if (!tool->device)
        return;
    values = malloc((count + 1) * sizeof(*values));
    if (values && tool->device->take(entry->signal, raw->start_ts, raw->end_ts, values,
                                     &record.u.simulation)) {
        append(tool, dispatch_id, values, count);
        record.u.simulation.dispatch_id = dispatch_id;
        if (record.u.simulation.replayed_waves || record.u.simulation.between_ns[1] > 0)
            rp_trace_append(&tool->trace, &record);
    } else if (count || has_rows(tool->device)) {
        rp_trace_count_lost(&tool->trace); /* Memory has ended, here or in the device. */
    }
    free(values);
}

void rp_software_device_forget(struct rp_tool *tool, const struct rp_pending *entry)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)entry->signal;
    struct rp_rec_simulation simulation;
    double *values;

    if (!tool->device || entry->way == RP_PENDING_COPY)
        return;
    values = malloc((tool->device->counter_count() + 1) * sizeof(*values));
    if (values)
        tool->device->take(entry->signal, raw->start_ts, raw->end_ts, values, &simulation);
    free(values);
}

/* --- what is wanted ------------------------------------------------------------------------ */

/* Reads ranges such as "1-1,5-7". Without a text it is the first launch, as in rocprofv3. */
static void read_launches(struct rp_thread_choice *c, const char *text)
{
    uint64_t first, last;
    int length;

    while (text && c->range_count < RP_THREADS_MOST_RANGES &&
           sscanf(text, "%" SCNu64 "-%" SCNu64 "%n", &first, &last, &length) == 2) {
        c->launches[c->range_count].first = first;
        c->launches[c->range_count++].last = last;
        text += length + (text[length] == ',');
    }
    if (!c->range_count)
        c->launches[c->range_count++].first = c->launches[0].last = 1;
}

void rp_threads_choose(struct rp_tool *tool, const char *path)
{
    struct rp_thread_choice *c = &tool->threads;
    const char *waves = secure_getenv(RP_THREADS_WAVES_VARIABLE);

    *c = (struct rp_thread_choice){
        .wish = {.cu = RP_THREADS_ANY_CU, .engines = 1, .simds = 0xf, .rows = RP_THREADS_ROWS}};
    if (!tool->device)
        return;
    c->kernels = secure_getenv(RP_THREADS_KERNELS_VARIABLE);
    if (c->kernels)
        c->path = strdup(path);
    if (!c->path)
        c->kernels = NULL;
    if (waves && sscanf(waves, "%" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32, &c->wish.cu,
                        &c->wish.engines, &c->wish.simds, &c->wish.rows) != 4)
        rp_tool_log(tool, RP_THREADS_WAVES_VARIABLE "=%s is not understood", waves);
    read_launches(c, secure_getenv(RP_THREADS_LAUNCHES_VARIABLE));
}

static bool is_named(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; *at;) {
        size_t line = strcspn(at, "\n");

        if (line == length && memcmp(at, name, length) == 0)
            return true;
        at += line + (at[line] == '\n');
    }
    return false;
}

bool rp_threads_kernel(struct rp_tool *tool, uint32_t id, const char *symbol)
{
    struct rp_thread_choice *c = &tool->threads;
    uint32_t count = c->kernel_count;

    if (!c->kernels || !is_named(c->kernels, symbol))
        return false;
    if (count == RP_THREADS_MOST_KERNELS) {
        rp_tool_log(tool, "kernel=%u is not traced: there are too many", id);
        return false;
    }
    c->kernel[count].id = id;
    __atomic_store_n(&c->kernel_count, count + 1, __ATOMIC_RELEASE);
    return true;
}

/* --- files --------------------------------------------------------------------------------- */

static int write_all(int fd, const void *bytes, uint64_t count)
{
    for (const char *at = bytes; count;) {
        ssize_t written = write(fd, at, count < 1 << 30 ? count : 1 << 30);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        at += written;
        count -= (uint64_t)written;
    }
    return 0;
}

/* Half a file is none. */
static void write_file(struct rp_tool *tool, const char *suffix, uint64_t number, const void *bytes,
                       uint64_t count)
{
    char *path;
    int fd, failed;

    if (asprintf(&path, "%s%s%" PRIu64, tool->threads.path, suffix, number) < 0) {
        rp_trace_count_lost(&tool->trace);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    failed = fd < 0 || write_all(fd, bytes, count) < 0;
    if (fd >= 0)
        failed |= close(fd) < 0;
    rp_tool_log(tool, "%s: %" PRIu64 " bytes%s", path, count, failed ? " cannot be written" : "");
    if (failed) {
        unlink(path);
        rp_trace_count_lost(&tool->trace);
    }
    free(path);
}

void rp_threads_code(struct rp_tool *tool, uint32_t id, const void *bytes, uint64_t count)
{
    write_file(tool, RP_THREADS_CODE_SUFFIX, id, bytes, count);
}

/* --- dispatches ---------------------------------------------------------------------------- */

static bool is_chosen(struct rp_thread_choice *c, uint32_t kernel)
{
    uint32_t count = __atomic_load_n(&c->kernel_count, __ATOMIC_ACQUIRE), at = 0;
    uint32_t launch;

    while (at < count && c->kernel[at].id != kernel)
        at++;
    if (at == count)
        return false;
    launch = __atomic_add_fetch(&c->kernel[at].launches, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < c->range_count; i++)
        if (launch >= c->launches[i].first && launch <= c->launches[i].last)
            return true;
    return false;
}

void rp_threads_submit(struct rp_tool *tool, struct rp_pending *entry,
                       const struct rp_hsa_packet *packet)
{
    struct rp_thread_choice *c = &tool->threads;

    if (!c->kernels || !is_chosen(c, entry->rec.dispatch.kernel_id))
        return;
    entry->traced = tool->device->trace_threads(entry->signal, packet->kernel_object, &c->wish);
    if (!entry->traced)
        rp_trace_count_lost(&tool->trace);
}

static void write_threads(struct rp_tool *tool, const struct rp_pending *entry)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)entry->signal;
    void *bytes;
    size_t count;

    if (!entry->traced)
        return;
    if (!tool->device->take_threads(entry->signal, raw->start_ts, raw->end_ts, &bytes, &count)) {
        rp_trace_count_lost(&tool->trace);
        return;
    }
    write_file(tool, RP_THREADS_SUFFIX, entry->rec.dispatch.dispatch_id, bytes, count);
    free(bytes);
}

void rp_software_device_finish(struct rp_tool *tool, const struct rp_pending *entry)
{
    record_counters(tool, entry);
    write_threads(tool, entry);
}
