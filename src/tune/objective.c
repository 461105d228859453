#include "tune/objective.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

/* --- what the user says ----------------------------------------------------------------------- */

enum { MOST_NAME = 60 };

/** Lists the words of numbers that need no output. */
static char *known_words(void)
{
    rp_autobuf words = {0};

    for (size_t i = 0; i < RP_NUMBER_SOURCES; i++)
        if (rp_number_rows[i].word)
            rp_buf_printf(&words, "%s%s", words.len ? ", " : "", rp_number_rows[i].word);
    return rp_strdup(rp_buf_text(&words));
}

static enum rp_number_source source_of(const char *name)
{
    for (size_t i = 0; i < RP_NUMBER_SOURCES; i++)
        if (rp_number_rows[i].word && strcmp(rp_number_rows[i].word, name) == 0)
            return (enum rp_number_source)i;
    return RP_NUMBER_PRINTED;
}

/** Makes the expression for "NAME: 12.5", "NAME = 12.5", "\"NAME\": 12.5" and "NAME 12.5".
 * Something stands between name and number, as "bw1: 12.5" is not about bw. It has one group. */
static char *pattern_of_name(const char *name)
{
    rp_autobuf text = {0};

    if (isalnum((unsigned char)*name) || *name == '_')
        rp_buf_puts(&text, "\\<");
    for (; *name; name++)
        rp_buf_printf(&text, strchr("\\^$.[]|()*+?{}", *name) ? "\\%c" : "%c", *name);
    rp_buf_puts(&text,
                "\"?[ \t]*[:= \t][ \t]*([-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?)");
    return rp_strdup(rp_buf_text(&text));
}

static int find(const struct rp_objectives *in, const char *name)
{
    for (size_t i = 0; i < in->count; i++)
        if (strcmp(in->numbers[i].name, name) == 0)
            return (int)i;
    return -1;
}

/** Takes name and pattern over.
 * @param pattern NULL: of the name, if it is printed */
static int add(struct rp_objectives *to, const char *option, char *name, char *pattern,
               struct rp_err *err)
{
    struct rp_tuned_number *number = &to->numbers[to->count];
    rp_autofree char *own_name = name, *own_pattern = pattern;

    if (to->count == RP_MAX_NUMBERS)
        return rp_fail(err, RP_USAGE, "%s %s: there are at most %d objectives and limits", option,
                       name, RP_MAX_NUMBERS);
    if (!*name || strlen(name) > MOST_NAME)
        return rp_fail(err, RP_USAGE, "%s: a name has 1 to %d bytes", option, MOST_NAME);
    *number = (struct rp_tuned_number){.source = pattern ? RP_NUMBER_PRINTED : source_of(name)};
    if (number->source == RP_NUMBER_PRINTED && !pattern)
        own_pattern = pattern_of_name(name);
    if (own_pattern && rp_objective_check_pattern(own_pattern, err) < 0)
        return rp_wrap(err, "%s %s", option, name);
    number->name = rp_steal(own_name);
    number->pattern = rp_steal(own_pattern);
    to->count++;
    return 0;
}

int rp_objectives_add(struct rp_objectives *to, const char *word, struct rp_err *err)
{
    const bool most = strncmp(word, "max:", 4) == 0, least = strncmp(word, "min:", 4) == 0;
    const char *begin = word + (most || least ? 4 : 0), *equals = strchr(begin, '=');
    rp_autofree char *name =
        equals ? rp_strndup(begin, (size_t)(equals - begin)) : rp_strdup(begin);
    int rc;

    if (find(to, name) >= 0)
        return rp_fail(err, RP_USAGE, "--objective %s: %s is one already", word, name);
    if (!most && !least && (equals || source_of(name) == RP_NUMBER_PRINTED)) {
        rp_autofree char *known = known_words();

        return rp_fail(err, RP_USAGE,
                       "--objective %s: say whether a small one is good, min:%s, or a large one, "
                       "max:%s; without output there are %s",
                       word, name, name, known);
    }
    rc = add(to, "--objective", rp_strdup(name), equals ? rp_strdup(equals + 1) : NULL, err);
    if (rc < 0)
        return rc;
    to->numbers[to->count - 1].maximise = most;
    to->goals = to->count;
    return 0;
}

int rp_objectives_limit(struct rp_objectives *to, const char *word, struct rp_err *err)
{
    const size_t length = strcspn(word, "<>");
    const char *number = word + length + (word[length] ? 2 : 0);
    rp_autofree char *name = NULL;
    size_t end = length;
    double value;
    char *rest;
    int at, rc;

    if (!word[length] || word[length + 1] != '=')
        return rp_fail(err, RP_USAGE, "--limit %s: use NAME<=NUMBER or NAME>=NUMBER", word);
    value = strtod(number, &rest);
    if (rest == number || rest[strspn(rest, " \t")] || !isfinite(value))
        return rp_fail(err, RP_USAGE, "--limit %s: %s is no number", word, number);
    while (end > 0 && isspace((unsigned char)word[end - 1]))
        end--;
    name = rp_strndup(word, end);
    if (to->count == 0 && (rc = rp_objectives_add(to, "time", err)) < 0)
        return rc;
    at = find(to, name);
    if (at < 0 && (rc = add(to, "--limit", rp_strdup(name), NULL, err)) < 0)
        return rc;
    at = at < 0 ? (int)to->count - 1 : at;
    if (word[length] == '<') {
        to->numbers[at].has_most = true;
        to->numbers[at].most = value;
    } else {
        to->numbers[at].has_least = true;
        to->numbers[at].least = value;
    }
    return 0;
}

