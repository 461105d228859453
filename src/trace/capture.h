/**
 * @file capture.h
 * @brief Capture folders: their names, their reader and writer, and the stream in which a process
 * sends one. One section is one file, but for the stream, of which both ends know the messages.
 */
#ifndef RP_TRACE_CAPTURE_H
#define RP_TRACE_CAPTURE_H

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "trace/records.h"

struct rp_capture;
struct rp_capture_writer;
struct rp_err;
struct rp_page_store;
struct rp_snapshot_feed;

/* --- capture_pages.c: stored pages and their maps --------------------------------------------- */

/* The binary files of a capture folder are memory/pages.bin, and the maps of regions into it
 * (docs/formats.md). pages.bin is a sequence of frames, each a header and its pages, packed by
 * zstd. Every frame but the last has RP_FRAME_PAGES pages, so that the number of a page gives its
 * frame. A map says which stored page stands where in a region; pages of zeros have none. All
 * numbers are little endian.
 */

enum {
    RP_PAGE_BYTES = 4096,
    RP_FRAME_PAGES = 32,
    RP_FRAME_BYTES = RP_FRAME_PAGES * RP_PAGE_BYTES,
    RP_REGION_VERSION = 1,
};

enum rp_region_state {
    RP_STATE_BEFORE = 0, /**< what a map does not name is zero */
    RP_STATE_AFTER = 1,  /**< ... is as it was before */
};

#define RP_REGION_MAGIC "RPREGION"

struct rp_region_header {
    char magic[8];
    uint32_t version;
    uint32_t page_bytes;
    uint64_t base, bytes;
    uint64_t run_count; /**< they follow */
    uint32_t state;     /**< enum rp_region_state */
    uint32_t reserved;
    uint64_t hash; /**< XXH3, 64 bits, of the runs */
};
static_assert(sizeof(struct rp_region_header) == 56, "part of the file format");

/** Stands for no stored page: zeros. */
#define RP_STORED_ZERO UINT64_MAX

struct rp_page_run {
    uint64_t page;   /**< of the region, counted from its base */
    uint64_t pages;  /**< so many in a row, ... */
    uint64_t stored; /**< ... as this and the following of pages.bin; or all RP_STORED_ZERO */
};
static_assert(sizeof(struct rp_page_run) == 24, "part of the file format");

enum { RP_FRAMES_KEPT = 32 };

/** Zero-initialise with .fd and .name set; release with rp_frames_free, which closes neither. */
struct rp_frames {
    int fd;
    const char *name; /**< for messages */
    uint64_t *at;     /**< where each frame begins */
    size_t count;
    uint64_t pages; /**< in all frames */
    void *unpacker;
    uint8_t *packed;
    struct {
        uint64_t frame; /**< number + 1; 0: none */
        uint8_t *bytes;
    } kept[RP_FRAMES_KEPT];
};

/** Finds the frames of a file. @return 0 or RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_frames_scan(struct rp_frames *frames, struct rp_err *err);

/**
 * Reads one page, which stays valid until the next call.
 * @return 0; RP_BAD_INPUT: the file is damaged there
 */
int rp_frames_page(struct rp_frames *frames, uint64_t number, const uint8_t **ret,
                   struct rp_err *err);

void rp_frames_free(struct rp_frames *frames);

/* Writer of memory/pages.bin: gives each page a number, and the same one to equal pages.
 *
 * Equal pages are found by hash and then compared. The table of hashes has a fixed size and forgets
 * the older of two pages that want the same slot: memory is bounded, and what is forgotten costs
 * disk space, nothing else.
 */

/** @param path  must not exist */
int rp_page_store_open(const char *path, struct rp_page_store **ret, struct rp_err *err);

/** @param page  RP_PAGE_BYTES of it */
int rp_page_store_put(struct rp_page_store *store, const uint8_t *page, uint64_t *ret_number,
                      struct rp_err *err);

/** Tests whether a stored page (or RP_STORED_ZERO) has these contents. */
int rp_page_store_equals(struct rp_page_store *store, uint64_t number, const uint8_t *page,
                         bool *ret, struct rp_err *err);

/** Returns how many pages are stored. */
uint64_t rp_page_store_pages(const struct rp_page_store *store);

/** Writes what is left and brings it to the disk; pages can be compared still, not added. */
int rp_page_store_finish(struct rp_page_store *store, struct rp_err *err);

/** Frees a store; NULL is accepted. */
void rp_page_store_free(struct rp_page_store *store);

