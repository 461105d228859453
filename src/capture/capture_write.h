/**
 * @file capture_write.h
 * @brief Writes a capture folder (docs/format/capture.md) as its contents come, in bounded memory.
 *
 * It grows in "<folder>.partial-<pid>" and gets its name when it is whole and on the disk.
 */
#ifndef RP_CAPTURE_CAPTURE_WRITE_H
#define RP_CAPTURE_CAPTURE_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "capture/snapshot.h"

struct rp_err;
struct rp_capture_writer;

/** What dispatch.json says besides what the tool told. */
struct rp_capture_origin {
    const char *const *command; /**< NULL-terminated */
    const char *version;        /**< of rocm-perf */
    const char *rocm;           /**< NULL: unknown */
};

/** @return 0; RP_ENVIRONMENT; RP_USAGE: there is something of that name already */
int rp_capture_begin(const char *folder, struct rp_capture_writer **ret, struct rp_err *err);

void rp_capture_hello(struct rp_capture_writer *w, const struct rp_snapshot_hello *hello);
/** @param name  of the kernel, for people */
int rp_capture_dispatch(struct rp_capture_writer *w, const struct rp_snapshot_dispatch *dispatch,
                        const char *symbol, const char *name, struct rp_err *err);
/** kernarg.bin, kernel.hsaco */
int rp_capture_blob(struct rp_capture_writer *w, const char *name, const void *bytes, size_t size,
                    struct rp_err *err);

/** Begins a region; after rp_capture_after: goes on with one of those before. */
int rp_capture_region(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                      struct rp_err *err);
/** Of the region begun last; pages in rising order, those left out are zero. */
int rp_capture_pages(struct rp_capture_writer *w, uint64_t first_page, const void *pages,
                     size_t count, struct rp_err *err);
/** A region that is not captured, and why. */
int rp_capture_refuse(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                      const char *reason, struct rp_err *err);
/** A region that the program announced to the runtime and has unmapped since. */
int rp_capture_unmapped(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                        struct rp_err *err);
/** From here on the state after the dispatch comes. */
int rp_capture_after(struct rp_capture_writer *w, struct rp_err *err);

/** Completes the folder and gives it its name. */
int rp_capture_finish(struct rp_capture_writer *w, const struct rp_capture_origin *origin,
                      struct rp_err *err);

/** Accepts NULL. Removes what was not finished. */
void rp_capture_free(struct rp_capture_writer *w);

#endif
