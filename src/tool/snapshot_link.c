#include "tool/snapshot_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* While the other end is waited for, the program is held. */
enum {
    SLICE_S = 1,       /* between looks at it */
    MOST_SLICES = 600, /* without a byte: it may be at work for a former capture */
};

/* Stopped by job control: nobody knows for how long. */
static bool is_stopped(const struct rp_snapshot_link *link)
{
    struct ucred other = {0};
    socklen_t size = sizeof(other);
    char path[64], text[512] = "";
    const char *state;
    ssize_t got;
    int fd;

    if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &other, &size) < 0 || other.pid <= 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)other.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    state = strrchr(text, ')'); /* behind the name, which may hold anything */
    return state && strncmp(state, ") T", 3) == 0;
}

/* After a call that failed: whether to try again. */
static bool goes_on(const struct rp_snapshot_link *link, unsigned *slices)
{
    if (errno == EINTR)
        return true;
    return (errno == EAGAIN || errno == EWOULDBLOCK) && ++*slices < MOST_SLICES &&
           !is_stopped(link);
}

bool rp_snapshot_link_open(struct rp_snapshot_link *link, const char *path, bool software,
                           uint32_t timing)
{
    const struct rp_snapshot_hello hello = {.version = RP_SNAPSHOT_VERSION,
                                            .pid = (uint32_t)getpid(),
                                            .software = software,
                                            .timing = timing};
    const struct timeval slice = {.tv_sec = SLICE_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    link->fd = -1;
    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    strcpy(address.sun_path, path);
    link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd >= 0 &&
        setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof(slice)) == 0 &&
        setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice)) == 0 &&
        connect(link->fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        rp_snapshot_send(link, RP_SNAPSHOT_HELLO, &hello, sizeof(hello), NULL, 0))
        return true;
    rp_snapshot_link_close(link);
    return false;
}

void rp_snapshot_link_close(struct rp_snapshot_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

bool rp_snapshot_send(struct rp_snapshot_link *link, uint32_t kind, const void *a, size_t a_bytes,
                      const void *b, size_t b_bytes)
{
    struct rp_snapshot_message message = {.kind = kind, .bytes = a_bytes + b_bytes};
    struct iovec parts[] = {{&message, sizeof(message)},
                            {(void *)(uintptr_t)a, a_bytes},
                            {(void *)(uintptr_t)b, b_bytes}};
    struct msghdr all = {.msg_iov = parts, .msg_iovlen = 3};
    unsigned slices = 0;

    while (link->fd >= 0 && all.msg_iovlen > 0) {
        ssize_t sent = sendmsg(link->fd, &all, MSG_NOSIGNAL);

        if (sent < 0 && !goes_on(link, &slices)) {
            rp_snapshot_link_close(link);
            break;
        }
        if (sent < 0)
            continue;
        slices = 0;
        while (all.msg_iovlen > 0 && (size_t)sent >= all.msg_iov->iov_len) {
            sent -= (ssize_t)all.msg_iov->iov_len;
            all.msg_iov++;
            all.msg_iovlen--;
        }
        if (all.msg_iovlen > 0) {
            all.msg_iov->iov_base = (char *)all.msg_iov->iov_base + sent;
            all.msg_iov->iov_len -= (size_t)sent;
        }
    }
    return link->fd >= 0;
}

static bool receive(struct rp_snapshot_link *link, void *to, size_t bytes)
{
    unsigned slices = 0;

    for (char *at = to; bytes > 0;) {
        const ssize_t got = recv(link->fd, at, bytes, MSG_WAITALL);

        if (got < 0 && goes_on(link, &slices))
            continue;
        if (got <= 0) {
            rp_snapshot_link_close(link);
            return false;
        }
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool rp_snapshot_ask_selection(struct rp_snapshot_link *link, struct rp_snapshot_selection *ret,
                               uint64_t **ret_numbers)
{
    struct rp_snapshot_selection selection;
    uint64_t *numbers = NULL;
    bool good = link->fd >= 0 && receive(link, &selection, sizeof(selection)) &&
                selection.number_count <= RP_SNAPSHOT_MAX_NUMBERS;

    if (good && selection.number_count > 0) {
        numbers = calloc(selection.number_count, sizeof(*numbers));
        good = numbers && receive(link, numbers, selection.number_count * sizeof(*numbers));
    }
    if (!good) {
        free(numbers);
        rp_snapshot_link_close(link);
        return false;
    }
    *ret = selection;
    *ret_numbers = numbers;
    return true;
}

bool rp_snapshot_ask(struct rp_snapshot_link *link, const char *symbol)
{
    uint32_t reply = 0;

    return rp_snapshot_send(link, RP_SNAPSHOT_KERNEL, symbol, strlen(symbol), NULL, 0) &&
           receive(link, &reply, sizeof(reply)) && reply == 1;
}
