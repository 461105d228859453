#include "optimize/llm/utf8.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "optimize/tokens.h"

/* Of whole UTF-8. */
static uint32_t character_at(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    uint32_t value = length < 2 ? c[0] : c[0] & (0x7FU >> length);

    for (size_t i = 1; i < length; i++)
        value = value << 6 | (c[i] & 0x3F);
    return value;
}

/* Terminals obey it, or nobody sees it. */
static bool is_unseen(const char *text, size_t length)
{
    const uint32_t c = character_at(text, length);

    return (c < ' ' && c != '\t' && c != '\n') || c == 0x7F || rp_character_is_hidden(c);
}

void rp_utf8_add(struct rp_buf *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = rp_utf8_length(text + at, bytes - at);

        if (text[at] == '\r' && at + 1 < bytes && text[at + 1] == '\n')
            ;
        else if (length == 0 || is_unseen(text + at, length))
            rp_buf_puts(out, "\xEF\xBF\xBD");
        else
            rp_buf_add(out, text + at, length);
        at += length ? length : 1;
    }
}
