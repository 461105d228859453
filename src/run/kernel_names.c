/* This file makes names of kernels for people, and finds names by an expression. */
#include "run/kernel_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/regex_size.h"
#include "base/utf8.h"
#include "run/machine.h"

/* --- names for people ------------------------------------------------------------------------- */

enum {
    /* Substitutions of a mangled name can refer to each other, so a hostile one grows without end.
     */
    MOST_NAME_BYTES = 4 << 20,
    PATIENCE_MS = 5000,
    MOST_FAILURES = 3,
};

extern char **environ;

void rp_demangler_open(const struct rp_environment *env, struct rp_demangler *ret)
{
    *ret = (struct rp_demangler){.program = rp_find_llvm_program(env, "llvm-cxxfilt"),
                                 .patience_ms = PATIENCE_MS};
}

/* --- the program --------------------------------------------------------------------------- */

static void stop(struct rp_demangler *d)
{
    if (!d->child)
        return;
    close(d->fd); /* The demangler ends at the end of its input. */
    kill(-d->child, SIGKILL);
    while (waitpid(d->child, NULL, 0) < 0 && errno == EINTR)
        ;
    d->child = 0;
}

/* It gets a group of its own, so that Ctrl-C for the profiled program does not end it. */
static int spawn(struct rp_demangler *d, int fd, posix_spawn_file_actions_t *files,
                 posix_spawnattr_t *how)
{
    char *argv[] = {(char *)"llvm-cxxfilt", NULL};
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_adddup2(files, fd, STDIN_FILENO) ||
        posix_spawn_file_actions_adddup2(files, fd, STDOUT_FILENO) ||
        posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null",
                                         1 /* The flag 1 is O_WRONLY. */, 0) ||
        posix_spawnattr_setflags(how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                          POSIX_SPAWN_SETSIGDEF) ||
        posix_spawnattr_setpgroup(how, 0) || posix_spawnattr_setsigmask(how, &none) ||
        posix_spawnattr_setsigdefault(how, &all))
        return -1;
    return posix_spawn(&d->child, d->program, files, how, argv, environ) ? -1 : 0;
}

void rp_demangler_start(struct rp_demangler *d)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int ends[2], rc;

    if (d->child || !d->program || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    rc = spawn(d, ends[1], &files, &how);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    d->fd = ends[0];
    if (rc < 0) {
        close(ends[0]);
        d->child = 0;
        free(d->program);
        d->program = NULL;
    }
}

void rp_demangler_close(struct rp_demangler *d)
{
    stop(d);
    free(d->program);
    *d = (struct rp_demangler){0};
}

