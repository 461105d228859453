/**
 * @file capture_read.h
 * @brief Reader of capture folders (docs/format/capture.md).
 */
#ifndef RP_CAPTURE_CAPTURE_READ_H
#define RP_CAPTURE_CAPTURE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/region_map.h"
#include "capture/snapshot.h"

struct rp_err;
struct rp_capture;

/** A captured region. */
struct rp_capture_memory {
    struct rp_snapshot_region region;
    struct rp_region_map before;
    struct rp_region_map after; /**< no runs: nothing changed */
    uint64_t nonzero_pages, changed_pages;
};

/** What is not captured. */
struct rp_capture_refusal {
    struct rp_snapshot_region region;
    const char *reason;
};

/** Strings belong to the capture. */
struct rp_capture_facts {
    struct rp_snapshot_dispatch dispatch;
    const char *name, *symbol;
    const char *isa, *product; /**< "" = unknown */
    const char *acquire_scope, *release_scope;
    bool barrier;
    bool software;
    const char *timing; /**< of the software device, a word of --timing; "" = unknown */
    uint32_t pid;
    const char *version; /**< of rocm-perf that made it */
};

/**
 * Opens a folder, checks its texts and maps, and finds its pages. Their contents are not looked at:
 * that is for rp_capture_verify, and for those who read them.
 * @return 0; RP_BAD_INPUT naming the file that is missing or damaged; RP_ENVIRONMENT
 */
int rp_capture_open(const char *folder, struct rp_capture **ret, struct rp_err *err);
/** Accepts NULL. */
void rp_capture_close(struct rp_capture *capture);

const struct rp_capture_facts *rp_capture_get_facts(const struct rp_capture *capture);
const struct rp_capture_memory *rp_capture_get_memory(const struct rp_capture *capture,
                                                      size_t *ret_count);
const struct rp_capture_refusal *rp_capture_get_refusals(const struct rp_capture *capture,
                                                         size_t *ret_count);
uint64_t rp_capture_stored_pages(const struct rp_capture *capture);

/** One page of a region as it was in a state. */
int rp_capture_page(struct rp_capture *capture, const struct rp_capture_memory *memory,
                    enum rp_region_state state, uint64_t page, uint8_t ret[RP_PAGE_BYTES],
                    struct rp_err *err);

struct rp_capture_sizes {
    uint64_t files, bytes; /**< on the disk */
};

/** Reads every byte: checksums of the files, and all pages. @return 0 or RP_BAD_INPUT */
int rp_capture_verify(struct rp_capture *capture, struct rp_capture_sizes *ret, struct rp_err *err);

#endif
