/**
 * @file replay_main.c
 * @brief rocm-perf-replay: started by rocm-perf replay, in the environment of the ROCm in use.
 * Its options are in replay_options.def.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_print.h"
#include "replay/replay_protocol.h"
#include "trace/capture.h"

/* The self check tests whether a capture replays to its own state (self_check.json,
 * docs/format/capture.md).
 */

enum rp_self_label {
    RP_SELF_UNKNOWN, /**< this machine cannot tell */
    RP_SELF_DETERMINISTIC,
    RP_SELF_ORDER_DEPENDENT,
    RP_SELF_NOT_REPLAYABLE,
};

enum { RP_SELF_NUMBER_TYPES = 4 };

struct rp_replay_self_check {
    enum rp_self_label label;
    char reason[RP_ERR_TEXT_BYTES]; /**< "": none is needed */
    unsigned runs, equal_runs;
    struct rp_replay_verdict first; /**< of the first run that differs */
    /* These cover all runs that differ. */
    uint64_t hash; /**< of what differs in the first of them */
    bool vary;     /**< they differ from each other */
    bool outside;  /**< they differ where the captured dispatch changed nothing */
    bool far[RP_SELF_NUMBER_TYPES];
};

/* A kernel that takes long runs less often: after this time the results so far must suffice. */
enum { MOST_SECONDS = 60 };

/* On the software device this must not depend on the machine, so the limit is work
 * (records.h).
 */
static const uint64_t MOST_WORK = (uint64_t)1 << 32;

/* --- one run ------------------------------------------------------------------------------- */

struct look {
    struct rp_replay *r;
    struct rp_replay_self_check *check;
    struct rp_replay_verdict verdict;
    uint64_t hash;
};

/* FNV-1a. */
static void hash_in(uint64_t *hash, const void *bytes, size_t count)
{
    const uint8_t *b = bytes;

    for (size_t i = 0; i < count; i++)
        *hash = (*hash ^ b[i]) * 0x100000001b3;
}

static int look_at_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                        const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    static const enum rp_number_type types[RP_SELF_NUMBER_TYPES] = {RP_F32, RP_F64, RP_F16,
                                                                    RP_BF16};
    struct look *look = data;
    const uint64_t address = m->region.base + page * RP_PAGE_BYTES;
    uint8_t before[RP_PAGE_BYTES];
    int rc;

    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rp_replay_note_difference(&look->verdict, address, contents, expected, RP_PAGE_BYTES);
    hash_in(&look->hash, &address, sizeof address);
    hash_in(&look->hash, contents, RP_PAGE_BYTES);
    for (size_t i = 0; i < RP_SELF_NUMBER_TYPES; i++) {
        const struct rp_compare_rule rule = {.type = types[i], .rel = 1e-2, .ulp = 4};
        uint64_t bad[RP_PAGE_MASKS];

        rp_compare_words(&rule, contents, expected, RP_PAGE_BYTES, bad);
        for (size_t j = 0; j < RP_PAGE_MASKS; j++)
            look->check->far[i] = look->check->far[i] || bad[j];
    }
    rc = rp_capture_page(look->r->capture, m, RP_STATE_BEFORE, page, before, err);
    if (rc == 0 && memcmp(before, expected, RP_PAGE_BYTES) == 0)
        look->check->outside = true;
    return rc;
}

static int check_once(struct rp_replay *r, struct rp_replay_self_check *check, struct rp_err *err)
{
    struct look look = {.r = r, .check = check, .hash = 0xcbf29ce484222325};
    double us;
    int rc = rp_replay_fill(r, NULL, NULL, err);

    if (rc == 0)
        rc = rp_replay_run(r, &us, err);
    if (rc == 0)
        rc = rp_replay_look_at(r, look_at_page, &look, err);
    if (rc == 0)
        rc = rp_replay_compare_variables(r, &look.verdict, err);
    if (rc < 0)
        return rc;
    check->runs++;
    if (!look.verdict.different_bytes) {
        check->equal_runs++;
    } else if (!check->first.different_bytes) {
        check->first = look.verdict;
        check->hash = look.hash;
    } else if (look.hash != check->hash) {
        check->vary = true;
    }
    return 0;
}

/* --- the verdict --------------------------------------------------------------------------- */

