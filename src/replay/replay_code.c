/**
 * @file replay_code.c
 * @brief The kernel of a capture and what is to take its place: whether it can, as it reads the
 * arguments as they were written and what it needs is there; and loaded.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "replay/launch_changes.h"
#include "replay/other_launch.h"
#include "replay/replay.h"
#include "trace/code_object.h"

/* A wave's scratch is at most a field of 13 bits in units of 256 dwords: LLVM,
 * GCNSubtarget::getMaxWaveScratchSize. */
enum { MOST_WAVE_SCRATCH_BYTES = ((1 << 13) - 1) * 1024 };

/* --- target -------------------------------------------------------------------------------- */

/* Returns "+" or "-"; 0 means that the code runs with either. */
static char feature(struct rp_code_text target, const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i + length + 1 < target.bytes; i++)
        if (target.at[i] == ':' && memcmp(target.at + i + 1, name, length) == 0)
            return i + 1 + length < target.bytes ? target.at[i + 1 + length] : 0;
    return 0;
}

static struct rp_code_text processor(struct rp_code_text target)
{
    const char *colon = target.bytes ? memchr(target.at, ':', target.bytes) : NULL;

    if (colon)
        target.bytes = (uint32_t)(colon - target.at);
    return target;
}

static int check_target(const struct rp_code_kernel *original,
                        const struct rp_code_kernel *candidate, struct rp_err *err)
{
    static const char *const features[] = {"xnack", "sramecc"};
    const struct rp_code_text a = original->target, b = candidate->target;
    bool same = rp_code_text_same(processor(a), processor(b));

    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        const char x = feature(a, features[i]), y = feature(b, features[i]);

        same = same && (x == y || !x || !y);
    }
    if (!same)
        return rp_fail(err, RP_VERDICT, "it is for %.*s, the captured one for %.*s", (int)b.bytes,
                       b.bytes ? b.at : "", (int)a.bytes, a.bytes ? a.at : "");
    if (original->wave_size != candidate->wave_size)
        return rp_fail(err, RP_VERDICT,
                       "its waves have %" PRIu64 " lanes, those of the captured one %" PRIu64,
                       candidate->wave_size, original->wave_size);
    return 0;
}

/* --- arguments ----------------------------------------------------------------------------- */

static size_t visible_args(const struct rp_code_kernel *kernel)
{
    size_t count = 0;

    for (size_t i = 0; i < kernel->arg_count; i++)
        count += !rp_code_arg_is_hidden(&kernel->args[i]);
    return count;
}

static const struct rp_code_arg *visible_arg(const struct rp_code_kernel *kernel, size_t n)
{
    for (size_t i = 0; i < kernel->arg_count; i++)
        if (!rp_code_arg_is_hidden(&kernel->args[i]) && n-- == 0)
            return &kernel->args[i];
    return NULL;
}

static int compare_arg(const struct rp_code_arg *a, const struct rp_code_arg *b, size_t n,
                       struct rp_err *err)
{
    if (a->offset != b->offset)
        return rp_fail(err, RP_VERDICT,
                       "its argument %zu is at offset %" PRIu64 ", that of the captured one at "
                       "%" PRIu64,
                       n, b->offset, a->offset);
    if (a->bytes != b->bytes)
        return rp_fail(err, RP_VERDICT,
                       "its argument %zu has %" PRIu64 " bytes, that of the captured one %" PRIu64,
                       n, b->bytes, a->bytes);
    if (!rp_code_text_same(a->kind, b->kind))
        return rp_fail(err, RP_VERDICT, "its argument %zu is %.*s, that of the captured one %.*s",
                       n, (int)b->kind.bytes, b->kind.at, (int)a->kind.bytes, a->kind.at);
    if (!rp_code_text_same(a->space, b->space))
        return rp_fail(err, RP_VERDICT,
                       "its argument %zu is in address space '%.*s', that of the captured one in "
                       "'%.*s'",
                       n, (int)b->space.bytes, b->space.bytes ? b->space.at : "",
                       (int)a->space.bytes, a->space.bytes ? a->space.at : "");
    return 0;
}

/** Says what a kernel uses that the runtime gives it, as its source has it. */
static const char *source_of_hidden(const struct rp_code_arg *arg)
{
    static const struct {
        const char *kind, *source;
    } sources[] = {{"hidden_heap_v1", "malloc() on the device"},
                   {"hidden_hostcall_buffer", "the host (printf, assert or malloc)"},
                   {"hidden_printf_buffer", "printf"},
                   {"hidden_multigrid_sync_arg", "a barrier of several grids"},
                   {"hidden_default_queue", "launches of its own"},
                   {"hidden_completion_action", "launches of its own"},
                   {"hidden_queue_ptr", "its queue"}};

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (rp_code_text_is(arg->kind, sources[i].kind))
            return sources[i].source;
    return NULL;
}

