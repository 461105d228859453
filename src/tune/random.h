/**
 * @file random.h
 * @brief Random numbers that are the same on every machine: xoshiro256**, seeded by splitmix64.
 */
#ifndef RP_TUNE_RANDOM_H
#define RP_TUNE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct rp_random {
    uint64_t word[4];
};

static inline uint64_t rp_random_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static inline struct rp_random rp_random_new(uint64_t seed)
{
    struct rp_random random;

    for (int i = 0; i < 4; i++)
        random.word[i] = rp_random_mix(&seed);
    return random;
}

static inline uint64_t rp_random_turn(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline uint64_t rp_random_next(struct rp_random *random)
{
    uint64_t *w = random->word;
    const uint64_t result = rp_random_turn(w[1] * 5, 7) * 9, t = w[1] << 17;

    w[2] ^= w[0];
    w[3] ^= w[1];
    w[1] ^= w[2];
    w[0] ^= w[3];
    w[2] ^= t;
    w[3] = rp_random_turn(w[3], 45);
    return result;
}

/** From 0 on, below n; n is at least 1. The bias of a product's high word is below n / 2^32. */
static inline uint32_t rp_random_below(struct rp_random *random, uint32_t n)
{
    return (uint32_t)(((rp_random_next(random) >> 32) * n) >> 32);
}

/** From 0 on, below 1. */
static inline double rp_random_unit(struct rp_random *random)
{
    return (double)(rp_random_next(random) >> 11) * 0x1p-53;
}

#endif
