#include "optimize/llm/settings.h"

#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "optimize/llm/settings_file.h"
#include "optimize/llm/url.h"

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

static int keep(const char *value, char **ret, struct rp_err *err)
{
    if (value && !(*ret = strdup(value)))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
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
    if (keep(base_url ? base_url : names->usual_base_url, &s->base_url, err) < 0 ||
        keep(api_key, &s->api_key, err) < 0 || keep(set_variable(names->model), &s->model, err) < 0)
        return -(int)err->code;
    s->origin = rp_format("%s", base_url ? names->base_url : names->api_key);
    return s->origin ? 1 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    bool encrypted;
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
        if (keep(model, &s.model, err) < 0)
            return -(int)err->code;
    }
    if (s.api_key && !*s.api_key) /* "" in a file: none */
        free(rp_steal(s.api_key));
    if (check(&s, err) < 0)
        return -(int)err->code;
    *ret = s;
    s = (struct rp_llm_settings){0};
    return 0;
}
