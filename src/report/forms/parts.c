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

static struct rp_quantity rp_form_register(const struct rp_kernel_summary *s, uint32_t value)
{
    return (struct rp_quantity){.known = s && s->symbol_known, .value = value};
}

static struct rp_quantity rp_form_bytes(const struct rp_kernel_summary *s, uint32_t value)
{
    return (struct rp_quantity){.known = s, .value = value};
}

/* Of a kernel that is always launched in the same way. */
static struct rp_quantity rp_form_items(const struct rp_kernel_summary *s, double x, double y,
                                        double z)
{
    return (struct rp_quantity){.known = s && s->geometries == 1, .value = x * y * z};
}

void rp_form_values_of(const struct rp_form_kernel *kernel, struct rp_quantity *ret)
{
    static const struct rp_kernel_summary none;
    const struct rp_bottleneck_kernel *k = kernel->k;
    const struct rp_roofline_kernel *r = kernel->r;
    const struct rp_kernel_summary *s = kernel->s;
    const struct rp_kernel_resources *of = s ? &s->resources : &none.resources;
    const uint64_t *grid = s ? s->grid : none.grid;
    const uint32_t *block = s ? s->block : none.block;
    size_t i = 0;

#define RP_KERNEL_VALUE(name_, metric_, unit_, scale_, help_, value_) ret[i++] = value_;
#include "report/forms/kernel_values.def"
#undef RP_KERNEL_VALUE
}

/* --- what else is known of kernels ---------------------------------------------------------- */

static int by_kernel_name(const void *a, const void *b)
{
    const struct rp_roofline_kernel *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int by_summary_name(const void *a, const void *b)
{
    const struct rp_kernel_summary *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

int rp_form_known_make(const struct rp_report_parts *parts, struct rp_form_known *ret,
                       struct rp_err *err)
{
    const size_t counted = parts->roofline ? parts->roofline->kernel_count : 0;
    const size_t launched = parts->profile ? parts->profile->kernel_count : 0;

    *ret = (struct rp_form_known){.counted = malloc((counted + 1) * sizeof *ret->counted),
                                  .launched = malloc((launched + 1) * sizeof *ret->launched),
                                  .profile = parts->profile};
    if (!ret->counted || !ret->launched) {
        rp_form_known_free(ret);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < counted; i++)
        ret->counted[ret->counted_count++] = &parts->roofline->kernels[i];
    for (size_t i = 0; i < launched; i++)
        ret->launched[ret->launched_count++] = &parts->profile->kernels[i];
    qsort(ret->counted, counted, sizeof *ret->counted, by_kernel_name);
    qsort(ret->launched, launched, sizeof *ret->launched, by_summary_name);
    return 0;
}

void rp_form_known_free(struct rp_form_known *known)
{
    free(known->counted);
    free(known->launched);
    *known = (struct rp_form_known){0};
}

const struct rp_roofline_kernel *const *rp_form_counted(const struct rp_form_known *known,
                                                        const char *name, size_t *ret_count)
{
    const struct rp_roofline_kernel key = {.name = name}, *wanted = &key, **found;
    const struct rp_roofline_kernel **end = known->counted + known->counted_count;

    *ret_count = 0;
    found = bsearch(&wanted, known->counted, known->counted_count, sizeof *known->counted,
                    by_kernel_name);
    if (!found)
        return NULL;
    while (found > known->counted && strcmp(found[-1]->name, name) == 0)
        found--;
    while (found + *ret_count < end && strcmp(found[*ret_count]->name, name) == 0)
        ++*ret_count;
    return found;
}

static const struct rp_roofline_kernel *find_counted(const struct rp_form_known *known,
                                                     const char *name)
{
    size_t count;
    const struct rp_roofline_kernel *const *found = rp_form_counted(known, name, &count);

    return count == 1 ? *found : NULL;
}

static const struct rp_kernel_summary *find_launched(const struct rp_form_known *known,
                                                     const char *name)
{
    const struct rp_kernel_summary key = {.name = name}, *wanted = &key, **found;
    size_t at;

    found = bsearch(&wanted, known->launched, known->launched_count, sizeof *known->launched,
                    by_summary_name);
    if (!found)
        return NULL;
    at = (size_t)(found - known->launched);
    if ((at > 0 && strcmp(found[-1]->name, name) == 0) ||
        (at + 1 < known->launched_count && strcmp(found[1]->name, name) == 0))
        return NULL;
    return *found;
}

struct rp_form_kernel rp_form_kernel_of(const struct rp_form_known *known,
                                        const struct rp_bottleneck_kernel *k)
{
    struct rp_form_kernel ret = {
        .k = k, .r = find_counted(known, k->name), .s = find_launched(known, k->name), .gpu = ""};

    if (ret.s)
        ret.gpu = known->profile->agents[ret.s->agent].name;
    return ret;
}

/* --- what is wrong -------------------------------------------------------------------------- */

const struct rp_launches *rp_form_launches(const struct rp_report_parts *parts)
{
    return parts->profile && parts->profile->launches.known ? &parts->profile->launches : NULL;
}

bool rp_form_is_impossible(const struct rp_form_known *known, const char *name, enum rp_level level)
{
    size_t count;
    const struct rp_roofline_kernel *const *of = rp_form_counted(known, name, &count);

    for (size_t i = 0; i < count; i++)
        if (of[i]->peak[level] == RP_PEAK_IMPOSSIBLE)
            return true;
    return false;
}

size_t rp_form_put_impossible(struct rp_buf *buf, const struct rp_form_known *known,
                              const char *name, const char *separator)
{
    size_t count = 0;

    for (unsigned l = 0; l < RP_LEVEL_COUNT; l++)
        if (rp_form_is_impossible(known, name, (enum rp_level)l))
            rp_buf_printf(buf, "%s%s", count++ ? separator : "", rp_level_name((enum rp_level)l));
    return count;
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
