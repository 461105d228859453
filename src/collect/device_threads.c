#include "collect/device_threads.h"

#include <ctype.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/demangle.h"
#include "collect/environment.h"
#include "collect/kernel_match.h"
#include "collect/threads_write.h"
#include "trace/records.h"

/** The device's model of time. */
#define RP_TIMING_VARIABLE "ROCM_PERF_DEVICE_TIMING"

/* --- asking -------------------------------------------------------------------------------- */

static uint32_t number_or(const char *text, uint32_t otherwise)
{
    return text ? (uint32_t)strtoul(text, NULL, strncmp(text, "0x", 2) == 0 ? 16 : 10) : otherwise;
}

/* "[2-3],[7]" or "2-3 7": whatever stands between the numbers. */
static void put_launches(struct rp_buf *to, const char *text)
{
    while (*text) {
        char *end;
        unsigned long first, last;

        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        first = last = strtoul(text, &end, 10);
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        rp_buf_printf(to, "%s%lu-%lu", to->len ? "," : "", first, last);
        text = end;
    }
}

static int set(const char *name, const struct rp_buf *value, struct rp_err *err)
{
    if (value->failed || setenv(name, rp_buf_text(value), 1) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

int rp_device_threads_check(const struct rp_thread_trace_options *options, struct rp_err *err)
{
    regex_t compiled;
    int rc;

    if (options->counters || options->counter_period || options->activity_period)
        return rp_fail(err, RP_USAGE,
                       "--att-perfcounters, --att-perfcounter-ctrl, --att-activity: the software "
                       "device has no counters in its thread traces; --pmc counts by dispatch");
    if (!options->kernels)
        return 0;
    rc = rp_kernel_regex_compile("--kernel-include-regex", options->kernels, &compiled, err);
    if (rc == 0)
        regfree(&compiled);
    return rc;
}

int rp_device_threads_ask(const struct rp_thread_trace_options *options, struct rp_err *err)
{
    rp_autobuf kernels = {0}, launches = {0}, waves = {0}, timing = {0};
    int rc;

    for (size_t i = 0; options->symbols && options->symbols[i]; i++)
        rp_buf_printf(&kernels, "%s%s", i ? "\n" : "", options->symbols[i]);
    put_launches(&launches, options->iterations ? options->iterations : "1");
    rp_buf_printf(&waves, "%" PRIx32 " %" PRIx32 " %" PRIx32 " %zx",
                  number_or(options->target_cu, RP_THREADS_ANY_CU),
                  number_or(options->shader_engines, 1), number_or(options->simd_select, 0xf),
                  options->buffer_bytes
                      ? number_or(options->buffer_bytes, 0) / sizeof(struct rp_threads_row)
                      : RP_THREADS_ROWS);
    rp_buf_puts(&timing, "detailed");
    rc = set(RP_TIMING_VARIABLE, &timing, err);
    if (rc == 0)
        rc = set(RP_THREADS_KERNELS_VARIABLE, &kernels, err);
    if (rc == 0)
        rc = set(RP_THREADS_LAUNCHES_VARIABLE, &launches, err);
    return rc < 0 ? rc : set(RP_THREADS_WAVES_VARIABLE, &waves, err);
}

void rp_device_threads_ask_nothing(const char *timing)
{
    if (timing)
        setenv(RP_TIMING_VARIABLE, timing, 1);
    else
        unsetenv(RP_TIMING_VARIABLE);
    unsetenv(RP_THREADS_KERNELS_VARIABLE);
    unsetenv(RP_THREADS_LAUNCHES_VARIABLE);
    unsetenv(RP_THREADS_WAVES_VARIABLE);
}

/* --- a process ----------------------------------------------------------------------------- */

struct process {
    const char *record_path;
    struct rp_record_file *records;
    struct rp_loaded_code *objects;
    size_t object_count;
};

static void free_process(struct process *p)
{
    for (size_t i = 0; i < p->object_count; i++) {
        free(p->objects[i].path);
        rp_elf_functions_free(&p->objects[i].functions);
    }
    free(p->objects);
    rp_record_file_close(p->records);
}

static int read_object(struct process *p, const struct rp_rec_code_object *from, struct rp_err *err)
{
    struct rp_loaded_code *object = &p->objects[p->object_count++];
    rp_autofree char *path =
        rp_format("%s" RP_THREADS_CODE_SUFFIX "%" PRIu32, p->record_path, from->id);

    *object = (struct rp_loaded_code){.id = from->id,
                                      .load_base = from->load_base,
                                      .load_bytes = from->load_bytes,
                                      .load_delta = from->load_delta};
    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!rp_path_exists(path)) /* none of its kernels is traced */
        return 0;
    object->path = rp_steal(path);
    return rp_elf_functions_read(object->path, &object->functions, err);
}

static int open_process(const char *record_path, struct process *p, struct rp_err *err)
{
    size_t count, objects = 0;
    const struct rp_record *records;
    int rc = rp_record_file_open(record_path, &p->records, err);

    p->record_path = record_path;
    if (rc < 0)
        return rc;
    records = rp_record_file_records(p->records, &count);
    for (size_t i = 0; i < count; i++)
        objects += records[i].kind == RP_REC_CODE_OBJECT;
    p->objects = calloc(objects + 1, sizeof *p->objects);
    if (!p->objects)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count && rc == 0; i++)
        if (records[i].kind == RP_REC_CODE_OBJECT)
            rc = read_object(p, &records[i].u.code_object, err);
    return rc;
}

