/* Options of autotune that exclude each other, or would have no effect. */
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/autotune_options.h"
#include "tune/launchers.h"

/** The session's own files, of which the journal would be lost with all answers. */
static int check_folder(const char *option, const char *path, const char *folder,
                        struct rp_err *err)
{
    static const char *const own[] = {"journal.jsonl", "journal.jsonl.head", "autotune.json",
                                      "lock"};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof own / sizeof *own; i++) {
        rp_autofree char *file = rp_path_join(folder, own[i]);

        if (!file)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
        else if (rp_same_file(file, path))
            rc = rp_fail(err, RP_USAGE, "%s %s is a file of the session itself: take another name",
                         option, path);
    }
    return rc;
}

/** No output takes the place of another one, or of what is read. */
static int check_files(const struct rp_autotune_options *o, struct rp_err *err)
{
    enum { OUTPUTS = 3 };
    const struct {
        const char *option, *path;
    } files[] = {{"--plot", o->plot},           {"--export-t4", o->export_t4},
                 {"--export-t1", o->export_t1}, {"--space", o->space},
                 {"--simulate", o->simulate},   {"--import", o->import}};
    int rc = 0;

    for (size_t i = 0; o->folder && rc == 0 && i < OUTPUTS; i++)
        if (files[i].path)
            rc = check_folder(files[i].option, files[i].path, o->folder, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < OUTPUTS; i++)
        for (size_t j = i + 1; files[i].path && j < sizeof files / sizeof *files; j++)
            if (files[j].path && rp_same_file(files[i].path, files[j].path))
                return rp_fail(err, RP_USAGE, "%s and %s are the same file: %s", files[i].option,
                               files[j].option, files[i].path);
    return 0;
}

static const char *name_of(int key)
{
    static const char *const names[] = {
#define RP_AUTOTUNE_OPTION(key, name, argument) [RP_AUTOTUNE_##key - RP_AUTOTUNE_SPACE] = "--" name,
#include "cli/autotune_options.def"
#undef RP_AUTOTUNE_OPTION
    };

    return names[key - RP_AUTOTUNE_SPACE];
}

static bool given(const struct rp_autotune_command *c, int key)
{
    return c->given & RP_AUTOTUNE_GIVEN(key);
}

/** An option without effect is a mistake, or the user believes something that is not so. */
static int check_simulation(const struct rp_autotune_command *c, struct rp_err *err)
{
    if (given(c, RP_AUTOTUNE_SPACE))
        return rp_fail(err, RP_USAGE, "--simulate has a space: --space does not go with it");
    for (int key = RP_AUTOTUNE_COMMAND; key <= RP_AUTOTUNE_SALLOC; key++)
        if (given(c, key) && key != RP_AUTOTUNE_WORKERS)
            return rp_fail(err, RP_USAGE, "--simulate runs nothing: %s does not go with it",
                           name_of(key));
    if (c->o.export_t1)
        return rp_fail(err, RP_USAGE,
                       "--simulate and --export-t1: a recorded space has no rules to export");
    if (c->o.resume && !c->o.folder)
        return rp_fail(err, RP_USAGE, "--resume goes with -o: which folder?");
    return 0;
}

/** The second option goes with the first one only, or not at all. */
static int check_pairs(const struct rp_autotune_command *c, struct rp_err *err)
{
    static const int without[][2] = {{RP_AUTOTUNE_WALL, RP_AUTOTUNE_REGEX},
                                     {RP_AUTOTUNE_GPUS, RP_AUTOTUNE_WORKERS},
                                     {RP_AUTOTUNE_JSON, RP_AUTOTUNE_QUIET}};
    static const int slurm[] = {RP_AUTOTUNE_SRUN, RP_AUTOTUNE_SALLOC};

    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (given(c, without[i][0]) && given(c, without[i][1]))
            return rp_fail(err, RP_USAGE, "%s and %s exclude each other", name_of(without[i][0]),
                           name_of(without[i][1]));
    for (size_t i = 0; i < sizeof slurm / sizeof *slurm; i++)
        if (given(c, slurm[i]) && c->o.live.pool.launcher != rp_launcher_named("slurm"))
            return rp_fail(err, RP_USAGE, "%s goes with --launcher slurm only", name_of(slurm[i]));
    if (given(c, RP_AUTOTUNE_GPUS) && c->o.live.pool.launcher == rp_launcher_named("slurm"))
        return rp_fail(err, RP_USAGE,
                       "--gpus and --launcher slurm exclude each other: Slurm chooses GPUs (--srun "
                       "--gpus=1)");
    for (size_t i = 0; c->o.live.pool.gpus && c->gpus[i]; i++) {
        if (strcmp(c->gpus[i], "all") == 0 && c->gpus[1])
            return rp_fail(err, RP_USAGE, "--gpus all goes with no others");
        for (size_t j = 0; j < i; j++)
            if (strcmp(c->gpus[i], c->gpus[j]) == 0)
                return rp_fail(err, RP_USAGE,
                               "--gpus names GPU %s twice: two workers on one disturb each other",
                               c->gpus[i]);
    }
    if (given(c, RP_AUTOTUNE_UNIT) && !given(c, RP_AUTOTUNE_REGEX))
        return rp_fail(err, RP_USAGE,
                       "--output-unit goes with --output-regex, which names the number");
    return 0;
}

int rp_autotune_check(const struct rp_autotune_command *c, struct rp_err *err)
{
    const struct rp_autotune_options *o = &c->o;
    int rc = 0;

    if (!o->simulate && !o->space)
        return rp_fail(err, RP_USAGE, "which space? --space or --simulate is missing");
    if (o->simulate)
        rc = check_simulation(c, err);
    else if (!o->live.command)
        return rp_fail(err, RP_USAGE, "which command? --cmd-template is missing");
    if (rc == 0)
        rc = check_pairs(c, err);
    return rc < 0 ? rc : check_files(o, err);
}
