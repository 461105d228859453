/* A finished dispatch leaves hardware counters and thread traces, which are kept until the
 * collector takes them, or a fault, which is reported to the runtime and the user.
 */
#include "device/driver/command_processor.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/utf8.h"
#include "device/exec/dispatch.h"
#include "device/exec/executor.h"
#include "device/isa/wave_state.h"
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

    *counted = (struct rp_counter_results){.names = names && *names ? strdup(names) : NULL,
                                           .left = UINT64_MAX};
    pthread_mutex_init(&counted->lock, NULL);
    for (char *name = counted->names ? strtok_r(counted->names, ",", &state) : NULL; name;
         name = strtok_r(NULL, ",", &state)) {
        const struct rp_device_counter_row *row = rp_device_counter_find(name);
        char *end;
        const uint64_t most = strtoull(name, &end, 10);

        if (!*end)
            counted->left = most;
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

/* Counts the cycles of one XCD while the dispatch ran, summed over all XCDs as rocprofv3 does. On
 * a real MI300X (rocprof-compute's sample vcopy_MI300X_A1) SQ_CYCLES and SPI_CSN_WINDOW_VALID are
 * 4 times GRBM_COUNT, for 4 shader engines a die, and TCC_CYCLE is 16 times, for 16 channels. The
 * command processor is always busy and never idle.
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

bool rp_counter_is_known(enum rp_device_counter_kind kind, enum rp_counting known,
                         const struct rp_dispatch *dispatch)
{
    if (kind == RP_COUNTER_WAVES)
        return known != RP_COUNT_NOTHING && rp_dispatch_counted_waves(dispatch);
    return known == RP_COUNT_MEMORY ||
           (known == RP_COUNT_INSTRUCTIONS && kind != RP_COUNTER_CACHES);
}

enum rp_counting rp_counter_values(const struct rp_arch *arch, const struct rp_dispatch *dispatch,
                                   uint64_t ticks, uint64_t *values)
{
    const enum rp_counting known = rp_dispatch_count(dispatch, values);

    if (known != RP_COUNT_NOTHING)
        count_time(arch, ticks, values);
    return known;
}

static bool is_counted(struct rp_counter_results *counted)
{
    bool is;

    pthread_mutex_lock(&counted->lock);
    is = counted->count && counted->left;
    counted->left -= is;
    pthread_mutex_unlock(&counted->lock);
    return is;
}

/* Notes the values, with NAN for what is not known of this dispatch. */
static void note_values(struct rp_counter_results *counted, const struct rp_arch *arch,
                        const struct rp_dispatch *dispatch, uint64_t ticks, double *ret)
{
    uint64_t values[RP_DEVICE_COUNTERS];
    const enum rp_counting known =
        is_counted(counted) ? rp_counter_values(arch, dispatch, ticks, values) : RP_COUNT_NOTHING;

    for (uint32_t i = 0; i < counted->count; i++)
        ret[i] = rp_counter_is_known(counted->kind[i], known, dispatch)
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

    const bool bounded = !replayed && rp_dispatch_between(dispatch, arch, replay.between_ns);

    if (!signal_va || !(counted->count || replayed || bounded))
        return;
    if (replayed)
        rp_dispatch_needs(dispatch, arch, replay.needs_ns);
    entry = malloc(sizeof *entry + counted->count * sizeof entry->value[0]);
    if (!entry)
        return;
    entry->signal_va = signal_va;
    entry->start_ticks = start_ticks;
    entry->end_ticks = end_ticks;
    entry->replay = replay;
    note_values(counted, arch, dispatch, end_ticks - start_ticks, entry->value);
    pthread_mutex_lock(&counted->lock);
    bucket = counted->pending < RP_COUNTER_RESULTS_PENDING ? bucket_of(counted, signal_va) : NULL;
    if (bucket) {
        entry->next = *bucket;
        *bucket = entry;
        counted->pending++;
    }
    pthread_mutex_unlock(&counted->lock);
    if (!bucket) /* Nobody takes the results if there is no collector. */
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

/* The results that wait here are limited, because nobody takes them if the collector has ended. */
#define MOST_BYTES ((size_t)512 << 20)

enum { MOST_ENTRIES = 1 << 16 };

/* An entry is a request, or with bytes the trace that it has become. */
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
        *traced->last = entry; /* The oldest entry comes first. */
        traced->last = &entry->next;
        traced->bytes += entry->count;
        __atomic_add_fetch(&traced->pending, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&traced->lock);
    if (!fits)
        free(entry);
    return fits;
}

/* The caller holds the lock. */
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

/*Turns a dispatch that cannot go on into what the runtime sees of it, and one line. */

#define RP_QUEUE_ERR_TRAP 0x80000000u

/* ---- kernel names ------------------------------------------------------------------------- */

/* The loader puts a code object's segments into GPU memory as they are in the file, so the ELF
 * header, the dynamic table, the symbols and the kernel descriptor are all there. */

enum {
    IMAGE_PAGE = 4096,
    IMAGE_SEARCH_BYTES = 64 << 20, /**< how far below its descriptor a code object may begin */
    SYMBOL_LIMIT = 1 << 20,
    NAME_LIMIT = 4096,
};

struct image {
    const struct rp_exec_host *host;
    uint64_t base;
    uint64_t symbols_va, strings_va;
    uint32_t symbol_count;
};

static const void *at(const struct rp_exec_host *host, uint64_t va, uint64_t bytes)
{
    return host->translate(host->ctx, va, bytes, 0);
}

static uint64_t find_image(const struct rp_exec_host *host, uint64_t inside_va)
{
    uint64_t va = inside_va & ~(uint64_t)(IMAGE_PAGE - 1);
    for (uint64_t back = 0; back < IMAGE_SEARCH_BYTES && va; back += IMAGE_PAGE, va -= IMAGE_PAGE) {
        const Elf64_Ehdr *header = at(host, va, sizeof *header);
        if (!header)
            return 0;
        if (memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_machine == EM_AMDGPU)
            return va;
    }
    return 0;
}

/** Dynamic table addresses are relative to the image in a shared object. */
static int read_dynamic(struct image *image, uint64_t dynamic_va, uint64_t bytes)
{
    uint64_t hash_va = 0;
    for (uint64_t i = 0; i < bytes / sizeof(Elf64_Dyn); i++) {
        const Elf64_Dyn *entry = at(image->host, dynamic_va + i * sizeof *entry, sizeof *entry);
        if (!entry || entry->d_tag == DT_NULL)
            break;
        uint64_t va = image->base + entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB)
            image->symbols_va = va;
        else if (entry->d_tag == DT_STRTAB)
            image->strings_va = va;
        else if (entry->d_tag == DT_HASH)
            hash_va = va;
    }
    const uint32_t *hash = hash_va ? at(image->host, hash_va, 8) : NULL;
    if (!hash || !image->symbols_va || !image->strings_va)
        return -ENOENT;
    /* The second word of the table is nchain, the number of symbols. */
    image->symbol_count = hash[1] < SYMBOL_LIMIT ? hash[1] : SYMBOL_LIMIT;
    return 0;
}

