#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

struct rp_number_text rp_number_fixed(double value, unsigned decimals)
{
    static const uint64_t scale[] = {1,      10,      100,      1000,      10000,
                                     100000, 1000000, 10000000, 100000000, 1000000000};
    struct rp_number_text number = {"?"};
    uint64_t units;
    double scaled;

    if (decimals > 9)
        decimals = 9;
    scaled = round(fabs(value) * (double)scale[decimals]);
    if (isnan(scaled))
        return number;
    if (scaled >= 1e18) {
        snprintf(number.text, sizeof number.text, "%shuge", value < 0 ? "-" : "");
        return number;
    }
    units = (uint64_t)scaled;
    snprintf(number.text, sizeof number.text, "%s%" PRIu64, value < 0 && units ? "-" : "",
             units / scale[decimals]);
    if (decimals) {
        size_t used = strlen(number.text);

        snprintf(number.text + used, sizeof number.text - used, ".%0*" PRIu64, (int)decimals,
                 units % scale[decimals]);
    }
    return number;
}

static bool is_zero(struct rp_number_text number)
{
    return number.text[strspn(number.text, "0.")] == '\0';
}

struct rp_number_text rp_number_small(double value, unsigned decimals)
{
    struct rp_number_text number = rp_number_fixed(value, decimals), least;

    if (value == 0 || !is_zero(number))
        return number;
    least = rp_number_fixed(pow(10, -(double)decimals), decimals);
    snprintf(number.text, sizeof number.text, "%s%.*s", value < 0 ? ">-" : "<",
             (int)sizeof number.text - 3, least.text);
    return number;
}

struct rp_number_text rp_number_signed(double value, unsigned decimals)
{
    struct rp_number_text plain = rp_number_fixed(value, decimals), number = {"+"};

    if (value <= 0 || is_zero(plain) || strcmp(plain.text, "?") == 0)
        return plain;
    snprintf(number.text + 1, sizeof number.text - 1, "%.*s", (int)sizeof number.text - 2,
             plain.text);
    return number;
}

/** Chooses decimals so that the difference from 1 has two digits, and one at least. */
static unsigned decimals_of_ratio(double ratio)
{
    const double beyond = ratio - 1;

    return ratio >= 99.95      ? 0
           : ratio >= 1.995    ? 1
           : beyond >= 0.0995  ? 2
           : beyond >= 0.00995 ? 3
                               : 4;
}

bool rp_is_no_change(double speedup)
{
    return fabs(speedup - 1) < 0.00005;
}

/** @param ratio  1 or more */
static struct rp_number_text times(double ratio)
{
    return rp_number_fixed(ratio, decimals_of_ratio(ratio));
}

struct rp_number_text rp_speed_change(double speedup)
{
    struct rp_number_text text = {"?"};

    if (!isfinite(speedup) || speedup <= 0)
        return text;
    if (rp_is_no_change(speedup))
        snprintf(text.text, sizeof text.text, "equally fast");
    else
        snprintf(text.text, sizeof text.text, "%.20sx %s",
                 times(speedup > 1 ? speedup : 1 / speedup).text,
                 speedup > 1 ? "faster" : "slower");
    return text;
}

/** Writes bounds in the same direction, the smaller first, with the digits that it needs. */
static struct rp_range_text range_of(double small, double large, const char *word)
{
    const unsigned decimals = decimals_of_ratio(small);
    struct rp_range_text text;

    snprintf(text.text, sizeof text.text, "%.20sx to %.20sx %s",
             rp_number_fixed(small, decimals).text, rp_number_fixed(large, decimals).text, word);
    return text;
}

struct rp_range_text rp_speed_range(double low, double high)
{
    const struct rp_number_text from = rp_speed_change(low), to = rp_speed_change(high);
    struct rp_range_text text;

    if (strcmp(from.text, to.text) == 0)
        snprintf(text.text, sizeof text.text, "%s", from.text);
    else if (low > 1 && high > 1 && !rp_is_no_change(low))
        return range_of(low, high, "faster");
    else if (low < 1 && high < 1 && low > 0 && !rp_is_no_change(high))
        return range_of(1 / high, 1 / low, "slower");
    else
        snprintf(text.text, sizeof text.text, "%.28s to %.28s", from.text, to.text);
    return text;
}

/* More than DIGITS are shown only where two figures would be the same otherwise. */
enum { DIGITS = 4, MOST_DIGITS = 7, MOST_UNITS = 6 };

struct step {
    const char *name, *ascii; /**< the second only where it differs */
    double scale;
};

