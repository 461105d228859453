#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/report.h"
#include "rocm-perf/roofline.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_KERNELS = 12 /* shown; roofline.json has them all */
};

static struct rp_text_number number(struct rp_quantity q, double unit, unsigned decimals)
{
    static const struct rp_text_number unknown = {"-"};

    return q.known ? rp_text_fixed(q.value / unit, decimals) : unknown;
}

static void put_device(const struct rp_page *page, const struct rp_roofline_device *d)
{
    const struct rp_ceilings *c = &d->ceilings;

    rp_page_line(page, RP_INK_BOLD, 0, "GPU %" PRId64 "  %s%s%s", d->id,
                 d->arch[0] ? d->arch : "unknown", d->product ? "  " : "",
                 d->product ? d->product : "");
    rp_page_line(page, RP_INK_PLAIN, 2, "at most  HBM %s, L2 %s, L1 %s, LDS %s GB/s",
                 number(c->gbps[RP_LEVEL_HBM], 1, 0).text, number(c->gbps[RP_LEVEL_L2], 1, 0).text,
                 number(c->gbps[RP_LEVEL_L1], 1, 0).text, number(c->gbps[RP_LEVEL_LDS], 1, 0).text);
    rp_page_line(page, RP_INK_PLAIN, 2, "         vector FP32 %s, matrix FP16 %s TFLOP/s",
                 number(c->gflops[RP_FLOP_VALU_F32], 1000, 1).text,
                 number(c->gflops[RP_FLOP_MFMA_F16], 1000, 1).text);
}

static void put_kernel(const struct rp_page *page, const struct rp_roofline_kernel *k,
                       const char *name)
{
    const char *bound = rp_bound_name(k->bound);
    struct rp_quantity share = k->bound_share;

    share.value *= 100;
    rp_page_text(page, RP_INK_PLAIN, 2, name);
    rp_page_line(page, RP_INK_PLAIN, 4, "%12s %10s %11s %9s  %s%s%s%s",
                 number(k->time_ns, 1e6, 6).text, number(k->intensity[RP_LEVEL_HBM], 1, 3).text,
                 number(k->gflops, 1, 1).text, number(k->gbps[RP_LEVEL_HBM], 1, 1).text,
                 bound ? bound : "-", share.known ? " " : "",
                 share.known ? number(share, 1, 1).text : "", share.known ? " %" : "");
}

/* Notes are sentences: broken between words. */
static void put_note(const struct rp_page *page, const char *note)
{
    size_t most = page->width - 6;
    const char *mark = "Note: ";

    while (*note) {
        size_t len = strlen(note), cut = len;

        if (len > most) {
            for (cut = most; cut > 0 && note[cut] != ' '; cut--)
                ;
            cut = cut ? cut : most;
        }
        rp_page_line(page, RP_INK_YELLOW, 0, "%s%.*s", mark, (int)cut, note);
        note += cut + strspn(note + cut, " ");
        mark = "      ";
    }
}

int rp_report_roofline_term(const struct rp_roofline *r, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    struct rp_page page = {.out = buf,
                           .colour = style.colour,
                           .width = style.width == 0            ? DEFAULT_WIDTH
                                    : style.width < LEAST_WIDTH ? LEAST_WIDTH
                                                                : style.width};
    size_t shown = r->kernel_count < MOST_KERNELS ? r->kernel_count : MOST_KERNELS;

    if (r->reason) {
        rp_page_line(&page, RP_INK_YELLOW, 0, "No roofline:");
        put_note(&page, r->reason);
        return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
    }
    for (size_t i = 0; i < r->device_count; i++)
        put_device(&page, &r->devices[i]);
    rp_page_line(&page, RP_INK_BOLD, 4, "%12s %10s %11s %9s  %s", "ms", "FLOP/byte", "GFLOP/s",
                 "HBM GB/s", "bound, and how near");
    for (size_t i = 0; i < shown; i++)
        put_kernel(&page, &r->kernels[i], r->kernels[i].name);
    if (shown < r->kernel_count)
        rp_page_line(&page, RP_INK_DIM, 2, "and %zu more in roofline.json",
                     r->kernel_count - shown);
    put_kernel(&page, &r->program, "[all kernels]");
    for (size_t i = 0; i < r->note_count; i++)
        put_note(&page, r->notes[i]);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
