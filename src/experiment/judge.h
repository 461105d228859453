/**
 * @file judge.h
 * @brief Real dispatches of a kernel, captured once, and two builds of it compared on each of them:
 *        by children (`rocm-perf isolate`, `rocm-perf replay compare`), so that nothing of a
 *        candidate runs in this process.
 */
#ifndef RP_EXPERIMENT_JUDGE_H
#define RP_EXPERIMENT_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/verdict.h"

struct rp_err;
struct rp_child_context;

/** This is a captured dispatch, one of each geometry. */
struct rp_captured {
    char *folder;
    char *name; /**< "grid 1024x1x1 workgroup 256x1x1 lds 0" */
    uint32_t grid[3], workgroup[3], group_bytes;
    double weight; /**< time of all dispatches of that geometry in the profile, ns; 0 = unknown */
};

/** Release it with rp_captures_free. */
struct rp_captures {
    struct rp_captured *list; /**< in the order of their folders */
    size_t count;
    double covered; /**< part of the kernel's time in the profile that geometries of these take;
                         negative = unknown */
};

/**
 * Captures the dispatches of a kernel.
 * @param program instead of the first word of measure->program
 * @param name demangled, as the profile has it
 * @param profile folder of a profile of the same program, for the weights
 * @param output folder to make; an existing one is complete, and is read instead
 * @return 0; RP_VERDICT when the kernel cannot be captured or does not replay, or two have that
 * name, with the reason; RP_ENVIRONMENT ...
 */
int rp_captures_make(const struct rp_child_context *measure, const char *program, const char *name,
                     const char *symbol, const char *profile, const char *output,
                     struct rp_captures *ret, struct rp_err *err);
void rp_captures_free(struct rp_captures *captures);

/** This is one comparison with all its measurements. Release it with rp_compared_free. */
struct rp_compared {
    struct rp_comparison comparison; /**< its reason is that below */
    char *reason;
    json_t *json; /**< of `replay compare --json`; NULL: it did not come to that */
};

/**
 * Compares two code objects.
 * @param before, after code objects
 * @return 0, also when `after` is wrong or crashes; RP_BAD_INPUT when `before` is; RP_ENVIRONMENT
 */
int rp_compare(const struct rp_child_context *measure, const struct rp_captured *captured,
               const char *before, const char *after, struct rp_compared *ret, struct rp_err *err);
void rp_compared_free(struct rp_compared *compared);

/** This is a kernel of which another build is judged. All pointers are borrowed. */
struct rp_judged_kernel {
    const struct rp_child_context *measure; /**< says by how much it is to be faster */
    const char *name;                       /**< of rp_judge_another */
    const char *before;                     /**< code object of what it is compared with */
    const struct rp_captures *captures;
    const struct rp_time_floor *floor; /**< of rp_judge */
    bool any_body; /**< of rp_judge: the change may be of any kind (rp_decide_by_inputs) */
    void (*progress)(void *context, const char *text); /**< may be NULL */
    void *context;
};

/**
 * Compares on each captured geometry, in a process for each, and decides. The first geometry with
 * different output ends it.
 * @param candidate code object
 * @param ret_json of each comparison; owned by the caller
 */
int rp_judge(const struct rp_judged_kernel *kernel, const char *candidate, struct rp_decision *ret,
             json_t **ret_json, struct rp_err *err);

/**
 * Does the same for another kernel that the candidate changes as well (rp_decide_by_another).
 * @param decision "faster" until now; changed when this kernel pays for it
 * @param json its comparisons are appended
 */
int rp_judge_another(const struct rp_judged_kernel *kernel, const char *candidate,
                     struct rp_decision *decision, json_t *json, struct rp_err *err);

/* This section checks that a name is one kernel. Static functions, and functions in a namespace
 * without a name, may have the same name in several files, but traces, captures and comparisons go
 * by names. */

/** Says whether a name, as code objects have it ("_Z4workPf.kd"), is that symbol's. */
bool rp_symbol_is(const char *name, const char *symbol);

/**
 * @param profile  folder of one, of whose databases all dispatches are looked at
 * @return 0; RP_VERDICT when dispatches of that name are of two code objects; RP_ENVIRONMENT,
 *         RP_BAD_INPUT
 */
int rp_check_single_code_object(const char *profile, const char *symbol, struct rp_err *err);

#endif