static int open_image(struct image *image, uint64_t inside_va)
{
    image->base = find_image(image->host, inside_va);
    const Elf64_Ehdr *header = image->base ? at(image->host, image->base, sizeof *header) : NULL;
    if (!header || header->e_phentsize != sizeof(Elf64_Phdr))
        return -ENOENT;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        uint64_t va = image->base + header->e_phoff + i * sizeof(Elf64_Phdr);
        const Elf64_Phdr *segment = at(image->host, va, sizeof *segment);
        if (segment && segment->p_type == PT_DYNAMIC)
            return read_dynamic(image, image->base + segment->p_vaddr, segment->p_memsz);
    }
    return -ENOENT;
}

/** Copies the string at @p va without its ".kd". */
static int copy_name(const struct rp_exec_host *host, uint64_t va, char *name, size_t room)
{
    size_t used = 0;
    for (uint64_t i = 0; i < NAME_LIMIT; i++) {
        const char *c = at(host, va + i, 1);
        if (!c)
            return -ENOENT;
        if (*c == '\0')
            break;
        if (used + 1 < room)
            name[used++] = *c;
    }
    name[used] = '\0';
    if (used > 3 && strcmp(name + used - 3, ".kd") == 0)
        name[used - 3] = '\0';
    return used ? 0 : -ENOENT;
}

