/**
 * @file numbers.h
 * @brief When two pages hold the same result: byte for byte, or as numbers within a tolerance.
 */
#ifndef RP_REPLAY_NUMBERS_H
#define RP_REPLAY_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

enum rp_number_type { RP_EXACT = 0, RP_F32, RP_F16, RP_BF16, RP_F64 };

/** All are of IEEE's form. */
struct rp_number_shape {
    unsigned bytes, exponent_bits, fraction_bits;
};

struct rp_number_shape rp_number_shape(enum rp_number_type type);
double rp_number_value(enum rp_number_type type, uint64_t bits);
/** Not 0, and smaller than the least number with all of its bits. */
bool rp_number_is_denormal(enum rp_number_type type, uint64_t bits);
/** Between representable numbers; those of both zeros are the same. */
uint64_t rp_number_steps(enum rp_number_type type, uint64_t a, uint64_t b);

/** A number is right that satisfies one of them. */
struct rp_compare_rule {
    enum rp_number_type type;
    double abs, rel; /**< |got - expected| <= abs + rel * |expected| */
    uint64_t ulp;    /**< so many representable numbers away */
    bool normal;     /**< denormal numbers are exact: small integers look like these */
};

/**
 * "exact", or a type and tolerances: "f32,rel=1e-5", "bf16,ulp=1,normal". No tolerance: equal
 * numbers (so that only the sign of a zero and the bits of a NaN may differ).
 * @return 0 or RP_USAGE
 */
int rp_compare_rule_parse(const char *text, struct rp_compare_rule *ret, struct rp_err *err);

/** As rp_compare_rule_parse takes it, with three digits. @return length, as snprintf */
int rp_compare_rule_print(const struct rp_compare_rule *rule, char *out, size_t room);

/**
 * Numbers are NaN where NaN is expected and only there; infinite ones are equal.
 * @param bytes    a multiple of 4; got and expected begin at the same offset of a region, a
 *                 multiple of 8
 * @param ret_bad  a bit for each word of 4 bytes that has a part in a number that is not right
 */
void rp_compare_words(const struct rp_compare_rule *rule, const uint8_t *got,
                      const uint8_t *expected, size_t bytes, uint64_t *ret_bad);

#endif
