/* Turns a dispatch that cannot go on into what the runtime sees of it, and one line. */
#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"
#include "device/driver/command_processor.h"
#include "device/isa/wave_state.h"

#define RP_QUEUE_ERR_TRAP 0x80000000u

/* ---- kernel names ------------------------------------------------------------------------- */

/* The loader puts a code object's segments into GPU memory as they are in the file, so the ELF
 * header, the dynamic table, the symbols and the kernel descriptor are all there. */

enum {
    IMAGE_PAGE = 4096,
    IMAGE_SEARCH_BYTES = 64 << 20, /* how far below its descriptor a code object may begin */
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
    image->symbol_count = hash[1] < SYMBOL_LIMIT ? hash[1] : SYMBOL_LIMIT; /* nchain */
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
 * Name of the kernel whose descriptor is at @p descriptor_va, from the symbol table of the code
 * object around it in GPU memory. @return 0, or -ENOENT with @p name = the address in hex
 */
static int rp_fault_kernel_name(const struct rp_exec_host *host, uint64_t descriptor_va, char *name,
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

void rp_fault_stop(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error)
{
    queue->faulted = true;
    rp_log("queue %u: error 0x%x to the signal at 0x%" PRIx64, queue->id, error,
           queue->shared->inactive_signal_va);
    if (rp_signal_store(cp, queue->shared->inactive_signal_va, error) < 0)
        rp_log("queue %u: no inactive signal to report error 0x%x", queue->id, error);
}

/** One write, so that lines of several queues or processes never mix. */
static void print_line(const struct rp_cp *cp, char *line, int used, size_t room)
{
    if (used < 0)
        return;
    size_t bytes = (size_t)used < room - 1 ? (size_t)used : room - 1;
    line[bytes - 1] = '\n';
    rp_log("%.*s", (int)bytes - 1, line);
    if (write(cp->report_fd, line, bytes) < 0) {
        /* nowhere left to say it */
    }
}

/* ---- details ------------------------------------------------------------------------------ */

enum { DETAIL_ROOM = 4096, LISTING_LINES = 6 };

/** amd_comgr.h: what HIP loads to look into code objects. A handle is a structure of one word. */
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
 * The C++ name behind a kernel's symbol, if the program has loaded ROCm's demangler: a C++ runtime
 * does not know every name. The caller frees it; NULL otherwise.
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

static size_t add(char *text, size_t used, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static size_t add(char *text, size_t used, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text + used, DETAIL_ROOM - used, fmt, ap);
    va_end(ap);
    return n > 0 && (size_t)n < DETAIL_ROOM - used ? used + (size_t)n : used;
}

/** First instruction of the kernel, or 0. */
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

/** Where in the grid and in the code: indented lines that follow the one everybody greps for. */
static size_t describe(const struct rp_cp *cp, uint64_t kernel_object_va, const char *name,
                       const struct rp_fault *fault, char *text)
{
    size_t used = 0;
    char *cxx = demangled(name);
    if (cxx)
        used = add(text, used, "  in %s\n", cxx);
    free(cxx);
    if (fault->in_wave) {
        used = add(text, used, "  workgroup (%u, %u, %u), wave %u", fault->group_id[0],
                   fault->group_id[1], fault->group_id[2], fault->wave);
        if (fault->lane >= 0)
            used = add(text, used, ", lane %d: work-item %u of the workgroup", fault->lane,
                       fault->wave * 64 + (unsigned)fault->lane);
        used = add(text, used, "\n");
    }
    if (fault->kind == RP_FAULT_MEMORY && fault->address && cp->is_programs &&
        cp->is_programs(cp->host->ctx, fault->address))
        used = add(text, used,
                   "  the address is memory of the program (malloc, stack, global): a GPU reaches "
                   "it with HSA_XNACK=1, or after hipHostRegister\n");
    uint64_t entry = fault->in_wave ? entry_of(cp->host, kernel_object_va) : 0;
    size_t before = used;
    if (entry)
        used += rp_exec_listing(cp->host, entry, fault->pc, LISTING_LINES, text + used,
                                DETAIL_ROOM - used);
    if (entry && used == before) /* in a function far from the kernel, or not in code at all */
        used = add(text, used, "  kernel begins at 0x%" PRIx64 "\n", entry);
    return used;
}

static void print_details(const struct rp_cp *cp, const char *text, size_t bytes)
{
    if (bytes && write(cp->report_fd, text, bytes) < 0) {
        /* nowhere left to say it */
    }
}

/* As rp_fault_kernel_name, for a line: a name may have any bytes but 0. */
static void printed_name(const struct rp_cp *cp, uint64_t kernel_object_va, char *name, size_t room)
{
    char raw[512];

    rp_fault_kernel_name(cp->host, kernel_object_va, raw, sizeof raw);
    rp_escape_into(name, room, raw);
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
    if (path && *path) { /* a direct call: open() is one of our own hooks */
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
            /* a debug log that cannot be written is not the program's problem */
        }
    }
    errno = saved;
}
