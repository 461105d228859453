#include "optimize/propose.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "optimize/model_exchange.h"
#include "optimize/prompt.h"
#include "optimize/source_text.h"

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

/* Checks the file that was opened, because its name may be another file's a moment later. */
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
    if (!root) /* jansson's own text quotes the file, which may hold the key. */
        return rp_fail(err, RP_BAD_INPUT, "not JSON: line %d, column %d", where.line, where.column);
    rc = take_all(root, s, err);
    json_decref(root);
    return rc;
}

/**
 * Replaces settings by those of the file.
 * @return 0; RP_USAGE when others could read it (mode other than 0600 or 0400, another owner) or it
 * does not exist, RP_BAD_INPUT when it is not such a file. No message quotes more from the file
 * than the names of its members.
 */
static int llm_settings_file(const char *path, struct rp_llm_settings *settings, struct rp_err *err)
{
    if (read_file(path, settings, err) < 0)
        return rp_wrap(err, "settings of the model server %s", path);
    settings->origin = rp_format("%s", path);
    return 0;
}

/* Only an address that cannot be another machine's is accepted: a resolver's answer for a name is
 * no proof. libcurl itself takes localhost to be this machine without asking one. */
static bool is_loopback(const char *host)
{
    struct in_addr v4;

    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    return inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

/* This is narrower than what libcurl takes, so that the two cannot read an address in two ways.
 * @return bytes of the host, brackets included; 0: it is none */
static size_t host_bytes(const char *text)
{
    size_t n = 0;

    if (*text == '[') {
        n = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
        return n > 1 && text[n] == ']' ? n + 1 : 0;
    }
    while (isalnum((unsigned char)text[n]) || (text[n] & 0x80) ||
           (text[n] && strchr("-._", text[n])))
        n++;
    return n;
}

/* @return what is behind the port, or text where there is none; NULL: it is none */
static const char *skip_port(const char *text)
{
    enum { MOST_DIGITS = 5, LAST_PORT = 65535 };
    size_t digits;

    if (*text != ':')
        return text;
    digits = strspn(++text, "0123456789");
    return digits <= MOST_DIGITS && atoi(text) <= LAST_PORT ? text + digits : NULL;
}

static bool is_path(const char *text)
{
    if (*text && *text != '/')
        return false;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f || *text == '\\')
            return false;
    return true;
}

static int not_an_address(struct rp_err *err)
{
    return rp_fail(err, RP_USAGE,
                   "the address of the model server must look like https://host/v1 or "
                   "http://127.0.0.1:8080/v1");
}

/**
 * Checks the address of a server.
 * @param ret_encrypted https
 * @param ret_loopback the host is this machine: localhost, 127.0.0.0/8, ::1
 * @return 0; RP_USAGE for anything but a plain http or https address without name, password, query
 * and fragment
 */
static int llm_url_check(const char *text, bool *ret_encrypted, bool *ret_loopback,
                         struct rp_err *err)
{
    bool encrypted = strncasecmp(text, "https://", 8) == 0;
    const char *host = encrypted ? text + 8 : text + 7, *behind;
    size_t bytes;

    if (!encrypted && strncasecmp(text, "http://", 7) != 0)
        return not_an_address(err);
    if (text[strcspn(text, "?#")] || host[strcspn(host, "@/")] == '@')
        return rp_fail(err, RP_USAGE,
                       "the address of the model server holds a name, password, query or "
                       "fragment; a key belongs into ROCM_PERF_LLM_API_KEY or the settings' "
                       "\"api_key\"");
    bytes = host_bytes(host);
    behind = skip_port(host + bytes);
    if (!bytes || !behind || !is_path(behind))
        return not_an_address(err);
    rp_autofree char *name = rp_format("%.*s", (int)bytes, host);
    *ret_encrypted = encrypted;
    *ret_loopback = is_loopback(name);
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
    const char *base_url, *model, *api_key; /**< names */
    const char *usual_base_url;             /**< when none is set */
};

static const struct variables ours = {"ROCM_PERF_LLM_BASE_URL", "ROCM_PERF_LLM_MODEL",
                                      "ROCM_PERF_LLM_API_KEY", NULL};

/* These are the names and the address of OpenAI's own client libraries. */
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

