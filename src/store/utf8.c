#include "store/utf8.h"

#include "base/buf.h"

#include <stdint.h>

/* Bytes of the character at @p text, 0 if there is none (shortest forms, no surrogates). */
static size_t char_bytes(const unsigned char *text, size_t len)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = text[0];
    size_t bytes = lead < 0x80       ? 1
                   : lead >> 5 == 6  ? 2
                   : lead >> 4 == 14 ? 3
                   : lead >> 3 == 30 ? 4
                                     : 0;
    uint32_t point;

    if (bytes <= 1)
        return bytes;
    if (bytes > len)
        return 0;
    point = lead & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    if (point < smallest[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    return bytes;
}

bool rp_utf8_valid(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;

    while (len) {
        size_t bytes = char_bytes(at, len);
        if (!bytes)
            return false;
        at += bytes;
        len -= bytes;
    }
    return true;
}

void rp_utf8_mend(struct rp_buf *ret, const char *text, size_t len)
{
    while (len) {
        size_t bytes = char_bytes((const unsigned char *)text, len);
        if (bytes)
            rp_buf_add(ret, text, bytes);
        else
            rp_buf_puts(ret, "\xef\xbf\xbd");
        bytes += !bytes;
        text += bytes;
        len -= bytes;
    }
}
