/* Steps of the self-test that put a GPU beside its model: streams, approximations, rates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/selftest.h"
#include "cli/selftest_steps.h"
#include "trace/rocpd.h"

static void add_sizes(const unsigned *sizes, size_t count, struct rp_workload_words *words)
{
    for (size_t i = 0; i < count; i++)
        rp_workload_word(words, "%u", sizes[i]);
}

/* Times of the second half of the launches: the first ones made their queues. */
static int overlap_values(struct rp_selftest *test, const char *name, const char *prefix,
                          json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s/trace_results.db", test->work.folder, name);
    rp_autofree char *key = rp_format("%soverlap", prefix);
    struct rp_store *store = NULL;
    struct rp_workload_trace trace = {0};
    int64_t begin = INT64_MAX, end = 0, sum = 0;
    size_t launches = 0;
    int rc = rp_store_open(path, &store, err);

    if (rc == 0)
        rc = rp_workload_read_trace(store, &trace, err);
    for (size_t i = 0; rc == 0 && i < trace.dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace.dispatches[i];

        if (!rp_workload_is_named(&trace, d, RP_SELFTEST_KNOWN) ||
            ++launches <= test->sizes.streams)
            continue;
        begin = d->start_ns < begin ? d->start_ns : begin;
        end = d->end_ns > end ? d->end_ns : end;
        sum += d->end_ns - d->start_ns;
    }
    rp_store_close(store);
    if (!*prefix)
        rp_selftest_put(values, "launches", (double)launches);
    rp_selftest_put(values, key, end > begin ? (double)sum / (double)(end - begin) : NAN);
    return rc;
}

