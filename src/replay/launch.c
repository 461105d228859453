/**
 * @file launch.c
 * @brief The kernel of a capture: loaded, launched, timed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "replay/hidden_args.h"
#include "replay/replay.h"

enum {
    PROFILE_FULL = 1,
    SYMBOL_KERNARG_BYTES = 11,
    SYMBOL_GROUP_BYTES = 13,
    SYMBOL_PRIVATE_BYTES = 14,
    SYMBOL_KERNEL_OBJECT = 22,
    QUEUE_PACKETS = 64,
    CONDITION_LT = 2,
    PATIENCE_S = 600,

    /* HSA system architecture, 2.9.1: type, barrier bit 8, acquire scope 9-10, release 11-12. */
    KERNEL_DISPATCH = 2,
    BARRIER_BIT = 1 << 8,
    SCOPE_SYSTEM = 2,
};

/* --- files --------------------------------------------------------------------------------- */

static int read_file(const char *path, uint8_t **ret, size_t *ret_bytes, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    rp_autofree uint8_t *bytes = NULL;
    struct stat st;
    size_t have = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read %s", path);
    bytes = malloc((size_t)st.st_size + 1);
    while (bytes && have < (size_t)st.st_size) {
        ssize_t got = read(fd, bytes + have, (size_t)st.st_size - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return rp_fail(err, RP_BAD_INPUT, "cannot read %s to its end", path);
        have += (size_t)got;
    }
    if (!bytes)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = rp_steal(bytes);
    *ret_bytes = have;
    return 0;
}

/* Segments with variables and constants (which the program can set): all but code, and what the
 * loader fills with addresses. */
static int find_variables(struct rp_replay *r, const uint8_t *elf, size_t size, struct rp_err *err)
{
    Elf64_Ehdr h;
    uint64_t relro = 0, relro_end = 0;

    if (size < sizeof h || memcmp(elf, ELFMAG, SELFMAG) != 0)
        return rp_fail(err, RP_BAD_INPUT, "the code object is no ELF file");
    memcpy(&h, elf, sizeof h);
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > size ||
        (size - h.e_phoff) / sizeof(Elf64_Phdr) < h.e_phnum)
        return rp_fail(err, RP_BAD_INPUT, "the code object has no sound program headers");
    r->variables = calloc((size_t)h.e_phnum + 1, sizeof *r->variables);
    if (!r->variables)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < h.e_phnum; i++) {
            Elf64_Phdr p;
            uint64_t from, end;

            memcpy(&p, elf + h.e_phoff + i * sizeof p, sizeof p);
            from = p.p_vaddr;
            end = p.p_vaddr + p.p_memsz;
            if (pass == 0 && p.p_type == PT_GNU_RELRO) {
                relro = from;
                relro_end = end;
            }
            if (pass == 0 || p.p_type != PT_LOAD || p.p_flags & PF_X)
                continue;
            if (from >= relro && from < relro_end)
                from = relro_end < end ? relro_end : end;
            if (end > r->facts->dispatch.code_bytes)
                end = r->facts->dispatch.code_bytes;
            if (from < end)
                r->variables[r->variable_count++] =
                    (struct rp_replay_variables){.from = from, .bytes = end - from};
        }
    return 0;
}

/* --- loading ------------------------------------------------------------------------------- */

static int refused(const char *what, uint32_t status, struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "the runtime refused to %s (status 0x%x)", what, status);
}

static int find_symbol(struct rp_replay *r, uint64_t executable, struct rp_err *err)
{
    uint64_t symbol;
    uint32_t status =
        r->hsa.hsa_executable_get_symbol_by_name(executable, r->facts->symbol, &r->gpu, &symbol);
    uint32_t private_bytes = 0, group_bytes = 0, kernarg_bytes = 0;

    if (status)
        return rp_fail(err, RP_BAD_INPUT, "the code object has no kernel %s", r->facts->symbol);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_KERNEL_OBJECT, &r->kernel_object);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_PRIVATE_BYTES, &private_bytes);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_GROUP_BYTES, &group_bytes);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_KERNARG_BYTES, &kernarg_bytes);
    if (kernarg_bytes != r->facts->dispatch.kernarg_bytes)
        return rp_fail(err, RP_BAD_INPUT,
                       "the kernel takes %u bytes of arguments, the captured one %u", kernarg_bytes,
                       r->facts->dispatch.kernarg_bytes);
    r->private_bytes = r->facts->dispatch.private_bytes;
    if (private_bytes > r->private_bytes)
        r->private_bytes = private_bytes;
    r->group_bytes = r->facts->dispatch.group_bytes;
    if (group_bytes > r->group_bytes)
        r->group_bytes = group_bytes;
    /* The descriptor is where it was, as seen from the beginning of the code object. */
    r->code_base =
        r->kernel_object - (r->facts->dispatch.kernel_object - r->facts->dispatch.code_base);
    return 0;
}

