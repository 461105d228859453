#include <math.h>

#include "base/buf.h"
#include "tune/search_json.h"

enum { WIDTH = 900, HEIGHT = 480, LEFT = 80, RIGHT = 20, TOP = 50, BOTTOM = 60, MOST_DECADES = 12 };

struct axes {
    double low, high; /**< logarithms */
    size_t count;
};

static double x_of(const struct axes *axes, double evaluation)
{
    const double last = axes->count > 1 ? (double)axes->count : 2;

    return LEFT + (evaluation - 1) / (last - 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *axes, double ms)
{
    return TOP + (axes->high - log10(ms)) / (axes->high - axes->low) * (HEIGHT - TOP - BOTTOM);
}

static struct axes axes_of(const struct rp_search_result *result)
{
    struct axes axes = {.low = HUGE_VAL, .high = -HUGE_VAL, .count = result->tuned_count};

    for (size_t i = 0; i < result->tuned_count; i++)
        if (result->tuned[i].outcome == RP_EVALUATION_OK) {
            axes.low = fmin(axes.low, log10(result->tuned[i].runtime_ms));
            axes.high = fmax(axes.high, log10(result->tuned[i].runtime_ms));
        }
    if (axes.low > axes.high)
        return (struct axes){.low = 0, .high = 1, .count = result->tuned_count};
    axes.low -= 0.05;
    axes.high += 0.05;
    return axes;
}

static void put_text(struct rp_buf *to, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || (unsigned char)*text < ' ')
            rp_buf_printf(to, "&#%d;", (unsigned char)*text < ' ' ? ' ' : *text);
        else
            rp_buf_add(to, text, 1);
}

static void put_grid(const struct axes *axes, struct rp_buf *to)
{
    static const double steps[] = {1, 2, 5};
    int decade = (int)floor(axes->low);
    const int last = decade + MOST_DECADES;

    for (; decade <= ceil(axes->high) && decade < last; decade++)
        for (int i = 0; i < 3; i++) {
            const double ms = steps[i] * pow(10, decade), y = y_of(axes, ms);

            if (log10(ms) < axes->low || log10(ms) > axes->high)
                continue;
            rp_buf_printf(to,
                          "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>"
                          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                          LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4, ms);
        }
    for (int i = 0; i <= 4 && axes->count > 1; i++) {
        const double at = floor(1 + (double)i / 4 * (double)(axes->count - 1) + 0.5);

        rp_buf_printf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                      x_of(axes, at), HEIGHT - BOTTOM + 18, at);
    }
}

static void put_points(const struct axes *axes, const struct rp_search_result *result,
                       struct rp_buf *to)
{
    double best = HUGE_VAL;
    rp_autobuf line = {0};

    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_tuned *tuned = &result->tuned[i];
        const double x = x_of(axes, (double)i + 1);

        if (tuned->outcome != RP_EVALUATION_OK) {
            rp_buf_printf(to, "<path class=\"f\" d=\"M%.1f %dl6 6m0 -6l-6 6\"/>\n", x - 3,
                          HEIGHT - BOTTOM - 8);
            continue;
        }
        rp_buf_printf(to, "<circle class=\"%c\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n",
                      tuned->phase[0], x, y_of(axes, tuned->runtime_ms));
        if (tuned->runtime_ms >= best)
            continue;
        if (best < HUGE_VAL)
            rp_buf_printf(&line, "H%.1fV%.1f", x, y_of(axes, tuned->runtime_ms));
        else
            rp_buf_printf(&line, "M%.1f %.1f", x, y_of(axes, tuned->runtime_ms));
        best = tuned->runtime_ms;
    }
    if (best < HUGE_VAL)
        rp_buf_printf(to, "<path class=\"b\" d=\"%sH%.1f\"/>\n", rp_buf_text(&line),
                      x_of(axes, (double)axes->count));
    to->failed |= line.failed;
}

void rp_search_svg(const struct rp_search_options *options, const struct rp_search_result *result,
                   const struct rp_search_about *about, struct rp_buf *to)
{
    const struct axes axes = axes_of(result);

    (void)options;
    rp_buf_printf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<style>.s{fill:#999}.p{fill:#1f77b4}.f{stroke:#d62728;fill:none}"
                  ".b{stroke:#2ca02c;stroke-width:2;fill:none}</style>\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    rp_buf_printf(to, "<text x=\"%d\" y=\"20\" font-size=\"15\">", LEFT);
    put_text(to, about->name);
    rp_buf_printf(to,
                  "</text>\n<text x=\"%d\" y=\"38\">runtime in ms over evaluations: "
                  "<tspan class=\"s\">seed</tspan>, <tspan class=\"p\">predicted</tspan>, "
                  "<tspan fill=\"#d62728\">failed</tspan>, "
                  "<tspan fill=\"#2ca02c\">best so far</tspan></text>\n",
                  LEFT);
    put_grid(&axes, to);
    put_points(&axes, result, to);
    rp_buf_puts(to, "</svg>\n");
}
