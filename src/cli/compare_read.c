#include "cli/compare_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/profile_session.h"
#include "cli/results.h"
#include "collect/result_commit.h"
#include "library/one_run.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/compare.h"
#include "rocm-perf/store.h"

/* --- JSON ---------------------------------------------------------------------------------- */

static int read_text(const char *path, char **ret, struct rp_err *err)
{
    if (rp_check_input(path, err) < 0)
        return -(int)RP_BAD_INPUT;
    errno = 0;
    *ret = rp_read_text(path, SIZE_MAX / 2);
    return *ret ? 0
                : rp_fail_errno(err, RP_BAD_INPUT, errno ? errno : EINVAL, "cannot read %s", path);
}

static int read_json(const char *path, const char *shown, struct rp_versus_side *ret,
                     struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = read_text(path, &text, err);

    return rc < 0 ? rc : rp_versus_side_parse(text, shown, ret, err);
}

/* What deeper analyses have left in the folder of a profile. */
static int add_beside(const char *folder, struct rp_versus_side *side, struct rp_err *err)
{
    static const char *const names[] = {"roofline.json", "analysis.json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);
        rp_autofree char *text = NULL;
        int rc;

        if (!path)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (!rp_path_exists(path))
            continue;
        rc = read_text(path, &text, err);
        if (rc == 0)
            rc = rp_versus_side_add(side, text, path, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_profile(const char *folder, const char *json, struct rp_versus_side *ret,
                        struct rp_err *err)
{
    struct rp_versus_side side = {0};
    int rc = read_json(json, folder, &side, err);

    if (rc == 0)
        rc = add_beside(folder, &side, err);
    if (rc < 0) {
        rp_versus_side_free(&side);
        return rc;
    }
    *ret = side;
    return 0;
}

/* Databases are binary, and JSON of traces begins in its own way. */
static bool is_json(const char *path)
{
    FILE *file =
        rp_store_is_json(path, false) || rp_store_is_named_json(path) ? NULL : fopen(path, "re");
    int c = EOF;

    while (file && (c = fgetc(file)) != EOF && isspace(c))
        ;
    if (file)
        fclose(file);
    return c == '{' || c == '[';
}

/* --- traces -------------------------------------------------------------------------------- */

static int origin_of(struct rp_store *const *stores, size_t count, struct rp_origin *ret,
                     struct rp_err *err)
{
    *ret = rp_origin_of(stores, count);
    for (size_t i = 0; i < count && !ret->device; i++) {
        const char *device;
        int rc = rp_profile_device_of(stores[i], &device, err);

        if (rc < 0)
            return rc;
        ret->device = device && strcmp(device, "software") == 0 ? device : NULL;
    }
    return 0;
}

static void free_profile(struct rp_profile **profile)
{
    rp_profile_free(*profile);
}

static int read_run(const struct rp_inputs *in, const char *path, struct rp_versus_side *ret,
                    struct rp_err *err)
{
    rp_autofree struct rp_store **run = calloc(in->store_count + 1, sizeof *run);
    rp_cleanup(free_profile) struct rp_profile *profile = NULL;
    struct rp_origin origin;
    size_t count = 0;
    int rc = run ? rp_inputs_choose_run(in, run, &count, err)
                 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0)
        rc = rp_warn_of_other_runs(run, count, &in->notes, err);
    if (rc == 0)
        rc = rp_profile_compute(run, count, NULL, 0, &profile, err);
    if (rc == 0)
        rc = origin_of(run, count, &origin, err);
    if (rc == 0 && profile->dispatches == 0)
        rc =
            rp_fail(err, RP_BAD_INPUT, "%s: there is no kernel in it, so nothing to compare", path);
    return rc < 0 ? rc : rp_versus_side_of(profile, &origin, path, ret, err);
}

static int read_traces(char *path, struct rp_versus_side *ret, struct rp_err *err)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {.notes = rp_cli_notes()};
    int rc = rp_inputs_open(&path, 1, &in, err);

    if (rc == 0 && in.store_count == 0)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "%s: neither a profile nor a trace of kernels, so there are no times to "
                     "compare",
                     path);
    return rc < 0 ? rc : read_run(&in, path, ret, err);
}

int rp_versus_read(char *path, struct rp_versus_side *ret, struct rp_err *err)
{
    rp_autofree char *json = rp_path_join(path, "profile.json");
    int rc;

    if (!json)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s: no such file or folder", path);
    rc = rp_check_input(path, err);
    if (rc < 0)
        return rc;
    if (!rp_path_is_dir(path))
        return is_json(path) ? read_json(path, path, ret, err) : read_traces(path, ret, err);
    rc = rp_result_settle(path, err);
    if (rc < 0)
        return rc;
    return rp_path_exists(json) ? read_profile(path, json, ret, err) : read_traces(path, ret, err);
}
