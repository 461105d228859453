/**
 * @file json_value.h
 * @brief A record of a JSON trace as a flat array of its values: what is read of millions of them.
 *
 * Plain records, which nearly all are, are parsed where they stand. What is out of the ordinary
 * (escapes, characters beyond ASCII, fractions, damage) is jansson's, and copied from there.
 */
#ifndef RP_STORE_JSON_VALUE_H
#define RP_STORE_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rp_json_type {
    RP_JSON_NULL,
    RP_JSON_BOOLEAN,
    RP_JSON_INTEGER,
    RP_JSON_REAL,
    RP_JSON_TEXT,
    RP_JSON_OBJECT,
    RP_JSON_ARRAY,
};

struct rp_json_value {
    const char *key; /**< of a member of an object; not terminated */
    uint32_t key_len;
    uint32_t size; /**< values of this one and all below it, which follow it */
    enum rp_json_type type;
    uint32_t text_len;
    union {
        int64_t integer;
        double real;
        const char *text; /**< terminated */
    };
};

/** The last record. Zero-initialise; release with rp_json_record_free. */
struct rp_json_record {
    struct rp_json_value *values; /**< the first one is the record */
    size_t count, room;
};

void rp_json_record_free(struct rp_json_record *record);

/**
 * Parses the value at the beginning of a text, into which the values then point and in which the
 * ends of texts are made zeros. An integer that only fits without a sign becomes a text.
 * @return how many bytes it takes; 0: it is not plain, not whole, or too much for the memory, and
 *         the text is as it was
 */
size_t rp_json_parse_plain(struct rp_json_record *record, char *text, size_t len);
/** Copies what jansson has parsed, into whose texts the values point. @return false: no memory */
bool rp_json_copy(struct rp_json_record *record, const json_t *from);

/** First below an object or array, and the next one; NULL: there is none. */
static inline const struct rp_json_value *rp_json_first(const struct rp_json_value *of)
{
    return of && of->size > 1 && of->type >= RP_JSON_OBJECT ? of + 1 : NULL;
}

static inline const struct rp_json_value *rp_json_next(const struct rp_json_value *of,
                                                       const struct rp_json_value *member)
{
    return member + member->size < of + of->size ? member + member->size : NULL;
}

#endif
