/* What the files of a session share. */
#ifndef RP_OPTIMIZE_SESSION_PARTS_H
#define RP_OPTIMIZE_SESSION_PARTS_H

#include "base/err.h"
#include "base/journal.h"
#include "base/sha256.h"
#include "optimize/application.h"
#include "optimize/code_object.h"
#include "optimize/decide.h"
#include "optimize/facts.h"
#include "optimize/kernel_source.h"
#include "optimize/llm/propose.h"
#include "optimize/measure.h"
#include "optimize/patience.h"
#include "optimize/session.h"

enum { RP_MOST_SOURCE_BYTES = 16 << 20 };

struct rp_session {
    const struct rp_session_options *o;
    struct rp_journal *journal;
    struct rp_compile_command *command;
    struct rp_measure measure;
    struct rp_patience patience;
    struct rp_llm_config llm;
    void *proposer_state;
    char *proposer_ended; /**< why it is not asked any more, for no kernel; NULL: it is */
    bool proposer_failed; /**< that is why */
    bool budget_over;     /**< something was not begun for want of time */
    bool attempts_over;   /**< a kernel of the last round had --max-iters of them */
    int lock_fd;
    int64_t begin_ns;
    char *scratch;   /**< for what children say */
    char *input;     /**< what the program reads, a file; NULL: nothing */
    char *temporary; /**< of compilers; removed at the end, and of a killed session first */
    char *original;  /**< text of the user's source as it was at the beginning */
    size_t original_bytes;
    char *source;  /**< best so far: the user's file, or an accepted candidate's */
    char *program; /**< built from it; before the first acceptance the user's own */
    char *rebuilt; /**< built from it by the user's command */
    struct rp_output expected;
    bool modelled;                   /**< times are of the software device */
    const struct rp_facts *profiled; /**< of the present round: all kernels that the program runs */
    size_t tried;                    /**< candidates, over all rounds */
    size_t measured;                 /**< those that were compared */
    json_t *rounds, *accepted;
    json_t *whole;         /**< as "program" in optimize.json; NULL: not measured */
    struct rp_err failure; /**< of the first kernel of which nothing could be told */
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
    const char *profile; /**< folder */
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
/** A JSON string of text that may be no UTF-8; null of NULL. */
json_t *rp_session_text(const char *text);

/** How long its runs may take. */
struct rp_patience rp_session_patience(const struct rp_session_options *options, int64_t begin_ns);

/** Opens the journal, and writes what the session is, or compares with what it was begun as. */
int rp_session_record(struct rp_session *s, struct rp_err *err);
/** Can the result be written beside the source, and is nothing of others in the way? */
int rp_session_check_place(const struct rp_session *s, struct rp_err *err);
/** Has a result of this session that hash? @param key  "source_sha256" or "patch_sha256" */
bool rp_session_has_left(const struct rp_session *s, const char *key, const char *hash);

/** Builds and runs the program, for what it prints. */
int rp_session_build(struct rp_session *s, struct rp_err *err);

/** By what the program is judged: "check", "stdout", or "none": it prints nothing; NULL: it was not
 * run. */
const char *rp_session_judged_by(const struct rp_session *s);

/** The file has the hash that stands in a record of the journal, or none stands there. */
bool rp_session_is_file(const char *path, const json_t *data, const char *key);
/** Is there time for something new, or has the journal what it came to? */
bool rp_session_goes_on(struct rp_session *s, const char *kind, const char *key);

/**
 * The end of the budget within a run is said, and fails nothing: that run decides nothing.
 * @return 0 for that; else rc
 */
int rp_session_is_over(struct rp_session *s, int rc, struct rp_err *err);

/**
 * What fails on a full disk says nothing about a candidate: asked before a failure is believed.
 * @return 0 or RP_ENVIRONMENT
 */
int rp_session_check_disk(const struct rp_session *s, struct rp_err *err);

/** Would this failure of a kernel meet the others, too? */
bool rp_session_ends_by(const struct rp_err *failed);

/** All rounds. @return 0; negative: the session ends, s->rounds and s->accepted hold what was */
int rp_session_rounds(struct rp_session *s, struct rp_err *err);

/**
 * Tries changes of one kernel and accepts the best, if it is any good.
 * @param json  gets all attempts, also those before a failure
 * @return 1 accepted, 0 nothing, negative
 */
int rp_session_kernel(struct rp_session *s, unsigned round, size_t place,
                      const struct rp_kernel_facts *facts, const char *profile, json_t *json,
                      struct rp_err *err);

/**
 * Its dispatches, into run->captures.
 * @return 1 they are there, 0 they cannot be had (the JSON says why), negative; RP_VERDICT: the
 *         time of --budget was over
 */
int rp_session_capture(struct rp_kernel_run *run, const char *profile, const char *folder,
                       struct rp_err *err);

/** Proposals of a kernel, one after the other, into run->tried. */
int rp_session_try_all(struct rp_kernel_run *run, struct rp_err *err);
void rp_tried_free(struct rp_tried *tried);

/** All geometries. @return 0 with the decision */
int rp_session_compare(struct rp_kernel_run *run, const char *hsaco, struct rp_decision *ret,
                       json_t **ret_json, struct rp_err *err);

/** Confirms a candidate and tries it in the program. @return 1 accepted, 0 not, negative */
int rp_session_accept(struct rp_kernel_run *run, struct rp_tried *tried, struct rp_err *err);

/**
 * Which other inputs no candidate was compared with, and why: of each kernel, kind and reason the
 * geometries. @param comparisons  as the journal has them  @param kernel  whose they are, unless
 * they say another @return a new array; NULL: out of memory
 */
json_t *rp_session_not_tried(const json_t *comparisons, const char *kernel);

/** optimize.json of all that is in the session. @param error  that ended it; NULL */
json_t *rp_session_json(const struct rp_session *s, const char *ended_by, const char *error);

/** The result against the source as it was, into s->whole. */
int rp_session_measure_whole(struct rp_session *s, struct rp_err *err);

/**
 * optimize.json, NAME_opt.ext, its patch, and with --apply the source itself.
 * @param whole  the session came to its end: else nothing is applied
 */
int rp_session_write(struct rp_session *s, const json_t *json, bool whole,
                     struct rp_session_result *ret, struct rp_err *err);

#endif
