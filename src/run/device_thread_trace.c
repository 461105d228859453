#include "run/device_thread_trace.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "trace/code_object.h"
#include "trace/records.h"

static int code_listing_make(const struct rp_device_trace_file *file,
                             const struct rp_loaded_code_object *objects, size_t object_count,
                             const char *symbolizer, const char *scratch,
                             struct rp_code_listing *ret, struct rp_err *err);
static void code_listing_free(struct rp_code_listing *listing);

/* --- places of the arrays ------------------------------------------------------------------ */

struct cursor {
    const char *at;
    size_t left;
};

/* Returns the next array, or NULL when the file ends before. */
static const void *take(struct cursor *c, uint64_t count, size_t bytes)
{
    const char *from = c->at;
    size_t size;

    if (count > c->left / bytes)
        return NULL;
    size = ((size_t)count * bytes + 7) & ~(size_t)7;
    if (size > c->left)
        return NULL;
    c->at += size;
    c->left -= size;
    return from;
}

static int find_arrays(const void *bytes, size_t size, struct rp_device_trace_file *f,
                       struct rp_err *err)
{
    const struct rp_threads_header *h = bytes;
    struct cursor c = {.at = bytes, .left = size};

    if (size < sizeof *h || memcmp(h->magic, RP_THREADS_MAGIC, sizeof h->magic) != 0)
        return rp_fail(err, RP_BAD_INPUT, "it is no thread trace of the software device");
    if (h->version != RP_THREADS_VERSION || h->header_bytes != sizeof *h)
        return rp_fail(err, RP_BAD_INPUT, "version %" PRIu32 " of thread traces is not known",
                       h->version);
    f->header = take(&c, 1, sizeof *h);
    f->code = take(&c, h->code_count, sizeof *f->code);
    f->text = f->code ? take(&c, h->text_bytes, 1) : NULL;
    f->wave = f->text ? take(&c, h->wave_count, sizeof *f->wave) : NULL;
    f->row = f->wave ? take(&c, h->row_count, sizeof *f->row) : NULL;
    f->wait = f->row ? take(&c, h->wait_count, sizeof *f->wait) : NULL;
    f->event = f->wait ? take(&c, h->event_count, sizeof *f->event) : NULL;
    return f->event ? 0 : rp_fail(err, RP_BAD_INPUT, "it is cut short");
}

/* --- contents ------------------------------------------------------------------------------ */

static int check_code(const struct rp_device_trace_file *f, struct rp_err *err)
{
    const struct rp_threads_header *h = f->header;

    if (h->text_bytes && f->text[h->text_bytes - 1])
        return rp_fail(err, RP_BAD_INPUT, "its last text does not end");
    for (uint64_t i = 0; i < h->code_count; i++)
        if (f->code[i].text >= h->text_bytes || (i && f->code[i].pc <= f->code[i - 1].pc))
            return rp_fail(err, RP_BAD_INPUT, "instruction %" PRIu64 " is damaged", i);
    return 0;
}

static bool is_whole(const struct rp_device_trace_file *f, const struct rp_threads_wave *w)
{
    const struct rp_threads_header *h = f->header;
    uint64_t now = w->begin;

    if (w->first_row > h->row_count || w->row_count > h->row_count - w->first_row ||
        w->first_wait > h->wait_count || w->wait_count > h->wait_count - w->first_wait ||
        w->end < w->begin || w->engine >= 32 || w->simd >= 4 || w->slot >= 8)
        return false;
    for (uint64_t i = w->first_row; i < w->first_row + w->row_count; i++) {
        const struct rp_threads_row *row = &f->row[i];

        if (row->code >= h->code_count || row->clock < now ||
            row->stall_clocks > row->latency_clocks || row->clock > w->end ||
            row->latency_clocks > w->end - row->clock)
            return false;
        now = row->clock + row->latency_clocks;
    }
    return true;
}

static int check_waves(const struct rp_device_trace_file *f, struct rp_err *err)
{
    const struct rp_threads_header *h = f->header;

    for (uint64_t i = 0; i < h->wave_count; i++)
        if (!is_whole(f, &f->wave[i]))
            return rp_fail(err, RP_BAD_INPUT, "wave %" PRIu64 " is damaged", i);
    for (uint64_t i = 0; i < h->wait_count; i++)
        if (f->wait[i].code >= h->code_count || f->wait[i].on >= h->code_count)
            return rp_fail(err, RP_BAD_INPUT, "wait %" PRIu64 " is damaged", i);
    for (uint64_t i = 0; i < h->event_count; i++)
        if (f->event[i].engine >= 32)
            return rp_fail(err, RP_BAD_INPUT, "event %" PRIu64 " is damaged", i);
    if (!h->engine_mhz || !h->timestamp_mhz)
        return rp_fail(err, RP_BAD_INPUT, "its clocks are missing");
    return 0;
}

