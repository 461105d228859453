/**
 * @file record_to_db.c
 * @brief Turns a record file into a rocpd database.
 */
#include "run/record_to_db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/kernel_names.h"
#include "run/overlap_time.h"
#include "trace/ranks.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/* The properties of a recorded agent are written as JSON. */

enum { MAX_MEM_BANKS = 8 };

static void put_text(struct rp_buf *json, const char *text)
{
    rp_buf_puts(json, "\"");
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;

        if (ch == '"' || ch == '\\')
            rp_buf_printf(json, "\\%c", ch);
        else if (ch < 0x20)
            rp_buf_printf(json, "\\u%04x", ch);
        else
            rp_buf_add(json, text, 1);
    }
    rp_buf_puts(json, "\"");
}

static void put_key(struct rp_buf *json, const char *key)
{
    if (json->len > 0 && json->data[json->len - 1] != '{')
        rp_buf_puts(json, ",");
    put_text(json, key);
    rp_buf_puts(json, ":");
}

static void put_number(struct rp_buf *json, const char *key, uint64_t value)
{
    put_key(json, key);
    rp_buf_printf(json, "%" PRIu64, value);
}

static void put_name(struct rp_buf *json, const char *key, const char *value)
{
    put_key(json, key);
    put_text(json, value);
}

/* Finds the name of the next property of the agent that begins with the prefix, and returns it
 * without the prefix; NULL at the end. An empty prefix finds the ones that belong to no array. */
static const char *next_property(const struct rp_record_file *file, uint64_t agent,
                                 const char *prefix, size_t *index, uint64_t *ret_value)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (; *index < count; ++*index) {
        const struct rp_rec_agent_prop *prop = &records[*index].u.agent_prop;
        const char *key;

        if (records[*index].kind != RP_REC_AGENT_PROP || prop->agent != agent)
            continue;
        key = rp_record_file_string(file, prop->key_id);
        if (!*key || strncmp(key, prefix, strlen(prefix)) != 0 || (!*prefix && strchr(key, '.')))
            continue;
        *ret_value = prop->value;
        ++*index;
        return key + strlen(prefix);
    }
    return NULL;
}

static bool put_bank(struct rp_buf *json, const struct rp_record_file *file, uint64_t agent,
                     unsigned bank)
{
    char prefix[24];
    const char *key;
    size_t index = 0;
    uint64_t value;

    snprintf(prefix, sizeof(prefix), "mem_banks.%u.", bank);
    key = next_property(file, agent, prefix, &index, &value);
    if (!key)
        return false;
    rp_buf_puts(json, bank ? ",{" : "{");
    for (; key; key = next_property(file, agent, prefix, &index, &value))
        put_number(json, key, value);
    rp_buf_puts(json, "}");
    return true;
}

/**
 * Makes a JSON object: the recorded integers under their keys, "mem_banks.0.width" as an entry of
 * the array "mem_banks", then names and indices.
 * @return owned by the caller (free)
 */
static char *agent_json(const struct rp_record_file *file, const struct rp_rec_agent *agent)
{
    rp_autobuf json = {0};
    const char *key;
    size_t index = 0;
    uint64_t value;

    rp_buf_puts(&json, "{");
    /* rocprofv3 has 1 for a CPU and 2 for a GPU. */
    put_number(&json, "type", agent->type == 1 ? 2 : 1);
    while ((key = next_property(file, agent->handle, "", &index, &value)))
        put_number(&json, key, value);
    put_name(&json, "name", rp_record_file_string(file, agent->name_id));
    put_name(&json, "vendor_name", rp_record_file_string(file, agent->vendor_name_id));
    put_name(&json, "product_name", rp_record_file_string(file, agent->product_name_id));
    put_name(&json, "uuid_text", rp_record_file_string(file, agent->uuid_id));
    put_number(&json, "node_id", agent->node_id);
    put_number(&json, "logical_node_id", agent->logical_index);
    put_number(&json, "logical_node_type_id", agent->type_index);
    put_key(&json, "mem_banks");
    rp_buf_puts(&json, "[");
    for (unsigned bank = 0; bank < MAX_MEM_BANKS && put_bank(&json, file, agent->handle, bank);
         bank++)
        ;
    rp_buf_puts(&json, "]}");
    return rp_buf_steal(&json);
}