/* Sums in another order are near each other as numbers of some type. What depends on the order of
 * arrival varies. If each replay gives the same memory, but not that of the program, then
 * something is missing in the capture.
 */
static void judge(struct rp_replay_self_check *check)
{
    bool near = false;

    for (size_t i = 0; i < RP_SELF_NUMBER_TYPES; i++)
        near = near || !check->far[i];
    if (check->equal_runs == check->runs) {
        check->label = RP_SELF_DETERMINISTIC;
        return;
    }
    check->label = !check->outside && (near || check->vary || check->equal_runs)
                       ? RP_SELF_ORDER_DEPENDENT
                       : RP_SELF_NOT_REPLAYABLE;
    snprintf(
        check->reason, sizeof check->reason, "%u of %u runs do not give the captured memory%s",
        check->runs - check->equal_runs, check->runs,
        check->outside ? ", and change what the captured dispatch did not"
        : near && !check->vary && !check->equal_runs
            ? ", but numbers near those, the same each time: sums in another order than in the "
              "program, or with a value that is not in the capture"
        : near        ? ", but numbers near those: sums in an order that varies, or a clock's value"
        : check->vary ? ", nor the same among themselves; what differs is not near "
                        "as numbers: perhaps a clock or an address, not a sum"
        : check->equal_runs ? ""
                            : ", but the same each time");
}

static bool has_taken_long(const struct rp_replay *r, time_t begin, uint64_t *work)
{
    uint64_t last;

    if (!r->software)
        return time(NULL) - begin >= MOST_SECONDS;
    rp_replay_hit_work_limit(&last);
    *work += last;
    return *work >= MOST_WORK;
}

/** Runs the captured kernel. Memory is mapped. */
static void self_check_run(struct rp_replay *r, const char *hsaco, const char *kernarg,
                           unsigned runs, struct rp_replay_self_check *ret)
{
    struct rp_err err = RP_ERR_INIT;
    const time_t begin = time(NULL);
    uint64_t work = 0;
    int rc = rp_replay_load_kernels(r, hsaco, NULL, kernarg, &err);

    for (unsigned i = 0; i < runs && rc == 0 && (i == 0 || !has_taken_long(r, begin, &work)); i++) {
        rp_replay_at(r, RP_REPLAY_AT_SELF, i, runs);
        rc = check_once(r, ret, &err);
    }
    if (rc == 0) {
        judge(ret);
        return;
    }
    ret->label = err.code == RP_ENVIRONMENT ? RP_SELF_UNKNOWN : RP_SELF_NOT_REPLAYABLE;
    snprintf(ret->reason, sizeof ret->reason, "%s", err.text);
}

/** Writes the result as a file. @param gpu "": not known */
static void self_check_print(const struct rp_replay_self_check *check, const struct rp_replay *r,
                             const char *rocm)
{
    static const char *const labels[] = {"unknown", "deterministic", "order-dependent",
                                         "not replayable"};
    const struct rp_replay_verdict *v = &check->first;

    printf("{\n  \"schema_version\": \"1.0\",\n  \"capture_complete\": %s,\n  \"label\": \"%s\",\n"
           "  \"reason\": ",
           rp_replay_is_complete(r) ? "true" : "false", labels[check->label]);
    if (check->reason[0])
        rp_replay_put_string(check->reason);
    else
        printf("null");
    printf(",\n  \"runs\": %u,\n  \"equal_runs\": %u,\n  \"first_difference\": ", check->runs,
           check->equal_runs);
    if (v->different_bytes)
        printf("{\"bytes\": %" PRIu64 ", \"pages\": %" PRIu64 ", \"address\": \"0x%" PRIx64
               "\", \"got\": %u, \"expected\": %u}",
               v->different_bytes, v->different_pages, v->first_address, v->got, v->expected);
    else
        printf("null");
    printf(",\n  \"gpu_agent\": ");
    rp_replay_put_string(r->gpu_name);
    printf(",\n  \"rocm_version\": ");
    rp_replay_put_string(rocm);
    printf("\n}\n");
}

static int compare_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                        const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    (void)err;
    rp_replay_note_difference(data, m->region.base + page * RP_PAGE_BYTES, contents, expected,
                              RP_PAGE_BYTES);
    return 0;
}

