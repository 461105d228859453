/**
 * @file record_file.c
 * @brief This file writes the record file.
 */
#include "tracer/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trace/records.h"

enum { RP_TRACE_WINDOW_BYTES = 1 << 20 };

enum {
    HEADER_MAP_BYTES = 4096,
    PREPARED_BYTES = 128 << 10, /**< some hundred microseconds of a program that only records */
    PAGE_BYTES = 4096,
    RETRY_EVERY_LOST = 4096, /**< a full disk costs one system call per this many lost records */
};

struct rp_trace_string {
    struct rp_trace_string *next;
    uint32_t id;
    uint32_t hash;
    char text[];
};

/* RLIMIT_FSIZE would raise SIGXFSZ in the traced program, so it is looked at first. */
static bool within_file_limit(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

/* File systems without fallocate get real zeros: what matters is that the blocks exist. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
    static const uint8_t zeros[4096];

    while (bytes > 0) {
        size_t part = bytes < sizeof(zeros) ? (size_t)bytes : sizeof(zeros);
        ssize_t n = pwrite(fd, zeros, part, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

static int reserve_blocks(struct rp_trace *trace, uint64_t upto_bytes)
{
    uint64_t grow = upto_bytes - trace->reserved_bytes;
    int status = 0;

    if (!within_file_limit(upto_bytes))
        return -EFBIG;
    do {
        status =
            fallocate(trace->fd, 0, (off_t)trace->reserved_bytes, (off_t)grow) < 0 ? -errno : 0;
    } while (status == -EINTR);
    if (status == -EOPNOTSUPP || status == -ENOSYS)
        status = write_zeros(trace->fd, trace->reserved_bytes, grow);
    if (status == 0)
        trace->reserved_bytes = upto_bytes;
    return status;
}

static int move_window(struct rp_trace *trace, uint64_t offset)
{
    uint64_t end = offset + RP_TRACE_WINDOW_BYTES;
    void *map;
    int status;

    if (end > trace->reserved_bytes) {
        status = reserve_blocks(trace, end);
        if (status < 0)
            return status;
    }
    map = mmap(NULL, RP_TRACE_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd,
               (off_t)offset);
    if (map == MAP_FAILED)
        return -errno;
    pthread_mutex_lock(&trace->window_lock);
    if (trace->window)
        munmap(trace->window, RP_TRACE_WINDOW_BYTES);
    trace->window = map;
    trace->window_offset_bytes = trace->prepared_bytes = offset;
    pthread_mutex_unlock(&trace->window_lock);
    return 0;
}

int rp_trace_open(struct rp_trace *trace, const char *path, const struct rp_trace_header *header)
{
    int status;
    void *map;

    memset(trace, 0, sizeof(*trace));
    pthread_mutex_init(&trace->window_lock, NULL);
    trace->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (trace->fd < 0)
        return -errno;
    status = move_window(trace, 0);
    if (status < 0)
        goto fail;
    map = mmap(NULL, HEADER_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd, 0);
    if (map == MAP_FAILED) {
        status = -errno;
        goto fail;
    }
    trace->header = map;
    *trace->header = *header;
    pthread_mutex_init(&trace->lock, NULL);
    trace->open = true;
    return 0;

fail:
    if (trace->window)
        munmap(trace->window, RP_TRACE_WINDOW_BYTES);
    close(trace->fd);
    unlink(path);
    trace->window = NULL;
    return status;
}

/* Place of the next record, or NULL when it cannot be had. A record never straddles a window:
 * header and records are 128 bytes each and the window is a multiple of that. */
static struct rp_record *next_slot(struct rp_trace *trace)
{
    uint64_t at = sizeof(struct rp_trace_header) + trace->record_count * sizeof(struct rp_record);
    uint64_t window = at & ~(uint64_t)(RP_TRACE_WINDOW_BYTES - 1);

    static_assert(sizeof(struct rp_trace_header) % sizeof(struct rp_record) == 0,
                  "records are aligned to their size");
    if (window != trace->window_offset_bytes) {
        if (trace->header->lost_records < trace->retry_at_lost)
            return NULL;
        if (move_window(trace, window) < 0) {
            trace->retry_at_lost = trace->header->lost_records + RETRY_EVERY_LOST;
            return NULL;
        }
    }
    return (struct rp_record *)(void *)(trace->window + (at - window));
}

static bool append_locked(struct rp_trace *trace, const struct rp_record *record)
{
    struct rp_record *slot = next_slot(trace);

    if (!slot) {
        __atomic_fetch_add(&trace->header->lost_records, 1, __ATOMIC_RELAXED);
        return false;
    }
    *slot = *record;
    trace->record_count++;
    __atomic_store_n(&trace->header->committed_records, trace->record_count, __ATOMIC_RELEASE);
    return true;
}

void rp_trace_append(struct rp_trace *trace, const struct rp_record *record)
{
    if (trace->discards)
        return;
    pthread_mutex_lock(&trace->lock);
    if (trace->open)
        append_locked(trace, record);
    pthread_mutex_unlock(&trace->lock);
}

void rp_trace_prepare(struct rp_trace *trace)
{
#ifdef MADV_POPULATE_WRITE
    uint64_t from, upto;

    pthread_mutex_lock(&trace->lock);
    upto = sizeof(struct rp_trace_header) + trace->record_count * sizeof(struct rp_record) +
           PREPARED_BYTES;
    pthread_mutex_unlock(&trace->lock);
    upto &= ~(uint64_t)(PAGE_BYTES - 1);
    pthread_mutex_lock(&trace->window_lock);
    if (upto > trace->window_offset_bytes + RP_TRACE_WINDOW_BYTES)
        upto = trace->window_offset_bytes + RP_TRACE_WINDOW_BYTES;
    from = trace->prepared_bytes;
    if (trace->window && from < upto) {
        /* Kernels before 5.14 do not know it, and a full disk was seen when blocks were reserved:
         * either way the pages come when they are written. */
        (void)madvise(trace->window + (from - trace->window_offset_bytes), upto - from,
                      MADV_POPULATE_WRITE);
        trace->prepared_bytes = upto;
    }
    pthread_mutex_unlock(&trace->window_lock);
#else
    (void)trace;
#endif
}

void rp_trace_note(struct rp_trace *trace, enum rp_trace_note what, uint64_t value)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->open) {
        struct rp_trace_header *header = trace->header;

        switch (what) {
        case RP_TRACE_LOST_RECORDS:
            __atomic_fetch_add(&header->lost_records, value, __ATOMIC_RELAXED);
            break;
        case RP_TRACE_LAUNCH_CALLS:
            __atomic_fetch_add(&header->launch_calls, value, __ATOMIC_RELAXED);
            break;
        case RP_TRACE_LOST_DISPATCHES:
            __atomic_store_n(&header->lost_dispatches, value, __ATOMIC_RELAXED);
            break;
        case RP_TRACE_FLAGS:
            __atomic_fetch_or(&header->flags, (uint32_t)value, __ATOMIC_RELEASE);
            break;
        case RP_TRACE_NO_FLAGS:
            __atomic_fetch_and(&header->flags, ~(uint32_t)value, __ATOMIC_RELEASE);
            break;
        case RP_TRACE_UNRECORDED:
            if (header->unrecorded < UINT32_MAX)
                header->unrecorded++;
            break;
        case RP_TRACE_FINI_NS:
            __atomic_store_n(&header->fini_ns, value, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(&trace->lock);
}

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

/* Writes the parts back to back until one does not fit; returns the bytes written. */
static size_t write_string(struct rp_trace *trace, uint32_t id, const char *text, size_t bytes)
{
    size_t done = 0;

    for (uint16_t part = 0; done < bytes; part++) {
        struct rp_record record = {.kind = RP_REC_STRING};
        struct rp_rec_string *string = &record.u.string;
        size_t left = bytes - done;

        string->id = id;
        string->part = part;
        string->bytes = (uint16_t)(left < sizeof(string->text) ? left : sizeof(string->text));
        string->total_bytes = (uint32_t)bytes;
        memcpy(string->text, text + done, string->bytes);
        if (!append_locked(trace, &record))
            break;
        done += string->bytes;
    }
    return done;
}

/* Without memory the string is merely stored again next time. */
static void remember_string(struct rp_trace *trace, const char *text, uint32_t hash, uint32_t id)
{
    struct rp_trace_string *entry = malloc(sizeof(*entry) + strlen(text) + 1);
    struct rp_trace_string **bucket = &trace->strings[hash % RP_TRACE_STRING_BUCKETS];

    if (!entry)
        return;
    entry->id = id;
    entry->hash = hash;
    strcpy(entry->text, text);
    entry->next = *bucket;
    *bucket = entry;
}

uint32_t rp_trace_string(struct rp_trace *trace, const char *text)
{
    const size_t longest = (size_t)UINT16_MAX * sizeof(((struct rp_rec_string *)0)->text);
    struct rp_trace_string *entry;
    uint32_t hash, id = 0;
    size_t bytes;

    if (!text || !*text)
        return 0;
    hash = hash_text(text);
    bytes = strnlen(text, longest);

    pthread_mutex_lock(&trace->lock);
    for (entry = trace->strings[hash % RP_TRACE_STRING_BUCKETS]; entry; entry = entry->next)
        if (entry->hash == hash && strcmp(entry->text, text) == 0)
            break;
    if (entry) {
        id = entry->id;
    } else if (trace->open) {
        size_t written = write_string(trace, trace->string_count + 1, text, bytes);

        if (written > 0)
            trace->string_count++; /* The number is used even if the end of the text did not fit. */
        if (written == bytes) {
            id = trace->string_count;
            remember_string(trace, text, hash, id);
        }
    }
    pthread_mutex_unlock(&trace->lock);
    return id;
}

static void free_strings(struct rp_trace *trace)
{
    for (size_t i = 0; i < RP_TRACE_STRING_BUCKETS; i++) {
        while (trace->strings[i]) {
            struct rp_trace_string *entry = trace->strings[i];

            trace->strings[i] = entry->next;
            free(entry);
        }
    }
}

void rp_trace_close(struct rp_trace *trace)
{
    uint64_t used;

    pthread_mutex_lock(&trace->lock);
    if (trace->open) {
        trace->open = false;
        used = sizeof(struct rp_trace_header) + trace->record_count * sizeof(struct rp_record);
        pthread_mutex_lock(&trace->window_lock);
        munmap(trace->window, RP_TRACE_WINDOW_BYTES);
        trace->window = NULL;
        pthread_mutex_unlock(&trace->window_lock);
        munmap(trace->header, HEADER_MAP_BYTES);
        /* This is only cosmetic, because a reader goes by committed_records. */
        while (ftruncate(trace->fd, (off_t)used) < 0 && errno == EINTR)
            ;
        close(trace->fd);
        free_strings(trace);
    }
    pthread_mutex_unlock(&trace->lock);
}
