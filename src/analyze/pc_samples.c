#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/thread_trace.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/rocpd.h"

/* PC samples of a trace (CSV, JSON, rocpd) become thread traces without waves and cycles: one for
 * each kernel and method. Dispatches say which kernel a sample is of, and without them samples of
 * all kernels are in one. */

const char *const rp_pc_method_names[] = {NULL, "host_trap", "stochastic"};

/** The samples of a kernel by one method. */
struct group {
    struct rp_thread_trace trace;
    struct rp_map instructions;
    size_t room;
    struct rp_map dispatches;
};

struct collector {
    struct rp_store *store;
    struct rp_map launches; /**< guid_index and dispatch_id */
    struct {
        RP_VEC(const struct rp_row_kernel *);
    } kernels;          /**< of the launches */
    struct rp_map keys; /**< method and kernel */
    struct {
        RP_VEC(struct group);
    } groups;
    uint64_t samples, lanes; /**< of all rows so far */
    bool has_other_reasons;  /**< than those that are known here */
};

struct dispatch_key {
    int64_t dispatch;
    uint64_t guid_index; /**< of 64 bits, so that no padding is hashed */
};

static int take_launch(void *ctx, const void *row, struct rp_err *err)
{
    struct collector *c = ctx;
    const struct rp_row_launch *launch = row;
    const struct dispatch_key key = {launch->dispatch_id, launch->guid_index};
    const uint32_t number = rp_map_add(&c->launches, &key, sizeof key);

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (number < c->kernels.count)
        return 0;
    return rp_vec_push(&c->kernels,
                       rp_store_find_kernel(c->store, launch->guid_index, launch->kernel_id)) == 0
               ? 0
               : rp_out_of_memory(err);
}

/* --- which group --------------------------------------------------------------------------- */

/* Builds of rocprofv3 whose table has no column for the method have either columns of the
 * hardware's, or none. */
static enum rp_pc_method method_of(const struct rp_row_pc_sample *row)
{
    if (strcmp(row->method, rp_pc_method_names[RP_PC_STOCHASTIC]) == 0)
        return RP_PC_STOCHASTIC;
    return !*row->method && row->issued >= 0 ? RP_PC_STOCHASTIC : RP_PC_HOST_TRAP;
}

static int name_group(struct rp_thread_trace *trace, const struct rp_row_kernel *kernel,
                      struct rp_err *err)
{
    trace->kernels = calloc(1, sizeof *trace->kernels);
    if (!trace->kernels)
        return rp_out_of_memory(err);
    trace->kernel_count = 1;
    trace->kernels[0].symbol =
        strndup(kernel->kernel_name, rp_kernel_name_length(kernel->kernel_name));
    trace->kernels[0].name = strdup(kernel->display_name);
    return trace->kernels[0].symbol && trace->kernels[0].name ? 0 : rp_out_of_memory(err);
}

static int begin_group(struct collector *c, enum rp_pc_method method,
                       const struct rp_row_kernel *kernel, struct rp_err *err)
{
    struct group *group = rp_vec_add(&c->groups);

    if (!group)
        return rp_out_of_memory(err);
    group->trace.method = method;
    group->trace.sampled = true;
    group->trace.lanes_known = true;
    group->trace.path = strdup(rp_store_path(c->store));
    if (!group->trace.path)
        return rp_out_of_memory(err);
    return kernel ? name_group(&group->trace, kernel, err) : 0;
}

static int group_of(struct collector *c, const struct rp_row_pc_sample *row, struct group **ret,
                    struct rp_err *err)
{
    const struct dispatch_key key = {row->dispatch_id, row->guid_index};
    const uint32_t launch = rp_map_find(&c->launches, &key, sizeof key);
    const struct rp_row_kernel *kernel = launch == RP_NO_NUMBER ? NULL : c->kernels.items[launch];
    const enum rp_pc_method method = method_of(row);
    rp_autofree char *name = rp_format("%d %s", (int)method, kernel ? kernel->display_name : "");
    const uint32_t number = name ? rp_map_add_text(&c->keys, name) : RP_NO_NUMBER;
    int rc = 0;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (number == c->groups.count)
        rc = begin_group(c, method, kernel, err);
    if (rc < 0)
        return rc;
    *ret = &c->groups.items[number];
    if (rp_map_add(&(*ret)->dispatches, &key, sizeof key) == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    return 0;
}

/* --- which instruction --------------------------------------------------------------------- */

static int add_instruction(struct group *group, const struct rp_row_pc_sample *row,
                           struct rp_err *err)
{
    struct rp_thread_trace *trace = &group->trace;
    struct rp_att_instruction in = {
        .isa = strdup(*row->isa ? row->isa : "(not decoded)"),
        .source = strdup(row->comment),
        .line = UINT32_MAX,
        .code_object =
            row->code_object > 0 && row->code_object <= UINT32_MAX ? (uint32_t)row->code_object : 0,
        .address = row->offset > 0 ? (uint64_t)row->offset : 0,
        .kernel = trace->kernel_count ? 0 : UINT32_MAX,
    };

