#include "replay/replay_code.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/err.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "trace/code_object.h"

/* A wave's scratch is at most a field of 13 bits in units of 256 dwords: LLVM,
 * GCNSubtarget::getMaxWaveScratchSize. */
enum { MOST_WAVE_SCRATCH_BYTES = ((1 << 13) - 1) * 1024 };

/* --- target -------------------------------------------------------------------------------- */

/* "+", "-", or 0: code for either. */
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

/* The runtime has written those that the captured kernel names; a compiler leaves out what is not
 * used. */
static int check_hidden(const struct rp_code_kernel *original, const struct rp_code_arg *wanted,
                        struct rp_err *err)
{
    for (size_t i = 0; i < original->arg_count; i++) {
        const struct rp_code_arg *arg = &original->args[i];

        if (arg->offset == wanted->offset && arg->bytes == wanted->bytes &&
            rp_code_text_same(arg->kind, wanted->kind))
            return 0;
    }
    return rp_fail(err, RP_VERDICT,
                   "it takes %.*s at offset %" PRIu64
                   " of the runtime, which the captured one did not: its value is not known",
                   (int)wanted->kind.bytes, wanted->kind.at, wanted->offset);
}

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
            rc = check_hidden(original, &candidate->args[i], err);
    if (rc == 0 && candidate->kernarg_bytes > dispatch->kernarg_bytes)
        return rp_fail(err, RP_VERDICT,
                       "it takes %" PRIu64 " bytes of arguments, %u are in the capture",
                       candidate->kernarg_bytes, dispatch->kernarg_bytes);
    return rc;
}

/* --- resources ----------------------------------------------------------------------------- */

