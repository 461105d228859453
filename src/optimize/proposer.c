#include "optimize/proposer.h"

#include <stdlib.h>
#include <string.h>

#define RP_PROPOSER(word, symbol, text) extern const struct rp_proposer rp_proposer_##symbol;
#include "optimize/proposers.def"
#undef RP_PROPOSER

static const struct rp_proposer *const proposers[] = {
#define RP_PROPOSER(word, symbol, text) &rp_proposer_##symbol,
#include "optimize/proposers.def"
#undef RP_PROPOSER
};

const struct rp_proposer *rp_proposer_at(size_t index)
{
    return index < sizeof proposers / sizeof *proposers ? proposers[index] : NULL;
}

const struct rp_proposer *rp_proposer_named(const char *name)
{
    for (size_t i = 0; i < sizeof proposers / sizeof *proposers; i++)
        if (strcmp(proposers[i]->name, name) == 0)
            return proposers[i];
    return NULL;
}

void rp_proposal_free(struct rp_proposal *proposal)
{
    free(proposal->kernel_text);
    free(proposal->title);
    *proposal = (struct rp_proposal){0};
}
