#include "replay/input_variation.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "replay/output_rules.h"
#include "replay/replay.h"
#include "replay/replay_protocol.h"
#include "trace/code_object.h"

/* --- arguments ----------------------------------------------------------------------------- */

/* This part changes arguments that are passed by value: sizes become smaller, numbers become
 * different ones, and equal ones unequal. That exposes a kernel that has the captured values built
 * in, or is right for multiples of something only.
 */

/** These are the ways to change scalars, in the order of variations.def. */
enum rp_scalars_way {
    RP_SCALARS_OTHER,   /**< all but fields */
    RP_SCALARS_UNEQUAL, /**< of those that are equal all but the last */
    RP_SCALARS_FIELDS,
    RP_SCALARS_SIGNS, /**< of floating point numbers, and negative whole ones */
};

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

/**
 * Changes scalars. A whole number from 2 to 2^24 becomes an odd one that is about an eighth
 * smaller, and the greater of two stays the greater. Any other value that may be a floating point
 * number changes by a quarter of its power of two. All others stay, among them addresses of
 * captured memory. Equal scalars become unequal so that none grows and a later one is greater than
 * one before it, because lengths of rows mostly follow widths. A field of 1 byte that holds 0 or 1
 * is inverted.
 * @return how many were changed
 */
static uint64_t scalars_change(const struct rp_scalars *scalars,
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

/* --- the grid ------------------------------------------------------------------------------ */

/* A kernel that was made for the captured grid only is found by launching fewer workgroups than
 * the captured launch. More workgroups would access memory that does not exist.
 */

enum rp_grid_way {
    RP_GRID_HALF, /**< of the workgroups in each dimension that has several */
    RP_GRID_ODD,  /**< about three quarters, an odd number */
    RP_GRID_ONE,  /**< one workgroup in all */
    RP_GRID_WAYS,
};

static uint32_t groups_of(uint32_t grid, uint16_t workgroup)
{
    const uint32_t size = workgroup ? workgroup : 1, items = grid ? grid : 1;

    return items / size + (items % size != 0);
}

/** Counts workgroups, partial ones included. */
static uint64_t grid_groups(const uint32_t grid[3], const uint16_t workgroup[3])
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

/**
 * All workgroups of it are whole ones.
 * @param grid, ret_grid  work-items
 * @return NULL; or why there is no such grid: there is one workgroup, or it is that of a way before
 */
static const char *grid_fewer(const uint32_t grid[3], const uint16_t workgroup[3],
                              enum rp_grid_way way, uint32_t ret_grid[3])
{
    uint32_t before[3];

    if (grid_groups(grid, workgroup) < 2)
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
void rp_variation_find_grid_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                                 struct rp_grid_args *ret)
{
    static const char *const counts[] = {"hidden_block_count_x", "hidden_block_count_y",
                                         "hidden_block_count_z"};
    static const char *const remainders[] = {"hidden_remainder_x", "hidden_remainder_y",
                                             "hidden_remainder_z"};

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

/** Gives the kernel a different grid of whole workgroups. */
static void grid_put_args(const struct rp_grid_args *args, const uint32_t grid[3],
                          const uint16_t workgroup[3], uint8_t *kernarg)
{
    for (unsigned axis = 0; axis < 3; axis++) {
        const uint32_t count = groups_of(grid[axis], workgroup[axis]);

        memcpy(kernarg + args->count[axis].offset, &count, args->count[axis].bytes);
        memset(kernarg + args->remainder[axis].offset, 0, args->remainder[axis].bytes);
    }
}

void rp_variation_find_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                            struct rp_replay *r)
{
    scalars_find(kernel, kernarg_bytes, &r->scalars);
    rp_variation_find_grid_args(kernel, kernarg_bytes, &r->grid_args);
}

/* --- why a kind tells nothing -------------------------------------------------------------- */

/* It computes with others than those that were changed, or by less than the rule sees. */
static const char *same_numbers(const struct rp_variation_runs *v)
{
    const bool near = v->trial->rule.type != RP_EXACT;

    if (v->rule.words) /* Integers change in their last bits only. */
        return near ? "the captured kernel gives the same within the rule with other integers "
                      "(if it computes with numbers of another type, name it: --inputs f32, f16, "
                      "bf16 or f64)"
                    : "the captured kernel gives the same result with other integers (if it "
                      "computes with numbers of another type, name it: --inputs f32, f16, bf16 or "
                      "f64)";
    return near ? "the captured kernel gives the same within the rule with other numbers (if it "
                  "computes with integers, --inputs i32 changes these; other types: f32, f16, "
                  "bf16, f64)"
                : "the captured kernel gives the same result with other numbers (if it computes "
                  "with integers, --inputs i32 changes these; other types: f32, f16, bf16, f64)";
}

/* The captured kernel's results are kept in memory, so their number is limited. */
enum { MOST_PAGES = 1 << 18 };

/* --- memory -------------------------------------------------------------------------------- */

static uint64_t change_order(const struct rp_replay_trial *trial, uint64_t place, size_t bytes,
                             uint8_t *contents)
{
    uint8_t before[RP_PAGE_BYTES] = {0}, after[RP_PAGE_BYTES] = {0};
    uint64_t different[RP_PAGE_MASKS], count = 0;

    memcpy(before, contents, bytes);
    rp_write_set_flip(RP_FLIP_ORDER, place, contents, bytes, &trial->addresses);
    memcpy(after, contents, bytes);
    rp_compare_words(&rp_exact, before, after, RP_PAGE_BYTES, different);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        count += (uint64_t)__builtin_popcountll(different[i]);
    return count;
}

/* A page of zeros may be filled only if it is among the first of its region, because regions of
 * zeros may be all of a GPU's memory.
 */
static bool may_fill(uint64_t page, const uint8_t *contents)
{
    enum { FIRST_PAGES = 1024, ONE_IN = 16 };

    return page < FIRST_PAGES || page % ONE_IN == 0 || !rp_is_zero_page(contents);
}

/* Each kind changes another half, because words that all kinds left unchanged would be tested by
 * none.
 */
static uint64_t seed_of(const struct rp_variation_runs *v, const struct rp_capture_memory *m,
                        uint64_t page)
{
    return rp_replay_place(v->trial->r, m, page) ^ (uint64_t)(v->now + 1) << 56;
}

/* Zeros where the captured kernel writes may be counters and flags, so they stay, unless numbers
 * replace them, which may be added up.
 */
static int fill_zeros(struct rp_variation_runs *v, const struct rp_capture_memory *m, uint64_t page,
                      size_t bytes, uint8_t *contents, uint64_t *ret_count, struct rp_err *err)
{
    static const uint64_t none[RP_PAGE_MASKS];
    const struct rp_replay_trial *trial = v->trial;
    const struct rp_write_page *w =
        rp_write_set_find(&trial->set, rp_replay_region(v->trial->r, m), page);
    const bool integers = v->now == RP_VARY_ZERO_INTEGERS;
    const uint64_t *keep = w ? w->written : none;
    uint8_t after[RP_PAGE_BYTES];
    int rc = 0;

    *ret_count = 0;
    if (!may_fill(page, contents))
        return 0;
    if (w && !integers) {
        rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
        keep = rc == 0 && rp_inputs_are_numbers(&v->rule, after, bytes) ? none : keep;
    }
    *ret_count = rp_inputs_fill(&v->rule, integers, &trial->addresses, seed_of(v, m, page), keep,
                                bytes, contents);
    return rc;
}

static int change_page(struct rp_variation_runs *v, const struct rp_capture_memory *m,
                       uint64_t page, size_t bytes, uint8_t *contents, uint64_t *ret_count,
                       struct rp_err *err)
{
    const struct rp_addresses *addresses = &v->trial->addresses;
    const uint64_t place = seed_of(v, m, page);

    *ret_count = 0;
    if (rp_variations[v->now].what == RP_VARIES_ZEROS)
        return fill_zeros(v, m, page, bytes, contents, ret_count, err);
    if (rp_is_zero_page(contents))
        return 0;
    *ret_count = v->now == RP_VARY_ORDER
                     ? change_order(v->trial, place, bytes, contents)
                     : rp_inputs_vary(v->now, &v->rule, addresses, place, bytes, contents);
    return 0;
}

/* Writes other inputs, and poison where results go. */
static int vary_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    struct rp_variation_runs *v = data;
    const bool sizes = v->sizes && rp_trial_may_change(m);
    enum rp_number_type type = sizes ? rp_rounding_bound_type(v->trial, contents, bytes) : RP_EXACT;
    uint64_t count = 0;
    int rc = 0;

    if (rp_varies_memory(v->now) && rp_trial_may_change(m))
        rc = change_page(v, m, page, bytes, contents, &count, err);
    v->changed += count;
    if (sizes && type == RP_EXACT) /* It was zeros. */
        type = rp_rounding_bound_type(v->trial, contents, bytes);
    if (sizes)
        rp_rounding_bound_sizes(type, bytes, contents);
    return rc < 0 ? rc : rp_trial_poison_page(v->trial, m, page, bytes, contents, err);
}

