#include "replay/other_launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "replay/replay.h"
#include "trace/code_object.h"

/* The packet's set-up has the grid's dimensions in its lowest two bits (HSA, kernel dispatch
 * packet). */
enum { DIMENSIONS = 3 };

struct rp_abi_dispatch rp_abi_dispatch_of(const struct rp_snapshot_dispatch *d, const char *gpu)
{
    return (struct rp_abi_dispatch){
        .gpu = gpu,
        .workgroup = {d->workgroup[0], d->workgroup[1], d->workgroup[2]},
        .grid = {d->grid[0], d->grid[1], d->grid[2]},
        .dimensions = d->setup & DIMENSIONS,
        .group_bytes = d->group_bytes,
        .kernarg_bytes = d->kernarg_bytes};
}

bool rp_launch_number(const struct rp_code_arg *arg, const struct rp_abi_dispatch *d, uint32_t *ret)
{
    static const char *const by_axis[] = {"hidden_block_count_", "hidden_group_size_",
                                          "hidden_remainder_", "hidden_global_offset_"};
    enum { COUNT, SIZE, REMAINDER };

    for (unsigned what = 0; what < sizeof by_axis / sizeof *by_axis; what++)
        for (unsigned axis = 0; axis < 3; axis++) {
            const uint32_t size = d->workgroup[axis] ? d->workgroup[axis] : 1;
            const char name[] = {'x', 'y', 'z'};
            const size_t bytes = strlen(by_axis[what]);

            if (arg->kind.bytes != bytes + 1 || memcmp(arg->kind.at, by_axis[what], bytes) != 0 ||
                arg->kind.at[bytes] != name[axis])
                continue;
            *ret = what == COUNT       ? d->grid[axis] / size
                   : what == SIZE      ? size
                   : what == REMAINDER ? d->grid[axis] % size
                                       : 0;
            return true;
        }
    *ret = rp_code_text_is(arg->kind, "hidden_grid_dims") ? d->dimensions : d->dynamic_group_bytes;
    return rp_code_text_is(arg->kind, "hidden_grid_dims") ||
           rp_code_text_is(arg->kind, "hidden_dynamic_lds_size");
}

/* --- the other launch ---------------------------------------------------------------------- */

static void close_capture(struct rp_capture **capture)
{
    rp_capture_close(*capture);
}

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

static int read_arguments(const char *folder, size_t bytes, uint8_t *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_KERNARG_FILE);
    rp_cleanup(close_file) FILE *file = fopen(path, "re");

    if (!file || fread(ret, 1, bytes, file) != bytes)
        return rp_fail(err, RP_BAD_INPUT, "cannot read %zu bytes of %s", bytes, path);
    return 0;
}

/** Pairs an allocation with the one of the other run of the program that is the same. */
struct pair {
    const struct rp_snapshot_region *was, *is;
};

/** Compares arguments of two runs, in which memory may lie elsewhere. */
struct places {
    const struct rp_capture_contents *was, *is;
    struct pair *pairs; /**< of all arguments so far */
    size_t count;
};

static void free_places(struct places *places)
{
    free(places->pairs);
}

/** @return the region of an address; NULL: nothing is known there */
static const struct rp_snapshot_region *region_of(const struct rp_capture_contents *c,
                                                  uint64_t address)
{
    for (size_t i = 0; i < c->memory_count; i++)
        if (address - c->memory[i].region.base < c->memory[i].region.bytes)
            return &c->memory[i].region;
    return NULL;
}

static bool has_region(const struct rp_capture_contents *c, const struct rp_snapshot_region *region)
{
    const struct rp_snapshot_region *there = region_of(c, region->base);

    return there && there->base == region->base && there->bytes == region->bytes;
}

static int order_of(const struct rp_snapshot_region *a, const struct rp_snapshot_region *b)
{
    return (a->base > b->base) - (a->base < b->base);
}

/** Which allocation is which can be told by their sizes, and of several of one size by the order of
 * their addresses: one that is there in both runs is itself, and no two are exchanged. */
static bool may_be_paired(const struct places *places, const struct rp_snapshot_region *was,
                          const struct rp_snapshot_region *is)
{
    if (was->bytes != is->bytes || (was->base != is->base && has_region(places->is, was)))
        return false;
    for (size_t i = 0; i < places->count; i++)
        if (places->pairs[i].was->bytes == was->bytes &&
            order_of(places->pairs[i].was, was) != order_of(places->pairs[i].is, is))
            return false;
    return true;
}

