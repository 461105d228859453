#include "experiment/output_compare.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* Takes a line off the text, without its end. */
static struct rp_output_text next_line(struct rp_output_text *text)
{
    const char *end = text->bytes ? memchr(text->text, '\n', text->bytes) : NULL;
    const size_t bytes = end ? (size_t)(end - text->text) : text->bytes;
    const struct rp_output_text line = {text->text, bytes};

    text->text += bytes + (end ? 1 : 0);
    text->bytes -= bytes + (end ? 1 : 0);
    return line;
}

static bool is_same(struct rp_output_text a, struct rp_output_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.text, b.text, a.bytes) == 0);
}

/* strtod() takes words as well, such as "inf" of "info", and what is behind blanks. */
static bool begins_number(const char *at)
{
    at += *at == '-' || *at == '+';
    at += *at == '.';
    return isdigit((unsigned char)*at);
}

/* Compares the numbers that begin there, and goes behind them. */
static bool is_near(const char **a, const char **b, const struct rp_output_bound *bound)
{
    char *end_a, *end_b;
    const double x = strtod(*a, &end_a), y = strtod(*b, &end_b);
    const double most = fmax(bound->absolute, bound->relative * fmax(fabs(x), fabs(y)));
    const bool same = end_a - *a == end_b - *b && memcmp(*a, *b, (size_t)(end_a - *a)) == 0;

    *a = end_a;
    *b = end_b;
    return same || (isfinite(x) && isfinite(y) && fabs(x - y) <= most);
}

/* Compares terminated texts; what is in them behind a zero byte was compared before. */
static bool is_nearly_same(const char *a, const char *b, const struct rp_output_bound *bound)
{
    for (;;) {
        a += strspn(a, " \t\r");
        b += strspn(b, " \t\r");
        if (!*a || !*b)
            return !*a && !*b;
        if (begins_number(a) && begins_number(b)) {
            if (!is_near(&a, &b, bound))
                return false;
        } else if (*a++ != *b++) {
            return false;
        }
    }
}

bool rp_output_line_agrees(struct rp_output_text a, struct rp_output_text b,
                           const struct rp_output_bound *bound)
{
    rp_autobuf one = {0}, other = {0};

    if (is_same(a, b))
        return true;
    if ((!(bound->relative > 0) && !(bound->absolute > 0)) || memchr(a.text, 0, a.bytes) ||
        memchr(b.text, 0, b.bytes))
        return false;
    rp_buf_add(&one, a.text, a.bytes);
    rp_buf_add(&other, b.text, b.bytes);
    return is_nearly_same(rp_buf_text(&one), rp_buf_text(&other), bound);
}

size_t rp_output_first_difference(struct rp_output_text before, struct rp_output_text after,
                                  const struct rp_output_bound *bound)
{
    if (is_same(before, after))
        return 0;
    for (size_t number = 1;; number++) {
        const bool ended = !before.bytes, other_ended = !after.bytes;

        if (ended && other_ended) /* Only the end of the last line is another one. */
            return bound->relative > 0 || bound->absolute > 0 ? 0 : number;
        if (ended != other_ended ||
            !rp_output_line_agrees(next_line(&before), next_line(&after), bound))
            return number;
    }
}

struct rp_output_text rp_output_line(struct rp_output_text text, size_t number)
{
    while (number-- > 1 && text.bytes)
        next_line(&text);
    return next_line(&text);
}
