/* The files of a session share these. */
#ifndef RP_OPTIMIZE_SESSION_PARTS_H
#define RP_OPTIMIZE_SESSION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/journal.h"
#include "base/sha256.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "experiment/session_folder.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"
#include "optimize/program_test.h"
#include "optimize/propose.h"
#include "optimize/session.h"

struct rp_compile_command;
struct rp_session;

struct rp_session {
    const struct rp_session_options *o;
    struct rp_session_folder folder;
    struct rp_journal *journal; /**< that of the folder */
    struct rp_compile_command *command;
    struct rp_child_context measure;
    struct rp_run_deadline patience;
    struct rp_candidate_sandbox sandbox;
    struct rp_llm_config llm;
    void *proposer_state;
    char *proposer_ended; /**< why it is not asked any more, for no kernel; NULL: it is */
    bool proposer_failed; /**< that is why */
    bool budget_over;     /**< something was not begun for want of time */
    bool attempts_over;   /**< a kernel of the last round had --max-iters of them */
    int64_t begin_ns;
    char *scratch;   /**< for what children say */
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

/** Says how the program launches kernels with a candidate. */
struct rp_session_launch {
    struct rp_captures launches; /**< of the kernel; none: it is not known */
    char **others;               /**< symbols of other kernels that are launched otherwise */
    char *program;               /**< built with the candidate */
};

/** Holds one candidate with all that was found about it. */
struct rp_session_candidate {
    char *title, *text, *reason;
    char *compiler_output; /**< of one that does not compile; NULL */
    char *note;            /**< what its user has to know; NULL: nothing */
    char *source, *hsaco;  /**< paths; the files are there once it has compiled */
    char *key;             /**< in the journal */
    uint32_t workgroup;    /**< as of struct rp_proposal: text is that of the whole file */
    struct rp_session_launch launch; /**< where that is not 0, once it was compared */
    enum rp_outcome outcome;
    bool ratio_known;
    double ratio, low;
    double error;    /**< of its decision */
    size_t measured; /**< it was the n-th to be compared; 0: it was not */
    json_t *json;    /**< as it stands in optimize.json */
};

/** Holds the state of a kernel in a round. */
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
    struct rp_time_floor floor;
    struct rp_session_candidate *tried;
    size_t count;
    json_t *json; /**< as it stands in optimize.json; borrowed */
};
/** Makes a JSON string of text that need not be UTF-8; NULL becomes null. */
json_t *rp_session_text(const char *text);

/** Opens the journal, and writes the session's identity, or compares it with the old one. */
int rp_session_record(struct rp_session *s, struct rp_err *err);

/** Makes the sandbox in which programs and compilers run: its box is the folder of temporary files.
 */
int rp_session_make_sandbox(struct rp_session *s, struct rp_err *err);

/** Does all rounds.
 * @return 0; negative: the session ends, and s->rounds and s->accepted hold what was done */
int rp_session_rounds(struct rp_session *s, struct rp_err *err);

/** Tries proposals of a kernel, one after the other, and puts them into run->tried. */
int rp_session_try_candidates(struct rp_kernel_run *run, struct rp_err *err);
void rp_session_candidate_free(struct rp_session_candidate *tried);

/** Compares all geometries.
 * @param again as of rp_compare
 * @return 0 with the decision */
int rp_session_compare(struct rp_kernel_run *run, struct rp_session_candidate *tried, bool again,
                       struct rp_decision *ret, json_t **ret_json, struct rp_err *err);

/** Forgets how the program launches its kernels with a candidate, and removes what was captured of
 * it, also by a session that was killed: that is as large as the program's memory. */
void rp_session_launch_end(struct rp_session_candidate *tried);
/** Checks that a candidate changes a number by which workgroups are launched, and nothing else.
 * @return 0; RP_VERDICT */
int rp_session_launch_guard(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                            struct rp_err *err);
/** Finds out how the program launches its kernels with a candidate.
 * @param decision why it is not compared
 * @return 1: tried->launch says it; 0: the decision is made; negative */
int rp_session_launch_learn(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                            struct rp_decision *decision, struct rp_err *err);
/** Captures how another kernel is launched then.
 * @param captures of it @param place a name for the folder @return as rp_launches_capture */
int rp_session_launch_another(struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                              const char *name, const char *place,
                              const struct rp_captures *captures, struct rp_captures *ret,
                              struct rp_err *err);

/** Confirms a candidate and tries it in the program. @return 1 accepted, 0 not, negative */
int rp_session_accept(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                      struct rp_err *err);

/**
 * Lists the other inputs that no candidate was compared with, with the reason. Each kernel, kind
 * and reason has its geometries.
 * @param comparisons as the journal has them
 * @param kernel to which they belong, unless they name another
 * @return a new array
 */
json_t *rp_session_untried_inputs(const json_t *comparisons, const char *kernel);

/** Makes optimize.json from the whole session.
 * @param error that ended it; NULL */
json_t *rp_session_json(const struct rp_session *s, const char *ended_by, const char *error);

/** Measures the result against the original source, for s->whole. */
int rp_session_measure_all_changes(struct rp_session *s, struct rp_err *err);

/**
 * Writes optimize.json, NAME_opt.ext, its patch, and with --apply the source itself.
 * @param whole the session came to its end: else nothing is applied
 */
int rp_session_write(struct rp_session *s, const json_t *json, bool whole,
                     struct rp_session_result *ret, struct rp_err *err);

/** Tells the user something of the session, on one line. */
void rp_session_message(const struct rp_session *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Says whether the file has the hash in a record of the journal, or the record has none. */
bool rp_session_is_file(const char *path, const json_t *data, const char *key);
/** Says whether there is time for something new, or the journal has its result. */
bool rp_session_may_begin(struct rp_session *s, const char *kind, const char *key);

/**
 * Reports the end of the budget within a run, which is no failure, but decides nothing.
 * @return 0 for that; else rc
 */
int rp_session_excuse_budget_end(struct rp_session *s, int rc, struct rp_err *err);

#endif