static bool overlaps(const struct rp_code_arg *a, const struct rp_code_arg *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The runtime has written those that the captured kernel names, because a compiler leaves out what
 * is not used. Sizes and counts of the launch are known all the same. */
static int check_hidden(const struct rp_code_kernel *original, const struct rp_code_arg *wanted,
                        const struct rp_abi_dispatch *dispatch, struct rp_err *err)
{
    const char *source = source_of_hidden(wanted);
    bool free_place = true;
    uint32_t value;

    for (size_t i = 0; i < original->arg_count; i++) {
        const struct rp_code_arg *arg = &original->args[i];

        if (arg->offset == wanted->offset && arg->bytes == wanted->bytes &&
            rp_code_text_same(arg->kind, wanted->kind))
            return 0;
        free_place = free_place && !overlaps(arg, wanted);
    }
    if (rp_code_text_is(wanted->kind, "hidden_none") ||
        (free_place && wanted->bytes <= sizeof(uint64_t) &&
         rp_launch_number(wanted, dispatch, &value)))
        return 0;
    return source ? rp_fail(err, RP_VERDICT,
                            "it uses %s, which the captured kernel does not: what the runtime "
                            "would give it for that is not in the capture",
                            source)
                  : rp_fail(err, RP_VERDICT,
                            "it takes %.*s of the runtime, which the captured kernel does not: its "
                            "value is not known",
                            (int)wanted->kind.bytes, wanted->kind.at);
}

/* Those of the runtime take 256 bytes behind the others in code objects of version 5. */
enum { MOST_HIDDEN = 512 };

static int check_args(const struct rp_code_kernel *original, const struct rp_code_kernel *candidate,
                      const struct rp_abi_dispatch *dispatch, struct rp_err *err)
{
    const size_t count = visible_args(original);
    int rc = 0;

    if (visible_args(candidate) != count)
        return rp_fail(err, RP_VERDICT, "it takes %zu arguments, the captured one %zu",
                       visible_args(candidate), count);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = compare_arg(visible_arg(original, i), visible_arg(candidate, i), i + 1, err);
    for (size_t i = 0; i < candidate->arg_count && rc == 0; i++)
        if (rp_code_arg_is_hidden(&candidate->args[i]))
            rc = check_hidden(original, &candidate->args[i], dispatch, err);
    if (rc == 0 && candidate->kernarg_bytes > dispatch->kernarg_bytes + MOST_HIDDEN)
        return rp_fail(err, RP_VERDICT,
                       "it takes %" PRIu64 " bytes of arguments, %u are in the capture",
                       candidate->kernarg_bytes, dispatch->kernarg_bytes);
    return rc;
}

/* --- resources ----------------------------------------------------------------------------- */

/** Returns the LDS that the launch has added to what the kernel declares. */
static uint32_t abi_dynamic_group_bytes(const struct rp_code_kernel *original,
                                        const struct rp_abi_dispatch *dispatch)
{
    return dispatch->group_bytes > original->group_bytes
               ? dispatch->group_bytes - (uint32_t)original->group_bytes
               : 0;
}

static int over(const char *what, uint64_t has, uint64_t most, struct rp_err *err)
{
    return rp_fail(err, RP_VERDICT, "it needs %" PRIu64 " %s, and can have %" PRIu64, has, what,
                   most);
}

static uint64_t max_vgprs(const struct rp_arch *arch, uint64_t wave_size, uint64_t work_items)
{
    const bool half = arch->wave_sizes_scale_vgprs && wave_size > arch->wave_size;
    const uint64_t simds = (uint64_t)arch->simds_per_cu * arch->cus_per_block;
    const uint64_t waves = (work_items + wave_size - 1) / wave_size;
    const uint64_t per_simd = (waves + simds - 1) / simds;
    const uint64_t granule = half ? arch->vgpr_granule / 2 : arch->vgpr_granule;
    const uint64_t file = half ? arch->vgprs_per_simd / 2 : arch->vgprs_per_simd;
    const uint64_t share = file / per_simd / granule * granule;

    return share < arch->max_vgprs_per_lane ? share : arch->max_vgprs_per_lane;
}

static int check_resources(const struct rp_code_kernel *original, const struct rp_code_kernel *c,
                           const struct rp_abi_dispatch *d, struct rp_err *err)
{
    const struct rp_arch *arch = rp_arch_find(d->gpu);
    const uint64_t work_items = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];
    const uint64_t dynamic = d->dynamic_group_bytes;
    /* The limits of an unknown GPU are not known, except that the captured kernel ran on it. */
    uint64_t lds = original->group_bytes + dynamic, scratch = original->private_bytes;
    uint64_t vgprs = original->vgprs, agprs = original->agprs, sgprs = original->sgprs;

    if (c->wave_size == 0 || work_items == 0)
        return rp_fail(err, RP_VERDICT, "its waves or workgroups are empty");
    if (arch) {
        lds = arch->lds_bytes_per_workgroup;
        scratch = MOST_WAVE_SCRATCH_BYTES / c->wave_size;
        vgprs = max_vgprs(arch, c->wave_size, work_items);
        agprs = vgprs;
        sgprs = arch->max_sgprs_per_wave;
    }
    if (c->group_bytes + dynamic > lds)
        return over("bytes of LDS, with what the launch adds", c->group_bytes + dynamic, lds, err);
    if (c->dynamic_stack && !original->dynamic_stack)
        return rp_fail(
            err, RP_VERDICT,
            "its stack has no size that the compiler knows, that of the captured one had");
    if (c->private_bytes > scratch)
        return over("bytes of scratch memory in each lane", c->private_bytes, scratch, err);
    if (c->vgprs > vgprs)
        return over("vector registers for workgroups of the captured size", c->vgprs, vgprs, err);
    if (c->agprs > agprs)
        return over("accumulation registers", c->agprs, agprs, err);
    if (c->sgprs > sgprs)
        return over("scalar registers", c->sgprs, sgprs, err);
    return 0;
}