    if (trace->instruction_count == group->room) {
        const size_t room = group->room ? 2 * group->room : 64;
        struct rp_att_instruction *grown = realloc(trace->instructions, room * sizeof *grown);

        if (grown) {
            trace->instructions = grown;
            group->room = room;
        }
    }
    if (!in.isa || !in.source || trace->instruction_count == group->room) {
        free(in.isa);
        free(in.source);
        return rp_out_of_memory(err);
    }
    trace->instructions[trace->instruction_count++] = in;
    return 0;
}

static int instruction_of(struct group *group, const struct rp_row_pc_sample *row,
                          struct rp_att_instruction **ret, struct rp_err *err)
{
    rp_autofree char *key = rp_format("%" PRId64 " %" PRId64 " %s\n%s", row->code_object,
                                      row->offset, row->isa, row->comment);
    const uint32_t number = key ? rp_map_add_text(&group->instructions, key) : RP_NO_NUMBER;
    int rc = 0;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (number == group->trace.instruction_count)
        rc = add_instruction(group, row, err);
    if (rc == 0)
        *ret = &group->trace.instructions[number];
    return rc;
}

/* --- samples ------------------------------------------------------------------------------- */

/* "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT" is "waitcnt". Returns
 * RP_ATT_SAMPLE_COUNT when it is another. */
static size_t reason_of(const char *text)
{
    static const char *const texts[] = {
#define RP_ATT_SAMPLE(id, name)                                                                    \
    [RP_ATT_SAMPLED_##id] = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_" name,
#include "analyze/thread_trace_samples.def"
#undef RP_ATT_SAMPLE
    };

    for (size_t r = 0; r < RP_ATT_SAMPLE_COUNT; r++)
        if (strcasecmp(texts[r], text) == 0)
            return r;
    return RP_ATT_SAMPLE_COUNT;
}

static uint64_t samples_of(const struct rp_row_pc_sample *row)
{
    return row->samples < 0 ? 1 : (uint64_t)row->samples;
}

static uint64_t lanes_of(const struct rp_row_pc_sample *row)
{
    return row->lanes < 0
               ? samples_of(row) * (uint64_t)__builtin_popcountll((uint64_t)row->exec_mask)
               : (uint64_t)row->lanes;
}

static void count(struct collector *c, const struct rp_row_pc_sample *row,
                  struct rp_att_samples *to)
{
    const uint64_t samples = samples_of(row);
    const size_t reason = row->issued == 0 ? reason_of(row->stall_reason) : RP_ATT_SAMPLE_COUNT;

    to->taken += samples;
    to->lanes += lanes_of(row);
    to->issued += row->issued == 1 ? samples : 0;
    to->stalled += row->issued == 0 ? samples : 0;
    if (reason < RP_ATT_SAMPLE_COUNT)
        to->by_reason[reason] += samples;
    else if (row->issued == 0)
        c->has_other_reasons = true;
}

/* Sums, which have parts of this one, must neither overflow nor lose digits as doubles. */
static bool is_too_much(struct collector *c, const struct rp_row_pc_sample *row)
{
    const int64_t most = INT64_C(1) << 53;

    if (row->samples > most || row->lanes > most)
        return true;
    c->samples += samples_of(row);
    c->lanes += lanes_of(row);
    return c->samples > (uint64_t)most || c->lanes > (uint64_t)most;
}

static int take_sample(void *ctx, const void *at, struct rp_err *err)
{
    struct collector *c = ctx;
    const struct rp_row_pc_sample *row = at;
    struct rp_att_instruction *in = NULL;
    struct group *group = NULL;
    int rc = 0;

    if (is_too_much(c, row))
        return rp_fail(err, RP_BAD_INPUT, "%s: a count of PC samples is too large",
                       rp_store_path(c->store));
    rc = group_of(c, row, &group, err);
    if (rc == 0)
        rc = instruction_of(group, row, &in, err);
    if (rc < 0)
        return rc;
    count(c, row, &in->samples);
    if (!*row->isa)
        group->trace.undecoded_samples += samples_of(row);
    return 0;
}

/* --- the whole ----------------------------------------------------------------------------- */

/* The order is by place; files that do not say it leave source and text. */
static int compare_places(const void *a, const void *b)
{
    const struct rp_att_instruction *l = a, *r = b;

    if (l->code_object != r->code_object)
        return l->code_object < r->code_object ? -1 : 1;
    if (l->address != r->address)
        return l->address < r->address ? -1 : 1;
    if (strcmp(l->source, r->source) != 0)
        return strcmp(l->source, r->source);
    return strcmp(l->isa, r->isa);
}

static int note_gaps(const struct collector *c, struct rp_thread_trace *trace, struct rp_err *err)
{
    if (!trace->kernel_count &&
        !rp_att_problem(trace, false, "dispatches",
                        "no kernel trace tells of which kernels these samples are: record them"
                        " with --kernel-trace"))
        return rp_out_of_memory(err);
    if (c->has_other_reasons && trace->method == RP_PC_STOCHASTIC &&
        !rp_att_problem(trace, false, "samples",
                        "some reasons why waves did not issue are not known here"))
        return rp_out_of_memory(err);
    return 0;
}

static int finish_group(const struct collector *c, struct group *group, struct rp_err *err)
{
    rp_cleanup(rp_att_build_free) struct rp_att_build build = {.trace = &group->trace};
    int rc = note_gaps(c, &group->trace, err);

    if (group->trace.instruction_count)
        qsort(group->trace.instructions, group->trace.instruction_count,
              sizeof *group->trace.instructions, compare_places);
    group->trace.sampled_dispatches = group->dispatches.count;
    if (rc == 0)
        rc = rp_att_index(&build, err);
    if (rc == 0)
        rc = rp_att_finish(&build, err);
    if (rc == 0)
        group->trace.completeness = rp_att_completeness(&group->trace);
    return rc;
}

static int compare_groups(const void *a, const void *b)
{
    const struct rp_thread_trace *l = &((const struct group *)a)->trace;
    const struct rp_thread_trace *r = &((const struct group *)b)->trace;

    if (l->samples.taken != r->samples.taken)
        return l->samples.taken > r->samples.taken ? -1 : 1;
    if (l->method != r->method)
        return l->method < r->method ? -1 : 1;
    return strcmp(l->kernel_count ? l->kernels[0].name : "",
                  r->kernel_count ? r->kernels[0].name : "");
}

/* Hands the traces over to the set. */
static int give_groups(struct collector *c, struct rp_thread_traces *set, struct rp_err *err)
{
    const size_t count = set->count + c->groups.count;
    struct rp_thread_trace *grown;

    if (c->groups.count == 0)
        return 0;
    grown = realloc(set->traces, count * sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    qsort(c->groups.items, c->groups.count, sizeof *c->groups.items, compare_groups);
    set->traces = grown;
    for (size_t i = 0; i < c->groups.count; i++) {
        grown[set->count++] = c->groups.items[i].trace;
        c->groups.items[i].trace = (struct rp_thread_trace){0};
    }
    return 0;
}

static void free_collector(struct collector *c)
{
    for (size_t i = 0; i < c->groups.count; i++) {
        rp_thread_trace_free(&c->groups.items[i].trace);
        rp_map_free(&c->groups.items[i].instructions);
        rp_map_free(&c->groups.items[i].dispatches);
    }
    rp_vec_free(&c->groups);
    rp_vec_free(&c->kernels);
    rp_map_free(&c->launches);
    rp_map_free(&c->keys);
}

static int one_is_enough(void *ctx, const void *row, struct rp_err *err)
{
    (void)row;
    *(bool *)ctx = true;
    return rp_fail(err, RP_BAD_INPUT, "one is enough");
}

bool rp_thread_traces_have_pc_samples(const struct rp_thread_traces *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->traces[i].method)
            return true;
    return false;
}

bool rp_store_has_pc_samples(struct rp_store *store)
{
    struct rp_err err = RP_ERR_INIT;
    bool has = false;

    /* Whoever takes samples that cannot be read gets the error. */
    return rp_store_each_pc_sample(store, one_is_enough, &has, &err) < 0 || has;
}

int rp_thread_traces_add_samples(struct rp_thread_traces *set, struct rp_store *store,
                                 struct rp_err *err)
{
    rp_cleanup(free_collector) struct collector c = {.store = store};
    const struct rp_row_kernel *unused;
    size_t unused_count;
    int rc;

    if (!rp_store_has_pc_samples(store))
        return 0;
    rc = rp_store_kernels(store, &unused, &unused_count, err);
    if (rc == 0)
        rc = rp_store_each_launch(store, take_launch, &c, err);
    if (rc == 0)
        rc = rp_store_each_pc_sample(store, take_sample, &c, err);
    for (size_t i = 0; i < c.groups.count && rc == 0; i++)
        rc = finish_group(&c, &c.groups.items[i], err);
    return rc < 0 ? rc : give_groups(&c, set, err);
}