/**
 * Finds the name of the kernel whose descriptor is at @p descriptor_va, from the symbol table of
 * the code object around it in GPU memory.
 * @return 0, or -ENOENT with @p name = the address in hex
 */
static int fault_kernel_name(const struct rp_exec_host *host, uint64_t descriptor_va, char *name,
                             size_t room)
{
    struct image image = {.host = host};
    if (open_image(&image, descriptor_va) == 0) {
        for (uint32_t i = 1; i < image.symbol_count; i++) {
            const Elf64_Sym *symbol =
                at(host, image.symbols_va + i * sizeof(Elf64_Sym), sizeof *symbol);
            if (!symbol)
                break;
            if (image.base + symbol->st_value == descriptor_va &&
                copy_name(host, image.strings_va + symbol->st_name, name, room) == 0)
                return 0;
        }
    }
    snprintf(name, room, "0x%" PRIx64, descriptor_va);
    return -ENOENT;
}

/* ---- reporting ---------------------------------------------------------------------------- */

static const struct {
    uint32_t error;
    const char *what;
} kinds[] = {
    [RP_FAULT_NONE] = {RP_QUEUE_ERR_CODE, "stopped"},
    [RP_FAULT_UNIMPLEMENTED] = {RP_QUEUE_ERR_ILLEGAL_INSTRUCTION, "instruction not implemented"},
    [RP_FAULT_ILLEGAL_OPCODE] = {RP_QUEUE_ERR_ILLEGAL_INSTRUCTION, "illegal instruction"},
    [RP_FAULT_MEMORY] = {RP_QUEUE_ERR_MEMORY, "memory access fault"},
    [RP_FAULT_LDS] = {RP_QUEUE_ERR_MEMORY, "LDS access fault"},
    [RP_FAULT_TRAP] = {RP_QUEUE_ERR_TRAP, "trap"},
    [RP_FAULT_BAD_DISPATCH] = {RP_QUEUE_ERR_CODE, "dispatch refused"},
    [RP_FAULT_NO_MEMORY] = {RP_QUEUE_ERR_GROUP_MEMORY, "out of host memory"},
    [RP_FAULT_BOUND] = {RP_QUEUE_ERR_CODE, "stopped"},
};

/** This begins a queue's save area (HsaUserContextSaveAreaHeader). */
struct save_area {
    uint32_t offsets[6];
    uint64_t reason_va; /**< value of the exception signal */
    uint32_t event_id, reserved1;
};

/* Bits of the exception signal (KFD_EC_MASK of AMD's kfd_ioctl.h) by errors of the inactive one. */
static uint32_t exception_of(uint32_t error)
{
    static const struct {
        uint32_t error, code;
    } rows[] = {{RP_QUEUE_ERR_DIMENSIONS, 16}, {RP_QUEUE_ERR_GROUP_MEMORY, 17},
                {RP_QUEUE_ERR_CODE, 18},       {RP_QUEUE_ERR_PACKET, 20},
                {RP_QUEUE_ERR_GROUP_SIZE, 21}, {RP_QUEUE_ERR_VENDOR_PACKET, 23},
                {RP_QUEUE_ERR_MEMORY, 6},      {RP_QUEUE_ERR_ILLEGAL_INSTRUCTION, 4},
                {RP_QUEUE_ERR_TRAP, 2}};
    const uint32_t unknown = 31;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            return 1u << (rows[i].code - 1);
    return 1u << (unknown - 1);
}

