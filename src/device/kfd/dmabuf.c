#include "dmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backing.h"

#define RECORD_MAGIC 0x31667562616d6472ull

int rp_dmabuf_describe(int write_end, int file_fd, struct rp_dmabuf_record *record)
{
    struct stat st;
    if (rp_backing_stat(file_fd, &st) < 0)
        return -errno;
    record->magic = RECORD_MAGIC;
    record->pid = getpid();
    record->fd = file_fd;
    record->dev = st.st_dev;
    record->ino = st.st_ino;
    ssize_t n = write(write_end, record, sizeof *record); /* below PIPE_BUF: whole or not at all */
    return n == (ssize_t)sizeof *record ? 0 : n < 0 ? -errno : -EIO;
}

/** Copies the record and leaves it in the pipe. */
static int peek(int fd, struct rp_dmabuf_record *ret_record)
{
    char path[64];
    struct stat st;
    int copy[2];
    if (rp_backing_stat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return -EINVAL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int read_end = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (read_end < 0)
        return -errno;
    int rc = pipe2(copy, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
    if (rc == 0) {
        ssize_t n = tee(read_end, copy[1], sizeof *ret_record, SPLICE_F_NONBLOCK);
        if (n != (ssize_t)sizeof *ret_record ||
            read(copy[0], ret_record, sizeof *ret_record) != (ssize_t)sizeof *ret_record)
            rc = -EINVAL;
        close(copy[0]);
        close(copy[1]);
    }
    close(read_end);
    return rc;
}

/** Whether the file is the one the record speaks of, and has the bytes. */
static bool plausible(const struct rp_dmabuf_record *record, int file_fd)
{
    struct stat st;
    return rp_backing_stat(file_fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == record->dev &&
           st.st_ino == record->ino && record->bytes > 0 && record->offset % RP_BACKING_PAGE == 0 &&
           record->offset <= (uint64_t)st.st_size &&
           record->bytes <= (uint64_t)st.st_size - record->offset;
}

int rp_dmabuf_resolve(int fd, struct rp_dmabuf_record *ret_record, int *ret_file_fd)
{
    struct rp_dmabuf_record record;
    char path[64];
    int rc = peek(fd, &record);
    if (rc < 0)
        return rc;
    if (record.magic != RECORD_MAGIC)
        return -EINVAL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", record.pid, record.fd);
    int file_fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_fd < 0)
        return -errno;
    if (!plausible(&record, file_fd)) {
        close(file_fd);
        return -EINVAL;
    }
    *ret_record = record;
    *ret_file_fd = file_fd;
    return 0;
}
