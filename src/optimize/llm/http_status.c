#include "optimize/llm/http_status.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "optimize/llm/exchange.h"
#include "optimize/llm/settings.h"

enum {
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    TOO_MANY_REQUESTS = 429,
    NOT_IMPLEMENTED = 501,
    VERSION_NOT_SUPPORTED = 505,
};

bool rp_http_status_is_temporary(long status)
{
    return status == TOO_MANY_REQUESTS ||
           (status >= 500 && status != NOT_IMPLEMENTED && status != VERSION_NOT_SUPPORTED);
}

/* Scheme, host and path: a query may hold what is not meant to be read. */
static int redirected(const struct rp_llm_settings *s, const char *location, struct rp_err *err)
{
    char where[200];

    rp_completion_error_text(location, strcspn(location, "?#"), where, sizeof where);
    if (strchr(where, '@'))
        snprintf(where, sizeof where, "another address");
    return rp_fail(err, RP_ENVIRONMENT,
                   "%s redirects to %s; redirects are not followed: put the final address into "
                   "the settings (%s)",
                   s->base_url, where, s->origin);
}

static const char *remedy(const struct rp_llm_settings *s, long status)
{
    if (status == UNAUTHORIZED || status == FORBIDDEN)
        return s->api_key ? "; is the key right for this server?" : "; it may want a key";
    if (status == NOT_FOUND)
        return "; are the address (it mostly ends in /v1) and the model's name right?";
    return "";
}

int rp_http_status_fail(const struct rp_llm_settings *s, struct rp_exchange *x, const char *body,
                        size_t bytes, const char *location, struct rp_err *err)
{
    char text[300];

    if (location && x->http_status >= 300 && x->http_status <= 399)
        return redirected(s, location, err);
    rp_completion_error_text(body, bytes, text, sizeof text);
    x->wants_completion_tokens =
        x->http_status == 400 && strstr(text, "max_completion_tokens") != NULL;
    return rp_fail(err, RP_ENVIRONMENT, "%s: HTTP status %ld%s%s%s", s->base_url, x->http_status,
                   *text ? ": " : "", text, remedy(s, x->http_status));
}
