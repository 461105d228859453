#include "collect/kernel_filter.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/regex_size.h"

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