RP_DEFINE_CLEANUP(struct rp_record_file, rp_record_file_close)
RP_DEFINE_CLEANUP(struct rp_store_writer, rp_store_writer_abandon)

enum {
    DEFAULT_QUEUE = 0, /**< rocprofv3's id for what has no queue: copies */
    DEFAULT_STREAM = 0,
    HOST_AGENT = 0, /**< handle that stands for "the host" in copies */
};

/** Holds ids of one table in ascending order. */
struct id_list {
    uint32_t *ids;
    size_t count;
};

/** All steps share these. */
struct conversion {
    const struct rp_record_to_db_options *opt;
    struct rp_record_file *file;
    const struct rp_trace_header *header;
    const struct rp_record *records;
    size_t count;
    struct rp_store_writer *writer;
    struct rp_hip_calls *calls;
    struct rp_call_sites *sites;
    struct rp_dispatch_rows *dispatch_rows;
    const struct rp_rec_agent **agents;
    size_t agent_count;
    /* These ids were put, ascending. */
    struct id_list code_objects, kernels;
    /* An object whose record was lost gets a stand-in behind the last id; 0 means not needed so
     * far. */
    int64_t last_agent;
    int64_t unknown_agents[2]; /**< CPU, GPU */
    int64_t unknown_code_object, unknown_kernel;
};

static bool is_software(const struct conversion *c)
{
    return (c->header->flags & RP_TRACE_SOFTWARE) != 0;
}

/* Without lost records a missing reference is damage, and refused. */
static bool is_lossy(const struct conversion *c)
{
    return c->header->lost_records > 0;
}

static const char *text(const struct conversion *c, uint32_t id)
{
    return rp_record_file_string(c->file, id);
}

/* --- identity ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31; /* This is the last step of splitmix64. */
    x *= 0x7fb5d329728ea185u;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44du;
    return x ^ x >> 33;
}

static void derive_guid(const struct conversion *c, struct rp_store_origin *origin)
{
    origin->guid_time_ms = c->opt->guid_time_ms;
    origin->guid_random[0] = c->opt->guid_random[0];
    origin->guid_random[1] = c->opt->guid_random[1];
    if (origin->guid_time_ms || origin->guid_random[0] || origin->guid_random[1])
        return;
    origin->guid_time_ms = c->header->init_ns / 1000000;
    origin->guid_random[0] = mix(c->header->init_ns + 1);
    origin->guid_random[1] = mix(c->header->init_ns ^ (uint64_t)c->header->pid << 32);
}

static int64_t node_hash(const char *hostname)
{
    uint64_t hash = 14695981039346656037u; /* The hash is FNV-1a. */

    for (; *hostname; hostname++)
        hash = (hash ^ (uint8_t)*hostname) * 1099511628211u;
    return (int64_t)(hash >> 1);
}

static int open_writer(struct conversion *c, const char *db_path, struct rp_err *err)
{
    const struct utsname *host = c->opt->host;
    struct rp_store_origin origin = {
        .hostname = c->opt->hostname ? c->opt->hostname : "",
        .system_name = host ? host->sysname : "",
        .release = host ? host->release : "",
        .version = host ? host->version : "",
        .hardware_name = host ? host->machine : "",
        .machine_id = c->opt->machine_id ? c->opt->machine_id : "",
        .device = is_software(c) ? "software" : "hardware",
        .complete = rp_record_file_complete(c->file),
    };

    origin.node_hash = node_hash(origin.hostname);
    derive_guid(c, &origin);
    return rp_store_writer_open(db_path, &origin, &c->writer, err);
}

static int put_count(struct conversion *c, const char *tag, uint64_t count, struct rp_err *err)
{
    char value[24];

    if (count == 0)
        return 0;
    snprintf(value, sizeof(value), "%" PRIu64, count);
    return rp_store_put_metadata(c->writer, tag, value, err);
}

static int put_losses(struct conversion *c, struct rp_err *err)
{
    int status = put_count(c, "rocm_perf_lost_dispatches", c->header->lost_dispatches, err);

    if (status == 0)
        status = put_count(c, "rocm_perf_lost_records", c->header->lost_records, err);
    if (status == 0)
        status = put_count(c, "rocm_perf_untraced_queues",
                           (c->header->flags & RP_TRACE_UNTRACED_QUEUE) != 0, err);
    if (status == 0)
        status = put_count(c, RP_STORE_UNRECORDED_TAG, c->header->unrecorded, err);
    return status;
}

