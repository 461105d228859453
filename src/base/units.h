/**
 * @file units.h
 * @brief Numbers printed the same everywhere.
 */
#ifndef RP_BASE_UNITS_H
#define RP_BASE_UNITS_H

#include <stdbool.h>

/** A number as text, by value. */
struct rp_number_text {
    char text[32];
};

/** Prints with a point and fixed decimals (at most 9), whatever the locale; "?" for no number. */
struct rp_number_text rp_number_fixed(double value, unsigned decimals);

/** The same, but what is not zero and would be printed as such is "<0.001" (">-0.001"). */
struct rp_number_text rp_number_small(double value, unsigned decimals);

/** As rp_number_fixed with a sign, "+" or "-", but for what is printed as zero: a change of nothing
 * has none.
 */
struct rp_number_text rp_number_signed(double value, unsigned decimals);

/* Units for people: one for all figures of a column, so that they compare at a glance.
 *
 * A column is looked through first (a span), then its unit is chosen by its largest value, which is
 * shown with four digits. What programs read keeps its fixed units.
 */

/** What is measured, and the unit in which values are given. */
enum rp_unit_kind {
    RP_UNIT_TIME,  /**< ns: ns, us, ms, s */
    RP_UNIT_BYTES, /**< bytes: B, KiB, MiB, ... */
    RP_UNIT_FLOPS, /**< FLOP/s: up to TFLOP/s */
    RP_UNIT_RATE,  /**< bytes per second: up to TB/s */
};

/** What is in a column; all zero: nothing yet. */
struct rp_unit_span {
    double most;   /**< largest magnitude */
    double apart;  /**< least difference that is to be seen; 0: none is */
    bool fraction; /**< a value is not a whole number */
};

/** A unit with the decimals of its column. */
struct rp_unit {
    const char *name;
    double scale; /**< so many of what values are given in */
    unsigned decimals;
};

/** A text with a unit, by value. */
struct rp_unit_text {
    char text[64];
};

/** Adds a value to the column; what is no number is no value. */
void rp_unit_span_add(struct rp_unit_span *span, double value);

/** The same for two that the reader compares: digits are added, up to seven, until they differ. */
void rp_unit_span_add_both(struct rp_unit_span *span, double a, double b);

/** @param utf8  false: "us", not "µs" */
struct rp_unit rp_unit_of(enum rp_unit_kind kind, struct rp_unit_span span, bool utf8);

/**
 * A figure of the column, without the unit. What is not zero but would be printed as such is
 * "<0.001" (">-0.001"), with the decimals of the column; "?" for no number.
 */
struct rp_number_text rp_unit_number(struct rp_unit unit, double value);

/** A figure by itself, in the unit that suits it: "1.330 us". */
struct rp_unit_text rp_unit_one(enum rp_unit_kind kind, double value, bool utf8);

/** "total us", on the right of so many columns of a terminal. @param label  "": the unit alone */
struct rp_unit_text rp_unit_heading(const char *label, struct rp_unit unit, unsigned cells);

/** Whether the environment asks for UTF-8: the locale itself need not be installed. */
bool rp_locale_is_utf8(void);

/* What pictures share. */

/** Between the lines of an axis: a round number not below, 1, 2 or 5 times a power of ten. */
double rp_svg_round_step(double least);

#endif
