#include "optimize/llm/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/err.h"

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

int rp_llm_url_check(const char *text, bool *ret_encrypted, bool *ret_loopback, struct rp_err *err)
{
    rp_cleanup(cleanup_url) CURLU *url = curl_url();
    rp_cleanup(cleanup_part) char *scheme = NULL;
    rp_cleanup(cleanup_part) char *host = NULL;

    if (!url)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
