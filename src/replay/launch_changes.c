#include "replay/launch_changes.h"

#include <string.h>

#include "replay/argument_types.h"
#include "replay/page_changes.h"
#include "replay/replay_trial.h"
#include "trace/code_object.h"

/* --- arguments ----------------------------------------------------------------------------- */

/* This part changes arguments that are passed by value: sizes become smaller, numbers become
 * different ones, and equal ones unequal. That exposes a kernel that has the captured values built
 * in, or is right for multiples of something only.
 */

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

/**
 * Finds scalars by the metadata. Pointers and what the runtime adds are no scalars, as changing
 * them would crash the kernel.
 */
static void scalars_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
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

/* A number from 2^-64 to 2^64 is taken for a floating point number; zero is not. */
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

/* A field of 2 bytes that is not a small whole number may be an fp16. */
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

/* Returns how much to subtract so that equal scalars become unequal. It depends on how many are
 * equal and how many of them come behind this one.
 */
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

static uint64_t changed_scalar(const struct rp_scalars *scalars, size_t i, enum rp_scalars_way way,
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

uint64_t rp_launch_change_scalars(const struct rp_scalars *scalars,
                                  const struct rp_addresses *addresses, enum rp_scalars_way way,
                                  uint8_t *kernarg)
{
    uint64_t is[RP_SCALARS], count = 0;

    /* All scalars are read first because the new value of one depends on the old values of the
     * others.
     */
    for (size_t i = 0; i < scalars->count; i++)
        is[i] = is_address(scalars, i, addresses, kernarg)
                    ? value_of(scalars, i, kernarg)
                    : changed_scalar(scalars, i, way, kernarg);
    for (size_t i = 0; i < scalars->count; i++) {
        count += is[i] != value_of(scalars, i, kernarg);
        memcpy(kernarg + scalars->at[i].offset, &is[i], scalars->at[i].bytes);
    }
    return count;
}

/* --- sizes --------------------------------------------------------------------------------- */

/* What is right for a size near the captured one may be wrong for far larger and smaller ones. The
 * first few whole numbers that are passed become other ones, one at a time. Memory is as large as
 * it was: a size can become larger where there is room for it, be it with one workgroup or with
 * the other sizes made smaller. Whether there is, the captured kernel shows.
 */

enum { MOST_SIZES = 4, TIMES_LARGER = 4, TIMES_SMALLER = 8, FEW = 3 };

static bool is_size(const struct rp_scalars *scalars, size_t i,
                    const struct rp_addresses *addresses, const uint8_t *kernarg)
{
    const uint64_t bits = value_of(scalars, i, kernarg);

    return !scalars->at[i].field && bits >= 2 && bits <= MOST_SIZE &&
           !is_address(scalars, i, addresses, kernarg);
}

static uint64_t other_size(uint64_t bits, enum rp_size_way way)
{
    switch (way) {
    case RP_SIZE_HALF:
        return bits / 2;
    case RP_SIZE_FEW:
        return FEW;
    case RP_SIZE_ONE:
    case RP_SIZE_NONE:
        return way == RP_SIZE_ONE;
    default:
        return TIMES_LARGER * bits + FEW;
    }
}

bool rp_launch_size(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                    const uint8_t *kernarg, unsigned part, struct rp_size_change *ret)
{
    unsigned which = part / RP_SIZE_WAYS;

    for (size_t i = 0; i < scalars->count && which < MOST_SIZES; i++) {
        if (!is_size(scalars, i, addresses, kernarg) || which--)
            continue;
        ret->scalar = i;
        ret->way = (enum rp_size_way)(part % RP_SIZE_WAYS);
        ret->was = value_of(scalars, i, kernarg);
        ret->is = other_size(ret->was, ret->way);
        return true;
    }
    return false;
}

uint64_t rp_launch_change_size(const struct rp_scalars *scalars,
                               const struct rp_addresses *addresses,
                               const struct rp_size_change *change, uint8_t *kernarg)
{
    uint64_t smaller[RP_SCALARS];

    if (change->is == change->was || (change->way == RP_SIZE_FEW && change->was <= 2 * FEW))
        return 0;
    for (size_t i = 0; i < scalars->count; i++) {
        const uint64_t bits = value_of(scalars, i, kernarg);
        const bool yields = change->way == RP_SIZE_LARGER_THAN_OTHERS && i != change->scalar &&
                            is_size(scalars, i, addresses, kernarg);

        smaller[i] = yields ? bits / TIMES_SMALLER | 1 : bits;
    }
    smaller[change->scalar] = change->is;
    for (size_t i = 0; i < scalars->count; i++)
        memcpy(kernarg + scalars->at[i].offset, &smaller[i], scalars->at[i].bytes);
    return 1;
}

/* --- zeros --------------------------------------------------------------------------------- */

/* A factor, an offset or a mode that is 0 hides all that it could do, and a kernel that leaves it
 * out is right with the captured arguments. What 0 stands for, the value does not say. An integer
 * may be an offset or an end as well, and is greater by 1 only: the captured kernel shows whether
 * there is room for that.
 */

enum { MOST_ZEROS = 8 };

static bool is_zero(const struct rp_scalars *scalars, size_t i,
                    const struct rp_addresses *addresses, const uint8_t *kernarg)
{
    return value_of(scalars, i, kernarg) == 0 && !is_address(scalars, i, addresses, kernarg);
}

static enum rp_scalar_type scalar_type(const struct rp_replay *r, size_t i)
{
    const unsigned argument = rp_launch_argument_at(&r->visible, r->scalars.at[i].offset);

    return !argument || (r->scalars.at[i].field && r->scalars.at[i].bytes >= 4)
               ? RP_SCALAR_UNKNOWN
               : r->visible.at[argument - 1].scalar;
}

/** Lists what a zero may become. @return how many */
static unsigned other_zeros(unsigned bytes, enum rp_scalar_type type, struct rp_size_change *ret)
{
    static const struct {
        uint64_t f16, f32, f64;
        double number;
    } numbers[] = {{0x3c00, 0x3f800000, 0x3ff0000000000000, 1},
                   {0xb800, 0xbf000000, 0xbfe0000000000000, -0.5}};
    unsigned count = 0;

    if (type != RP_SCALAR_NUMBER || bytes == 1)
        ret[count++] = (struct rp_size_change){.is = 1, .number = 1};
    for (unsigned i = 0; i < 2 && type != RP_SCALAR_INTEGER && bytes > 1; i++)
        ret[count++] = (struct rp_size_change){.is = bytes == 2   ? numbers[i].f16
                                                     : bytes == 4 ? numbers[i].f32
                                                                  : numbers[i].f64,
                                               .number = numbers[i].number};
    return count;
}

bool rp_launch_zero(const struct rp_replay *r, const struct rp_addresses *addresses, unsigned part,
                    struct rp_size_change *ret)
{
    enum { MOST_VALUES = 3 };
    struct rp_size_change values[MOST_VALUES];
    unsigned zeros = 0;

    for (size_t i = 0; i < r->scalars.count && zeros < MOST_ZEROS; i++) {
        unsigned count;

        if (!is_zero(&r->scalars, i, addresses, r->kernarg_kept))
            continue;
        zeros++;
        count = other_zeros(r->scalars.at[i].bytes, scalar_type(r, i), values);
        if (part < count) {
            *ret = values[part];
            ret->scalar = i;
            return true;
        }
        part -= count;
    }
    return false;
}

uint64_t rp_launch_change_zero(const struct rp_scalars *scalars,
                               const struct rp_size_change *change, uint8_t *kernarg)
{
    memcpy(kernarg + scalars->at[change->scalar].offset, &change->is,
           scalars->at[change->scalar].bytes);
    return 1;
}

/* --- the grid ------------------------------------------------------------------------------ */

/* A kernel that was made for the captured grid only is found by launching fewer workgroups than
 * the captured launch. More workgroups would access memory that does not exist.
 */

static uint32_t groups_of(uint32_t grid, uint16_t workgroup)
{
    const uint32_t size = workgroup ? workgroup : 1, items = grid ? grid : 1;

    return items / size + (items % size != 0);
}

uint64_t rp_launch_groups(const uint32_t grid[3], const uint16_t workgroup[3])
{
    uint64_t groups = 1;

    for (unsigned i = 0; i < 3; i++)
        groups *= groups_of(grid[i], workgroup[i]);
    return groups;
}

static uint32_t fewer(uint32_t groups, enum rp_grid_way way)
{
    /* The varied grid has at most three quarters of the workgroups. */
    const uint32_t most = groups - groups / 4;

    return groups < 2            ? groups
           : way == RP_GRID_HALF ? (groups + 1) / 2
           : way == RP_GRID_ODD  ? (most == groups ? 1 : most - (most % 2 == 0))
                                 : 1;
}

static void make_grid(const uint32_t grid[3], const uint16_t workgroup[3], enum rp_grid_way way,
                      uint32_t ret_grid[3])
{
    for (unsigned i = 0; i < 3; i++)
        ret_grid[i] =
            fewer(groups_of(grid[i], workgroup[i]), way) * (workgroup[i] ? workgroup[i] : 1u);
}

const char *rp_launch_fewer(const uint32_t grid[3], const uint16_t workgroup[3],
                            enum rp_grid_way way, uint32_t ret_grid[3])
{
    uint32_t before[3];

    if (rp_launch_groups(grid, workgroup) < 2)
        return "the captured dispatch has one workgroup only";
    make_grid(grid, workgroup, way, ret_grid);
    for (unsigned i = 0; i < (unsigned)way; i++) {
        make_grid(grid, workgroup, (enum rp_grid_way)i, before);
        if (memcmp(before, ret_grid, sizeof before) == 0)
            return "it is a grid that was tried already";
    }
    return NULL;
}

/* The count is of whole workgroups, and the remainder is the size of a partial one behind them
 * (LLVM's AMDGPU user guide, code object V5).
 */
void rp_launch_find_grid_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                              struct rp_grid_args *ret)
{
    static const char *const counts[] = {"hidden_block_count_x", "hidden_block_count_y",
                                         "hidden_block_count_z"};
    static const char *const sizes[] = {"hidden_group_size_x", "hidden_group_size_y",
                                        "hidden_group_size_z"};
    static const char *const remainders[] = {"hidden_remainder_x", "hidden_remainder_y",
                                             "hidden_remainder_z"};

    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (arg->offset > kernarg_bytes || arg->bytes > kernarg_bytes - arg->offset ||
            arg->bytes > sizeof(uint32_t))
            continue;
        for (unsigned axis = 0; axis < 3; axis++) {
            struct rp_grid_arg *of = rp_code_text_is(arg->kind, counts[axis])  ? &ret->count[axis]
                                     : rp_code_text_is(arg->kind, sizes[axis]) ? &ret->size[axis]
                                     : rp_code_text_is(arg->kind, remainders[axis])
                                         ? &ret->remainder[axis]
                                         : NULL;

            if (of)
                *of = (struct rp_grid_arg){(uint32_t)arg->offset, (uint32_t)arg->bytes};
        }
    }
}

