/* A row for each kernel, for spreadsheets and scripts: RFC 4180 with lines that end as on Unix. */
#include "report/csv.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/forms/forms.h"
#include "report/forms/parts.h"

static void put_row(struct rp_buf *buf, const struct rp_report_parts *parts,
                    const struct rp_form_kernel *kernel)
{
    const struct rp_bottleneck_kernel *k = kernel->k;
    const struct rp_roofline_kernel *r = kernel->r;
    struct rp_quantity numbers[RP_FORM_MOST_VALUES];
    size_t count;

    rp_form_values(&count);
    rp_form_values_of(kernel, numbers);
    rp_csv_cell(buf, k->name);
    rp_buf_printf(buf, ",%s,", rp_form_device(parts));
    rp_csv_cell(buf, rp_form_timing(parts));
    rp_buf_printf(buf, ",%s,%s,%s,%s", rp_bottleneck_name(k->label),
                  rp_rank_basis_name(parts->bottlenecks->basis) ?: "", k->residency.limiter ?: "",
                  r ? rp_bound_name(r->bound) ?: "" : "");
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, ",");
        rp_form_put_number(buf, numbers[i], 1);
    }
    rp_buf_printf(buf, ",%s\n", kernel->gpu);
}

int rp_form_csv(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    rp_cleanup(rp_form_known_free) struct rp_form_known known = {0};
    const struct rp_bottlenecks *b = parts->bottlenecks;
    const struct rp_form_value *values;
    size_t count;

    if (rp_form_known_make(parts, &known, err) < 0)
        return -RP_ENVIRONMENT;
    values = rp_form_values(&count);
    rp_buf_puts(buf, "kernel,device,timing_model,bottleneck,weight_of,occupancy_limiter,bound");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(buf, ",%s", values[i].name);
    rp_buf_puts(buf, ",gpu\n");
    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_form_kernel kernel = rp_form_kernel_of(&known, &b->kernels[i]);

        put_row(buf, parts, &kernel);
    }
    return buf->failed ? rp_out_of_memory(err) : 0;
}
