#include "tune/search_journal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/sha256.h"
#include "tune/space.h"
#include "tune/strategy.h"

static const char format[] = "rocm-perf-autotune 2";

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* --- what an answer means --------------------------------------------------------------------- */

/** How the software device runs programs; modelled times do not depend on it. */
static const char *threads_of(const struct rp_search_identity *of)
{
    return strcmp(of->runner->device.kind, "software") == 0 && !of->runner->exact
               ? getenv("ROCM_PERF_DEVICE_THREADS")
               : NULL;
}

/** What is run, as far as texts say it; they need not be UTF-8. */
static bool add_texts(const struct rp_search_identity *of, json_t *to)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"command", of->live->command},      {"build", of->live->build},
                 {"check", of->live->check},          {"pattern", of->live->pattern},
                 {"recording_sha256", of->recording}, {"threads", threads_of(of)}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text &&
            json_object_set_new(to, texts[i].key,
                                rp_journal_string(texts[i].text, strlen(texts[i].text))) < 0)
            return false;
    return true;
}

/** All that decides what comes of a configuration: --resume with others is refused. */
static json_t *meaning_of(const struct rp_search_identity *of)
{
    const struct rp_run_device *device = &of->runner->device;
    json_t *json = json_pack(
        "{s:s,s:s,s:f,s:i,s:I,s:i,s:s,s:s,s:s,s:s}", "format", format, "objective", of->objective,
        "unit_ns", of->live->unit_ns, "flags", (int)of->live->flags, "memory_bytes",
        (json_int_t)of->live->memory_bytes, "warmups", (int)of->search->warmups, "device",
        device->kind, "device_name", device->name, "timing", device->timing, "rocm", device->rocm);

    if (json && device->timing_version &&
        json_object_set_new(json, "timing_version", json_integer(device->timing_version)) < 0) {
        json_decref(json);
        return NULL;
    }
    if (json && !add_texts(of, json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* --- what is asked ---------------------------------------------------------------------------- */

/** The parameters as they were given, and which of their combinations there are. */
static void hash_space(const struct rp_space *space, char ret[RP_SHA256_TEXT])
{
    rp_autobuf text = {0};
    char choices[RP_SHA256_TEXT];

    rp_sha256(space->choices, space->count * space->parameter_count * sizeof *space->choices,
              choices);
    rp_buf_puts(&text, choices);
    for (size_t i = 0; i < space->parameter_count; i++) {
        rp_buf_printf(&text, "\n%s", space->parameters[i].name);
        for (size_t j = 0; j < space->parameters[i].count; j++) {
            rp_buf_printf(&text, "%c%d", 0, (int)space->parameters[i].values[j].kind);
            rp_value_text(&space->parameters[i].values[j], &text);
        }
    }
    rp_sha256(rp_buf_text(&text), text.len, ret);
}

static bool add_first(const struct rp_search_options *search, json_t *to)
{
    json_t *list = json_array();

    for (size_t i = 0; i < search->first_count; i++)
        if (!list || json_array_append_new(list, json_integer(search->first[i])) < 0)
            break;
    return json_object_set_new(to, "first", list) == 0 &&
           json_array_size(list) == search->first_count;
}

/** What a search asks: --resume with others asks otherwise, and has the answers that are there. */
static json_t *questions_of(const struct rp_search_identity *of)
{
    const struct rp_search_options *s = of->search;
    char space[RP_SHA256_TEXT];
    json_t *json;

    hash_space(s->space, space);
    json = json_pack("{s:s,s:i,s:s,s:I,s:f,s:I,s:f,s:f,s:I,s:I,s:f,s:i,s:i,s:i}", "space_sha256",
                     space, "workers", (int)of->runner->workers, "strategy", s->strategy->name,
                     "seed", (json_int_t)s->seed, "max_fraction", s->max_fraction, "budget_evals",
                     (json_int_t)s->budget_evals, "budget_ms", s->budget_ms, "target_ms",
                     s->target_ms, "patience", (json_int_t)s->patience, "most_failures",
                     (json_int_t)s->most_failures, "timeout_ms", s->timeout_ms, "least_samples",
                     (int)s->least_samples, "most_samples", (int)s->most_samples, "finalists",
                     (int)s->finalists);
    if (json && !add_first(s, json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* --- what differs ----------------------------------------------------------------------------- */

/** What a user calls it. */
static const char *option_of(const char *key)
{
    static const struct {
        const char *key, *option;
    } options[] = {
        {"command", "--cmd-template"},
        {"build", "--build"},
        {"check", "--check"},
        {"pattern", "--output-regex"},
        {"unit_ns", "--output-unit"},
        {"flags", "--shell or --env"},
        {"memory_bytes", "--memory"},
        {"warmups", "--warmup"},
        {"threads", "--threads"},
        {"timing_version", "the version of the model of time"},
        {"recording_sha256", "what --simulate has recorded"},
        {"space_sha256", "--space"},
        {"workers", "--workers"},
        {"strategy", "--strategy"},
        {"seed", "--seed"},
        {"max_fraction", "--max-fraction"},
        {"budget_evals", "--budget-evals"},
        {"budget_ms", "--budget-time"},
        {"target_ms", "--target-ms"},
        {"patience", "--patience"},
        {"most_failures", "--max-failures"},
        {"timeout_ms", "--timeout"},
        {"least_samples", "least of --repeats"},
        {"most_samples", "most of --repeats"},
        {"finalists", "--top"},
        {"first", "--import"},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].key, key) == 0)
            return options[i].option;
    return key;
}

static bool same(const json_t *a, const json_t *b)
{
    /* as texts: numbers in the journal went through one */
    rp_autofree char *first = a ? json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    rp_autofree char *second = b ? json_dumps(b, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    return first && second ? strcmp(first, second) == 0 : first == second;
}

/** Of long values, and of those that are none for people, nothing. */
static void put_value(const char *key, const json_t *value, struct rp_buf *to)
{
    enum { MOST_VALUE = 60 };
    rp_autofree char *text =
        value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12)) : NULL;

    if (!text)
        rp_buf_puts(to, "not given");
    else if (strlen(text) <= MOST_VALUE && !strstr(key, "_sha256"))
        rp_buf_puts(to, text);
    else
        rp_buf_puts(to, "another one");
}

static void put_difference(const char *key, const json_t *then, const json_t *now, bool values,
                           struct rp_buf *to)
{
    if (same(then, now))
        return;
    rp_buf_printf(to, "%s%s", to->len ? values ? "; " : ", " : "", option_of(key));
    if (!values)
        return;
    rp_buf_puts(to, " was ");
    put_value(key, then, to);
    if (strstr(key, "_sha256"))
        return;
    rp_buf_puts(to, ", is ");
    put_value(key, now, to);
}

static void put_differences(const json_t *then, json_t *now, bool values, struct rp_buf *to)
{
    const char *key;
    json_t *value;

    json_object_foreach(now, key, value)
        put_difference(key, json_object_get(then, key), value, values, to);
    json_object_foreach((json_t *)then, key, value)
    {
        if (!json_object_get(now, key) && strcmp(key, "search") != 0)
            put_difference(key, value, NULL, values, to);
    }
}

static int compare_meaning(const json_t *then, const struct rp_search_identity *identity,
                           const char *path, struct rp_err *err)
{
    rp_autobuf differ = {0};
    json_t *now = meaning_of(identity);

    if (now)
        put_differences(then, now, true, &differ);
    json_decref(now);
    if (!now || differ.failed)
        return out_of_memory(err);
    return differ.len ? rp_fail(err, RP_USAGE,
                                "%s was begun otherwise: %s; its answers would be to another "
                                "question: begin anew with another -o",
                                path, rp_buf_text(&differ))
                      : 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

int rp_search_journal_check(const char *path, bool resume, struct rp_err *err)
{
    if (!resume && rp_journal_is_begun(path))
        return rp_fail(err, RP_USAGE, "%s is there already: --resume goes on with it", path);
    if (resume && !rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s is not there: there is nothing to go on with", path);
    return 0;
}

static int begin(const char *path, const struct rp_search_identity *identity,
                 struct rp_journal **ret, struct rp_err *err)
{
    json_t *data = meaning_of(identity);
    int rc;

    if (!data || json_object_set_new(data, "search", questions_of(identity)) < 0) {
        json_decref(data);
        return out_of_memory(err);
    }
    if ((rc = rp_journal_create(path, ret, err)) < 0) {
        json_decref(data);
        return rc;
    }
    return rp_journal_add(*ret, "autotune", NULL, data, err);
}

struct listener {
    void (*note)(void *context, const char *line);
    void *context;
};

/** Takes the line over. */
static void tell(const struct listener *to, char *line)
{
    if (line && to->note)
        to->note(to->context, line);
    free(line);
}

/** The journal says what was asked from here on. */
static int keep_questions(struct rp_journal *journal, const json_t *opening,
                          const struct rp_search_identity *identity, const struct listener *to,
                          struct rp_err *err)
{
    const json_t *then = rp_journal_find(journal, "search", NULL);
    json_t *now = questions_of(identity);
    rp_autobuf differ = {0};

    if (!now)
        return out_of_memory(err);
    if (!then)
        then = json_object_get(opening, "search");
    put_differences(then, now, false, &differ);
    if (differ.failed || !differ.len) {
        json_decref(now);
        return differ.failed ? out_of_memory(err) : 0;
    }
    tell(to, rp_format("other than before: %s; what the journal has is not run again",
                       rp_buf_text(&differ)));
    return rp_journal_add(journal, "search", NULL, now, err);
}

static size_t count_answers(const struct rp_journal *journal)
{
    size_t answers = 0;

    for (size_t i = 0; i < rp_journal_count(journal); i++) {
        const char *kind;

        rp_journal_at(journal, i, &kind, NULL);
        answers += strcmp(kind, "answer") == 0;
    }
    return answers;
}

static int resume_journal(const char *path, const struct rp_search_identity *identity,
                          const struct listener *to, struct rp_journal **ret, struct rp_err *err)
{
    const json_t *opening;
    uint64_t cut = 0;
    size_t answers;
    int rc = rp_journal_resume(path, ret, &cut, err);

    if (rc < 0)
        return rc;
    answers = count_answers(*ret);
    opening = rp_journal_find(*ret, "autotune", NULL);
    if (!opening)
        return rp_fail(err, RP_BAD_INPUT, "%s is no journal of autotune", path);
    if ((rc = compare_meaning(opening, identity, path, err)) < 0)
        return rc;
    tell(to,
         rp_format("%zu %s in the journal%s", answers, answers == 1 ? "answer is" : "answers are",
                   cut ? "; what a kill left of the last line is cut off" : ""));
    return keep_questions(*ret, opening, identity, to, err);
}

int rp_search_journal_open(const char *path, bool resume, const struct rp_search_identity *identity,
                           void (*note)(void *context, const char *line), void *context,
                           struct rp_journal **ret, struct rp_err *err)
{
    const struct listener to = {note, context};

    if (resume && rp_journal_is_begun(path))
        return resume_journal(path, identity, &to, ret, err);
    if (rp_path_exists(path))
        tell(&to, rp_format("%s has no answer yet: the search begins anew", path));
    return begin(path, identity, ret, err);
}
