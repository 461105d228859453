#include "device/driver/debug_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };

/* The log belongs to the one context of the injected library; -1 = not opened yet, -2 = none. */
static int log_fd = -1;

static int log_file(void)
{
    int fd = __atomic_load_n(&log_fd, __ATOMIC_ACQUIRE);
    if (fd != -1)
        return fd;
    const char *path = getenv("ROCM_PERF_DEVICE_DEBUG");
    fd = -2;
    if (path && *path) { /* a direct call: open() is one of our own hooks */
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          0644);
        if (fd < 0)
            fd = -2;
    }
    int expected = -1;
    if (!__atomic_compare_exchange_n(&log_fd, &expected, fd, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        if (fd >= 0)
            close(fd);
        fd = expected;
    }
    return fd;
}

void rp_log(const char *fmt, ...)
{
    int saved = errno;
    int fd = log_file();
    if (fd >= 0) {
        char line[LINE_BYTES];
        int head = snprintf(line, sizeof line, "[%d] ", (int)getpid());
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(line + head, sizeof line - (size_t)head - 1, fmt, args);
        va_end(args);
        size_t used = (size_t)head + (n > 0 ? (size_t)n : 0);
        if (used > sizeof line - 2)
            used = sizeof line - 2;
        line[used++] = '\n';
        if (write(fd, line, used) < 0) {
            /* a debug log that cannot be written is not the program's problem */
        }
    }
    errno = saved;
}