static int page_before(struct rp_variation_runs *v, const struct rp_capture_memory *m,
                       uint64_t page, uint8_t *ret, struct rp_err *err)
{
    const size_t bytes = rp_replay_page_bytes(m, page);
    const uint64_t changed = v->changed;
    int rc = rp_capture_page(v->trial->r->capture, m, RP_STATE_BEFORE, page, ret, err);

    if (rc == 0)
        rc = vary_page(v, m, page, bytes, ret, err);
    memset(ret + bytes, 0, RP_PAGE_BYTES - bytes);
    v->changed = changed;
    return rc;
}

static const struct rp_variation_page *find(const struct rp_variation_runs *v,
                                            const struct rp_capture_memory *m, uint64_t page)
{
    return rp_page_find(v->pages.items, v->pages.count, sizeof *v->pages.items,
                        (struct rp_page_key){rp_replay_region(v->trial->r, m), page});
}

/* --- the captured kernel ------------------------------------------------------------------- */

static void keep(struct rp_variation_runs *v, const struct rp_capture_memory *m, uint64_t page,
                 const uint8_t *contents)
{
    struct rp_variation_page *kept;

    if (v->pages.count == MOST_PAGES) {
        v->of[v->now].reason = "the captured kernel writes more than can be kept";
        v->of[v->now].open = true;
        return;
    }
    kept = rp_vec_add(&v->pages);
    kept->key = (struct rp_page_key){rp_replay_region(v->trial->r, m), page};
    memcpy(kept->contents, contents, RP_PAGE_BYTES);
}

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_variation_runs *v = data;
    const struct rp_write_page *w =
        rp_write_set_find(&v->trial->set, rp_replay_region(v->trial->r, m), page);
    uint8_t before[RP_PAGE_BYTES];
    uint64_t other[RP_PAGE_MASKS], written[RP_PAGE_MASKS] = {0};
    int rc = page_before(v, m, page, before, err);

    if (rc < 0 || memcmp(before, contents, RP_PAGE_BYTES) == 0)
        return rc;
    rp_compare_words(&rp_exact, before, contents, RP_PAGE_BYTES, written);
    rp_trial_compare(v->trial, m, page, contents, expected, other);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        v->of[v->now].telling_bytes +=
            4 * (uint64_t)__builtin_popcountll((written[i] | (w ? w->written[i] : 0)) & other[i]);
    keep(v, m, page, contents);
    return 0;
}

