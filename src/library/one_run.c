#include "library/one_run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "library/life.h"
#include "library/notes.h"

/* Clocks of different machines are not comparable, and what one script starts is one run. */
static bool are_of_two_runs(const struct rp_life *a, const struct rp_life *b)
{
    return rp_lives_on_one_machine(a, b) && rp_lives_apart(a, b) && !rp_lives_related(a, b) &&
           strcmp(a->command, b->command) != 0;
}

int rp_warn_of_other_runs(struct rp_store *const *stores, size_t count,
                          const struct rp_note_sink *notes, struct rp_err *err)
{
    rp_autofree struct rp_life *lives = calloc(count + 1, sizeof *lives);
    size_t known = 0;

    if (!lives)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int rc = rp_life_of(stores[i], &lives[known], err);

        if (rc < 0)
            return rc;
        known += lives[known].command[0] != 0; /* CSV does not say it */
    }
    for (size_t i = 0; i < known; i++)
        for (size_t j = 0; j < i; j++)
            if (are_of_two_runs(&lives[j], &lives[i])) {
                rp_note(notes,
                        "%s ('%.60s') and %s ('%.60s') ran one after the other: results only"
                        " hold for traces of one run, analyse each run by itself",
                        lives[j].path, lives[j].command, lives[i].path, lives[i].command);
                return 0;
            }
    return 0;
}