void rp_launch_put_grid(const struct rp_grid_args *args, const uint32_t grid[3],
                        const uint16_t workgroup[3], uint8_t *kernarg)
{
    for (unsigned axis = 0; axis < 3; axis++) {
        const uint32_t count = groups_of(grid[axis], workgroup[axis]);

        memcpy(kernarg + args->count[axis].offset, &count, args->count[axis].bytes);
        memcpy(kernarg + args->size[axis].offset, &workgroup[axis], args->size[axis].bytes);
        memset(kernarg + args->remainder[axis].offset, 0, args->remainder[axis].bytes);
    }
}

/* --- workgroups of another size ------------------------------------------------------------- */

bool rp_launch_smaller_workgroup(const uint32_t grid[3], const uint16_t workgroup[3], unsigned axis,
                                 uint16_t ret_workgroup[3], uint32_t ret_grid[3])
{
    enum { LEAST_ITEMS = 64 };
    unsigned items = 1;

    for (unsigned i = 0; i < 3; i++) {
        ret_workgroup[i] = (uint16_t)(i == axis ? workgroup[i] / 2 : workgroup[i]);
        ret_grid[i] = groups_of(grid[i], workgroup[i]) * ret_workgroup[i];
        items *= ret_workgroup[i];
    }
    return workgroup[axis] % 2 == 0 && items >= LEAST_ITEMS;
}