/* Makes ~/.config/rocm-perf/llm.json, or returns NULL where there is no home. */
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
        return llm_settings_file(file, s, err);
    if ((found = from_variables(&ours, s, err)) != 0)
        return found < 0 ? found : 0;
    usual_file = default_file();
    if (usual_file && rp_path_exists(usual_file))
        return llm_settings_file(usual_file, s, err);
    if ((found = from_variables(&usual, s, err)) != 0)
        return found < 0 ? found : 0;
    return rp_fail(err, RP_USAGE,
                   "no model server is configured; set ROCM_PERF_LLM_BASE_URL and "
                   "ROCM_PERF_LLM_MODEL (and ROCM_PERF_LLM_API_KEY where it wants a key), or "
                   "write them to %s",
                   usual_file ? usual_file : "a file and name it with --llm-config");
}

/* The key becomes a line of the request, in which a line feed would begin another line. */
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
    int rc = llm_url_check(s->base_url, &encrypted, &s->loopback, err);

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
    /* The model is no secret, so this variable may be combined with others. */
    model = file ? NULL : set_variable(ours.model);
    if (model) {
        free(rp_steal(s.model));
        keep(model, &s.model);
    }
    if (s.api_key && !*s.api_key) /* "" in a file stands for no key. */
        free(rp_steal(s.api_key));
    if (check(&s, err) < 0)
        return -(int)err->code;
    *ret = s;
    s = (struct rp_llm_settings){0};
    return 0;
}

enum {
    /* Fewer tokens are too few for a kernel, and no question is better than an answer that is cut.
     */
    LEAST_ANSWER_TOKENS = 256,
    /* Servers on one's own machine get keys such as "none", which answers may well hold. */
    LEAST_SECRET_BYTES = 8,
    WAIT_STEP_NS = 50000000,
};

struct rp_llm_client {
    struct rp_llm_settings settings;
    rp_llm_log log;
    void *log_context;
    uint64_t spent_tokens;
    const char *limit_member; /**< the server's name for the limit of an answer */
    struct rp_http *http;
};

/**
 * Opens a client, which takes the settings over; *settings is empty afterwards.
 * @param spent_tokens of the budget, before this client
 * @param log may be NULL
 */
static int llm_client_open(struct rp_llm_settings *settings, uint64_t spent_tokens, rp_llm_log log,
                           void *log_context, struct rp_llm_client **ret, struct rp_err *err)
{
    struct rp_llm_client *client;
    struct rp_http *http;

    if (rp_http_open(&http, err) < 0)
        return -(int)err->code;
    client = rp_new(struct rp_llm_client);
    *client = (struct rp_llm_client){.settings = *settings,
                                     .log = log,
                                     .log_context = log_context,
                                     .spent_tokens = spent_tokens,
                                     .limit_member = "max_tokens",
                                     .http = http};
    *settings = (struct rp_llm_settings){0};
    *ret = client;
    return 0;
}

static void llm_client_close(struct rp_llm_client *client)
{
    if (!client)
        return;
    rp_llm_settings_free(&client->settings);
    rp_http_close(client->http);
    free(client);
}

static const struct rp_llm_settings *llm_client_settings(const struct rp_llm_client *client)
{
    return &client->settings;
}

uint64_t rp_llm_client_spent_tokens(const struct rp_llm_client *client)
{
    return client->spent_tokens;
}

static char *make_body(const struct rp_llm_client *client, const char *system, const char *user,
                       uint64_t answer_tokens)
{
    const struct rp_llm_settings *s = &client->settings;
    json_t *root =
        json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}], s:I, s:b}", "model", s->model, "messages",
                  "role", "system", "content", system, "role", "user", "content", user,
                  client->limit_member, (json_int_t)answer_tokens, "stream", (int)s->stream);
    char *text = NULL;

    if (root && s->stream)
        json_object_set_new(root, "stream_options", json_pack("{s:b}", "include_usage", 1));
    if (root && s->has_temperature)
        json_object_set_new(root, "temperature", json_real(s->temperature));
    if (root)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

/* Adds what an attempt cost: the server's count, or an estimate from the bytes that were sent and
 * received. */
static void account(struct rp_llm_client *client, const struct rp_exchange *x,
                    struct rp_llm_record *record)
{
    const struct rp_completion *c = &x->completion;

    record->tokens_estimated = !c->usage_known;
    if (c->usage_known) {
        record->prompt_tokens = c->prompt_tokens;
        record->answer_tokens = c->answer_tokens;
    } else if (x->http_status >= 200 && x->http_status <= 299) {
        record->prompt_tokens =
            rp_llm_estimate_tokens(strlen(record->system) + strlen(record->user));
        record->answer_tokens = rp_llm_estimate_tokens(c->text.len);
    }
    client->spent_tokens = rp_llm_add_tokens(client->spent_tokens, record->prompt_tokens);
    client->spent_tokens = rp_llm_add_tokens(client->spent_tokens, record->answer_tokens);
}

