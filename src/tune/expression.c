#include "tune/expression.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "tune/space.h"

enum { RP_EXPRESSION_STACK = 1024 };

enum rp_step_kind {
    RP_STEP_CONSTANT,  /**< pushes constants[argument] */
    RP_STEP_PARAMETER, /**< pushes the value of parameter argument */
    /* These act on the value on top of the stack. */
    RP_STEP_NEGATIVE,
    RP_STEP_POSITIVE,
    RP_STEP_NOT,
    RP_STEP_TRUTH,
    RP_STEP_ABS,
    /* These act on the two values on top, and replace them by one. */
    RP_STEP_ADD,
    RP_STEP_SUBTRACT,
    RP_STEP_MULTIPLY,
    RP_STEP_DIVIDE,
    RP_STEP_FLOOR_DIVIDE,
    RP_STEP_MODULO,
    RP_STEP_POWER,
    RP_STEP_MIN,
    RP_STEP_MAX,
    RP_STEP_EQUAL,
    RP_STEP_UNEQUAL,
    RP_STEP_LESS,
    RP_STEP_LESS_EQUAL,
    RP_STEP_GREATER,
    RP_STEP_GREATER_EQUAL,
    /* These may decide early: argument is the step to go on with. */
    RP_STEP_AND,    /**< top is false: it becomes false, go on there; otherwise it is dropped */
    RP_STEP_OR,     /**< top is true: it becomes true, go on there; otherwise it is dropped */
    RP_STEP_CHAIN,  /**< a b -> b when they compare; or false, go on there */
    RP_STEP_IN,     /**< x element -> x; or true, go on there, when they are equal */
    RP_STEP_NOT_IN, /**< x -> false: it was none of them; argument is not used */
};

struct rp_step {
    enum rp_step_kind kind;
    enum rp_step_kind compare; /**< of RP_STEP_CHAIN: RP_STEP_EQUAL … RP_STEP_GREATER_EQUAL */
    uint32_t argument;
};

/* Text becomes steps by recursive descent. Each level of parentheses and each sign counts against a
 * limit, so that no text overflows the parser's own stack. */

enum {
    MOST_NESTED = 200, /**< two of a level of parentheses, one of a sign */
    MOST_STEPS = 1000000,
};

enum token_kind { TOKEN_END, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_NAME, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    size_t begin, end; /**< in the text */
    struct rp_value value;
};

struct parser {
    const char *text;
    const struct rp_space *space;
    struct rp_expression *code;
    struct token token; /**< the next one */
    int nested;
    int depth; /**< of the stack, behind the steps so far */
    struct rp_err *err;
};

static int fail_at(struct parser *p, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int fail_at(struct parser *p, size_t at, const char *fmt, ...)
{
    rp_autobuf what = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&what, fmt, ap);
    va_end(ap);
    return rp_fail(p->err, RP_BAD_INPUT, "column %zu: %s", at + 1, rp_buf_text(&what));
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

static int read_number(struct parser *p)
{
    struct token *token = &p->token;
    const char *begin = p->text + token->begin;
    const bool hex = begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
    const size_t digits =
        hex ? 2 + strspn(begin + 2, "0123456789abcdefABCDEF") : strspn(begin, "0123456789");
    char *end;

    errno = 0;
    if (!hex && (begin[digits] == '.' || begin[digits] == 'e' || begin[digits] == 'E'))
        token->value = (struct rp_value){.kind = RP_VALUE_REAL, .real = strtod(begin, &end)};
    else
        token->value = (struct rp_value){.kind = RP_VALUE_INTEGER,
                                         .integer = strtoll(begin, &end, hex ? 16 : 10)};
    token->kind = TOKEN_NUMBER;
    token->end = (size_t)(end - p->text);
    if (is_name_char(*end) || *end == '.' || (hex && digits == 2))
        return fail_at(p, token->begin, "this is no number");
    if (token->value.kind == RP_VALUE_REAL ? !isfinite(token->value.real) : errno == ERANGE)
        return fail_at(p, token->begin, "a number that does not fit in 64 bits");
    return 0;
}

/** Returns the character that a backslash and this character stand for, or 0. */
static char escaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : strchr("'\"\\", c) ? c : '\0';
}

