#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static bool continues(unsigned char byte)
{
    return byte >> 6 == 2;
}

size_t rp_utf8_decode(const char *text, size_t bytes, uint32_t *ret)
{
    /* Smaller numbers have a shorter form, which is the only one allowed; the index is the count of
     * bytes. */
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)text;
    uint32_t point;
    size_t length;

    *ret = 0xfffd;
    if (bytes == 0)
        return 0;
    if (c[0] < 0x80) {
        *ret = c[0];
        return 1;
    }
    length = c[0] >> 5 == 6 ? 2 : c[0] >> 4 == 14 ? 3 : c[0] >> 3 == 30 ? 4 : 0;
    if (length == 0 || bytes < length)
        return 0;
    point = c[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!continues(c[i]))
            return 0;
        point = point << 6 | (c[i] & 0x3f);
    }
    if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0; /* It may also be a half of a UTF-16 pair. */
    *ret = point;
    return length;
}

size_t rp_utf8_length(const char *text, size_t bytes)
{
    uint32_t point;

    return rp_utf8_decode(text, bytes, &point);
}

struct range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* These are the columns of a terminal by Unicode 14, as Python 3.11's unicodedata has it. libc's
 * wcwidth() differs from machine to machine, by its version and the locales that are installed, but
 * a result must have the same bytes everywhere. */

/* The table has general category Mn, Me and Cf without the soft hyphen, and vowels and final
 * consonants of Hangul. */
