/* A candidate that changes how kernels are launched. The program is built with it, and shows how:
 * each kernel whose code or launches are others then is compared on the dispatches that the program
 * made before, launched as it is with the candidate. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/launch_size.h"
#include "optimize/session_parts.h"

static char *program_of(const struct rp_session_candidate *tried)
{
    return rp_format("%s.launched", tried->hsaco);
}

/** Returns the folder of all that is captured of how the program launches its kernels then. */
static char *captures_of(const struct rp_session_candidate *tried)
{
    return rp_format("%s.launches", tried->hsaco);
}

void rp_session_launch_end(struct rp_session_candidate *tried)
{
    struct rp_session_launch *launch = &tried->launch;

    rp_launches_free(&launch->launches);
    rp_code_names_free(launch->others);
    free(launch->program);
    *launch = (struct rp_session_launch){0};
    if (tried->workgroup && tried->hsaco) {
        rp_autofree char *captures = captures_of(tried);
        rp_autofree char *program = program_of(tried);

        rp_remove_tree(captures);
        unlink(program);
    }
}

int rp_session_launch_guard(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                            struct rp_err *err)
{
    const struct rp_session *s = run->s;
    struct rp_launch_size change;
    int rc = rp_launch_size_check(run->source, tried->text, strlen(tried->text), &change, err);

    if (rc < 0)
        return rc;
    /* Only the program's own output shows whether its host code is right with another number. */
    if (!s->o->check && !s->expected.bytes)
        return rp_fail(
            err, RP_VERDICT,
            "the program prints nothing by which its host code could be judged: say with "
            "--check which command tells right from wrong");
    json_object_set_new(tried->json, "launch",
                        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "constant",
                                  change.constant->name, "line", (json_int_t)change.constant->line,
                                  "before", (json_int_t)change.constant->value, "after",
                                  (json_int_t)change.value, "work_items_before",
                                  (json_int_t)rp_captures_largest(&run->captures), "work_items",
                                  (json_int_t)tried->workgroup));
    return 0;
}

/* --- how the program launches kernels then --------------------------------------------------- */

static void end_learning(enum rp_outcome outcome, const char *reason, struct rp_decision *ret)
{
    *ret = (struct rp_decision){.outcome = outcome};
    snprintf(ret->reason, sizeof ret->reason, "%.390s", reason);
}

/** @return 1: it does what it did; 0: it does not, as the decision says; negative */
static int build_program(struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                         const char *program, struct rp_decision *decision, struct rp_err *err)
{
    const struct rp_session *s = run->s;
    const struct rp_program_trial trial = {.measure = &s->measure,
                                           .command = s->command,
                                           .expected = &s->expected,
                                           .check = s->o->check,
                                           .modelled = s->modelled};
    rp_autofree char *why = NULL;
    int rc = rp_program_trial_build(&trial, tried->source, program, 1, &why, err);

    if (rc == 0 && why)
        end_learning(RP_OUTCOME_PROGRAM_WRONG, why, decision);
    return rc < 0 ? rc : !why;
}

/** Lists the kernels, but for the one that is meant, that are launched otherwise than before. */
static char **launched_otherwise(const struct rp_launch_counts *before,
                                 const struct rp_launch_counts *after, const char *symbol)
{
    char **list = rp_alloc_zero(before->count + after->count + 1, sizeof *list);
    size_t count = 0;

    for (size_t i = 0; i < before->count + after->count; i++) {
        const bool first = i < before->count;
        const struct rp_launch_count *one =
            first ? &before->list[i] : &after->list[i - before->count];
        const struct rp_launch_count *other =
            rp_launch_counts_find(first ? after : before, one->symbol);

        if (rp_symbol_is(one->symbol, symbol) || (!first && other) ||
            (other && other->launches == one->launches && other->geometries == one->geometries))
            continue;
        list[count++] = rp_strdup(one->symbol);
    }
    return list;
}

/** @return as build_program */
static int compare_counts(struct rp_kernel_run *run, const char *profile,
                          struct rp_session_launch *ret, struct rp_decision *decision,
                          struct rp_err *err)
{
    rp_cleanup(rp_launch_counts_free) struct rp_launch_counts before = {0}, after = {0};
    rp_autofree char *reason = NULL;
    const struct rp_launch_count *was, *is;
    int rc = rp_launch_counts_read(run->profile, &before, err);

    if (rc == 0)
        rc = rp_launch_counts_read(profile, &after, err);
    if (rc < 0)
        return rc;
    was = rp_launch_counts_find(&before, run->facts->symbol);
    is = rp_launch_counts_find(&after, run->facts->symbol);
    if (!was || !is || was->launches != is->launches) {
        reason = rp_format("the program launches it %llu times with it, and %llu times without",
                           is ? (unsigned long long)is->launches : 0,
                           was ? (unsigned long long)was->launches : 0);
        end_learning(RP_OUTCOME_UNFIT, reason, decision);
        return 0;
    }
    ret->others = launched_otherwise(&before, &after, run->facts->symbol);
    return 1;
}