/* A name has no newlines of its own here: it is shown, and nothing else. */
static int put_range_names(struct conversion *c, struct rp_err *err)
{
    rp_autobuf names = {0};

    for (size_t i = 0; i < c->count; i++) {
        const char *name = c->records[i].kind == RP_REC_RANGE_NAME
                               ? rp_record_file_string(c->file, c->records[i].u.range_name.name_id)
                               : "";

        if (*name && names.len > 0)
            rp_buf_add(&names, "\n", 1);
        for (; *name; name++)
            rp_buf_add(&names, *name == '\n' ? " " : name, 1);
    }
    return names.len
               ? rp_store_put_metadata(c->writer, RP_STORE_RANGES_TAG, rp_buf_text(&names), err)
               : 0;
}

/* Of the environment only the rank is recorded, as it stands there: {"PMI_RANK": "3"}. The file may
 * be damaged.
 * @return NULL: none, else to be freed */
static char *rank_environment(const struct rp_trace_header *header)
{
    const size_t length = strnlen(header->rank, sizeof header->rank);
    const char *equals = memchr(header->rank, '=', length);
    const size_t name = equals ? (size_t)(equals - header->rank) : 0;

    if (!name || length == sizeof header->rank || rp_rank_number(equals + 1) < 0)
        return NULL;
    for (size_t i = 0; i < RP_RANK_VARIABLES; i++)
        if (strlen(rp_rank_variables[i].rank) == name &&
            memcmp(rp_rank_variables[i].rank, header->rank, name) == 0)
            return rp_format("{\"%s\": \"%d\"}", rp_rank_variables[i].rank,
                             rp_rank_number(equals + 1));
    return NULL;
}

/* The clock of a software device is modelled, and the host's times of the process belong to another
 * clock, so they are unknown there. */
static int put_process(struct conversion *c, struct rp_err *err)
{
    rp_autofree char *environment = rank_environment(c->header);
    int64_t begin = is_software(c) ? 0 : (int64_t)c->header->init_ns;
    int64_t end = is_software(c) ? 0 : (int64_t)c->header->fini_ns;
    const struct rp_row_process row = {
        .pid = c->header->pid,
        .ppid = c->header->ppid,
        .init_ns = begin,
        .start_ns = begin,
        .fini_ns = end,
        .end_ns = end,
        .command = c->opt->command ? c->opt->command : "",
        .extdata = c->opt->process_extdata,
        .environment = environment,
    };

    if (c->opt->part && rp_store_put_metadata(c->writer, RP_STORE_PART_TAG, c->opt->part, err) < 0)
        return -(int)err->code;
    if (put_count(c, RP_STORE_RANKS_TAG, c->opt->ranks, err) < 0)
        return -(int)err->code;
    if (c->opt->run && rp_store_put_metadata(c->writer, RP_STORE_RUN_TAG, c->opt->run, err) < 0)
        return -(int)err->code;
    return rp_store_put_process(c->writer, &row, err);
}

/* --- threads, queues, streams -------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int put_threads(struct conversion *c, struct rp_err *err)
{
    rp_autofree uint32_t *tids = rp_alloc((c->count + 1) * sizeof(*tids));
    size_t used = 0;
    int status = 0;

    for (size_t i = 0; i < c->count; i++) {
        if (c->records[i].kind == RP_REC_DISPATCH)
            tids[used++] = c->records[i].u.dispatch.tid;
        else if (c->records[i].kind == RP_REC_COPY)
            tids[used++] = c->records[i].u.copy.tid;
        else if (c->records[i].kind == RP_REC_CALL)
            tids[used++] = c->records[i].u.call.tid;
    }
    qsort(tids, used, sizeof(*tids), by_value);
    for (size_t i = 0; i < used && status == 0; i++)
        if (i == 0 || tids[i] != tids[i - 1])
            status = rp_store_put_thread(c->writer, tids[i], err);
    return status;
}

static int64_t queue_id(uint32_t index)
{
    return (int64_t)index + 1;
}

static int put_queue(struct conversion *c, uint32_t index, struct rp_err *err)
{
    char name[32];
    const struct rp_row_queue row = {.id = queue_id(index), .name = name};

    snprintf(name, sizeof(name), "Queue %u", index);
    return rp_store_put_queue(c->writer, &row, err);
}

static int put_queues(struct conversion *c, struct rp_err *err)
{
    const struct rp_row_queue queue = {.id = DEFAULT_QUEUE, .name = "Default Queue"};
    const struct rp_row_queue stream = {.id = DEFAULT_STREAM, .name = "Default Stream"};
    int status = rp_store_put_queue(c->writer, &queue, err);

    if (status == 0)
        status = rp_store_put_stream(c->writer, &stream, err);
    for (size_t i = 0; i < c->count && status == 0; i++)
        if (c->records[i].kind == RP_REC_QUEUE)
            status = put_queue(c, c->records[i].u.queue.index, err);
    return status;
}

/* --- agents -------------------------------------------------------------------------------- */

