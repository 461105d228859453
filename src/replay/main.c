/**
 * @file main.c
 * @brief rocm-perf-replay: started by rocm-perf replay, in the environment of the ROCm in use.
 *
 * usage: rocm-perf-replay ACTION CAPTURE HSA_LIBRARY ROCM_VERSION ITERATIONS WARMUP FLAGS
 * FLAGS: letters; j JSON, v compare with the state after the dispatch, s memory is not restored, a
 * end with RP_REPLAY_AGAIN and without a word when a range is taken; - stands for none
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "capture/capture_files.h"
#include "capture/replay_again.h"
#include "replay/replay.h"

struct request {
    const char *action, *folder, *library, *rocm;
    unsigned long iterations, warmup;
    bool json, verify, stateful, again;
    char *hsaco, *kernarg;
};

struct result {
    double *samples;
    unsigned long count;
    bool verified;
    struct rp_replay_verdict verdict;
};

static int say(const struct rp_err *err)
{
    fprintf(stderr, "rocm-perf: %s\n", err->text);
    fflush(NULL);
    return (int)err->code;
}

/* --- steps --------------------------------------------------------------------------------- */

/* Where the loader has put libraries by chance may be in the way: another process, another chance.
 */
static void take_ranges(struct rp_replay *r, const struct request *q)
{
    struct rp_err err = RP_ERR_INIT;

    if (rp_replay_take_ranges(r, &err) < 0)
        _exit(err.code == RP_VERDICT && q->again ? RP_REPLAY_AGAIN : say(&err));
}

static int one_run(struct rp_replay *r, const struct request *q, struct result *result, bool kept,
                   bool restore, struct rp_err *err)
{
    double us;
    int rc = restore ? rp_replay_fill(r, err) : 0;

    if (rc == 0)
        rc = rp_replay_run(r, &us, err);
    if (rc == 0 && kept)
        result->samples[result->count++] = us;
    /* The first one from the captured state is what can be compared. */
    if (rc == 0 && q->verify && !result->verified && restore) {
        rc = rp_replay_compare(r, &result->verdict, err);
        result->verified = rc == 0;
    }
    return rc;
}

static int full_vm(struct rp_replay *r, const struct request *q, struct result *result,
                   struct rp_err *err)
{
    int rc = rp_replay_map(r, err);

    if (rc == 0)
        rc = rp_replay_load_kernel(r, q->hsaco, q->kernarg, err);
    result->samples = calloc(q->iterations + 1, sizeof *result->samples);
    if (!result->samples)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (unsigned long i = 0; i < q->warmup + q->iterations && rc == 0; i++)
        rc = one_run(r, q, result, i >= q->warmup, i == 0 || !q->stateful, err);
    return rc;
}

/* --- output -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct summary {
    double average, min, max, median;
};

static struct summary sum_up(const struct result *result)
{
    rp_autofree double *sorted = calloc(result->count + 1, sizeof *sorted);
    struct summary s = {0};
    const size_t n = result->count;

    if (!sorted || n == 0)
        return s;
    memcpy(sorted, result->samples, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++)
        s.average += sorted[i] / (double)n;
    s.min = sorted[0];
    s.max = sorted[n - 1];
    s.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    return s;
}

static void put_string(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", *text);
        else
            putchar(*text);
    putchar('"');
}

static void print_verdict_json(const struct result *result)
{
    const struct rp_replay_verdict *v = &result->verdict;

    if (!result->verified) {
        printf("  \"verify\": null\n");
        return;
    }
    printf("  \"verify\": {\n    \"equal\": %s,\n    \"regions\": %" PRIu64
           ",\n    \"bytes\": %" PRIu64 ",\n    \"different_pages\": %" PRIu64
           ",\n    \"first_difference\": ",
           v->different_pages ? "false" : "true", v->regions, v->bytes, v->different_pages);
    if (v->different_pages)
        printf("{\"address\": \"0x%" PRIx64 "\", \"got\": %u, \"expected\": %u}\n  }\n",
               v->first_address, v->got, v->expected);
    else
        printf("null\n  }\n");
}

static void print_json(const struct rp_replay *r, const struct request *q,
                       const struct result *result)
{
    const struct summary s = sum_up(result);

    printf("{\n  \"schema_version\": \"1.0\",\n  \"kernel\": {\n    \"name\": ");
    put_string(r->facts->name);
    printf(",\n    \"hsaco_path\": ");
    put_string(q->hsaco);
    printf("\n  },\n  \"execution\": {\n    \"iterations\": %lu,\n    \"warmup\": %lu,\n"
           "    \"mode\": \"%s\"\n  },\n",
           q->iterations, q->warmup, q->stateful ? "stateful" : "stateless");
    printf("  \"timing\": {\n    \"unit\": \"us\",\n    \"average\": %.3f,\n    \"min\": %.3f,\n"
           "    \"max\": %.3f,\n    \"median\": %.3f,\n    \"samples\": [",
           s.average, s.min, s.max, s.median);
    for (unsigned long i = 0; i < result->count; i++)
        printf("%s%.3f", i ? ", " : "", result->samples[i]);
    printf("]\n  },\n  \"environment\": {\n    \"gpu_agent\": ");
    put_string(r->gpu_name);
    printf(",\n    \"rocm_version\": ");
    put_string(q->rocm);
    printf(",\n    \"pid\": %d\n  },\n", (int)getpid());
    print_verdict_json(result);
    printf("}\n");
}

static void print_text(const struct rp_replay *r, const struct request *q,
                       const struct result *result)
{
    const struct rp_replay_verdict *v = &result->verdict;
    const struct summary s = sum_up(result);

    printf("%s on %s\n%lu runs: median %.3f us, average %.3f, min %.3f, max %.3f\n", r->facts->name,
           r->gpu_name, q->iterations, s.median, s.average, s.min, s.max);
    if (result->verified && !v->different_pages)
        printf("memory after it is as captured: %" PRIu64 " bytes in %" PRIu64 " regions\n",
               v->bytes, v->regions);
    else if (result->verified)
        printf("memory after it is not as captured: %" PRIu64 " pages differ, first at 0x%" PRIx64
               ": %02x instead of %02x\n",
               v->different_pages, v->first_address, v->got, v->expected);
}

/* --- life ---------------------------------------------------------------------------------- */