/** Compares with the state after the dispatch. */
static int replay_compare(struct rp_replay *r, struct rp_replay_verdict *ret, struct rp_err *err)
{
    struct rp_replay_verdict v = {0};
    int rc = rp_replay_look_at(r, compare_page, &v, err);

    for (size_t i = 0; i < r->memory_count; i++)
        if (&r->memory[i] != r->code) {
            v.bytes += r->memory[i].region.bytes;
            v.regions++;
        }
    if (rc == 0)
        rc = rp_replay_compare_variables(r, &v, err);
    if (rc == 0)
        *ret = v;
    return rc;
}

enum { PATIENCE_S = 600 };

static int say(const struct rp_err *err)
{
    rp_autobuf text = {0};

    rp_escape(&text, err->text);
    fprintf(stderr, "rocm-perf: %s\n", rp_buf_text(&text));
    fflush(NULL);
    return (int)err->code;
}

/* This is the answer of reserve-check. */
static int not_available(const struct rp_replay *r, const struct rp_replay_request *q,
                         const struct rp_err *err)
{
    if (q->o.json && err->code == RP_VERDICT) {
        printf("{\n  \"schema_version\": \"1.0\",\n  \"available\": false,\n  \"ranges\": %zu,\n"
               "  \"reason\": ",
               r->range_count);
        rp_replay_put_string(err->text);
        printf("\n}\n");
    }
    return say(err);
}

/* --- steps --------------------------------------------------------------------------------- */

/* The loader may by chance have put libraries in the way, so another process may succeed. */
static void take_ranges(struct rp_replay *r, const struct rp_replay_request *q)
{
    struct rp_err err = RP_ERR_INIT;

    if (rp_replay_reserve_ranges(r, &err) == 0)
        return;
    if (err.code == RP_VERDICT && q->o.may_retry)
        _exit(RP_REPLAY_AGAIN);
    _exit(q->o.action == RP_REPLAY_RESERVE_CHECK ? not_available(r, q, &err) : say(&err));
}

/* A thread of the runtime may take the range in the same way, between a placeholder and what
 * replaces it.
 */
static int map(struct rp_replay *r, const struct rp_replay_request *q, struct rp_err *err)
{
    const int rc = rp_replay_map(r, err);

    if (rc < 0 && r->taken && q->o.may_retry)
        _exit(RP_REPLAY_AGAIN);
    return rc;
}

/* This says which memory is restored before a run. */
enum restore { NOTHING, CHANGED, ALL };

static int one_run(struct rp_replay *r, const struct rp_replay_request *q,
                   struct rp_replay_result *result, bool kept, enum restore restore,
                   struct rp_err *err)
{
    double us;
    int rc = 0;

    if (restore == ALL)
        rc = rp_replay_fill(r, NULL, NULL, err);
    else if (restore == CHANGED)
        rc = rp_replay_restore(r, err);

    if (rc == 0 && kept && r->cache == RP_CACHE_WARM && restore != NOTHING) {
        rc = rp_replay_run(r, &us, err);
        if (rc == 0)
            rc = result->restored_all ? rp_replay_fill(r, NULL, NULL, err)
                                      : rp_replay_restore(r, err);
    }
    if (rc == 0)
        rc = rp_replay_empty_caches(r, err);
    if (rc == 0)
        rc = rp_replay_run(r, &us, err);
    if (rc == 0 && kept)
        result->samples[result->count++] = us;
    /* The first one from the captured state is what can be compared. */
    if (rc == 0 && q->o.verify && !result->verified && restore != NOTHING) {
        rc = replay_compare(r, &result->verdict, err);
        result->verified = rc == 0;
    }
    return rc;
}

/* Every run of a candidate is checked: one that computes once only is found out. */
static int one_trial(struct rp_replay_result *result, const struct rp_trial_run *how, bool kept,
                     struct rp_err *err)
{
    struct rp_replay_outcome outcome;
    double us;
    int rc = rp_trial_run(&result->trial, how, &us, &outcome, err);

    if (rc < 0)
        return rc;
    if (kept)
        result->samples[result->count++] = us;
    if (!result->wrong_runs)
        result->outcome = outcome;
    result->wrong_runs += outcome.verdict.different_pages != 0;
    result->checked_runs++;
    return 0;
}