static int run_kernel(struct rp_variation_runs *v, double *ret_us, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    int rc;

    rp_replay_step(r, r->kernel == &r->original ? (char)(RP_STEP_VARY + v->now) : RP_STEP_OTHER);
    rc = rp_replay_run(r, ret_us, err);
    if (rc == 0)
        rp_replay_step(r, RP_STEP_REST);
    return rc < 0 ? rp_wrap(err, "%s", rp_variations[v->now].how_other) : 0;
}

static uint64_t change_arguments(const struct rp_variation_runs *v, uint8_t *kernarg)
{
    return scalars_change(&v->trial->r->scalars, &v->trial->addresses,
                          (enum rp_scalars_way)(v->now - RP_VARY_ARGUMENTS), kernarg);
}

/* Arguments in their copy. */
static void change_launch(struct rp_variation_runs *v)
{
    enum { SEED = 1 };
    struct rp_replay *r = v->trial->r;
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;

    if (rp_variations[v->now].what == RP_VARIES_ORDER) {
        rp_replay_set_wave_order(v->now == RP_VARY_REVERSED ? RP_DEVICE_REVERSED : SEED);
        v->changed = grid_groups(d->grid, d->workgroup);
    }

    if (v->backwards)
        rp_replay_set_wave_order(RP_DEVICE_REVERSED);
    if (rp_variations[v->now].what == RP_VARIES_ARGUMENTS)
        v->changed = change_arguments(v, r->kernarg_kept);
    if (rp_variations[v->now].what != RP_VARIES_GRID)
        return;
    grid_put_args(&r->grid_args, v->grid, d->workgroup, r->kernarg_kept);
    r->grid = v->grid;
    v->changed = grid_groups(d->grid, d->workgroup) - grid_groups(v->grid, d->workgroup);
}

