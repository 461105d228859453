#include "tune/strategy.h"

#include <string.h>

#define RP_STRATEGY(name) extern const struct rp_strategy name;
#include "tune/strategies.def"
#undef RP_STRATEGY

static const struct rp_strategy *const strategies[] = {
#define RP_STRATEGY(name) &name,
#include "tune/strategies.def"
#undef RP_STRATEGY
};

const struct rp_strategy *rp_strategy_number(size_t number)
{
    return number < sizeof strategies / sizeof *strategies ? strategies[number] : NULL;
}

const struct rp_strategy *rp_strategy_find(const char *name)
{
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}
