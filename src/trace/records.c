/**
 * @file records.c
 * @brief This file reads record files.
 */
#include "trace/records.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define RP_TRACE_MAGIC "RPTRACE1"

RP_DEFINE_CLEANUP(struct rp_record_file, rp_record_file_close)

void rp_record_file_replace(struct rp_record_file *file, struct rp_record *records)
{
    free(file->aligned_records);
    file->records = file->aligned_records = records;
}

void rp_record_file_close(struct rp_record_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->string_count; i++)
        free(file->strings[i]);
    free(file->strings);
    free(file->strings_whole_bytes);
    free(file->aligned_records);
    if (file->map)
        munmap(file->map, file->map_bytes);
    free(file);
}

static int damaged(const struct rp_record_file *file, size_t index, const char *what,
                   struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "%s: record %zu: %s", file->name, index, what);
}

static int no_memory(const struct rp_record_file *file, struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "%s: out of memory", file->name);
}

/* --- strings ------------------------------------------------------------------------------- */

/* Allocates memory for the parts that have come, because the first part may claim any length. */
static int begin_string(struct rp_record_file *file, size_t index, struct rp_err *err)
{
    uint32_t id = file->records[index].u.string.id;
    size_t parts = 1;

    if (id != file->string_count + 1)
        return damaged(file, index, "string id is out of order", err);
    while (index + parts < file->count && file->records[index + parts].kind == RP_REC_STRING &&
           file->records[index + parts].u.string.id == id)
        parts++;
    file->strings[file->string_count] = calloc(parts, sizeof(file->records[0].u.string.text) + 1);
    if (!file->strings[file->string_count])
        return no_memory(file, err);
    file->string_count++;
    return 0;
}

/* Parts follow each other directly. */
static int read_string(struct rp_record_file *file, size_t index, struct rp_err *err)
{
    const struct rp_rec_string *part = &file->records[index].u.string;
    size_t done;
    int status;

    if (part->part == 0) {
        status = begin_string(file, index, err);
        if (status < 0)
            return status;
    } else {
        const struct rp_record *before = index > 0 ? &file->records[index - 1] : NULL;

        if (!before || before->kind != RP_REC_STRING || before->u.string.id != part->id ||
            before->u.string.part + 1 != part->part ||
            before->u.string.total_bytes != part->total_bytes)
            return damaged(file, index, "part of a string without its beginning", err);
    }
    done = file->strings_whole_bytes[part->id - 1];
    if (part->bytes == 0 || part->bytes > sizeof(part->text) ||
        part->bytes > part->total_bytes - done)
        return damaged(file, index, "string part has a wrong length", err);
    if (memchr(part->text, '\0', part->bytes))
        return damaged(file, index, "string holds a zero byte", err);
    memcpy(file->strings[part->id - 1] + done, part->text, part->bytes);
    file->strings_whole_bytes[part->id - 1] = done + part->bytes;
    return 0;
}

static bool known_string(const struct rp_record_file *file, uint32_t id)
{
    return id <= file->string_count;
}

/* --- records ------------------------------------------------------------------------------- */

/** The records so far have introduced these ids. */
struct known_ids {
    uint32_t queues, code_objects, kernels, call_sites;
    bool lossy; /**< what is referred to may have been among the records that were lost */
};

static const char *check_agent(const struct rp_record_file *file, const struct rp_rec_agent *agent)
{
    if (agent->type > 1)
        return "agent is neither CPU nor GPU";
    if (!known_string(file, agent->name_id) || !known_string(file, agent->product_name_id) ||
        !known_string(file, agent->vendor_name_id) || !known_string(file, agent->uuid_id))
        return "agent refers to an unknown string";
    return NULL;
}

static const char *check_dispatch(const struct known_ids *seen, const struct rp_rec_dispatch *d)
{
    if (d->kernel_id > seen->kernels && !seen->lossy)
        return "dispatch refers to an unknown kernel";
    if (d->queue_index >= seen->queues && !seen->lossy)
        return "dispatch refers to an unknown queue";
    if (d->end_ns < d->start_ns || d->end_ns > INT64_MAX)
        return "dispatch ends before it starts";
    return NULL;
}

static const char *check_call(const struct rp_record_file *file, const struct known_ids *seen,
                              uint32_t call_site, const struct rp_rec_call *call)
{
    if (call_site > seen->call_sites && !seen->lossy)
        return "call refers to an unknown call site";
    if (!known_string(file, call->name_id))
        return "call refers to an unknown string";
    if (call->arg_bytes > RP_REC_ARG_BYTES)
        return "call has too many arguments";
    if (call->end_ns < call->start_ns || call->end_ns > INT64_MAX)
        return "call ends before it starts";
    if (call->correlation_id == 0 || call->correlation_id > INT64_MAX)
        return "call has no identity";
    return NULL;
}

