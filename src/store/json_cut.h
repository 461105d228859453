/**
 * @file json_cut.h
 * @brief Cuts a JSON file of any length into its values, in the memory of one of them.
 *
 * What a value is, jansson says; here it is only found where one ends. A value that is handed over
 * has been made what jansson takes: integers that need all 64 bits (handles) become texts, NaN and
 * Infinity null, bytes that are not UTF-8 U+FFFD.
 */
#ifndef RP_STORE_JSON_CUT_H
#define RP_STORE_JSON_CUT_H

#include "base/buf.h"
#include "store/json_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

enum { RP_JSON_KEY_BYTES = 64, RP_JSON_VALUE_BYTES_MAX = 64 << 20 };

/** Zero-initialise with fd = -1; release with rp_json_cut_close. */
struct rp_json_cut {
    int fd;
    uint64_t size_bytes;
    uint64_t block_offset; /**< of the block in the file */
    size_t len, at;        /**< of the block; what is read next */
    char block[65536];
    struct rp_buf raw, mended;
};

/**
 * The file may be packed by gzip. @param peek  as for rp_plain_open
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT when it cannot be read
 */
int rp_json_cut_open(struct rp_json_cut *cut, const char *path, uint64_t peek, struct rp_err *err);
void rp_json_cut_close(struct rp_json_cut *cut);

uint64_t rp_json_cut_offset(const struct rp_json_cut *cut);
void rp_json_cut_seek(struct rp_json_cut *cut, uint64_t offset);

/** The next character that is not white space, still to be read; 0 at the end. */
int rp_json_cut_peek(struct rp_json_cut *cut, char *ret, struct rp_err *err);
/** Goes into an object or array. */
int rp_json_cut_enter(struct rp_json_cut *cut, char open, struct rp_err *err);
/** Goes to the next member. @return 1, 0 behind the last one (the bracket is read), negative */
int rp_json_cut_next(struct rp_json_cut *cut, char close, bool first, struct rp_err *err);
/** Reads a key and its colon; of a long one the beginning. */
int rp_json_cut_key(struct rp_json_cut *cut, char ret[RP_JSON_KEY_BYTES], struct rp_err *err);
/**
 * Reads an object that is plain, and lies in one block of the file, into a record, which points
 * into the block until the next call. @return false: it is not, and is still to be read
 */
bool rp_json_cut_plain(struct rp_json_cut *cut, struct rp_json_record *ret);
/** Reads a value. @param ret  its text, lent until the next call; NULL: it is skipped */
int rp_json_cut_value(struct rp_json_cut *cut, const struct rp_buf **ret, struct rp_err *err);

#endif