static const struct range without_width[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489},   {0x0591, 0x05bd},   {0x05bf, 0x05bf},
    {0x05c1, 0x05c2},   {0x05c4, 0x05c5},   {0x05c7, 0x05c7},   {0x0600, 0x0605},
    {0x0610, 0x061a},   {0x061c, 0x061c},   {0x064b, 0x065f},   {0x0670, 0x0670},
    {0x06d6, 0x06dd},   {0x06df, 0x06e4},   {0x06e7, 0x06e8},   {0x06ea, 0x06ed},
    {0x070f, 0x070f},   {0x0711, 0x0711},   {0x0730, 0x074a},   {0x07a6, 0x07b0},
    {0x07eb, 0x07f3},   {0x07fd, 0x07fd},   {0x0816, 0x0819},   {0x081b, 0x0823},
    {0x0825, 0x0827},   {0x0829, 0x082d},   {0x0859, 0x085b},   {0x0890, 0x089f},
    {0x08ca, 0x0902},   {0x093a, 0x093a},   {0x093c, 0x093c},   {0x0941, 0x0948},
    {0x094d, 0x094d},   {0x0951, 0x0957},   {0x0962, 0x0963},   {0x0981, 0x0981},
    {0x09bc, 0x09bc},   {0x09c1, 0x09c4},   {0x09cd, 0x09cd},   {0x09e2, 0x09e3},
    {0x09fe, 0x0a02},   {0x0a3c, 0x0a3c},   {0x0a41, 0x0a51},   {0x0a70, 0x0a71},
    {0x0a75, 0x0a75},   {0x0a81, 0x0a82},   {0x0abc, 0x0abc},   {0x0ac1, 0x0ac8},
    {0x0acd, 0x0acd},   {0x0ae2, 0x0ae3},   {0x0afa, 0x0b01},   {0x0b3c, 0x0b3c},
    {0x0b3f, 0x0b3f},   {0x0b41, 0x0b44},   {0x0b4d, 0x0b56},   {0x0b62, 0x0b63},
    {0x0b82, 0x0b82},   {0x0bc0, 0x0bc0},   {0x0bcd, 0x0bcd},   {0x0c00, 0x0c00},
    {0x0c04, 0x0c04},   {0x0c3c, 0x0c3c},   {0x0c3e, 0x0c40},   {0x0c46, 0x0c56},
    {0x0c62, 0x0c63},   {0x0c81, 0x0c81},   {0x0cbc, 0x0cbc},   {0x0cbf, 0x0cbf},
    {0x0cc6, 0x0cc6},   {0x0ccc, 0x0ccd},   {0x0ce2, 0x0ce3},   {0x0d00, 0x0d01},
    {0x0d3b, 0x0d3c},   {0x0d41, 0x0d44},   {0x0d4d, 0x0d4d},   {0x0d62, 0x0d63},
    {0x0d81, 0x0d81},   {0x0dca, 0x0dca},   {0x0dd2, 0x0dd6},   {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e},   {0x0eb1, 0x0eb1},   {0x0eb4, 0x0ebc},
    {0x0ec8, 0x0ecd},   {0x0f18, 0x0f19},   {0x0f35, 0x0f35},   {0x0f37, 0x0f37},
    {0x0f39, 0x0f39},   {0x0f71, 0x0f7e},   {0x0f80, 0x0f84},   {0x0f86, 0x0f87},
    {0x0f8d, 0x0fbc},   {0x0fc6, 0x0fc6},   {0x102d, 0x1030},   {0x1032, 0x1037},
    {0x1039, 0x103a},   {0x103d, 0x103e},   {0x1058, 0x1059},   {0x105e, 0x1060},
    {0x1071, 0x1074},   {0x1082, 0x1082},   {0x1085, 0x1086},   {0x108d, 0x108d},
    {0x109d, 0x109d},   {0x1160, 0x11ff},   {0x135d, 0x135f},   {0x1712, 0x1714},
    {0x1732, 0x1733},   {0x1752, 0x1753},   {0x1772, 0x1773},   {0x17b4, 0x17b5},
    {0x17b7, 0x17bd},   {0x17c6, 0x17c6},   {0x17c9, 0x17d3},   {0x17dd, 0x17dd},
    {0x180b, 0x180f},   {0x1885, 0x1886},   {0x18a9, 0x18a9},   {0x1920, 0x1922},
    {0x1927, 0x1928},   {0x1932, 0x1932},   {0x1939, 0x193b},   {0x1a17, 0x1a18},
    {0x1a1b, 0x1a1b},   {0x1a56, 0x1a56},   {0x1a58, 0x1a60},   {0x1a62, 0x1a62},
    {0x1a65, 0x1a6c},   {0x1a73, 0x1a7f},   {0x1ab0, 0x1b03},   {0x1b34, 0x1b34},
    {0x1b36, 0x1b3a},   {0x1b3c, 0x1b3c},   {0x1b42, 0x1b42},   {0x1b6b, 0x1b73},
    {0x1b80, 0x1b81},   {0x1ba2, 0x1ba5},   {0x1ba8, 0x1ba9},   {0x1bab, 0x1bad},
    {0x1be6, 0x1be6},   {0x1be8, 0x1be9},   {0x1bed, 0x1bed},   {0x1bef, 0x1bf1},
    {0x1c2c, 0x1c33},   {0x1c36, 0x1c37},   {0x1cd0, 0x1cd2},   {0x1cd4, 0x1ce0},
    {0x1ce2, 0x1ce8},   {0x1ced, 0x1ced},   {0x1cf4, 0x1cf4},   {0x1cf8, 0x1cf9},
    {0x1dc0, 0x1dff},   {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x206f},
    {0x20d0, 0x20f0},   {0x2cef, 0x2cf1},   {0x2d7f, 0x2d7f},   {0x2de0, 0x2dff},
    {0x302a, 0x302d},   {0x3099, 0x309a},   {0xa66f, 0xa672},   {0xa674, 0xa67d},
    {0xa69e, 0xa69f},   {0xa6f0, 0xa6f1},   {0xa802, 0xa802},   {0xa806, 0xa806},
    {0xa80b, 0xa80b},   {0xa825, 0xa826},   {0xa82c, 0xa82c},   {0xa8c4, 0xa8c5},
    {0xa8e0, 0xa8f1},   {0xa8ff, 0xa8ff},   {0xa926, 0xa92d},   {0xa947, 0xa951},
    {0xa980, 0xa982},   {0xa9b3, 0xa9b3},   {0xa9b6, 0xa9b9},   {0xa9bc, 0xa9bd},
    {0xa9e5, 0xa9e5},   {0xaa29, 0xaa2e},   {0xaa31, 0xaa32},   {0xaa35, 0xaa36},
    {0xaa43, 0xaa43},   {0xaa4c, 0xaa4c},   {0xaa7c, 0xaa7c},   {0xaab0, 0xaab0},
    {0xaab2, 0xaab4},   {0xaab7, 0xaab8},   {0xaabe, 0xaabf},   {0xaac1, 0xaac1},
    {0xaaec, 0xaaed},   {0xaaf6, 0xaaf6},   {0xabe5, 0xabe5},   {0xabe8, 0xabe8},
    {0xabed, 0xabed},   {0xd7b0, 0xd7fb},   {0xfb1e, 0xfb1e},   {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x101fd, 0x101fd},
    {0x102e0, 0x102e0}, {0x10376, 0x1037a}, {0x10a01, 0x10a0f}, {0x10a38, 0x10a3f},
    {0x10ae5, 0x10ae6}, {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10f46, 0x10f50},
    {0x10f82, 0x10f85}, {0x11001, 0x11001}, {0x11038, 0x11046}, {0x11070, 0x11070},
    {0x11073, 0x11074}, {0x1107f, 0x11081}, {0x110b3, 0x110b6}, {0x110b9, 0x110ba},
    {0x110bd, 0x110bd}, {0x110c2, 0x110cd}, {0x11100, 0x11102}, {0x11127, 0x1112b},
    {0x1112d, 0x11134}, {0x11173, 0x11173}, {0x11180, 0x11181}, {0x111b6, 0x111be},
    {0x111c9, 0x111cc}, {0x111cf, 0x111cf}, {0x1122f, 0x11231}, {0x11234, 0x11234},
    {0x11236, 0x11237}, {0x1123e, 0x1123e}, {0x112df, 0x112df}, {0x112e3, 0x112ea},
    {0x11300, 0x11301}, {0x1133b, 0x1133c}, {0x11340, 0x11340}, {0x11366, 0x11374},
    {0x11438, 0x1143f}, {0x11442, 0x11444}, {0x11446, 0x11446}, {0x1145e, 0x1145e},
    {0x114b3, 0x114b8}, {0x114ba, 0x114ba}, {0x114bf, 0x114c0}, {0x114c2, 0x114c3},
    {0x115b2, 0x115b5}, {0x115bc, 0x115bd}, {0x115bf, 0x115c0}, {0x115dc, 0x115dd},
    {0x11633, 0x1163a}, {0x1163d, 0x1163d}, {0x1163f, 0x11640}, {0x116ab, 0x116ab},
    {0x116ad, 0x116ad}, {0x116b0, 0x116b5}, {0x116b7, 0x116b7}, {0x1171d, 0x1171f},
    {0x11722, 0x11725}, {0x11727, 0x1172b}, {0x1182f, 0x11837}, {0x11839, 0x1183a},
    {0x1193b, 0x1193c}, {0x1193e, 0x1193e}, {0x11943, 0x11943}, {0x119d4, 0x119db},
    {0x119e0, 0x119e0}, {0x11a01, 0x11a0a}, {0x11a33, 0x11a38}, {0x11a3b, 0x11a3e},
    {0x11a47, 0x11a47}, {0x11a51, 0x11a56}, {0x11a59, 0x11a5b}, {0x11a8a, 0x11a96},
    {0x11a98, 0x11a99}, {0x11c30, 0x11c3d}, {0x11c3f, 0x11c3f}, {0x11c92, 0x11ca7},
    {0x11caa, 0x11cb0}, {0x11cb2, 0x11cb3}, {0x11cb5, 0x11cb6}, {0x11d31, 0x11d45},
    {0x11d47, 0x11d47}, {0x11d90, 0x11d91}, {0x11d95, 0x11d95}, {0x11d97, 0x11d97},
    {0x11ef3, 0x11ef4}, {0x13430, 0x13438}, {0x16af0, 0x16af4}, {0x16b30, 0x16b36},
    {0x16f4f, 0x16f4f}, {0x16f8f, 0x16f92}, {0x16fe4, 0x16fe4}, {0x1bc9d, 0x1bc9e},
    {0x1bca0, 0x1cf46}, {0x1d167, 0x1d169}, {0x1d173, 0x1d182}, {0x1d185, 0x1d18b},
    {0x1d1aa, 0x1d1ad}, {0x1d242, 0x1d244}, {0x1da00, 0x1da36}, {0x1da3b, 0x1da6c},
    {0x1da75, 0x1da75}, {0x1da84, 0x1da84}, {0x1da9b, 0x1daaf}, {0x1e000, 0x1e02a},
    {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e8d0, 0x1e8d6},
    {0x1e944, 0x1e94a}, {0xe0001, 0xe01ef},
};