uint32_t rp_abi_dynamic_group_bytes(const struct rp_code_kernel *original,
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
    const uint64_t dynamic = rp_abi_dynamic_group_bytes(original, d);
    /* Of a GPU that is not known it is known that the captured kernel ran. */
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

static int check_workgroup(const struct rp_code_kernel *c, const struct rp_abi_dispatch *d,
                           struct rp_err *err)
{
    const uint64_t work_items = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];
    const uint64_t *required = c->required_workgroup;

    if (work_items > c->max_workgroup)
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

int rp_abi_check(const struct rp_code_kernel *original, const struct rp_code_kernel *candidate,
                 const struct rp_abi_dispatch *dispatch, struct rp_err *err)
{
    int rc = check_target(original, candidate, err);

    if (rc == 0)
        rc = check_args(original, candidate, dispatch, err);
    if (rc == 0)
        rc = check_workgroup(candidate, dispatch, err);
    return rc < 0 ? rc : check_resources(original, candidate, dispatch, err);
}

/* Clang documentation, "Offload bundler", binary layout: the magic, the number of entries, and for
 * each offset, size, and length of its name, which follows. Little endian. */
static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char packed_magic[] = "CCOB";
enum { MAGIC_BYTES = sizeof magic - 1, ENTRY_BYTES = 24 };

/* "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" is for gfx942. */
static bool is_for(const char *name, uint64_t bytes, const char *gpu)
{
    const size_t length = strlen(gpu);

    for (uint64_t i = 0; i + length + 1 <= bytes; i++)
        if (name[i] == '-' && memcmp(name + i + 1, gpu, length) == 0 &&
            (i + 1 + length == bytes || name[i + 1 + length] == ':'))
            return true;
    return false;
}

int rp_bundle_find(const uint8_t *file, size_t bytes, const char *gpu, const uint8_t **ret,
                   size_t *ret_bytes, struct rp_err *err)
{
    uint64_t count, at = MAGIC_BYTES + sizeof count;

    if (bytes >= 4 && memcmp(file, packed_magic, 4) == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "it is a compressed bundle: make it with --no-offload-compress");
    if (bytes < at || memcmp(file, magic, MAGIC_BYTES) != 0) {
        *ret = file;
        *ret_bytes = bytes;
        return 0;
    }
    memcpy(&count, file + MAGIC_BYTES, sizeof count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry[3];

        if (bytes - at < ENTRY_BYTES)
            break;
        memcpy(entry, file + at, ENTRY_BYTES);
        at += ENTRY_BYTES;
        if (entry[2] > bytes - at || entry[0] > bytes || entry[1] > bytes - entry[0])
            break;
        if (entry[1] && is_for((const char *)file + at, entry[2], gpu)) {
            *ret = file + entry[0];
            *ret_bytes = entry[1];
            return 0;
        }
        at += entry[2];
        if (i + 1 == count)
            return rp_fail(err, RP_VERDICT, "it has no code for %s", gpu);
    }
    return rp_fail(err, RP_BAD_INPUT, "it is a damaged bundle of code objects");
}

/* Where a code object has what can be variables. */

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

/* All between and behind them, to the end of the last page: the loader's memory for a code object
 * is one piece, and the GPU can write all of it. */
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

/* Segments with variables and constants (which the program can set): all but code, and what the
 * loader fills with addresses. */
int rp_replay_find_segments(struct rp_replay_kernel *k, const uint8_t *bytes, size_t size,
                            uint64_t limit, struct rp_err *err)
{
    struct rp_code_elf elf;
    uint64_t relro = 0, relro_end = 0, least = UINT64_MAX, most = 0;
    size_t count;

    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT,
                       "the code object is no ELF file with sound program headers");
    count = elf.header.e_phnum;
    k->segments = calloc(2 * count + 1, sizeof *k->segments);
    k->fixed = calloc(2 * count + 2, sizeof *k->fixed);
    if (!k->segments || !k->fixed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            Elf64_Phdr p;

            if (!rp_code_elf_segment(&elf, i, &p)) /* the runtime would not see */
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

enum what { NUMBER, MEMORY, HOST };

/* LLVM's AMDGPU user guide, code object V5, kernel argument metadata. A number means the same in
 * any process; the bases of LDS and scratch are the device's. */
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

/* One that calls through pointers takes all that any function could want. */
static const char *why(const struct rp_code_kernel *kernel, size_t i)
{
    return kernel->dynamic_stack
               ? "it calls functions that are not known when it is compiled (through pointers, "
                 "virtual ones, or itself), so that it may call the host or use its queue"
               : hidden[i].why;
}

static int check_set(const struct rp_code_kernel *kernel, const struct rp_code_arg *arg,
                     uint64_t value, const struct rp_kernarg *kernarg, struct rp_err *err)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (!rp_code_text_is(arg->kind, hidden[i].kind))
            continue;
        if (hidden[i].what == HOST)
            return rp_fail(err, RP_VERDICT,
                           "the kernel cannot be replayed: %s, which nobody answers here (%s)",
                           why(kernel, i), hidden[i].kind);
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

int rp_replay_check_hidden_args(const struct rp_code_kernel *kernel,
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
        rc = value ? check_set(kernel, arg, value, kernarg, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

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

/* Only of pages that are stored: the others are zeros. */
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

int rp_code_pointer_find(const struct rp_replay *r, const uint8_t *args, size_t arg_bytes,
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

/* Greater whole numbers are as often floating point numbers, addresses or masks. */
enum { MOST_SIZE = 1 << 24 };

static void add(struct rp_scalars *s, uint64_t offset, uint32_t bytes, bool field, bool may_point)
{
    if (s->count == RP_SCALARS)
        return;
    s->at[s->count].offset = (uint32_t)offset;
    s->at[s->count].bytes = bytes;
    s->at[s->count].field = field;
    s->at[s->count++].may_point = may_point;
}

/* A structure is looked at word by word: the metadata do not say what is in it. */
static void add_fields(struct rp_scalars *s, const struct rp_code_arg *arg, size_t kernarg_bytes)
{
    if (arg->bytes <= 2) {
        add(s, arg->offset, (uint32_t)arg->bytes, true, false);
        return;
    }
    for (uint64_t at = (arg->offset + 3) & ~(uint64_t)3; at + 4 <= arg->offset + arg->bytes;
         at += 4)
        add(s, at, 4, true, (at & ~(uint64_t)7) + 8 <= kernarg_bytes);
}

void rp_scalars_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                     struct rp_scalars *ret)
{
    *ret = (struct rp_scalars){0};
    for (unsigned fields = 0; fields < 2; fields++)
        for (size_t i = 0; i < kernel->arg_count; i++) {
            const struct rp_code_arg *arg = &kernel->args[i];
            const bool plain = arg->bytes == 4 || arg->bytes == 8;

            if (!rp_code_text_is(arg->kind, "by_value") || arg->offset > kernarg_bytes ||
                kernarg_bytes - arg->offset < arg->bytes || plain == fields)
                continue;
            if (plain)
                add(ret, arg->offset, (uint32_t)arg->bytes, false, false);
            else
                add_fields(ret, arg, kernarg_bytes);
        }
}

/* Between 2^-64 and 2^64, without zero. */
static bool is_floating(uint64_t bits, unsigned bytes)
{
    const int exponent =
        bytes == 4 ? (int)(bits >> 23 & 0xff) - 127 : (int)(bits >> 52 & 0x7ff) - 1023;

    return exponent >= -64 && exponent <= 64;
}

static bool is_number(uint64_t bits, unsigned bytes)
{
    return bytes >= 4 && bits > MOST_SIZE && is_floating(bits, bytes);
}

static uint64_t other(uint64_t bits, unsigned bytes)
{
    if (bits >= 2 && bits <= MOST_SIZE)
        return (bits - bits / 8 - 2) | 1;
    if (is_number(bits, bytes))
        return bits ^ (bytes == 4 ? (uint64_t)1 << 21 : (uint64_t)1 << 50);
    return bits;
}

/* What is not a small whole number in 2 bytes may be a half. */
static uint64_t other_field(uint64_t bits, unsigned bytes)
{
    enum { LEAST_HALF = 0x400, QUARTER = 0x100 };

    if (bytes == 1 && bits <= 1)
        return bits ^ 1;
    return bytes == 2 && bits >= LEAST_HALF ? bits ^ QUARTER : other(bits, bytes);
}

static uint64_t other_sign(uint64_t bits, unsigned bytes)
{
    const int64_t value = bytes == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;

    if (bytes < 4)
        return bits;
    if (value < 0 && value >= -MOST_SIZE)
        return (uint64_t)-value;
    return is_number(bits, bytes) ? bits ^ (uint64_t)1 << (8 * bytes - 1) : bits;
}

static uint64_t value_of(const struct rp_scalars *scalars, size_t i, const uint8_t *kernarg)
{
    uint64_t bits = 0;

    memcpy(&bits, kernarg + scalars->at[i].offset, scalars->at[i].bytes);
    return bits;
}

/* By how many equal ones there are, and how many of them come behind it. */
static uint64_t unequal(const struct rp_scalars *scalars, size_t which, const uint8_t *was)
{
    const uint64_t bits = value_of(scalars, which, was);
    const unsigned bytes = scalars->at[which].bytes;
    uint64_t equal = 0, behind = 0, step;

    for (size_t i = 0; i < scalars->count; i++)
        if (value_of(scalars, i, was) == bits) {
            equal++;
            behind += scalars->at[i].offset > scalars->at[which].offset;
        }
    if (is_number(bits, bytes))
        return bits ^ (behind & 7) << (bytes == 4 ? 20 : 49);
    if (bits < equal || bits > MOST_SIZE)
        return bits;
    step = (bits / 16) | 1;
    return bits - behind * (step * equal < bits ? step : 1);
}

static bool is_address(const struct rp_scalars *scalars, size_t i,
                       const struct rp_addresses *addresses, const uint8_t *kernarg)
{
    uint64_t whole = value_of(scalars, i, kernarg);

    if (scalars->at[i].may_point)
        memcpy(&whole, kernarg + (scalars->at[i].offset & ~7u), sizeof whole);
    return rp_addresses_have(addresses, whole);
}

static uint64_t changed(const struct rp_scalars *scalars, size_t i, enum rp_scalars_way way,
                        const uint8_t *was)
{
    const uint64_t bits = value_of(scalars, i, was);
    const unsigned bytes = scalars->at[i].bytes;

    if (way == RP_SCALARS_UNEQUAL)
        return unequal(scalars, i, was);
    if (way == RP_SCALARS_SIGNS)
        return other_sign(bits, bytes);
    if (scalars->at[i].field != (way == RP_SCALARS_FIELDS))
        return bits;
    return scalars->at[i].field ? other_field(bits, bytes) : other(bits, bytes);
}

uint64_t rp_scalars_change(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                           enum rp_scalars_way way, uint8_t *kernarg)
{
    uint64_t is[RP_SCALARS], count = 0;

    /* All of them first: what they become depends on what the others were. */
    for (size_t i = 0; i < scalars->count; i++)
        is[i] = is_address(scalars, i, addresses, kernarg) ? value_of(scalars, i, kernarg)
                                                           : changed(scalars, i, way, kernarg);
    for (size_t i = 0; i < scalars->count; i++) {
        count += is[i] != value_of(scalars, i, kernarg);
        memcpy(kernarg + scalars->at[i].offset, &is[i], scalars->at[i].bytes);
    }
    return count;
}

static uint32_t groups_of(uint32_t grid, uint16_t workgroup)
{
    const uint32_t size = workgroup ? workgroup : 1, items = grid ? grid : 1;

    return items / size + (items % size != 0);
}

uint64_t rp_grid_groups(const uint32_t grid[3], const uint16_t workgroup[3])
{
    uint64_t groups = 1;

    for (unsigned i = 0; i < 3; i++)
        groups *= groups_of(grid[i], workgroup[i]);
    return groups;
}

static uint32_t fewer(uint32_t groups, enum rp_grid_way way)
{
    const uint32_t most = groups - groups / 4; /* of three quarters */

    return groups < 2            ? groups
           : way == RP_GRID_HALF ? (groups + 1) / 2
           : way == RP_GRID_ODD  ? (most == groups ? 1 : most - (most % 2 == 0))
                                 : 1;
}

static void make(const uint32_t grid[3], const uint16_t workgroup[3], enum rp_grid_way way,
                 uint32_t ret_grid[3])
{
    for (unsigned i = 0; i < 3; i++)
        ret_grid[i] =
            fewer(groups_of(grid[i], workgroup[i]), way) * (workgroup[i] ? workgroup[i] : 1u);
}

const char *rp_grid_fewer(const uint32_t grid[3], const uint16_t workgroup[3], enum rp_grid_way way,
                          uint32_t ret_grid[3])
{
    uint32_t before[3];

    if (rp_grid_groups(grid, workgroup) < 2)
        return "the captured dispatch has one workgroup only";
    make(grid, workgroup, way, ret_grid);
    for (unsigned i = 0; i < (unsigned)way; i++) {
        make(grid, workgroup, (enum rp_grid_way)i, before);
        if (memcmp(before, ret_grid, sizeof before) == 0)
            return "it is a grid that was tried already";
    }
    return NULL;
}

/* LLVM's AMDGPU user guide, code object V5: the count is of whole workgroups, the remainder is the
 * size of a partial one behind them. */
void rp_grid_find_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                       struct rp_grid_args *ret)
{
    static const char *const counts[] = {"hidden_block_count_x", "hidden_block_count_y",
                                         "hidden_block_count_z"};
    static const char *const remainders[] = {"hidden_remainder_x", "hidden_remainder_y",
                                             "hidden_remainder_z"};

    *ret = (struct rp_grid_args){0};
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (arg->offset > kernarg_bytes || arg->bytes > kernarg_bytes - arg->offset ||
            arg->bytes > sizeof(uint32_t))
            continue;
        for (unsigned axis = 0; axis < 3; axis++) {
            if (rp_code_text_is(arg->kind, counts[axis])) {
                ret->count[axis].offset = (uint32_t)arg->offset;
                ret->count[axis].bytes = (uint32_t)arg->bytes;
            } else if (rp_code_text_is(arg->kind, remainders[axis])) {
                ret->remainder[axis].offset = (uint32_t)arg->offset;
                ret->remainder[axis].bytes = (uint32_t)arg->bytes;
            }
        }
    }
}

void rp_grid_put_args(const struct rp_grid_args *args, const uint32_t grid[3],
                      const uint16_t workgroup[3], uint8_t *kernarg)
{
    for (unsigned axis = 0; axis < 3; axis++) {
        const uint32_t count = groups_of(grid[axis], workgroup[axis]);

        memcpy(kernarg + args->count[axis].offset, &count, args->count[axis].bytes);
        memset(kernarg + args->remainder[axis].offset, 0, args->remainder[axis].bytes);
    }
}