/** A map in memory, checked. */
struct rp_region_map {
    struct rp_region_header header;
    const struct rp_page_run *runs;
    void *mapped;
    size_t mapped_bytes;
};

/**
 * Maps a file and checks it.
 * @param stored_pages  that pages.bin has
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_region_map_open(const char *path, uint64_t stored_pages, struct rp_region_map *ret,
                       struct rp_err *err);
/** Closes a map; a zeroed one is accepted. */
void rp_region_map_close(struct rp_region_map *map);

/** Returns the run that has a page, or else the first run behind it. NULL: none */
const struct rp_page_run *rp_region_map_find(const struct rp_region_map *map, uint64_t page);

/**
 * Never waits for a writer (a pipe that stands there).
 * @return 0, RP_BAD_INPUT when it is missing or no regular file, RP_ENVIRONMENT when it cannot be
 *         read
 */
int rp_capture_open_file(const char *path, int *ret_fd, struct rp_err *err);

/**
 * Reads the JSON text of a file, repeated keys refused.
 * @param why  what is wrong with the text
 * @param ret  NULL: it is none
 * @return as rp_capture_open_file
 */
int rp_capture_load_json(const char *path, json_error_t *why, json_t **ret, struct rp_err *err);

static inline bool rp_page_is_zero(const uint8_t *page)
{
    uint64_t word;

    memcpy(&word, page, sizeof word);
    return word == 0 && memcmp(page, page + sizeof word, RP_PAGE_BYTES - sizeof word) == 0;
}

static inline uint64_t rp_pages_of(uint64_t bytes)
{
    return bytes / RP_PAGE_BYTES + (bytes % RP_PAGE_BYTES != 0);
}

/* --- the stream of a capture ------------------------------------------------------------------ */

/* What the tool, in the program, tells rocm-perf, which writes the capture folder.
 *
 * A stream socket: the tool does no compression and keeps no file, and what it has sent survives
 * the program. Each message is a header and its bytes; little endian, both ends on one machine.
 * In order of time:
 *
 *     HELLO, KERNEL*
 *     BEGIN, CODE, KERNARG                           a dispatch that is wanted
 *     (REGION, PAGES* | REFUSED | UNMAPPED)*         before it
 *     WAITS                                          it takes long
 *     AFTER, (REGION, PAGES*)*                       and after it
 *     END                                            or DECLINED at any time after HELLO
 *
 * HELLO is answered by struct rp_snapshot_selection and its numbers, each KERNEL by a uint32_t:
 * 1 = its dispatches are wanted. PASSED may come at any time outside of a capture.
 * From BEGIN on it starts again where several dispatches are wanted.
 *
 * Pages that are not sent are zero.
 */

#define RP_SNAPSHOT_SOCKET_VARIABLE   "ROCM_PERF_CAPTURE_SOCKET"
#define RP_SNAPSHOT_PATIENCE_VARIABLE "ROCM_PERF_CAPTURE_PATIENCE_MS"

enum { RP_SNAPSHOT_VERSION = 3, RP_SNAPSHOT_MAX_PAGES = 256, RP_SNAPSHOT_MAX_TEXT = 1 << 20 };

/** This says which dispatches of the kernels are wanted. */
enum rp_snapshot_mode {
    RP_SNAPSHOT_NUMBERS = 0,    /**< those with one of the numbers, among all that match */
    RP_SNAPSHOT_GEOMETRIES = 1, /**< the first one of each geometry, up to .most */
    RP_SNAPSHOT_SCAN =
        2, /**< none: the trace says which dispatches match, and how long they take */
};

/** This says which members of struct rp_snapshot_selection a dispatch must have. */
enum rp_snapshot_filter {
    RP_SNAPSHOT_GRID = 1,
    RP_SNAPSHOT_WORKGROUP = 2,
    RP_SNAPSHOT_QUEUE = 4,
    RP_SNAPSHOT_STREAM = 8,
    RP_SNAPSHOT_GPU = 16,
};

enum { RP_SNAPSHOT_MAX_NUMBERS = 4096 };

/**
 * This is the answer to HELLO; .number_count numbers (uint64_t) follow, each larger than that
 * before it.
 */
struct rp_snapshot_selection {
    uint32_t mode;    /**< enum rp_snapshot_mode */
    uint32_t filters; /**< enum rp_snapshot_filter */
    uint32_t grid[3]; /**< work-items */
    uint32_t workgroup[3];
    uint32_t queue;  /**< 0, 1, ... in order of creation in the process */
    uint32_t stream; /**< 0 the default one, 1, 2, ... in order of creation */
    uint32_t gpu;    /**< 0, 1, ... as the runtime lists them */
    uint32_t most;   /**< captures */
    uint32_t number_count;
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_selection) == 56, "both ends agree");