/* The table has East_Asian_Width W and F. Unassigned points between two of them are included. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
    {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},
    {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},
    {0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},   {0x27bf, 0x27bf},
    {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x2e80, 0x303e},
    {0x3041, 0x3247},   {0x3250, 0x4dbf},   {0x4e00, 0xa4c6},   {0xa960, 0xa97c},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe6b},   {0xff01, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
    {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
    {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
    {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
    {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f},
    {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df},
    {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a},
    {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faf6}, {0x20000, 0x3fffd},
};

static int by_point(const void *key, const void *element)
{
    const uint32_t point = *(const uint32_t *)key;
    const struct range *range = element;

    return point < range->first ? -1 : point > range->last;
}

unsigned rp_utf8_width(uint32_t point)
{
    if (point < without_width[0].first)
        return 1;
    if (bsearch(&point, without_width, sizeof without_width / sizeof *without_width,
                sizeof *without_width, by_point))
        return 0;
    return bsearch(&point, wide, sizeof wide / sizeof *wide, sizeof *wide, by_point) ? 2 : 1;
}

size_t rp_utf8_cells(const char *text)
{
    size_t cells = 0;

    while (*text) {
        uint32_t point;
        const size_t length = rp_utf8_decode(text, strnlen(text, 4), &point);

        cells += rp_utf8_width(point);
        text += length ? length : 1;
    }
    return cells;
}

/* The Unicode Standard names these: C1; Default_Ignorable_Code_Point (DerivedCoreProperties.txt),
 * which has the marks of direction and the characters without width; line and paragraph separator;
 * interlinear annotations. */
