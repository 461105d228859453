#include "optimize/llm/settings_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "optimize/llm/settings.h"

enum { MAX_FILE_BYTES = 64 * 1024 };

enum member_kind { TEXT, FLAG, NUMBER, SECONDS, TEMPERATURE };

struct member {
    const char *name;
    enum member_kind kind;
    size_t offset;
    double least, most;
};

#define AT(field) offsetof(struct rp_llm_settings, field)
static const struct member members[] = {
    {"base_url", TEXT, AT(base_url), 0, 0},
    {"model", TEXT, AT(model), 0, 0},
    {"api_key", TEXT, AT(api_key), 0, 0},
    {"ca_file", TEXT, AT(ca_file), 0, 0},
    {"stream", FLAG, AT(stream), 0, 0},
    {"temperature", TEMPERATURE, AT(temperature), 0, 2},
    {"max_attempts", NUMBER, AT(max_attempts), 1, 20},
    {"connect_timeout_s", SECONDS, AT(connect_timeout_ns), 0.01, 86400},
    {"idle_timeout_s", SECONDS, AT(idle_timeout_ns), 0.01, 86400},
    {"total_timeout_s", SECONDS, AT(total_timeout_ns), 0.01, 86400},
    {"retry_delay_s", SECONDS, AT(retry_delay_ns), 0, 3600},
    {"max_retry_after_s", SECONDS, AT(max_retry_after_ns), 0, 86400},
    {"prompt_tokens", NUMBER, AT(prompt_tokens), 500, 10000000},
    {"answer_tokens", NUMBER, AT(answer_tokens), 16, 1000000},
    {"budget_tokens", NUMBER, AT(budget_tokens), 1, 1e15},
};
enum { MEMBERS = sizeof members / sizeof *members };

static int wrong(const struct member *m, const char *wanted, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "\"%s\" must be %s", m->name, wanted);
}

static int take_text(const struct member *m, const json_t *value, char **slot, struct rp_err *err)
{
    if (!json_is_string(value))
        return wrong(m, "a text", err);
    free(*slot);
    *slot = strdup(json_string_value(value));
    return *slot ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static int take_number(const struct member *m, const json_t *value, struct rp_llm_settings *s,
                       struct rp_err *err)
{
    double number = json_number_value(value);
    char range[96];

    snprintf(range, sizeof range, "%s from %.15g to %.15g",
             m->kind == NUMBER ? "a whole number" : "a number", m->least, m->most);
    if (!json_is_number(value) || number < m->least || number > m->most ||
        (m->kind == NUMBER && !json_is_integer(value)))
        return wrong(m, range, err);
    if (m->kind == SECONDS)
        *(int64_t *)((char *)s + m->offset) = (int64_t)(number * 1e9);
    else if (m->kind == TEMPERATURE)
        s->temperature = number, s->has_temperature = true;
    else if (m->offset == AT(max_attempts))
        s->max_attempts = (uint32_t)number;
    else
        *(uint64_t *)((char *)s + m->offset) = (uint64_t)json_integer_value(value);
    return 0;
}

static int take(const struct member *m, const json_t *value, struct rp_llm_settings *s,
                struct rp_err *err)
{
    if (m->kind == TEXT)
        return take_text(m, value, (char **)((char *)s + m->offset), err);
    if (m->kind != FLAG)
        return take_number(m, value, s, err);
    if (!json_is_boolean(value))
        return wrong(m, "true or false", err);
    s->stream = json_is_true(value);
    return 0;
}

static const struct member *member_named(const char *name)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

static int take_all(json_t *root, struct rp_llm_settings *s, struct rp_err *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(root))
        return rp_fail(err, RP_BAD_INPUT, "not a JSON object with \"base_url\" and \"model\"");
    json_object_foreach(root, name, value)
    {
        const struct member *m = member_named(name);

        if (!m)
            return rp_fail(err, RP_BAD_INPUT, "unknown member \"%.40s\"", name);
        if (take(m, value, s, err) < 0)
            return -(int)err->code;
    }
    if (!s->base_url || !*s->base_url)
        return rp_fail(err, RP_BAD_INPUT, "\"base_url\" is missing");
    return 0;
}

/* Looks at what was opened, not at a name that may be another file's a moment later. */
static int check_owner(int fd, struct rp_err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot look at it");
    if (!S_ISREG(st.st_mode))
        return rp_fail(err, RP_USAGE, "not a regular file");
    if (st.st_uid != geteuid())
        return rp_fail(err, RP_USAGE, "it belongs to another user; make a file of your own");
    if (st.st_mode & 0177)
        return rp_fail(err, RP_USAGE,
                       "others may read or change it (mode %04o), and it is for a key; run: chmod "
                       "600 on it",
                       (unsigned)(st.st_mode & 07777));
    if (st.st_size > MAX_FILE_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "larger than %d bytes", MAX_FILE_BYTES);
    return 0;
}

static int read_all(int fd, char *text, size_t capacity, size_t *ret_bytes, struct rp_err *err)
{
    size_t have = 0;

    while (have < capacity) {
        ssize_t got = read(fd, text + have, capacity - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read it");
        if (got == 0)
            break;
        have += (size_t)got;
    }
    *ret_bytes = have;
    return 0;
}

static int read_file(const char *path, struct rp_llm_settings *s, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[MAX_FILE_BYTES];
    json_error_t where;
    size_t bytes = 0;
    json_t *root;
    int rc;

    if (fd < 0)
        return rp_fail_errno(err, RP_USAGE, errno, "cannot open it");
    if (check_owner(fd, err) < 0 || read_all(fd, text, sizeof text, &bytes, err) < 0)
        return -(int)err->code;
    root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
    explicit_bzero(text, sizeof text);
    if (!root) /* jansson's own text quotes what stands there, which may be the key */
        return rp_fail(err, RP_BAD_INPUT, "not JSON: line %d, column %d", where.line, where.column);
    rc = take_all(root, s, err);
    json_decref(root);
    return rc;
}

int rp_llm_settings_file(const char *path, struct rp_llm_settings *settings, struct rp_err *err)
{
    if (read_file(path, settings, err) < 0)
        return rp_wrap(err, "settings of the model server %s", path);
    settings->origin = rp_format("%s", path);
    return settings->origin ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}
