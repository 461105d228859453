/**
 * @file oracle.h
 * @brief Second implementation of every lane kernel, one lane at a time, for the tests.
 *
 * Written differently from the kernels on purpose: integers bit by bit, floats exactly in 113-bit
 * arithmetic with one explicit rounding to the format.
 */
#ifndef RP_TESTS_LANE_ORACLE_H
#define RP_TESTS_LANE_ORACLE_H

#include <stddef.h>
#include <stdint.h>

struct lane_in {
    uint64_t a, b, c; /**< operands, low dword first; 32-bit ones zero-extended */
    uint64_t c_high;  /**< upper half of a 128-bit third operand */
    unsigned lane;
    int carry_in; /**< the lane's bit of mask_in */
    uint32_t mode;
};

struct lane_out {
    uint64_t d, d_high;
    int mask; /**< the lane's bit of mask_out; -1 where the kernel has none */
};

typedef void lane_oracle_fn(const struct lane_in *in, struct lane_out *out);

struct lane_oracle {
    const char *mnemonic;
    lane_oracle_fn *fn;
};

extern const struct lane_oracle lane_oracle_int[], lane_oracle_float[];
extern const size_t lane_oracle_int_count, lane_oracle_float_count;

/* Compares are computed from the mnemonic itself; returns -1 if it is not one. */
int lane_oracle_compare(const char *mnemonic, const struct lane_in *in);

/** The oracle of a row of lane.def, or NULL. */
lane_oracle_fn *lane_oracle_find(const char *mnemonic);

/* ---- operands ----------------------------------------------------------------------------- */

static uint64_t lane_random_state = 0x9e3779b97f4a7c15u;

/** The same numbers in each run of a test. */
static inline uint64_t random64(void)
{
    lane_random_state ^= lane_random_state << 13;
    lane_random_state ^= lane_random_state >> 7;
    lane_random_state ^= lane_random_state << 17;
    return lane_random_state * 0x2545f4914f6cdd1du;
}

/* ---- formats ------------------------------------------------------------------------------ */

struct fmt {
    int exp_bits, mant_bits;
};

extern const struct fmt fmt_f16, fmt_f32, fmt_f64;

int fmt_is_nan(struct fmt f, uint64_t bits);
int fmt_is_snan(struct fmt f, uint64_t bits);
int fmt_is_inf(struct fmt f, uint64_t bits);
uint64_t fmt_quiet(struct fmt f, uint64_t bits);
uint64_t fmt_inf(struct fmt f, int negative);
uint64_t fmt_default_nan(struct fmt f);
__float128 fmt_value(struct fmt f, uint64_t bits); /* any bits */

/* Nearest even, or toward zero. A NaN value gives the default NaN. */
uint64_t fmt_round(struct fmt f, __float128 v);
uint64_t fmt_round_rtz(struct fmt f, __float128 v);

/* To one of MODE's roundings: 0 nearest even, 1 up, 2 down, 3 toward zero. */
uint64_t fmt_round_to(struct fmt f, __float128 v, int mode);

/* Binary digit @p i after the point of 2/pi; 0 beyond those that the hardware's table has. */
int two_over_pi_bit(int i);

/* x*y + z rounded to odd at 113 bits, from where one more rounding is harmless. */
__float128 quad_fma(__float128 x, __float128 y, __float128 z);

#endif