bool rp_utf8_is_invisible(uint32_t point)
{
    static const struct range ranges[] = {
        {0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},   {0x61c, 0x61c},
        {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},
        {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };

    return point >= 0x80 && in_ranges(point, ranges, sizeof ranges / sizeof *ranges);
}

/* A CI service skips these at the beginning of a line. */
static bool is_blank(uint32_t point)
{
    static const struct range ranges[] = {
        {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
        {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
    };

    return in_ranges(point, ranges, sizeof ranges / sizeof *ranges);
}

/* The decoder looks at as many bytes as the first one announces, and not beyond one that does not
 * continue it, which the terminator is. */
static size_t decode_at(const char *at, uint32_t *ret)
{
    return rp_utf8_decode(at, (unsigned char)*at < 0x80 ? *at != '\0' : strnlen(at, 4), ret);
}

static bool is_hash_command(const char *text)
{
    if (text[0] != '#' || text[1] != '#')
        return false;
    for (text += 2; (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');)
        text++;
    return *text == '[';
}

static bool is_command(const struct rp_escape_at *at)
{
    if (at->at[0] == ':' && at->at[1] == ':')
        return !at->inside;
    return is_hash_command(at->at);
}

static void write_out(struct rp_escaped *ret, const char *format, uint32_t value)
{
    ret->bytes = (unsigned)snprintf(ret->text, sizeof ret->text, format, value);
    ret->point = 0;
}

bool rp_escape_next(struct rp_escape_at *at, struct rp_escaped *ret)
{
    uint32_t point;
    const size_t length = decode_at(at->at, &point);
    const bool command = is_command(at);

    if (!*at->at)
        return false;
    if (length == 0 || point < ' ' || point == 0x7f || command) {
        write_out(ret, "\\x%02x", (unsigned char)*at->at);
    } else if (rp_utf8_is_invisible(point)) {
        write_out(ret, point > 0xffff ? "\\U%08x" : "\\u%04x", point);
    } else {
        memcpy(ret->text, at->at, length);
        ret->text[length] = '\0';
        ret->bytes = (unsigned)length;
        ret->point = point;
    }
    at->inside = !ret->point || !is_blank(point);
    at->at += length ? length : 1;
    return true;
}

/* Counts bytes that need no look, as letters and digits. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    while (text[n] > ' ' && text[n] < 0x7f && text[n] != ':' && text[n] != '#')
        n++;
    return n;
}

void rp_escape(struct rp_buf *buf, const char *text)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;

    for (;;) {
        const size_t plain = plain_length(at.at);

        rp_buf_add(buf, at.at, plain);
        at.at += plain;
        at.inside |= plain > 0;
        if (!rp_escape_next(&at, &one))
            return;
        rp_buf_add(buf, one.text, one.bytes);
    }
}

void rp_escape_into(char *ret, size_t room, const char *text)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;
    size_t used = 0;

    while (rp_escape_next(&at, &one) && used + one.bytes < room) {
        memcpy(ret + used, one.text, one.bytes);
        used += one.bytes;
    }
    ret[used] = '\0';
}

/* JSON has no larger escapes, so a character beyond 16 bits takes two. */
static void put_json_point(struct rp_buf *buf, uint32_t point)
{
    if (point > 0xffff)
        rp_buf_printf(buf, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
                      0xdc00 + ((point - 0x10000) & 0x3ff));
    else
        rp_buf_printf(buf, "\\u%04x", point);
}

/* Counts bytes that stand in a JSON string as they are. */
static size_t plain_json_length(const char *text)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\' && text[n] != '#')
        n++;
    return n;
}

void rp_escape_json(struct rp_buf *buf, const char *text)
{
    for (;;) {
        const size_t plain = plain_json_length(text);
        size_t length;
        uint32_t point;

        rp_buf_add(buf, text, plain);
        text += plain;
        if (!*text)
            return;
        length = decode_at(text, &point);
        if (point == '"' || point == '\\')
            rp_buf_printf(buf, "\\%c", (char)point);
        else if (point < ' ' || point == 0x7f || rp_utf8_is_invisible(point) ||
                 is_hash_command(text))
            put_json_point(buf, point);
        else if (length)
            rp_buf_add(buf, text, length);
        else
            rp_buf_puts(buf, "\xef\xbf\xbd");
        text += length ? length : 1;
    }
}

void rp_escape_invisible(struct rp_buf *buf, const char *text)
{
    const char *done = text;

    while (*text) {
        uint32_t point;
        size_t length;

        /* A result of megabytes is nearly all letters, digits and blanks, so these are tested
         * first. */
        while (*text > '#' ? *text < 0x7f : *text > 0 && *text != '#')
            text++;
        if (!*text)
            break;
        length = decode_at(text, &point);
        if (length && point != 0x7f && !rp_utf8_is_invisible(point) && !is_hash_command(text)) {
            text += length;
            continue;
        }
        rp_buf_add(buf, done, (size_t)(text - done));
        put_json_point(buf, point);
        text += length ? length : 1;
        done = text;
    }
    rp_buf_puts(buf, done);
}

/* Most texts are ASCII, which is measured faster. */
static size_t ascii_length(const char *text, size_t len)
{
    uint64_t eight;
    size_t n = 0;

    for (; len - n >= sizeof eight; n += sizeof eight) {
        memcpy(&eight, text + n, sizeof eight);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (n < len && (unsigned char)text[n] < 0x80)
        n++;
    return n;
}

bool rp_utf8_is_valid(const char *text, size_t len)
{
    size_t at = 0;

    while ((at += ascii_length(text + at, len - at)) < len) {
        const size_t length = rp_utf8_length(text + at, len - at);

        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

void rp_utf8_fix(struct rp_buf *ret, const char *text, size_t len)
{
    while (len) {
        size_t bytes = rp_utf8_length(text, len);
        if (bytes)
            rp_buf_add(ret, text, bytes);
        else
            rp_buf_puts(ret, "\xef\xbf\xbd");
        bytes += !bytes;
        text += bytes;
        len -= bytes;
    }
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t two = a < b ? a : b;

    return two < c ? two : c;
}

size_t rp_typing_errors(const char *a, const char *b)
{
    enum { MOST = 200 };
    /* Row i of the table is in rows[i % 3], because exchanged bytes look two rows back. */
    size_t rows[3][MOST + 1], lines = strnlen(a, MOST), columns = strnlen(b, MOST);

    for (size_t j = 0; j <= columns; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= lines; i++) {
        size_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *first = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            row[j] =
                smallest(before[j - 1] + (a[i - 1] != b[j - 1]), before[j] + 1, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                first[j - 2] + 1 < row[j])
                row[j] = first[j - 2] + 1;
        }
    }
    return rows[lines % 3][columns];
}

void rp_nearest_try(struct rp_nearest *nearest, const char *name)
{
    const size_t length = strlen(nearest->word);
    const size_t most = length < 3 ? 0 : (length + 1) / 3;
    size_t distance;

    if (length > RP_NEAREST_MOST || strlen(name) > RP_NEAREST_MOST)
        return;
    distance = length >= 3 && strncmp(name, nearest->word, length) == 0
                   ? 1
                   : rp_typing_errors(nearest->word, name);
    if (distance > most || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = distance;
}
