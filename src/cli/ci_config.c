#include "cli/ci_config.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sha256.h"
#include "run/run_program.h"

const char *const rp_ci_check_names[] = {
#define RP_CI_CHECK(id, name, kinds, preset, what) name,
#include "cli/ci_checks.def"
#undef RP_CI_CHECK
};

static const double preset_time_limit = 2, preset_timeout_s = 1800;

/** Says where the reader is: "programs[0].limits". */
struct reader {
    const char *file;
    struct rp_buf place;
    struct rp_err *err;
};

static int refuse(struct reader *r, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct reader *r, const char *key, const char *fmt, ...)
{
    const char *place = rp_buf_text(&r->place);
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    return rp_fail_with_remedy(r->err, RP_USAGE, "%s: %s%s%s: %s", r->file, place,
                               *place && *key ? "." : "", *place || *key ? key : "the file",
                               rp_buf_text(&text));
}

/* --- objects by tables ---------------------------------------------------------------------- */

enum value_type { TEXT, FLAG, NUMBER, WHOLE, NUMBER_OR_NULL, TEXTS, OBJECT, LIST };

/** A key of an object, and where its value goes. */
struct key {
    const char *name;
    enum value_type type;
    size_t offset;
    double low, high; /**< of numbers */
    const struct key *keys;
    int (*read)(struct reader *r, const json_t *list, void *to); /**< of a list */
    const char *what;                                            /**< what is to be written there */
};

static bool has_type(const json_t *value, enum value_type type)
{
    switch (type) {
    case TEXT:
        return json_is_string(value);
    case FLAG:
        return json_is_boolean(value);
    case WHOLE:
        return json_is_integer(value);
    case NUMBER:
        return json_is_number(value);
    case NUMBER_OR_NULL:
        return json_is_number(value) || json_is_null(value);
    case OBJECT:
        return json_is_object(value);
    default:
        return json_is_array(value);
    }
}

static const char *const type_words[] = {
    [TEXT] = "a text",           [FLAG] = "true or false",
    [NUMBER] = "a number",       [WHOLE] = "a whole number",
    [TEXTS] = "a list of texts", [NUMBER_OR_NULL] = "a number, or null for no limit",
    [OBJECT] = "an object",      [LIST] = "a list"};

static int read_texts(struct reader *r, const char *name, const json_t *list,
                      struct rp_word_list *ret)
{
    const json_t *one;
    size_t i;

    free(ret->at);
    *ret = (struct rp_word_list){.at = rp_alloc_zero(json_array_size(list) + 1, sizeof *ret->at)};
    json_array_foreach(list, i, one)
    {
        if (!json_is_string(one) || (!json_string_length(one) && i == 0))
            return refuse(r, name, "item %zu must be a text that is not empty", i);
        ret->at[ret->count++] = (char *)(uintptr_t)json_string_value(one);
    }
    return 0;
}

static int read_number(struct reader *r, const struct key *key, const json_t *value, double *ret)
{
    const double number = json_is_null(value) ? NAN : json_number_value(value);

    if (number < key->low || number > key->high)
        return refuse(r, key->name, "%g is out of range, which is %g to %g: %s", number, key->low,
                      key->high, key->what);
    *ret = number;
    return 0;
}

static int read_object(struct reader *r, const json_t *object, const struct key *keys, void *to);

static int read_inner(struct reader *r, const struct key *key, const json_t *value, void *to)
{
    const size_t before = r->place.len;
    int rc;

    rp_buf_printf(&r->place, "%s%s", before ? "." : "", key->name);
    rc = key->type == OBJECT ? read_object(r, value, key->keys, to) : key->read(r, value, to);
    if (rc == 0)
        r->place.data[r->place.len = before] = '\0';
    return rc;
}

static int read_value(struct reader *r, const struct key *key, const json_t *value, char *to)
{
    if (!has_type(value, key->type))
        return refuse(r, key->name, "it must be %s: %s", type_words[key->type], key->what);
    switch (key->type) {
    case TEXT:
        if (!json_string_length(value))
            return refuse(r, key->name, "it is empty: %s", key->what);
        *(const char **)(void *)to = json_string_value(value);
        return 0;
    case FLAG:
        *(bool *)to = json_is_true(value);
        return 0;
    case TEXTS:
        return read_texts(r, key->name, value, (struct rp_word_list *)(void *)to);
    case OBJECT:
    case LIST:
        return read_inner(r, key, value, to);
    default:
        return read_number(r, key, value, (double *)(void *)to);
    }
}

