#include "run/kernel_pattern.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/regex_size.h"

enum { RP_KERNEL_NAME_BYTES = 16 << 10 /**< longer names are found by themselves only */ };

/* Classes that have a letter; within brackets, and alone. */
static const struct {
    char letter;
    const char *members, *alone;
} classes[] = {
    {'d', "0-9", "[0-9]"},        {'D', NULL, "[^0-9]"}, {'w', "A-Za-z0-9_", "[A-Za-z0-9_]"},
    {'W', NULL, "[^A-Za-z0-9_]"}, {'s', " \t", "[ \t]"}, {'S', NULL, "[^ \t]"},
};

static const char *class_of(char letter, bool members)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].letter == letter)
            return members ? classes[i].members : classes[i].alone;
    return NULL;
}

/* What follows a "\" outside of brackets; NULL: it cannot be said. */
/* A back-reference is no regular expression: what it takes to find one grows with a power of the
 * name's length. */
static const char *put_escape(struct rp_buf *to, const char *at)
{
    const char *alone = class_of(*at, false);

    if (alone)
        rp_buf_puts(to, alone);
    else if (*at == 'b' || *at == 'B')
        rp_buf_printf(to, "\\%c", *at);
    else if (!*at)
        return NULL;
    else if (strchr("^$\\.*+?()[]{}|", *at))
        rp_buf_printf(to, "\\%c", *at);
    else if (strchr("/-_:;,<>=!@#%&~\"' ", *at))
        rp_buf_printf(to, "%c", *at);
    else
        return NULL;
    return at + 1;
}

/* Members of "[...]" up to its end, which is behind the result; NULL: it cannot be said. In the
 * other dialect a "\" is itself there, "]" stands first, and "-" last. */
static const char *put_brackets(struct rp_buf *to, const char *at)
{
    rp_autobuf members = {0};
    bool negated = *at == '^', closes = false, dash = false;

    for (at += negated; *at && *at != ']'; at++) {
        const char *letters;

        if (*at == '[' && at[1] && strchr(":.=", at[1])) { /* a named class is the same in both */
            const char *end = strchr(at + 2, ']');

            if (!end)
                return NULL;
            rp_buf_add(&members, at, (size_t)(end + 1 - at));
            at = end;
        } else if (*at != '\\') {
            rp_buf_add(&members, at, 1);
        } else if ((letters = class_of(*++at, true))) {
            rp_buf_puts(&members, letters);
        } else if (*at == ']' || *at == '-') {
            *(*at == ']' ? &closes : &dash) = true;
        } else if (*at && strchr("^$\\.*+?()[{}|/", *at)) {
            rp_buf_add(&members, at, 1);
        } else {
            return NULL;
        }
    }
    if (!*at)
        return NULL;
    if (members.len && members.data[0] == '^' && !negated && !closes) /* not first: it negates */
        rp_buf_printf(to, "[%.*s%s^]", (int)members.len - 1, members.data + 1, dash ? "-" : "");
    else
        rp_buf_printf(to, "[%s%s%s%s]", negated ? "^" : "", closes ? "]" : "",
                      rp_buf_text(&members), dash ? "-" : "");
    to->failed |= members.failed;
    return at;
}

/* Whether the repeat before "?" only says to take as little as possible. */
static bool is_lazy(const char *text, const char *at)
{
    return at > text && strchr("*+?}", at[-1]) && (at < text + 2 || at[-2] != '\\');
}

static const char *translate(const char *text, struct rp_buf *to)
{
    bool lazy_before = false;

    for (const char *at = text; *at; at++) {
        const bool lazy = *at == '?' && !lazy_before && is_lazy(text, at);

        lazy_before = lazy;
        if (lazy) {
            continue;
        } else if (*at == '(' && at[1] == '?') {
            if (at[2] != ':')
                return "it looks ahead";
            rp_buf_puts(to, "(");
            at += 2;
        } else if (*at == '[') {
            const char *end = put_brackets(to, at + 1);

            if (!end)
                return "of escapes in brackets it knows \\d \\w \\s and punctuation";
            at = end;
        } else if (*at == '\\') {
            const char *end = put_escape(to, at + 1);

            if (!end)
                return "of escapes it knows \\d \\w \\s \\b, their opposites and punctuation, not "
                       "\\1";
            at = end - 1;
        } else {
            rp_buf_add(to, at, 1);
        }
    }
    return NULL;
}