/** Reads 'a' or "a". The text becomes a constant at once. */
static int read_text(struct parser *p)
{
    struct token *token = &p->token;
    const char quote = p->text[token->begin];
    size_t at = token->begin + 1;
    rp_autobuf text = {0};

    for (; p->text[at] && p->text[at] != quote; at++) {
        char c = p->text[at];

        if (c == '\\' && p->text[at + 1] && !(c = escaped(p->text[++at])))
            return fail_at(p, at - 1,
                           "in a text, a backslash stands before a quote, a backslash, n, r or t");
        rp_buf_add(&text, &c, 1);
    }
    if (!p->text[at])
        return fail_at(p, token->begin, "this text has no closing %c", quote);
    token->kind = TOKEN_TEXT;
    token->end = at + 1;
    token->value = (struct rp_value){.kind = RP_VALUE_TEXT,
                                     .text = text.len ? rp_buf_steal(&text) : rp_strdup("")};
    return 0;
}

/** Reads {NAME}, which is for parameters whose names are no words of the language. */
static int read_braces(struct parser *p)
{
    struct token *token = &p->token;
    const char *end = strchr(p->text + token->begin, '}');

    if (!end)
        return fail_at(p, token->begin, "{ without }");
    token->kind = TOKEN_NAME;
    token->end = (size_t)(end - p->text) + 1;
    return 0;
}

static int read_sign(struct parser *p)
{
    static const char *const two[] = {"**", "//", "==", "!=", "<=", ">=", "&&", "||"};
    struct token *token = &p->token;
    const char *begin = p->text + token->begin;

    token->kind = TOKEN_SIGN;
    token->end = token->begin + 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(begin, two[i], 2) == 0) {
            token->end++;
            return 0;
        }
    if (*begin == '=')
        return fail_at(p, token->begin, "= is not known here; == compares");
    if (!strchr("+-*/%<>!()[],", *begin))
        return fail_at(p, token->begin, "%s",
                       *begin == '&' || *begin == '|' || *begin == '^' || *begin == '~'
                           ? "operations on bits are not known; write and, or, not"
                           : "this character has no meaning in an expression");
    return 0;
}

/** Reads the next token. */
static int advance(struct parser *p)
{
    struct token *token = &p->token;
    size_t at = token->end;

    while (p->text[at] && strchr(" \t\r\n", p->text[at]))
        at++;
    *token = (struct token){.kind = TOKEN_END, .begin = at, .end = at};
    if (!p->text[at])
        return 0;
    if (is_digit(p->text[at]) || (p->text[at] == '.' && is_digit(p->text[at + 1])))
        return read_number(p);
    if (p->text[at] == '\'' || p->text[at] == '"')
        return read_text(p);
    if (p->text[at] == '{')
        return read_braces(p);
    if (!is_name_char(p->text[at]))
        return read_sign(p);
    while (is_name_char(p->text[at]))
        at++;
    token->kind = TOKEN_NAME;
    token->end = at;
    return 0;
}

static bool next_is(const struct parser *p, const char *word)
{
    const struct token *token = &p->token;

    return (token->kind == TOKEN_NAME || token->kind == TOKEN_SIGN) &&
           token->end - token->begin == strlen(word) &&
           memcmp(p->text + token->begin, word, strlen(word)) == 0;
}

/** @return 1 it was the word, and has been read; 0 it is another; < 0 failure in what follows */
static int take(struct parser *p, const char *word)
{
    int rc;

    if (!next_is(p, word))
        return 0;
    rc = advance(p);
    return rc < 0 ? rc : 1;
}

/** Reads one of several words.
 * @return its number + 1, 0 none of them, < 0 failure */
static int take_one_of(struct parser *p, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int rc = take(p, words[i]);

        if (rc)
            return rc < 0 ? rc : (int)i + 1;
    }
    return 0;
}