static int unknown_key(struct reader *r, const struct key *keys, const char *name)
{
    struct rp_nearest nearest = {.word = name};
    rp_autobuf list = {0};

    for (; keys->name; keys++) {
        rp_nearest_try(&nearest, keys->name);
        rp_buf_printf(&list, "%s%s", list.len ? ", " : "", keys->name);
    }
    if (nearest.name)
        return refuse(r, name, "there is no such key, did you mean %s?", nearest.name);
    return refuse(r, name, "there is no such key; there are %s", rp_buf_text(&list));
}

static int read_object(struct reader *r, const json_t *object, const struct key *keys, void *to)
{
    const char *name;
    json_t *value;
    int rc = 0;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const struct key *key = keys;

        while (key->name && strcmp(key->name, name) != 0)
            key++;
        rc = key->name ? read_value(r, key, value, (char *)to + key->offset)
                       : unknown_key(r, keys, name);
        if (rc < 0)
            break;
    }
    return rc;
}

/* --- the keys --------------------------------------------------------------------------------- */

static const struct key limit_keys[] = {
#define RP_CI_LIMIT(member, most, kind, condition, text)                                           \
    {.name = #member,                                                                              \
     .type = NUMBER_OR_NULL,                                                                       \
     .offset = offsetof(struct rp_ci_limits, member),                                              \
     .high = most,                                                                                 \
     .what = text},
#include "cli/ci_limits.def"
#undef RP_CI_LIMIT
    {0}};

