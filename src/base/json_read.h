/**
 * @file json_read.h
 * @brief Reads a record of a JSON trace as a flat array of its values, because a trace has millions
 * of them.
 *
 * Plain records, which nearly all are, are parsed where they stand. What is out of the ordinary
 * (escapes, characters beyond ASCII, fractions, damage) is jansson's, and copied from there.
 */
#ifndef RP_BASE_JSON_READ_H
#define RP_BASE_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct rp_buf;
struct rp_err;

enum rp_json_type {
    RP_JSON_NULL,
    RP_JSON_BOOLEAN,
    RP_JSON_INTEGER,
    RP_JSON_REAL,
    RP_JSON_DECIMAL, /**< a number with a fraction or an exponent, as it is written */
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
        const char *text; /**< terminated; of a decimal it is not, but no number goes on there */
    };
};

/** This is the record that was read last. Initialise it with zeros, and release it with
 * rp_json_record_free. */
struct rp_json_record {
    struct rp_json_value *values; /**< the first one is the record */
    size_t count, room;
};

void rp_json_record_free(struct rp_json_record *record);
/** Copies what jansson has parsed, into whose texts the values point. @return false: no memory */
bool rp_json_copy(struct rp_json_record *record, const json_t *from);

/* Cuts a JSON file of any length into its values, in the memory of one of them. jansson decides
 * what a value is; here only its end is found. A value that is handed over has been made acceptable
 * for jansson: integers that need all 64 bits (handles) become texts, NaN and Infinity null, and
 * bytes that are not UTF-8 U+FFFD. */

enum { RP_JSON_KEY_BYTES = 64, RP_JSON_VALUE_BYTES_MAX = 64 << 20 };

/** Initialise it with zeros and fd = -1; release it with rp_json_stream_close. */
struct rp_json_stream {
    int fd;
    uint64_t size_bytes;
    uint64_t block_offset; /**< of the block in the file */
    size_t len, at;        /**< of the block; what is read next */
    char block[65536];
    struct rp_buf raw, mended;
};
void rp_json_stream_close(struct rp_json_stream *cut);

uint64_t rp_json_stream_offset(const struct rp_json_stream *cut);
void rp_json_stream_seek(struct rp_json_stream *cut, uint64_t offset);

/** Shows the next character that is not white space, without reading it. It is 0 at the end. */
int rp_json_stream_peek(struct rp_json_stream *cut, char *ret, struct rp_err *err);
/** Goes into an object or array. */
int rp_json_stream_enter(struct rp_json_stream *cut, char open, struct rp_err *err);
/** Goes to the next member. @return 1, 0 behind the last one (the bracket is read), negative */
int rp_json_stream_next(struct rp_json_stream *cut, char close, bool first, struct rp_err *err);
/** Reads a key and its colon. A long key is cut to its beginning. */
int rp_json_stream_key(struct rp_json_stream *cut, char ret[RP_JSON_KEY_BYTES], struct rp_err *err);
/**
 * Reads an object that is plain, and lies in one block of the file, into a record, which points
 * into the block until the next call. @return false: it is not, and is still to be read
 */
bool rp_json_stream_record(struct rp_json_stream *cut, struct rp_json_record *ret);
/**
 * Reads an object of any kind into a record, without jansson: numbers with a fraction stay as they
 * are written, so that no digit is lost, and escapes become the characters that they stand for. A
 * zero byte in a text becomes U+FFFD. The record is valid until the next call.
 * @return 0; RP_BAD_INPUT; RP_ENVIRONMENT
 */
int rp_json_stream_object(struct rp_json_stream *cut, struct rp_json_record *ret,
                          struct rp_err *err);
/** Reads a value.
 * @param ret its text, valid until the next call; NULL skips the value */
int rp_json_stream_value(struct rp_json_stream *cut, const struct rp_buf **ret, struct rp_err *err);

/* Reads fields of a JSON record as rocprofv3 writes them: numbers, handles, texts. */

/** @return a new reference, NULL with RP_BAD_INPUT or RP_ENVIRONMENT */
json_t *rp_json_parse(const struct rp_buf *text, struct rp_err *err);

/** Returns the member behind a path as "dispatch_info.agent_id", or NULL when it is absent or null.
 */
const struct rp_json_value *rp_json_at(const struct rp_json_value *record, const char *path);

/** Reads an id: a whole number itself, {"handle": n}, {"value": n}, or its text ("0x7f00"). Where
 * an id needs all 64 bits, its bits are returned.
 * @return 0; RP_BAD_INPUT when it is something else */
int rp_json_number(const struct rp_json_value *record, const char *path, int64_t if_none,
                   int64_t *ret, struct rp_err *err);
/** Reads a field in the same way, but refuses a record that lacks it. */
int rp_json_required(const struct rp_json_value *record, const char *path, int64_t *ret,
                     struct rp_err *err);

/** These flags say what stands for a field that is absent: nothing, 0, or INT64_MIN. */
enum {
    RP_JSON_REQUIRED,
    RP_JSON_OR_0,
    RP_JSON_OR_NULL,
    RP_JSON_ALL_BITS = 4, /**< an address: a number above INT64_MAX is no damage */
};

struct rp_json_field {
    const char *path;
    unsigned kind;
};

/** Reads numbers that fit with their sign. Handles and addresses have all bits. */
int rp_json_numbers(const struct rp_json_value *record, const struct rp_json_field *fields,
                    size_t count, int64_t *ret, struct rp_err *err);

/**
 * Returns a number times a thousand, rounded to the nearest whole one from its decimal digits: the
 * nanoseconds of a time in microseconds, to the last one.
 * @return false: it is no number, or too large
 */
bool rp_json_thousandths(const struct rp_json_value *value, int64_t *ret);

/** Reads a value that was counted.
 * @return whether it is a number */
bool rp_json_real(const struct rp_json_value *value, double *ret);

/** Returns NULL when the member is absent or no text. */
const char *rp_json_text(const struct rp_json_value *record, const char *path);

/* This section says which versions of the suite's own JSON documents are read; docs/formats.md
 * describes them. */

/**
 * Takes "1.0" and every later minor version, which only adds keys.
 * @param version  the document's schema_version, NULL when it has none
 * @param path     of the document, for the message
 * @return 0; RP_BAD_INPUT
 */
int rp_schema_version_check(const char *version, const char *path, struct rp_err *err);

/** Returns the first value below an object or array, and then the next one. It is NULL at the end.
 */
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