static int parse(int argc, char **argv, struct request *q)
{
    const char *flags;

    if (argc != 8)
        return -1;
    flags = argv[7];
    *q = (struct request){.action = argv[1],
                          .folder = argv[2],
                          .library = argv[3],
                          .rocm = argv[4],
                          .iterations = strtoul(argv[5], NULL, 10),
                          .warmup = strtoul(argv[6], NULL, 10),
                          .json = strchr(flags, 'j'),
                          .verify = strchr(flags, 'v'),
                          .stateful = strchr(flags, 's'),
                          .again = strchr(flags, 'a')};
    q->hsaco = rp_path_join(q->folder, RP_CAPTURE_CODE_FILE);
    q->kernarg = rp_path_join(q->folder, RP_CAPTURE_KERNARG_FILE);
    return q->hsaco && q->kernarg ? 0 : -1;
}

static int reserve_check(const struct rp_replay *r, const struct request *q)
{
    if (q->json)
        printf("{\n  \"schema_version\": \"1.0\",\n  \"available\": true,\n  \"ranges\": %zu\n}\n",
               r->range_count);
    else
        printf("all %zu ranges can be had at their addresses\n", r->range_count);
    return RP_OK;
}

static void warn(const struct rp_replay *r)
{
    size_t count;

    rp_capture_get_refusals(r->capture, &count);
    if (count)
        fprintf(stderr, "rocm-perf: note: %zu regions are not in this capture (coverage.json)\n",
                count);
}

int main(int argc, char **argv)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_replay r = {0};
    struct result result = {0};
    struct request q;
    int rc;

    if (parse(argc, argv, &q) < 0) {
        fprintf(stderr, "rocm-perf-replay is started by rocm-perf replay\n");
        return RP_USAGE;
    }
    if (rp_capture_open(q.folder, &r.capture, &err) < 0 || rp_replay_plan(&r, &err) < 0)
        _exit(say(&err));
    take_ranges(&r, &q);
    warn(&r);
    if (rp_replay_load_runtime(&r, q.library, &err) < 0 || rp_replay_find_device(&r, &err) < 0)
        _exit(say(&err));
    if (strcmp(q.action, "reserve-check") == 0) {
        rc = rp_replay_map(&r, &err) < 0 ? say(&err) : reserve_check(&r, &q);
    } else if (full_vm(&r, &q, &result, &err) < 0) {
        rc = say(&err);
    } else {
        (q.json ? print_json : print_text)(&r, &q, &result);
        rc = result.verified && result.verdict.different_pages ? RP_VERDICT : RP_OK;
    }
    if (fflush(stdout) == EOF)
        rc = RP_ENVIRONMENT;
    /* Memory of the capture lies where the runtime's own may lie now: nothing is taken down. */
    _exit(rc);
}