/* A kernel may have been launched with more work-items than it declares, as tinygrad's are: then
 * another one that declares no fewer is none the worse. */
static int check_workgroup(const struct rp_code_kernel *original, const struct rp_code_kernel *c,
                           const struct rp_abi_dispatch *d, struct rp_err *err)
{
    const uint64_t work_items = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];
    const uint64_t *required = c->required_workgroup;

    if (work_items > c->max_workgroup && c->max_workgroup < original->max_workgroup)
        return rp_fail(err, RP_VERDICT,
                       "it is for workgroups of at most %" PRIu64
                       " work-items, the captured ones have %" PRIu64,
                       c->max_workgroup, work_items);
    for (size_t i = 0; i < 3; i++) {
        if ((required[0] || required[1] || required[2]) && required[i] != d->workgroup[i])
            return rp_fail(err, RP_VERDICT,
                           "it is for workgroups of %" PRIu64 "x%" PRIu64 "x%" PRIu64
                           ", the captured ones are %ux%ux%u",
                           required[0], required[1], required[2], d->workgroup[0], d->workgroup[1],
                           d->workgroup[2]);
        if (c->uniform_workgroups && d->workgroup[i] && d->grid[i] % d->workgroup[i])
            return rp_fail(err, RP_VERDICT,
                           "it is for grids of whole workgroups, the captured one ends with a "
                           "part of one");
    }
    return 0;
}

/** @return 0; RP_VERDICT naming the first difference */
static int abi_check(const struct rp_code_kernel *original, const struct rp_code_kernel *candidate,
                     const struct rp_abi_dispatch *dispatch, struct rp_err *err)
{
    int rc = check_target(original, candidate, err);

    if (rc == 0)
        rc = check_args(original, candidate, dispatch, err);
    if (rc == 0)
        rc = check_workgroup(original, candidate, dispatch, err);
    return rc < 0 ? rc : check_resources(original, candidate, dispatch, err);
}

/* This says where a code object has what can be variables. */

enum { PAGE = 4096 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add_segment(struct rp_replay_kernel *k, const Elf64_Phdr *p, uint64_t from,
                        uint64_t end)
{
    if (from < end)
        k->segments[k->segment_count++] =
            (struct rp_replay_span){.captured = from,
                                    .from = from,
                                    .bytes = end - from,
                                    .writable = (p->p_flags & PF_W) != 0};
}

/* This takes all bytes between and behind them, to the end of the last page, because the loader's
 * memory for a code object is one piece, and the GPU can write all of it.
 */
static void find_fixed(struct rp_replay_kernel *k, uint64_t least, uint64_t most)
{
    const uint64_t end =
        most <= UINT64_MAX - PAGE ? (most + PAGE - 1) & ~(uint64_t)(PAGE - 1) : most;
    uint64_t at = least;

    for (size_t i = 0; i <= k->segment_count; i++) {
        const uint64_t from = i < k->segment_count ? k->segments[i].from : end;

        if (from > at)
            k->fixed[k->fixed_count++] = (struct rp_replay_span){.from = at, .bytes = from - at};
        if (i < k->segment_count && from + k->segments[i].bytes > at)
            at = from + k->segments[i].bytes;
    }
}

/* Finds segments with variables and constants, which the program can set. Code, and what the
 * loader fills with addresses, is left out.
 */
static int replay_find_segments(struct rp_replay_kernel *k, const uint8_t *bytes, size_t size,
                                uint64_t limit, struct rp_err *err)
{
    struct rp_code_elf elf;
    uint64_t relro = 0, relro_end = 0, least = UINT64_MAX, most = 0;
    size_t count;

    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT,
                       "the code object is no ELF file with sound program headers");
    count = elf.header.e_phnum;
    k->segments = rp_alloc_zero(2 * count, sizeof *k->segments);
    k->fixed = rp_alloc_zero(2 * count + 2, sizeof *k->fixed);
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            Elf64_Phdr p;

            /* The runtime would not see such a segment either. */
            if (!rp_code_elf_segment(&elf, i, &p))
                return rp_fail(err, RP_BAD_INPUT, "the code object is cut short");
            if (p.p_memsz > UINT64_MAX - p.p_vaddr)
                return rp_fail(err, RP_BAD_INPUT, "the code object has a segment without an end");
            if (pass == 0 && p.p_type == PT_GNU_RELRO) {
                relro = p.p_vaddr;
                relro_end = p.p_vaddr + p.p_memsz;
            }
            if (p.p_type == PT_LOAD && p.p_memsz) {
                least = smaller(least, p.p_vaddr);
                most = p.p_vaddr + p.p_memsz > most ? p.p_vaddr + p.p_memsz : most;
            }
            if (pass == 0 || p.p_type != PT_LOAD || p.p_flags & PF_X)
                continue;
            add_segment(k, &p, p.p_vaddr, smaller(p.p_vaddr + p.p_memsz, smaller(relro, limit)));
            add_segment(k, &p, p.p_vaddr > relro_end ? p.p_vaddr : relro_end,
                        smaller(p.p_vaddr + p.p_memsz, limit));
        }
    find_fixed(k, least, most);
    return 0;
}

