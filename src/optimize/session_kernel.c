/* One kernel in a round: its source, its code, its dispatches, all candidates, the best of them. */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile.h"
#include "optimize/session_parts.h"

static void free_run(struct rp_kernel_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        rp_tried_free(&run->tried[i]);
    free(run->tried);
    rp_captures_free(&run->captures);
    rp_code_object_free(&run->object);
    rp_kernel_source_free(run->source);
    free(run->hsaco);
    free(run->folder);
}

/** What no build of it can be faster than. */
static struct rp_floor floor_of(const struct rp_kernel_facts *facts, enum rp_edit_scope scope)
{
    /* Bytes of a channel of the L2 in a clock: "CDNA3 ISA" and MI300X whitepaper, 128; of CDNA2
     * as many. Whatever the results' way, they pass it. */
    enum { L2_CHANNEL_BYTES = 128 };
    const struct rp_arch *arch = facts->arch ? rp_arch_find(facts->arch) : NULL;
    struct rp_floor floor = {.same_work = scope == RP_EDIT_UNROLL};

    if (arch && arch->l2_channels_per_xcc && arch->xcc_count && arch->engine_clock_mhz)
        floor.write_gbps =
            (struct rp_quantity){true, (double)arch->l2_channels_per_xcc * arch->xcc_count *
                                           L2_CHANNEL_BYTES * arch->engine_clock_mhz / 1000};
    for (size_t i = 0; i < facts->ceiling_count; i++) {
        const struct rp_named_fraction *c = &facts->ceilings[i];

        if ((strcmp(c->name, "valu") == 0 || strcmp(c->name, "mfma") == 0) &&
            c->fraction > floor.compute_share.value)
            floor.compute_share = (struct rp_quantity){true, c->fraction};
    }
    return floor;
}

static int does_not_compile(const struct rp_kernel_run *run, const struct rp_built *built,
                            struct rp_err *err)
{
    rp_autofree char *reason = rp_built_reason(built);

    return rp_fail(err, RP_BAD_INPUT, "%s does not compile for %s%s: %s", run->s->source,
                   run->facts->arch, rp_compile_command_doubt(run->s->command),
                   reason ? reason : built->why);
}

static int build_twice(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_session *s = run->s;
    struct rp_built built;
    bool same;
    int rc =
        rp_compile_twice(s->command, s->source, run->facts->arch, run->hsaco, &built, &same, err);

    if (rc < 0)
        return rc;
    if (!built.ok)
        rc = does_not_compile(run, &built, err);
    else if (!same)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "two builds of %s are not the same to the byte: nothing can be told of a "
                     "change (does it use __DATE__ or __TIME__?)",
                     s->source);
    rp_built_free(&built);
    return rc;
}

/** The best source so far as a code object, built once. */
static int build_base(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_journal *journal = run->s->journal;
    rp_autofree char *key = rp_format("%u/%s", run->round, run->facts->symbol);
    const json_t *data = key ? rp_journal_find(journal, "base", key) : NULL;
    int rc = 0;

    run->hsaco = rp_path_join(run->folder, "before.hsaco");
    if (!run->hsaco || !key)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!data || !rp_session_is_file(run->hsaco, data, "code_object_sha256")) {
        rc = build_twice(run, err);
        data = NULL;
    }
    if (rc == 0)
        rc = rp_code_object_read(run->hsaco, run->facts->symbol, &run->object, err);
    return rc < 0 || data
               ? rc
               : rp_journal_add(journal, "base", key,
                                json_pack("{s:s}", "code_object_sha256", run->object.file_sha256),
                                err);
}

/** What ran is what the source and the build command make. */
static int check_origin(struct rp_kernel_run *run, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(run->captures.list[0].folder, "kernel.hsaco");
    struct rp_code_object captured;
    bool same;
    int rc = path ? rp_code_object_read(path, run->facts->symbol, &captured, err)
                  : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc < 0)
        return rc;
    same = strcmp(captured.code_sha256, run->object.code_sha256) == 0;
    rp_code_object_free(&captured);
    if (same)
        return 0;
    return rp_fail(
        err, RP_BAD_INPUT,
        "%s: the code of %s is not what %s makes of %s: give the source as it was built, "
        "and with --build the command that built it, or build the program anew%s",
        run->s->program, run->facts->name, rp_compile_command_origin(run->s->command),
        run->s->source, rp_compile_command_doubt(run->s->command));
}

static json_t *geometries_json(const struct rp_captures *captures)
{
    json_t *list = json_array();

    for (size_t i = 0; i < captures->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "geometry", captures->list[i].name,
                                              "time_ns", captures->list[i].weight));
    return list;
}

int rp_session_capture(struct rp_kernel_run *run, const char *profile, const char *folder,
                       struct rp_err *err)
{
    struct rp_session *s = run->s;
    struct rp_err why = RP_ERR_INIT;
    int rc;

    rp_session_say(s, "  capturing its dispatches");
    rc = rp_captures_make(&s->measure, s->program, run->facts->name, run->facts->symbol, profile,
                          folder, &run->captures, &why);
    if (rc == 0)
        return 1;
    if (why.code != RP_VERDICT) {
        *err = why;
        return rc;
    }
    if (s->patience.over) { /* that is no verdict on the kernel, and --resume captures it */
        json_object_set_new(run->json, "stop", json_string("the time of --budget was over"));
        *err = why;
        return rc;
    }
    json_object_set_new(run->json, "stop", rp_session_text(why.text));
    return rp_session_check_disk(s, err) < 0 ? rp_wrap(err, "%s", why.text) : 0;
}

