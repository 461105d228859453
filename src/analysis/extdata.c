#include "analysis/extdata.h"

#include "base/err.h"

int rp_extdata_load(const char *text, json_t **ret, struct rp_err *err)
{
    json_error_t error;
    json_t *object = text ? json_loads(text, 0, &error) : NULL;

    if (text && !object) {
        enum json_error_code code = json_error_code(&error);

        /* The parser names every fault of the text. Of a failed allocation it says so, or
         * nothing, or (inside a string) a fault of the text: then only the detail is lost. */
        if (code == json_error_out_of_memory || code == json_error_unknown)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = object;
    return 0;
}

uint64_t rp_extdata_positive(const json_t *object, const char *key, uint64_t most)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 && (uint64_t)value <= most ? (uint64_t)value : 0;
}
