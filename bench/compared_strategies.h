/* Searches of other tuners, and of the first version, that autotune's are compared with. */
#ifndef RP_BENCH_COMPARED_STRATEGIES_H
#define RP_BENCH_COMPARED_STRATEGIES_H

#include <stddef.h>

struct rp_strategy;

/** Those of autotune come first, its default at 0. NULL: there are not that many. */
const struct rp_strategy *compared_strategy(size_t number);

#endif
