#include "optimize/source_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "optimize/kernel_source.h"

/* Says where the reader stands. Behind the end there is '\0', which is no part of a token. */
struct reader {
    const char *text;
    size_t bytes, at;
    uint32_t line;
    bool line_begins; /**< only blanks and comments stand before on this line */
    struct rp_tokens tokens;
    size_t capacity;
};

static char peek(const struct reader *reader, size_t ahead)
{
    return reader->at + ahead < reader->bytes ? reader->text[reader->at + ahead] : '\0';
}

static void step(struct reader *reader)
{
    if (reader->text[reader->at] == '\n') {
        reader->line++;
        reader->line_begins = true;
    }
    reader->at++;
}

static void step_to(struct reader *reader, size_t end)
{
    while (reader->at < end)
        step(reader);
}

/** Counts the bytes of a \ and the line break behind it; 0: there is none here. */
static size_t joined_line(const struct reader *reader)
{
    if (peek(reader, 0) != '\\')
        return 0;
    return peek(reader, 1) == '\n' ? 2 : peek(reader, 1) == '\r' && peek(reader, 2) == '\n' ? 3 : 0;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/** @return 1 when there was one, 0 when there is none here */
static int skip_comment(struct reader *reader, struct rp_err *err)
{
    uint32_t line = reader->line;
    bool begins = reader->line_begins;

    if (peek(reader, 0) != '/')
        return 0;
    if (peek(reader, 1) == '/') {
        while (reader->at < reader->bytes && peek(reader, 0) != '\n')
            step_to(reader, reader->at + (joined_line(reader) ? joined_line(reader) : 1));
        return 1;
    }
    if (peek(reader, 1) != '*')
        return 0;
    reader->at += 2;
    while (!(peek(reader, 0) == '*' && peek(reader, 1) == '/')) {
        if (reader->at >= reader->bytes)
            return rp_fail(err, RP_VERDICT, "line %u: a comment is not closed: write */", line);
        step(reader);
    }
    reader->at += 2;
    reader->line_begins = begins;
    return 1;
}

/** @return 0 */
static int add(struct reader *reader, enum rp_token_kind kind, size_t begin, uint32_t line)
{
    struct rp_tokens *tokens = &reader->tokens;

    rp_vec_grow(&tokens->list, &reader->capacity, tokens->count, 1, sizeof *tokens->list);
    tokens->list[tokens->count++] = (struct rp_token){kind, begin, reader->at, line};
    reader->line_begins = false;
    return 0;
}

static int read_directive(struct reader *reader, struct rp_err *err)
{
    size_t begin = reader->at, end = begin;
    uint32_t line = reader->line;

    while (reader->at < reader->bytes && peek(reader, 0) != '\n') {
        int rc = skip_comment(reader, err);

        if (rc < 0)
            return rc;
        if (rc)
            continue;
        step_to(reader, reader->at + (joined_line(reader) ? joined_line(reader) : 1));
        if (!isspace((unsigned char)reader->text[reader->at - 1]))
            end = reader->at;
    }
    /* Blanks and comments at its end do not belong to it, and may hold line breaks. */
    reader->at = end;
    reader->line = line;
    for (size_t i = begin; i < end; i++)
        reader->line += reader->text[i] == '\n';
    return add(reader, RP_TOKEN_DIRECTIVE, begin, line);
}

/** Reads from the " on, because the prefix has been read. */
static int read_raw_string(struct reader *reader, size_t begin, uint32_t line, struct rp_err *err)
{
    size_t open = reader->at + 1, length = 0;

    while (open + length < reader->bytes && length <= 16 && reader->text[open + length] != '(')
        length++;
    if (open + length >= reader->bytes || length > 16)
        return rp_fail(err, RP_VERDICT, "line %u: a raw string has no (", line);
    for (size_t i = open + length + 1; i + length + 1 < reader->bytes; i++)
        if (reader->text[i] == ')' && reader->text[i + length + 1] == '"' &&
            memcmp(reader->text + i + 1, reader->text + open, length) == 0) {
            step_to(reader, i + length + 2);
            return add(reader, RP_TOKEN_STRING, begin, line);
        }
    return rp_fail(err, RP_VERDICT, "line %u: a raw string is not closed", line);
}

/** Reads from the quote on, because the prefix has been read. */
static int read_quoted(struct reader *reader, size_t begin, struct rp_err *err)
{
    char quote = peek(reader, 0);
    uint32_t line = reader->line;

    for (step(reader); peek(reader, 0) != quote; step(reader)) {
        if (joined_line(reader)) {
            step_to(reader, reader->at + joined_line(reader) - 1);
            continue;
        }
        if (reader->at >= reader->bytes || peek(reader, 0) == '\n')
            return rp_fail(err, RP_VERDICT, "line %u: a %c is not closed on its line", line, quote);
        if (peek(reader, 0) == '\\' && reader->at + 1 < reader->bytes)
            step(reader);
    }
    step(reader);
    return add(reader, quote == '"' ? RP_TOKEN_STRING : RP_TOKEN_CHARACTER, begin, line);
}

static bool is_one_of(const char *text, size_t bytes, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == bytes && memcmp(*list, text, bytes) == 0)
            return true;
    return false;
}