void rp_objectives_free(struct rp_objectives *objectives)
{
    for (size_t i = 0; i < objectives->count; i++) {
        free(objectives->numbers[i].name);
        free(objectives->numbers[i].pattern);
    }
    *objectives = (struct rp_objectives){0};
}

char *rp_objectives_text(const struct rp_objectives *objectives)
{
    rp_autobuf text = {0};

    for (size_t i = 0; i < objectives->count; i++) {
        const struct rp_tuned_number *number = &objectives->numbers[i];

        rp_buf_puts(&text, i ? ", " : "");
        if (i < objectives->goals)
            rp_buf_puts(&text, number->maximise ? "max:" : "min:");
        rp_buf_puts(&text, number->name);
        if (number->pattern)
            rp_buf_printf(&text, "=%s", number->pattern);
        if (number->has_least)
            rp_buf_printf(&text, " >= %.17g", number->least);
        if (number->has_most)
            rp_buf_printf(&text, " <= %.17g", number->most);
    }
    return rp_strdup(rp_buf_text(&text));
}

int rp_objectives_time(const struct rp_objectives *objectives)
{
    for (size_t i = 0; i < objectives->count; i++)
        if (objectives->numbers[i].source == RP_NUMBER_TIME ||
            objectives->numbers[i].source == RP_NUMBER_WALL)
            return (int)i;
    return -1;
}

bool rp_objectives_exact(const struct rp_objectives *objectives)
{
    for (size_t i = 0; i < objectives->count; i++)
        if (!rp_number_rows[objectives->numbers[i].source].traced)
            return false;
    return true;
}

/* --- costs ------------------------------------------------------------------------------------ */

/** Registers and bytes are whole numbers from 0 on. */
static bool is_count(const struct rp_tuned_number *number)
{
    return number->source != RP_NUMBER_TIME && number->source != RP_NUMBER_WALL &&
           number->source != RP_NUMBER_PRINTED;
}

double rp_cost_of(const struct rp_tuned_number *number, double value)
{
    const double cost = is_count(number) ? value + 1 : value;

    if (!(cost > 0) || !isfinite(1 / cost))
        return 0;
    return number->maximise ? 1 / cost : cost;
}

double rp_value_of_cost(const struct rp_tuned_number *number, double cost)
{
    const double value = number->maximise ? 1 / cost : cost;

    return is_count(number) ? value - 1 : value;
}

char *rp_objectives_refuse(const struct rp_objectives *objectives, const double *values)
{
    for (size_t i = 0; i < objectives->count; i++) {
        const struct rp_tuned_number *number = &objectives->numbers[i];

        if (number->has_most && values[i] > number->most)
            return rp_format("%s is %g, more than %g", number->name, values[i], number->most);
        if (number->has_least && values[i] < number->least)
            return rp_format("%s is %g, less than %g", number->name, values[i], number->least);
    }
    return NULL;
}

bool rp_objectives_dominate(const struct rp_objectives *objectives, const double *a,
                            const double *b)
{
    bool better = false;

    for (size_t i = 0; i < objectives->goals; i++) {
        const double gain = objectives->numbers[i].maximise ? a[i] - b[i] : b[i] - a[i];

        if (gain < 0)
            return false;
        better |= gain > 0;
    }
    return better;
}

/* --- several at once -------------------------------------------------------------------------- */

void rp_scalarisation_see(struct rp_scalarisation *scale, const struct rp_objectives *objectives,
                          const double *values)
{
    for (size_t i = 0; i < objectives->goals; i++) {
        const double log_cost = rp_exact_log(rp_cost_of(&objectives->numbers[i], values[i]));

        scale->low[i] = scale->seen ? fmin(scale->low[i], log_cost) : log_cost;
        scale->high[i] = scale->seen ? fmax(scale->high[i], log_cost) : log_cost;
    }
    scale->seen = true;
}

void rp_scalarisation_draw(struct rp_scalarisation *scale, const struct rp_objectives *objectives,
                           size_t turn, struct rp_random *random)
{
    const size_t goals = objectives->goals;
    double sum = 0;

    for (size_t i = 0; i < goals; i++) {
        const double drawn = (rp_random_below(random, 1 << 20) + 1.0) / (1 << 20);

        /* Logarithms of such numbers, as shares of their sum, are spread evenly. */
        scale->weights[i] = turn < goals    ? (turn == i ? 1 : 0)
                            : turn == goals ? 1
                                            : 1e-6 - rp_exact_log(drawn);
        sum += scale->weights[i];
    }
    for (size_t i = 0; i < goals; i++)
        scale->weights[i] /= sum;
}

double rp_scalarisation_log(const struct rp_scalarisation *scale,
                            const struct rp_objectives *objectives, const double *values)
{
    static const double all = 0.05; /* What is worse in another objective counts a little. */
    double largest = -HUGE_VAL, sum = 0, range = 0;

    for (size_t i = 0; i < objectives->goals; i++) {
        const double log_cost = rp_exact_log(rp_cost_of(&objectives->numbers[i], values[i]));
        const double width = scale->high[i] - scale->low[i];
        const double share = width > 0 ? (log_cost - scale->low[i]) / width : 0;

        largest = fmax(largest, scale->weights[i] * share);
        sum += share;
        range += width / (double)objectives->goals;
    }
    /* It is as wide as logarithms of times are, which is what models reckon with. */
    return (largest + all * sum) * (range > 0 ? range : 1);
}
