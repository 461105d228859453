/**
 * @file protobuf.h
 * @brief Protocol buffers, written: fields of a message one after the other.
 */
#ifndef RP_REPORT_PROTOBUF_H
#define RP_REPORT_PROTOBUF_H

#include <stdint.h>

struct rp_buf;

void rp_protobuf_varint(struct rp_buf *buf, unsigned field, uint64_t value);
void rp_protobuf_fixed64(struct rp_buf *buf, unsigned field, uint64_t value);
/** Made valid UTF-8, which is what the format asks for. */
void rp_protobuf_text(struct rp_buf *buf, unsigned field, const char *text);
/** A message within another. */
void rp_protobuf_message(struct rp_buf *buf, unsigned field, const struct rp_buf *message);

#endif