/** Parses a trace. @p bytes must outlive the reader.
 * @return 0; RP_BAD_INPUT when it does not follow the format */
static int device_trace_parse(const void *bytes, size_t size, struct rp_device_trace_file *ret,
                              struct rp_err *err)
{
    struct rp_device_trace_file f = {0};
    int rc = find_arrays(bytes, size, &f, err);

    if (rc == 0)
        rc = check_code(&f, err);
    if (rc == 0)
        rc = check_waves(&f, err);
    if (rc == 0)
        *ret = f;
    return rc;
}

/* --- files --------------------------------------------------------------------------------- */

/** @return 0, RP_BAD_INPUT, RP_ENVIRONMENT when it cannot be read */
static int device_trace_open(const char *path, struct rp_device_trace_file *ret, struct rp_err *err)
{
    void *bytes = NULL;
    size_t size = 0;
    int rc = rp_read_file(path, SIZE_MAX, RP_ENVIRONMENT, &bytes, &size, err);

    if (rc < 0)
        return rc;
    rc = device_trace_parse(bytes, size, ret, err);
    if (rc == 0)
        ret->bytes = bytes;
    else
        free(bytes);
    return rc;
}

static void device_trace_close(struct rp_device_trace_file *file)
{
    free(file->bytes);
    *file = (struct rp_device_trace_file){0};
}

enum { MOST_BYTES = 1 << 30 };

/* --- functions ----------------------------------------------------------------------------- */

static void copy_functions(const struct rp_code_functions *from,
                           struct rp_code_object_functions *ret)
{
    ret->at = rp_alloc_zero(from->count + 1, sizeof *ret->at);
    for (size_t i = 0; i < from->count; i++) {
        const struct rp_code_function *f = &from->at[i];

        ret->at[i] =
            (struct rp_code_object_function){.symbol = rp_strndup(f->symbol, f->symbol_bytes),
                                             .address = f->address,
                                             .bytes = f->bytes};
        ret->count++;
    }
}

static void rp_code_object_functions_free(struct rp_code_object_functions *functions);

/** @return 0, RP_BAD_INPUT when it is no ELF file, RP_ENVIRONMENT */
static int code_object_functions_read(const char *path, struct rp_code_object_functions *ret,
                                      struct rp_err *err)
{
    rp_cleanup(rp_code_functions_free) struct rp_code_functions found = {0};
    struct rp_code_object_functions functions = {0};
    struct rp_code_elf elf;
    rp_autofree void *bytes = NULL;
    size_t size;
    int rc = rp_read_file(path, MOST_BYTES, RP_ENVIRONMENT, &bytes, &size, err);

    if (rc < 0)
        return rc;
    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT, "%s is no ELF file", path);
    if (rp_code_functions_read(&elf, &found) < 0)
        rp_memory_ended();
    copy_functions(&found, &functions);
    *ret = functions;
    return 0;
}

static void free_contents(struct rp_code_identity **contents)
{
    rp_code_identity_free(*contents);
}

/* Returns GROUP_SEGMENT_FIXED_SIZE of a kernel's descriptor, its first word (LLVM's AMDGPU user
 * guide, "Kernel Descriptor"). */
static uint32_t lds_of_descriptor(const void *bytes, size_t size, const char *descriptor)
{
    struct rp_code_elf elf;
    Elf64_Sym symbol;
    const uint8_t *at = NULL;
    uint32_t ret = 0;

    if (rp_code_elf_open(bytes, size, &elf) && rp_code_elf_find(&elf, descriptor, &symbol))
        at = rp_code_elf_at(&elf, symbol.st_value, RP_CODE_DESCRIPTOR_BYTES);
    if (at)
        memcpy(&ret, at, sizeof ret);
    return ret;
}

/** Learns rp_code_identity_hash and the LDS of a kernel, whose name is without .kd. They are 0 when
 * that cannot be read. */
