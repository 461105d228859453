#include "replay/replay_protocol.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"

const char *const rp_replay_actions[] = {
    [RP_REPLAY_FULL_VM] = "full-vm",
    [RP_REPLAY_COMPARE] = "compare",
    [RP_REPLAY_RESERVE_CHECK] = "reserve-check",
    [RP_REPLAY_SELF_CHECK] = "self-check",
    NULL,
};

const char *const rp_replay_caches[] = {
    [RP_CACHE_AS_IS] = "as is", [RP_CACHE_WARM] = "warm", [RP_CACHE_COLD] = "cold", NULL};
static const char *const gates[] = {[RP_GATE_NONE] = "none",
                                    [RP_GATE_FASTER] = "faster",
                                    [RP_GATE_NOT_SLOWER] = "not-slower",
                                    NULL};

enum kind { TEXT, NUMBER, REAL, FD, WORD, FLAG, SET };

static const struct option {
    const char *name;
    enum kind kind;
    size_t offset;
    unsigned long most;       /**< of NUMBER and REAL; of SET: how many there are */
    const char *const *words; /**< of WORD */
} options[] = {
#define OF_TEXT(of)   0, NULL
#define OF_FLAG(of)   0, NULL
#define OF_FD(of)     INT_MAX, NULL
#define OF_NUMBER(of) of, NULL
#define OF_REAL(of)   of, NULL
#define OF_SET(of)    of, NULL
#define OF_WORD(of)   0, of
#define RP_REPLAY_OPTION(kind, field, name, of)                                                    \
    {name, kind, offsetof(struct rp_replay_options, field), OF_##kind(of)},
#include "replay/replay_options.def"
#undef RP_REPLAY_OPTION
};

enum { OPTIONS = sizeof options / sizeof *options };

static_assert(OPTIONS + 2 <= RP_REPLAY_MOST_ARGS, "an argument each, the action, and NULL");
static_assert(RP_STEP_CHANGES < 32 && RP_STEP_VARIATIONS < 32, "bits of an unsigned");
static_assert(RP_STEP_VARY + RP_STEP_VARIATIONS < RP_STEP_OTHER, "a letter for each");

/* --- to arguments -------------------------------------------------------------------------- */

static void print_set(unsigned set, struct rp_buf *ret)
{
    const char *comma = "";

    for (unsigned i = 0; set >> i; i++)
        if (set >> i & 1) {
            rp_buf_printf(ret, "%s%u", comma, i);
            comma = ",";
        }
}

/* Prints nothing where the value is the default. */
static void print_option(const struct option *o, const void *field, struct rp_buf *ret)
{
    const unsigned bits = o->kind == WORD || o->kind == SET ? *(const unsigned *)field : 0;

    const char *const text = o->kind == TEXT ? *(const char *const *)field : NULL;

    if (text && *text)
        rp_buf_printf(ret, "--%s=%s", o->name, text);
    else if (o->kind == NUMBER && *(const unsigned long *)field)
        rp_buf_printf(ret, "--%s=%lu", o->name, *(const unsigned long *)field);
    else if (o->kind == REAL && *(const double *)field > 0)
        rp_buf_printf(ret, "--%s=%.17g", o->name, *(const double *)field);
    else if (o->kind == FD && *(const int *)field >= 0)
        rp_buf_printf(ret, "--%s=%d", o->name, *(const int *)field);
    else if (o->kind == FLAG && *(const bool *)field)
        rp_buf_printf(ret, "--%s", o->name);
    else if (o->kind == WORD && bits)
        rp_buf_printf(ret, "--%s=%s", o->name, o->words[bits]);
    else if (o->kind == SET && bits)
        rp_buf_printf(ret, "--%s=", o->name);
    if (o->kind == SET)
        print_set(bits, ret);
}

void rp_replay_options_print(const struct rp_replay_options *o, struct rp_replay_args *ret)
{
    size_t count = 1;

    *ret = (struct rp_replay_args){.argv = {rp_strdup(rp_replay_actions[o->action])}};
    for (size_t i = 0; i < OPTIONS; i++) {
        struct rp_buf text = {0};

        print_option(&options[i], (const char *)o + options[i].offset, &text);
        if (text.len)
            ret->argv[count++] = rp_buf_steal(&text);
    }
}

void rp_replay_args_free(struct rp_replay_args *args)
{
    for (size_t i = 0; i < RP_REPLAY_MOST_ARGS; i++)
        free(args->argv[i]);
}

/* --- from arguments ------------------------------------------------------------------------ */

static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

/* Reads digits up to what may follow them. @return what follows; NULL: it is no such number */
static const char *take_number(const char *text, unsigned long most, unsigned long *ret)
{
    char *end;

    errno = 0;
    *ret = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !errno && *ret <= most ? end : NULL;
}

static bool take_set(const char *text, unsigned long count, unsigned *ret)
{
    unsigned long number;

    for (const char *at = text;; at++) {
        at = take_number(at, count - 1, &number);
        if (!at || (*at && *at != ','))
            return false;
        *ret |= 1u << number;
        if (!*at)
            return true;
    }
}

static bool take_value(const struct option *o, const char *value, void *field)
{
    unsigned long number = 0;
    const char *end = value;
    char *real_end;
    double real;
    int word;

    switch (o->kind) {
    case TEXT:
        *(const char **)field = value;
        return *value;
    case NUMBER:
    case FD:
        end = take_number(value, o->most, &number);
        if (o->kind == NUMBER)
            *(unsigned long *)field = number;
        else
            *(int *)field = (int)number;
        return end && !*end;
    case REAL:
        real = strtod(value, &real_end);
        *(double *)field = real;
        return value[0] >= '0' && value[0] <= '9' && !*real_end && real <= (double)o->most;
    case WORD:
        word = find_word(o->words, value);
        *(unsigned *)field = word < 0 ? 0 : (unsigned)word;
        return word >= 0;
    case SET:
        return take_set(value, o->most, field);
    default:
        *(bool *)field = true;
        return true;
    }
}

static int take_option(const char *arg, struct rp_replay_options *ret, struct rp_err *err)
{
    const char *name = arg + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);

    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &options[i];

        if (strlen(o->name) != length || memcmp(name, o->name, length) != 0)
            continue;
        if ((o->kind == FLAG) != !equals)
            return rp_fail(err, RP_USAGE, "--%s %s", o->name,
                           equals ? "takes no value" : "needs a value: --NAME=VALUE");
        if (!take_value(o, equals ? equals + 1 : NULL, (char *)ret + o->offset))
            return rp_fail(err, RP_USAGE, "%s: no such value", arg);
        return 0;
    }
    return rp_fail(err, RP_USAGE, "%s: no such option", arg);
}

