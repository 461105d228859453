#include "report/svg.h"

#include <limits.h>

#include "base/buf.h"
#include "report/forms/parts.h"
#include "report/xml.h"

const char *rp_svg_colour(size_t index)
{
    static const char *const colours[RP_SVG_COLOURS + 1] = {
        "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"};

    return colours[index < RP_SVG_COLOURS ? index : RP_SVG_COLOURS];
}

struct rp_number_text rp_svg_at(double value)
{
    return rp_number_fixed(value, 2);
}

void rp_svg_text(struct rp_buf *buf, struct rp_svg_text how, const char *text)
{
    rp_buf_printf(buf, "<text x=\"%s\" y=\"%s\" font-size=\"%u\" text-anchor=\"%s\"",
                  rp_svg_at(how.x).text, rp_svg_at(how.y).text, how.size, how.anchor);
    if (how.turned < 0 || how.turned > 0)
        rp_buf_printf(buf, " transform=\"rotate(%s %s %s)\"", rp_svg_at(how.turned).text,
                      rp_svg_at(how.x).text, rp_svg_at(how.y).text);
    rp_buf_puts(buf, ">");
    if (how.whole && rp_text_cells(text) > how.cells) {
        rp_buf_puts(buf, "<title>");
        rp_xml_text(buf, text, UINT_MAX);
        rp_buf_puts(buf, "</title>");
    }
    rp_xml_text(buf, text, how.cells);
    rp_buf_puts(buf, "</text>\n");
}

void rp_svg_begin(struct rp_buf *buf, const struct rp_report_parts *parts, const char *what,
                  double width, double height)
{
    rp_autobuf title = {0}, mark = {0};
    struct rp_number_text w = rp_svg_at(width), h = rp_svg_at(height);

    rp_buf_printf(&title, "%s: %s", what, parts->title);
    rp_form_put_mark(&mark, parts);
    rp_buf_printf(
        buf,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" viewBox=\"0 0 "
        "%s %s\" font-family=\"sans-serif\" role=\"img\">\n<title>",
        w.text, h.text, w.text, h.text);
    rp_xml_text(buf, rp_buf_text(&title), 200);
    rp_buf_printf(
        buf,
        "</title>\n<style>text{fill:#000;paint-order:stroke;stroke:#fff;stroke-width:3px;"
        "stroke-linejoin:round}</style>\n<rect width=\"%s\" height=\"%s\" fill=\"#fff\"/>\n",
        w.text, h.text);
    rp_svg_text(
        buf,
        (struct rp_svg_text){
            .x = 12, .y = 24, .anchor = "start", .size = 16, .cells = (unsigned)(width / 9.5)},
        rp_buf_text(&title));
    if (mark.len)
        rp_svg_text(
            buf,
            (struct rp_svg_text){.x = 12, .y = 44, .anchor = "start", .size = 13, .cells = 100},
            rp_buf_text(&mark));
    buf->failed |= title.failed || mark.failed;
}

void rp_svg_end(struct rp_buf *buf)
{
    rp_buf_puts(buf, "</svg>\n");
}