static int run(struct rp_variation_runs *v, double *ret_us, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    rp_autofree uint8_t *kept = rp_memdup(r->kernarg_kept, r->kernarg_bytes);
    int rc;

    v->changed = 0;
    rc = rp_replay_fill(r, vary_page, v, err);
    if (rc < 0 || (v->changed == 0 && rp_varies_memory(v->now)))
        return rc;
    change_launch(v);
    rc = rp_replay_empty_caches(r, err);
    if (rc == 0)
        rc = run_kernel(v, ret_us, err);
    memcpy(r->kernarg_kept, kept, r->kernarg_bytes);
    r->grid = NULL;
    if (rp_variations[v->now].what == RP_VARIES_ORDER || v->backwards)
        rp_replay_set_wave_order(RP_DEVICE_FORWARD);
    return rc;
}

/* --- judging ------------------------------------------------------------------------------- */

struct judge {
    struct rp_variation_runs *v;
    struct rp_replay_outcome outcome;
};

static int judge_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct judge *judge = data;
    struct rp_replay_outcome *o = &judge->outcome;
    struct rp_variation_runs *v = judge->v;
    const struct rp_variation_page *kept = find(v, m, page);
    const struct rp_write_page *w =
        rp_write_set_find(&v->trial->set, rp_replay_region(v->trial->r, m), page);
    uint64_t written[RP_PAGE_MASKS] = {0}, different[RP_PAGE_MASKS], bad[RP_PAGE_MASKS];
    uint8_t before[RP_PAGE_BYTES];
    int rc = page_before(v, m, page, before, err);

    if (rc < 0)
        return rc;
    expected = kept ? kept->contents : before;
    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rp_mismatch_note(&o->off, contents, expected, RP_PAGE_BYTES);
    rp_compare_words(&rp_exact, before, expected, RP_PAGE_BYTES, written);
    rp_compare_words(&rp_exact, contents, expected, RP_PAGE_BYTES, different);
    rp_trial_compare(v->trial, m, page, contents, expected, bad);
    rp_rounding_bound_allow(&v->trial->bound, (int)v->now,
                            (struct rp_page_key){rp_replay_region(v->trial->r, m), page}, contents,
                            expected, bad);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        const uint64_t may = written[i] | (w ? w->written[i] : 0);
        const int wrong = __builtin_popcountll(may & bad[i]);
        const int outside = __builtin_popcountll(~may & different[i]);

        o->wrong_bytes += 4 * (uint64_t)wrong;
        o->outside_bytes += 4 * (uint64_t)outside;
    }
    return 0;
}