static const char *check_barrier(const struct known_ids *seen, const struct rp_rec_barrier *barrier)
{
    if (barrier->queue_index >= seen->queues && !seen->lossy)
        return "barrier refers to an unknown queue";
    if (barrier->type > RP_BARRIER_OTHER)
        return "barrier is of an unknown type";
    return barrier->wait_count > RP_REC_BARRIER_WAITS ? "barrier waits for too much" : NULL;
}

static const char *check_counters(const struct rp_record_file *file,
                                  const struct rp_rec_counters *counters)
{
    if (counters->count > RP_REC_COUNTER_VALUES)
        return "too many counters";
    for (uint32_t i = 0; i < counters->count; i++) {
        if (!counters->name_id[i] || !known_string(file, counters->name_id[i]))
            return "counter has an unknown name";
        if (!isfinite(counters->value[i]))
            return "counter is not a number";
    }
    return NULL;
}

static const char *check_simulated_time(const struct rp_rec_simulation *simulation)
{
    for (unsigned i = 0; i < RP_SHARED_RESOURCES; i++)
        if (!(simulation->needs_ns[i] >= 0 && simulation->needs_ns[i] <= 1e300))
            return "timing simulation says what cannot be";
    if (!simulation->replayed_waves && simulation->between_ns[0] > simulation->between_ns[1])
        return "timing simulation says what cannot be";
    return simulation->replayed_waves > simulation->waves || simulation->waves > INT64_MAX ||
                   simulation->fast_clock_waves > simulation->waves ||
                   !(simulation->error_share >= 0 && simulation->error_share <= 1e300)
               ? "timing simulation says what cannot be"
               : NULL;
}

static const char *check_failed_launch(const struct rp_record_file *file,
                                       const struct rp_rec_failed_launch *failed)
{
    return known_string(file, failed->api_name_id) && known_string(file, failed->kernel_name_id) &&
                   known_string(file, failed->error_name_id)
               ? NULL
               : "failed launch refers to an unknown string";
}

static const char *check_call_site(const struct rp_record_file *file, struct known_ids *seen,
                                   const struct rp_rec_call_site *site)
{
    if (site->id <= seen->call_sites)
        return "call site id is out of order";
    if (site->count == 0 || site->count > RP_REC_FRAMES)
        return "call site has too few or too many frames";
    for (uint32_t i = 0; i < site->count; i++)
        if (!known_string(file, site->module_id[i]))
            return "call site refers to an unknown string";
    seen->call_sites = site->id;
    return NULL;
}

/* Returns what is wrong with the record, or NULL. Lost records leave gaps in ids, but ids never
 * come again.
 */
static const char *check_record(const struct rp_record_file *file, struct known_ids *seen,
                                const struct rp_record *record)
{
    switch (record->kind) {
    case RP_REC_AGENT:
        return check_agent(file, &record->u.agent);
    case RP_REC_AGENT_PROP:
        return known_string(file, record->u.agent_prop.key_id) ? NULL
                                                               : "property has an unknown name";
    case RP_REC_QUEUE:
        if (record->u.queue.index < seen->queues || record->u.queue.index == UINT32_MAX)
            return "queue index is out of order";
        seen->queues = record->u.queue.index + 1;
        return NULL;
    case RP_REC_QUEUE_END:
        return record->u.queue.index < seen->queues || seen->lossy ? NULL
                                                                   : "end of an unknown queue";
    case RP_REC_CODE_OBJECT:
        if (record->u.code_object.id <= seen->code_objects)
            return "code object id is out of order";
        if (!known_string(file, record->u.code_object.uri_id))
            return "code object refers to an unknown string";
        seen->code_objects = record->u.code_object.id;
        return NULL;
    case RP_REC_KERNEL:
        if (record->u.kernel.id <= seen->kernels)
            return "kernel id is out of order";
        if (record->u.kernel.code_object_id > seen->code_objects && !seen->lossy)
            return "kernel refers to an unknown code object";
        if (!known_string(file, record->u.kernel.name_id) ||
            !known_string(file, record->u.kernel.display_name_id))
            return "kernel refers to an unknown string";
        seen->kernels = record->u.kernel.id;
        return NULL;
    case RP_REC_DISPATCH:
        return check_dispatch(seen, &record->u.dispatch);
    case RP_REC_COPY:
        return record->u.copy.end_ns < record->u.copy.start_ns || record->u.copy.end_ns > INT64_MAX
                   ? "copy ends before it starts"
                   : NULL;
    case RP_REC_BARRIER:
        return check_barrier(seen, &record->u.barrier);
    case RP_REC_WAIT:
        return record->u.wait.wait_count > RP_REC_WAITS ? "copy waits for too much" : NULL;
    case RP_REC_COUNTERS:
        return check_counters(file, &record->u.counters);
    case RP_REC_SIMULATION:
        return check_simulated_time(&record->u.simulation);
    case RP_REC_FAILED_LAUNCH:
        return check_failed_launch(file, &record->u.failed_launch);
    case RP_REC_CALL:
        return check_call(file, seen, record->call_site, &record->u.call);
    case RP_REC_CALL_SITE:
        return check_call_site(file, seen, &record->u.call_site);
    case RP_REC_PYTHON_FRAME:
        return known_string(file, record->u.python_frame.file_id) &&
                       known_string(file, record->u.python_frame.function_id)
                   ? NULL
                   : "Python frame refers to an unknown string";
    case RP_REC_RANGE_NAME:
        return known_string(file, record->u.range_name.name_id)
                   ? NULL
                   : "name of a range is an unknown string";
    default:
        return "unknown kind of record";
    }
}

