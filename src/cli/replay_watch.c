#include "cli/replay_watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memfd.h"
#include "replay/replay_protocol.h"

struct rp_replay_watch rp_replay_watch_begin(int step_fd)
{
    struct rp_replay_watch watch = {
        .progress = rp_progress_begin(), .step_fd = step_fd, .stderr_fd = -1};

    if (watch.progress.line.terminal)
        watch.stderr_fd = rp_memfd("stderr", MFD_CLOEXEC);
    return watch;
}

static size_t whole_lines(const char *text, size_t bytes)
{
    const char *end = memrchr(text, '\n', bytes);

    return end ? (size_t)(end + 1 - text) : 0;
}

/* What was said since it was last looked at. A line that is not whole yet waits for its end. */
static void show_said(struct rp_replay_watch *w, bool all)
{
    char some[4096];
    ssize_t got;

    while (w->stderr_fd >= 0 && (got = pread(w->stderr_fd, some, sizeof some, w->shown)) > 0) {
        const size_t whole =
            all || got == sizeof some ? (size_t)got : whole_lines(some, (size_t)got);

        if (!whole)
            return;
        rp_progress_clear(&w->progress);
        fwrite(some, 1, whole, stderr);
        fflush(stderr);
        w->shown += (off_t)whole;
    }
}

static const char *words_for(uint32_t phase)
{
    static const char *const words[] = {
#define RP_REPLAY_PHASE(name, words) [RP_REPLAY_AT_##name] = words,
#include "replay/replay_phases.def"
#undef RP_REPLAY_PHASE
    };

    return phase < sizeof words / sizeof *words ? words[phase] : NULL;
}

void rp_replay_watch_look(void *context, int64_t elapsed_ns)
{
    struct rp_replay_watch *w = context;
    struct rp_replay_at at = {0};

    (void)elapsed_ns;
    show_said(w, false);
    if (w->step_fd >= 0 && pread(w->step_fd, &at, sizeof at, RP_STEP_PROGRESS_AT) == sizeof at &&
        words_for(at.phase))
        rp_progress_at(&w->progress, words_for(at.phase), at.done, at.most);
}

void rp_replay_watch_end(struct rp_replay_watch *w)
{
    rp_progress_clear(&w->progress);
    show_said(w, true);
    if (w->stderr_fd >= 0)
        close(w->stderr_fd);
    w->stderr_fd = -1;
}
