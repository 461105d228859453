/* Which of several kernels of one name a thread trace is of. */
#include "rocm-perf/thread_trace.h"

#include "base/err.h"
#include "trace/rocpd.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct rp_thread_trace *trace;
    const char *symbol;
    struct rp_store *store;
    const char *found; /* NULL: nothing yet */
    bool several;      /* more than one fits: none is taken */
};

static bool has_symbol(const struct rp_row_kernel *row, const char *symbol)
{
    const size_t length = rp_kernel_name_length(row->kernel_name);

    return strlen(symbol) == length && memcmp(row->kernel_name, symbol, length) == 0;
}

static void take(struct search *s, const struct rp_row_kernel *row)
{
    s->several |= s->found && strcmp(s->found, row->display_name) != 0;
    s->found = row->display_name;
}

/* The trace says what the kernel consists of. @return whether a kernel with this symbol has a name
 * that is not its symbol's alone */
static int look_at_kernels(struct search *s, bool *ret_ambiguous, struct rp_err *err)
{
    const struct rp_row_kernel *rows;
    size_t count;
    int rc = rp_store_kernels(s->store, &rows, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (!has_symbol(&rows[i], s->symbol))
            continue;
        *ret_ambiguous |= strcmp(rows[i].display_name, rows[i].plain_name) != 0;
        if (s->trace->code_hash && rp_kernel_contents(&rows[i]) == s->trace->code_hash)
            take(s, &rows[i]);
    }
    return rc;
}

static int look_at_launch(void *ctx, const void *at, struct rp_err *err)
{
    struct search *s = ctx;
    const struct rp_row_launch *launch = at;
    const struct rp_row_kernel *row;

    (void)err;
    if ((uint64_t)launch->dispatch_id != s->trace->dispatch)
        return 0;
    row = rp_store_find_kernel(s->store, launch->guid_index, launch->kernel_id);
    if (row && has_symbol(row, s->symbol))
        take(s, row);
    return 0;
}

static int name_one(struct rp_thread_trace *trace, struct rp_store *const *stores, size_t count,
                    struct rp_err *err)
{
    struct rp_att_kernel *kernel = &trace->kernels[trace->kernel];
    struct search s = {.trace = trace, .symbol = kernel->symbol};
    bool ambiguous = false;
    char *name;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        s.store = stores[i];
        rc = look_at_kernels(&s, &ambiguous, err);
    }
    for (size_t i = 0; ambiguous && !s.found && trace->identified && i < count && rc == 0; i++) {
        s.store = stores[i];
        rc = rp_store_each_launch(s.store, look_at_launch, &s, err);
    }
    if (rc < 0 || !ambiguous || !s.found || s.several)
        return rc;
    name = strdup(s.found);
    if (!name)
        return rp_out_of_memory(err);
    free(kernel->name);
    kernel->name = name;
    return 0;
}

int rp_thread_traces_name(struct rp_thread_traces *set, struct rp_store *const *stores,
                          size_t count, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < set->count && rc == 0; i++)
        if (set->traces[i].kernel < set->traces[i].kernel_count)
            rc = name_one(&set->traces[i], stores, count, err);
    return rc;
}