/* @return false: the queue has no exception signal */
static bool raise_exception(const struct rp_cp *cp, const struct rp_cp_queue *queue, uint32_t error)
{
    const struct save_area *area =
        queue->save_va ? at(cp->host, queue->save_va, sizeof *area) : NULL;
    return area && area->reason_va &&
           rp_signal_store(cp, area->reason_va - offsetof(struct rp_amd_signal, value),
                           exception_of(error)) == 0;
}

void rp_fault_stop(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error)
{
    queue->faulted = true;
    if (raise_exception(cp, queue, error)) {
        rp_log("queue %u: error 0x%x as an exception", queue->id, error);
        return;
    }
    rp_log("queue %u: error 0x%x to the signal at 0x%" PRIx64, queue->id, error,
           queue->shared->inactive_signal_va);
    if (rp_signal_store(cp, queue->shared->inactive_signal_va, error) < 0)
        rp_log("queue %u: no inactive signal to report error 0x%x", queue->id, error);
}

/** Prints the line in one write, so that lines of several queues or processes never mix. */
static void print_line(const struct rp_cp *cp, char *line, int used, size_t room)
{
    if (used < 0)
        return;
    size_t bytes = (size_t)used < room - 1 ? (size_t)used : room - 1;
    line[bytes - 1] = '\n';
    rp_log("%.*s", (int)bytes - 1, line);
    if (write(cp->report_fd, line, bytes) < 0) {
        /* There is no other place to report it. */
    }
}

/* ---- details ------------------------------------------------------------------------------ */

enum { DETAIL_ROOM = 4096, LISTING_LINES = 6 };

/**
 * HIP loads amd_comgr to look into code objects; a handle in amd_comgr.h is a structure of one
 * word.
 */
struct comgr {
    int (*create_data)(int kind, uint64_t *ret);
    int (*set_data)(uint64_t data, size_t bytes, const char *text);
    int (*get_data)(uint64_t data, size_t *bytes, char *text);
    int (*demangle_symbol_name)(uint64_t symbol, uint64_t *ret);
    int (*release_data)(uint64_t data);
};

enum { COMGR_BYTES = 9 /* AMD_COMGR_DATA_KIND_BYTES */ };

static bool find_comgr(struct comgr *ret)
{
    static const char *const libraries[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
    const struct {
        const char *name;
        void *to;
    } functions[] = {
        {"amd_comgr_create_data", &ret->create_data},
        {"amd_comgr_set_data", &ret->set_data},
        {"amd_comgr_get_data", &ret->get_data},
        {"amd_comgr_demangle_symbol_name", &ret->demangle_symbol_name},
        {"amd_comgr_release_data", &ret->release_data},
    };
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof libraries / sizeof *libraries; i++)
        library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; library && i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);

        if (!function)
            return false;
        memcpy(functions[i].to, &function, sizeof function);
    }
    return library != NULL;
}

/**
 * Returns the C++ name behind a kernel's symbol, if the program has loaded ROCm's demangler,
 * because a C++ runtime does not know every name. The caller frees it; NULL otherwise.
 */
static char *demangled(const char *name)
{
    struct comgr comgr;
    uint64_t symbol, plain;
    size_t bytes = 0;
    char *text = NULL;

    if (strncmp(name, "_Z", 2) != 0 || !find_comgr(&comgr) ||
        comgr.create_data(COMGR_BYTES, &symbol) != 0)
        return NULL;
    if (comgr.set_data(symbol, strlen(name), name) == 0 &&
        comgr.demangle_symbol_name(symbol, &plain) == 0) {
        if (comgr.get_data(plain, &bytes, NULL) == 0)
            text = calloc(bytes + 1, 1);
        if (text && comgr.get_data(plain, &bytes, text) != 0) {
            free(text);
            text = NULL;
        }
        comgr.release_data(plain);
    }
    comgr.release_data(symbol);
    return text;
}

