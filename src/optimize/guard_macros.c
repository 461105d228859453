/* Lines, and words in them: what is taken for a word though it stands in a string only makes that
 * macro one more whose number is compared. */
#include "optimize/guard_macros.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
#define RP_GUARD_WORD(word) word,
#include "optimize/guard_words.def"
#undef RP_GUARD_WORD
};

static bool is_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

static size_t word_bytes(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes && is_letter(text[length]))
        length++;
    return length;
}

static size_t blank_bytes(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes && (text[length] == ' ' || text[length] == '\t'))
        length++;
    return length;
}

/** Up to a line feed that no backslash stands before. */
static size_t line_bytes(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes &&
           (text[length] != '\n' ||
            (length > 0 && (text[length - 1] == '\\' ||
                            (length > 1 && text[length - 1] == '\r' && text[length - 2] == '\\')))))
        length++;
    return length;
}

/** @return whether a line defines a macro */
static bool read_line(const char *line, size_t bytes, struct rp_guard_macro *ret)
{
    static const char define[] = "define";
    size_t at = blank_bytes(line, bytes), length;

    if (at == bytes || line[at] != '#')
        return false;
    at++;
    at += blank_bytes(line + at, bytes - at);
    if (word_bytes(line + at, bytes - at) != strlen(define) ||
        memcmp(line + at, define, strlen(define)) != 0)
        return false;
    at += strlen(define);
    at += blank_bytes(line + at, bytes - at);
    length = word_bytes(line + at, bytes - at);
    *ret = (struct rp_guard_macro){.name = strndup(line + at, length),
                                   .text = line + at + length,
                                   .bytes = bytes - at - length};
    return true;
}

/** The word that a name is, or that the macro of that name holds; NULL: none. */
static const char *word_of(const struct rp_guard_macros *macros, const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == bytes && memcmp(words[i], name, bytes) == 0)
            return words[i];
    for (size_t i = 0; i < macros->count; i++)
        if (macros->list[i].word && strlen(macros->list[i].name) == bytes &&
            memcmp(macros->list[i].name, name, bytes) == 0)
            return macros->list[i].word;
    return NULL;
}

static const char *word_in(const struct rp_guard_macros *macros, const struct rp_guard_macro *macro)
{
    for (size_t at = 0, length; at < macro->bytes; at += length ? length : 1) {
        const char *word;

        length = word_bytes(macro->text + at, macro->bytes - at);
        word = length ? word_of(macros, macro->text + at, length) : NULL;
        if (word)
            return word;
    }
    return NULL;
}

int rp_guard_macros_find(const char *text, size_t bytes, struct rp_guard_macros *ret)
{
    struct rp_guard_macros macros = {0};
    bool grown = true;

    for (size_t at = 0, length; at < bytes; at += length + 1) {
        struct rp_guard_macro macro, *more;

        length = line_bytes(text + at, bytes - at);
        if (!read_line(text + at, length, &macro))
            continue;
        more = realloc(macros.list, (macros.count + 1) * sizeof *more);
        if (!more || !macro.name) {
            free(macro.name);
            macros.list = more ? more : macros.list;
            rp_guard_macros_free(&macros);
            return -1;
        }
        macros.list = more;
        macros.list[macros.count++] = macro;
    }
    while (grown) {
        grown = false;
        for (size_t i = 0; i < macros.count; i++)
            if (!macros.list[i].word && (macros.list[i].word = word_in(&macros, &macros.list[i])))
                grown = true;
    }
    *ret = macros;
    return 0;
}

void rp_guard_macros_free(struct rp_guard_macros *macros)
{
    for (size_t i = 0; i < macros->count; i++)
        free(macros->list[i].name);
    free(macros->list);
    *macros = (struct rp_guard_macros){0};
}