/* Compares all memory after runs that were compared only where the captured kernel writes. */
static int check_late(struct rp_replay_result *result, struct rp_err *err)
{
    struct rp_replay_outcome outcome;
    int rc = rp_trial_check(&result->trial, &outcome, err);

    if (rc < 0 || result->wrong_runs || !outcome.verdict.different_pages)
        return rc;
    result->late = true;
    result->outcome = outcome;
    result->wrong_runs = 1;
    return 0;
}

/* Tests whether the kernel gives what the captured kernel gives from other numbers. */
static int other_inputs(struct rp_replay *r, const struct rp_replay_request *q,
                        struct rp_replay_result *result, struct rp_err *err)
{
    struct rp_variation_runs *v = &result->varied;
    struct rp_replay_outcome *const outcome = &result->varied_outcome;
    size_t who;
    int rc;

    *v = (struct rp_variation_runs){.trial = &result->trial, .inputs = q->o.inputs};
    if (result->wrong_runs)
        v->reason = "it is wrong with the captured ones";
    rc = rp_variation_run(v, 1, &outcome, &who, err);
    if (v->broke)
        _exit(RP_REPLAY_NO_PROBE);
    r->kernel = &r->candidates[0];
    return rc;
}

/* A candidate is judged by what the captured kernel does. */
static int check_accesses(struct rp_replay *r, const struct rp_replay_request *q,
                          struct rp_replay_result *result, struct rp_err *err)
{
    const char *const names[] = {"the captured kernel", "it"};
    const struct rp_replay_kernel *failed;

    result->checks.asked = q->o.check;
    return rp_check_runs_do(&result->checks, &result->trial, q->candidates[0] ? &r->original : NULL,
                            q->candidates[0] ? &r->candidates[0] : &r->original, names, &failed,
                            err);
}

static int trials(struct rp_replay *r, const struct rp_replay_request *q,
                  struct rp_replay_result *result, struct rp_err *err)
{
    int rc;

    rp_replay_at(r, RP_REPLAY_AT_CHECKING, 0, 0);
    result->trial = (struct rp_replay_trial){.r = r,
                                             .rule = q->rule,
                                             .own_spread = !q->o.compare,
                                             .probe = q->o.probe,
                                             .not_varied = q->o.inputs_left_out,
                                             .left_out = q->o.changes_left_out,
                                             .no_poison = q->o.no_poison,
                                             .inputs = q->o.inputs};
    rc = rp_trial_prepare(&result->trial, err);
    /* A queue with a kernel that does not end is lost, and this process with it. */
    if (result->trial.probe_broke)
        _exit(RP_REPLAY_NO_PROBE);
    /* The first ones find its variables as they were left, later ones as they were loaded. */
    for (unsigned i = 0; i < RP_TRIAL_FIRST_RUNS && rc == 0; i++)
        rc = one_trial(result, &rp_trial_first[i], false, err);
    for (unsigned long i = 0; i < q->o.warmup + q->o.iterations && rc == 0; i++) {
        rp_replay_at(r, RP_REPLAY_AT_RUNS, i, q->o.warmup + q->o.iterations);
        rc = one_trial(result, &rp_trial_timed, i >= q->o.warmup, err);
    }
    rp_replay_at(r, RP_REPLAY_AT_OTHERS, 0, 0);
    if (rc == 0)
        rc = check_late(result, err);
    result->verified = rc == 0;
    result->verdict = result->outcome.verdict;
    if (rc == 0)
        rc = check_accesses(r, q, result, err);
    return rc < 0 ? rc : other_inputs(r, q, result, err);
}

static int find_outside(void *data, const struct rp_capture_memory *m, uint64_t page,
                        const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    bool *outside = data;

    (void)err;
    if (!*outside && memcmp(contents, expected, RP_PAGE_BYTES) != 0)
        *outside = !rp_replay_is_restored(m, page);
    return 0;
}

static int run_all(struct rp_replay *r, const struct rp_replay_request *q,
                   struct rp_replay_result *result, enum restore restore, struct rp_err *err)
{
    int rc = 0;

    for (unsigned long i = 0; i < q->o.warmup + q->o.iterations && rc == 0; i++) {
        rp_replay_at(r, RP_REPLAY_AT_RUNS, i, q->o.warmup + q->o.iterations);
        rc = one_run(r, q, result, i >= q->o.warmup, i == 0 ? ALL : restore, err);
    }
    return rc;
}

