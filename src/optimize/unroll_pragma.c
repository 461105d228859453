/* Unroll pragmas in their three spellings. */
#include <string.h>

#include "optimize/tokens.h"

/* The words of a pragma that are read one by one. */
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

/** `unroll`, `unroll 4`, `unroll(4)`. Anything between the parentheses. */
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

/** Behind `clang loop`: unroll(...) and unroll_count(...) only, any number of them. */
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

/** Behind `pragma`. */
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

static bool read_directive(const char *text, const struct rp_token *token,
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
        return read_directive(text, token, ret) ? 1 : 0;
    if (tokens->count - at < 4 || !rp_token_is(text, token, "_Pragma") ||
        !rp_token_is(text, token + 1, "(") || token[2].kind != RP_TOKEN_STRING ||
        text[token[2].begin] != '"' || !rp_token_is(text, token + 3, ")"))
        return 0;
    return read_pragma(text + token[2].begin + 1, token[2].end - token[2].begin - 2, ret) ? 4 : 0;
}
