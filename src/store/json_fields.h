/**
 * @file json_fields.h
 * @brief Fields of a JSON record, as rocprofv3 writes them: numbers, handles, texts.
 */
#ifndef RP_STORE_JSON_FIELDS_H
#define RP_STORE_JSON_FIELDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_buf;

/** @return a new reference, NULL with RP_BAD_INPUT or RP_ENVIRONMENT */
json_t *rp_json_parse(const struct rp_buf *text, struct rp_err *err);

/** The member behind a path, "dispatch_info.agent_id"; NULL: there is none, or it is null. */
const json_t *rp_json_at(const json_t *record, const char *path);

/**
 * A whole number: itself, {"handle": n}, {"value": n}, or its text ("0x7f00").
 * @return 0; RP_BAD_INPUT when it is something else
 */
int rp_json_number(const json_t *record, const char *path, int64_t if_none, int64_t *ret,
                   struct rp_err *err);
/** Likewise, of a field that must be there. */
int rp_json_needed(const json_t *record, const char *path, int64_t *ret, struct rp_err *err);

struct rp_json_field {
    const char *path;
    enum { RP_JSON_NEEDED, RP_JSON_OR_0, RP_JSON_OR_NULL } kind; /**< NULL: INT64_MIN */
};

int rp_json_numbers(const json_t *record, const struct rp_json_field *fields, size_t count,
                    int64_t *ret, struct rp_err *err);

/** NULL: there is none, or it is no text. */
const char *rp_json_text(const json_t *record, const char *path);

#endif