static int read_word(struct reader *reader, struct rp_err *err)
{
    static const char *const raw[] = {"R", "LR", "uR", "UR", "u8R", NULL};
    static const char *const plain[] = {"L", "u", "U", "u8", NULL};
    size_t begin = reader->at;
    const char *word = reader->text + begin;
    char next;

    while (is_word_byte(peek(reader, 0)))
        reader->at++;
    next = peek(reader, 0);
    if (next == '"' && is_one_of(word, reader->at - begin, raw))
        return read_raw_string(reader, begin, reader->line, err);
    if ((next == '"' || next == '\'') && is_one_of(word, reader->at - begin, plain))
        return read_quoted(reader, begin, err);
    return add(reader, RP_TOKEN_IDENTIFIER, begin, reader->line);
}

static int read_number(struct reader *reader)
{
    size_t begin = reader->at;

    do {
        char c = peek(reader, 0);

        reader->at++;
        if (memchr("eEpP", c, 4) && (peek(reader, 0) == '+' || peek(reader, 0) == '-'))
            reader->at++;
        else if (peek(reader, 0) == '\'' && isalnum((unsigned char)peek(reader, 1)))
            reader->at++;
    } while (is_word_byte(peek(reader, 0)) || peek(reader, 0) == '.');
    return add(reader, RP_TOKEN_NUMBER, begin, reader->line);
}

/* The longest are tried first, because + + and ++ are not the same. */
static size_t punctuator_bytes(const struct reader *reader)
{
    static const char *const known[] = {"<<<", ">>>", "<=>", "<<=", ">>=", "...", "->*", "::", "->",
                                        "++",  "--",  "<<",  ">>",  "<=",  ">=",  "==",  "!=", "&&",
                                        "||",  "+=",  "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=",
                                        "##",  ".*",  "<:",  ":>",  "<%",  "%>",  "%:"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) <= reader->bytes - reader->at &&
            memcmp(reader->text + reader->at, known[i], strlen(known[i])) == 0)
            return strcmp(known[i], "<:") == 0 && peek(reader, 2) == ':' &&
                           peek(reader, 3) != ':' && peek(reader, 3) != '>'
                       ? 1 /* The standard has an exception here: a<::b>. */
                       : strlen(known[i]);
    return 1;
}

static int read_one(struct reader *reader, struct rp_err *err)
{
    char c = peek(reader, 0);
    size_t begin = reader->at;

    if (c == '#' && reader->line_begins)
        return read_directive(reader, err);
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(reader, 1))))
        return read_number(reader);
    if (is_word_byte(c))
        return read_word(reader, err);
    if (c == '"' || c == '\'')
        return read_quoted(reader, begin, err);
    reader->at += punctuator_bytes(reader);
    return add(reader,
               ispunct((unsigned char)c) && c != '\\' ? RP_TOKEN_PUNCTUATOR : RP_TOKEN_OTHER, begin,
               reader->line);
}

int rp_tokens_read(const char *text, size_t bytes, struct rp_tokens *ret, struct rp_err *err)
{
    struct reader reader = {.text = text, .bytes = bytes, .line = 1, .line_begins = true};
    int rc = 0;

    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader.at = 3; /* This is a byte order mark. */
    while (reader.at < bytes && rc >= 0) {
        if (isspace((unsigned char)text[reader.at]))
            step(&reader);
        else if (joined_line(&reader))
            step_to(&reader, reader.at + joined_line(&reader));
        else if ((rc = skip_comment(&reader, err)) == 0)
            rc = read_one(&reader, err);
    }
    if (rc < 0) {
        rp_tokens_free(&reader.tokens);
        return rc;
    }
    *ret = reader.tokens;
    return 0;
}

