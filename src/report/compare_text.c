#include "report/compare_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "report/text.h"

void rp_versus_ratio_text(struct rp_buf *buf, const struct rp_versus_time *t)
{
    rp_buf_puts(buf, isnan(t->ratio) ? "?" : rp_number_fixed(t->ratio, 4).text);
    if (t->bounded && t->low < t->high)
        rp_buf_printf(buf, " (%s to %s)", rp_number_fixed(t->low, 4).text,
                      rp_number_fixed(t->high, 4).text);
    else if (t->bounded)
        rp_buf_puts(buf, " (exact)");
}

static void number(struct rp_buf *buf, struct rp_quantity q)
{
    if (q.known)
        rp_text_json_number(buf, rp_text_round6(q.value));
    else
        rp_buf_puts(buf, "?");
}

static void add_size(struct rp_buf *buf, const char *name, const uint64_t *a, const uint64_t *b)
{
    if (!a[0] || !b[0] || memcmp(a, b, 3 * sizeof *a) == 0)
        return;
    rp_buf_printf(buf,
                  "%s%s %" PRIu64 "x%" PRIu64 "x%" PRIu64 " -> %" PRIu64 "x%" PRIu64 "x%" PRIu64,
                  buf->len ? ", " : "", name, a[0], a[1], a[2], b[0], b[1], b[2]);
}

static void add_gaps(struct rp_buf *buf, const char *side, const struct rp_versus_runs *runs,
                     size_t timed)
{
    if (timed && timed < runs->count)
        rp_buf_printf(buf, "%sno time in %zu of %zu runs %s", buf->len ? ", " : "",
                      runs->count - timed, runs->count, side);
}

void rp_versus_gaps_text(struct rp_buf *buf, const struct rp_versus_runs *before,
                         const struct rp_versus_runs *after, const struct rp_versus_time *t)
{
    add_gaps(buf, "before", before, t->before_runs);
    add_gaps(buf, "after", after, t->after_runs);
}

void rp_versus_changes_text(struct rp_buf *buf, const struct rp_versus_pair *k)
{
    const struct rp_versus_kernel *a = k->before, *b = k->after;
    rp_autobuf text = {0};

    if (!a || !b)
        return;
    rp_versus_gaps_text(&text, &a->runs, &b->runs, &k->time);
    for (unsigned i = 0; i < RP_COMPARE_METRICS; i++) {
        if (i == RP_COMPARE_CV || !a->metrics[i].known || !b->metrics[i].known ||
            a->metrics[i].value == b->metrics[i].value)
            continue;
        rp_buf_printf(&text, "%s%s ", text.len ? ", " : "",
                      rp_versus_metric_name((enum rp_versus_metric)i));
        number(&text, a->metrics[i]);
        rp_buf_puts(&text, " -> ");
        number(&text, b->metrics[i]);
    }
    add_size(&text, "grid", a->grid, b->grid);
    add_size(&text, "block", a->block, b->block);
    if (a->bound && b->bound && strcmp(a->bound, b->bound) != 0)
        rp_buf_printf(&text, "%sbound by %s -> %s", text.len ? ", " : "", a->bound, b->bound);
    rp_buf_add(buf, rp_buf_text(&text), text.len);
    buf->failed |= text.failed;
}

void rp_versus_gate_text(struct rp_buf *buf, const struct rp_versus_gated *gated)
{
    rp_buf_puts(buf, "it is ");
    number(buf, gated->value);
    if (gated->limit.known) {
        rp_buf_puts(buf, ", the bound is ");
        number(buf, gated->limit);
    }
    if (gated->reason[0])
        rp_buf_printf(buf, "; %s", gated->reason);
    if (gated->kernel)
        rp_buf_printf(buf, "; in %s", gated->kernel);
}

bool rp_versus_is_shown(const struct rp_versus_pair *k, size_t at, size_t most)
{
    return at < most || (k->before && k->after && k->time.verdict <= RP_COMPARE_SLOWER);
}