static const struct rp_rec_agent *find_agent(const struct conversion *c, uint64_t handle)
{
    for (size_t i = 0; i < c->agent_count; i++) {
        const struct rp_rec_agent *agent = c->agents[i];

        if (handle == HOST_AGENT ? agent->type == 0 : agent->handle == handle)
            return agent;
    }
    return NULL;
}

/* Handle 0 is the host, while kernels and code refer to a GPU. */
static int unknown_agent(struct conversion *c, bool is_gpu, int64_t *ret, struct rp_err *err)
{
    const char *name = is_gpu ? "unknown GPU" : "unknown CPU";
    struct rp_row_agent row = {
        .id = c->last_agent + 1,
        .is_gpu = is_gpu,
        .absolute_index = c->last_agent + 1,
        .logical_index = (int64_t)c->agent_count,
        .name = name,
        .model_name = "",
        .vendor_name = "",
        .product_name = name,
        .user_name = "",
    };
    int status = 0;

    if (!c->unknown_agents[is_gpu]) {
        for (size_t i = 0; i < c->agent_count; i++)
            row.type_index += (c->agents[i]->type == 1) == is_gpu;
        row.logical_index += c->unknown_agents[!is_gpu] != 0;
        status = rp_store_put_agent(c->writer, &row, err);
        if (status == 0)
            c->unknown_agents[is_gpu] = c->last_agent = row.id;
    }
    *ret = c->unknown_agents[is_gpu];
    return status;
}

static int agent_id(struct conversion *c, uint64_t handle, int64_t *ret, struct rp_err *err)
{
    const struct rp_rec_agent *agent = find_agent(c, handle);

    if (!agent && is_lossy(c))
        return unknown_agent(c, handle != HOST_AGENT, ret, err);
    if (!agent)
        return rp_fail(err, RP_BAD_INPUT, "agent %" PRIx64 " is missing", handle);
    *ret = agent->node_id;
    return 0;
}

/* rocprofv3 puts the PCI device id into the column that the schema calls uuid. */
static int64_t pci_device_id(const struct conversion *c, const struct rp_rec_agent *agent)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct rp_rec_agent_prop *prop = &c->records[i].u.agent_prop;

        if (c->records[i].kind == RP_REC_AGENT_PROP && prop->agent == agent->handle &&
            strcmp(text(c, prop->key_id), "device_id") == 0)
            return (int64_t)prop->value;
    }
    return 0;
}

static int put_agent(struct conversion *c, const struct rp_rec_agent *agent, struct rp_err *err)
{
    rp_autofree char *extdata = agent_json(c->file, agent);
    const struct rp_row_agent row = {
        .id = agent->node_id,
        .is_gpu = agent->type == 1,
        .absolute_index = agent->node_id,
        .logical_index = agent->logical_index,
        .type_index = agent->type_index,
        .name = text(c, agent->name_id),
        .model_name = "",
        .vendor_name = text(c, agent->vendor_name_id),
        .product_name = text(c, agent->product_name_id),
        .user_name = "",
        .extdata = extdata,
        .device_id = pci_device_id(c, agent),
    };

    if (row.id > c->last_agent)
        c->last_agent = row.id;
    return rp_store_put_agent(c->writer, &row, err);
}

static int put_agents(struct conversion *c, struct rp_err *err)
{
    int status = 0;

    for (size_t i = 0; i < c->count; i++)
        c->agent_count += c->records[i].kind == RP_REC_AGENT;
    c->agents = rp_alloc((c->agent_count + 1) * sizeof(*c->agents));
    c->agent_count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->records[i].kind == RP_REC_AGENT)
            c->agents[c->agent_count++] = &c->records[i].u.agent;
    for (size_t i = 0; i < c->agent_count && status == 0; i++)
        status = put_agent(c, c->agents[i], err);
    return status;
}