/* As "^.*(...)", the C library looks at each character of a name once, from the first on; else it
 * would begin anew at each. */
static int compile(const char *option, const char *text, const char *translated, regex_t *ret,
                   struct rp_err *err)
{
    rp_autobuf whole = {0};
    char why[128];
    int rc;

    rp_buf_printf(&whole, "^.*(%s)", translated);
    rc = regcomp(ret, rp_buf_text(&whole), REG_EXTENDED | REG_NOSUB);
    if (rc == 0)
        return 0;
    regerror(rc, ret, why, sizeof why);
    return rp_fail(err, RP_USAGE, "%s %s: %s", option, text, why);
}

/* @param ret  translated, owned */
static int translate_checked(const char *option, const char *text, char **ret, struct rp_err *err)
{
    rp_autobuf other = {0};
    const char *wrong;
    int rc = rp_kernel_regex_check(option, text, err); /* its size; groups that close */

    if (rc < 0)
        return rc;
    wrong = translate(text, &other);
    if (wrong)
        return rp_fail(err, RP_USAGE, "%s %s: the software device cannot match it: %s", option,
                       text, wrong);
    *ret = rp_buf_steal(&other);
    return 0;
}

int rp_kernel_regex_compile(const char *option, const char *text, regex_t *ret, struct rp_err *err)
{
    rp_autofree char *translated = NULL;
    int rc = translate_checked(option, text, &translated, err);

    return rc < 0 ? rc : compile(option, text, translated, ret, err);
}

/* --- patterns ------------------------------------------------------------------------------ */

/* Length of a name, or of an expression for one, without what names the descriptor. */
static size_t bare_length(const char *text)
{
    static const char *const ends[] = {
        " [clone .kd]", " \\[clone \\.kd\\]", " (.kd)", " \\(\\.kd\\)", "\\.kd", "[.]kd", ".kd"};
    size_t length = strlen(text);
    const size_t without_end = length && text[length - 1] == '$' ? length - 1 : length;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t cut = strlen(ends[i]);

        if (without_end > cut && memcmp(text + without_end - cut, ends[i], cut) == 0)
            return without_end - cut;
    }
    return length;
}

int rp_kernel_pattern_compile(const char *option, const char *text, struct rp_kernel_pattern *ret,
                              struct rp_err *err)
{
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {
        .text = rp_strndup(text, bare_length(text))};
    int rc = translate_checked(option, pattern.text, &pattern.translated, err);

    if (rc == 0)
        rc = compile(option, pattern.text, pattern.translated, &pattern.regex, err);
    if (rc < 0)
        return rc;
    pattern.compiled = true;
    pattern.whole = rp_regex_parts(pattern.translated) == 1;
    *ret = pattern;
    pattern = (struct rp_kernel_pattern){0};
    return 0;
}

int rp_kernel_pattern_check(const char *option, const char *text, struct rp_err *err)
{
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};

    return rp_kernel_pattern_compile(option, text, &pattern, err);
}

/* The C library keeps each state that it comes by: for so many bytes, then it begins anew. */
static void forget_states(struct rp_kernel_pattern *pattern, size_t bytes)
{
    struct rp_err err = RP_ERR_INIT;
    regex_t fresh;

    pattern->searched_bytes += bytes;
    if (pattern->searched_bytes <= RP_KERNEL_NAME_BYTES)
        return;
    if (compile("", pattern->text, pattern->translated, &fresh, &err) < 0)
        return; /* no memory: with the old one it goes on */
    regfree(&pattern->regex);
    pattern->regex = fresh;
    pattern->searched_bytes = bytes;
}

static bool finds(struct rp_kernel_pattern *pattern, const char *name)
{
    const size_t bytes = strlen(name);

    if (bytes > RP_KERNEL_NAME_BYTES && !pattern->whole)
        return false;
    forget_states(pattern, bytes);
    return regexec(&pattern->regex, name, 0, NULL, 0) == 0;
}

static bool is_symbol(const char *text, const char *symbol)
{
    const size_t length = strlen(text);

    return strncmp(symbol, text, length) == 0 &&
           (!symbol[length] || strcmp(symbol + length, ".kd") == 0);
}

bool rp_kernel_pattern_finds(struct rp_kernel_pattern *pattern, const char *name,
                             const char *symbol)
{
    return strcmp(pattern->text, name) == 0 || finds(pattern, name) ||
           (symbol && *pattern->text && is_symbol(pattern->text, symbol));
}