static bool same_bytes(const char *text_a, const struct rp_token *a, const char *text_b,
                       const struct rp_token *b)
{
    return a->kind == b->kind && a->end - a->begin == b->end - b->begin &&
           memcmp(text_a + a->begin, text_b + b->begin, a->end - a->begin) == 0;
}

bool rp_token_same(const char *text_a, const struct rp_token *a, const char *text_b,
                   const struct rp_token *b)
{
    struct rp_tokens parts_a = {0}, parts_b = {0};
    bool same;

    if (a->kind != RP_TOKEN_DIRECTIVE || b->kind != RP_TOKEN_DIRECTIVE)
        return same_bytes(text_a, a, text_b, b);
    text_a += a->begin + 1;
    text_b += b->begin + 1;
    same = rp_tokens_read(text_a, a->end - a->begin - 1, &parts_a, NULL) == 0 &&
           rp_tokens_read(text_b, b->end - b->begin - 1, &parts_b, NULL) == 0 &&
           parts_a.count == parts_b.count;
    for (size_t i = 0; same && i < parts_a.count; i++)
        same = same_bytes(text_a, &parts_a.list[i], text_b, &parts_b.list[i]);
    rp_tokens_free(&parts_a);
    rp_tokens_free(&parts_b);
    return same;
}

/* Some text looks different from what the compiler reads. The bytes are searched for it, so also
 * comments and strings. */

/** Reads one character of UTF-8.
 * @return its bytes; 0: there is none */
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

/** These characters beyond ASCII change the direction of writing, or cannot be seen, or act on
 * terminals. */
static bool codepoint_is_hidden(uint32_t c)
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

    /* The compiler ignores blanks between the two, with a warning. */
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
        if (is_control(character) || codepoint_is_hidden(character))
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

int rp_text_check_plain(const char *text, size_t bytes, struct rp_err *err)
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

/* This section reads unroll pragmas in their three spellings. */

/* The words of a pragma are read one by one. */
struct words {
    const char *text;
    struct rp_tokens tokens;
    size_t at;
};

static bool take(struct words *words, const char *word)
{
    if (words->at >= words->tokens.count ||
        !rp_token_is(words->text, &words->tokens.list[words->at], word))
        return false;
    words->at++;
    return true;
}

static void take_count(struct words *words, struct rp_unroll_pragma *ret)
{
    const struct rp_token *token = &words->tokens.list[words->at++];
    uint32_t count = 0;

    for (size_t i = token->begin; i < token->end; i++) {
        char c = words->text[i];

        if (c < '0' || c > '9' || count > 100000) {
            ret->other_count = true;
            return;
        }
        count = 10 * count + (uint32_t)(c - '0');
    }
    ret->count_known = true;
    ret->count = count;
}

/** Reads `unroll`, `unroll 4` and `unroll(4)`, with anything between the parentheses. */
static bool read_unroll(struct words *words, struct rp_unroll_pragma *ret)
{
    bool open = take(words, "(");
    bool any = words->at < words->tokens.count && !take(words, ")");

    if (any)
        take_count(words, ret);
    while (words->at < words->tokens.count && !(open && take(words, ")"))) {
        ret->other_count = true;
        words->at++;
    }
    return words->at == words->tokens.count;
}

/** Reads what follows `clang loop`: only unroll(...) and unroll_count(...), any number of them. */
static bool read_clang(struct words *words, struct rp_unroll_pragma *ret)
{
    bool any = false;

    while (words->at < words->tokens.count) {
        if (take(words, "unroll_count") && take(words, "(") &&
            words->at + 1 < words->tokens.count) {
            take_count(words, ret);
        } else if (take(words, "unroll") && take(words, "(")) {
            if (take(words, "disable"))
                ret->disables = true;
            else if (!take(words, "enable") && !take(words, "full"))
                return false;
        } else {
            return false;
        }
        if (!take(words, ")"))
            return false;
        any = true;
    }
    return any;
}

/** Reads what follows `pragma`. */
static bool read_pragma(const char *text, size_t bytes, struct rp_unroll_pragma *ret)
{
    struct words words = {.text = text};
    bool is = false;

    *ret = (struct rp_unroll_pragma){0};
    if (rp_tokens_read(text, bytes, &words.tokens, NULL) < 0)
        return false;
    if (take(&words, "unroll")) {
        is = read_unroll(&words, ret);
    } else if (take(&words, "nounroll")) {
        ret->disables = true;
        is = words.at == words.tokens.count;
    } else if (take(&words, "clang") && take(&words, "loop")) {
        is = read_clang(&words, ret);
    }
    rp_tokens_free(&words.tokens);
    return is;
}