static size_t add_text(char *text, size_t used, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static size_t add_text(char *text, size_t used, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + used, DETAIL_ROOM - used, fmt, ap);
    va_end(ap);
    return n > 0 && (size_t)n < DETAIL_ROOM - used ? used + (size_t)n : used;
}

/** Returns the address of the kernel's first instruction, or 0. */
static uint64_t entry_of(const struct rp_exec_host *host, uint64_t descriptor_va)
{
    enum { ENTRY_OFFSET_AT = 16 };
    int64_t offset;
    const void *field = at(host, descriptor_va + ENTRY_OFFSET_AT, sizeof offset);
    if (!field)
        return 0;
    memcpy(&offset, field, sizeof offset);
    return descriptor_va + (uint64_t)offset;
}

/**
 * Describes the place in the grid and in the code, in indented lines that follow the one that
 * everybody greps for.
 */
static size_t describe(const struct rp_cp *cp, uint64_t kernel_object_va, const char *name,
                       const struct rp_fault *fault, char *text)
{
    size_t used = 0;
    char *cxx = demangled(name);
    if (cxx)
        used = add_text(text, used, "  in %s\n", cxx);
    free(cxx);
    if (fault->in_wave) {
        used = add_text(text, used, "  workgroup (%u, %u, %u), wave %u", fault->group_id[0],
                        fault->group_id[1], fault->group_id[2], fault->wave);
        if (fault->lane >= 0)
            used = add_text(text, used, ", lane %d: work-item %u of the workgroup", fault->lane,
                            fault->wave * 64 + (unsigned)fault->lane);
        used = add_text(text, used, "\n");
    }
    if (fault->kind == RP_FAULT_MEMORY && fault->address && cp->is_programs &&
        cp->is_programs(cp->host->ctx, fault->address))
        used = add_text(
            text, used,
            "  the address is memory of the program (malloc, stack, global): a GPU reaches "
            "it with HSA_XNACK=1, or after hipHostRegister\n");
    uint64_t entry = fault->in_wave ? entry_of(cp->host, kernel_object_va) : 0;
    size_t before = used;
    if (entry)
        used += rp_exec_listing(cp->host, entry, fault->pc, LISTING_LINES, text + used,
                                DETAIL_ROOM - used);
    /* The address is in a function far from the kernel, or not in code at all. */
    if (entry && used == before)
        used = add_text(text, used, "  kernel begins at 0x%" PRIx64 "\n", entry);
    return used;
}

static void print_details(const struct rp_cp *cp, const char *text, size_t bytes)
{
    if (bytes && write(cp->report_fd, text, bytes) < 0) {
        /* There is no other place to report it. */
    }
}

/* Does the same as fault_kernel_name() for a line of text, because a name may have any bytes
 * but 0.
 */
static void printed_name(const struct rp_cp *cp, uint64_t kernel_object_va, char *name, size_t room)
{
    char raw[512];

    fault_kernel_name(cp->host, kernel_object_va, raw, sizeof raw);
    rp_escape_into(name, room, raw);
}

/* Who asks for it is called by the runtime, which knows no more than that a queue has stopped. */
static _Atomic uint64_t last_address;

uint64_t rp_fault_last_address(void)
{
    return last_address;
}