static int check(const struct rp_replay_options *o, struct rp_err *err)
{
    if (!o->capture_dir || !o->hsa_library)
        return rp_fail(err, RP_USAGE, "--%s is missing",
                       o->capture_dir ? "hsa-library" : "capture-dir");
    if (o->action == RP_REPLAY_COMPARE && (!o->hsaco || !o->other))
        return rp_fail(err, RP_USAGE, "compare needs --hsaco and --other");
    return 0;
}

int rp_replay_options_parse(char *const *argv, struct rp_replay_options *ret, struct rp_err *err)
{
    const int action = argv[0] ? find_word(rp_replay_actions, argv[0]) : -1;
    struct rp_replay_options o = {.step_fd = -1};
    int rc;

    if (action < 0)
        return rp_fail(err, RP_USAGE, "%s: no such action", argv[0] ? argv[0] : "(none)");
    o.action = (enum rp_replay_action)action;
    for (size_t i = 1; argv[i]; i++) {
        rc = strncmp(argv[i], "--", 2) == 0 ? take_option(argv[i], &o, err)
                                            : rp_fail(err, RP_USAGE, "%s: no such option", argv[i]);
        if (rc < 0)
            return rc;
    }
    rc = check(&o, err);
    if (rc == 0)
        *ret = o;
    return rc;
}