static bool unroll_pragma_read_directive(const char *text, const struct rp_token *token,
                                         struct rp_unroll_pragma *ret)
{
    const char *at = text + token->begin + 1, *end = text + token->end;

    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if ((size_t)(end - at) <= strlen("pragma") || memcmp(at, "pragma", strlen("pragma")) != 0)
        return false;
    at += strlen("pragma");
    return (*at == ' ' || *at == '\t') && read_pragma(at, (size_t)(end - at), ret);
}

size_t rp_tokens_unroll(const char *text, const struct rp_tokens *tokens, size_t at,
                        struct rp_unroll_pragma *ret)
{
    const struct rp_token *token = &tokens->list[at];
    struct rp_unroll_pragma own;

    ret = ret ? ret : &own;
    if (token->kind == RP_TOKEN_DIRECTIVE)
        return unroll_pragma_read_directive(text, token, ret) ? 1 : 0;
    if (tokens->count - at < 4 || !rp_token_is(text, token, "_Pragma") ||
        !rp_token_is(text, token + 1, "(") || token[2].kind != RP_TOKEN_STRING ||
        text[token[2].begin] != '"' || !rp_token_is(text, token + 3, ")"))
        return 0;
    return read_pragma(text + token[2].begin + 1, token[2].end - token[2].begin - 2, ret) ? 4 : 0;
}

size_t rp_tokens_next_line(const char *text, const struct rp_tokens *tokens, size_t at)
{
    for (size_t length; at < tokens->count; at += length) {
        const struct rp_token *token = &tokens->list[at];

        length = rp_tokens_unroll(text, tokens, at, NULL);
        if (length == 0 &&
            (token->kind == RP_TOKEN_DIRECTIVE || rp_token_is(text, token, "_Pragma")))
            return at;
        length = length ? length : 1;
    }
    return tokens->count;
}

/* Reads a character of valid UTF-8. */
static uint32_t character_at(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    uint32_t value = length < 2 ? c[0] : c[0] & (0x7FU >> length);

    for (size_t i = 1; i < length; i++)
        value = value << 6 | (c[i] & 0x3F);
    return value;
}

/* Says whether a terminal acts on it, or nobody sees it. */
static bool is_unseen(const char *text, size_t length)
{
    const uint32_t c = character_at(text, length);

    return (c < ' ' && c != '\t' && c != '\n') || c == 0x7F || codepoint_is_hidden(c);
}

void rp_buf_add_model_text(struct rp_buf *out, const char *text, size_t bytes)
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

enum { MAX_FILE_BYTES = 256 * 1024 }; /* A look-up takes time with the square of the size. */

/* This is a declaration outside functions: tokens, of which the ones up to `head` can declare
 * names. */
struct item {
    size_t first, head, last; /**< tokens; last is the one behind */
    bool wanted;
};

struct file {
    const char *text;
    struct rp_tokens tokens;
    struct item *items;
    size_t count;
};

static void cleanup_file(struct file *f)
{
    rp_tokens_free(&f->tokens);
    free(f->items);
}

static bool is(const struct file *f, size_t token, const char *text)
{
    return token < f->tokens.count && rp_token_is(f->text, &f->tokens.list[token], text);
}

static bool is_word(const struct file *f, size_t token)
{
    return token < f->tokens.count && f->tokens.list[token].kind == RP_TOKEN_IDENTIFIER;
}

/* Returns the place behind the bracket that closes the one at a token. */
static size_t behind_brackets(const struct file *f, size_t at)
{
    size_t depth = 0;

    for (; at < f->tokens.count; at++) {
        if (is(f, at, "{") || is(f, at, "(") || is(f, at, "["))
            depth++;
        if ((is(f, at, "}") || is(f, at, ")") || is(f, at, "]")) && --depth == 0)
            return at + 1;
    }
    return at;
}

/* A namespace, or extern "C" {, holds declarations that are outside functions, too. */
static bool opens_scope(const struct file *f, size_t first, size_t brace)
{
    if (is(f, first, "inline"))
        first++;
    return is(f, first, "namespace") || (is(f, first, "extern") && brace == first + 2);
}