void rp_kernel_pattern_free(struct rp_kernel_pattern *pattern)
{
    free(pattern->text);
    free(pattern->translated);
    if (pattern->compiled)
        regfree(&pattern->regex);
    *pattern = (struct rp_kernel_pattern){0};
}

/* --- regular expressions ------------------------------------------------------------------- */

/* What follows "[": the end of the class, behind its "]"; NULL: it has none. */
static const char *skip_class(const char *at)
{
    for (at += *at == '^'; *at; at++) {
        if (*at == ']')
            return at + 1;
        if (*at == '\\') {
            if (!*++at)
                return NULL;
        } else if (*at == '[' && at[1] && strchr(":.=", at[1])) {
            char end[] = {at[1], ']', '\0'};
            at = strstr(at + 2, end);
            if (!at)
                return NULL;
            at++;
        }
    }
    return NULL;
}

/* What follows "{": "2}", "2,}" or "2,3}". */
static const char *skip_repeat(const char *at)
{
    char *end;
    unsigned long least, most;

    if (!isdigit((unsigned char)*at))
        return NULL;
    least = strtoul(at, &end, 10);
    if (*end == '}')
        return end + 1;
    if (*end++ != ',')
        return NULL;
    if (*end == '}')
        return end + 1;
    if (!isdigit((unsigned char)*end))
        return NULL;
    most = strtoul(end, &end, 10);
    return *end == '}' && least <= most ? end + 1 : NULL;
}

/* What is wrong; NULL: nothing that is looked for. */
static const char *wrong_with_regex(const char *at)
{
    size_t depth = 0;
    bool repeatable = false;

    while (*at) {
        char c = *at++;

        if (c == '(') {
            depth++;
            if (*at == '?' && (!at[1] || !strchr(":=!", at[1])))
                return "after \"(?\" comes one of \":\", \"=\" and \"!\"";
            at += *at == '?' ? 2 : 0;
        } else if (c == ')' && depth-- == 0) {
            return "a \")\" without its \"(\"";
        } else if (c == '[' && !(at = skip_class(at))) {
            return "a \"[\" without its \"]\"";
        } else if (c == '\\' && !*at++) {
            return "a \"\\\" at the end";
        } else if (strchr("*+?{", c) && !repeatable) {
            return "nothing is before what says how often it is repeated";
        } else if (c == '{' && !(at = skip_repeat(at))) {
            return "after \"{\" come a number, or two with the smaller one first, and \"}\"";
        }
        repeatable = !strchr("(|^$", c);
    }
    return depth ? "a \"(\" without its \")\"" : NULL;
}

int rp_kernel_regex_check(const char *option, const char *text, struct rp_err *err)
{
    const char *wrong = wrong_with_regex(text);

    if (rp_regex_check_size(option, text, err) < 0)
        return -(int)RP_USAGE;
    return wrong ? rp_fail(err, RP_USAGE,
                           "%s %s: not a regular expression: %s; \"\\\" before "
                           "a character takes it as it is",
                           option, text, wrong)
                 : 0;
}

/* --- launches ------------------------------------------------------------------------------ */

/* rocprofv3 keeps every number of a range: more digits would not come to an end. */
static bool take_number(const char **at, unsigned long *ret)
{
    enum { MOST_DIGITS = 7 };
    size_t digits = strspn(*at, "0123456789");

    if (digits == 0 || digits > MOST_DIGITS)
        return false;
    *ret = strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

static bool are_ranges(const char *at)
{
    static const char between[] = "[], ";
    unsigned long first, last;
    bool any = false;

    for (at += strspn(at, between); *at; at += strspn(at, between)) {
        if (!take_number(&at, &first))
            return false;
        last = first;
        if (*at == '-' && (at++, !take_number(&at, &last)))
            return false;
        if (last < first || (*at && !strchr(between, *at)))
            return false;
        any = true;
    }
    return any;
}

int rp_kernel_ranges_check(const char *text, struct rp_err *err)
{
    return are_ranges(text)
               ? 0
               : rp_fail(err, RP_USAGE,
                         "--kernel-iteration-range %s: use numbers below 10000000 and ranges with "
                         "the smaller one first, as in \"[2-3],[7]\"",
                         text);
}
