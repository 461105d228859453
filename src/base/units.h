/**
 * @file units.h
 * @brief Numbers printed the same everywhere.
 */
#ifndef RP_BASE_UNITS_H
#define RP_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/** This is a number as text, which is returned by value. */
struct rp_number_text {
    char text[32];
};

/** Prints with a point and fixed decimals (at most 9), whatever the locale. It prints "?" for no
 * number. */
struct rp_number_text rp_number_fixed(double value, unsigned decimals);

/** Prints likewise, but a value that is not zero and would be printed as zero is "<0.001"
 * (">-0.001"). */
struct rp_number_text rp_number_small(double value, unsigned decimals);

/** Prints as rp_number_fixed does, with a sign "+" or "-", but without one where the text is zero,
 * because nothing changed. */
struct rp_number_text rp_number_signed(double value, unsigned decimals);

/** Says how much faster something has become: "2.1x faster", "1.03x slower", "equally fast"; "?"
 * for no number.
 * @param speedup  time before / time after */
struct rp_number_text rp_speed_change(double speedup);

/** Says whether rp_speed_change would call it equally fast. */
bool rp_is_no_change(double speedup);

/** This is a text with two such numbers, which is returned by value. */
struct rp_range_text {
    char text[64];
};

/** Says between which bounds: "1.3x to 1.6x faster", "1.02x slower to 1.01x faster". */
struct rp_range_text rp_speed_range(double low, double high);

/** Returns what a noun ends in behind that number: "" or "s". */
static inline const char *rp_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Units for people are the same for all figures of a column, so that they compare at a glance. A
 * column is looked through first (a span), then its unit is chosen by its largest value, which is
 * shown with four digits. Output that programs read keeps its fixed units. */

/** Says what is measured, and in which unit values are given. */
enum rp_unit_kind {
    RP_UNIT_TIME,  /**< ns: ns, us, ms, s */
    RP_UNIT_BYTES, /**< bytes: B, KiB, MiB, ... */
    RP_UNIT_FLOPS, /**< FLOP/s: up to TFLOP/s */
    RP_UNIT_RATE,  /**< bytes per second: up to TB/s */
};

/** Collects what is in a column. All zero means nothing yet. */
struct rp_unit_span {
    double most;   /**< largest magnitude */
    double apart;  /**< least difference that is to be seen; 0: none is */
    bool fraction; /**< a value is not a whole number */
};

/** This is a unit with the decimals of its column. */
struct rp_unit {
    const char *name;
    double scale; /**< so many of what values are given in */
    unsigned decimals;
};

/** This is a text with a unit, which is returned by value. */
struct rp_unit_text {
    char text[64];
};

/** Adds a value to the column. NAN and infinities are ignored. */
void rp_unit_span_add(struct rp_unit_span *span, double value);

/** Adds two values that the reader compares: digits are added, up to seven, until they differ. */
void rp_unit_span_add_both(struct rp_unit_span *span, double a, double b);

/** @param utf8  false: "us", not "µs" */
struct rp_unit rp_unit_of(enum rp_unit_kind kind, struct rp_unit_span span, bool utf8);

/** Prints a figure of the column without the unit. A value that is not zero but would be printed as
 * zero is "<0.001" (">-0.001"), with the decimals of the column; "?" stands for no number. */
struct rp_number_text rp_unit_number(struct rp_unit unit, double value);

/** Prints a figure by itself, in the unit that suits it, as "1.330 us". */
struct rp_unit_text rp_unit_one(enum rp_unit_kind kind, double value, bool utf8);

/** Prints a heading as "total us" on the right of so many columns of a terminal.
 * @param label "" for the unit alone */
struct rp_unit_text rp_unit_heading(const char *label, struct rp_unit unit, unsigned cells);

/** Says whether the environment asks for UTF-8. The locale itself need not be installed. */
bool rp_locale_is_utf8(void);

/* These functions are shared by all pictures. */

/** Chooses the distance between the lines of an axis: a round number that is not below it, 1, 2 or
 * 5 times a power of ten. */
double rp_svg_round_step(double least);

#endif
