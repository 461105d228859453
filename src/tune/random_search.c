/* Every configuration as likely as the other, without repetition: what any search has to beat. */
#include "tune/filling.h"
#include "tune/sequential.h"

static int64_t next(struct rp_sequential *s)
{
    return rp_filling_any(s->space, s->taken, &s->random);
}

static const struct rp_algorithm algorithm = {.next = next};

RP_SEQUENTIAL_STRATEGY(random, "random", "configurations at random", algorithm);