/** Runs the captured kernel with the sizes of the inputs of now. */
static int find_bound(struct rp_variation_runs *v, struct rp_err *err)
{
    struct rp_replay_trial *trial = v->trial;
    const struct rp_replay_kernel *kernel = trial->r->kernel;
    double us;
    int rc = rp_rounding_bound_find(trial, err); /* whether it has one at all */

    if (rc < 0 || !trial->bound.wanted)
        return rc;
    rp_rounding_bound_begin(&trial->bound, (int)v->now);
    trial->r->kernel = &trial->r->original;
    v->sizes = true;
    rc = run(v, &us, err);
    v->sizes = false;
    if (rc == 0)
        rc = rp_replay_look_at(trial->r, rp_rounding_bound_keep, trial, err);
    trial->r->kernel = kernel;
    return rc;
}

static int check_once(struct rp_variation_runs *v, double *ret_us, struct rp_replay_outcome *ret,
                      struct rp_err *err)
{
    struct judge judge = {.v = v};
    int rc = run(v, ret_us, err);

    if (rc == 0)
        rc = rp_replay_look_at(v->trial->r, judge_page, &judge, err);
    judge.outcome.outside_bytes += rp_redzone_take(v->trial->r).bytes;
    judge.outcome.variation = v->now;
    judge.outcome.verdict.different_bytes = judge.outcome.wrong_bytes + judge.outcome.outside_bytes;
    if (rc == 0)
        *ret = judge.outcome;
    return rc;
}

static int check(struct rp_variation_runs *v, double *ret_us, struct rp_replay_outcome *ret,
                 struct rp_err *err)
{
    const struct rp_replay_trial *trial = v->trial;
    int rc = check_once(v, ret_us, ret, err);

    if (rc < 0 || !ret->wrong_bytes || !trial->bound.wanted || trial->bound.inputs == (int)v->now ||
        trial->r->kernel == &trial->r->original)
        return rc;
    rc = find_bound(v, err);
    return rc < 0 || !trial->bound.wanted ? rc : check_once(v, ret_us, ret, err);
}

/* --- all of it ---------------------------------------------------------------------------- */

static bool is_one_wave(const struct rp_snapshot_dispatch *d)
{
    enum { LANES = 64 }; /* All GPUs that the software device can model have 64 lanes in a wave. */
    const uint64_t items = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];

    return grid_groups(d->grid, d->workgroup) == 1 && items <= LANES;
}

static const char does_not_end[] = "the captured kernel does not end with them";

/* Returns what prevents a variation and is known before anything runs. */
static const char *hindrance(struct rp_variation_runs *v)
{
    const enum rp_variation_class what = rp_variations[v->now].what;

    if (v->rule.none)
        return "it was not asked for";
    if (what == RP_VARIES_GRID) {
        const struct rp_snapshot_dispatch *d = &v->trial->r->facts->dispatch;
        const char *why = grid_fewer(d->grid, d->workgroup,
                                     (enum rp_grid_way)(v->now - RP_VARY_HALF_GRID), v->grid);

        if (why)
            return why;
    }
    if (what == RP_VARIES_ORDER && is_one_wave(&v->trial->r->facts->dispatch))
        return "the captured dispatch has one wavefront only";
    if (what == RP_VARIES_ORDER && !rp_replay_set_wave_order(RP_DEVICE_FORWARD))
        return "only the software device can be told an order";
    if ((v->now == RP_VARY_SIGNS || v->now == RP_VARY_MIXED) && v->asked_words)
        return "integers are asked for";
    if (v->now == RP_VARY_INTEGERS && v->asked_words)
        return "it is what was asked for as numbers";
    /* Sums of both signs cancel, and numbers a thousand times as large are off by as much more. */
    if ((v->now == RP_VARY_SIGNS || what == RP_VARIES_INTEGERS || what == RP_VARIES_ZEROS ||
         v->now == RP_VARY_ARGUMENT_SIGNS) &&
        v->trial->rule.type != RP_EXACT)
        return "results need not be exact, and what they may be off by is known for the captured "
               "inputs only";
    if (v->trial->not_varied >> v->now & 1 ||
        ((v->now == RP_VARY_INTEGERS || what == RP_VARIES_INTEGERS) &&
         v->trial->left_out >> RP_FLIP_HALF & 1) ||
        (what == RP_VARIES_INTEGERS && v->trial->not_varied >> RP_VARY_INTEGERS & 1) ||
        (v->now == RP_VARY_ORDER && v->trial->left_out >> RP_FLIP_ORDER & 1))
        return does_not_end;
    return NULL;
}