static void read_kernel(const char *path, const char *symbol, struct rp_code_listing *ret)
{
    rp_autofree char *descriptor = rp_format("%s.kd", symbol);
    rp_cleanup(free_contents) struct rp_code_identity *contents = NULL;
    rp_autofree void *bytes = NULL;
    struct rp_err ignored = RP_ERR_INIT;
    size_t size;

    if (!descriptor || rp_read_file(path, MOST_BYTES, RP_ENVIRONMENT, &bytes, &size, &ignored) < 0)
        return;
    contents = rp_code_identity_open(bytes, size);
    ret->kernel_hash = contents ? rp_code_identity_hash(contents, descriptor) : 0;
    ret->kernel_lds_bytes = lds_of_descriptor(bytes, size, descriptor);
}

static void rp_code_object_functions_free(struct rp_code_object_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        free(functions->at[i].symbol);
    free(functions->at);
    *functions = (struct rp_code_object_functions){0};
}

/** Finds the function that has the address, or returns NULL. */
static const struct rp_code_object_function *
code_object_function_at(const struct rp_code_object_functions *functions, uint64_t address)
{
    size_t low = 0, high = functions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (functions->at[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address - functions->at[low - 1].address >= functions->at[low - 1].bytes)
        return NULL;
    return &functions->at[low - 1];
}

/* --- asking -------------------------------------------------------------------------------- */

int rp_device_thread_trace_check(const struct rp_thread_trace_options *options, struct rp_err *err)
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

/* --- a process ----------------------------------------------------------------------------- */

struct process {
    const char *record_path;
    struct rp_record_file *records;
    struct rp_loaded_code_object *objects;
    size_t object_count;
};

static void free_process(struct process *p)
{
    for (size_t i = 0; i < p->object_count; i++) {
        free(p->objects[i].path);
        rp_code_object_functions_free(&p->objects[i].functions);
    }
    free(p->objects);
    rp_record_file_close(p->records);
}

static int read_object(struct process *p, const struct rp_rec_code_object *from, struct rp_err *err)
{
    struct rp_loaded_code_object *object = &p->objects[p->object_count++];
    rp_autofree char *path =
        rp_format("%s" RP_THREADS_CODE_SUFFIX "%" PRIu32, p->record_path, from->id);

    *object = (struct rp_loaded_code_object){.id = from->id,
                                             .load_base = from->load_base,
                                             .load_bytes = from->load_bytes,
                                             .load_delta = from->load_delta};
    if (!rp_path_exists(path)) /* None of its kernels is traced. */
        return 0;
    object->path = rp_steal(path);
    return code_object_functions_read(object->path, &object->functions, err);
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
    p->objects = rp_alloc_zero(objects + 1, sizeof *p->objects);
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

/* Says whether a list as "0,2" has the number. */
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

/* Agents are named by their nodes, because handles are addresses, which differ in every run. */
static int convert(struct conversion *c, const struct process *p, const char *path,
                   struct rp_err *err)
{
    const uint64_t dispatch = strtoull(strrchr(path, '-') + 1, NULL, 10);
    const struct rp_rec_agent *agent = agent_of(p, dispatch);
    rp_cleanup(device_trace_close) struct rp_device_trace_file file = {0};
    rp_cleanup(code_listing_free) struct rp_code_listing listing = {0};
    rp_autofree char *scratch = rp_format("%s.addresses", path);
    int rc;

    if (!agent) /* Its record was lost, so nobody would know which agent this is about. */
        return 0;
    if (c->options->gpus && !lists(c->options->gpus, agent->type_index)) {
        c->elsewhere++;
        return 0;
    }
    rc = device_trace_open(path, &file, err);
    if (rc == 0)
        rc = code_listing_make(&file, p->objects, p->object_count, c->symbolizer, scratch, &listing,
                               err);
    if (rc == 0)
        rc = rp_att_write(&file, &listing, c->demangler, c->dir, agent->node_id, dispatch, err);
    c->written += rc == 0;
    return rc < 0 ? rp_wrap(err, "thread trace of dispatch %" PRIu64, dispatch) : 0;
}

static int convert_process(struct conversion *c, const char *record_path, struct rp_err *err)
{
    rp_autofree char *literal = rp_path_literal(record_path);
    rp_autofree char *pattern = rp_format("%s" RP_THREADS_SUFFIX "*", literal);
    rp_cleanup(free_process) struct process p = {0};
    glob_t found = {0};
    int rc = 0;

    if (glob(pattern, 0, NULL, &found) == GLOB_NOSPACE)
        rp_memory_ended();
    if (found.gl_pathc)
        rc = open_process(record_path, &p, err);
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = convert(c, &p, found.gl_pathv[i], err);
    globfree(&found);
    return rc;
}

static void warn(struct rp_run *run, const char *text)
{
    run->warnings = rp_realloc_array(run->warnings, run->warning_count + 1, sizeof *run->warnings);
    run->warnings[run->warning_count++] = rp_strdup(text);
}

/* Dispatches of every process are numbered from 1, so each of several processes has its own folder.
 */
static char *folder_of(const char *dir, size_t process)
{
    return process ? rp_format("%s/process-%zu", dir, process + 1) : rp_strdup(dir);
}

int rp_device_thread_trace_convert(const struct rp_run_request *request,
                                   const struct rp_thread_trace_options *options,
                                   const char *const *record_files, size_t count,
                                   struct rp_run *run, struct rp_err *err)
{
    rp_autofree char *dir = rp_format("%s/%s-threads", request->out_dir, request->db_prefix);
    rp_autofree char *symbolizer = rp_find_symbolizer(request->env);
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    size_t written = 0, processes = 0;
    int rc = 0;

    rp_demangler_open(request->env, &demangler);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rp_autofree char *folder = folder_of(dir, processes);
        struct conversion c = {
            .options = options, .symbolizer = symbolizer, .demangler = &demangler, .dir = folder};

        rc = convert_process(&c, record_files[i], err);
        written += c.written;
        run->threads_elsewhere += c.elsewhere;
        processes += c.written > 0;
    }
    if (rc == 0 && written && !symbolizer)
        warn(run, "no llvm-symbolizer in ROCm or $PATH: the thread trace has no source lines");
    if (rc == 0 && processes > 1)
        warn(run, "several processes were traced: all but the first are in process-N");
    if (rc == 0 && written)
        run->thread_trace = rp_steal(dir);
    return rc;
}

struct sums {
    uint64_t hits, latency, stall, idle;
};

/* Adds up as rocprofv3 does: idle is the time between the end of one instruction and the next. */
static void add_up(const struct rp_device_trace_file *f, struct sums *of)
{
    for (uint64_t w = 0; w < f->header->wave_count; w++) {
        const struct rp_threads_row *row = &f->row[f->wave[w].first_row];
        uint64_t end = f->wave[w].begin;

        for (uint32_t i = 0; i < f->wave[w].row_count; i++) {
            struct sums *s = &of[row[i].code];

            s->hits++;
            s->latency += row[i].latency_clocks;
            s->stall += row[i].stall_clocks;
            s->idle += row[i].clock - end;
            end = row[i].clock + row[i].latency_clocks;
        }
    }
}

/* --- lines --------------------------------------------------------------------------------- */

struct maker {
    const struct rp_device_trace_file *file;
    const struct rp_loaded_code_object *objects;
    size_t object_count;
    const struct sums *sums;
    struct rp_code_listing listing;
    const struct rp_code_object_function *within;
};

static const struct rp_loaded_code_object *object_of(const struct maker *m, uint64_t pc)
{
    for (size_t i = 0; i < m->object_count; i++)
        if (pc - m->objects[i].load_base < m->objects[i].load_bytes)
            return &m->objects[i];
    return NULL;
}

static const struct rp_code_object_function *function_of(const struct maker *m, uint64_t pc)
{
    const struct rp_loaded_code_object *object = object_of(m, pc);

    return object ? code_object_function_at(&object->functions, pc - (uint64_t)object->load_delta)
                  : NULL;
}

static void add_line(struct maker *m, size_t code, const struct rp_code_object_function *label)
{
    const uint64_t pc = m->file->code[code].pc;
    const struct rp_loaded_code_object *object = object_of(m, pc);
    const struct sums none = {0}, *s = label ? &none : &m->sums[code];
    struct rp_code_listing *l = &m->listing;

    l->at[l->count] = (struct rp_code_line){
        .label = label,
        .code = code,
        .line = (uint32_t)l->count,
        .object = object ? object->id : 0,
        .address = object ? pc - (uint64_t)object->load_delta : pc,
        .hits = s->hits,
        .latency = s->latency,
        .stall = s->stall,
        .idle = s->idle,
    };
    if (!label)
        l->line_of[code] = (uint32_t)l->count;
    l->count++;
}

/* Code behind a function that nothing executed is no part of it. */
static void add_code(struct maker *m, size_t code, const struct rp_code_object_function *function)
{
    if (!function && !m->sums[code].hits)
        return;
    if (function && function != m->within)
        add_line(m, code, function);
    m->within = function;
    add_line(m, code, NULL);
}

static void add_all(struct maker *m)
{
    const struct rp_device_trace_file *f = m->file;
    const struct rp_loaded_code_object *object = object_of(m, f->header->entry_pc);
    const struct rp_code_object_function *kernel = function_of(m, f->header->entry_pc);

    m->listing.kernel_object = object ? object->id : 0;
    m->listing.kernel_address = f->header->entry_pc - (object ? (uint64_t)object->load_delta : 0);
    m->listing.kernel_symbol = kernel ? kernel->symbol : NULL;
    if (kernel && object->path)
        read_kernel(object->path, kernel->symbol, &m->listing);
    for (uint64_t i = 0; kernel && i < f->header->code_count; i++)
        if (function_of(m, f->code[i].pc) == kernel)
            add_code(m, i, kernel);
    for (uint64_t i = 0; i < f->header->code_count; i++) {
        const struct rp_code_object_function *function = function_of(m, f->code[i].pc);

        if (!kernel || function != kernel)
            add_code(m, i, function);
    }
}

/* --- source -------------------------------------------------------------------------------- */

/* llvm-symbolizer lists what the innermost function at an address declares, so the address must be
 * one of the kernel's own code. Without one nothing is known.
 * @return 0, RP_ENVIRONMENT */
static int find_variables(struct rp_code_listing *l, const char *elf, const char *symbolizer,
                          const char *scratch, struct rp_err *err)
{
    for (size_t i = 1; i < l->count && !l->at[i].label; i++) {
        const char *source = l->at[i].source;

        if (source && *source && !strstr(source, " -> "))
            return rp_source_variables(symbolizer, elf, l->at[i].address, scratch, &l->variables,
                                       err);
    }
    return 0;
}

/* Finds the lines of one code object, and if it has the kernel, what that declares. */
static int find_sources(struct rp_code_listing *l, const struct rp_loaded_code_object *object,
                        const char *symbolizer, const char *scratch, struct rp_err *err)
{
    rp_autofree uint64_t *addresses = rp_alloc_zero(l->count + 1, sizeof *addresses);
    rp_autofree char **sources = rp_alloc_zero(l->count + 1, sizeof *sources);
    size_t count = 0;
    int rc;

    for (size_t i = 0; i < l->count; i++)
        if (!l->at[i].label && l->at[i].object == object->id)
            addresses[count++] = l->at[i].address;
    rc = rp_source_lines(symbolizer, object->path, addresses, count, scratch, sources, err);
    count = 0;
    for (size_t i = 0; rc == 0 && i < l->count; i++)
        if (!l->at[i].label && l->at[i].object == object->id)
            l->at[i].source = sources[count++];
    if (rc == 0 && l->kernel_object == object->id)
        rc = find_variables(l, object->path, symbolizer, scratch, err);
    return rc;
}

/**
 * Makes the listing.
 * @param objects with their functions; must outlive the result
 * @param symbolizer NULL: no source lines
 * @param scratch name of a file that may be made and is removed
 * @return 0, RP_ENVIRONMENT
 */
static int code_listing_make(const struct rp_device_trace_file *file,
                             const struct rp_loaded_code_object *objects, size_t object_count,
                             const char *symbolizer, const char *scratch,
                             struct rp_code_listing *ret, struct rp_err *err)
{
    rp_cleanup(code_listing_free) struct rp_code_listing guard = {0};
    const size_t codes = (size_t)file->header->code_count;
    rp_autofree struct sums *sums = rp_alloc_zero(codes + 1, sizeof *sums);
    struct maker m = {.file = file, .objects = objects, .object_count = object_count, .sums = sums};
    int rc = 0;

    m.listing.at =
        rp_alloc_zero(2 * codes + 1, sizeof *m.listing.at); /* Each code has one label at most. */
    m.listing.line_of = rp_alloc_zero(codes + 1, sizeof *m.listing.line_of);
    guard = m.listing;
    memset(m.listing.line_of, 0xff, codes * sizeof *m.listing.line_of);
    add_up(file, sums);
    add_all(&m);
    guard = m.listing;
    for (size_t i = 0; symbolizer && i < object_count && rc == 0; i++)
        if (objects[i].path)
            rc = find_sources(&guard, &objects[i], symbolizer, scratch, err);
    if (rc < 0)
        return rc;
    *ret = guard;
    guard = (struct rp_code_listing){0};
    return 0;
}

static void code_listing_free(struct rp_code_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->at[i].source);
    free(listing->at);
    free(listing->line_of);
    rp_source_variables_free(&listing->variables);
    *listing = (struct rp_code_listing){0};
}
