#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/monotonic_clock.h"
#include "base/utf8.h"

static const int64_t SECOND_NS = 1000000000;

void rp_progress_put_left(double seconds, struct rp_buf *to)
{
    if (seconds < 100)
        rp_buf_printf(to, ", %.0f s left", seconds);
    else if (seconds < 100 * 60)
        rp_buf_printf(to, ", %.0f min left", seconds / 60);
    else
        rp_buf_printf(to, ", %.1f h left", seconds / 3600);
}

void rp_progress_put(const char *what, uint64_t done, uint64_t most, int64_t done_ns,
                     int64_t elapsed_ns, struct rp_buf *to)
{
    const double each_s = done ? (double)done_ns / 1e9 / (double)done : 0;
    double left_s;

    rp_buf_puts(to, what);
    if (most)
        rp_buf_printf(to, " %" PRIu64 " of %" PRIu64, done < most ? done + 1 : most, most);
    if (!most || !done) {
        rp_buf_printf(to, ", %" PRId64 " s", elapsed_ns / SECOND_NS);
        return;
    }
    left_s = each_s * (double)(most - (done < most ? done : most)) -
             (double)(elapsed_ns - done_ns) / 1e9;
    rp_progress_put_left(left_s > 0 ? left_s : 0, to);
}

void rp_progress_say(const char *command, const char *what, double left_s)
{
    rp_autobuf left = {0}, clean = {0};

    if (!isatty(STDERR_FILENO))
        return;
    if (left_s >= RP_PROGRESS_PATIENCE_S)
        rp_progress_put_left(left_s, &left);
    rp_escape(&clean, what);
    fprintf(stderr, "%s: %s%s\n", command, rp_buf_text(&clean), rp_buf_text(&left));
}

struct rp_progress rp_progress_begin(void)
{
    const int64_t now = rp_now_ns();

    return (struct rp_progress){
        .line = rp_progress_line_begin(), .began_ns = now, .step_ns = now, .done_ns = now};
}

void rp_progress_at(struct rp_progress *p, const char *what, uint64_t done, uint64_t most)
{
    const int64_t now = rp_now_ns();
    rp_autobuf text = {0};

    if (what != p->what || done < p->done)
        p->step_ns = p->done_ns = now; /* something else, or the same anew */
    else if (done > p->done)
        p->done_ns = now;
    p->what = what;
    p->done = done;
    p->most = most;
    if (now - p->began_ns < RP_PROGRESS_PATIENCE_S * SECOND_NS)
        return;
    rp_progress_put(what, done, most, p->done_ns - p->step_ns, now - p->step_ns, &text);
    rp_progress_line_show(&p->line, rp_buf_text(&text));
}

void rp_progress_clear(struct rp_progress *p)
{
    rp_progress_line_clear(&p->line);
}