/* Runs the captured kernel and keeps its memory as the reference. */
static int run_first(struct rp_variation_runs *v, struct rp_err *err)
{
    double us;
    int rc;

    v->pages.count = 0;
    if (v->trial->bound.inputs == (int)v->now)
        rp_rounding_bound_begin(&v->trial->bound, RP_BOUND_NONE);
    v->of[v->now].telling_bytes = 0;
    rc = run(v, &us, err);
    v->broke = rc < 0 && err->code == RP_VERDICT;
    v->of[v->now].changed = v->changed;
    return rc == 0 && v->changed ? rp_replay_look_at(v->trial->r, note_page, v, err) : rc;
}

/* Tests whether the kernel gives a different result from the kept one. */
static int run_again(struct rp_variation_runs *v, bool backwards, bool *ret_differs,
                     struct rp_err *err)
{
    struct rp_replay_outcome again = {0};
    double us;
    int rc;

    v->backwards = backwards;
    rc = check(v, &us, &again, err);
    v->backwards = false;
    *ret_differs = again.verdict.different_bytes > 0;
    return rc;
}

/* Runs with the captured inputs: if the result depends on the order even then, other inputs are
 * not the cause.
 */
static int depends_on_order(struct rp_variation_runs *v, bool *ret, struct rp_err *err)
{
    const enum rp_variation now = v->now;
    const struct rp_variation_result kept = v->of[RP_VARY_REVERSED];
    int rc;

    v->now = RP_VARY_REVERSED;
    rc = run_first(v, err);
    *ret = v->of[v->now].telling_bytes > 0;
    v->of[v->now] = kept;
    v->now = now;
    return rc < 0 ? rc : run_first(v, err);
}

/* Runs wavefronts backwards if the device can. With other inputs, such as a smaller width of rows,
 * two of them may write one word. Which of them is the last may differ in a candidate that is
 * right, and with as many threads of the host even from one run to the next.
 */
static int repeat(struct rp_variation_runs *v, struct rp_err *err)
{
    const bool backwards = rp_variations[v->now].what != RP_VARIES_ORDER &&
                           rp_replay_set_wave_order(RP_DEVICE_FORWARD);
    bool differs, depends = true;
    int rc = run_again(v, backwards, &differs, err);

    if (rc < 0 || !differs)
        return rc;
    if (backwards) {
        rc = depends_on_order(v, &depends, err);
        if (rc == 0)
            rc = run_again(v, false, &differs, err);
    }
    if (rc == 0 && differs)
        v->of[v->now].reason = "the captured kernel does not give the same result twice then";
    else if (rc == 0 && !depends)
        v->of[v->now].reason = "what the captured kernel gives depends on the order of its "
                               "wavefronts then";
    v->of[v->now].open = v->of[v->now].open || differs;
    return rc;
}