/* The runtime of the captured process has added these arguments, which mean nothing in another
 * process.
 */

struct rp_kernarg {
    uint8_t *bytes;
    size_t size;
    struct rp_host_args *host;
    /** Whether memory at an address is in the capture. */
    bool (*is_captured)(const void *data, uint64_t address);
    const void *data;
};

enum what { NUMBER, MEMORY, HOST };

/* The kinds come from LLVM's AMDGPU user guide, code object V5, kernel argument metadata. A number
 * means the same in any process, but the bases of LDS and scratch are the device's.
 */
static const struct {
    const char *kind;
    enum what what;
    const char *why;
} hidden[] = {
    {"hidden_none", NUMBER, NULL},
    {"hidden_global_offset_x", NUMBER, NULL},
    {"hidden_global_offset_y", NUMBER, NULL},
    {"hidden_global_offset_z", NUMBER, NULL},
    {"hidden_block_count_x", NUMBER, NULL},
    {"hidden_block_count_y", NUMBER, NULL},
    {"hidden_block_count_z", NUMBER, NULL},
    {"hidden_group_size_x", NUMBER, NULL},
    {"hidden_group_size_y", NUMBER, NULL},
    {"hidden_group_size_z", NUMBER, NULL},
    {"hidden_remainder_x", NUMBER, NULL},
    {"hidden_remainder_y", NUMBER, NULL},
    {"hidden_remainder_z", NUMBER, NULL},
    {"hidden_grid_dims", NUMBER, NULL},
    {"hidden_dynamic_lds_size", NUMBER, NULL},
    {"hidden_private_base", NUMBER, NULL},
    {"hidden_shared_base", NUMBER, NULL},
    {"hidden_heap_v1", MEMORY, NULL},
    {"hidden_multigrid_sync_arg", MEMORY, NULL},
    {"hidden_hostcall_buffer", HOST, "it calls the host (printf, malloc or assert)"},
    {"hidden_printf_buffer", HOST, "it prints through the host"},
    {"hidden_default_queue", HOST, "it launches kernels itself"},
    {"hidden_completion_action", HOST, "it launches kernels itself"},
    {"hidden_queue_ptr", HOST, "it uses its queue"},
};

static int reserve_host_args(struct rp_host_args *args, struct rp_err *err)
{
    void *base = args->base ? NULL
                            : mmap(NULL, (size_t)RP_HOST_ARGS * RP_HOST_ARG_BYTES, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "no addresses for what nobody answers");
    if (base)
        args->base = (uint64_t)(uintptr_t)base;
    return 0;
}

/* @param i  of hidden */
static int set_host_arg(const struct rp_code_arg *arg, size_t i, const struct rp_kernarg *kernarg,
                        struct rp_err *err)
{
    struct rp_host_args *args = kernarg->host;
    uint64_t address;
    int rc = reserve_host_args(args, err);

    if (rc < 0)
        return rc;
    if (args->count == RP_HOST_ARGS)
        return rp_fail(err, RP_BAD_INPUT, "the kernels have more than %d arguments for their host",
                       RP_HOST_ARGS);
    if (arg->bytes != sizeof address)
        return rp_fail(err, RP_BAD_INPUT, "the metadata of the code object is damaged: its %s",
                       hidden[i].kind);
    address = args->base + args->count * RP_HOST_ARG_BYTES;
    args->at[args->count].kind = hidden[i].kind;
    args->at[args->count++].why = hidden[i].why;
    memcpy(kernarg->bytes + arg->offset, &address, sizeof address);
    return 0;
}

static int check_set(const struct rp_code_arg *arg, uint64_t value,
                     const struct rp_kernarg *kernarg, struct rp_err *err)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (!rp_code_text_is(arg->kind, hidden[i].kind))
            continue;
        if (hidden[i].what == HOST)
            return rp_host_args_find(kernarg->host, value) /* of the captured kernel, too */
                       ? 0
                       : set_host_arg(arg, i, kernarg, err);
        if (hidden[i].what == MEMORY && !kernarg->is_captured(kernarg->data, value))
            return rp_fail(err, RP_VERDICT,
                           "the kernel cannot be replayed: its %s points to 0x%" PRIx64
                           ", which is not in the capture",
                           hidden[i].kind, value);
        return 0;
    }
    return rp_fail(err, RP_VERDICT,
                   "the kernel cannot be replayed: what its %.*s means in another process is not "
                   "known",
                   (int)arg->kind.bytes, arg->kind.at);
}

/**
 * Looks among the arguments of a kernel for what it wants of the process that was captured. Those
 * by which it reaches its host get other addresses.
 * @return 0; RP_VERDICT: such an argument is set, so that the kernel would reach for memory that is
 *         not here; RP_BAD_INPUT: the metadata is damaged
 */