static const struct key check_keys[] = {
#define RP_CI_CHECK(id, title, kinds, preset, text)                                                \
    {.name = title, .type = FLAG, .offset = RP_CI_CHECK_##id * sizeof(bool), .what = text},
#include "cli/ci_checks.def"
#undef RP_CI_CHECK
    {0}};

static const struct key tolerance_keys[] = {
    {.name = "relative",
     .type = NUMBER,
     .offset = offsetof(struct rp_output_bound, relative),
     .high = 1,
     .what = "by which part of itself a number in the output may differ"},
    {.name = "absolute",
     .type = NUMBER,
     .offset = offsetof(struct rp_output_bound, absolute),
     .high = HUGE_VAL,
     .what = "by how much a number in the output may differ"},
    {0}};

#define OF_PROGRAM(member) .offset = offsetof(struct rp_ci_program, member)
static const struct key program_keys[] = {
    {.name = "name",
     .type = TEXT,
     OF_PROGRAM(name),
     .what = "what the program is called in results, as \"mm\""},
    {.name = "command",
     .type = TEXTS,
     OF_PROGRAM(command),
     .what = "the program and its arguments, as [\"./mm\", \"1024\"]"},
    {.name = "sources",
     .type = TEXTS,
     OF_PROGRAM(sources),
     .what = "files whose kernels are compared one by one, as [\"mm.hip\"]"},
    {.name = "outputs",
     .type = TEXTS,
     OF_PROGRAM(outputs),
     .what = "files that the program writes, as [\"result.txt\"]"},
    {.name = "gates",
     .type = TEXTS,
     OF_PROGRAM(gates),
     .what = "conditions that rocm-perf compare --gate takes, as [\"kernel:mm:vgprs<=64\"]"},
    {.name = "flags",
     .type = TEXT,
     OF_PROGRAM(flags),
     .what = "options with which the compiler compiles the sources, as \"-O3 -I include\""},
    {.name = "limits",
     .type = OBJECT,
     OF_PROGRAM(limits),
     .keys = limit_keys,
     .what = "how much worse than the base it may be, as {\"time\": 2}"},
    {.name = "checks",
     .type = OBJECT,
     OF_PROGRAM(checks),
     .keys = check_keys,
     .what = "what of its memory accesses is checked, as {\"races\": true}"},
    {.name = "tolerance",
     .type = OBJECT,
     OF_PROGRAM(tolerance),
     .keys = tolerance_keys,
     .what = "by how much numbers in the output may differ, as {\"relative\": 1e-5}"},
    {.name = "output",
     .type = FLAG,
     OF_PROGRAM(output),
     .what = "whether it must print the same as the base's"},
    {.name = "allow_missing",
     .type = FLAG,
     OF_PROGRAM(allow_missing),
     .what = "whether kernels of the base may be gone"},
    {.name = "status",
     .type = WHOLE,
     OF_PROGRAM(status),
     .high = 255,
     .what = "with which exit status it ends when nothing is wrong"},
    {0}};
#undef OF_PROGRAM

/** What holds for all programs stands beside them. */
struct document {
    struct rp_ci_config *config;
    double version;
    const char *build, *device, *timing;
    double runs, timeout_s;
    struct rp_ci_limits limits;
    bool checks[RP_CI_CHECKS];
    const json_t *programs;
};

static int keep_programs(struct reader *r, const json_t *list, void *to)
{
    *(const json_t **)to = list;
    return json_array_size(list) ? 0
                                 : refuse(r, "",
                                          "there are none: name at least one, as "
                                          "[{\"name\": \"mm\", \"command\": [\"./mm\"]}]");
}

#define OF_DOCUMENT(member) .offset = offsetof(struct document, member)
static const struct key document_keys[] = {
    {.name = "version",
     .type = WHOLE,
     OF_DOCUMENT(version),
     .low = 1,
     .high = 1,
     .what = "the version of this format, 1"},
    {.name = "build",
     .type = TEXT,
     OF_DOCUMENT(build),
     .what = "the command that builds all programs, as \"make\""},
    {.name = "programs",
     .type = LIST,
     OF_DOCUMENT(programs),
     .read = keep_programs,
     .what = "as [{\"name\": \"mm\", \"command\": [\"./mm\"]}]"},
    {.name = "limits",
     .type = OBJECT,
     OF_DOCUMENT(limits),
     .keys = limit_keys,
     .what = "of programs that have no other ones, as {\"time\": 2}"},
    {.name = "checks",
     .type = OBJECT,
     OF_DOCUMENT(checks),
     .keys = check_keys,
     .what = "of programs that have no other ones, as {\"races\": true}"},
    {.name = "device",
     .type = TEXT,
     OF_DOCUMENT(device),
     .what = "as of --device: auto, gpu, software, software:TARGET"},
    {.name = "timing",
     .type = TEXT,
     OF_DOCUMENT(timing),
     .what = "how the software device finds times: detailed, counts or warm"},
    {.name = "runs",
     .type = WHOLE,
     OF_DOCUMENT(runs),
     .low = 1,
     .high = 1000,
     .what = "how often each program is timed"},
    {.name = "timeout",
     .type = NUMBER,
     OF_DOCUMENT(timeout_s),
     .low = 0.001,
     .high = 1e6,
     .what = "after how many seconds a step is ended"},
    {0}};
#undef OF_DOCUMENT

/* --- programs -------------------------------------------------------------------------------- */

static bool is_below(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return false;
    return *path && *path != '/';
}

static int check_paths(struct reader *r, const char *key, const struct rp_word_list *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        if (!is_below(paths->at[i]))
            return refuse(r, key,
                          "%s is no path in the repository: write it from the top of the "
                          "repository, without ..",
                          paths->at[i]);
    return 0;
}

static int check_gates(struct reader *r, const struct rp_word_list *gates)
{
    for (size_t i = 0; i < gates->count; i++) {
        struct rp_versus_condition gate = {0};
        struct rp_err why = RP_ERR_INIT;
        int rc = rp_versus_condition_parse(gates->at[i], &gate, &why);

        if (rc < 0)
            return refuse(r, "gates", "%s", why.text);
        rp_versus_condition_free(&gate);
        for (size_t j = 0; j < i; j++)
            if (strcmp(gates->at[j], gates->at[i]) == 0)
                return refuse(r, "gates", "%s is there twice: results go by this name",
                              gates->at[i]);
    }
    return 0;
}

/* A name stands in file names, tests and comments, and is one line. */
static int check_name(struct reader *r, const struct rp_ci_config *config, const char *name)
{
    enum { MOST_BYTES = 100 };

    if (strlen(name) > MOST_BYTES)
        return refuse(r, "name", "it is longer than %d bytes", MOST_BYTES);
    for (const char *at = name; *at; at++)
        if (iscntrl((unsigned char)*at))
            return refuse(r, "name", "it has a control character: use letters and digits");
    for (size_t i = 0; i < config->program_count; i++)
        if (strcmp(config->programs[i].name, name) == 0)
            return refuse(r, "name", "two programs are called %s: results go by this name", name);
    return 0;
}

/* The folder is the name where that is one for files; else what is left of it, and its hash. */
static char *folder_of(const char *name)
{
    enum { HASH_LETTERS = 8 };
    char hash[RP_SHA256_TEXT];
    rp_autofree char *clean = rp_strdup(name);
    bool is_clean = *name != '.' && *name != '-';

    for (char *at = clean; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at)) {
            *at = '-';
            is_clean = false;
        }
    if (is_clean)
        return rp_steal(clean);
    rp_sha256(name, strlen(name), hash);
    return rp_format("%s-%.*s", clean + strspn(clean, ".-"), HASH_LETTERS, hash);
}

static int check_program(struct reader *r, const struct rp_ci_config *config,
                         struct rp_ci_program *p)
{
    int rc = 0;