/* Runs the captured kernel twice, so that its own differences are known before candidates run. */
static int prepare(struct rp_variation_runs *v, struct rp_err *err)
{
    const char **reason = &v->of[v->now].reason;
    int rc;

    v->rule.signs =
        v->now == RP_VARY_SIGNS || (v->now == RP_VARY_MIXED && v->trial->rule.type == RP_EXACT);
    v->rule.words = v->asked_words || v->now == RP_VARY_INTEGERS;
    *reason = hindrance(v);
    v->of[v->now].open = *reason == does_not_end;
    if (*reason)
        return 0;
    v->trial->r->kernel = &v->trial->r->original;
    rc = run_first(v, err);
    if (rc == 0 && v->changed == 0)
        *reason = rp_variations[v->now].nothing;
    if (rc == 0 && !*reason && v->of[v->now].telling_bytes == 0 && rp_varies_values(v->now))
        *reason = rp_variations[v->now].same ? rp_variations[v->now].same : same_numbers(v);
    if (rc == 0 && !*reason && v->pages.count == 0 && !rp_varies_values(v->now))
        *reason = "the captured kernel changes no memory then, but for variables perhaps";
    if (rc == 0 && !*reason && v->of[v->now].telling_bytes &&
        rp_variations[v->now].what == RP_VARIES_ORDER)
        *reason = "the captured kernel itself gives another result then";
    return rc == 0 && !*reason ? repeat(v, err) : rc;
}

static int check_candidate(struct rp_variation_runs *v, size_t which, double *ret_us,
                           struct rp_replay_outcome *ret, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    struct rp_replay_outcome outcome;
    int rc;

    r->kernel = &r->candidates[which];
    rc = check(v, ret_us, &outcome, err);
    if (rc == 0 && !ret->verdict.different_bytes)
        *ret = outcome;
    return rc;
}

static int check_candidates(struct rp_variation_runs *v, size_t count,
                            struct rp_replay_outcome *const *ret, size_t *ret_who,
                            struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        *ret_who = i;
        rc = check_candidate(v, i, &v->of[v->now].us[i], ret[i], err);
        memcpy(v->of[v->now].between_us[i], v->trial->r->between_us,
               sizeof v->trial->r->between_us);
    }
    return rc;
}

static void release(struct rp_variation_runs *v, const struct rp_replay_kernel *kernel)
{
    rp_vec_free(&v->pages);
    v->trial->r->kernel = kernel;
}

int rp_variation_run(struct rp_variation_runs *v, size_t count,
                     struct rp_replay_outcome *const *ret, size_t *ret_who, struct rp_err *err)
{
    const struct rp_replay_kernel *kernel = v->trial->r->kernel;
    int rc = v->reason ? 0 : rp_inputs_parse(v->inputs, v->trial->rule.type, &v->rule, err);

    v->asked_words = rc == 0 && v->rule.words;
    for (unsigned i = 0; i < RP_VARIATIONS && rc == 0 && !v->reason; i++) {
        v->now = (enum rp_variation)i;
        *ret_who = count;
        rc = prepare(v, err);
        if (rc == 0 && !v->of[i].reason)
            rc = check_candidates(v, count, ret, ret_who, err);
    }
    release(v, kernel);
    return rc;
}

int rp_variation_time(struct rp_variation_runs *v, enum rp_variation variation, size_t count,
                      struct rp_variation_block *ret_blocks,
                      struct rp_replay_outcome *const ret[RP_REPLAY_CANDIDATES], size_t *ret_who,
                      struct rp_err *err)
{
    enum { RUNS = RP_REPLAY_CANDIDATES * RP_VARIATION_RUNS };
    static const unsigned which[RUNS] = {0, 0, 1, 1, 1, 1, 0, 0};
    static const unsigned nth[RUNS] = {0, 1, 0, 1, 2, 3, 2, 3};
    const struct rp_replay_kernel *kernel = v->trial->r->kernel;
    int rc;

    v->now = variation;
    *ret_who = RP_REPLAY_CANDIDATES;
    rc = prepare(v, err);
    for (size_t i = 0; i < RUNS * count && rc == 0 && !v->of[variation].reason; i++) {
        *ret_who = which[i % RUNS];
        v->trial->r->kernel = &v->trial->r->candidates[*ret_who];
        /* The reset keeps nothing for the next run. */
        rc = rp_replay_reset_loaded(v->trial->r, err);
        if (rc == 0)
            rc = check_candidate(v, *ret_who, &ret_blocks[i / RUNS].us[*ret_who][nth[i % RUNS]],
                                 ret[*ret_who], err);
    }
    release(v, kernel);
    return rc;
}
