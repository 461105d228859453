/**
 * @file propose.h
 * @brief Proposes changes of a kernel. Each kind of proposer is a struct, listed in proposers.def.
 */
#ifndef RP_OPTIMIZE_PROPOSE_H
#define RP_OPTIMIZE_PROPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "optimize/candidate_check.h"

struct rp_err;
struct rp_kernel_facts;
struct rp_kernel_source;
struct rp_llm_config;

/** The proposers need these beforehand; each looks at its own part. */
struct rp_proposer_config {
    const struct rp_llm_config *llm; /**< NULL: no server is configured */
};

/** This is an earlier proposal, with how it ended. */
struct rp_attempt {
    const char *title;
    const char *kernel_text;
    const char *outcome; /**< word of the journal: "refused", "slower", "accepted" ... */
    const char *reason;
    bool ratio_known;
    double ratio; /**< time before / time after */
};

struct rp_proposer_input {
    const struct rp_kernel_source *source;
    const struct rp_kernel_facts *facts; /**< NULL: nothing is known */
    const struct rp_attempt *attempts;   /**< oldest first */
    size_t attempt_count;
    const char *failed_text, *compiler_output; /**< both set: a repair of that text is wanted */
    enum rp_edit_scope scope;
};

/** Release it with rp_proposal_free. */
struct rp_proposal {
    char *kernel_text; /**< the complete definition */
    size_t bytes;
    char *title; /**< a few words: "unroll the loop at line 12 by 4" */
};

struct rp_proposer {
    const char *name;
    const char *summary;
    int (*open)(const struct rp_proposer_config *config, void **ret_state, struct rp_err *err);
    /** @return 1 with a proposal; 0 when it has nothing more for this kernel, or with a text in err
     * for any; RP_VERDICT: its answer is no proposal; RP_BAD_INPUT: it cannot be asked about this
     * kernel; RP_ENVIRONMENT: about any; other errors end the session */
    int (*propose)(void *state, const struct rp_proposer_input *input, struct rp_proposal *ret,
                   struct rp_err *err);
    void (*close)(void *state);
};

/** Finds a proposer in proposers.def.
 * @return NULL when none has that name */
const struct rp_proposer *rp_proposer_named(const char *name);
/** @return NULL behind the last */
const struct rp_proposer *rp_proposer_at(size_t index);
static inline void rp_proposal_free(struct rp_proposal *proposal)
{
    free(proposal->kernel_text);
    free(proposal->title);
    *proposal = (struct rp_proposal){0};
}

#endif
