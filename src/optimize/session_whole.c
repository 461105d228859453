/* What all that was accepted brings: the program of the source as it was and that of the result,
 * in fresh interleaved runs. Times of the sessions by which candidates were chosen are not used:
 * the best of many is chosen for its luck, too. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/session_parts.h"

/* The least and the largest of six ratios have their median between them with
 * 1 - 2 / 2^6 = 96.9 %, whatever the distribution. */
enum { PAIRS_ON_A_GPU = 6 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/** @return NULL when a run has no time */
static json_t *whole_json(const struct rp_application_times *times)
{
    double ratios[PAIRS_ON_A_GPU];
    size_t count = json_array_size(times->runs);

    for (size_t i = 0; i < count; i++) {
        const json_t *run = json_array_get(times->runs, i);
        const double after = json_number_value(json_object_get(run, "after_ms"));

        if (i == PAIRS_ON_A_GPU || !(after > 0))
            return NULL;
        ratios[i] = json_number_value(json_object_get(run, "before_ms")) / after;
    }
    if (!count)
        return NULL;
    qsort(ratios, count, sizeof *ratios, by_value);
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:O, s:O}", "before_ms", times->before_ms,
                     "after_ms", times->after_ms, "speedup",
                     (ratios[(count - 1) / 2] + ratios[count / 2]) / 2, "low", ratios[0], "high",
                     ratios[count - 1], "runs", times->runs, "slower_kernels", times->slower);
}

static int measure(struct rp_session *s, const char *before, const char *key, struct rp_err *err)
{
    struct rp_application_times times = {0};
    rp_autofree char *why = NULL;
    char hash[RP_SHA256_TEXT];
    json_t *json;
    int rc;

    rp_session_say(s, "measuring the program as it was against the result");
    rc = rp_application_times(&s->measure, before, s->rebuilt, "", s->modelled ? 1 : PAIRS_ON_A_GPU,
                              rp_most_harm(s->o->least_improvement), &times, &why, err);
    if (rc == 0 && why)
        rc = rp_fail(err, RP_PROGRAM, "with the changes: %s", why);
    if (rc < 0)
        return rc;
    json = whole_json(&times);
    rp_application_times_free(&times);
    if (!json)
        return rp_fail(err, RP_BAD_INPUT, "the program's dispatches have no times");
    rc = rp_sha256_file(s->rebuilt, hash, err);
    if (rc < 0) {
        json_decref(json);
        return rc;
    }
    return rp_journal_add(s->journal, "whole", key,
                          json_pack("{s:s, s:o}", "program_sha256", hash, "program", json), err);
}

int rp_session_measure_whole(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *before = rp_path_join(s->o->folder, "program");
    rp_autofree char *key = rp_format("%zu", json_array_size(s->accepted));
    const json_t *data;
    int rc = 0;

    if (!before || !key)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    data = rp_journal_find(s->journal, "whole", key);
    if (!data || !rp_session_is_file(s->rebuilt, data, "program_sha256"))
        rc = measure(s, before, key, err);
    if (rc < 0)
        return rp_wrap(err, "the program before and after all changes");
    data = rp_journal_find(s->journal, "whole", key);
    s->whole = json_incref(json_object_get(data, "program"));
    return 0;
}