/* --- names --------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000 + t.tv_nsec / 1000000;
}

/* Waits until it can be read, or written. */
static bool is_ready(int fd, short what, int64_t end_ms)
{
    struct pollfd one = {.fd = fd, .events = what};
    int ready;

    do {
        const int64_t left = end_ms - now_ms();

        ready = left > 0 ? poll(&one, 1, (int)left) : 0;
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

static bool put_line(int fd, const char *line, size_t length, int64_t end_ms)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(fd, line + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && is_ready(fd, POLLOUT, end_ms))
            continue;
        if (n < 0 && errno != EINTR)
            return false;
        sent += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Returns its answer without the end of the line, or NULL when no answer can be used. */
static char *get_line(int fd, int64_t end_ms)
{
    rp_autobuf line = {0};
    char piece[4096];

    while (line.len <= MOST_NAME_BYTES && is_ready(fd, POLLIN, end_ms)) {
        ssize_t n = recv(fd, piece, sizeof piece, MSG_DONTWAIT);

        if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
            continue;
        if (n <= 0)
            return NULL;
        rp_buf_add(&line, piece, (size_t)n);
        if (!line.failed && line.data[line.len - 1] == '\n') {
            line.data[line.len - 1] = '\0';
            return rp_buf_steal(&line);
        }
    }
    return NULL;
}

/* @return NULL: it does not know the name, or there is no demangler */
static char *ask(struct rp_demangler *d, const char *name)
{
    const int64_t end_ms = now_ms() + d->patience_ms;
    rp_autofree char *line = NULL;
    rp_autofree char *plain = NULL;

    rp_demangler_start(d);
    if (!d->child || strlen(name) > MOST_NAME_BYTES)
        return NULL;
    line = rp_format("%s\n", name);
    plain = line && put_line(d->fd, line, strlen(line), end_ms) ? get_line(d->fd, end_ms) : NULL;
    if (!plain) { /* A late answer would be about this name, so the next name gets a new process. */
        stop(d);
        if (++d->failures == MOST_FAILURES) {
            free(d->program);
            d->program = NULL;
        }
    }
    return plain && *plain ? rp_steal(plain) : NULL;
}

/* It takes words of a line for names, so one with blanks or control characters is no name. */
static bool is_mangled(const char *name)
{
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return true;
}

/* The demangler takes any byte that is not ASCII for the end of a word. A mangled name counts
 * bytes, so each such character gets a substitute of the same length: '$' and a letter for two
 * bytes, 'A' and one more letter for three, 'B' and two more for four. No compiler writes '$' by
 * itself, and the demangler adds none. */
enum { MOST_SIGNS = 60 };

struct signs {
    char of[MOST_SIGNS][4]; /**< the characters; all of them together, whatever their length */
    size_t length[MOST_SIGNS], count;
};

/* "AB" stand before the letters of longer ones. */
static const char sign_letters[] = "abcdefghijklmnopqrstuvwxyzCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static bool put_sign(struct signs *signs, const char *character, size_t length, struct rp_buf *to)
{
    static const char *const leads[] = {[2] = "$", [3] = "$A", [4] = "$BB"};
    size_t at = 0;

    while (at < signs->count &&
           (signs->length[at] != length || memcmp(signs->of[at], character, length) != 0))
        at++;
    if (at == MOST_SIGNS)
        return false;
    if (at == signs->count) {
        memcpy(signs->of[at], character, length);
        signs->length[signs->count++] = length;
    }
    rp_buf_printf(to, "%s%c", leads[length], sign_letters[at]);
    return true;
}

/* @return NULL: it cannot be written in this way */
static char *to_ascii(const char *name, struct signs *signs)
{
    const char *end = name + strlen(name);
    rp_autobuf text = {0};

    for (size_t length; name < end; name += length) {
        length = rp_utf8_length(name, (size_t)(end - name));
        if (length == 0 || *name == '$' || (length > 1 && !put_sign(signs, name, length, &text)))
            return NULL;
        if (length == 1)
            rp_buf_add(&text, name, 1);
    }
    return rp_buf_steal(&text);
}

/* @return NULL: the answer has other signs than the question */
static char *from_ascii(const char *plain, const struct signs *signs)
{
    rp_autobuf text = {0};

    for (; *plain; plain++) {
        const char *letter = plain + 1, *place;
        size_t at;

        if (*plain != '$') {
            rp_buf_add(&text, plain, 1);
            continue;
        }
        letter += *letter == 'A' ? 1 : *letter == 'B' && letter[1] == 'B' ? 2 : 0;
        place = *letter ? strchr(sign_letters, *letter) : NULL;
        at = place ? (size_t)(place - sign_letters) : MOST_SIGNS;
        if (at >= signs->count || signs->length[at] != (size_t)(letter - plain) + 1)
            return NULL;
        rp_buf_add(&text, signs->of[at], signs->length[at]);
        plain = letter;
    }
    return rp_buf_steal(&text);
}

static bool is_ascii(const char *name)
{
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

/* @return NULL: it does not know the name, or there is no demangler */
static char *ask_any(struct rp_demangler *d, const char *name)
{
    struct signs signs = {.count = 0};
    rp_autofree char *ascii = NULL;
    rp_autofree char *plain = NULL;

    if (is_ascii(name))
        return ask(d, name);
    ascii = to_ascii(name, &signs);
    plain = ascii ? ask(d, ascii) : NULL;
    return plain ? from_ascii(plain, &signs) : NULL;
}

char *rp_demangle_kernel(struct rp_demangler *d, const char *symbol)
{
    size_t length = strlen(symbol);
    rp_autofree char *name = NULL;
    char *plain;

    if (length > 3 && strcmp(symbol + length - 3, ".kd") == 0)
        length -= 3;
    name = rp_strndup(symbol, length);
    if (!name || !d || !is_mangled(name))
        return rp_steal(name);
    plain = ask_any(d, name);
    return plain ? plain : rp_steal(name);
}

/* --- expressions ----------------------------------------------------------------------------- */

enum { RP_KERNEL_NAME_BYTES = 16 << 10 /**< longer names are found by themselves only */ };

/* These classes have a letter; it is written within brackets, and alone. */
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

/* Translates what follows a "\" outside of brackets. It returns NULL where that cannot be said. */
/* A back-reference is no regular expression: the time to find one grows with a power of the name's
 * length. */
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

/* Translates members of "[...]" up to its end, and returns the place behind it, or NULL where that
 * cannot be said. In the other dialect a "\" stands for itself there, "]" is first, and "-" last.
 */
static const char *put_brackets(struct rp_buf *to, const char *at)
{
    rp_autobuf members = {0};
    bool negated = *at == '^', closes = false, dash = false;

    for (at += negated; *at && *at != ']'; at++) {
        const char *letters;

        /* A named class is the same in both dialects. */
        if (*at == '[' && at[1] && strchr(":.=", at[1])) {
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
    /* A ^ that is first would negate, so it is not put there. */
    if (members.len && members.data[0] == '^' && !negated && !closes)
        rp_buf_printf(to, "[%.*s%s^]", (int)members.len - 1, members.data + 1, dash ? "-" : "");
    else
        rp_buf_printf(to, "[%s%s%s%s]", negated ? "^" : "", closes ? "]" : "",
                      rp_buf_text(&members), dash ? "-" : "");
    to->failed |= members.failed;
    return at;
}

/* Says whether a "?" behind a repeat only means to take as little as possible. */
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

/* With "^.*(...)" the C library looks at each character of a name once, from the first on.
 * Otherwise it would begin anew at each. */
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

/* @param ret translated, owned by the caller */
static int translate_checked(const char *option, const char *text, char **ret, struct rp_err *err)
{
    rp_autobuf other = {0};
    const char *wrong;
    /* It checks the size, and that groups are closed. */
    int rc = rp_kernel_regex_check(option, text, err);

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

/* Returns the length of a name, or of an expression for one, without the suffix that names the
 * descriptor. */
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

/* The C library keeps each state that it reaches, so after so many bytes the expression is compiled
 * anew. */
static void forget_states(struct rp_kernel_pattern *pattern, size_t bytes)
{
    struct rp_err err = RP_ERR_INIT;
    regex_t fresh;

    pattern->searched_bytes += bytes;
    if (pattern->searched_bytes <= RP_KERNEL_NAME_BYTES)
        return;
    if (compile("", pattern->text, pattern->translated, &fresh, &err) < 0)
        return; /* Without memory the old expression is still used. */
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

/* An expression that does not speak of code must not find a name by the digits behind it. */
bool rp_kernel_pattern_finds_code(struct rp_kernel_pattern *pattern, const char *name,
                                  const char *symbol, uint32_t code)
{
    rp_autofree char *told_apart = code && strstr(pattern->text, "[code ")
                                       ? rp_format("%s [code %08" PRIx32 "]", name, code)
                                       : NULL;

    return rp_kernel_pattern_finds(pattern, name, symbol) ||
           (told_apart && rp_kernel_pattern_finds(pattern, told_apart, NULL));
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

/* Skips what follows "[", and returns the place behind its "]", or NULL when it has none. */
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

/* Skips what follows "{": "2}", "2,}" or "2,3}". */
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

/* Says what is wrong. NULL means that no known fault was found. */
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

/* rocprofv3 keeps every number of a range, so more digits would never end. */
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
