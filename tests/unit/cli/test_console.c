/* What is shown of a computation of this process, on a terminal and not; and how one is
 * interrupted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"

#include "cli/console.c"

static void check_words(const char *wanted, struct rp_activity_at at, bool writes,
                        int64_t elapsed_ms)
{
    rp_autobuf text = {0};

    at.told_ns *= 1000000;
    activity_put(&at, writes, elapsed_ms * 1000000, &text);
    assert_string_equal(rp_buf_text(&text), wanted);
}

static void the_words(void **state)
{
    (void)state;
    check_words("the trace is read, 3 s", (struct rp_activity_at){0}, false, 3100);
    check_words("the trace is read, 3 s", (struct rp_activity_at){RP_WORK_READ, 0.05, 2900}, false,
                3100);
    check_words("the trace is read: 11 %, 24 s left",
                (struct rp_activity_at){RP_WORK_READ, 0.5, 3000}, false, 3100);
    /* Of what has not said more since it is the clock that goes on, and never below 0. */
    check_words("which kernel first: 93 %, 1 s left",
                (struct rp_activity_at){RP_WORK_RANK, 0, 20000}, false, 20500);
    check_words("which kernel first: 93 %, 0 s left",
                (struct rp_activity_at){RP_WORK_RANK, 0, 20000}, false, 90000);
    check_words("the result is written: 100 %, 0 s left",
                (struct rp_activity_at){RP_WORK_WRITE, 0, 20000}, false, 20500);
    check_words("the result is written: 62 %, 12 s left",
                (struct rp_activity_at){RP_WORK_WRITE, 0, 20000}, true, 20500);
}

/* Works for as long as somebody has not read what it shows. */
static void work(int until)
{
    struct rp_activity busy;
    struct rp_work told;
    char byte;

    rp_activity_begin(false, &busy);
    told = rp_activity_work(&busy);
    rp_work_at(&told, RP_WORK_LIMITS, 0);
    if (read(until, &byte, 1) != 1)
        _exit(3);
    rp_activity_notes(&busy).put(&busy, "a note");
    if (read(until, &byte, 1) != 1)
        _exit(3);
    rp_activity_end(&busy);
    rp_activity_end(&busy);
    fputs("done\n", stderr);
    _exit(0);
}

struct child {
    pid_t pid;
    int terminal, go; /* what it shows; a byte lets it go on */
    char shown[4096];
};

static void start(struct child *c)
{
    int theirs, pipes[2];

    *c = (struct child){0};
    assert_int_equal(openpty(&c->terminal, &theirs, NULL, NULL, NULL), 0);
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    c->pid = fork();
    if (c->pid == 0) {
        signal(SIGINT, SIG_DFL); /* a shell's background commands ignore it */
        dup2(theirs, STDERR_FILENO);
        close(pipes[1]);
        work(pipes[0]);
    }
    close(theirs);
    close(pipes[0]);
    c->go = pipes[1];
}

/* Reads until it is there, or, NULL, the end. */
static void await(struct child *c, const char *text)
{
    size_t length = strlen(c->shown);
    ssize_t got;

    while (!text || !strstr(c->shown, text)) {
        got = read(c->terminal, c->shown + length, sizeof c->shown - 1 - length);
        if (got <= 0) {
            assert_null(text);
            return;
        }
        length += (size_t)got;
    }
}

static int end(struct child *c)
{
    int status;

    await(c, NULL);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    close(c->terminal);
    close(c->go);
    return status;
}

/* The last line is empty: spaces have taken its place. */
static void check_clean(const char *shown)
{
    const char *last = strrchr(shown, '\r');

    assert_non_null(last);
    assert_string_equal(last, "\r");
    while (last > shown && last[-1] == ' ')
        last--;
    assert_true(last > shown && last[-1] == '\r');
}

static void on_a_terminal(void **state)
{
    struct child c;
    const char *at;

    (void)state;
    start(&c);
    await(&c, "\rwhat limits the run: 71 %, ");
    assert_int_equal(write(c.go, "n", 1), 1);
    await(&c, "rocm-perf: a note\r\n");
    at = strstr(c.shown, "rocm-perf: ");
    assert_true(at[-1] == '\r' && at[-2] == ' ');
    memset(c.shown, 0, sizeof c.shown);
    await(&c, "\rwhat limits the run: 71 %, "); /* again, below the note */
    assert_int_equal(write(c.go, "e", 1), 1);
    assert_int_equal(end(&c), 0);
    at = strstr(c.shown, "done\r\n");
    assert_non_null(at);
    c.shown[at - c.shown] = '\0';
    check_clean(c.shown);
}

static void interrupted(void **state)
{
    struct child c;
    int status;

    (void)state;
    start(&c);
    await(&c, "\rwhat limits the run: 71 %, ");
    kill(c.pid, SIGINT);
    status = end(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    check_clean(c.shown);
}

/* Before the first two seconds are over it is as quick to end. */
static void interrupted_at_once(void **state)
{
    struct child c;
    int status;

    (void)state;
    start(&c);
    kill(c.pid, SIGTERM);
    status = end(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_string_equal(c.shown, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words),
        cmocka_unit_test(on_a_terminal),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(interrupted_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
