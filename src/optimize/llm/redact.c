#include "optimize/llm/redact.h"

#include <string.h>

enum { TELLING_BYTES = 8 };

static size_t common_bytes(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

void rp_llm_redact(char *text, const char *key)
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