/* Peaks of GPUs are given in TFLOP/s and TB/s, however large. */
static const struct step steps[][MOST_UNITS] = {
    [RP_UNIT_TIME] = {{"ns", NULL, 1}, {"µs", "us", 1e3}, {"ms", NULL, 1e6}, {"s", NULL, 1e9}},
    [RP_UNIT_BYTES] = {{"B", NULL, 1},
                       {"KiB", NULL, 0x1p10},
                       {"MiB", NULL, 0x1p20},
                       {"GiB", NULL, 0x1p30},
                       {"TiB", NULL, 0x1p40},
                       {"PiB", NULL, 0x1p50}},
    [RP_UNIT_FLOPS] = {{"FLOP/s", NULL, 1},
                       {"kFLOP/s", NULL, 1e3},
                       {"MFLOP/s", NULL, 1e6},
                       {"GFLOP/s", NULL, 1e9},
                       {"TFLOP/s", NULL, 1e12}},
    [RP_UNIT_RATE] = {{"B/s", NULL, 1},
                      {"kB/s", NULL, 1e3},
                      {"MB/s", NULL, 1e6},
                      {"GB/s", NULL, 1e9},
                      {"TB/s", NULL, 1e12}},
};

/* These are the units of an empty column: nobody looks for FLOP/s there. */
static const unsigned char usual_steps[] = {
    [RP_UNIT_TIME] = 0, [RP_UNIT_BYTES] = 0, [RP_UNIT_FLOPS] = 3, [RP_UNIT_RATE] = 3};

void rp_unit_span_add(struct rp_unit_span *span, double value)
{
    if (!isfinite(value))
        return;
    span->most = fmax(span->most, fabs(value));
    /* What was ms is not quite whole any more. */
    span->fraction |= fabs(value - round(value)) > 1e-9 * fabs(value);
}

void rp_unit_span_add_both(struct rp_unit_span *span, double a, double b)
{
    const double apart = fabs(a - b);

    rp_unit_span_add(span, a);
    rp_unit_span_add(span, b);
    if (isfinite(apart) && apart > 0 && (span->apart == 0 || apart < span->apart))
        span->apart = apart;
}

/* Rounds as the value is printed: 999.96 with one decimal becomes 1000. */
static double rounded(double value, unsigned decimals)
{
    const double power = pow(10, decimals);

    return round(value * power) / power;
}

/* The largest value must have its digits after it was rounded, too. */
static unsigned decimals_of(double most)
{
    unsigned decimals = DIGITS - 1;

    while (decimals && rounded(most, decimals) >= pow(10, DIGITS - decimals))
        decimals--;
    return decimals;
}

/* Digits are added until the difference is ten of the last digit, because the last one of each
 * figure is rounded. */
static unsigned decimals_to_differ(double most, double apart, unsigned decimals)
{
    while (apart * pow(10, decimals) < 9.5 && decimals < MOST_DIGITS &&
           rounded(most, decimals + 1) < pow(10, MOST_DIGITS - decimals - 1))
        decimals++;
    return decimals;
}

struct rp_unit rp_unit_of(enum rp_unit_kind kind, struct rp_unit_span span, bool utf8)
{
    const struct step *step = steps[kind], *end = step + MOST_UNITS;
    unsigned decimals;

    if (span.most == 0)
        step += usual_steps[kind];
    while (span.most > 0 && step + 1 < end && step[1].name) {
        const double value = span.most / step->scale;

        if (rounded(value, decimals_of(value)) < step[1].scale / step->scale)
            break;
        step++;
    }
    decimals = span.most > 0 ? decimals_of(span.most / step->scale) : 0;
    if (span.apart > 0)
        decimals = decimals_to_differ(span.most / step->scale, span.apart / step->scale, decimals);
    while (!span.fraction && decimals && pow(10, decimals) > step->scale)
        decimals--; /* A count of bytes has no decimals. */
    return (struct rp_unit){
        .name = !utf8 && step->ascii ? step->ascii : step->name,
        .scale = step->scale,
        .decimals = decimals,
    };
}

struct rp_number_text rp_unit_number(struct rp_unit unit, double value)
{
    return rp_number_small(value / unit.scale, unit.decimals);
}

struct rp_unit_text rp_unit_one(enum rp_unit_kind kind, double value, bool utf8)
{
    struct rp_unit_span span = {0};
    struct rp_unit_text whole;
    struct rp_unit unit;

    rp_unit_span_add(&span, value);
    unit = rp_unit_of(kind, span, utf8);
    if (kind == RP_UNIT_BYTES && fmod(value, unit.scale) == 0)
        unit.decimals = 0; /* Sizes are mostly round, as 64 KiB, and then shown exactly. */
    snprintf(whole.text, sizeof whole.text, "%s %s", rp_unit_number(unit, value).text, unit.name);
    return whole;
}

struct rp_unit_text rp_unit_heading(const char *label, struct rp_unit unit, unsigned cells)
{
    const char *space = *label ? " " : "";
    const unsigned used =
        (unsigned)(rp_utf8_cells(label) + rp_utf8_cells(space) + rp_utf8_cells(unit.name));
    struct rp_unit_text line;

    snprintf(line.text, sizeof line.text, "%*s%s%s%s", used < cells ? (int)(cells - used) : 0, "",
             label, space, unit.name);
    return line;
}

bool rp_locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]), *set = value ? strchr(value, '.') : NULL;

        if (value && *value)
            return set && (strncasecmp(set, ".utf-8", 6) == 0 || strncasecmp(set, ".utf8", 5) == 0);
    }
    return false;
}

double rp_svg_round_step(double least)
{
    const double power = pow(10, floor(log10(least)));

    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}
