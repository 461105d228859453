#include "base/fixed.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct rp_text_number rp_text_fixed(double value, unsigned decimals)
{
    static const uint64_t scale[] = {1,      10,      100,      1000,      10000,
                                     100000, 1000000, 10000000, 100000000, 1000000000};
    struct rp_text_number number = {"?"};
    uint64_t units;
    double scaled;

    if (decimals > 9)
        decimals = 9;
    scaled = round(fabs(value) * (double)scale[decimals]);
    if (isnan(scaled))
        return number;
    if (scaled >= 1e18) {
        snprintf(number.text, sizeof number.text, "%shuge", value < 0 ? "-" : "");
        return number;
    }
    units = (uint64_t)scaled;
    snprintf(number.text, sizeof number.text, "%s%" PRIu64, value < 0 && units ? "-" : "",
             units / scale[decimals]);
    if (decimals) {
        size_t used = strlen(number.text);

        snprintf(number.text + used, sizeof number.text - used, ".%0*" PRIu64, (int)decimals,
                 units % scale[decimals]);
    }
    return number;
}

static bool is_zero(struct rp_text_number number)
{
    return number.text[strspn(number.text, "0.")] == '\0';
}

struct rp_text_number rp_text_small(double value, unsigned decimals)
{
    struct rp_text_number number = rp_text_fixed(value, decimals), least;

    if (value == 0 || !is_zero(number))
        return number;
    least = rp_text_fixed(pow(10, -(double)decimals), decimals);
    snprintf(number.text, sizeof number.text, "%s%.*s", value < 0 ? ">-" : "<",
             (int)sizeof number.text - 3, least.text);
    return number;
}

struct rp_text_number rp_text_signed(double value, unsigned decimals)
{
    struct rp_text_number plain = rp_text_fixed(value, decimals), number = {"+"};

    if (value <= 0 || is_zero(plain) || strcmp(plain.text, "?") == 0)
        return plain;
    snprintf(number.text + 1, sizeof number.text - 1, "%.*s", (int)sizeof number.text - 2,
             plain.text);
    return number;
}
