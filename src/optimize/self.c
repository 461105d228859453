#include "optimize/self.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "optimize/child.h"
#include "optimize/measure.h"

static size_t count_of(const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return count;
}

const char **rp_self_argv(const struct rp_measure *m, const char *const *words, const char *program)
{
    enum { MOST_OWN = 8 }; /* rocm-perf --device D --timing T -- PROGRAM and the end */
    const size_t args = program ? count_of((const char *const *)m->program) : 0;
    const char **argv = calloc(count_of(words) + args + MOST_OWN, sizeof *argv);
    size_t at = 0;

    if (!argv)
        return NULL;
    argv[at++] = m->self;
    while (*words)
        argv[at++] = *words++;
    if (m->device) {
        argv[at++] = "--device";
        argv[at++] = m->device;
    }
    if (m->timing) {
        argv[at++] = "--timing";
        argv[at++] = m->timing;
    }
    if (program) {
        argv[at++] = "--";
        argv[at++] = program;
    }
    for (size_t i = 1; i < args; i++)
        argv[at++] = m->program[i];
    return argv;
}

int rp_self_run(const struct rp_measure *measure, const struct rp_self *self,
                struct rp_proc_end *ret, struct rp_err *err)
{
    rp_autofree const char **argv = rp_self_argv(measure, self->words, self->program);
    int rc;

    if (!argv)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_child_run(
        &(struct rp_child){.argv = argv,
                           .stdin_path = self->program ? measure->input : NULL,
                           .stdout_path = self->stdout_path,
                           .stderr_path = self->stderr_path,
                           .timeout_ns = rp_patience_for(measure->patience, self->what),
                           .limits = rp_program_limits(),
                           .waiting = measure->patience->waiting,
                           .context = measure->patience->context},
        ret, err);
    return rc < 0 ? rc : rp_patience_note(measure->patience, self->what, ret, err);
}
