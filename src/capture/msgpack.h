/**
 * @file msgpack.h
 * @brief Just enough MessagePack to read the metadata of a code object. Every read is checked.
 */
#ifndef RP_CAPTURE_MSGPACK_H
#define RP_CAPTURE_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_msgpack {
    const uint8_t *at, *end;
};

/** Each takes one value; false: it is of another kind, or not whole, and nothing is taken. */
bool rp_msgpack_map(struct rp_msgpack *m, uint32_t *ret_pairs);
bool rp_msgpack_array(struct rp_msgpack *m, uint32_t *ret_count);
bool rp_msgpack_string(struct rp_msgpack *m, const char **ret, uint32_t *ret_bytes);
bool rp_msgpack_unsigned(struct rp_msgpack *m, uint64_t *ret);
bool rp_msgpack_bool(struct rp_msgpack *m, bool *ret);
/** A value of any kind, with all that is in it. */
bool rp_msgpack_skip(struct rp_msgpack *m);

#endif