static int replay_check_hidden_args(const struct rp_code_kernel *kernel,
                                    const struct rp_kernarg *kernarg, struct rp_err *err)
{
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];
        uint64_t value = 0;
        int rc;

        if (!rp_code_arg_is_hidden(arg))
            continue;
        if (arg->offset > kernarg->size || arg->bytes > kernarg->size - arg->offset)
            return rp_fail(err, RP_BAD_INPUT,
                           "the metadata of the code object is damaged: %.*s lies behind the end "
                           "of the arguments",
                           (int)arg->kind.bytes, arg->kind.at);
        memcpy(&value, kernarg->bytes + arg->offset,
               arg->bytes < sizeof value ? arg->bytes : sizeof value);
        rc = value ? check_set(arg, value, kernarg, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* These are addresses of functions, and of tables of them, of the captured code object in memory.
 * The loader cannot be told where to put a code object, so functions are at other addresses than
 * in the program. Memory keeps the old addresses, where a copy of the code lies. A kernel that
 * calls through them therefore runs the captured functions, whichever functions it was built with.
 * A GPU cannot run them at all, because that memory is not executable.
 */

struct rp_code_pointer {
    const char *where; /**< "memory at" or "its arguments at offset"; NULL: there is none */
    uint64_t at;
    uint64_t offset; /**< in the captured code object */
};

static bool leads_into_code(const struct rp_replay *r, uint64_t value, uint64_t *ret_offset)
{
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    const struct rp_replay_kernel *k = &r->original;
    const uint64_t offset = value - d->code_base;

    if (value < d->code_base || offset >= d->code_bytes)
        return false;
    for (size_t i = 0; i < k->fixed_count; i++)
        if (offset - k->fixed[i].from < k->fixed[i].bytes) {
            *ret_offset = offset;
            return true;
        }
    return false;
}

/* Addresses are aligned. @return whether there is one; from, of it */
static bool find_in(const struct rp_replay *r, const uint8_t *bytes, size_t count, size_t *from,
                    uint64_t *ret_offset)
{
    for (size_t at = 0; at + 8 <= count; at += 8) {
        uint64_t value;

        memcpy(&value, bytes + at, sizeof value);
        if (leads_into_code(r, value, ret_offset)) {
            *from = at;
            return true;
        }
    }
    return false;
}

/* Searches only pages that are stored, because the others are zeros. */
static int find_in_region(const struct rp_replay *r, const struct rp_capture_memory *m,
                          struct rp_code_pointer *ret, struct rp_err *err)
{
    uint8_t contents[RP_PAGE_BYTES];
    int rc = 0;

    for (uint64_t i = 0; i < m->before.header.run_count && rc == 0 && !ret->where; i++) {
        const struct rp_page_run *run = &m->before.runs[i];

        for (uint64_t j = 0; run->stored != RP_STORED_ZERO && j < run->pages && !ret->where; j++) {
            const uint64_t base = m->region.base + (run->page + j) * RP_PAGE_BYTES;
            size_t from;

            rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, run->page + j, contents, err);
            if (rc < 0)
                return rc;
            if (find_in(r, contents, RP_PAGE_BYTES, &from, &ret->offset)) {
                ret->where = "memory at";
                ret->at = base + from;
            }
        }
    }
    return rc;
}

/**
 * Looks for the first word in memory before the dispatch, or in the arguments, that leads into
 * what the loader has made of the captured code object, its variables aside.
 */
static int code_pointer_find(const struct rp_replay *r, const uint8_t *args, size_t arg_bytes,
                             struct rp_code_pointer *ret, struct rp_err *err)
{
    struct rp_code_pointer found = {0};
    size_t from;
    int rc = 0;

    if (find_in(r, args, arg_bytes, &from, &found.offset)) {
        found.where = "its arguments at offset";
        found.at = from;
    }
    for (size_t i = 0; i < r->memory_count && rc == 0 && !found.where; i++)
        if (r->memory[i].region.memory_class != RP_MEMORY_CODE)
            rc = find_in_region(r, &r->memory[i], &found, err);
    if (rc == 0)
        *ret = found;
    return rc;
}

/* --- loading ------------------------------------------------------------------------------- */

enum {
    PROFILE_FULL = 1,
    INCOMPATIBLE = 0x100d, /**< HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS */
    SYMBOL_GROUP_BYTES = 13,
    SYMBOL_PRIVATE_BYTES = 14,
    SYMBOL_KERNEL_OBJECT = 22,
};

/* --- symbols ------------------------------------------------------------------------------- */

static bool find_symbols(const uint8_t *bytes, size_t size, struct rp_code_symbols *ret)
{
    struct rp_code_elf elf;

    return rp_code_elf_open(bytes, size, &elf) && rp_code_elf_symbols(&elf, ret);
}

/* Tests whether the symbol is a variable and not a kernel's descriptor. */
static const char *variable_at(const struct rp_code_symbols *symbols, size_t i, Elf64_Sym *ret)
{
    const char *name = rp_code_symbol(symbols, i, ret);

    return name && ELF64_ST_TYPE(ret->st_info) == STT_OBJECT && ret->st_size &&
                   !rp_code_symbol_is_kernel(name)
               ? name
               : NULL;
}

