#include "cost.h"

const unsigned char rp_cost_cycles[RP_COST_MAX] = {
#define X(name, cycles, what) [RP_COST_##name] = cycles,
    RP_COST_CLASSES(X)
#undef X
};
