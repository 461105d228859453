#include "base/regex_size.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    /**< with so many and a text of 16 KiB, a search takes some 400 MiB and a second at worst */
    RP_REGEX_MAX_PARTS = 4096,
    RP_REGEX_MAX_BYTES = 1 << 16, /**< limit for an expression, also for one without operators */
    RP_REGEX_MAX_DEPTH =
        250, /**< limit for groups in groups, because regcomp calls itself for each */
};

enum { TOO_MANY = RP_REGEX_MAX_PARTS + 1 };

struct counting {
    size_t parts[RP_REGEX_MAX_DEPTH + 1]; /**< parts of each open group, the whole first */
    size_t depth;
    size_t last; /**< parts that a repetition would repeat */
};

/* Returns the place behind "[...]", or the end where it is not closed. */
static const char *skip_brackets(const char *at)
{
    at++;
    at += *at == '^';
    at += *at == ']';
    for (; *at && *at != ']'; at++)
        if (*at == '[' && at[1] && strchr(":.=", at[1])) {
            const char close[] = {at[1], ']', '\0'};
            const char *end = strstr(at + 2, close);

            if (!end)
                return at + strlen(at);
            at = end + 1;
        }
    return at + (*at == ']');
}

/* Reads "{m}", "{m,}" and "{m,n}" as so many copies. An open end has one more, as "+" has two.
 * @return the place behind it; NULL: it is none */
static const char *read_counts(const char *at, size_t *ret)
{
    char *end;
    const unsigned long least = strtoul(at + 1, &end, 10);
    unsigned long most = least;
    bool open = false;

    if (end == at + 1 && *end != ',')
        return NULL;
    if (*end == ',') {
        const char *from = end + 1;

        open = *from == '}';
        most = open ? least : strtoul(from, &end, 10);
        end = open ? end + 1 : end;
        if (end == from && !open)
            return NULL;
    }
    if (*end != '}')
        return NULL;
    most = most > least ? most : least;
    most = most < TOO_MANY ? most : TOO_MANY;
    *ret = most + open > 1 ? most + open : 1;
    return end + 1;
}

static void add(struct counting *c, size_t parts)
{
    size_t *sum = &c->parts[c->depth];

    *sum = *sum + parts < TOO_MANY ? *sum + parts : TOO_MANY;
    c->last = parts;
}

/* The product is at most TOO_MANY times TOO_MANY, which does not overflow. */
static void repeat(struct counting *c, size_t copies)
{
    const size_t one = c->last, more = one * (copies - 1) + 1;

    add(c, more < TOO_MANY ? more : TOO_MANY);
    c->last = one + more < TOO_MANY ? one + more : TOO_MANY;
}

/* @return the place behind the counted part; NULL: it is too large */
static const char *count_one(struct counting *c, const char *at)
{
    const char *end;
    size_t copies;

    if (*at == '(') {
        if (c->depth == RP_REGEX_MAX_DEPTH)
            return NULL;
        c->parts[++c->depth] = 1;
        c->last = 0;
    } else if (*at == ')' && c->depth) {
        const size_t parts = c->parts[c->depth--];

        add(c, parts);
    } else if (*at == '*' || *at == '?' || *at == '+') {
        repeat(c, *at == '+' ? 2 : 1);
    } else if (*at == '{' && (end = read_counts(at, &copies))) {
        repeat(c, copies);
        at = end - 1;
    } else if (*at == '[') {
        add(c, 1);
        at = skip_brackets(at) - 1;
    } else {
        at += *at == '\\' && at[1];
        add(c, 1);
    }
    return c->parts[c->depth] < TOO_MANY ? at + 1 : NULL;
}

static bool is_anchored_literal(const char *text)
{
    if (*text++ != '^')
        return false;
    for (; *text; text++)
        if (*text == '\\' && text[1] && !strchr("bBwWsS<>`'", text[1]) &&
            !(text[1] >= '0' && text[1] <= '9'))
            text++;
        else if (strchr("\\^.|?*+()[]{}", *text) || (*text == '$' && text[1]))
            return false;
    return true;
}

size_t rp_regex_parts(const char *text)
{
    struct counting c = {0};

    if (strnlen(text, RP_REGEX_MAX_BYTES + 1) > RP_REGEX_MAX_BYTES)
        return TOO_MANY;
    if (is_anchored_literal(text))
        return 1;
    for (const char *at = text; at && *at;)
        if (!(at = count_one(&c, at)))
            return TOO_MANY;
    for (; c.depth; c.depth--)
        c.parts[c.depth - 1] += c.parts[c.depth];
    return c.parts[0] < TOO_MANY ? c.parts[0] : TOO_MANY;
}

int rp_regex_check_size(const char *name, const char *text, struct rp_err *err)
{
    if (rp_regex_parts(text) <= RP_REGEX_MAX_PARTS)
        return 0;
    return rp_fail(err, RP_USAGE,
                   "%s %.80s%s: it is too large for a search in bounded time and "
                   "memory: with its repetitions written out it has more than %d parts, or more "
                   "than %d groups within each other; use smaller counts, or * and +",
                   name, text, strlen(text) > 80 ? "..." : "", RP_REGEX_MAX_PARTS,
                   RP_REGEX_MAX_DEPTH);
}