static int profile_overlap(struct rp_selftest *test, bool model, const char *name,
                           struct rp_err *err)
{
    const unsigned sizes[] = {test->sizes.overlap_blocks,
                              (model ? test->modelled : test->sizes).overlap_rounds,
                              test->sizes.streams};
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_suite(&test->work, "profile", &words);
    (model ? rp_workload_add_model : rp_workload_add_device)(&test->work, &words);
    for (const char *const *each = (const char *const[]){"--runs", "1", "--quiet", "--tracer",
                                                         "builtin", "-o", name, NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_workload_add(&test->work, "overlap", name, &words);
    add_sizes(sizes, 3, &words);
    return rp_workload_run(&test->work, name, &words, NULL, err);
}

/* Whether there is a model of this GPU to compare with. */
static bool is_modelled(const struct rp_selftest *test)
{
    return !test->work.arch.software_refusal && test->work.env->device_library;
}

int rp_selftest_overlap(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    int rc = profile_overlap(test, false, "overlap", err);

    rp_selftest_put(values, "launches_expected", test->sizes.streams * 2.0);
    rp_selftest_put(values, "streams", test->sizes.streams);
    if (rc == 0)
        rc = overlap_values(test, "overlap", "", values, err);
    if (rc == 0 && is_modelled(test))
        rc = profile_overlap(test, true, "overlap_model", err);
    if (rc == 0 && is_modelled(test))
        rc = overlap_values(test, "overlap_model", "modelled_", values, err);
    return rc;
}

enum { FUNCTIONS = 7, APPROXIMATION_BLOCKS = 16 };

static int approximate(struct rp_selftest *test, bool model, const char *name, void **ret,
                       size_t *ret_bytes, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    rp_autofree char *path = rp_format("%s/%s.floats", test->work.folder, name);
    int rc;

    rp_workload_suite(&test->work, "run", &words);
    (model ? rp_workload_add_model : rp_workload_add_device)(&test->work, &words);
    rp_workload_add(&test->work, "approximate", name, &words);
    rp_workload_word(&words, "%d", APPROXIMATION_BLOCKS);
    rp_workload_word(&words, "%s", path);
    rc = rp_workload_run(&test->work, name, &words, NULL, err);
    return rc < 0 ? rc : rp_read_file(path, 1 << 20, RP_PROGRAM, ret, ret_bytes, err);
}

/* Neighbouring numbers of one sign have neighbouring bits. */
static double steps_between(uint32_t a, uint32_t b)
{
    return (a ^ b) >> 31 ? INFINITY : fabs((double)a - (double)b);
}

static void compare_bits(const uint32_t *got, const uint32_t *modelled, size_t count,
                         json_t *values)
{
    static const char *const functions[FUNCTIONS] = {"rcp",  "sqrt", "rsq", "exp2",
                                                     "log2", "sin",  "cos"};
    const size_t each = count / FUNCTIONS;
    double different = 0;

    for (size_t f = 0; f < FUNCTIONS; f++) {
        double its = 0, most = 0;
        char name[32];

        for (size_t i = f * each; i < (f + 1) * each; i++) {
            its += got[i] != modelled[i];
            most = fmax(most, steps_between(got[i], modelled[i]));
        }
        different += its;
        snprintf(name, sizeof name, "%s_different", functions[f]);
        rp_selftest_put(values, name, its);
        snprintf(name, sizeof name, "%s_most_ulp", functions[f]);
        rp_selftest_put(values, name, most);
    }
    rp_selftest_put(values, "different", different);
}

int rp_selftest_approximations(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree void *got = NULL;
    rp_autofree void *modelled = NULL;
    size_t bytes = 0, modelled_bytes = 0;
    int rc = approximate(test, false, "approximations", &got, &bytes, err);

    if (rc < 0)
        return rc;
    rp_selftest_put(values, "numbers", (double)bytes / 4);
    rp_selftest_put(values, "numbers_expected",
                    (double)FUNCTIONS * APPROXIMATION_BLOCKS * RP_SELFTEST_BLOCK);
    json_object_set_new(values, "different", json_null());
    if (!is_modelled(test))
        return 0;
    rc = approximate(test, true, "approximations_model", &modelled, &modelled_bytes, err);
    if (rc == 0 && bytes == modelled_bytes)
        compare_bits(got, modelled, bytes / 4, values);
    return rc;
}

static int run_rates(struct rp_selftest *test, bool model, const char *name,
                     struct rp_selftest_said *ret, struct rp_err *err)
{
    const struct rp_selftest_sizes *s = model ? &test->modelled : &test->sizes;
    const unsigned sizes[] = {s->blocks,
                              s->launches,
                              s->copy_mib,
                              s->cache_rounds,
                              s->lds_rounds,
                              s->fma_rounds,
                              rp_selftest_has_matrix(test) ? s->matrix_rounds : 0};
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    int rc;

    rp_workload_suite(&test->work, "run", &words);
    (model ? rp_workload_add_model : rp_workload_add_device)(&test->work, &words);
    rp_workload_add(&test->work, "rates", name, &words);
    add_sizes(sizes, sizeof sizes / sizeof *sizes, &words);
    rc = rp_workload_run(&test->work, name, &words, NULL, err);
    return rc < 0 ? rc : rp_selftest_read_said(test, name, ret, err);
}

/* Gigabytes and thousands of millions of operations a second: work by ms. */
static void rate_values(const struct rp_selftest_sizes *s, const struct rp_selftest_said *said,
                        const char *prefix, json_t *values)
{
    const double items = (double)s->blocks * RP_SELFTEST_BLOCK, waves = items / 64;
    const struct {
        const char *name;
        double work;
    } rates[RP_SELFTEST_RATES] = {
        {"copy_gbps", 2.0 * s->copy_mib * (1 << 20)},
        {"l2_gbps", items * s->cache_rounds * 8 * 16},
        {"lds_gbps", items * s->lds_rounds * 8 * 16},
        {"fma_gflops", items * s->fma_rounds * 32 * 2},
        {"matrix_gflops", waves * s->matrix_rounds * 4 * 32 * 32 * 8 * 2},
    };

    for (size_t i = 0; i < RP_SELFTEST_RATES; i++) {
        rp_autofree char *name = rp_format("%s%s", prefix, rates[i].name);

        rp_selftest_put(values, name, rates[i].work / (said->ms[i] * 1e6));
    }
}

int rp_selftest_model(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    struct rp_selftest_said said, modelled = {0};
    int rc = run_rates(test, false, "rates", &said, err);

    if (rc < 0)
        return rc;
    rate_values(&test->sizes, &said, "", values);
    if (is_modelled(test)) {
        rc = run_rates(test, true, "rates_model", &modelled, err);
        if (rc < 0)
            return rc;
        rate_values(&test->modelled, &modelled, "modelled_", values);
    }
    rp_selftest_put(values, "wrong", said.wrong + modelled.wrong);
    return 0;
}