/* --- arguments that overlap ---------------------------------------------------------------- */

/* A caller may pass the address of an input for that of the results, unless the kernel says that
 * they are apart. Other overlaps are not tried: with several wavefronts, what is read is then
 * written by another one, and the captured kernel has no result of its own.
 */

enum { MOST_OVERLAPS = 4 };

/* What a pointer leads to: up to the end of the region, or to the next argument in it. */
struct target {
    size_t region;
    uint64_t from, end; /* in the region; the same: it leads nowhere */
    uint64_t written;   /* bytes up to the last one that the captured kernel writes; 0: none */
};

static uint64_t pointer_of(const struct rp_replay *r, size_t i)
{
    uint64_t address = 0;

    if (r->visible.at[i].pointer)
        memcpy(&address, (const uint8_t *)r->kernarg_kept + r->visible.at[i].offset,
               sizeof address);
    return address;
}

static uint64_t next_pointer(const struct rp_replay *r, uint64_t from, uint64_t end)
{
    for (size_t i = 0; i < r->visible.count; i++) {
        const uint64_t other = pointer_of(r, i);

        end = other > from && other < end ? other : end;
    }
    return end;
}

static void find_written(const struct rp_write_set *set, struct target *ret)
{
    for (size_t i = 0; i < set->count; i++)
        for (size_t word = 0; word < RP_PAGE_WORDS && set->items[i].key.region == ret->region;
             word++) {
            const uint64_t end = set->items[i].key.page * RP_PAGE_BYTES + 4 * word + 4;

            if (rp_word_in(set->items[i].written, word) && end > ret->from && end <= ret->end &&
                end - ret->from > ret->written)
                ret->written = end - ret->from;
        }
}