static void llm_redact(char *text, const char *key);

static void tell(struct rp_llm_client *client, const struct rp_exchange *x, unsigned attempt,
                 const char *system, const char *user, const char *failure)
{
    rp_autobuf answer = {0};
    rp_autofree char *asked_system = rp_strdup(system), *asked_user = rp_strdup(user);
    struct rp_llm_record record = {.attempt = attempt,
                                   .base_url = client->settings.base_url,
                                   .model = client->settings.model,
                                   .system = system,
                                   .user = user,
                                   .failure = failure,
                                   .http_status = x->http_status};

    account(client, x, &record);
    rp_buf_add_model_text(&answer, rp_buf_text(&x->completion.text), x->completion.text.len);
    if (!client->log)
        return;
    llm_redact(answer.data, client->settings.api_key);
    llm_redact(asked_system, client->settings.api_key);
    llm_redact(asked_user, client->settings.api_key);
    record.answer = rp_buf_text(&answer);
    record.system = asked_system;
    record.user = asked_user;
    client->log(client->log_context, &record);
}

static int wait_ns(int64_t ns, struct rp_err *err)
{
    struct timespec step = {.tv_nsec = WAIT_STEP_NS};

    for (; ns > 0; ns -= WAIT_STEP_NS) {
        if (rp_proc_interrupted(err) < 0)
            return -(int)err->code;
        if (ns < WAIT_STEP_NS)
            step.tv_nsec = (long)ns;
        nanosleep(&step, NULL); /* A signal ends the sleep early, which the next round notices. */
    }
    return rp_proc_interrupted(err);
}

/* @return 1: try again; negative: err says why not */
static int before_next(struct rp_llm_client *client, const struct rp_exchange *x, unsigned attempt,
                       struct rp_err *err)
{
    const struct rp_llm_settings *s = &client->settings;
    int64_t delay_ns = s->retry_delay_ns << (attempt - 1 < 6 ? attempt - 1 : 6);

    if (x->wants_completion_tokens && strcmp(client->limit_member, "max_tokens") == 0) {
        client->limit_member = "max_completion_tokens";
        return 1;
    }
    if (!x->temporary)
        return -(int)err->code;
    if (attempt >= s->max_attempts)
        return attempt > 1 ? rp_wrap(err, "%u attempts, the last", attempt) : -(int)err->code;
    if (x->retry_after_known && x->retry_after_ns > s->max_retry_after_ns)
        return rp_wrap(err, "the model server asks to wait for %.15g s, which is too long",
                       (double)x->retry_after_ns / 1e9);
    if (x->retry_after_known && x->retry_after_ns > delay_ns)
        delay_ns = x->retry_after_ns;
    return wait_ns(delay_ns, err) < 0 ? -(int)err->code : 1;
}

/* The answer must not carry the key into a file. */
static int take_answer(const struct rp_llm_client *client, struct rp_exchange *x,
                       struct rp_completion *ret, struct rp_err *err)
{
    const char *key = client->settings.api_key;

    if (key && strlen(key) >= LEAST_SECRET_BYTES && strstr(rp_buf_text(&x->completion.text), key))
        return rp_fail(err, RP_VERDICT, "the answer holds the key of the model server");
    *ret = x->completion;
    x->completion = (struct rp_completion){0};
    return 1;
}

static int attempt_once(struct rp_llm_client *client, const char *system, const char *user,
                        uint64_t answer_tokens, unsigned attempt, struct rp_exchange *x,
                        struct rp_err *err)
{
    rp_autofree char *body = make_body(client, system, user, answer_tokens);
    int rc;

    if (!body)
        return rp_fail(err, RP_ENVIRONMENT, "no request can be made of the prompt (not UTF-8?)");
    rc = rp_llm_exchange(client->http, &client->settings, body, strlen(body), x, err);
    if (rc < 0)
        llm_redact(err->text, client->settings.api_key);
    tell(client, x, attempt, system, user, rc < 0 ? err->text : NULL);
    return rc;
}

/**
 * Asks, and asks again after a wait where a fault was temporary (429, 5xx, a broken connection).
 * @return 1 with an answer; 0 when the session's budget allows no further question; RP_VERDICT: an
 * answer came that cannot be used; RP_ENVIRONMENT; RP_INTERRUPTED
 */
static int llm_client_ask(struct rp_llm_client *client, const char *system, const char *user,
                          struct rp_completion *ret, struct rp_err *err)
{
    uint64_t prompt_tokens = rp_llm_estimate_tokens(strlen(system) + strlen(user));