static int load_code(struct rp_replay *r, const uint8_t *elf, size_t size, struct rp_err *err)
{
    uint64_t reader, executable;
    uint32_t status = r->hsa.hsa_code_object_reader_create_from_memory(elf, size, &reader);

    if (status)
        return refused("read the code object", status, err);
    status = r->hsa.hsa_executable_create_alt(PROFILE_FULL, 0, NULL, &executable);
    if (status)
        return refused("create an executable", status, err);
    status = r->hsa.hsa_executable_load_agent_code_object(executable, r->gpu, reader, NULL, NULL);
    if (status)
        return refused("load the code object", status, err);
    status = r->hsa.hsa_executable_freeze(executable, NULL);
    if (status)
        return refused("freeze the executable", status, err);
    return find_symbol(r, executable, err);
}

static int make_queue(struct rp_replay *r, struct rp_err *err)
{
    uint32_t status = r->hsa.hsa_queue_create(r->gpu, QUEUE_PACKETS, 0, NULL, NULL,
                                              r->private_bytes, UINT32_MAX, &r->queue);

    if (status)
        return refused("create a queue", status, err);
    r->hsa.hsa_amd_profiling_set_profiler_enabled(r->queue, 1);
    status = r->hsa.hsa_signal_create(1, 0, NULL, &r->signal);
    return status ? refused("create a signal", status, err) : 0;
}

int rp_replay_load_kernel(struct rp_replay *r, const char *hsaco, const char *kernarg,
                          struct rp_err *err)
{
    rp_autofree uint8_t *elf = NULL; /* the runtime reads it until it is loaded */
    rp_autofree uint8_t *args = NULL;
    size_t elf_bytes, arg_bytes;
    int rc = read_file(hsaco, &elf, &elf_bytes, err);

    if (rc == 0)
        rc = read_file(kernarg, &args, &arg_bytes, err);
    if (rc == 0)
        rc = rp_replay_check_hidden_args(elf, elf_bytes, r->facts->symbol, args, arg_bytes, err);
    if (rc == 0)
        rc = find_variables(r, elf, elf_bytes, err);
    if (rc == 0)
        rc = load_code(r, elf, elf_bytes, err);
    if (rc < 0)
        return rc;
    if (arg_bytes != r->facts->dispatch.kernarg_bytes)
        return rp_fail(err, RP_BAD_INPUT, "%s has %zu bytes instead of %u", kernarg, arg_bytes,
                       r->facts->dispatch.kernarg_bytes);
    if (r->hsa.hsa_amd_memory_pool_allocate(r->kernarg_pool, arg_bytes + 64, 0, &r->kernarg) ||
        r->hsa.hsa_amd_agents_allow_access(1, &r->gpu, NULL, r->kernarg))
        return rp_fail(err, RP_ENVIRONMENT, "the runtime gives no memory for arguments");
    memcpy(r->kernarg, args, arg_bytes);
    return make_queue(r, err);
}

/* --- launching ----------------------------------------------------------------------------- */

struct packet {
    uint16_t header, setup, workgroup[3], reserved0;
    uint32_t grid[3], private_bytes, group_bytes;
    uint64_t kernel_object, kernarg, reserved2, completion;
};
static_assert(sizeof(struct packet) == 64, "AQL packet");

/* As captured; acquiring from the system at least, since the memory has just been restored, and
 * releasing to it, since it is read back. */
static void submit(struct rp_replay *r)
{
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    const uint64_t index = r->hsa.hsa_queue_add_write_index_screlease(r->queue, 1);
    struct packet *at = (struct packet *)r->queue->base + index % r->queue->size_packets;
    const uint32_t header = KERNEL_DISPATCH | BARRIER_BIT | SCOPE_SYSTEM << 9 | SCOPE_SYSTEM << 11;
    const struct packet packet = {.setup = d->setup,
                                  .workgroup = {d->workgroup[0], d->workgroup[1], d->workgroup[2]},
                                  .grid = {d->grid[0], d->grid[1], d->grid[2]},
                                  .private_bytes = r->private_bytes,
                                  .group_bytes = r->group_bytes,
                                  .kernel_object = r->kernel_object,
                                  .kernarg = (uint64_t)(uintptr_t)r->kernarg,
                                  .completion = r->signal};

    memcpy((char *)at + 4, (const char *)&packet + 4, sizeof packet - 4);
    /* Header and set-up in one store: from then on the packet processor may take it. */
    __atomic_store_n((uint32_t *)(void *)at, header | (uint32_t)packet.setup << 16,
                     __ATOMIC_RELEASE);
    r->hsa.hsa_signal_store_screlease(r->queue->doorbell, (int64_t)index);
}

int rp_replay_run(struct rp_replay *r, double *ret_us, struct rp_err *err)
{
    uint64_t ticks[2] = {0, 0};

    r->hsa.hsa_signal_store_screlease(r->signal, 1);
    submit(r);
    if (r->hsa.hsa_signal_wait_scacquire(r->signal, CONDITION_LT, 1, PATIENCE_S * r->ticks_hz, 0) >=
        1)
        return rp_fail(err, RP_VERDICT,
                       "the kernel does not end within %d s: it may wait for the host", PATIENCE_S);
    r->hsa.hsa_amd_profiling_get_dispatch_time(r->gpu, r->signal, ticks);
    *ret_us = (double)(ticks[1] - ticks[0]) * 1e6 / (double)r->ticks_hz;
    return 0;
}
