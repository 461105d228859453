#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/report.h"
#include "rocm-perf/roofline.h"

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_KERNELS = 12 /* shown; roofline.json has them all */
};

static const double GIGA = 1e9;

static struct rp_number_text number(struct rp_quantity q, double unit, unsigned decimals)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_number_small(q.value / unit, decimals) : unknown;
}

static void see(struct rp_unit_span *span, struct rp_quantity q, double scale)
{
    if (q.known)
        rp_unit_span_add(span, q.value * scale);
}

/* @param scale  what the quantity counts, in what the unit was chosen for */
static struct rp_number_text in_unit(struct rp_unit unit, struct rp_quantity q, double scale)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_unit_number(unit, q.value * scale) : unknown;
}

/* Each in its own unit: there are some sixteen times as many of matrices. */
static struct rp_unit_text peak(const struct rp_page *page, struct rp_quantity gflops)
{
    static const struct rp_unit_text unknown = {"-"};

    return gflops.known ? rp_unit_one(RP_UNIT_FLOPS, gflops.value * GIGA, page->utf8) : unknown;
}

static void put_device(const struct rp_page *page, const struct rp_roofline_device *d)
{
    static const enum rp_level levels[] = {RP_LEVEL_HBM, RP_LEVEL_L2, RP_LEVEL_L1, RP_LEVEL_LDS};
    const struct rp_ceilings *c = &d->ceilings;
    struct rp_unit_span bytes = {0};
    struct rp_unit rate;

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        see(&bytes, c->gbps[levels[i]], GIGA);
    rate = rp_unit_of(RP_UNIT_RATE, bytes, page->utf8);
    rp_page_line(page, RP_INK_BOLD, 0, "GPU %" PRId64 "  %s%s%s", d->id,
                 d->arch[0] ? d->arch : "unknown", d->product ? "  " : "",
                 d->product ? d->product : "");
    rp_page_line(page, RP_INK_PLAIN, 2, "at most  HBM %s, L2 %s, L1 %s, LDS %s %s",
                 in_unit(rate, c->gbps[RP_LEVEL_HBM], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_L2], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_L1], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_LDS], GIGA).text, rate.name);
    rp_page_line(page, RP_INK_PLAIN, 2, "         vector FP32 %s, matrix FP16 %s",
                 peak(page, c->gflops[RP_FLOP_VALU_F32]).text,
                 peak(page, c->gflops[RP_FLOP_MFMA_F16]).text);
}

/** Units of the table. */
struct columns {
    struct rp_unit time, flops, bytes;
};

/* The program's row is looked at, too: its time is the largest, its rates are between the others.
 */
static struct columns columns_of(const struct rp_page *page, const struct rp_roofline *r,
                                 size_t shown)
{
    struct rp_unit_span time = {0}, flops = {0}, bytes = {0};

    for (size_t i = 0; i <= shown; i++) {
        const struct rp_roofline_kernel *k = i < shown ? &r->kernels[i] : &r->program;

        see(&time, k->time_ns, 1);
        see(&flops, k->gflops, GIGA);
        see(&bytes, k->gbps[RP_LEVEL_HBM], GIGA);
    }
    return (struct columns){.time = rp_unit_of(RP_UNIT_TIME, time, page->utf8),
                            .flops = rp_unit_of(RP_UNIT_FLOPS, flops, page->utf8),
                            .bytes = rp_unit_of(RP_UNIT_RATE, bytes, page->utf8)};
}

/* @param gpu  where it ran; "": on the only one */
static void put_kernel(const struct rp_page *page, const struct rp_roofline_kernel *k,
                       const char *name, const char *gpu, const struct columns *in)
{
    const char *bound = rp_bound_name(k->bound);
    struct rp_quantity share = k->bound_share;

    share.value *= 100;
    rp_page_text(page, RP_INK_PLAIN, 2, name);
    rp_page_line(page, RP_INK_PLAIN, 4, "%12s %10s %11s %9s  %s%s%s%s%s",
                 in_unit(in->time, k->time_ns, 1).text,
                 number(k->intensity[RP_LEVEL_HBM], 1, 3).text,
                 in_unit(in->flops, k->gflops, GIGA).text,
                 in_unit(in->bytes, k->gbps[RP_LEVEL_HBM], GIGA).text, bound ? bound : "-",
                 share.known ? " " : "", share.known ? number(share, 1, 1).text : "",
                 share.known ? " %" : "", gpu);
}

static void put_kernels(const struct rp_page *page, const struct rp_roofline *r, size_t shown,
                        const struct columns *in)
{
    for (size_t i = 0; i < shown; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];
        char gpu[40] = "";

        if (r->device_count > 1)
            snprintf(gpu, sizeof gpu, ", GPU %" PRId64, r->devices[k->device].id);
        put_kernel(page, k, k->name, gpu, in);
    }
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
                           .utf8 = style.utf8,
                           .width = style.width == 0            ? DEFAULT_WIDTH
                                    : style.width < LEAST_WIDTH ? LEAST_WIDTH
                                                                : style.width};
    size_t shown = r->kernel_count < MOST_KERNELS ? r->kernel_count : MOST_KERNELS;
    const struct columns in = columns_of(&page, r, shown);

    if (r->reason) {
        rp_page_line(&page, RP_INK_YELLOW, 0, "No roofline:");
        put_note(&page, r->reason);
        for (size_t i = 0; i < r->note_count; i++)
            put_note(&page, r->notes[i]);
        return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
    }
    for (size_t i = 0; i < r->device_count; i++)
        put_device(&page, &r->devices[i]);
    rp_page_line(&page, RP_INK_BOLD, 4, "%s %10s %s %s  %s", rp_unit_heading("", in.time, 12).text,
                 "FLOP/byte", rp_unit_heading("", in.flops, 11).text,
                 rp_unit_heading("HBM", in.bytes, 9).text, "bound, and how near");
    put_kernels(&page, r, shown, &in);
    if (shown < r->kernel_count)
        rp_page_line(&page, RP_INK_DIM, 2, "and %zu more: -o DIR writes roofline.json",
                     r->kernel_count - shown);
    put_kernel(&page, &r->program, "[all kernels]", "", &in);
    for (size_t i = 0; i < r->note_count; i++)
        put_note(&page, r->notes[i]);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
