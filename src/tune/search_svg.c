#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "tune/search_json.h"

/* Colours of Okabe and Ito, which people who are blind to some can tell as well; each kind has a
 * shape of its own, too. */
#define SEED      "#595959"
#define PREDICTED "#0072b2"
#define FAILED    "#d55e00"
#define BEST      "#009e73"

/* Around the plot: values and their name on the left, below it a row of what failed, numbers and
 * their name. */
enum {
    WIDTH = 900,
    HEIGHT = 520,
    LEFT = 100,
    RIGHT = 30,
    TOP = 80,
    BOTTOM = 90,
    FLOOR = HEIGHT - BOTTOM,
    FAILED_AT = FLOOR + 16,
    NUMBERS_AT = FLOOR + 46,
    NAME_AT = FLOOR + 70,
    MOST_TICKS = 64,
    MOST_TITLE = 70, /**< characters */
};

/** Of neighbouring labels. */
static const double least_apart = 16;

struct axes {
    double low, high; /**< logarithms */
    size_t count;
};

static double x_of(const struct axes *axes, double evaluation)
{
    if (axes->count < 2)
        return (LEFT + WIDTH - RIGHT) / 2.0;
    return LEFT + 10 + (evaluation - 1) / (double)(axes->count - 1) * (WIDTH - LEFT - RIGHT - 20);
}

static double y_of(const struct axes *axes, double ms)
{
    return TOP + (axes->high - log10(ms)) / (axes->high - axes->low) * (FLOOR - TOP);
}

static struct axes axes_of(const struct rp_search_result *result)
{
    struct axes axes = {.low = HUGE_VAL, .high = -HUGE_VAL, .count = result->tuned_count};
    double margin;

    for (size_t i = 0; i < result->tuned_count; i++)
        if (result->tuned[i].outcome == RP_EVALUATION_OK) {
            axes.low = fmin(axes.low, log10(result->tuned[i].runtime_ms));
            axes.high = fmax(axes.high, log10(result->tuned[i].runtime_ms));
        }
    if (axes.low > axes.high)
        return (struct axes){.low = 0, .high = 1, .count = result->tuned_count};
    margin = fmax(0.05 * (axes.high - axes.low), 0.005);
    axes.low -= margin;
    axes.high += margin;
    return axes;
}

/** Bytes of the next character, or of what is none. */
static size_t step_over(const char *text)
{
    const size_t bytes = rp_utf8_length(text, strlen(text));

    return bytes ? bytes : 1;
}

/** As it may stand in XML, one line; of a long one (a path) the end. */
static void put_text(struct rp_buf *to, const char *text, size_t most)
{
    rp_autobuf escaped = {0};
    size_t characters = 0;

    for (const char *c = text; *c; c += step_over(c))
        characters++;
    if (characters > most)
        rp_buf_puts(to, "...");
    for (; characters > most; characters--)
        text += step_over(text);
    rp_escape(&escaped, text);
    for (text = rp_buf_text(&escaped); *text; text++)
        if (strchr("<>&\"", *text))
            rp_buf_printf(to, "&#%d;", *text);
        else
            rp_buf_add(to, text, 1);
    to->failed |= escaped.failed;
}

/* --- axes ------------------------------------------------------------------------------------- */