static int read_records(struct rp_record_file *file, struct rp_err *err)
{
    struct known_ids seen = {.lossy = file->header.lost_records > 0};

    file->strings = calloc(file->count + 1, sizeof(*file->strings));
    file->strings_whole_bytes = calloc(file->count + 1, sizeof(*file->strings_whole_bytes));
    if (!file->strings || !file->strings_whole_bytes)
        return no_memory(file, err);
    for (size_t i = 0; i < file->count; i++) {
        const char *wrong;

        if (file->records[i].kind == RP_REC_STRING) {
            int status = read_string(file, i, err);

            if (status < 0)
                return status;
            continue;
        }
        wrong = check_record(file, &seen, &file->records[i]);
        if (wrong)
            return damaged(file, i, wrong, err);
    }
    return 0;
}

static int read_header(struct rp_record_file *file, const void *bytes, size_t size,
                       struct rp_err *err)
{
    struct rp_trace_header *header = &file->header;
    size_t present;

    if (size < sizeof(*header) || memcmp(bytes, RP_TRACE_MAGIC, sizeof(header->magic)) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s: not a trace of rocm-perf", file->name);
    memcpy(header, bytes, sizeof(*header));
    if (header->version != RP_TRACE_VERSION)
        return rp_fail(err, RP_BAD_INPUT, "%s: trace of version %u, this program reads %u",
                       file->name, header->version, RP_TRACE_VERSION);
    if (header->header_bytes != sizeof(*header) || header->record_bytes != sizeof(struct rp_record))
        return rp_fail(err, RP_BAD_INPUT, "%s: header of %u bytes and records of %u", file->name,
                       header->header_bytes, header->record_bytes);
    present = (size - sizeof(*header)) / sizeof(struct rp_record);
    if (header->committed_records > present) {
        header->committed_records = present;
        file->cut_short = true;
    }
    file->count = (size_t)header->committed_records;
    return 0;
}

int rp_record_file_parse(const char *name, const void *bytes, size_t size,
                         struct rp_record_file **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_record_file_close) struct rp_record_file *file =
        calloc(1, sizeof(*file));
    const uint8_t *records = (const uint8_t *)bytes + sizeof(struct rp_trace_header);
    int status;

    if (!file)
        return rp_fail(err, RP_ENVIRONMENT, "%s: out of memory", name);
    file->name = name;
    status = read_header(file, bytes, size, err);
    if (status < 0)
        return status;
    if ((uintptr_t)records % _Alignof(struct rp_record) == 0) {
        file->records = (const struct rp_record *)(const void *)records;
    } else if (file->count > 0) {
        file->aligned_records = malloc(file->count * sizeof(struct rp_record));
        if (!file->aligned_records)
            return no_memory(file, err);
        memcpy(file->aligned_records, records, file->count * sizeof(struct rp_record));
        file->records = file->aligned_records;
    }
    status = read_records(file, err);
    if (status < 0)
        return status;
    file->name = NULL;
    *ret = rp_steal(file);
    return 0;
}

int rp_record_file_open(const char *path, struct rp_record_file **ret, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    void *map;
    int status;

    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    if (fstat(fd, &info) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    if (!S_ISREG(info.st_mode) || info.st_size < (off_t)sizeof(struct rp_trace_header))
        return rp_fail(err, RP_BAD_INPUT, "%s: not a trace of rocm-perf", path);
    map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    status = rp_record_file_parse(path, map, (size_t)info.st_size, ret, err);
    if (status < 0) {
        munmap(map, (size_t)info.st_size);
        return status;
    }
    (*ret)->map = map;
    (*ret)->map_bytes = (size_t)info.st_size;
    return 0;
}
