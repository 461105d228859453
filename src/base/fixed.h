/**
 * @file fixed.h
 * @brief Numbers printed the same everywhere.
 */
#ifndef RP_BASE_FIXED_H
#define RP_BASE_FIXED_H

/** A number as text, by value. */
struct rp_text_number {
    char text[32];
};

/** Prints with a point and fixed decimals (at most 9), whatever the locale; "?" for no number. */
struct rp_text_number rp_text_fixed(double value, unsigned decimals);

/** The same, but what is not zero and would be printed as such is "<0.001" (">-0.001"). */
struct rp_text_number rp_text_small(double value, unsigned decimals);

/** As rp_text_fixed with a sign, "+" or "-", but for what is printed as zero: a change of nothing
 * has none.
 */
struct rp_text_number rp_text_signed(double value, unsigned decimals);

#endif