    if (!p->name)
        return refuse(r, "name", "it is missing: what the program is called in results");
    if (!p->command.count)
        return refuse(r, "command",
                      "it is missing: the program and its arguments, as [\"./mm\", "
                      "\"1024\"]");
    rc = check_name(r, config, p->name);
    if (rc == 0)
        rc = check_paths(r, "sources", &p->sources);
    if (rc == 0)
        rc = check_paths(r, "outputs", &p->outputs);
    if (rc == 0)
        rc = check_gates(r, &p->gates);
    p->folder = rc == 0 ? folder_of(p->name) : NULL;
    return rc;
}

static void free_program(struct rp_ci_program *p)
{
    free(p->folder);
    free(p->command.at);
    free(p->sources.at);
    free(p->outputs.at);
    free(p->gates.at);
}

static int read_program(struct reader *r, const struct document *d, const json_t *object)
{
    struct rp_ci_config *config = d->config;
    struct rp_ci_program p = {.limits = d->limits, .output = true};
    int rc;

    memcpy(p.checks, d->checks, sizeof p.checks);
    if (!json_is_object(object))
        return refuse(r, "",
                      "it must be an object, as {\"name\": \"mm\", \"command\": [\"./mm\"]}");
    rc = read_object(r, object, program_keys, &p);
    if (rc == 0)
        rc = check_program(r, config, &p);
    if (rc < 0)
        free_program(&p);
    else
        config->programs[config->program_count++] = p;
    return rc;
}

static int read_programs(struct reader *r, const struct document *d)
{
    const size_t count = json_array_size(d->programs);
    int rc = 0;

    d->config->programs = rp_alloc_zero(count + 1, sizeof *d->config->programs);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rp_buf_free(&r->place);
        rp_buf_printf(&r->place, "programs[%zu]", i);
        rc = read_program(r, d, json_array_get(d->programs, i));
    }
    return rc;
}

/* --- the file -------------------------------------------------------------------------------- */

const char *const rp_ci_timings[RP_CI_TIMINGS] = {"counts", "detailed", "warm"};

static bool is_timing(const char *word)
{
    bool found = false;

    for (size_t i = 0; i < RP_CI_TIMINGS && !found; i++)
        found = strcmp(word, rp_ci_timings[i]) == 0;
    return found;
}

static int check_document(struct reader *r, const struct document *d)
{
    struct rp_run_options run = {0};
    struct rp_err why = RP_ERR_INIT;

    if (!(d->version > 0))
        return refuse(r, "version", "it is missing: write \"version\": 1");
    if (!d->programs)
        return refuse(r, "programs",
                      "they are missing: name at least one, as [{\"name\": \"mm\", "
                      "\"command\": [\"./mm\"]}]");
    if (d->device && rp_device_parse(d->device, &run, &why) < 0)
        return refuse(r, "device", "%s", why.text);
    if (d->timing && !is_timing(d->timing))
        return refuse(r, "timing", "'%s' is no timing: write detailed, counts or warm", d->timing);
    return 0;
}

static int read_document(struct reader *r, struct rp_ci_config *config)
{
    struct document d = {.config = config,
                         .timeout_s = preset_timeout_s,
                         .checks = {
#define RP_CI_CHECK(id, name, kinds, preset, what) [RP_CI_CHECK_##id] = preset,
#include "cli/ci_checks.def"
#undef RP_CI_CHECK
                         }};
    int rc;

#define RP_CI_LIMIT(member, most, kind, condition, what) d.limits.member = NAN;
#include "cli/ci_limits.def"
#undef RP_CI_LIMIT
    d.limits.time = preset_time_limit;
    rc = read_object(r, config->root, document_keys, &d);
    if (rc == 0)
        rc = check_document(r, &d);
    if (rc == 0)
        rc = read_programs(r, &d);
    config->build = d.build;
    config->device = d.device;
    config->timing = d.timing;
    config->runs = d.runs;
    config->timeout_s = d.timeout_s;
    return rc;
}

int rp_ci_config_parse(const char *text, const char *path, struct rp_ci_config *ret,
                       struct rp_err *err)
{
    struct reader r = {.file = path, .err = err};
    struct rp_ci_config config = {.path = path};
    json_error_t why;
    int rc;

    config.root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!config.root)
        return rp_fail_with_remedy(err, RP_USAGE, "%s: line %d, column %d: no JSON: %s", path,
                                   why.line, why.column, why.text);
    if (json_is_object(config.root))
        rc = read_document(&r, &config);
    else
        rc = refuse(&r, "", "it must be an object, as {\"version\": 1, \"programs\": [...]}");
    rp_buf_free(&r.place);
    if (rc < 0)
        rp_ci_config_free(&config);
    else
        *ret = config;
    return rc;
}

void rp_ci_config_free(struct rp_ci_config *config)
{
    for (size_t i = 0; i < config->program_count; i++)
        free_program(&config->programs[i]);
    free(config->programs);
    json_decref(config->root);
    *config = (struct rp_ci_config){0};
}