    for (unsigned attempt = 1;; attempt++) {
        rp_cleanup(rp_exchange_free) struct rp_exchange x = {0};
        uint64_t used = client->spent_tokens + prompt_tokens;
        uint64_t answer_tokens = client->settings.answer_tokens;
        int rc;

        if (used + LEAST_ANSWER_TOKENS > client->settings.budget_tokens)
            return 0;
        if (answer_tokens > client->settings.budget_tokens - used)
            answer_tokens = client->settings.budget_tokens - used;
        rc = attempt_once(client, system, user, answer_tokens, attempt, &x, err);
        if (rc == 0)
            return take_answer(client, &x, ret, err);
        if (before_next(client, &x, attempt, err) < 0)
            return -(int)err->code;
    }
}

enum { TITLE_BYTES = 100 };

extern const struct rp_proposer rp_proposer_llm;

static int open_llm(const struct rp_proposer_config *config, void **ret_state, struct rp_err *err)
{
    const struct rp_llm_config none = {0}, *llm = config->llm ? config->llm : &none;
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings settings = {0};
    struct rp_llm_client *client = NULL;

    if (rp_llm_settings_read(llm->settings_file, &settings, err) < 0 ||
        llm_client_open(&settings, llm->spent_tokens, llm->log, llm->log_context, &client, err) < 0)
        return -(int)err->code;
    *ret_state = client;
    return 0;
}

static void close_llm(void *state)
{
    llm_client_close(state);
}

/* Takes the first words of the answer that are not code, because the model was asked to say what it
 * changed. */
static char *title_of(const char *answer, const char *model)
{
    const char *line = answer + strspn(answer, " \t\r\n#*-");
    size_t bytes = strcspn(line, "\r\n");
    rp_autobuf title = {0};

    if (bytes == 0 || *line == '`' || *line == '~')
        return rp_format("a change by %s", model);
    rp_buf_add_model_text(&title, line, bytes);
    for (bytes = title.len > TITLE_BYTES ? TITLE_BYTES : title.len;
         bytes < title.len && bytes > 0 && ((unsigned char)title.data[bytes] & 0xC0) == 0x80;)
        bytes--;
    while (bytes > 0 && isspace((unsigned char)title.data[bytes - 1]))
        bytes--;
    /* In messages the outcome follows a colon, so the title must not have one. */
    for (size_t i = 0; i < bytes; i++)
        if (title.data[i] == ':')
            title.data[i] = ';';
    return rp_format("%.*s", (int)bytes, title.data);
}

static int propose_llm(void *state, const struct rp_proposer_input *input, struct rp_proposal *ret,
                       struct rp_err *err)
{
    struct rp_llm_client *client = state;
    const struct rp_llm_settings *settings = llm_client_settings(client);
    rp_cleanup(rp_llm_prompt_free) struct rp_llm_prompt prompt = {0};
    rp_cleanup(rp_completion_free) struct rp_completion completion = {0};
    rp_autofree char *kernel = NULL;
    char *title;
    size_t bytes;
    int rc;

    if (rp_llm_prompt_make(input, settings->prompt_tokens, &prompt, err) < 0)
        return err->code == RP_BAD_INPUT
                   ? rp_wrap(err, "prompt_tokens of the settings is too small")
                   : -(int)err->code;
    rc = llm_client_ask(client, prompt.system, prompt.user, &completion, err);
    if (rc == 0)
        return rp_fail(err, RP_OK, "the budget of %llu tokens is used up (budget_tokens)",
                       (unsigned long long)settings->budget_tokens);
    if (rc < 0)
        return rc;
    if (rp_llm_answer_kernel(&completion, &kernel, &bytes, err) < 0)
        return -(int)err->code;
    title = title_of(rp_buf_text(&completion.text), settings->model);
    *ret = (struct rp_proposal){.kernel_text = rp_steal(kernel), .bytes = bytes, .title = title};
    return 1;
}

const struct rp_proposer rp_proposer_llm = {
    .name = "llm",
    .summary = "questions to a model server (OpenAI-compatible)",
    .open = open_llm,
    .propose = propose_llm,
    .close = close_llm,
};

enum { TELLING_BYTES = 8 };