/** @return 1 ready, 0 it cannot be tried (the JSON says why), negative */
static int prepare(struct rp_kernel_run *run, const char *profile, struct rp_err *err)
{
    struct rp_session *s = run->s;
    rp_autofree char *captures = rp_path_join(run->folder, "captures");
    struct rp_err why = RP_ERR_INIT;
    int rc = captures ? rp_mkdirs_private(run->folder, err)
                      : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc < 0)
        return rc;
    if (!run->facts->arch) {
        json_object_set_new(run->json, "stop", json_string("its GPU is not known"));
        return 0;
    }
    rc = rp_kernel_source_read(s->command, s->source, run->facts->symbol, run->facts->arch,
                               &run->source, &why);
    if (rc < 0 && why.code != RP_BAD_INPUT) {
        *err = why;
        return rc;
    }
    if (rc == 0)
        rc = build_base(run, err);
    else
        json_object_set_new(run->json, "stop", rp_session_text(why.text));
    if (!run->source || rc < 0)
        return run->source ? rc : rp_session_check_disk(s, err);
    rc = rp_session_capture(run, profile, captures, err);
    if (rc <= 0)
        return rc;
    rc = check_origin(run, err);
    json_object_set_new(run->json, "geometries", geometries_json(&run->captures));
    json_object_set_new(run->json, "geometries_time_share",
                        run->captures.covered >= 0 ? json_real(run->captures.covered)
                                                   : json_null());
    run->floor = floor_of(run->facts, s->o->scope);
    return rc < 0 ? rc : 1;
}

static int best_first(const void *a, const void *b)
{
    const struct rp_tried *const *x = a, *const *y = b;

    if ((*x)->low != (*y)->low)
        return (*x)->low > (*y)->low ? -1 : 1;
    return *x < *y ? -1 : 1;
}

static int accept_best(struct rp_kernel_run *run, struct rp_err *err)
{
    rp_autofree struct rp_tried **winners = calloc(run->count + 1, sizeof *winners);
    const int64_t end_ns = run->s->patience.end_ns;
    size_t count = 0;
    int rc = 0;

    if (!winners)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < run->count; i++)
        if (run->tried[i].outcome == RP_OUTCOME_FASTER)
            winners[count++] = &run->tried[i];
    qsort(winners, count, sizeof *winners, best_first);
    run->s->patience.end_ns = 0; /* the budget is for the search, not for what it has found */
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = rp_session_accept(run, winners[i], err);
    run->s->patience.end_ns = end_ns;
    return rc;
}

/** Nothing was proposed: of each loop why it may not be unrolled. NULL: out of memory. */
static char *why_nothing(const struct rp_kernel_run *run)
{
    rp_autobuf text = {0};

    if (run->s->o->proposer != rp_proposer_named("unroll"))
        return strdup("the proposer has nothing for it");
    rp_buf_puts(&text, run->source->loop_count ? "none of its loops can be unrolled"
                                               : "no loop stands in its text");
    for (size_t i = 0; i < run->source->loop_count; i++) {
        const struct rp_source_loop *loop = &run->source->loops[i];

        rp_buf_printf(&text, "%s line %u: %s", i ? ";" : ":", loop->line,
                      loop->why_not ? loop->why_not : "each factor is there already");
    }
    return rp_buf_steal(&text);
}

static int say_why_nothing(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_session *s = run->s;
    rp_autofree char *why = NULL;

    if (run->count || s->budget_over || s->proposer_ended ||
        json_is_string(json_object_get(run->json, "stop")))
        return 0;
    why = why_nothing(run);
    if (!why)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_session_say(s, "  not tried: %s", why);
    json_object_set_new(run->json, "stop", rp_session_text(why));
    return 0;
}

/** What was tried before a failure is decided as always, unless the session ends with it. */
static int try_and_accept(struct rp_kernel_run *run, struct rp_err *err)
{
    struct rp_err failed = RP_ERR_INIT;
    int rc = rp_session_is_over(run->s, rp_session_try_all(run, &failed), &failed);

    if (rc < 0 && rp_session_ends_by(&failed)) {
        *err = failed;
        return rc;
    }
    if (rc == 0 && say_why_nothing(run, err) < 0)
        return -RP_ENVIRONMENT;
    rc = accept_best(run, err);
    if (rc < 0 || failed.code == RP_OK)
        return rc;
    if (rc == 0) {
        *err = failed;
        return -(int)failed.code;
    }
    json_object_set_new(run->json, "failed", json_true());
    json_object_set_new(run->json, "stop", rp_session_text(failed.text));
    return rc;
}

int rp_session_kernel(struct rp_session *s, unsigned round, size_t place,
                      const struct rp_kernel_facts *facts, const char *profile, json_t *json,
                      struct rp_err *err)
{
    rp_cleanup(free_run) struct rp_kernel_run run = {
        .s = s, .round = round, .facts = facts, .profile = profile, .json = json};
    int rc;

    rp_session_say(s, "%s", facts->name);
    run.folder = rp_format("%s/round-%u/kernel-%zu", s->o->folder, round, place);
    if (!run.folder)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = prepare(&run, profile, err);
    if (rc == 0)
        rp_session_say(s, "  not tried: %s", json_string_value(json_object_get(json, "stop")));
    if (rc <= 0)
        return rc;
    rc = try_and_accept(&run, err);
    for (size_t i = 0; i < run.count; i++)
        json_array_append(json_object_get(json, "attempts"), run.tried[i].json);
    return rc;
}
