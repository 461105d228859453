/**
 * @file json_write.h
 * @brief Writes JSON into a buffer, piece by piece: no tree is made.
 *
 *     struct rp_json_writer json = {.out = &buf};
 *     rp_json_add_object(&json, NULL);
 *     rp_json_add_text(&json, "name", kernel->name);
 *     rp_json_add_count(&json, "calls", kernel->calls);
 *     rp_json_end(&json);
 *
 * writes {"name": "saxpy", "calls": 3}. The writer keeps no bytes of its own: who writes a large
 * document may empty the buffer at any time. That memory ended is in rp_buf.failed, as always.
 */
#ifndef RP_BASE_JSON_WRITE_H
#define RP_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { RP_JSON_MOST_DEPTH = 64 };

/** Set `out`, and initialise the rest with zeros. */
struct rp_json_writer {
    struct rp_buf *out;
    unsigned indent; /**< blanks a level, a line for each member and item; 0: all on one line */
    unsigned levels; /**< of these, outermost ones that have lines of their own; 0: all */
    bool compact;    /**< no blanks at all */

    /* The members from here on are the writer's own. */
    unsigned depth; /**< number of open objects and arrays */
    uint64_t arrays,
        filled;      /**< by depth: whether it is an array, and whether it has a member or item */
    bool breaks;     /**< the next piece begins a line ... */
    unsigned blanks; /**< ... and is indented by so many blanks */
};

/* Each of these adds one member to the object. Where the key is NULL it adds one item to the array,
 * or the document itself. Keys come in the order of the calls. */

void rp_json_add_object(struct rp_json_writer *json, const char *key);
void rp_json_add_array(struct rp_json_writer *json, const char *key);
/** Closes the object or array that was opened last. */
void rp_json_end(struct rp_json_writer *json);

/** Escapes the text as rp_escape_json does, and writes NULL as null. */
void rp_json_add_text(struct rp_json_writer *json, const char *key, const char *text);
void rp_json_add_int(struct rp_json_writer *json, const char *key, int64_t value);
void rp_json_add_count(struct rp_json_writer *json, const char *key, uint64_t value);
/** Writes null where the value is not known. */
void rp_json_add_int_if(struct rp_json_writer *json, const char *key, bool known, int64_t value);
void rp_json_add_count_if(struct rp_json_writer *json, const char *key, bool known, uint64_t value);
void rp_json_add_bool(struct rp_json_writer *json, const char *key, bool value);
void rp_json_add_null(struct rp_json_writer *json, const char *key);
/** Writes the number as rp_buf_number does. What JSON cannot hold (infinite, not a number) is null.
 */
void rp_json_add_number(struct rp_json_writer *json, const char *key, double value);
/** Writes so many digits, and always a point or an exponent, as jansson writes real numbers. */
void rp_json_add_real(struct rp_json_writer *json, const char *key, double value, int digits);
/** Adds a value that is JSON already. */
void rp_json_add_json(struct rp_json_writer *json, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** The next piece (member, item, end) begins a line, and is indented by so many blanks. */
void rp_json_break(struct rp_json_writer *json, unsigned blanks);

/** Appends the shortest text that reads back as the same number, whole numbers without a point, in
 *  every locale. */
void rp_buf_number(struct rp_buf *buf, double value);
/** Rounds to six decimals. */
double rp_round6(double value);

#endif