/** Profiles the program for how often, and how, it launches its kernels. @return as build_program
 */
static int count_launches(struct rp_kernel_run *run, const char *folder,
                          struct rp_session_launch *ret, struct rp_decision *decision,
                          struct rp_err *err)
{
    rp_cleanup(rp_facts_free) struct rp_facts facts = {0};
    struct rp_err failed = RP_ERR_INIT;
    int rc;

    rp_remove_tree(folder);
    rc = rp_program_test_profile(&run->s->measure, ret->program, RP_RUN_KIND_CANDIDATE, folder,
                                 &facts, &failed);
    if (rc == 0)
        rc = compare_counts(run, folder, ret, decision, &failed);
    rp_remove_tree(folder);
    if (rc >= 0)
        return rc;
    if (failed.code == RP_PROGRAM || failed.code == RP_BAD_INPUT) {
        end_learning(RP_OUTCOME_PROGRAM_WRONG, failed.text, decision);
        return 0;
    }
    *err = failed;
    return rc;
}

/** The end of the budget is no verdict. @return as build_program */
static int judge_failure(const struct rp_session *s, const struct rp_err *why,
                         struct rp_decision *decision, struct rp_err *err)
{
    if (!s->patience.over &&
        (why->code == RP_VERDICT || why->code == RP_PROGRAM || why->code == RP_BAD_INPUT)) {
        end_learning(RP_OUTCOME_UNFIT, why->text, decision);
        return 0;
    }
    *err = *why;
    return -(int)why->code;
}

static uint64_t largest_of(const struct rp_captures *captures, bool launched)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < captures->count; i++) {
        const struct rp_captured *c = &captures->list[i];
        const uint32_t *size = launched ? c->launched : c->workgroup;
        const uint64_t items = (uint64_t)size[0] * size[1] * size[2];

        largest = items > largest ? items : largest;
    }
    return largest;
}

/** The size is that of the largest workgroups of all dispatches, which need not be among the
 * captured ones: these change alike. @return as build_program */
static int check_sizes(const struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                       const struct rp_captures *launches, struct rp_decision *decision)
{
    rp_autofree char *reason = NULL;
    const uint64_t of_all = rp_captures_largest(&run->captures);
    const uint64_t was = largest_of(&run->captures, false), is = largest_of(launches, true);

    if (is * of_all == was * tried->workgroup)
        return 1;
    reason = rp_format("with it the program launches workgroups of %llu work-items instead of %llu",
                       (unsigned long long)is,
                       (unsigned long long)(was * tried->workgroup / (of_all ? of_all : 1)));
    end_learning(RP_OUTCOME_UNFIT, reason, decision);
    return 0;
}

/** @return as build_program */
static int capture_launches(struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                            const char *folder, struct rp_session_launch *ret,
                            struct rp_decision *decision, struct rp_err *err)
{
    const struct rp_session *s = run->s;
    struct rp_err why = RP_ERR_INIT;
    int rc = rp_launches_capture(&s->measure, ret->program, run->facts->name, &run->captures,
                                 folder, &ret->launches, &why);

    return rc < 0 ? judge_failure(s, &why, decision, err)
                  : check_sizes(run, tried, &ret->launches, decision);
}

int rp_session_launch_learn(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                            struct rp_decision *decision, struct rp_err *err)
{
    struct rp_session_launch *launch = &tried->launch;
    rp_autofree char *captures = captures_of(tried);
    rp_autofree char *own = rp_path_join(captures, "own");
    rp_autofree char *profile = rp_format("%s.profile", tried->hsaco);
    int rc;

    if (launch->launches.count)
        return 1;
    rp_session_message(run->s, "  %s: building the program, to see how it launches then",
                       tried->title);
    free(launch->program);
    launch->program = program_of(tried);
    /* What a session that was killed has left need not be complete. */
    rp_remove_tree(captures);
    rc = rp_mkdirs_private(captures, err);
    if (rc == 0)
        rc = build_program(run, tried, launch->program, decision, err);
    if (rc == 1)
        rc = count_launches(run, profile, launch, decision, err);
    if (rc == 1)
        rc = capture_launches(run, tried, own, launch, decision, err);
    return rc;
}

int rp_session_launch_another(struct rp_kernel_run *run, const struct rp_session_candidate *tried,
                              const char *name, const char *place,
                              const struct rp_captures *captures, struct rp_captures *ret,
                              struct rp_err *err)
{
    rp_autofree char *of_all = captures_of(tried);
    rp_autofree char *folder = rp_path_join(of_all, place);

    /* Where it is launched as before, its dispatches are, too. */
    rp_remove_tree(folder);
    return rp_launches_capture(&run->s->measure, tried->launch.program, name, captures, folder, ret,
                               err);
}
