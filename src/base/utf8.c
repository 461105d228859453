#include "base/utf8.h"

/* Table 3-7 of the Unicode Standard: what may follow a first byte, and how many bytes in all. */
struct lead {
    unsigned char first, last; /* of the first byte */
    unsigned char second_least, second_most;
    size_t length;
};

static const struct lead leads[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

size_t rp_utf8_length(const char *text, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)text;

    if (bytes == 0)
        return 0;
    if (c[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        const struct lead *lead = &leads[i];

        if (c[0] < lead->first || c[0] > lead->last)
            continue;
        if (bytes < lead->length || c[1] < lead->second_least || c[1] > lead->second_most)
            return 0;
        for (size_t k = 2; k < lead->length; k++)
            if (c[k] < 0x80 || c[k] > 0xBF)
                return 0;
        return lead->length;
    }
    return 0;
}
