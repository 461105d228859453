#include "library/one_run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "library/inputs.h"
#include "library/life.h"

/* Clocks of different machines are not comparable. What one script starts is one run, but for the
 * same command again. */
static bool are_of_two_runs(const struct rp_life *a, const struct rp_life *b)
{
    const bool related = (a->ppid > 0 || b->ppid > 0) && rp_lives_related(a, b);

    return rp_lives_on_one_machine(a, b) && rp_lives_apart(a, b) &&
           (strcmp(a->command, b->command) == 0 ? !related || !(a->by_kernels || b->by_kernels)
                                                : !related);
}

static int note_difference(const struct rp_life *a, const struct rp_life *b,
                           const struct rp_note_sink *notes, struct rp_err *err)
{
    /* Nobody knows whether it is one script or one program again: adding both up may be a time of
     * nothing. */
    if (!a->command[0] || !b->command[0])
        return rp_fail(err, RP_BAD_INPUT,
                       "%s and %s ran one after the other, or on machines whose clocks differ, and"
                       " do not say of which command they are: give those of one run, or traces"
                       " that do (rocprofv3 --output-format rocpd)",
                       a->path, b->path);
    if (strcmp(a->command, b->command) == 0)
        rp_note(notes,
                "%s and %s are of '%.60s', one after the other: results only hold for traces of"
                " one run, analyse each run by itself; compare and history take them as runs",
                a->path, b->path, a->command);
    else
        rp_note(notes,
                "%s ('%.60s') and %s ('%.60s') ran one after the other: results only"
                " hold for traces of one run, analyse each run by itself",
                a->path, a->command, b->path, b->command);
    return 0;
}

static bool is_in(struct rp_store *const *run, size_t count, const struct rp_store *store)
{
    for (size_t i = 0; i < count; i++)
        if (run[i] == store)
            return true;
    return false;
}

int rp_warn_of_other_runs(const struct rp_inputs *in, struct rp_store *const *run, size_t run_count,
                          struct rp_err *err)
{
    rp_autofree struct rp_life *lives = calloc(in->store_count + 1, sizeof *lives);
    rp_autofree bool *of_run = calloc(in->store_count + 1, sizeof *of_run);

    if (!lives || !of_run)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < in->store_count && in->store_count > 1; i++) {
        int rc = rp_life_of(in->stores[i], &lives[i], err);

        if (rc < 0)
            return rc;
        of_run[i] = is_in(run, run_count, in->stores[i]);
    }
    for (size_t i = 0; i < in->store_count; i++)
        for (size_t j = 0; j < i; j++) {
            const bool known = lives[i].command[0] && lives[j].command[0];
            const bool other = known && strcmp(lives[i].command, lives[j].command) != 0;

            if ((other || (of_run[i] && of_run[j])) && are_of_two_runs(&lives[j], &lives[i]))
                return note_difference(&lives[j], &lives[i], &in->notes, err);
        }
    return 0;
}
