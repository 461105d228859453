#include "replay/abi_gate.h"

#include <inttypes.h>
#include <string.h>

#include "arch/arch.h"
#include "base/err.h"
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

static uint64_t most_vgprs(const struct rp_arch *arch, uint64_t wave_size, uint64_t work_items)
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
        vgprs = most_vgprs(arch, c->wave_size, work_items);
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
