/* What the files of a session share. */
#ifndef RP_OPTIMIZE_SESSION_PARTS_H
#define RP_OPTIMIZE_SESSION_PARTS_H

#include "base/sha256.h"
#include "optimize/application.h"
#include "optimize/code_object.h"
#include "optimize/decide.h"
#include "optimize/facts.h"
#include "optimize/journal.h"
#include "optimize/kernel_source.h"
#include "optimize/llm/propose.h"
#include "optimize/measure.h"
#include "optimize/session.h"

struct rp_session {
    const struct rp_session_options *o;
    struct rp_journal *journal;
    struct rp_compile_command *command;
    struct rp_measure measure;
    struct rp_llm_config llm;
    void *proposer_state;
    int lock_fd;
    int64_t begin_ns;
    char *scratch;  /**< for what children say */
    char *original; /**< text of the user's source as it was at the beginning */
    size_t original_bytes;
    char *source;  /**< best so far: the user's file, or an accepted candidate's */
    char *program; /**< built from it; before the first acceptance the user's own */
    char *rebuilt; /**< built from it by the user's command */
    struct rp_output expected;
    bool modelled;   /**< times are of the software device */
    size_t measured; /**< candidates that were compared, over all rounds */
    json_t *rounds, *accepted;
};

/** One candidate. */
struct rp_tried {
    char *title, *text, *reason;
    char *compiler_output; /**< of one that does not compile; NULL */
    char *source, *hsaco;  /**< paths; the files are there once it has compiled */
    char *key;             /**< in the journal */
    enum rp_outcome outcome;
    bool ratio_known;
    double ratio, low;
    double error;    /**< of its decision */
    size_t measured; /**< it was the n-th to be compared; 0: it was not */
    json_t *json;    /**< as it stands in optimize.json */
};

/** A kernel in a round. */
struct rp_kernel_run {
    struct rp_session *s;
    unsigned round;
    const struct rp_kernel_facts *facts;
    char *folder;
    struct rp_kernel_source *source;
    char *hsaco; /**< of the best so far */
    struct rp_code_object object;
    struct rp_captures captures;
    struct rp_floor floor;
    struct rp_tried *tried;
    size_t count;
    json_t *json; /**< as it stands in optimize.json; borrowed */
};

void rp_session_say(const struct rp_session *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** Is there time for something new? */
bool rp_session_has_time(const struct rp_session *s);

/**
 * Tries changes of one kernel and accepts the best, if it is any good.
 * @return 1 accepted, 0 nothing, negative
 */
int rp_session_kernel(struct rp_session *s, unsigned round, size_t place,
                      const struct rp_kernel_facts *facts, const char *profile, json_t *json,
                      struct rp_err *err);

/** Proposals of a kernel, one after the other, into run->tried. */
int rp_session_try_all(struct rp_kernel_run *run, struct rp_err *err);
void rp_tried_free(struct rp_tried *tried);

/** All geometries. @return 0 with the decision */
int rp_session_compare(struct rp_kernel_run *run, const char *hsaco, struct rp_decision *ret,
                       json_t **ret_json, struct rp_err *err);

/** Confirms a candidate and tries it in the program. @return 1 accepted, 0 not, negative */
int rp_session_accept(struct rp_kernel_run *run, struct rp_tried *tried, struct rp_err *err);

/** optimize.json of all that is in the session. */
json_t *rp_session_json(const struct rp_session *s);

/** NAME_opt.ext, its patch, optimize.json, and with --apply the source itself. */
int rp_session_write(struct rp_session *s, json_t *json, struct rp_session_result *ret,
                     struct rp_err *err);

#endif