static bool inside(const struct rp_replay_span *spans, size_t count, const Elf64_Sym *s)
{
    for (size_t i = 0; i < count; i++)
        if (s->st_value >= spans[i].from && s->st_size <= spans[i].bytes &&
            s->st_value - spans[i].from <= spans[i].bytes - s->st_size)
            return true;
    return false;
}

static int replay_find_symbol(const uint8_t *elf, size_t size, const char *name, uint64_t *ret,
                              struct rp_err *err)
{
    struct rp_code_symbols symbols;
    struct rp_code_elf object;
    Elf64_Sym symbol;

    if (!rp_code_elf_open(elf, size, &object) || !rp_code_elf_symbols(&object, &symbols))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no sound symbol table");
    if (!rp_code_elf_find(&object, name, &symbol))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no symbol %s", name);
    *ret = symbol.st_value;
    return 0;
}

/* Pairs variables of two code objects by their names. */
static int replay_pair_variables(struct rp_replay_kernel *k, const uint8_t *elf, size_t size,
                                 const struct rp_replay_kernel *original, const uint8_t *captured,
                                 size_t captured_size, struct rp_err *err)
{
    struct rp_code_symbols own, theirs;

    if (!find_symbols(elf, size, &own) || !find_symbols(captured, captured_size, &theirs))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no sound symbol table");
    k->variables = rp_alloc_zero(own.count, sizeof *k->variables);
    for (size_t i = 0; i < own.count; i++) {
        Elf64_Sym s, other;
        const char *name = variable_at(&own, i, &s);

        if (!name || !inside(k->segments, k->segment_count, &s))
            continue;
        for (size_t j = 0; j < theirs.count; j++) {
            const char *other_name = variable_at(&theirs, j, &other);

            if (other_name && strcmp(name, other_name) == 0 && other.st_size == s.st_size &&
                inside(original->segments, original->segment_count, &other)) {
                k->variables[k->variable_count++] = (struct rp_replay_span){
                    .captured = other.st_value, .from = s.st_value, .bytes = s.st_size};
                break;
            }
        }
    }
    return 0;
}

/* --- files --------------------------------------------------------------------------------- */

struct file {
    uint8_t *bytes;
    size_t size;
};

static void free_file(struct file *file)
{
    free(file->bytes);
}

static int read_file(const char *path, struct file *ret, struct rp_err *err)
{
    /* Never waits for who writes into a pipe that stands there. */
    rp_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    rp_autofree uint8_t *bytes = NULL;
    struct stat st;
    size_t have = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode))
        return rp_fail(err, RP_BAD_INPUT, "cannot read %s: it is no regular file", path);
    bytes = rp_alloc((size_t)st.st_size);
    while (have < (size_t)st.st_size) {
        ssize_t got = read(fd, bytes + have, (size_t)st.st_size - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return rp_fail(err, RP_BAD_INPUT, "cannot read %s to its end", path);
        have += (size_t)got;
    }
    ret->bytes = rp_steal(bytes);
    ret->size = have;
    return 0;
}

/* --- loading ------------------------------------------------------------------------------- */

static int find_symbol(struct rp_replay *r, struct rp_replay_kernel *k, uint64_t executable,
                       struct rp_err *err)
{
    uint64_t symbol;
    uint32_t status =
        r->hsa.hsa_executable_get_symbol_by_name(executable, r->facts->symbol, &r->gpu, &symbol);

    if (status)
        return rp_fail(err, RP_BAD_INPUT, "the code object has no kernel %s", r->facts->symbol);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_KERNEL_OBJECT, &k->object);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_PRIVATE_BYTES, &k->private_bytes);
    r->hsa.hsa_executable_symbol_get_info(symbol, SYMBOL_GROUP_BYTES, &k->group_bytes);
    return 0;
}

static int load_code(struct rp_replay *r, struct rp_replay_kernel *k, const struct file *code,
                     struct rp_err *err)
{
    uint64_t reader, executable, descriptor = 0;
    uint32_t status;
    int rc = replay_find_symbol(code->bytes, code->size, r->facts->symbol, &descriptor, err);

    if (rc < 0)
        return rc;
    status = r->hsa.hsa_code_object_reader_create_from_memory(code->bytes, code->size, &reader);
    if (status)
        return rp_replay_refused("read the code object", status, err);
    status = r->hsa.hsa_executable_create_alt(PROFILE_FULL, 0, NULL, &executable);
    if (status)
        return rp_replay_refused("create an executable", status, err);
    status = r->hsa.hsa_executable_load_agent_code_object(executable, r->gpu, reader, NULL, NULL);
    if (status == INCOMPATIBLE && k != &r->original)
        return rp_fail(err, RP_VERDICT,
                       "the GPU does not run code for its target: xnack or sramecc are set in "
                       "another way here");
    if (status)
        return rp_replay_refused("load the code object", status, err);
    status = r->hsa.hsa_executable_freeze(executable, NULL);
    if (status)
        return rp_replay_refused("freeze the executable", status, err);
    rc = find_symbol(r, k, executable, err);
    if (rc == 0)
        k->code_base = k->object - descriptor;
    return rc;
}