/** An address is the same where it is as far in the same allocation. One that has not changed need
 * not be one. */
static bool is_like_place(struct places *places, uint64_t was, uint64_t is)
{
    const struct rp_snapshot_region *a = region_of(places->was, was),
                                    *b = region_of(places->is, is);

    if (!a || !b)
        return was == is;
    if (was - a->base != is - b->base || !may_be_paired(places, a, b))
        return false;
    places->pairs = rp_realloc_array(places->pairs, places->count + 1, sizeof *places->pairs);
    places->pairs[places->count++] = (struct pair){a, b};
    return true;
}

static bool same_bytes(struct places *places, const uint8_t *was, const uint8_t *is, uint64_t from,
                       uint64_t end)
{
    uint64_t a = 0, b = 0;

    while (from < end) {
        const bool whole = from % sizeof a == 0 && end - from >= sizeof a;

        if (whole) {
            memcpy(&a, was + from, sizeof a);
            memcpy(&b, is + from, sizeof b);
        }
        if (whole ? !is_like_place(places, a, b) : was[from] != is[from])
            return false;
        from += whole ? sizeof a : 1;
    }
    return true;
}

static uint64_t value_of(const uint8_t *bytes, const struct rp_code_arg *arg)
{
    uint64_t value = 0;

    memcpy(&value, bytes + arg->offset, arg->bytes < sizeof value ? arg->bytes : sizeof value);
    return value;
}

/** Another value of an argument is another computation, and not one of the same with workgroups of
 * another size. */
static int compare_arguments(const struct rp_capture_contents *captured,
                             const struct rp_capture_contents *other,
                             const struct rp_code_kernel *kernel, const uint8_t *was,
                             const uint8_t *is, struct rp_err *err)
{
    rp_cleanup(free_places) struct places places = {.was = captured, .is = other};
    const uint32_t bytes = captured->facts.dispatch.kernarg_bytes;
    size_t number = 0;

    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (rp_code_arg_is_hidden(arg) || arg->offset > bytes || arg->bytes > bytes - arg->offset)
            continue;
        number++;
        if (same_bytes(&places, was, is, arg->offset, arg->offset + arg->bytes))
            continue;
        if (arg->bytes > sizeof(uint64_t))
            return rp_fail(err, RP_VERDICT,
                           "it is launched with another argument %zu than the captured one",
                           number);
        return rp_fail(err, RP_VERDICT,
                       "it is launched with another argument %zu (0x%" PRIx64
                       ") than the captured one (0x%" PRIx64 ")",
                       number, value_of(is, arg), value_of(was, arg));
    }
    return 0;
}

int rp_other_launch_read(const struct rp_replay *r, const char *folder,
                         const struct rp_code_kernel *original, const uint8_t *kernarg,
                         struct rp_snapshot_dispatch *ret, struct rp_err *err)
{
    rp_cleanup(close_capture) struct rp_capture *other = NULL;
    const size_t bytes = r->facts->dispatch.kernarg_bytes;
    rp_autofree uint8_t *arguments = rp_alloc_zero(1, bytes + 1);
    const struct rp_capture_facts *facts;
    int rc = rp_capture_open(folder, &other, err);

    if (rc < 0)
        return rp_wrap(err, "--launch-of");
    facts = &rp_capture_contents(other)->facts;
    if (strcmp(facts->symbol, r->facts->symbol) != 0)
        return rp_fail(err, RP_BAD_INPUT, "--launch-of: %s is of the kernel %s instead of %s",
                       folder, facts->symbol, r->facts->symbol);
    if (strcmp(facts->isa, r->facts->isa) != 0)
        return rp_fail(err, RP_BAD_INPUT, "--launch-of: %s is of %s instead of %s", folder,
                       facts->isa, r->facts->isa);
    /* Those of the runtime may be more or fewer; the kernel's own come first. */
    rc = read_arguments(
        folder, bytes < facts->dispatch.kernarg_bytes ? bytes : facts->dispatch.kernarg_bytes,
        arguments, err);
    if (rc == 0)
        rc = compare_arguments(rp_capture_contents(r->capture), rp_capture_contents(other),
                               original, kernarg, arguments, err);
    if (rc == 0)
        *ret = facts->dispatch;
    return rc;
}