static void put_line(struct rp_buf *to, const struct axes *axes, double ms, double *last)
{
    const double y = y_of(axes, ms);

    rp_buf_printf(to, "<path class=\"g\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
    if (fabs(y - *last) >= least_apart) {
        rp_buf_printf(to, "<text class=\"n\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>",
                      LEFT - 8, y + 4, ms);
        *last = y;
    }
    rp_buf_puts(to, "\n");
}

/** Less than a decade: the same steps between values; more: 1, 2 and 5 of each, or its 1 alone. */
static void put_runtimes(const struct axes *axes, struct rp_buf *to)
{
    static const double steps[] = {1, 2, 5};
    const double low = pow(10, axes->low), high = pow(10, axes->high);
    const size_t each = axes->high - axes->low > 4 ? 1 : 3;
    double last = HUGE_VAL;

    if (axes->high - axes->low < 1) {
        const double step = rp_svg_round_step((high - low) / 8);
        const double first = ceil(low / step);

        for (int i = 0; i < MOST_TICKS && (first + i) * step <= high; i++)
            put_line(to, axes, (first + i) * step, &last);
        return;
    }
    for (int decade = (int)floor(axes->low), i = 0; decade <= axes->high && i < MOST_TICKS;
         decade++)
        for (size_t j = 0; j < each; j++, i++) {
            const double ms = steps[j] * pow(10, decade);

            if (ms >= low && ms <= high)
                put_line(to, axes, ms, &last);
        }
}

static void put_number(struct rp_buf *to, const struct axes *axes, double at)
{
    rp_buf_printf(to, "<text class=\"n\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                  x_of(axes, at), NUMBERS_AT, at);
}

static void put_evaluations(const struct axes *axes, struct rp_buf *to)
{
    const double count = (double)axes->count, step = fmax(rp_svg_round_step(count / 10), 1);

    if (count >= 1 && step > 1)
        put_number(to, axes, 1);
    for (double at = step; at <= count; at += step)
        put_number(to, axes, at);
}

static void put_axes(const struct axes *axes, const struct rp_search_about *about,
                     struct rp_buf *to)
{
    const char *kind = about->device ? about->device : "";
    const char *what = strcmp(kind, "recorded") == 0 ? "recorded runtime in ms"
                       : strcmp(kind, "software") == 0 && strcmp(about->objective, "dispatch") == 0
                           ? "modelled runtime in ms (software device)"
                           : "runtime in ms";

    put_runtimes(axes, to);
    put_evaluations(axes, to);
    rp_buf_printf(to,
                  "<path class=\"a\" d=\"M%d %dV%dH%d\"/>\n"
                  "<text transform=\"translate(24 %d) rotate(-90)\" text-anchor=\"middle\">%s, "
                  "logarithmic</text>\n"
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">evaluations, in the order in "
                  "which they ended</text>\n"
                  "<text class=\"n\" x=\"%d\" y=\"%d\" text-anchor=\"end\">failed</text>\n",
                  LEFT, TOP, FLOOR, WIDTH - RIGHT, (TOP + FLOOR) / 2, what,
                  (LEFT + WIDTH - RIGHT) / 2, NAME_AT, LEFT - 8, FAILED_AT + 4);
}

/* --- what was run ----------------------------------------------------------------------------- */

static void put_cross(struct rp_buf *to, double x, double y)
{
    rp_buf_printf(to, "<path class=\"f\" d=\"M%.1f %.1fl7 7m0 -7l-7 7\"/>", x - 3.5, y - 3.5);
}

static void put_circle(struct rp_buf *to, char phase, double x, double y)
{
    rp_buf_printf(to, "<circle class=\"%c\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", phase, x, y);
}

/** @return number of the best one from 1 on; 0: none works */
static size_t put_points(const struct axes *axes, const struct rp_search_result *result,
                         struct rp_buf *to)
{
    rp_autobuf line = {0};
    double least = HUGE_VAL;
    size_t best = 0;

    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_tuned *tuned = &result->tuned[i];
        const double x = x_of(axes, (double)i + 1);

        if (tuned->outcome != RP_EVALUATION_OK) {
            put_cross(to, x, FAILED_AT);
        } else {
            const double y = y_of(axes, tuned->runtime_ms);

            put_circle(to, tuned->phase[0], x, y);
            if (tuned->runtime_ms < least) {
                rp_buf_printf(&line, best ? "H%.1fV%.1f" : "M%.1f %.1f", x, y);
                least = tuned->runtime_ms;
                best = i + 1;
            }
        }
        rp_buf_puts(to, "\n");
    }
    if (best)
        rp_buf_printf(to, "<path class=\"b\" d=\"%sH%d\"/>\n", rp_buf_text(&line), WIDTH - RIGHT);
    to->failed |= line.failed;
    return best;
}

static void put_legend(struct rp_buf *to)
{
    enum { Y = 62 };
    static const char *const names[] = {"seed", "predicted", "failed", "best so far"};

    for (int i = 0; i < 4; i++) {
        const int x = LEFT + 10 + 120 * i;

        if (i < 2)
            put_circle(to, names[i][0], x, Y);
        else if (i == 2)
            put_cross(to, x, Y);
        else
            rp_buf_printf(to, "<path class=\"b\" d=\"M%d %dh16\"/>", x - 8, Y);
        rp_buf_printf(to, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 14, Y + 4, names[i]);
    }
}

static void put_titles(const struct rp_search_result *result, size_t best,
                       const struct rp_search_about *about, struct rp_buf *to)
{
    rp_buf_printf(to, "<text x=\"%d\" y=\"24\" font-size=\"16\">Search of ", LEFT);
    put_text(to, about->name, MOST_TITLE);
    rp_buf_printf(to, "</text>\n<text x=\"%d\" y=\"43\">", LEFT);
    if (best)
        rp_buf_printf(to, "fastest: %.6g ms, evaluation %zu of %zu",
                      result->tuned[best - 1].runtime_ms, best, result->tuned_count);
    else
        rp_buf_printf(to, "none of %zu evaluations works", result->tuned_count);
    rp_buf_puts(to, "</text>\n");
    put_legend(to);
}

void rp_search_svg(const struct rp_search_options *options, const struct rp_search_result *result,
                   const struct rp_search_about *about, struct rp_buf *to)
{
    const struct axes axes = axes_of(result);

    (void)options;
    rp_buf_printf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<style>.s{stroke:" SEED ";fill:#fff;stroke-width:1.5}.p{fill:" PREDICTED
                  "}.f{stroke:" FAILED ";stroke-width:1.5;fill:none}.b{stroke:" BEST
                  ";stroke-width:2;fill:none}.g{stroke:#ddd}.a{stroke:#333;fill:none}"
                  ".n{font-size:12px}</style>\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_axes(&axes, about, to);
    put_titles(result, put_points(&axes, result, to), about, to);
    rp_buf_puts(to, "</svg>\n");
}
