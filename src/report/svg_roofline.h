/**
 * @file svg_roofline.h
 * @brief Draws what pictures share: their frame, text, colours and axes. They have white below all,
 * so that they look the same on dark pages.
 */
#ifndef RP_REPORT_SVG_ROOFLINE_H
#define RP_REPORT_SVG_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

struct rp_buf;
struct rp_report_parts;

/** These are colours of Okabe and Ito, which people with any kind of colour vision can tell apart.
 * The last one is for all others. */
enum { RP_SVG_COLOURS = 7 };
const char *rp_svg_colour(size_t index);

/** Begins a picture with its title, and says what its times are if they are modelled. */
void rp_svg_begin(struct rp_buf *buf, const struct rp_report_parts *parts, const char *what,
                  double width, double height);
void rp_svg_end(struct rp_buf *buf);

/** Formats a coordinate with two decimals. */
struct rp_number_text rp_svg_at(double value);

struct rp_svg_text {
    double x, y;
    const char *anchor; /**< "start", "middle", "end" */
    unsigned size;      /**< pixels */
    unsigned cells;     /**< that it has room for */
    double turned;      /**< degrees */
    bool whole;         /**< what has no room is there under the pointer */
};
/** White around the letters keeps them readable over lines. */
void rp_svg_text(struct rp_buf *buf, struct rp_svg_text how, const char *text);

enum { RP_SVG_TITLE_HEIGHT = 56 };

#endif