/* --- code ---------------------------------------------------------------------------------- */

static void make_list(struct conversion *c, uint32_t kind, struct id_list *list)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        count += c->records[i].kind == kind;
    list->ids = rp_alloc((count + 1) * sizeof(*list->ids));
}

/* The reader accepts ids of a kind in ascending order only. */
static void append_id(struct id_list *list, uint32_t id)
{
    list->ids[list->count++] = id;
}

static int64_t id_behind(const struct id_list *list)
{
    return list->count ? (int64_t)list->ids[list->count - 1] + 1 : 1;
}

/* 0 is the tool's "unknown"; any other id may be that of a lost record. */
static bool needs_stand_in(const struct conversion *c, const struct id_list *list, uint32_t id)
{
    if (id == 0 || !is_lossy(c))
        return id == 0;
    return !list->count || !bsearch(&id, list->ids, list->count, sizeof(id), by_value);
}

static int put_code_object(struct conversion *c, const struct rp_rec_code_object *object,
                           struct rp_err *err)
{
    struct rp_row_code_object row = {
        .id = object->id,
        .uri = text(c, object->uri_id),
        .load_base = (int64_t)object->load_base,
        .load_size_bytes = (int64_t)object->load_bytes,
        .load_delta = object->load_delta,
        .storage_known = true,
        .storage_is_file = object->storage == 1,
    };
    int status = agent_id(c, object->agent, &row.agent_id, err);

    if (status < 0)
        return status;
    append_id(&c->code_objects, object->id);
    return rp_store_put_code_object(c->writer, &row, err);
}

/* Code whose record was lost needs a stand-in, or dispatches would vanish from joins. */
static int unknown_code_object(struct conversion *c, uint64_t agent, int64_t *ret,
                               struct rp_err *err)
{
    struct rp_row_code_object row = {.id = id_behind(&c->code_objects), .uri = ""};
    int status = 0;

    if (!c->unknown_code_object) {
        status = agent_id(c, agent, &row.agent_id, err);
        if (status == 0)
            status = rp_store_put_code_object(c->writer, &row, err);
        if (status == 0)
            c->unknown_code_object = row.id;
    }
    *ret = c->unknown_code_object;
    return status;
}

static int unknown_kernel(struct conversion *c, uint64_t agent, int64_t *ret, struct rp_err *err)
{
    struct rp_row_kernel row = {.id = id_behind(&c->kernels),
                                .kernel_name = "unknown kernel",
                                .display_name = "unknown kernel"};
    int status = 0;

    if (!c->unknown_kernel) {
        status = unknown_code_object(c, agent, &row.code_object_id, err);
        if (status == 0)
            status = rp_store_put_kernel(c->writer, &row, err);
        if (status == 0)
            c->unknown_kernel = row.id;
    }
    *ret = c->unknown_kernel;
    return status;
}

static int put_kernel(struct conversion *c, const struct rp_rec_kernel *kernel, struct rp_err *err)
{
    const char *name = text(c, kernel->name_id);
    rp_autofree char *display = kernel->display_name_id
                                    ? rp_strdup(text(c, kernel->display_name_id))
                                    : rp_demangle_kernel(c->opt->demangler, name);
    struct rp_row_kernel row = {
        .id = kernel->id,
        .code_object_id = kernel->code_object_id,
        .kernel_name = name,
        .display_name = display,
        .kernel_object = (int64_t)kernel->kernel_object,
        .kernarg_bytes = kernel->kernarg_bytes,
        .kernarg_align_bytes = kernel->kernarg_align_bytes,
        .group_bytes = kernel->group_bytes,
        .private_bytes = kernel->private_bytes,
        .sgpr_count = kernel->sgpr_count,
        .arch_vgpr_count = kernel->arch_vgpr_count,
        .accum_vgpr_count = kernel->accum_vgpr_count,
    };
    char extdata[96], size[32] = "", code[48] = "";
    int status = 0;

    if (kernel->wave_size != 0) /* No column holds it, nor what is in the kernel. */
        snprintf(size, sizeof(size), "\"wave_size\":%" PRIu32, kernel->wave_size);
    if (kernel->code_hash != 0)
        snprintf(code, sizeof(code), "\"code_hash\":\"%016" PRIx64 "\"%s", kernel->code_hash,
                 *size ? "," : "");
    snprintf(extdata, sizeof(extdata), "{%s%s}", code, size);
    row.extdata = extdata;
    append_id(&c->kernels, kernel->id);
    if (needs_stand_in(c, &c->code_objects, kernel->code_object_id))
        status = unknown_code_object(c, HOST_AGENT, &row.code_object_id, err);
    return status < 0 ? status : rp_store_put_kernel(c->writer, &row, err);
}

