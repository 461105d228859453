/* The files of a judgement share these. */
#ifndef RP_OPTIMIZE_JUDGEMENT_PARTS_H
#define RP_OPTIMIZE_JUDGEMENT_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "experiment/session_folder.h"
#include "optimize/judgement.h"
#include "optimize/program_test.h"
#include "run/kernel_names.h"

/** One kernel that differs, as one run of the program launches it. */
struct judged_kernel {
    char *name, *symbol;
    const char *arguments; /**< of --sizes; NULL: those of the command line */
    double time_ns;        /**< of all its dispatches in that run; 0: not known */
    struct rp_captures captures;
    struct rp_time_floor floor;
    struct rp_decision decision;
    json_t *comparisons; /**< NULL: it came to none */
};

struct judging {
    const struct rp_judgement_options *o;
    struct rp_version before, after;
    struct rp_compile_command *command; /**< NULL: neither is a source */
    char *gpu;                          /**< "gfx942" */
    struct rp_session_folder folder;
    char *work, *scratch; /**< in that folder; removed by the next judgement */
    char *input;          /**< as of struct rp_child_context */
    struct rp_candidate_sandbox sandbox;
    char *sizes; /**< cut into the arguments of each run */
    struct rp_run_deadline patience;
    struct rp_child_context measure;
    struct rp_captures given;
    char **changed; /**< symbols; NULL at the end */
    char **added;   /**< of the new version alone, likewise */
    struct rp_kernel_pattern pattern;
    struct judged_kernel *kernels;
    size_t kernel_count;
    json_t *not_judged; /**< [{"symbol", "reason"}]: what differs and was not compared */
    struct rp_output expected;
    enum rp_outcome in_program; /**< REFUSED: it was not tried */
    json_t *program_json;       /**< NULL: it did not come to that */
    bool ended;                 /**< the verdict is known */
    enum rp_judgement_verdict verdict;
    char reason[700]; /**< what stands behind the verdict's word; "" */
    bool ratio_known;
    double ratio, low, high,
        error; /**< of all kernels together, with the program's own arguments */
};

/** Ends the judgement with that verdict. */
void judging_end(struct judging *j, enum rp_judgement_verdict verdict, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Decides by all kernels. */
void judging_decide(struct judging *j);
/** Takes back what the program does not confirm. */
void judging_decide_by_program(struct judging *j);
/** Says whether no kernel is known to be wrong, so that the program is worth a try. */
bool judging_tries_program(const struct judging *j);

/** Returns the first line of what people read; the caller frees it. */
char *judging_sentence(const struct judging *j);

/** Makes a JSON string of text that need not be UTF-8. */
json_t *judging_text(const char *text);

/** Writes judge.json and the record. */
int judging_write(struct judging *j, struct rp_judgement *ret, struct rp_err *err);

#endif
