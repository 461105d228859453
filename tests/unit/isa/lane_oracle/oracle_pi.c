/**
 * @file oracle_pi.c
 * @brief Digits of 2/pi by Machin's formula and long division in base 2^32.
 */
#include "oracle.h"

#include <string.h>

enum {
    WORDS = 48,    /* word 0 is the integer part */
    DIGITS = 1201, /* as many as the hardware's table has */
};

static void big_div_small(uint32_t *x, uint32_t by)
{
    uint64_t rest = 0;
    for (int i = 0; i < WORDS; i++) {
        rest = rest << 32 | x[i];
        x[i] = (uint32_t)(rest / by);
        rest %= by;
    }
}

static void big_add(uint32_t *x, const uint32_t *y, int negative)
{
    int64_t carry = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        carry += (int64_t)x[i] + (negative ? -(int64_t)y[i] : (int64_t)y[i]);
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int big_less(const uint32_t *x, const uint32_t *y)
{
    for (int i = 0; i < WORDS; i++)
        if (x[i] != y[i])
            return x[i] < y[i];
    return 0;
}

/* acc += sign * times * atan(1/n) */
static void big_add_atan(uint32_t *acc, uint32_t factor, uint32_t n, int negative)
{
    uint32_t power[WORDS] = {factor}, term[WORDS];
    big_div_small(power, n);
    for (uint32_t k = 1; k < 1400; k += 2) {
        memcpy(term, power, sizeof term);
        big_div_small(term, k);
        big_add(acc, term, negative ^ (k % 4 == 3));
        big_div_small(power, n * n);
    }
}

int two_over_pi_bit(int i)
{
    static uint8_t bits[DIGITS];
    static int done;
    if (i >= DIGITS)
        return 0;
    if (done)
        return bits[i];
    done = 1;
    uint32_t pi[WORDS] = {0}, rest[WORDS] = {2};
    big_add_atan(pi, 16, 5, 0);
    big_add_atan(pi, 4, 239, 1);
    for (int k = 0; k < DIGITS; k++) {
        big_add(rest, rest, 0);
        bits[k] = !big_less(rest, pi);
        if (bits[k])
            big_add(rest, pi, 1);
    }
    return bits[i];
}
