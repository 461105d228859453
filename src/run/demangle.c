#include "run/demangle.h"

#include <errno.h>
#include <poll.h>
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
#include "base/utf8.h"
#include "run/machine.h"

enum {
    /* Substitutions of a mangled name can stand for each other: a hostile one grows without end. */
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
    close(d->fd); /* the end of its input ends it */
    kill(-d->child, SIGKILL);
    while (waitpid(d->child, NULL, 0) < 0 && errno == EINTR)
        ;
    d->child = 0;
}

/* In a group of its own, so that Ctrl-C for the profiled program does not end it. */
static int spawn(struct rp_demangler *d, int fd, posix_spawn_file_actions_t *files,
                 posix_spawnattr_t *how)
{
    char *argv[] = {(char *)"llvm-cxxfilt", NULL};
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_adddup2(files, fd, STDIN_FILENO) ||
        posix_spawn_file_actions_adddup2(files, fd, STDOUT_FILENO) ||
        posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0) ||
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

/* Its answer, without the end of the line; NULL: none that can be used. */
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
    if (!plain) { /* what it may say later is of this name: the next one gets a new one */
        stop(d);
        if (++d->failures == MOST_FAILURES) {
            free(d->program);
            d->program = NULL;
        }
    }
    return plain && *plain ? rp_steal(plain) : NULL;
}

/* It takes words of a line for names: one with blanks or control characters is none. */
static bool is_mangled(const char *name)
{
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return true;
}

/* It takes any byte that is not of ASCII for the end of a word. A mangled name counts bytes, so
 * each such character goes there under a name of as many: '$' and a letter for two bytes, 'A' and
 * one more letter for three, 'B' and two more for four. No compiler writes '$' by itself, and the
 * demangler adds none. */
enum { MOST_SIGNS = 60 };

struct signs {
    char of[MOST_SIGNS][4]; /* the characters; all of them together, whatever their length */
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

/* @return NULL: it cannot be written so */
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

/* @return NULL: what it says has other signs than what it was asked */
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
