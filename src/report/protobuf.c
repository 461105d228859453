#include "report/protobuf.h"

#include "base/buf.h"
#include "report/text.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_number(struct rp_buf *buf, uint64_t value)
{
    unsigned char bytes[10];
    size_t count = 0;

    do {
        bytes[count++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    rp_buf_add(buf, bytes, count);
}

static void put_tag(struct rp_buf *buf, unsigned field, enum wire wire)
{
    put_number(buf, (uint64_t)field << 3 | wire);
}

void rp_protobuf_varint(struct rp_buf *buf, unsigned field, uint64_t value)
{
    put_tag(buf, field, WIRE_VARINT);
    put_number(buf, value);
}

void rp_protobuf_fixed64(struct rp_buf *buf, unsigned field, uint64_t value)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put_tag(buf, field, WIRE_FIXED64);
    rp_buf_add(buf, bytes, sizeof bytes);
}

void rp_protobuf_message(struct rp_buf *buf, unsigned field, const struct rp_buf *message)
{
    put_tag(buf, field, WIRE_BYTES);
    put_number(buf, message->len);
    rp_buf_add(buf, rp_buf_text(message), message->len);
    buf->failed |= message->failed;
}

void rp_protobuf_text(struct rp_buf *buf, unsigned field, const char *text)
{
    rp_autobuf clean = {0};

    rp_text_utf8(&clean, text);
    rp_protobuf_message(buf, field, &clean);
}