/* Says whether a brace begins a function's body, behind which no semicolon comes. */
static bool has_body(const struct file *f, size_t first, size_t brace)
{
    bool parameters = false, type = false;

    if (is(f, brace - 1, ")"))
        return true;
    for (size_t i = first; i < brace; i++) {
        if (is(f, i, "="))
            return false;
        parameters = parameters || is(f, i, "(");
        type = type || is(f, i, "struct") || is(f, i, "class") || is(f, i, "union") ||
               is(f, i, "enum");
    }
    return parameters && !type;
}

/* Finds where the item that begins here ends, and where its declaring part does. */
static struct item read_item(const struct file *f, size_t first)
{
    struct item item = {.first = first, .head = first, .last = first + 1};
    size_t at = first;

    if (f->tokens.list[first].kind == RP_TOKEN_DIRECTIVE || is(f, first, "}")) {
        item.head = item.last;
        return item;
    }
    for (; at < f->tokens.count && f->tokens.list[at].kind != RP_TOKEN_DIRECTIVE; at++) {
        if (is(f, at, "(") || is(f, at, "[")) {
            at = behind_brackets(f, at) - 1;
        } else if (is(f, at, ";")) {
            item.head = item.head == first ? at : item.head;
            item.last = at + 1;
            return item;
        } else if (is(f, at, "{")) {
            bool function = has_body(f, first, at);

            item.head = item.head == first ? at : item.head;
            item.last = opens_scope(f, first, at) ? at + 1 : behind_brackets(f, at);
            if (function || item.last == at + 1)
                return item;
            at = item.last - 1;
        }
    }
    item.head = item.head == first ? at : item.head;
    item.last = at;
    return item;
}

static void read_items(struct file *f)
{
    size_t room = 0;

    for (size_t at = 0; at < f->tokens.count;) {
        rp_vec_grow(&f->items, &room, f->count, 1, sizeof *f->items);
        f->items[f->count] = read_item(f, at);
        at = f->items[f->count++].last;
    }
}

static bool declarations_same_bytes(const struct file *f, size_t a_begin, size_t a_end,
                                    const struct rp_token *b)
{
    return a_end - a_begin == b->end - b->begin &&
           memcmp(f->text + a_begin, f->text + b->begin, a_end - a_begin) == 0;
}

/* Whether #define declares the word. */
static bool defines(const struct file *f, const struct rp_token *directive,
                    const struct rp_token *word)
{
    size_t at = directive->begin + 1, end;

    at += strspn(f->text + at, " \t");
    if (strncmp(f->text + at, "define", 6) != 0)
        return false;
    at += 6 + strspn(f->text + at + 6, " \t");
    for (end = at; end < directive->end && !strchr(" \t(\r\n\\", f->text[end]);)
        end++;
    return declarations_same_bytes(f, at, end, word);
}

static bool declarations_is_one_of(const struct file *f, size_t token, const char *const *list)
{
    for (; *list; list++)
        if (is(f, token, *list))
            return true;
    return false;
}

/* Returns the place behind `template <...>`, if that begins here. */
static size_t behind_template(const struct file *f, size_t at)
{
    size_t depth = 0;

    if (!is(f, at, "template"))
        return at;
    for (at++; at < f->tokens.count; at++) {
        if (is(f, at, "<"))
            depth++;
        else if (is(f, at, ">>") && depth <= 2)
            return at + 1;
        else if (is(f, at, ">") && --depth == 0)
            return at + 1;
        else if (is(f, at, ";") || is(f, at, "{"))
            break;
    }
    return at;
}

/* A word declares when one of these, or the end of the head, follows it. */
static bool in_place_of_name(const struct file *f, size_t at, size_t head)
{
    static const char *const follow[] = {"(", "[", "=", ",", ";", ":", "{", NULL};
    static const char *const never[] = {"__attribute__", "__launch_bounds__", "alignas",
                                        "decltype",      "noexcept",          "const",
                                        "__align__",     "__declspec",        NULL};

    return is_word(f, at) && !declarations_is_one_of(f, at, never) &&
           (at + 1 == head || declarations_is_one_of(f, at + 1, follow));
}

static bool same_word(const struct file *f, size_t token, const struct rp_token *word)
{
    return is_word(f, token) &&
           declarations_same_bytes(f, f->tokens.list[token].begin, f->tokens.list[token].end, word);
}