void rp_other_launch_make(const struct rp_code_kernel *kernel,
                          const struct rp_abi_dispatch *dispatch,
                          const struct rp_snapshot_dispatch *launch,
                          struct rp_replay_launch_change *ret)
{
    *ret = (struct rp_replay_launch_change){.given = true, .setup = launch->setup};
    memcpy(ret->grid, launch->grid, sizeof ret->grid);
    memcpy(ret->workgroup, launch->workgroup, sizeof ret->workgroup);
    for (size_t i = 0; i < kernel->arg_count && ret->count < RP_LAUNCH_NUMBERS; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];
        uint32_t number;

        if (!rp_code_arg_is_hidden(arg) || !rp_launch_number(arg, dispatch, &number))
            continue;
        ret->at[ret->count].offset = (uint32_t)arg->offset;
        ret->at[ret->count].bytes =
            arg->bytes < sizeof number ? (uint32_t)arg->bytes : (uint32_t)sizeof number;
        ret->at[ret->count++].value = number;
    }
}

static uint32_t groups_of(uint32_t grid, uint32_t workgroup)
{
    return workgroup ? (grid + workgroup - 1) / workgroup : 1;
}

/** @return whether each axis of a has a whole number of times as many workgroups as that of b */
static bool has_times_as_many(const uint32_t a[3], const uint16_t a_size[3], const uint32_t b[3],
                              const uint16_t b_size[3], uint32_t ret_times[3])
{
    for (unsigned axis = 0; axis < 3; axis++) {
        const uint32_t many = groups_of(a[axis], a_size[axis]);
        const uint32_t few = groups_of(b[axis], b_size[axis]);

        if (!few || many % few)
            return false;
        ret_times[axis] = many / few;
    }
    return true;
}

static void multiply(const uint32_t grid[3], const uint16_t size[3], const uint32_t times[3],
                     const uint16_t ret_size[3], uint32_t ret[3])
{
    for (unsigned axis = 0; axis < 3; axis++)
        ret[axis] = groups_of(grid[axis], size[axis]) * times[axis] * ret_size[axis];
}

const char *rp_other_launch_fewer(const struct rp_snapshot_dispatch *d,
                                  const struct rp_replay_launch_change *launch,
                                  enum rp_grid_way way, uint32_t ret_grid[3], uint32_t ret_other[3])
{
    const uint16_t *size = d->workgroup, *other = launch->workgroup;
    uint32_t times[3];
    const char *why;

    if (has_times_as_many(d->grid, size, launch->grid, other, times)) {
        why = rp_launch_fewer(launch->grid, other, way, ret_other);
        if (!why)
            multiply(ret_other, other, times, size, ret_grid);
        return why;
    }
    if (!has_times_as_many(launch->grid, other, d->grid, size, times))
        return "the workgroups of neither launch are a whole number of the other's";
    why = rp_launch_fewer(d->grid, size, way, ret_grid);
    if (!why)
        multiply(ret_grid, size, times, other, ret_other);
    return why;
}

bool rp_other_launch_has_same_items(const struct rp_snapshot_dispatch *d,
                                    const struct rp_replay_launch_change *launch)
{
    uint64_t captured = 1, other = 1;

    for (unsigned axis = 0; axis < 3; axis++) {
        captured *= d->grid[axis] ? d->grid[axis] : 1;
        other *= launch->grid[axis] ? launch->grid[axis] : 1;
    }
    return captured == other;
}

void rp_other_launch_put(const struct rp_replay_launch_change *launch, uint8_t *kernarg,
                         uint32_t ret_was[])
{
    for (size_t i = 0; i < launch->count; i++) {
        uint8_t *at = kernarg + launch->at[i].offset;

        memcpy(&ret_was[i], at, launch->at[i].bytes);
        memcpy(at, &launch->at[i].value, launch->at[i].bytes);
    }
}

void rp_other_launch_put_back(const struct rp_replay_launch_change *launch, uint8_t *kernarg,
                              const uint32_t was[])
{
    for (size_t i = 0; i < launch->count; i++)
        memcpy(kernarg + launch->at[i].offset, &was[i], launch->at[i].bytes);
}