/* Tests whether pages that are not restored between runs differ from the state before the
 * dispatch.
 */
static int check_rest(struct rp_replay *r, bool *ret, struct rp_err *err)
{
    struct rp_replay_verdict variables = {0};
    bool outside = false;
    int rc = rp_replay_look_at(r, find_outside, &outside, err);

    if (rc == 0 && r->code && !r->code->changed_pages)
        rc = rp_replay_compare_variables(r, &variables, err);
    if (rc == 0)
        *ret = outside || variables.different_bytes;
    return rc;
}

/* Between runs only pages are restored that the captured dispatch changed. That suffices if no
 * other page has changed after all of the runs.
 */
static int runs(struct rp_replay *r, const struct rp_replay_request *q,
                struct rp_replay_result *result, struct rp_err *err)
{
    bool outside = false;
    int rc = run_all(r, q, result, q->o.no_recopy ? NOTHING : CHANGED, err);

    if (rc == 0 && !q->o.no_recopy && q->o.warmup + q->o.iterations > 1)
        rc = check_rest(r, &outside, err);
    if (rc < 0 || !outside)
        return rc;
    fprintf(stderr,
            "rocm-perf: note: the kernel changes pages here that the captured dispatch left; "
            "once more, with all memory restored between runs\n");
    result->count = 0;
    result->verified = false;
    result->restored_all = true;
    return run_all(r, q, result, ALL, err);
}

static int load(struct rp_replay *r, const struct rp_replay_request *q, struct rp_err *err)
{
    int rc;

    rp_replay_at(r, RP_REPLAY_AT_LOADING, 0, 0);
    rc = map(r, q, err);
    if (rc == 0)
        rc = rp_replay_prepare_cache(r, err);
    if (rc == 0)
        rc = rp_replay_load_kernels(r, q->code, q->candidates, q->kernarg, err);
    return rc;
}

static int full_vm(struct rp_replay *r, const struct rp_replay_request *q,
                   struct rp_replay_result *result, struct rp_err *err)
{
    int rc = load(r, q, err);

    result->samples = rp_alloc_zero(q->o.iterations, sizeof *result->samples);
    if (rc == 0 && q->candidates[0] && !q->o.traced)
        return trials(r, q, result, err);
    if (rc == 0 && q->candidates[0])
        r->kernel = &r->candidates[0];
    if (rc == 0)
        rc = runs(r, q, result, err);
    result->trial = (struct rp_replay_trial){.r = r, .leftovers = true};
    return rc < 0 ? rc : check_accesses(r, q, result, err);
}

/* --- life ---------------------------------------------------------------------------------- */

static int parse(char *const *argv, struct rp_replay_request *q, struct rp_err *err)
{
    int rc = rp_replay_options_parse(argv, &q->o, err);

    if (rc == 0 && q->o.compare)
        rc = rp_compare_rule_parse(q->o.compare, &q->rule, err);
    if (rc < 0)
        return rc;
    if (!q->o.inputs)
        q->o.inputs = "none";
    q->candidates[0] = q->o.hsaco;
    q->candidates[1] = q->o.other;
    q->code = rp_path_join(q->o.capture_dir, RP_CAPTURE_CODE_FILE);
    q->kernarg = rp_path_join(q->o.capture_dir, RP_CAPTURE_KERNARG_FILE);
    return 0;
}

static int reserve_check(const struct rp_replay *r, const struct rp_replay_request *q)
{
    if (q->o.json)
        printf("{\n  \"schema_version\": \"1.0\",\n  \"available\": true,\n  \"ranges\": %zu,\n  "
               "\"reason\": null\n}\n",
               r->range_count);
    else
        printf("all %zu ranges can be had at their addresses\n", r->range_count);
    return RP_OK;
}

static void warn(const struct rp_replay *r)
{
    size_t count;

    count = rp_capture_contents(r->capture)->refusal_count;
    if (count)
        fprintf(stderr, "rocm-perf: note: %zu regions are not in this capture (coverage.json)\n",
                count);
}

