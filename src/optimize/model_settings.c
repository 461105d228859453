#include "optimize/model_settings.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

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
    *slot = rp_strdup(json_string_value(value));
    return 0;
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

/**
 * Puts what the file says over the settings. @return 0; RP_USAGE when others could read it (mode
 * other than 0600 or 0400, another owner) or it does not exist, RP_BAD_INPUT when it is not such a
 * file. No message holds anything out of the file but the names of its members.
 */
static int rp_llm_settings_file(const char *path, struct rp_llm_settings *settings,
                                struct rp_err *err)
{
    if (read_file(path, settings, err) < 0)
        return rp_wrap(err, "settings of the model server %s", path);
    settings->origin = rp_format("%s", path);
    return 0;
}

static void cleanup_url(CURLU **slot)
{
    curl_url_cleanup(*slot);
}

static void cleanup_part(char **slot)
{
    curl_free(*slot);
}

/* Only what cannot be another machine: a name that a resolver answers is not proof. libcurl itself
 * takes localhost to be this machine without asking one. */
static bool is_loopback(const char *host)
{
    struct in_addr v4;

    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    return inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

static bool has_part(CURLU *url, CURLUPart which)
{
    rp_cleanup(cleanup_part) char *part = NULL;

    return curl_url_get(url, which, &part, 0) == CURLUE_OK;
}

/**
 * @param ret_encrypted https
 * @param ret_loopback the host is this machine: localhost, 127.0.0.0/8, ::1
 * @return 0; RP_USAGE for anything but a plain http or https address without name, password, query
 *         and fragment
 */
static int rp_llm_url_check(const char *text, bool *ret_encrypted, bool *ret_loopback,
                            struct rp_err *err)
{
    rp_cleanup(cleanup_url) CURLU *url = curl_url();
    rp_cleanup(cleanup_part) char *scheme = NULL;
    rp_cleanup(cleanup_part) char *host = NULL;

    rp_not_null(url);
    if (curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return rp_fail(err, RP_USAGE,
                       "the address of the model server must look like https://host/v1 or "
                       "http://127.0.0.1:8080/v1");
    if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
        has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
        return rp_fail(err, RP_USAGE,
                       "the address of the model server holds a name, password, query or "
                       "fragment; a key belongs into ROCM_PERF_LLM_API_KEY or the settings' "
                       "\"api_key\"");
    *ret_encrypted = strcmp(scheme, "https") == 0;
    *ret_loopback = is_loopback(host);
    return 0;
}

static const int64_t NS_PER_S = 1000000000;

/* A model on a slow machine reads a long prompt for minutes before its first word. */
static void set_defaults(struct rp_llm_settings *s)
{
    s->stream = true;
    s->max_attempts = 4;
    s->connect_timeout_ns = 10 * NS_PER_S;
    s->idle_timeout_ns = 300 * NS_PER_S;
    s->total_timeout_ns = 900 * NS_PER_S;
    s->retry_delay_ns = NS_PER_S;
    s->max_retry_after_ns = 60 * NS_PER_S;
    s->prompt_tokens = 16000;
    s->answer_tokens = 8000;
    s->budget_tokens = 200000;
}

void rp_llm_settings_free(struct rp_llm_settings *s)
{
    if (s->api_key)
        explicit_bzero(s->api_key, strlen(s->api_key));
    free(s->base_url);
    free(s->model);
    free(s->api_key);
    free(s->ca_file);
    free(s->origin);
    *s = (struct rp_llm_settings){0};
}

static const char *set_variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static void keep(const char *value, char **ret)
{
    if (value)
        *ret = rp_strdup(value);
}

struct variables {
    const char *base_url, *model, *api_key; /* names */
    const char *usual_base_url;             /* when none is set */
};

static const struct variables ours = {"ROCM_PERF_LLM_BASE_URL", "ROCM_PERF_LLM_MODEL",
                                      "ROCM_PERF_LLM_API_KEY", NULL};

/* The names and the address of OpenAI's own client libraries. */
static const struct variables usual = {"OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY",
                                       "https://api.openai.com/v1"};

/* @return 1 when these variables configure a server */
static int from_variables(const struct variables *names, struct rp_llm_settings *s,
                          struct rp_err *err)
{
    const char *base_url = set_variable(names->base_url);
    const char *api_key = set_variable(names->api_key);

    if (!base_url && !api_key)
        return 0;
    if (!base_url && !names->usual_base_url)
        return rp_fail(err, RP_USAGE,
                       "%s is set but %s is not; set it to the server that the key is for",
                       names->api_key, names->base_url);
    keep(base_url ? base_url : names->usual_base_url, &s->base_url);
    keep(api_key, &s->api_key);
    keep(set_variable(names->model), &s->model);
    s->origin = rp_format("%s", base_url ? names->base_url : names->api_key);
    return 1;
}

/* ~/.config/rocm-perf/llm.json; NULL where there is no home. */
static char *default_file(void)
{
    const char *config = set_variable("XDG_CONFIG_HOME"), *home = set_variable("HOME");

    if (config && *config == '/')
        return rp_format("%s/rocm-perf/llm.json", config);
    return home ? rp_format("%s/.config/rocm-perf/llm.json", home) : NULL;
}

static int find(const char *file, struct rp_llm_settings *s, struct rp_err *err)
{
    rp_autofree char *usual_file = NULL;
    int found;

    if (file)
        return rp_llm_settings_file(file, s, err);
    if ((found = from_variables(&ours, s, err)) != 0)
        return found < 0 ? found : 0;
    usual_file = default_file();
    if (usual_file && rp_path_exists(usual_file))
        return rp_llm_settings_file(usual_file, s, err);
    if ((found = from_variables(&usual, s, err)) != 0)
        return found < 0 ? found : 0;
    return rp_fail(err, RP_USAGE,
                   "no model server is configured; set ROCM_PERF_LLM_BASE_URL and "
                   "ROCM_PERF_LLM_MODEL (and ROCM_PERF_LLM_API_KEY where it wants a key), or "
                   "write them to %s",
                   usual_file ? usual_file : "a file and name it with --llm-config");
}

/* The key becomes a line of the request: a line feed in it would begin another. */
static int check_key(const struct rp_llm_settings *s, struct rp_err *err)
{
    for (const char *c = s->api_key; c && *c; c++)
        if (*c <= ' ' || *c > '~')
            return rp_fail(err, RP_USAGE,
                           "%s: the key holds a space or a character that keys do not have; a "
                           "line feed at its end?",
                           s->origin);
    return 0;
}

static int check(struct rp_llm_settings *s, struct rp_err *err)
{
    bool encrypted = false;
    int rc = rp_llm_url_check(s->base_url, &encrypted, &s->loopback, err);

    if (rc < 0)
        return rp_wrap(err, "%s", s->origin);
    if (s->api_key && !encrypted && !s->loopback)
        return rp_fail(err, RP_USAGE,
                       "%s: the key would go over the network unencrypted; use an https address, "
                       "or a tunnel that ends on this machine",
                       s->origin);
    for (size_t len = strlen(s->base_url); len > 0 && s->base_url[len - 1] == '/'; len--)
        s->base_url[len - 1] = '\0';
    if (!s->model)
        return rp_fail(err, RP_USAGE,
                       "%s: no model is named; set ROCM_PERF_LLM_MODEL (OPENAI_MODEL, or \"model\" "
                       "in the file)",
                       s->origin);
    return check_key(s, err);
}

int rp_llm_settings_read(const char *file, struct rp_llm_settings *ret, struct rp_err *err)
{
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings s = {0};
    const char *model;

    set_defaults(&s);
    if (find(file, &s, err) < 0)
        return -(int)err->code;
    /* Which model is no secret, so this one may be chosen apart. */
    model = file ? NULL : set_variable(ours.model);
    if (model) {
        free(rp_steal(s.model));
        keep(model, &s.model);
    }
    if (s.api_key && !*s.api_key) /* "" in a file: none */
        free(rp_steal(s.api_key));
    if (check(&s, err) < 0)
        return -(int)err->code;
    *ret = s;
    s = (struct rp_llm_settings){0};
    return 0;
}