static int put_code(struct conversion *c, struct rp_err *err)
{
    int status = 0;

    make_list(c, RP_REC_CODE_OBJECT, &c->code_objects);
    make_list(c, RP_REC_KERNEL, &c->kernels);
    for (size_t i = 0; i < c->count && status == 0; i++)
        if (c->records[i].kind == RP_REC_CODE_OBJECT)
            status = put_code_object(c, &c->records[i].u.code_object, err);
    for (size_t i = 0; i < c->count && status == 0; i++)
        if (c->records[i].kind == RP_REC_KERNEL)
            status = put_kernel(c, &c->records[i].u.kernel, err);
    return status;
}

/* --- work ---------------------------------------------------------------------------------- */

static uint64_t order_of(const struct rp_record *record)
{
    return record->kind == RP_REC_DISPATCH ? record->u.dispatch.dispatch_id
                                           : record->u.copy.copy_id;
}

static int by_submission(const void *a, const void *b)
{
    const struct rp_record *x = *(const struct rp_record *const *)a;
    const struct rp_record *y = *(const struct rp_record *const *)b;

    if (order_of(x) != order_of(y))
        return order_of(x) < order_of(y) ? -1 : 1;
    return (x > y) - (x < y);
}

static int put_dispatch(struct conversion *c, const struct rp_record *record, int64_t id,
                        struct rp_err *err)
{
    const struct rp_rec_dispatch *d = &record->u.dispatch;
    struct rp_row_dispatch row = {
        .id = id,
        .tid = d->tid,
        .kernel_id = d->kernel_id,
        .dispatch_id = (int64_t)d->dispatch_id,
        .queue_id = queue_id(d->queue_index),
        .stream_id = rp_hip_calls_stream(c->calls, d->correlation_id),
        .correlation_id = (int64_t)d->correlation_id,
        .start_ns = (int64_t)d->start_ns,
        .end_ns = (int64_t)d->end_ns,
        .private_bytes = d->private_bytes,
        .group_bytes = d->group_bytes,
        .workgroup = {d->workgroup[0], d->workgroup[1], d->workgroup[2]},
        .grid = {d->grid[0], d->grid[1], d->grid[2]},
    };
    int status = agent_id(c, d->agent, &row.agent_id, err);

    if (status == 0 && needs_stand_in(c, &c->kernels, d->kernel_id))
        status = unknown_kernel(c, d->agent, &row.kernel_id, err);
    if (status == 0)
        status = rp_store_put_dispatch(c->writer, &row, err);
    return status < 0
               ? status
               : rp_dispatch_rows_put(c->dispatch_rows, d->dispatch_id, row.agent_id, id, err);
}

/* rocprofv3 has a name for a copy of unknown direction; the direction is unknown where an agent's
 * record was lost. */
static const char *copy_name(const struct rp_rec_agent *dst, const struct rp_rec_agent *src)
{
    static const char *const names[2][2] = {
        {"MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"},
        {"MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"},
    };

    if (!dst || !src)
        return "MEMORY_COPY_NONE";
    return names[src->type == 1][dst->type == 1];
}

static int put_copy(struct conversion *c, const struct rp_record *record, int64_t id,
                    struct rp_err *err)
{
    const struct rp_rec_copy *copy = &record->u.copy;
    struct rp_row_copy row = {
        .id = id,
        .tid = copy->tid,
        .start_ns = (int64_t)copy->start_ns,
        .end_ns = (int64_t)copy->end_ns,
        .name = copy_name(find_agent(c, copy->dst_agent), find_agent(c, copy->src_agent)),
        .dst_address = (int64_t)copy->dst_address,
        .src_address = (int64_t)copy->src_address,
        .bytes = (int64_t)copy->bytes,
        .queue_id = DEFAULT_QUEUE,
        .stream_id = rp_hip_calls_stream(c->calls, copy->correlation_id),
        .correlation_id = (int64_t)copy->correlation_id,
    };