void rp_fault_kernel(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t kernel_object_va,
                     const struct rp_fault *fault)
{
    char name[512], where[64] = "", lane[32] = "", line[1024], details[DETAIL_ROOM];
    printed_name(cp, kernel_object_va, name, sizeof name);
    if (fault->pc)
        snprintf(where, sizeof where, ", pc 0x%" PRIx64, fault->pc);
    if (fault->lane >= 0 && !strstr(fault->text, "(lane "))
        snprintf(lane, sizeof lane, ", lane %d", fault->lane);
    int used = snprintf(line, sizeof line, "rocm-perf-device: %skernel %s: %s: %s%s%s\n", cp->label,
                        name, kinds[fault->kind].what, fault->text, where, lane);
    print_line(cp, line, used, sizeof line);
    print_details(cp, details, describe(cp, kernel_object_va, name, fault, details));
    last_address = fault->kind == RP_FAULT_MEMORY ? fault->address : 0;
    rp_fault_stop(cp, queue, kinds[fault->kind].error);
}

enum { NS_PER_S = 1000000000 };

void rp_fault_long(const struct rp_cp *cp, uint64_t kernel_object_va,
                   const struct rp_counts *counts)
{
    const int64_t patience_s = cp->patience_ns / NS_PER_S;
    char name[512], line[1024];
    printed_name(cp, kernel_object_va, name, sizeof name);
    int used = snprintf(line, sizeof line, "rocm-perf-device: %skernel %s: ", cp->label, name);
    char *end = line + (used < (int)sizeof line ? used : (int)sizeof line - 1);
    const size_t room = sizeof line - (size_t)(end - line);
    if (counts)
        used += snprintf(end, room,
                         "has been running for %" PRId64 " seconds of processor time: %" PRIu64
                         " waves have ended, %" PRIu64 " instructions were executed\n",
                         patience_s, counts->waves, counts->wave_insts);
    else
        used += snprintf(end, room,
                         "has waited for %" PRId64 " seconds: all its waves "
                         "sleep or poll memory, until the host or another queue changes it\n",
                         patience_s);
    print_line(cp, line, used, sizeof line);
}

void rp_fault_packet(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error,
                     const char *why)
{
    char line[256];
    int used = snprintf(line, sizeof line, "rocm-perf-device: %squeue %u, packet %" PRIu64 ": %s\n",
                        cp->label, queue->id, queue->read_index, why);
    print_line(cp, line, used, sizeof line);
    rp_fault_stop(cp, queue, error);
}

void rp_fault_sdma(const struct rp_cp *cp, const struct rp_sdma_queue *queue, const char *why)
{
    char line[300];
    int used =
        snprintf(line, sizeof line, "rocm-perf-device: %sSDMA queue %u, byte 0x%" PRIx64 ": %s\n",
                 cp->label, queue->id, queue->read_bytes, why);
    print_line(cp, line, used, sizeof line);
}

/* ---- the debug log --------------------------------------------------------------------------- */

enum { LINE_BYTES = 512 };

/* The log belongs to the one context of the injected library; -1 = not opened yet, -2 = none. */
static int log_fd = -1;

static int log_file(void)
{
    int fd = __atomic_load_n(&log_fd, __ATOMIC_ACQUIRE);
    if (fd != -1)
        return fd;
    const char *path = getenv("ROCM_PERF_DEVICE_DEBUG");
    fd = -2;
    if (path && *path) { /* This is a direct call because open() is one of our own hooks. */
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          0644);
        if (fd < 0)
            fd = -2;
    }
    int expected = -1;
    if (!__atomic_compare_exchange_n(&log_fd, &expected, fd, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        if (fd >= 0)
            close(fd);
        fd = expected;
    }
    return fd;
}

void rp_log(const char *fmt, ...)
{
    int saved = errno;
    int fd = log_file();
    if (fd >= 0) {
        char line[LINE_BYTES];
        int head = snprintf(line, sizeof line, "[%d] ", (int)getpid());
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(line + head, sizeof line - (size_t)head - 1, fmt, args);
        va_end(args);
        size_t used = (size_t)head + (n > 0 ? (size_t)n : 0);
        if (used > sizeof line - 2)
            used = sizeof line - 2;
        line[used++] = '\n';
        if (write(fd, line, used) < 0) {
            /* A debug log that cannot be written is not the program's problem. */
        }
    }
    errno = saved;
}
