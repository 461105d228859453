#include "collect/asm_files.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** What has been read of a text. */
struct reading {
    const char *at, *end;
    uint64_t last; /**< the last characters of the literals side by side, in lower case */
    enum { ELSEWHERE, BEHIND_ASM, IN_ASM } where; /**< IN_ASM: behind the parenthesis */
    bool found;
};

/* Directives in any case, as of LLVM's assembler. Those that repeat a text or give it a name can
 * put arguments into the name of another one. */
static bool is_directive(uint64_t last)
{
    static const char *const words[] = {".incb", ".incl", ".inc%", ".inc{", ".inc|",
                                        ".inc}", ".inc$", ".macr", ".irp"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint64_t word = 0, all = 0;

        for (const char *c = words[i]; *c; c++) {
            word = word << 8 | (uint8_t)*c;
            all = all << 8 | 0xff;
        }
        if ((last & all) == word)
            return true;
    }
    return false;
}

static void take(struct reading *r, unsigned long character)
{
    r->last = r->last << 8 | (character < 0x80 ? (uint8_t)tolower((int)character) : 0x80);
    if ((r->last >> 32 & 0xff) == '.' || (r->last >> 24 & 0xff) == '.')
        r->found |= is_directive(r->last);
}

/** What follows is another literal, or none. */
static void end_literals(struct reading *r)
{
    static const uint64_t begun = '.' << 24 | 'i' << 16 | 'n' << 8 | 'c';

    r->found |= (r->last & UINT32_MAX) == begun;
    r->last = 0;
}

/** At the number of an escape: of up to @p most digits, or of any in braces. */
static void take_number(struct reading *r, int base, size_t most)
{
    const bool braces = r->at < r->end && *r->at == '{';
    unsigned long number = 0;

    r->at += braces;
    for (size_t i = 0; r->at < r->end && (braces || i < most); i++, r->at++) {
        const char digit[] = {*r->at, 0};
        char *end;
        const unsigned long value = strtoul(digit, &end, base);

        if (!isxdigit((unsigned char)digit[0]) || end == digit)
            break;
        number = number > UINT32_MAX ? number : number * (unsigned)base + value;
    }
    r->at += braces && r->at < r->end && *r->at == '}';
    take(r, number);
}

/** Behind a backslash. */
static void take_escape(struct reading *r)
{
    const char c = *r->at++;

    if (c >= '0' && c <= '7') {
        r->at--;
        take_number(r, 8, 3);
    } else if (c == 'o') {
        take_number(r, 8, 0);
    } else if (c == 'x') {
        take_number(r, 16, SIZE_MAX);
    } else if (c == 'u' || c == 'U') {
        take_number(r, 16, c == 'u' ? 4 : 8);
    } else if (c == 'N') {
        r->found = true; /* a character by its name */
    } else {
        take(r, strchr("abfnrtv", c) ? '\n' : (unsigned char)c);
    }
}

/** Behind the quotation mark. */
static void read_literal(struct reading *r)
{
    while (r->at < r->end && *r->at != '"' && *r->at != '\n') {
        const char c = *r->at++;

        if (c != '\\')
            take(r, (unsigned char)c);
        else if (r->at < r->end)
            take_escape(r);
    }
    r->at += r->at < r->end;
}

/** Behind the quotation mark of R"x(...)x". */
static void read_raw_literal(struct reading *r)
{
    const char *const mark = r->at, *open = memchr(mark, '(', (size_t)(r->end - mark));
    const size_t bytes = open ? (size_t)(open - mark) : 0;

    if (!open) {
        r->at = r->end;
        return;
    }
    for (r->at = open + 1; r->at < r->end; r->at++) {
        const size_t left = (size_t)(r->end - r->at);

        if (*r->at == ')' && left > bytes + 1 && memcmp(r->at + 1, mark, bytes) == 0 &&
            r->at[bytes + 1] == '"') {
            r->at += bytes + 2;
            return;
        }
        take(r, (unsigned char)*r->at);
    }
}

/** Behind the apostrophe. */
static void skip_character(struct reading *r)
{
    while (r->at < r->end && *r->at != '\'' && *r->at != '\n')
        r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
    r->at += r->at < r->end;
}

static bool is_one_of(const char *word, size_t bytes, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(*words, word, bytes) == 0 && !(*words)[bytes])
            return true;
    return false;
}

static bool of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/** A name or a number, in which there may be apostrophes, or what is in front of a literal. */
static void read_word(struct reading *r)
{
    static const char *const prefixes[] = {"u8", "u", "U", "L", NULL};
    static const char *const raw[] = {"R", "u8R", "uR", "UR", "LR", NULL};
    static const char *const assembly[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const more[] = {"volatile", "__volatile", "__volatile__", "inline",
                                       "__inline", "__inline__", "goto",         NULL};
    const char *const word = r->at;
    const bool number = isdigit((unsigned char)*word);
    size_t bytes;

    while (r->at < r->end && (of_word(*r->at) || (number && *r->at == '\'' && r->end - r->at > 1 &&
                                                  isalnum((unsigned char)r->at[1]))))
        r->at++;
    bytes = (size_t)(r->at - word);
    if (r->at < r->end && *r->at == '"' && is_one_of(word, bytes, raw)) {
        r->where = ELSEWHERE;
        r->at++;
        read_raw_literal(r);
        return;
    }
    if (r->at < r->end && *r->at == '"' && is_one_of(word, bytes, prefixes))
        return;
    end_literals(r);
    if (is_one_of(word, bytes, assembly))
        r->where = BEHIND_ASM;
    else if (r->where != BEHIND_ASM || !is_one_of(word, bytes, more))
        r->found |= r->where != ELSEWHERE; /* a constant expression, or a block of assembly */
}

static void read_mark(struct reading *r)
{
    const char c = *r->at++;

    if (c == '"') {
        r->found |= r->where == BEHIND_ASM;
        r->where = ELSEWHERE;
        read_literal(r);
        return;
    }
    end_literals(r);
    if (c == '\'')
        skip_character(r);
    r->found |= r->where == IN_ASM || (r->where == BEHIND_ASM && c != '(');
    r->where = r->where == BEHIND_ASM ? IN_ASM : ELSEWHERE;
}

bool rp_asm_reads_files(const char *text, size_t bytes)
{
    struct reading r = {.at = text, .end = text + bytes};

    while (r.at < r.end && !r.found) {
        if (*r.at == '#' && (r.at == text || r.at[-1] == '\n')) {
            const char *next = memchr(r.at, '\n', (size_t)(r.end - r.at));

            r.at = next ? next + 1 : r.end; /* also between literals, which stay side by side */
        } else if (isspace((unsigned char)*r.at)) {
            r.at++;
        } else if (of_word(*r.at)) {
            read_word(&r);
        } else {
            read_mark(&r);
        }
    }
    end_literals(&r);
    return r.found;
}
