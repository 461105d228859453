#include "analysis/att/parts.h"

#include "base/err.h"

int rp_att_json(const char *text, size_t len, json_t **ret, struct rp_err *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, len, 0, &why);

    if (!root)
        return rp_fail(err, RP_BAD_INPUT, "line %d, column %d: %s", why.line, why.column, why.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return rp_fail(err, RP_BAD_INPUT, "it is not a JSON object");
    }
    *ret = root;
    return 0;
}

bool rp_att_number(const json_t *value, int64_t *ret)
{
    const int64_t most = INT64_C(1) << 53; /* sums of many of them must not overflow */

    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= most) {
        *ret = (int64_t)json_integer_value(value);
        return true;
    }
    if (json_is_real(value) && json_real_value(value) >= 0 &&
        json_real_value(value) <= (double)most &&
        json_real_value(value) == (double)(int64_t)json_real_value(value)) {
        *ret = (int64_t)json_real_value(value);
        return true;
    }
    return false;
}