static bool is_captured(const void *data, uint64_t address)
{
    const struct rp_replay *r = data;

    for (size_t i = 0; i < r->memory_count; i++)
        if (address - r->memory[i].region.base < r->memory[i].region.bytes)
            return true;
    return false;
}

static int check_hidden_args(struct rp_replay *r, const struct rp_code_kernel *kernel,
                             const struct file *kernarg, struct rp_err *err)
{
    const struct rp_kernarg args = {.bytes = kernarg->bytes,
                                    .size = kernarg->size,
                                    .host = &r->host_args,
                                    .is_captured = is_captured,
                                    .data = r};

    return replay_check_hidden_args(kernel, &args, err);
}

/* The runtime finds the stack's size at run time only for a kernel that may call through pointers,
 * or that calls itself (LLVM: .uses_dynamic_stack).
 */
static int check_code_pointers(const struct rp_replay *r, const struct rp_code_kernel *kernel,
                               const struct file *kernarg, bool other, struct rp_err *err)
{
    struct rp_code_pointer found = {0};
    int rc = 0;

    if (kernel->dynamic_stack && (other || !r->software))
        rc = code_pointer_find(r, kernarg->bytes, kernarg->size, &found, err);
    if (rc < 0 || !found.where)
        return rc;
    return rp_fail(err, RP_VERDICT,
                   "the kernel may call through pointers, and %s 0x%" PRIx64
                   " is an address in the captured code object (its offset 0x%" PRIx64 "): %s",
                   found.where, found.at, found.offset,
                   other ? "it would run functions of the captured kernel in place of its own"
                         : "code is loaded elsewhere here, and a GPU does not run what is there");
}

/* --- the captured kernel ------------------------------------------------------------------- */

static int load_original(struct rp_replay *r, const struct file *code,
                         const struct rp_code_kernel *about, const struct file *kernarg,
                         struct rp_err *err)
{
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    struct rp_replay_kernel *k = &r->original;
    int rc;

    if (about->kernarg_bytes != d->kernarg_bytes)
        return rp_fail(err, RP_BAD_INPUT,
                       "the kernel takes %" PRIu64 " bytes of arguments, the captured one %u",
                       about->kernarg_bytes, d->kernarg_bytes);
    rc = check_hidden_args(r, about, kernarg, err);
    if (rc == 0)
        rc = replay_find_segments(k, code->bytes, code->size, d->code_bytes, err);
    if (rc == 0)
        rc = check_code_pointers(r, about, kernarg, false, err);
    if (rc == 0)
        rc = load_code(r, k, code, err);
    if (rc < 0)
        return rc;
    k->name = "captured kernel";
    /* All bytes of the segments count, whether a variable has a name or not. */
    k->variables = k->segments;
    k->variable_count = k->segment_count;
    if (k->private_bytes < d->private_bytes)
        k->private_bytes = d->private_bytes;
    if (k->group_bytes < d->group_bytes)
        k->group_bytes = d->group_bytes;
    return 0;
}

/* --- another one --------------------------------------------------------------------------- */

/** Writes what the runtime would have written for another kernel, behind what it did write. */
static void add_numbers_of_launch(const struct rp_code_kernel *original,
                                  const struct rp_code_kernel *candidate,
                                  const struct rp_abi_dispatch *dispatch, struct file *kernarg)
{
    const size_t before = kernarg->size, bytes = (size_t)candidate->kernarg_bytes;

    if (bytes > before) {
        kernarg->bytes = rp_realloc_array(kernarg->bytes, bytes, 1);
        memset(kernarg->bytes + before, 0, bytes - before);
        kernarg->size = bytes;
    }
    for (size_t i = 0; i < candidate->arg_count; i++) {
        const struct rp_code_arg *arg = &candidate->args[i];
        bool written = false;
        uint64_t value = 0;
        uint32_t number;

        for (size_t j = 0; j < original->arg_count; j++)
            written = written || overlaps(&original->args[j], arg);
        if (written || !rp_code_arg_is_hidden(arg) || arg->bytes > sizeof value ||
            arg->offset > kernarg->size || arg->bytes > kernarg->size - arg->offset ||
            !rp_launch_number(arg, dispatch, &number))
            continue;
        value = number;
        memcpy(kernarg->bytes + arg->offset, &value, arg->bytes);
    }
}

/** A launch with other workgroups brings what LDS it adds to the candidate's own. */
static void add_dynamic_bytes(const struct rp_code_kernel *of, struct rp_abi_dispatch *dispatch)
{
    dispatch->dynamic_group_bytes = abi_dynamic_group_bytes(of, dispatch);
}

/** @param own  how it is launched, where that is not as the captured kernel is; NULL */
static int check_candidate(struct rp_replay *r, const struct rp_abi_dispatch *dispatch,
                           struct rp_abi_dispatch *own, const struct rp_code_kernel *original,
                           const struct file *code, struct file *kernarg,
                           struct rp_code_kernel *ret, struct rp_err *err)
{
    bool missing = false;
    int rc = rp_code_kernel_read(code->bytes, code->size, r->facts->symbol, ret, &missing, err);