static struct target target_of(const struct rp_replay *r, const struct rp_write_set *set, size_t i)
{
    const uint64_t address = pointer_of(r, i);
    struct target found = {0};

    for (size_t m = 0; m < r->memory_count && address; m++) {
        const uint64_t base = r->memory[m].region.base, bytes = r->memory[m].region.bytes;

        if (address < base || address - base >= bytes || !rp_trial_may_change(&r->memory[m]))
            continue;
        found = (struct target){.region = m, .from = address - base};
        found.end = next_pointer(r, address, base + bytes) - base;
        find_written(set, &found);
    }
    return found;
}

/* Results must find room where they are to go. */
static bool may_overlap(const struct rp_replay *r, const struct rp_write_set *set, unsigned written,
                        unsigned read, struct rp_overlap *ret)
{
    const struct target to = target_of(r, set, written), from = target_of(r, set, read);

    *ret = (struct rp_overlap){written, read, pointer_of(r, read), from.end - from.from};
    return !r->visible.at[written].no_alias && !r->visible.at[read].no_alias && to.written &&
           !from.written && ret->bytes >= to.written;
}

bool rp_launch_overlap(const struct rp_replay *r, const struct rp_write_set *set, unsigned part,
                       struct rp_overlap *ret)
{
    const unsigned count = (unsigned)r->visible.count;

    for (unsigned i = 0; i < count * count && part < MOST_OVERLAPS; i++)
        if (may_overlap(r, set, i / count, i % count, ret) && part-- == 0)
            return true;
    return false;
}

uint64_t rp_launch_make_overlap(const struct rp_visible_args *args,
                                const struct rp_overlap *overlap, uint8_t *kernarg)
{
    memcpy(kernarg + args->at[overlap->written].offset, kernarg + args->at[overlap->read].offset,
           sizeof(uint64_t));
    return 1;
}

/* --- the arguments of the kernel ------------------------------------------------------------ */

static void visible_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                         struct rp_visible_args *ret)
{
    *ret = (struct rp_visible_args){0};
    for (size_t i = 0; i < kernel->arg_count && ret->count < RP_VISIBLE_ARGS; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (rp_code_arg_is_hidden(arg) || arg->offset > kernarg_bytes ||
            arg->bytes > kernarg_bytes - arg->offset)
            continue;
        ret->at[ret->count].offset = (uint32_t)arg->offset;
        ret->at[ret->count].no_alias = arg->no_alias;
        ret->at[ret->count++].pointer = arg->bytes == 8 && !rp_code_text_is(arg->kind, "by_value");
    }
}

unsigned rp_launch_argument_at(const struct rp_visible_args *args, uint32_t offset)
{
    for (size_t i = args->count; i-- > 0;)
        if (args->at[i].offset <= offset)
            return (unsigned)i + 1;
    return 0;
}

void rp_launch_find_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                         struct rp_replay *r)
{
    scalars_find(kernel, kernarg_bytes, &r->scalars);
    rp_launch_find_grid_args(kernel, kernarg_bytes, &r->grid_args);
    visible_find(kernel, kernarg_bytes, &r->visible);
    for (unsigned i = 0; r->facts && r->facts->name && i < r->visible.count; i++) {
        r->visible.at[i].type = rp_argument_type(r->facts->name, i);
        r->visible.at[i].scalar = rp_argument_scalar(r->facts->name, i);
    }
}
