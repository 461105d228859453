#include "tune/runner.h"

#include <stdlib.h>
#include <string.h>

bool rp_run_outcome_find(const char *name, enum rp_evaluation_outcome *ret)
{
    for (int i = 0; name && i <= RP_EVALUATION_NO_TIME; i++)
        if (strcmp(rp_evaluation_outcome_word((enum rp_evaluation_outcome)i), name) == 0) {
            *ret = (enum rp_evaluation_outcome)i;
            return true;
        }
    return false;
}

void rp_run_answer_free(struct rp_run_answer *answer)
{
    free(answer->samples_ms);
    free(answer->reason);
    *answer = (struct rp_run_answer){0};
}
