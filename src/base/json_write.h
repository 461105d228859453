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

/** Set `out`, zero-initialise the rest. */
struct rp_json_writer {
    struct rp_buf *out;
    unsigned indent; /**< blanks a level, a line for each member and item; 0: all on one line */
    unsigned levels; /**< of these, outermost ones that have lines of their own; 0: all */
    bool compact;    /**< no blanks at all */

    /* The writer's own. */
    unsigned depth;          /* objects and arrays that are open */
    uint64_t arrays, filled; /* of these, by depth: is it an array, has it a member or item */
    bool breaks;             /* what comes next begins a line ... */
    unsigned blanks;         /* ... with so many blanks */
};

/* Each adds one member to the object, or, where the key is NULL, one item to the array, or the
 * document itself. Keys come in the order of the calls. */

void rp_json_add_object(struct rp_json_writer *json, const char *key);
void rp_json_add_array(struct rp_json_writer *json, const char *key);
/** Closes the object or array that was opened last. */
void rp_json_end(struct rp_json_writer *json);

/** Escaped as rp_escape_json does; NULL: null. */
void rp_json_add_text(struct rp_json_writer *json, const char *key, const char *text);
void rp_json_add_int(struct rp_json_writer *json, const char *key, int64_t value);
void rp_json_add_count(struct rp_json_writer *json, const char *key, uint64_t value);
/** null where it is not known. */
void rp_json_add_int_if(struct rp_json_writer *json, const char *key, bool known, int64_t value);
void rp_json_add_count_if(struct rp_json_writer *json, const char *key, bool known, uint64_t value);
void rp_json_add_bool(struct rp_json_writer *json, const char *key, bool value);
void rp_json_add_null(struct rp_json_writer *json, const char *key);
/** As rp_buf_number; what JSON cannot hold (infinite, not a number) is null. */
void rp_json_add_number(struct rp_json_writer *json, const char *key, double value);
/** With so many digits, and always with a point or an exponent, as jansson writes real numbers. */
void rp_json_add_real(struct rp_json_writer *json, const char *key, double value, int digits);
/** A value that is JSON already. */
void rp_json_add_json(struct rp_json_writer *json, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** What comes next (member, item, end) begins a line, with so many blanks. */
void rp_json_break(struct rp_json_writer *json, unsigned blanks);

/** Appends the shortest text that reads back as the same number, whole numbers without a point, in
 *  every locale. */
void rp_buf_number(struct rp_buf *buf, double value);
/** Nearest value with six decimals. */
double rp_round6(double value);

#endif