/* An end before the kernel is loaded has its cause in this machine. */
static int self_check(struct rp_replay *r, const struct rp_replay_request *q)
{
    struct rp_replay_self_check check = {0};
    struct rp_err err = RP_ERR_INIT;

    /* The replay runs on the kind of device that the capture was made on. */
    r->software = rp_capture_contents(r->capture)->facts.software;
    if (map(r, q, &err) < 0)
        return say(&err);
    self_check_run(r, q->code, q->kernarg, (unsigned)q->o.iterations, &check);
    self_check_print(&check, r, q->o.rocm_version ? q->o.rocm_version : "");
    return RP_OK;
}

static int gate(const struct rp_replay_request *q, const struct rp_replay_comparison *c)
{
    if (c->wrong)
        return RP_VERDICT;
    switch (rp_decide_gate(&c->decided, c->margin, (enum rp_gate)q->o.gate)) {
    case RP_GATE_PASSED:
        return q->o.gate != RP_GATE_NONE && rp_replay_comparison_is_blind(c) ? RP_REPLAY_UNDECIDED
                                                                             : RP_OK;
    case RP_GATE_FAILED:
        return RP_VERDICT;
    default:
        return RP_REPLAY_UNDECIDED;
    }
}

static int compare(struct rp_replay *r, const struct rp_replay_request *q)
{
    struct rp_replay_comparison c = {.trial = {.r = r,
                                               .rule = q->rule,
                                               .own_spread = !q->o.compare,
                                               .probe = q->o.probe,
                                               .not_varied = q->o.inputs_left_out,
                                               .left_out = q->o.changes_left_out,
                                               .no_poison = q->o.no_poison,
                                               .inputs = q->o.inputs},
                                     .varied = {.trial = &c.trial, .inputs = q->o.inputs},
                                     .checks = {.asked = q->o.check},
                                     .most_blocks = q->o.iterations,
                                     .asked_margin = q->o.margin / 100};
    struct rp_err err = RP_ERR_INIT;
    int rc = load(r, q, &err);

    if (rc == 0)
        rc = rp_replay_comparison_run(&c, &err);
    if (c.trial.probe_broke || c.varied.broke)
        _exit(RP_REPLAY_NO_PROBE);
    if (rc < 0)
        return say(&err);
    rp_comparison_print(r, q, &c);
    return gate(q, &c);
}

int main(int argc, char **argv)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_replay r = {.patience_s = PATIENCE_S};
    struct rp_replay_result result = {0};
    struct rp_replay_request q = {0};
    int rc;

    if (argc < 2) {
        fprintf(stderr, "rocm-perf-replay is started by rocm-perf replay\n");
        return RP_USAGE;
    }
    if (parse(argv + 1, &q, &err) < 0) {
        rp_wrap(&err, "rocm-perf-replay");
        return say(&err);
    }
    r.cache = (enum rp_cache)q.o.cache;
    r.software = q.o.timing != NULL;
    r.timing = q.o.timing;
    r.launch_of = q.o.launch_of;
    r.traced = q.o.traced;
    r.step_fd = q.o.step_fd;
    if (rp_capture_open(q.o.capture_dir, &r.capture, &err) < 0)
        _exit(say(&err));
    take_ranges(&r, &q);
    if (q.o.action != RP_REPLAY_SELF_CHECK)
        warn(&r);
    if (rp_replay_find_device(&r, q.o.hsa_library, &err) < 0)
        _exit(say(&err));
    if (q.o.action == RP_REPLAY_RESERVE_CHECK) {
        rc = map(&r, &q, &err) < 0 ? not_available(&r, &q, &err) : reserve_check(&r, &q);
    } else if (q.o.action == RP_REPLAY_SELF_CHECK) {
        rc = self_check(&r, &q);
    } else if (q.o.action == RP_REPLAY_COMPARE) {
        rc = compare(&r, &q);
    } else if (full_vm(&r, &q, &result, &err) < 0) {
        rc = say(&err);
    } else {
        rp_replay_print(&r, &q, &result);
        rc = (result.verified && result.verdict.different_pages) ||
                     result.varied_outcome.verdict.different_bytes || result.checks.words
                 ? RP_VERDICT
                 : RP_OK;
    }
    if (fflush(stdout) == EOF)
        rc = RP_ENVIRONMENT;
    /* A tracer writes down what it has at the end of the process. */
    if (q.o.traced)
        exit(rc);
    /* Memory of the capture lies where the runtime's own may lie now: nothing is taken down. */
    _exit(rc);
}