static bool declares(const struct file *f, const struct item *item, const struct rp_token *word)
{
    bool is_enum = false, value = false; /**< behind = until the next comma */

    if (f->tokens.list[item->first].kind == RP_TOKEN_DIRECTIVE)
        return defines(f, &f->tokens.list[item->first], word);
    for (size_t i = behind_template(f, item->first); i < item->head; i++) {
        is_enum = is_enum || is(f, i, "enum");
        if (!value && same_word(f, i, word) && in_place_of_name(f, i, item->head))
            return true;
        value = is(f, i, "=") || (value && !is(f, i, ","));
        if (is(f, i, "(") || is(f, i, "["))
            i = behind_brackets(f, i) - 1;
    }
    for (size_t i = item->head; is_enum && i < item->last; i++)
        if (same_word(f, i, word))
            return true;
    return false;
}

static bool is_kernel(const struct file *f, const struct item *item)
{
    for (size_t i = item->first; i < item->head; i++)
        if (is(f, i, "__global__"))
            return true;
    return false;
}

static bool inside(const struct file *f, const struct item *item,
                   const struct rp_kernel_source *source)
{
    return f->tokens.list[item->first].begin < source->end &&
           f->tokens.list[item->last - 1].end > source->begin;
}

/* Marks the items that declare a word as needed.
 * @return whether one is new */
static bool want(struct file *f, const struct rp_token *word)
{
    bool found = false;

    for (size_t i = 0; i < f->count; i++)
        if (!f->items[i].wanted && !is_kernel(f, &f->items[i]) && declares(f, &f->items[i], word))
            found = f->items[i].wanted = true;
    return found;
}

static bool want_words(struct file *f, size_t first, size_t last)
{
    bool found = false;

    for (size_t i = first; i < last; i++)
        if (is_word(f, i) && want(f, &f->tokens.list[i]))
            found = true;
    return found;
}

/* #define gives its words as one token, so its replacement is read. */
static bool want_in_directive(struct file *f, const struct rp_token *directive)
{
    struct rp_tokens inner = {0};
    struct rp_err ignored = RP_ERR_INIT;
    bool found = false;
    size_t skip = directive->begin + 1;

    if (rp_tokens_read(f->text + skip, directive->end - skip, &inner, &ignored) == 0)
        for (size_t i = 0; i < inner.count; i++) {
            struct rp_token word = inner.list[i];

            word.begin += skip;
            word.end += skip;
            if (word.kind == RP_TOKEN_IDENTIFIER && want(f, &word))
                found = true;
        }
    rp_tokens_free(&inner);
    return found;
}

static void find_wanted(struct file *f, const struct rp_kernel_source *source)
{
    bool more = true;

    for (size_t i = 0; i < f->tokens.count; i++)
        if (f->tokens.list[i].begin >= source->begin && f->tokens.list[i].end <= source->end)
            want_words(f, i, i + 1);
    while (more) {
        more = false;
        for (size_t i = 0; i < f->count; i++) {
            const struct item *item = &f->items[i];

            if (!item->wanted)
                continue;
            if (f->tokens.list[item->first].kind == RP_TOKEN_DIRECTIVE)
                more = want_in_directive(f, &f->tokens.list[item->first]) || more;
            else
                more = want_words(f, item->first, item->last) || more;
        }
    }
}

static bool is_include(const struct file *f, const struct item *item)
{
    const struct rp_token *token = &f->tokens.list[item->first];

    return token->kind == RP_TOKEN_DIRECTIVE &&
           strncmp(f->text + token->begin + 1 + strspn(f->text + token->begin + 1, " \t"),
                   "include", 7) == 0;
}

void rp_declarations_of(const struct rp_kernel_source *source, struct rp_text_range **ret,
                        size_t *ret_count)
{
    rp_cleanup(cleanup_file) struct file f = {.text = source->text};
    struct rp_err unreadable = RP_ERR_INIT;
    struct rp_text_range *ranges;
    size_t count = 0;

    if (source->bytes <= MAX_FILE_BYTES &&
        rp_tokens_read(source->text, source->bytes, &f.tokens, &unreadable) == 0)
        read_items(&f);
    find_wanted(&f, source);
    ranges = rp_alloc_zero(f.count + 1, sizeof *ranges);
    for (size_t i = 0; i < f.count; i++) {
        const struct item *item = &f.items[i];

        if ((item->wanted || is_include(&f, item)) && !inside(&f, item, source))
            ranges[count++] = (struct rp_text_range){f.tokens.list[item->first].begin,
                                                     f.tokens.list[item->last - 1].end};
    }
    *ret = ranges;
    *ret_count = count;
}