static int expect(struct parser *p, const char *word)
{
    int rc = take(p, word);

    if (rc == 0)
        return fail_at(p, p->token.begin, "%s is missing%s", word,
                       p->token.kind == TOKEN_END ? " at the end" : " here");
    return rc < 0 ? rc : 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

/** Says how a step changes the depth of the stack, unless it jumps. */
static int effect(enum rp_step_kind kind)
{
    if (kind <= RP_STEP_PARAMETER)
        return 1;
    return kind <= RP_STEP_ABS || kind == RP_STEP_NOT_IN ? 0 : -1;
}

static int emit(struct parser *p, struct rp_step step)
{
    struct rp_expression *code = p->code;

    if (code->count == MOST_STEPS)
        return fail_at(p, p->token.begin, "this expression is too long");
    p->depth += effect(step.kind);
    if (p->depth > RP_EXPRESSION_STACK)
        return fail_at(p, p->token.begin, "this expression is nested too deeply");
    *rp_array_add(&code->steps, &code->count) = step;
    return 0;
}

static int emit_kind(struct parser *p, enum rp_step_kind kind)
{
    return emit(p, (struct rp_step){.kind = kind});
}

/** Steps of this kind from first on decide early, and jump to the place behind the last one. */
static void land(struct parser *p, size_t first, enum rp_step_kind kind)
{
    for (size_t i = first; i < p->code->count; i++)
        if (p->code->steps[i].kind == kind && p->code->steps[i].argument == 0)
            p->code->steps[i].argument = (uint32_t)p->code->count;
}

/** @param value a text belongs to the expression from now on, also on failure */
static int emit_constant(struct parser *p, struct rp_value value)
{
    struct rp_expression *code = p->code;

    *rp_array_add(&code->constants, &code->constant_count) = value;
    return emit(p, (struct rp_step){.kind = RP_STEP_CONSTANT,
                                    .argument = (uint32_t)(code->constant_count - 1)});
}

/* --- grammar ---------------------------------------------------------------------------------- */

static int parse_or(struct parser *p);
static int parse_sign(struct parser *p);

static int enter(struct parser *p)
{
    if (++p->nested > MOST_NESTED)
        return fail_at(p, p->token.begin, "this expression is nested too deeply");
    return 0;
}

/** Parses what follows "min(", "max(" or "abs(". */
static int parse_call(struct parser *p, enum rp_step_kind kind)
{
    size_t count = 0;
    int rc;

    do {
        if ((rc = parse_or(p)) < 0)
            return rc;
        if (++count > 1 && (rc = emit_kind(p, kind)) < 0)
            return rc;
        if (kind == RP_STEP_ABS)
            break;
    } while ((rc = take(p, ",")) > 0);
    if (kind == RP_STEP_ABS)
        rc = emit_kind(p, kind);
    return rc < 0 ? rc : expect(p, ")");
}

static int parse_parameter(struct parser *p, size_t begin, size_t end)
{
    int number = -1;

    if (p->text[begin] == '{') {
        begin++;
        end--;
    }
    for (size_t i = 0; number < 0 && i < p->space->parameter_count; i++) {
        const char *name = p->space->parameters[i].name;

        if (strlen(name) == end - begin && memcmp(name, p->text + begin, end - begin) == 0)
            number = (int)i;
    }
    if (number < 0)
        return fail_at(p, begin, "there is no parameter %.*s",
                       end - begin > 60 ? 60 : (int)(end - begin), p->text + begin);
    return emit(p, (struct rp_step){.kind = RP_STEP_PARAMETER, .argument = (uint32_t)number});
}

static int parse_name(struct parser *p)
{
    static const char *const functions[] = {"min", "max", "abs"};
    static const enum rp_step_kind kinds[] = {RP_STEP_MIN, RP_STEP_MAX, RP_STEP_ABS};
    static const char *const booleans[] = {"true", "True", "false", "False"};
    const struct token name = p->token;
    int which = take_one_of(p, booleans, 4), rc;

    if (which)
        return which < 0 ? which
                         : emit_constant(p, (struct rp_value){.kind = RP_VALUE_BOOLEAN,
                                                              .boolean = which <= 2});
    if ((which = take_one_of(p, functions, 3)) < 0 || (!which && (rc = advance(p)) < 0))
        return which < 0 ? which : rc;
    if (which && (rc = take(p, "(")))
        return rc < 0 ? rc : parse_call(p, kinds[which - 1]);
    return parse_parameter(p, name.begin, name.end);
}

static int parse_primary(struct parser *p)
{
    const struct token token = p->token;
    int rc;

    if (token.kind == TOKEN_NAME)
        return parse_name(p);
    if (token.kind == TOKEN_NUMBER || token.kind == TOKEN_TEXT) {
        /* The text does not belong to the token any more. */
        p->token.value.kind = RP_VALUE_INTEGER;
        rc = emit_constant(p, token.value);
        return rc < 0 ? rc : advance(p);
    }
    if ((rc = take(p, "(")) <= 0)
        return rc < 0 ? rc
                      : fail_at(p, token.begin, "a value is missing%s",
                                token.kind == TOKEN_END ? " at the end" : " here");
    rc = parse_or(p);
    return rc < 0 ? rc : expect(p, ")");
}

/** Parses primary ** sign from the right: 2 ** 3 ** 2 is 2 ** 9. */
static int parse_power(struct parser *p)
{
    int rc = parse_primary(p);

    if (rc < 0 || (rc = take(p, "**")) <= 0)
        return rc;
    rc = parse_sign(p);
    return rc < 0 ? rc : emit_kind(p, RP_STEP_POWER);
}

static int parse_sign(struct parser *p)
{
    static const char *const signs[] = {"-", "+", "!"};
    static const enum rp_step_kind kinds[] = {RP_STEP_NEGATIVE, RP_STEP_POSITIVE, RP_STEP_NOT};
    int which, rc = enter(p);

    if (rc < 0 || (which = take_one_of(p, signs, 3)) < 0)
        return rc < 0 ? rc : which;
    rc = which ? parse_sign(p) : parse_power(p);
    if (rc == 0 && which)
        rc = emit_kind(p, kinds[which - 1]);
    p->nested--;
    return rc;
}

static int parse_product(struct parser *p)
{
    static const char *const signs[] = {"*", "/", "//", "%"};
    static const enum rp_step_kind kinds[] = {RP_STEP_MULTIPLY, RP_STEP_DIVIDE,
                                              RP_STEP_FLOOR_DIVIDE, RP_STEP_MODULO};
    int which, rc = parse_sign(p);

    while (rc == 0 && (which = take_one_of(p, signs, 4)))
        if ((rc = which < 0 ? which : parse_sign(p)) == 0)
            rc = emit_kind(p, kinds[which - 1]);
    return rc;
}

static int parse_sum(struct parser *p)
{
    static const char *const signs[] = {"+", "-"};
    static const enum rp_step_kind kinds[] = {RP_STEP_ADD, RP_STEP_SUBTRACT};
    int which, rc = parse_product(p);

    while (rc == 0 && (which = take_one_of(p, signs, 2)))
        if ((rc = which < 0 ? which : parse_product(p)) == 0)
            rc = emit_kind(p, kinds[which - 1]);
    return rc;
}

/** Parses what follows "in" and "not in": [a, b] or (a, b). */
static int parse_list(struct parser *p, bool negated)
{
    static const char *const open[] = {"[", "("}, *const closing[] = {"]", ")"};
    const size_t first = p->code->count;
    int which = take_one_of(p, open, 2), rc = which;

    if (which <= 0)
        return which < 0 ? which
                         : fail_at(p, p->token.begin, "behind in there has to be a list: [1, 2]");
    while ((rc = take(p, closing[which - 1])) == 0) {
        if ((rc = parse_sum(p)) < 0 || (rc = emit_kind(p, RP_STEP_IN)) < 0)
            return rc;
        if ((rc = take(p, ",")) == 0 && !next_is(p, closing[which - 1]))
            return fail_at(p, p->token.begin, "a comma or %s is missing here", closing[which - 1]);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || (rc = emit_kind(p, RP_STEP_NOT_IN)) < 0)
        return rc;
    land(p, first, RP_STEP_IN);
    return negated ? emit_kind(p, RP_STEP_NOT) : 0;
}

static const char *const comparisons[] = {"==", "!=", "<", "<=", ">", ">="};
static const enum rp_step_kind comparison_kinds[] = {RP_STEP_EQUAL,   RP_STEP_UNEQUAL,
                                                     RP_STEP_LESS,    RP_STEP_LESS_EQUAL,
                                                     RP_STEP_GREATER, RP_STEP_GREATER_EQUAL};

static bool is_comparison(const struct parser *p)
{
    for (size_t i = 0; i < 6; i++)
        if (next_is(p, comparisons[i]))
            return true;
    return next_is(p, "in") || next_is(p, "not");
}

/** Parses in and not in, which cannot stand within a chain.
 * @return 1 it was one */
static int parse_membership(struct parser *p)
{
    const bool negated = next_is(p, "not");
    int rc = negated ? advance(p) : 0;

    if (rc < 0 || (rc = negated ? expect(p, "in") : take(p, "in")) < 0 || (rc == 0 && !negated))
        return rc;
    if ((rc = parse_list(p, negated)) < 0)
        return rc;
    if (is_comparison(p))
        return fail_at(p, p->token.begin, "a list ends a comparison; put parentheses around it");
    return 1;
}

static int parse_comparison(struct parser *p)
{
    const size_t first = p->code->count;
    bool chain = false;
    int which, rc = parse_sum(p);

    if (rc < 0 || (rc = parse_membership(p)))
        return rc < 0 ? rc : 0;
    while (rc == 0 && (which = take_one_of(p, comparisons, 6))) {
        if (which < 0 || (rc = parse_sum(p)) < 0)
            return which < 0 ? which : rc;
        if (next_is(p, "in") || next_is(p, "not"))
            return fail_at(p, p->token.begin,
                           "put parentheses around what is looked for in a list");
        chain = is_comparison(p);
        rc = emit(p, (struct rp_step){.kind = chain ? RP_STEP_CHAIN : comparison_kinds[which - 1],
                                      .compare = comparison_kinds[which - 1]});
    }
    land(p, first, RP_STEP_CHAIN);
    return rc;
}

static int parse_not(struct parser *p)
{
    int rc = enter(p);

    if (rc < 0 || (rc = take(p, "not")) < 0)
        return rc;
    if (rc) {
        rc = parse_not(p);
        rc = rc < 0 ? rc : emit_kind(p, RP_STEP_NOT);
    } else {
        rc = parse_comparison(p);
    }
    p->nested--;
    return rc;
}

/** Parses operands of and, or of or. All but the last may decide early. */
static int parse_junction(struct parser *p, const char *const *words, enum rp_step_kind kind,
                          int (*operand)(struct parser *))
{
    const size_t first = p->code->count;
    bool several = false;
    int which, rc = operand(p);

    while (rc == 0 && (which = take_one_of(p, words, 2))) {
        several = true;
        if (which < 0 || (rc = emit_kind(p, kind)) < 0)
            return which < 0 ? which : rc;
        rc = operand(p);
    }
    if (rc < 0 || !several || (rc = emit_kind(p, RP_STEP_TRUTH)) < 0)
        return rc;
    land(p, first, kind);
    return 0;
}

static int parse_and(struct parser *p)
{
    static const char *const words[] = {"and", "&&"};

    return parse_junction(p, words, RP_STEP_AND, parse_not);
}

static int parse_or(struct parser *p)
{
    static const char *const words[] = {"or", "||"};

    return parse_junction(p, words, RP_STEP_OR, parse_and);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int list_parameters(struct parser *p)
{
    struct rp_expression *code = p->code;
    bool used[RP_MAX_PARAMETERS] = {0};

    for (size_t i = 0; i < code->count; i++)
        if (code->steps[i].kind == RP_STEP_PARAMETER)
            used[code->steps[i].argument] = true;
    code->parameters = rp_alloc(RP_MAX_PARAMETERS * sizeof *code->parameters);
    for (size_t i = 0; i < RP_MAX_PARAMETERS; i++)
        if (used[i])
            code->parameters[code->parameter_count++] = (uint16_t)i;
    return 0;
}

static int parse_all(struct parser *p)
{
    int rc = advance(p);

    if (rc < 0)
        return rc;
    if (p->token.kind == TOKEN_END)
        return fail_at(p, 0, "the expression is empty");
    if ((rc = parse_or(p)) < 0)
        return rc;
    if (p->token.kind != TOKEN_END)
        return fail_at(p, p->token.begin, "an operator is missing here");
    return list_parameters(p);
}

int rp_expression_parse(const char *text, const struct rp_space *space, struct rp_expression **ret,
                        struct rp_err *err)
{
    struct parser p = {.text = text, .space = space, .err = err};
    int rc;

    p.code = rp_alloc_zero(1, sizeof *p.code);
    p.code->text = rp_strdup(text);
    rc = parse_all(&p);
    if (rc < 0) {
        if (p.token.kind == TOKEN_TEXT && p.token.value.kind == RP_VALUE_TEXT)
            free((char *)p.token.value.text);
        rp_expression_free(p.code);
        return rc;
    }
    *ret = p.code;
    return 0;
}

void rp_expression_free(struct rp_expression *expression)
{
    if (!expression)
        return;
    for (size_t i = 0; i < expression->constant_count; i++)
        if (expression->constants[i].kind == RP_VALUE_TEXT)
            free((char *)expression->constants[i].text);
    free(expression->constants);
    free(expression->parameters);
    free(expression->steps);
    free(expression->text);
    free(expression);
}

/* --- evaluation ------------------------------------------------------------------------------- */

static const char zero_division[] = "division by zero";
static const char too_large[] = "a number that does not fit";
static const char no_number[] = "a text where a number is needed";

bool rp_value_truth(const struct rp_value *value)
{
    double number;

    return rp_value_number(value, &number) ? number != 0 : *value->text != '\0';
}

/* --- numbers ---------------------------------------------------------------------------------- */

static bool is_integer(const struct rp_value *value, int64_t *ret)
{
    if (value->kind == RP_VALUE_INTEGER)
        *ret = value->integer;
    else if (value->kind == RP_VALUE_BOOLEAN)
        *ret = value->boolean;
    else
        return false;
    return true;
}

static const char *set_integer(struct rp_value *to, int64_t integer)
{
    *to = (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = integer};
    return NULL;
}

static const char *set_real(struct rp_value *to, double real)
{
    if (!isfinite(real))
        return too_large;
    *to = (struct rp_value){.kind = RP_VALUE_REAL, .real = real};
    return NULL;
}

static void set_boolean(struct rp_value *to, bool boolean)
{
    *to = (struct rp_value){.kind = RP_VALUE_BOOLEAN, .boolean = boolean};
}

/** Compares exactly; a conversion of the integer to a real would round. */
static int compare_mixed(int64_t integer, double real)
{
    int64_t whole;

    if (real >= 0x1p63)
        return -1;
    if (real < -0x1p63)
        return 1;
    whole = (int64_t)real; /* The conversion rounds towards zero. */
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return (real < (double)whole) - (real > (double)whole);
}

/** @return false: they are a text and a number */
static bool compare(const struct rp_value *a, const struct rp_value *b, int *ret)
{
    int64_t x = 0, y = 0;
    bool whole_x, whole_y;

    if ((a->kind == RP_VALUE_TEXT) != (b->kind == RP_VALUE_TEXT))
        return false;
    if (a->kind == RP_VALUE_TEXT) {
        *ret = strcmp(a->text, b->text);
        return true;
    }
    whole_x = is_integer(a, &x);
    whole_y = is_integer(b, &y);
    if (whole_x && whole_y)
        *ret = (x > y) - (x < y);
    else if (whole_x)
        *ret = compare_mixed(x, b->real);
    else if (whole_y)
        *ret = -compare_mixed(y, a->real);
    else
        *ret = (a->real > b->real) - (a->real < b->real);
    return true;
}

static bool equal(const struct rp_value *a, const struct rp_value *b)
{
    int order;

    return compare(a, b, &order) && order == 0;
}

static const char *decide(enum rp_step_kind kind, const struct rp_value *a,
                          const struct rp_value *b, bool *ret)
{
    int order;

    if (kind == RP_STEP_EQUAL || kind == RP_STEP_UNEQUAL) {
        *ret = equal(a, b) == (kind == RP_STEP_EQUAL);
        return NULL;
    }
    if (!compare(a, b, &order))
        return no_number;
    *ret = kind == RP_STEP_LESS         ? order < 0
           : kind == RP_STEP_LESS_EQUAL ? order <= 0
           : kind == RP_STEP_GREATER    ? order > 0
                                        : order >= 0;
    return NULL;
}

static const char *integer_power(int64_t base, int64_t exponent, struct rp_value *ret)
{
    int64_t result = 1;

    if (exponent < 0)
        return base == 0 ? zero_division : set_real(ret, pow((double)base, (double)exponent));
    if (exponent > 63 && base >= -1 && base <= 1) /* 0, 1 and -1 would go on for ever. */
        exponent = 62 + exponent % 2;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(result, base, &result))
            return too_large;
    return set_integer(ret, result);
}

static const char *integers(enum rp_step_kind kind, int64_t a, int64_t b, struct rp_value *ret)
{
    const bool divides =
        kind == RP_STEP_DIVIDE || kind == RP_STEP_FLOOR_DIVIDE || kind == RP_STEP_MODULO;
    int64_t result = 0;

    if (divides && b == 0)
        return zero_division;
    if (divides && b == -1) /* The remainder of INT64_MIN by -1 would trap. */
        return kind == RP_STEP_MODULO ? set_integer(ret, 0) : integers(RP_STEP_SUBTRACT, 0, a, ret);
    switch (kind) {
    case RP_STEP_ADD:
        return __builtin_add_overflow(a, b, &result) ? too_large : set_integer(ret, result);
    case RP_STEP_SUBTRACT:
        return __builtin_sub_overflow(a, b, &result) ? too_large : set_integer(ret, result);
    case RP_STEP_MULTIPLY:
        return __builtin_mul_overflow(a, b, &result) ? too_large : set_integer(ret, result);
    case RP_STEP_DIVIDE: /* The division is exact where it can be. */
        return a % b == 0 ? set_integer(ret, a / b) : set_real(ret, (double)a / (double)b);
    case RP_STEP_FLOOR_DIVIDE:
        return set_integer(ret, a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case RP_STEP_MODULO:
        return set_integer(ret, a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0));
    default:
        return integer_power(a, b, ret);
    }
}

static const char *reals(enum rp_step_kind kind, double a, double b, struct rp_value *ret)
{
    double rest;

    if (b == 0 &&
        (kind == RP_STEP_DIVIDE || kind == RP_STEP_FLOOR_DIVIDE || kind == RP_STEP_MODULO))
        return zero_division;
    switch (kind) {
    case RP_STEP_ADD:
        return set_real(ret, a + b);
    case RP_STEP_SUBTRACT:
        return set_real(ret, a - b);
    case RP_STEP_MULTIPLY:
        return set_real(ret, a * b);
    case RP_STEP_DIVIDE:
        return set_real(ret, a / b);
    case RP_STEP_FLOOR_DIVIDE:
        return set_real(ret, floor(a / b));
    case RP_STEP_MODULO:
        rest = fmod(a, b);
        return set_real(ret, rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    default:
        return a == 0 && b < 0 ? zero_division : set_real(ret, pow(a, b));
    }
}

static const char *min_or_max(enum rp_step_kind kind, struct rp_value *a, const struct rp_value *b)
{
    int order;

    if (!compare(a, b, &order))
        return no_number;
    if (kind == RP_STEP_MIN ? order > 0 : order < 0)
        *a = *b;
    return NULL;
}

/** Computes a result, and stores it in a. */
static const char *calculate(enum rp_step_kind kind, struct rp_value *a, const struct rp_value *b)
{
    int64_t x, y;
    double u, v;

    if (kind == RP_STEP_MIN || kind == RP_STEP_MAX)
        return min_or_max(kind, a, b);
    if (is_integer(a, &x) && is_integer(b, &y))
        return integers(kind, x, y, a);
    if (!rp_value_number(a, &u) || !rp_value_number(b, &v))
        return no_number;
    return reals(kind, u, v, a);
}

static const char *alone(enum rp_step_kind kind, struct rp_value *top)
{
    const struct rp_value before = *top;
    int64_t integer;

    if (kind == RP_STEP_NOT || kind == RP_STEP_TRUTH) {
        set_boolean(top, rp_value_truth(&before) == (kind == RP_STEP_TRUTH));
        return NULL;
    }
    if (before.kind == RP_VALUE_TEXT)
        return no_number;
    if (is_integer(&before, &integer))
        return kind == RP_STEP_NEGATIVE || (kind == RP_STEP_ABS && integer < 0)
                   ? integers(RP_STEP_SUBTRACT, 0, integer, top)
                   : set_integer(top, integer);
    return set_real(top, kind == RP_STEP_NEGATIVE ? -before.real
                         : kind == RP_STEP_ABS    ? fabs(before.real)
                                                  : before.real);
}

/* --- the machine ------------------------------------------------------------------------------ */

struct machine {
    struct rp_value
        stack[RP_EXPRESSION_STACK + 1]; /**< enough, as the parser has seen; from 1 on */
    struct rp_value *top;
    size_t at; /**< the step after this one */
};

static void go(struct machine *m, const struct rp_step *step, bool result)
{
    set_boolean(m->top, result);
    m->at = step->argument;
}

/** Does a step that may decide early.
 * @return why it fails, or NULL */
static const char *branch(struct machine *m, const struct rp_step *step)
{
    bool holds = false;
    const char *why;

    switch (step->kind) {
    case RP_STEP_AND:
    case RP_STEP_OR:
        if (rp_value_truth(m->top) == (step->kind == RP_STEP_OR))
            go(m, step, step->kind == RP_STEP_OR);
        else
            m->top--;
        return NULL;
    case RP_STEP_CHAIN:
        m->top--;
        if ((why = decide(step->compare, m->top, m->top + 1, &holds)))
            return why;
        if (holds)
            m->top[0] = m->top[1];
        else
            go(m, step, false);
        return NULL;
    case RP_STEP_IN:
        m->top--;
        if (equal(m->top, m->top + 1))
            go(m, step, true);
        return NULL;
    default: /* The default is RP_STEP_NOT_IN. */
        set_boolean(m->top, false);
        return NULL;
    }
}

static const char *run_step(struct machine *m, const struct rp_step *step)
{
    bool holds = false;
    const char *why;

    if (step->kind <= RP_STEP_ABS)
        return alone(step->kind, m->top);
    if (step->kind >= RP_STEP_AND)
        return branch(m, step);
    m->top--;
    if (step->kind < RP_STEP_EQUAL)
        return calculate(step->kind, m->top, m->top + 1);
    why = decide(step->kind, m->top, m->top + 1, &holds);
    set_boolean(m->top, holds);
    return why;
}

enum rp_evaluated rp_expression_evaluate(const struct rp_expression *expression,
                                         const struct rp_space *space, const uint16_t *row,
                                         struct rp_value *ret, const char **ret_why)
{
    /* It is not initialised, because every value that is read has been pushed before. */
    struct machine m;

    m.top = m.stack;
    m.at = 0;
    while (m.at < expression->count) {
        const struct rp_step *step = &expression->steps[m.at++];
        const char *why;

        if (step->kind == RP_STEP_CONSTANT) {
            *++m.top = expression->constants[step->argument];
        } else if (step->kind == RP_STEP_PARAMETER) {
            const uint16_t choice = row[step->argument];

            if (choice == RP_NO_VALUE)
                return RP_EVALUATED_ABSENT;
            *++m.top = space->parameters[step->argument].values[choice];
        } else if ((why = run_step(&m, step))) {
            if (ret_why)
                *ret_why = why;
            return RP_EVALUATED_FAILED;
        }
    }
    *ret = *m.top;
    return RP_EVALUATED;
}
