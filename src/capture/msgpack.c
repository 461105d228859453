#include "capture/msgpack.h"

enum { MOST_DEPTH = 32 };

/* A big-endian number behind the tag. */
static bool number_behind_tag(const struct rp_msgpack *m, unsigned bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if ((size_t)(m->end - m->at) < 1 + (size_t)bytes)
        return false;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | m->at[1 + i];
    *ret = value;
    return true;
}

/* Tags with a number behind them, the first having one of 1 << shift bytes. */
static bool sized(const struct rp_msgpack *m, uint8_t first, uint8_t count, unsigned shift,
                  uint64_t *ret, unsigned *ret_header)
{
    if (m->at == m->end || m->at[0] < first || m->at[0] >= first + count)
        return false;
    *ret_header = 1u << (shift + (m->at[0] - first));
    if (!number_behind_tag(m, *ret_header, ret))
        return false;
    *ret_header += 1;
    return true;
}

static bool container(struct rp_msgpack *m, uint8_t small, uint8_t large, uint32_t *ret)
{
    unsigned header = 1;
    uint64_t count;

    if (m->at == m->end)
        return false;
    if ((m->at[0] & 0xf0) == small)
        count = m->at[0] & 0x0f;
    else if (!sized(m, large, 2, 1, &count, &header))
        return false;
    m->at += header;
    *ret = (uint32_t)count;
    return true;
}

bool rp_msgpack_map(struct rp_msgpack *m, uint32_t *ret_pairs)
{
    return container(m, 0x80, 0xde, ret_pairs);
}

bool rp_msgpack_array(struct rp_msgpack *m, uint32_t *ret_count)
{
    return container(m, 0x90, 0xdc, ret_count);
}

static bool bytes_of(struct rp_msgpack *m, uint64_t bytes, unsigned header, const uint8_t **ret)
{
    if ((uint64_t)(m->end - m->at) < header + bytes)
        return false;
    *ret = m->at + header;
    m->at += header + bytes;
    return true;
}

bool rp_msgpack_string(struct rp_msgpack *m, const char **ret, uint32_t *ret_bytes)
{
    const uint8_t *text;
    unsigned header = 1;
    uint64_t bytes;

    if (m->at == m->end)
        return false;
    if ((m->at[0] & 0xe0) == 0xa0)
        bytes = m->at[0] & 0x1f;
    else if (!sized(m, 0xd9, 3, 0, &bytes, &header))
        return false;
    if (!bytes_of(m, bytes, header, &text))
        return false;
    *ret = (const char *)text;
    *ret_bytes = (uint32_t)bytes;
    return true;
}

bool rp_msgpack_unsigned(struct rp_msgpack *m, uint64_t *ret)
{
    unsigned header = 1;

    if (m->at == m->end)
        return false;
    if (m->at[0] < 0x80)
        *ret = m->at[0];
    else if (!sized(m, 0xcc, 4, 0, ret, &header))
        return false;
    m->at += header;
    return true;
}

bool rp_msgpack_bool(struct rp_msgpack *m, bool *ret)
{
    if (m->at == m->end || (m->at[0] != 0xc2 && m->at[0] != 0xc3))
        return false;
    *ret = m->at[0] == 0xc3;
    m->at++;
    return true;
}

/* Signed numbers, floats, nil, booleans, binary: taken whole, their value being of no interest. */
static bool skip_plain(struct rp_msgpack *m)
{
    const uint8_t tag = m->at[0], *rest;
    unsigned header;
    uint64_t bytes;

    if (tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
        return bytes_of(m, 0, 1, &rest);
    if (sized(m, 0xc4, 3, 0, &bytes, &header))
        return bytes_of(m, bytes, header, &rest);
    if (tag == 0xca || tag == 0xcb)
        return bytes_of(m, tag == 0xca ? 4 : 8, 1, &rest);
    if (tag >= 0xd0 && tag <= 0xd3)
        return bytes_of(m, 1u << (tag - 0xd0), 1, &rest);
    return false;
}

static bool skip(struct rp_msgpack *m, unsigned depth)
{
    const char *text;
    uint64_t value;
    uint32_t count;

    if (depth == MOST_DEPTH || m->at == m->end)
        return false;
    if (rp_msgpack_unsigned(m, &value) || rp_msgpack_string(m, &text, &count))
        return true;
    if (rp_msgpack_map(m, &count)) {
        for (uint64_t i = 0; i < 2 * (uint64_t)count; i++)
            if (!skip(m, depth + 1))
                return false;
        return true;
    }
    if (rp_msgpack_array(m, &count)) {
        for (uint32_t i = 0; i < count; i++)
            if (!skip(m, depth + 1))
                return false;
        return true;
    }
    return skip_plain(m);
}

bool rp_msgpack_skip(struct rp_msgpack *m)
{
    return skip(m, 0);
}