enum rp_snapshot_kind {
    RP_SNAPSHOT_HELLO = 1,
    RP_SNAPSHOT_KERNEL,  /**< a symbol */
    RP_SNAPSHOT_BEGIN,   /**< struct rp_snapshot_dispatch, and the symbol */
    RP_SNAPSHOT_CODE,    /**< the ELF file of the kernel */
    RP_SNAPSHOT_KERNARG, /**< the bytes of its arguments */
    RP_SNAPSHOT_REGION,  /**< struct rp_snapshot_region */
    RP_SNAPSHOT_PAGES,   /**< a page number, and pages from there on; of the region before it */
    RP_SNAPSHOT_REFUSED, /**< struct rp_snapshot_region, and why it is not captured */
    RP_SNAPSHOT_AFTER,
    RP_SNAPSHOT_END,
    RP_SNAPSHOT_DECLINED, /**< why */
    RP_SNAPSHOT_UNMAPPED, /**< struct rp_snapshot_region that the program announced and then
                             unmapped: no kernel can reach it */
    RP_SNAPSHOT_FILTERED, /**< struct rp_snapshot_filtered: a dispatch that filters leave out; any
                           * time
                           */
    RP_SNAPSHOT_WAITS,    /**< struct rp_snapshot_waits: the dispatch has been running for long */
};

struct rp_snapshot_message {
    uint32_t kind;
    uint32_t code;  /**< of a symbol: first half of the hash of its code, 0: unknown */
    uint64_t bytes; /**< they follow */
};
static_assert(sizeof(struct rp_snapshot_message) == 16, "both ends agree");

struct rp_snapshot_hello {
    uint32_t version;
    uint32_t pid;
    uint32_t software; /**< the software device answers */
    uint32_t timing;   /**< of that: enum rp_trace_timing */
};
static_assert(sizeof(struct rp_snapshot_hello) == 16, "both ends agree");

struct rp_snapshot_dispatch {
    uint64_t dispatch_id; /**< among all of the process: 1, 2, ... */
    uint64_t match;       /**< among those that match */
    uint64_t kernel_object;
    uint64_t kernarg;
    uint64_t code_base, code_bytes;
    uint32_t grid[3];
    uint32_t private_bytes, group_bytes;
    uint32_t kernarg_bytes, kernarg_align_bytes;
    uint32_t queue_index;
    uint32_t node;
    uint16_t workgroup[3];
    uint16_t header, setup;
    uint16_t reserved;
    uint32_t stream; /**< of HIP, as of a selection; UINT32_MAX: unknown */
    uint32_t gpu;    /**< as of a selection */
    uint8_t isa[64];
    uint8_t product[64];
};
static_assert(sizeof(struct rp_snapshot_dispatch) == 232, "both ends agree");

/**
 * This says what such a dispatch has. Each is sent once, and only the first
 * RP_SNAPSHOT_MAX_FILTERED of a process are sent.
 */
struct rp_snapshot_filtered {
    uint32_t grid[3], workgroup[3];
    uint32_t queue, stream, gpu; /**< as of a selection; UINT32_MAX: unknown */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_filtered) == 40, "both ends agree");
enum { RP_SNAPSHOT_MAX_FILTERED = 16 };

/** This says how long the captured dispatch has been running, and when it is declined. */
struct rp_snapshot_waits {
    uint32_t running_ms, patience_ms;
    uint32_t waiting_patience_ms; /**< once it does nothing but wait; 0: that cannot be known */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_waits) == 16, "both ends agree");

enum rp_memory_class {
#define RP_MEMORY(id, name, what) RP_MEMORY_##id,
#include "trace/memory_classes.def"
#undef RP_MEMORY
    RP_MEMORY_CLASSES,
};

enum rp_memory_flag {
    RP_MEMORY_HOST = 1,    /**< it lies in host memory */
    RP_MEMORY_FINE = 2,    /**< fine-grained */
    RP_MEMORY_COARSE = 4,  /**< coarse-grained */
    RP_MEMORY_KERNARG = 8, /**< of a pool for kernel arguments */
    RP_MEMORY_EXECUTABLE = 16,
};

