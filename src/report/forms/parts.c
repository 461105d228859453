#include "report/forms/parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/dag.h"

/* --- numbers of kernels --------------------------------------------------------------------- */

static const struct rp_form_value values[] = {
#define RP_KERNEL_VALUE(name_, metric_, unit_, scale_, help_, value_)                              \
    {.name = name_, .metric = metric_, .unit = unit_, .scale = scale_, .help = help_},
#include "report/forms/kernel_values.def"
#undef RP_KERNEL_VALUE
};

static_assert(sizeof values / sizeof values[0] <= RP_FORM_MOST_VALUES, "callers have no room");

const struct rp_form_value *rp_form_values(size_t *ret_count)
{
    *ret_count = sizeof values / sizeof values[0];
    return values;
}

static struct rp_quantity rp_form_count(uint64_t calls)
{
    return (struct rp_quantity){.known = calls != 0, .value = (double)calls};
}

#define RP_FORM_OF(r, field) ((r) ? (r)->field : (struct rp_quantity){0})

void rp_form_values_of(const struct rp_bottleneck_kernel *k, const struct rp_roofline_kernel *r,
                       struct rp_quantity *ret)
{
    size_t i = 0;

#define RP_KERNEL_VALUE(name_, metric_, unit_, scale_, help_, value_) ret[i++] = value_;
#include "report/forms/kernel_values.def"
#undef RP_KERNEL_VALUE
}

/* --- kernels that were counted -------------------------------------------------------------- */

static int by_kernel_name(const void *a, const void *b)
{
    const struct rp_roofline_kernel *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

int rp_form_counted_make(const struct rp_roofline *roofline, struct rp_form_counted *ret,
                         struct rp_err *err)
{
    size_t count = roofline ? roofline->kernel_count : 0;

    *ret = (struct rp_form_counted){.by_name = malloc((count + 1) * sizeof *ret->by_name)};
    if (!ret->by_name)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        ret->by_name[ret->count++] = &roofline->kernels[i];
    qsort(ret->by_name, ret->count, sizeof *ret->by_name, by_kernel_name);
    return 0;
}

void rp_form_counted_free(struct rp_form_counted *counted)
{
    free(counted->by_name);
    *counted = (struct rp_form_counted){0};
}

const struct rp_roofline_kernel *rp_form_counted_find(const struct rp_form_counted *counted,
                                                      const char *name)
{
    const struct rp_roofline_kernel key = {.name = name}, *wanted = &key, **found;
    size_t at;

    found = bsearch(&wanted, counted->by_name, counted->count, sizeof *counted->by_name,
                    by_kernel_name);
    if (!found)
        return NULL;
    at = (size_t)(found - counted->by_name);
    if ((at > 0 && strcmp(found[-1]->name, name) == 0) ||
        (at + 1 < counted->count && strcmp(found[1]->name, name) == 0))
        return NULL;
    return *found;
}

/* --- where times are from ------------------------------------------------------------------- */

const char *rp_form_device(const struct rp_report_parts *parts)
{
    if (rp_form_is_software(parts))
        return "software";
    return parts->bottlenecks->origin.device ?: "";
}

bool rp_form_is_software(const struct rp_report_parts *parts)
{
    const char *device = parts->bottlenecks->origin.device;
    const char *graph = parts->dag ? parts->dag->device : NULL;

    return (device && strcmp(device, "software") == 0) ||
           (graph && strcmp(graph, "software") == 0) || parts->bottlenecks->modelled_waves;
}

const char *rp_form_timing(const struct rp_report_parts *parts)
{
    return parts->bottlenecks->origin.timing_model ?: "";
}

void rp_form_put_mark(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    rp_autobuf line = {0};
    const struct rp_page page = {.out = &line, .width = 200};

    if (!rp_form_is_software(parts))
        return;
    rp_software_line(&page, parts->bottlenecks->origin.timing_model);
    rp_buf_add(buf, rp_buf_text(&line), line.len ? line.len - 1 : 0);
    buf->failed |= line.failed;
}

bool rp_form_put_number(struct rp_buf *buf, struct rp_quantity value, double scale)
{
    /* Divided by a whole number: 1500 * 1e-9 is not 1.5e-6. */
    double scaled = scale < 1 ? value.value / round(1 / scale) : value.value * scale;

    if (!value.known || !isfinite(scaled))
        return false;
    rp_text_json_number(buf, scale < 1 ? scaled : rp_text_round6(scaled));
    return true;
}