static size_t common_bytes(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/**
 * Overwrites the key with asterisks wherever it stands, and also its beginnings of eight and more
 * characters, because a message may have been cut in its middle.
 * @param key NULL: nothing to do
 */
static void llm_redact(char *text, const char *key)
{
    size_t length = key ? strlen(key) : 0;

    for (char *at = text; length > 0 && at && (at = strchr(at, *key));) {
        size_t common = common_bytes(at, key);

        if (common < length && common < TELLING_BYTES)
            common = 0;
        memset(at, '*', common);
        at += common ? common : 1;
    }
}

struct blocks {
    size_t count;      /**< closed and open ones */
    bool open;         /**< the last has no end */
    size_t begin, end; /**< contents of the first */
};

struct fence {
    char mark;     /**< back-quote or tilde */
    size_t length; /**< number of marks */
    bool alone;    /**< nothing behind them: may close */
};

static bool is_blank(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
            return false;
    return true;
}

/* By CommonMark 4.5 a fence has up to three spaces, then at least three of one mark. */
static bool read_fence(const char *line, size_t bytes, struct fence *ret)
{
    size_t at = 0, begin;

    while (at < bytes && at < 3 && line[at] == ' ')
        at++;
    begin = at;
    if (at == bytes || (line[at] != '`' && line[at] != '~'))
        return false;
    while (at < bytes && line[at] == line[begin])
        at++;
    *ret = (struct fence){
        .mark = line[begin], .length = at - begin, .alone = is_blank(line + at, bytes - at)};
    /* ```code``` within one line is no fence. */
    return ret->length >= 3 && !(ret->mark == '`' && memchr(line + at, '`', bytes - at));
}

static struct blocks find_blocks(const char *text, size_t bytes)
{
    struct blocks found = {0};
    struct fence opened = {0};

    for (size_t at = 0, next; at < bytes; at = next) {
        const char *feed = memchr(text + at, '\n', bytes - at);
        struct fence fence;

        next = feed ? (size_t)(feed - text) + 1 : bytes;
        if (!read_fence(text + at, next - at, &fence))
            continue;
        if (!found.open) {
            opened = fence;
            found.open = true;
            if (++found.count == 1)
                found.begin = found.end = next;
        } else if (fence.alone && fence.mark == opened.mark && fence.length >= opened.length) {
            found.open = false;
            if (found.count == 1)
                found.end = at;
        }
    }
    return found;
}

static int check_finish(const struct rp_completion *c, struct rp_err *err)
{
    if (c->refused)
        return rp_fail(err, RP_VERDICT, "the model declined to answer");
    if (c->finish == RP_FINISH_LENGTH)
        return rp_fail(err, RP_VERDICT,
                       "the answer was cut at the limit of tokens; answer with the code only");
    if (c->finish == RP_FINISH_OTHER)
        return rp_fail(err, RP_VERDICT, "the server ended the answer with the reason \"%s\"",
                       c->finish_word);
    return 0;
}

static int check_text(const char *text, size_t bytes, struct rp_err *err)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        length = rp_utf8_length(text + at, bytes - at);
        if (length == 0)
            return rp_fail(err, RP_VERDICT, "the answer is not UTF-8 at byte %zu", at);
        if (text[at] == '\0')
            return rp_fail(err, RP_VERDICT, "the answer holds a zero byte");
    }
    return 0;
}

static int check_blocks(const struct blocks *found, struct rp_err *err)
{
    if (found->count == 0)
        return rp_fail(err, RP_VERDICT,
                       "the answer holds no fenced block; answer with one that holds the complete "
                       "kernel");
    if (found->count > 1)
        return rp_fail(err, RP_VERDICT,
                       "the answer holds more than one fenced block; answer with exactly one that "
                       "holds the complete kernel");
    if (found->open)
        return rp_fail(err, RP_VERDICT, "the fenced block of the answer has no end");
    return 0;
}

int rp_llm_answer_kernel(const struct rp_completion *completion, char **ret_kernel,
                         size_t *ret_bytes, struct rp_err *err)
{
    const char *text = rp_buf_text(&completion->text);
    size_t bytes = completion->text.len;
    struct blocks found = find_blocks(text, bytes);
    char *kernel;

    if (check_finish(completion, err) < 0 || check_text(text, bytes, err) < 0)
        return -(int)err->code;
    if (is_blank(text, bytes))
        return rp_fail(err, RP_VERDICT, "the answer is empty");
    if (check_blocks(&found, err) < 0)
        return -(int)err->code;
    if (is_blank(text + found.begin, found.end - found.begin))
        return rp_fail(err, RP_VERDICT, "the fenced block of the answer is empty");
    bytes = found.end - found.begin;
    if (text[found.begin + bytes - 1] == '\n')
        bytes--;
    kernel = rp_alloc(bytes + 1);
    memcpy(kernel, text + found.begin, bytes);
    kernel[bytes] = '\0';
    *ret_kernel = kernel;
    *ret_bytes = bytes;
    return 0;
}