    if (agent_id(c, copy->dst_agent, &row.dst_agent_id, err) < 0 ||
        agent_id(c, copy->src_agent, &row.src_agent_id, err) < 0)
        return rp_wrap(err, "copy %" PRId64, id);
    return rp_store_put_copy(c->writer, &row, err);
}

/* Says how the calls' times must be read: on the software device they are not measured. */
static int put_calls(struct conversion *c, struct rp_err *err)
{
    const char *times = is_software(c) ? "order" : "host";
    int status = 0;

    if (c->header->flags & RP_TRACE_HIP_CALLS)
        status = rp_store_put_metadata(c->writer, "rocm_perf_hip_calls", times, err);
    else if (c->header->flags & RP_TRACE_HIP_UNKNOWN)
        status = rp_store_put_metadata(c->writer, "rocm_perf_hip_calls", "unknown version", err);
    if (status == 0)
        status = rp_call_sites_put(c->sites, c->writer, err);
    return status < 0 ? status : rp_hip_calls_put(c->calls, c->sites, c->writer, err);
}

/* Records stand in order of completion, which may differ from run to run, so they are sorted. */
static int put_work(struct conversion *c, uint32_t kind,
                    int (*put)(struct conversion *c, const struct rp_record *record, int64_t id,
                               struct rp_err *err),
                    struct rp_err *err)
{
    rp_autofree const struct rp_record **sorted = rp_alloc((c->count + 1) * sizeof(*sorted));
    size_t used = 0;
    int status = 0;

    for (size_t i = 0; i < c->count; i++)
        if (c->records[i].kind == kind)
            sorted[used++] = &c->records[i];
    qsort(sorted, used, sizeof(*sorted), by_submission);
    for (size_t i = 0; i < used && status == 0; i++)
        status = put(c, sorted[i], (int64_t)i + 1, err);
    return status;
}

/* --- all of it ----------------------------------------------------------------------------- */

static int put_all(struct conversion *c, struct rp_err *err)
{
    static int (*const steps[])(struct conversion * c, struct rp_err * err) = {
        put_losses, put_range_names, put_process, put_threads,
        put_agents, put_queues,      put_calls,   put_code,
    };
    int status = 0;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == 0; i++)
        status = steps[i](c, err);
    if (status == 0)
        status = put_work(c, RP_REC_DISPATCH, put_dispatch, err);
    if (status == 0)
        status = put_work(c, RP_REC_COPY, put_copy, err);
    if (status == 0)
        status = rp_dependencies_put(c->file, c->writer, err);
    return status;
}

static int convert(struct conversion *c, const char *db_path, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_store_writer_abandon) struct rp_store_writer *writer = NULL;

    int status = open_writer(c, db_path, err);

    if (status < 0)
        return status;
    writer = c->writer;
    status = rp_dispatch_rows_open(c->file, c->opt, writer, &c->dispatch_rows, err);
    if (status == 0)
        status = rp_failed_launches_put(c->file, c->opt->demangler, writer, err);
    if (status == 0)
        status = put_all(c, err);
    rp_dispatch_rows_close(c->dispatch_rows);
    if (status < 0)
        return status;
    return rp_store_writer_commit(rp_steal(writer), err);
}

int rp_record_to_db(const char *trace_path, const char *db_path,
                    const struct rp_record_to_db_options *opt, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_record_file_close) struct rp_record_file *file = NULL;
    rp_autofree char *scratch = rp_format("%s.addresses", trace_path);
    struct conversion c = {.opt = opt};
    int status;

    if (rp_record_file_open(trace_path, &file, err) < 0)
        return rp_wrap(err, "read records");
    rp_overlap_time_share(file);
    c.file = file;
    c.header = rp_record_file_header(file);
    c.records = rp_record_file_records(file, &c.count);
    c.sites = rp_call_sites_read(file, opt->symbolizer, scratch);
    status = rp_hip_calls_read(file, &c.calls, err);
    if (status == 0)
        status = convert(&c, db_path, err);
    rp_hip_calls_free(c.calls);
    rp_call_sites_free(c.sites);
    free(c.agents);
    free(c.code_objects.ids);
    free(c.kernels.ids);
    return status < 0 ? rp_wrap(err, "convert %s", trace_path) : 0;
}