struct rp_snapshot_region {
    uint64_t base, bytes;
    uint32_t memory_class; /**< enum rp_memory_class */
    uint32_t flags;        /**< enum rp_memory_flag */
    uint32_t node;         /**< of the agent that it belongs to; UINT32_MAX: unknown */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_region) == 32, "both ends agree");

/** Returns "pool" etc., or NULL for an unknown class. */
static inline const char *rp_memory_class_name(uint32_t memory_class)
{
    static const char *const names[] = {
#define RP_MEMORY(id, name, what) name,
#include "trace/memory_classes.def"
#undef RP_MEMORY
    };

    return memory_class < RP_MEMORY_CLASSES ? names[memory_class] : 0;
}

/**
 * Returns "counts" etc. for enum rp_trace_timing, which are also the words of --timing. NULL: none
 */
static inline const char *rp_snapshot_timing_word(uint32_t timing)
{
    static const char *const words[] = {[RP_TRACE_TIMING_COUNTS] = "counts",
                                        [RP_TRACE_TIMING_DETAILED] = "detailed",
                                        [RP_TRACE_TIMING_OFF] = "off",
                                        [RP_TRACE_TIMING_WARM] = "warm"};

    return timing < sizeof words / sizeof *words ? words[timing] : 0;
}

/* --- capture_files.c: the folder's texts and checksums ---------------------------------------- */

/* The writer of a capture folder shares this with the files that make it. */

struct rp_capture_writer {
    char *folder;
    char *partial; /**< NULL: it has got its name */
    struct rp_snapshot_hello hello;
    struct rp_snapshot_dispatch dispatch;
    char *symbol, *name;
    struct rp_page_store *store;

    struct rp_captured_region *regions;
    size_t count;
    struct rp_snapshot_region *unmapped;
    size_t unmapped_count;
    bool after;                   /**< the state after the dispatch comes */
    size_t at;                    /**< the region that comes */
    size_t next_after;            /**< likewise, after the dispatch */
    struct rp_region_writer *map; /**< its map; NULL: none has begun */
    struct rp_region_map before;  /**< after the dispatch: its map before */
    uint64_t next_page;
};

#define RP_CAPTURE_DISPATCH_FILE "dispatch.json"
#define RP_CAPTURE_REGIONS_FILE  "memory_regions.json"
#define RP_CAPTURE_COVERAGE_FILE "coverage.json"
/* This file is written last, so that a folder without it is not complete. */
#define RP_CAPTURE_CHECKSUMS_FILE "checksums.json"
/* The self check is added to a complete capture. */
#define RP_CAPTURE_SELF_CHECK_FILE "self_check.json"
#define RP_CAPTURE_KERNARG_FILE    "kernarg.bin"
#define RP_CAPTURE_CODE_FILE       "kernel.hsaco"
#define RP_CAPTURE_PAGES_FILE      "memory/pages.bin"
/* Such files are in memory/ and after/. */
#define RP_CAPTURE_REGION_FILE "region_%012" PRIx64 ".bin"
/* A folder of several captures has one of these for each. */
#define RP_CAPTURE_SEVERAL_FOLDER "dispatch-%" PRIu64
#define RP_CAPTURE_PARTIAL        ".partial-" /* A process number follows. */

#define RP_CAPTURE_FORMAT "rocm-perf-capture"
enum { RP_CAPTURE_FORMAT_VERSION = 1 };

struct rp_captured_region {
    struct rp_snapshot_region region;
    char *reason; /**< not NULL: it is not captured, because */
    bool has_after;
    uint64_t nonzero_pages;
    uint64_t changed_pages;
};

/** dispatch.json says this besides what the tool reported. */
struct rp_capture_origin {
    const char *const *command; /**< NULL-terminated */
    const char *version;        /**< of rocm-perf */
    const char *rocm;           /**< NULL: unknown */
};

/** Writes dispatch.json, memory_regions.json and coverage.json. */
int rp_capture_write_json(const struct rp_capture_writer *w, const struct rp_capture_origin *origin,
                          struct rp_err *err);

/* checksums.json holds size and XXH3 (128 bits) of each file of a capture folder. It is written
 * last, so that a folder without it is not complete.
 */

/** Writes checksums of all files in the folder. */
int rp_capture_write_checksums(const char *folder, struct rp_err *err);

/**
 * Adds the checksum of one more file with the extension .json, or of one that was rewritten. The
 * list must exist, and its other entries stay.
 */
int rp_capture_add_checksum(const char *folder, const char *name, struct rp_err *err);