static const struct rp_rec_agent *agent_of(const struct process *p, uint64_t dispatch)
{
    size_t count;
    const struct rp_record *r = rp_record_file_records(p->records, &count);
    uint64_t agent = 0;

    for (size_t i = 0; i < count; i++)
        if (r[i].kind == RP_REC_DISPATCH && r[i].u.dispatch.dispatch_id == dispatch)
            agent = r[i].u.dispatch.agent;
    for (size_t i = 0; i < count; i++)
        if (r[i].kind == RP_REC_AGENT && r[i].u.agent.handle == agent)
            return &r[i].u.agent;
    return NULL;
}

/* Whether "0,2" has the number. */
static bool lists(const char *list, uint32_t number)
{
    for (char *end; *list; list = *end ? end + 1 : end) {
        unsigned long value = strtoul(list, &end, 10);

        if (end != list && value == number)
            return true;
        end += strcspn(end, ",");
    }
    return false;
}

/* --- traces -------------------------------------------------------------------------------- */

struct conversion {
    const struct rp_thread_trace_options *options;
    const char *symbolizer; /**< NULL: none */
    struct rp_demangler *demangler;
    const char *dir;
    size_t written;
    size_t elsewhere; /**< on GPUs that were not chosen */
};

/* Agents are called by their nodes: handles are addresses, of another value in every run. */
static int convert(struct conversion *c, const struct process *p, const char *path,
                   struct rp_err *err)
{
    const uint64_t dispatch = strtoull(strrchr(path, '-') + 1, NULL, 10);
    const struct rp_rec_agent *agent = agent_of(p, dispatch);
    rp_cleanup(rp_threads_file_close) struct rp_threads_file file = {0};
    rp_cleanup(rp_threads_listing_free) struct rp_threads_listing listing = {0};
    rp_autofree char *scratch = rp_format("%s.addresses", path);
    int rc;

    if (!scratch)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!agent) /* its record was lost: nobody would know what this is about */
        return 0;
    if (c->options->gpus && !lists(c->options->gpus, agent->type_index)) {
        c->elsewhere++;
        return 0;
    }
    rc = rp_threads_file_open(path, &file, err);
    if (rc == 0)
        rc = rp_threads_list(&file, p->objects, p->object_count, c->symbolizer, scratch, &listing,
                             err);
    if (rc == 0)
        rc = rp_threads_write(&file, &listing, c->demangler, c->dir, agent->node_id, dispatch, err);
    c->written += rc == 0;
    return rc < 0 ? rp_wrap(err, "thread trace of dispatch %" PRIu64, dispatch) : 0;
}

static int convert_process(struct conversion *c, const char *record_path, struct rp_err *err)
{
    rp_autofree char *literal = rp_path_literal(record_path);
    rp_autofree char *pattern = literal ? rp_format("%s" RP_THREADS_SUFFIX "*", literal) : NULL;
    rp_cleanup(free_process) struct process p = {0};
    glob_t found = {0};
    int rc = 0;

    if (!pattern || glob(pattern, 0, NULL, &found) == GLOB_NOSPACE)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (found.gl_pathc)
        rc = open_process(record_path, &p, err);
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = convert(c, &p, found.gl_pathv[i], err);
    globfree(&found);
    return rc;
}

static int warn(struct rp_run *run, const char *text, struct rp_err *err)
{
    char **grown = reallocarray(run->warnings, run->warning_count + 1, sizeof *grown);

    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    run->warnings = grown;
    grown[run->warning_count] = strdup(text);
    return grown[run->warning_count] ? (run->warning_count++, 0)
                                     : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* Dispatches of every process are numbered from 1: of several processes each has a folder. */
static char *folder_of(const char *dir, size_t process)
{
    return process ? rp_format("%s/process-%zu", dir, process + 1) : strdup(dir);
}

int rp_device_threads_convert(const struct rp_run_request *request,
                              const struct rp_thread_trace_options *options,
                              const char *const *record_files, size_t count, struct rp_run *run,
                              struct rp_err *err)
{
    rp_autofree char *dir = rp_format("%s/%s-threads", request->out_dir, request->db_prefix);
    rp_autofree char *symbolizer = rp_find_symbolizer(request->env);
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    size_t written = 0, processes = 0;
    int rc = dir ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    rp_demangler_open(request->env, &demangler);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rp_autofree char *folder = folder_of(dir, processes);
        struct conversion c = {
            .options = options, .symbolizer = symbolizer, .demangler = &demangler, .dir = folder};

        rc = folder ? convert_process(&c, record_files[i], err)
                    : rp_fail(err, RP_ENVIRONMENT, "out of memory");
        written += c.written;
        run->threads_elsewhere += c.elsewhere;
        processes += c.written > 0;
    }
    if (rc == 0 && written && !symbolizer)
        rc = warn(run, "no llvm-symbolizer in ROCm or $PATH: the thread trace has no source lines",
                  err);
    if (rc == 0 && processes > 1)
        rc = warn(run, "several processes were traced: all but the first are in process-N", err);
    if (rc == 0 && written)
        run->thread_trace = rp_steal(dir);
    return rc;
}
