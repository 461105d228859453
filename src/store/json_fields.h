/**
 * @file json_fields.h
 * @brief Fields of a JSON record, as rocprofv3 writes them: numbers, handles, texts.
 */
#ifndef RP_STORE_JSON_FIELDS_H
#define RP_STORE_JSON_FIELDS_H

#include "store/json_value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_buf;

/** @return a new reference, NULL with RP_BAD_INPUT or RP_ENVIRONMENT */
json_t *rp_json_parse(const struct rp_buf *text, struct rp_err *err);

/** The member behind a path, "dispatch_info.agent_id"; NULL: there is none, or it is null. */
const struct rp_json_value *rp_json_at(const struct rp_json_value *record, const char *path);

/**
 * An id: a whole number itself, {"handle": n}, {"value": n}, or its text ("0x7f00"). Of one that
 * needs all 64 bits the bits.
 * @return 0; RP_BAD_INPUT when it is something else
 */
int rp_json_number(const struct rp_json_value *record, const char *path, int64_t if_none,
                   int64_t *ret, struct rp_err *err);
/** Likewise, of a field that must be there. */
int rp_json_needed(const struct rp_json_value *record, const char *path, int64_t *ret,
                   struct rp_err *err);

/** What stands for a field that is not there: nothing, 0, or INT64_MIN. */
enum {
    RP_JSON_NEEDED,
    RP_JSON_OR_0,
    RP_JSON_OR_NULL,
    RP_JSON_ALL_BITS = 4, /**< an address: a number above INT64_MAX is no damage */
};

struct rp_json_field {
    const char *path;
    unsigned kind;
};

/** Numbers that fit with their sign; handles and addresses have all bits. */
int rp_json_numbers(const struct rp_json_value *record, const struct rp_json_field *fields,
                    size_t count, int64_t *ret, struct rp_err *err);

/** A value that was counted. @return whether it is a number */
bool rp_json_real(const struct rp_json_value *value, double *ret);

/** NULL: there is none, or it is no text. */
const char *rp_json_text(const struct rp_json_value *record, const char *path);

#endif