/** @return 0; RP_BAD_INPUT naming the first file that is missing or another */
int rp_capture_check_checksums(const char *folder, uint64_t *ret_files, uint64_t *ret_bytes,
                               struct rp_err *err);

/**
 * Checks the files at the top of the folder except pages.bin, whose pages have checksums of their
 * own. A replay would otherwise take these files as they are. It costs milliseconds, whatever the
 * capture's size.
 */
int rp_capture_check_small_files(const char *folder, struct rp_err *err);

/* --- capture_read.c --------------------------------------------------------------------------- */

/** This is a captured region. */
struct rp_capture_memory {
    struct rp_snapshot_region region;
    struct rp_region_map before;
    struct rp_region_map after; /**< no runs: nothing changed */
    uint64_t nonzero_pages, changed_pages;
};

/** This was not captured. */
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
/** Closes a capture; NULL is accepted. */
void rp_capture_close(struct rp_capture *capture);

/** This is known of an open capture. */
struct rp_capture_contents {
    struct rp_capture_facts facts;
    struct rp_capture_memory *memory;
    size_t memory_count;
    struct rp_capture_refusal *refusals;
    size_t refusal_count;
    uint64_t stored_pages;
};

const struct rp_capture_contents *rp_capture_contents(const struct rp_capture *capture);

/** Reads one page of a region as it was in a state. */
int rp_capture_page(struct rp_capture *capture, const struct rp_capture_memory *memory,
                    enum rp_region_state state, uint64_t page, uint8_t ret[RP_PAGE_BYTES],
                    struct rp_err *err);

struct rp_capture_sizes {
    uint64_t files, bytes; /**< on the disk */
};

/** Reads every byte: checksums of the files, and all pages. @return 0 or RP_BAD_INPUT */
int rp_capture_verify(struct rp_capture *capture, struct rp_capture_sizes *ret, struct rp_err *err);

/* --- capture_write.c -------------------------------------------------------------------------- */

/* The receiving end: messages of one process into a capture folder.
 *
 * The process may be killed, or be of another version: whatever comes is checked, and ends in a
 * whole capture or in none.
 */

struct rp_snapshot_request {
    const char *folder; /**< of the capture, made when a dispatch comes */
    bool several;       /**< it gets a folder for each one: RP_CAPTURE_SEVERAL_FOLDER */
    struct rp_capture_origin origin;
    /**
     * Returns the name of a symbol as people write it, which the caller owns, or NULL when memory
     * ends.
     */
    char *(*name)(const char *symbol, void *data);
    /** Tells whether dispatches of a kernel are wanted. @param code  as in the message */
    bool (*wants)(const char *symbol, const char *name, uint32_t code, void *data);
    /**
     * Is called when the dispatch with this number among those that match takes long. NULL: nobody
     * wants to know
     */
    void (*waits)(uint64_t match, const struct rp_snapshot_waits *waits);
    void *data;
};

/** @param wishes  must outlive the feed */
int rp_snapshot_feed_open(const struct rp_snapshot_request *wishes, struct rp_snapshot_feed **ret,
                          struct rp_err *err);

/**
 * Returns how many bytes a message with this header may have, so that a larger one is refused
 * before it is read.
 */
size_t rp_snapshot_max_bytes(uint32_t kind);

/**
 * Takes a message with its bytes, which are aligned to 8.
 * @param ret_reply  for KERNEL: the answer
 * @return 0; RP_BAD_INPUT (not understood), RP_ENVIRONMENT (cannot be written): then it is over
 */
int rp_snapshot_feed_take(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *message,
                          const void *bytes, uint32_t *ret_reply, struct rp_err *err);

/** This has come of it so far. */
struct rp_snapshot_state {
    struct rp_capture_writer *writer; /**< not NULL: a capture has begun and is not whole */
    size_t done;                      /**< whole captures */
    uint64_t match;      /**< number of the newest one among the dispatches that match */
    char *declined;      /**< why the tool declined first; NULL: it did not */
    size_t declines;     /**< how often it did */
    size_t seen, wanted; /**< kernels, and those of them that are wanted */
    struct rp_snapshot_filtered passed[RP_SNAPSHOT_MAX_FILTERED]; /**< left out, one of each kind */
    size_t passed_count;
};

const struct rp_snapshot_state *rp_snapshot_feed_state(const struct rp_snapshot_feed *feed);

/** Closes the feed and removes a capture that is not complete. NULL is accepted. */
void rp_snapshot_feed_close(struct rp_snapshot_feed *feed);

#endif
