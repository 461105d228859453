/* What makes a text look like another one than the compiler reads: looked for in the bytes, so also
 * in comments and strings. */
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "optimize/tokens.h"

/** One character of UTF-8. @return its bytes; 0: there is none */
static size_t read_character(const unsigned char *at, size_t left, uint32_t *ret)
{
    size_t bytes = at[0] < 0x80   ? 1
                   : at[0] < 0xc2 ? 0
                   : at[0] < 0xe0 ? 2
                   : at[0] < 0xf0 ? 3
                   : at[0] < 0xf5 ? 4
                                  : 0;
    uint32_t value = bytes < 2 ? at[0] : at[0] & (0x7fU >> bytes);

    if (bytes == 0 || bytes > left)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    if ((bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000) || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000))
        return 0;
    *ret = value;
    return bytes;
}

bool rp_character_is_hidden(uint32_t c)
{
    return rp_utf8_is_invisible(c);
}

static bool is_control(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f;
}

static bool is_trigraph(const char *at, size_t left)
{
    return left > 2 && at[0] == '?' && at[1] == '?' && strchr("=/'()!<>-", at[2]) && at[2];
}

static bool joins_lines(const char *at, size_t left)
{
    size_t i = 1;

    /* The compiler takes blanks between the two for nothing, with a warning. */
    while (at[0] == '\\' && i < left && strchr(" \t\r\f\v", at[i]) && at[i])
        i++;
    return at[0] == '\\' && (i == left || at[i] == '\n');
}

static int check_bytes(const char *text, size_t bytes, struct rp_err *err)
{
    uint32_t line = 1, character = 0;

    for (size_t i = 0, length; i < bytes; i += length) {
        length = read_character((const unsigned char *)text + i, bytes - i, &character);
        if (length == 0)
            return rp_fail(err, RP_VERDICT, "line %u: a byte that is not UTF-8: write plain text",
                           line);
        if (is_control(character) || rp_character_is_hidden(character))
            return rp_fail(err, RP_VERDICT,
                           "line %u: the character U+%04X cannot be seen: leave it out", line,
                           character);
        if (character == '\r' && (i + 1 == bytes || text[i + 1] != '\n'))
            return rp_fail(err, RP_VERDICT, "line %u: a CR without LF: leave it out", line);
        if (is_trigraph(text + i, bytes - i))
            return rp_fail(err, RP_VERDICT, "line %u: the trigraph %.3s: write the character", line,
                           text + i);
        if (joins_lines(text + i, bytes - i))
            return rp_fail(err, RP_VERDICT,
                           "line %u: \\ at the end joins two lines: write one line", line);
        line += character == '\n';
    }
    return 0;
}

int rp_text_plain(const char *text, size_t bytes, struct rp_err *err)
{
    static const char *const digraphs[] = {"<:", ":>", "<%", "%>", "%:"};
    struct rp_tokens tokens = {0};
    int rc = check_bytes(text, bytes, err);

    if (rc < 0)
        return rc;
    rc = rp_tokens_read(text, bytes, &tokens, err);
    for (size_t i = 0; rc == 0 && i < tokens.count; i++) {
        if (tokens.list[i].kind == RP_TOKEN_OTHER)
            rc = rp_fail(err, RP_VERDICT,
                         "line %u: %c is no part of the language here: leave it out",
                         tokens.list[i].line, text[tokens.list[i].begin]);
        for (size_t j = 0; rc == 0 && j < sizeof digraphs / sizeof *digraphs; j++)
            if (rp_token_is(text, &tokens.list[i], digraphs[j]))
                rc = rp_fail(err, RP_VERDICT, "line %u: the digraph %s: write the character",
                             tokens.list[i].line, digraphs[j]);
    }
    rp_tokens_free(&tokens);
    return rc;
}