    if (missing)
        return rp_fail(err, RP_VERDICT, "it has no kernel %s", r->facts->symbol);
    if (rc == 0 && own)
        add_dynamic_bytes(ret, own);
    if (rc == 0)
        rc = abi_check(original, ret, own ? own : dispatch, err);
    if (rc < 0)
        return rc;
    r->required_workgroup = r->required_workgroup || ret->required_workgroup[0];
    add_numbers_of_launch(original, ret, dispatch, kernarg);
    return check_hidden_args(r, ret, kernarg, err);
}

static int find_code(const struct file *file, const char *gpu, struct file *ret, struct rp_err *err)
{
    const uint8_t *bytes = NULL;
    int rc = rp_bundle_find(file->bytes, file->size, gpu, &bytes, &ret->size, err);

    if (rc == 0)
        ret->bytes = (uint8_t *)(uintptr_t)bytes;
    return rc;
}

/** Reads how the last candidate is launched, where it has a launch of its own. */
static int read_launch(const struct rp_replay *r, const struct rp_code_kernel *original,
                       const struct file *kernarg, struct rp_snapshot_dispatch *launch,
                       struct rp_abi_dispatch *ret, struct rp_err *err)
{
    int rc = rp_other_launch_read(r, r->launch_of, original, kernarg->bytes, launch, err);

    *ret = rp_abi_dispatch_of(launch, r->facts->isa);
    ret->kernarg_bytes = r->facts->dispatch.kernarg_bytes;
    return rc;
}

/** @param own  it has a launch of its own: that of r->launch_of */
static int load_candidate(struct rp_replay *r, struct rp_replay_kernel *k, const char *path,
                          bool own, const struct file *captured,
                          const struct rp_code_kernel *original, struct file *kernarg,
                          struct rp_err *err)
{
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    struct rp_abi_dispatch dispatch = rp_abi_dispatch_of(d, r->facts->isa), other;
    struct rp_snapshot_dispatch launch = *d;
    rp_cleanup(rp_code_kernel_free) struct rp_code_kernel about = {0};
    rp_cleanup(free_file) struct file file = {0};
    struct file code = {0};
    int rc = read_file(path, &file, err);

    if (rc < 0)
        return rc;
    add_dynamic_bytes(original, &dispatch);
    rc = find_code(&file, r->facts->isa, &code, err);
    if (rc == 0 && own)
        rc = read_launch(r, original, kernarg, &launch, &other, err);
    if (rc == 0)
        rc = check_candidate(r, &dispatch, own ? &other : NULL, original, &code, kernarg, &about,
                             err);
    if (rc == 0)
        rc = check_code_pointers(r, &about, kernarg, true, err);
    if (rc == 0)
        rc = replay_find_segments(k, code.bytes, code.size, UINT64_MAX, err);
    if (rc == 0)
        rc = load_code(r, k, &code, err);
    if (rc == 0)
        rc = replay_pair_variables(k, code.bytes, code.size, &r->original, captured->bytes,
                                   captured->size, err);
    if (rc < 0)
        return rp_wrap(err, "%s cannot take the place of the captured kernel", path);
    rp_launch_find_grid_args(&about, kernarg->size, &r->grid_args);
    if (own)
        rp_other_launch_make(&about, &other, &launch, &k->launch);
    k->path = path;
    k->name = rp_not_null(rp_format("kernel of %s", path));
    k->group_bytes = (uint32_t)about.group_bytes +
                     (own ? other.dynamic_group_bytes : dispatch.dynamic_group_bytes);
    if (about.dynamic_stack && k->private_bytes < d->private_bytes)
        k->private_bytes = d->private_bytes;
    return 0;
}

int rp_replay_load_kernels(struct rp_replay *r, const char *hsaco,
                           const char *const candidates[RP_REPLAY_CANDIDATES], const char *kernarg,
                           struct rp_err *err)
{
    rp_cleanup(rp_code_kernel_free) struct rp_code_kernel about = {0};
    /* The runtime reads the file's bytes until the code object is loaded, so they are freed at the
     * end.
     */
    rp_cleanup(free_file) struct file code = {0};
    rp_cleanup(free_file) struct file args = {0};
    int rc = read_file(hsaco, &code, err);

    if (rc == 0)
        rc = read_file(kernarg, &args, err);
    if (rc == 0 && args.size != r->facts->dispatch.kernarg_bytes)
        rc = rp_fail(err, RP_BAD_INPUT, "%s has %zu bytes instead of %u", kernarg, args.size,
                     r->facts->dispatch.kernarg_bytes);
    if (rc == 0)
        rc = rp_code_kernel_read(code.bytes, code.size, r->facts->symbol, &about, NULL, err);
    if (rc == 0)
        rc = load_original(r, &code, &about, &args, err);
    for (size_t i = 0; candidates && i < RP_REPLAY_CANDIDATES && rc == 0; i++)
        if (candidates[i]) {
            const bool last = i + 1 == RP_REPLAY_CANDIDATES || !candidates[i + 1];

            rc = load_candidate(r, &r->candidates[i], candidates[i], last && r->launch_of, &code,
                                &about, &args, err);
        }
    if (rc < 0)
        return rc;
    r->kernel = &r->original;
    r->required_workgroup = r->required_workgroup || about.required_workgroup[0];
    rp_launch_find_args(&about, args.size, r);
    return rp_replay_prepare_launch(r, args.bytes, args.size, err);
}
