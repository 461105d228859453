/**
 * @file check_file.h
 * @brief Reads what the checks of the software device found (device/check), a file for each
 * process.
 */
#ifndef RP_TRACE_CHECK_FILE_H
#define RP_TRACE_CHECK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_buf;
struct rp_err;
struct rp_json_writer;

/** One of the accesses of a finding. */
struct rp_check_side {
    int64_t object;    /**< index of its code object; below 0: unknown */
    uint64_t address;  /**< in that */
    char *instruction; /**< as LLVM writes it */
    char *access;      /**< "read", "write" or "atomic" */
    char *source;      /**< "file:line", filled by who knows; NULL: unknown */
    int64_t workgroup[3];
    int64_t wave, lane; /**< of the workgroup, of the wave */
};

struct rp_check_finding {
    char *kind;   /**< "race" and others (docs/check.md) */
    char *memory; /**< "lds", "scratch" or "global" */
    char *why;    /**< what is missing */
    uint64_t address, bytes, count;
    uint64_t buffer_address, buffer_bytes; /**< that it is in, or near; 0 bytes: unknown */
    int64_t dispatch; /**< which one of its process was the first with it; 0: of a replay */
    int64_t kernel_object;
    uint64_t kernel_address; /**< of the descriptor */
    char *kernel;            /**< name, filled by who knows; NULL: unknown */
    bool note;               /**< no error */
    bool has_second;
    struct rp_check_side first, second;
};

/** Writes what it is: "race in LDS". */
void rp_check_finding_title(const struct rp_check_finding *f, struct rp_buf *to);
/** Writes it as lines of text, the first without a number. */
void rp_check_finding_print(const struct rp_check_finding *f, struct rp_buf *to);
/** Writes it as an item of an array. */
void rp_check_finding_json(struct rp_json_writer *json, const struct rp_check_finding *f);
/** Releases what it points to. */
void rp_check_finding_free(struct rp_check_finding *f);

/** What all processes of a program found. */
struct rp_check_results {
    struct rp_check_finding *at; /**< errors first, otherwise in the order they were found in */
    size_t count, notes;
    char **objects; /**< paths of copies of code objects; "" where there is none */
    size_t object_count;
    uint64_t processes;    /**< that used the software device */
    uint64_t not_compared; /**< dispatches, workgroups and accesses that there was no room for */
    uint64_t left_out;     /**< how often there was no room for one: it may be the same one */
};

/**
 * Reads all files of a folder.
 * @param ret free it with rp_check_results_free, also on failure
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_check_results_read(const char *folder, struct rp_check_results *ret, struct rp_err *err);
/** Takes out findings. */
void rp_check_results_drop(struct rp_check_results *results,
                           bool (*which)(const struct rp_check_finding *finding));
/** Makes one of findings of the same kind and reason whose instructions are of the same lines. */
void rp_check_results_merge(struct rp_check_results *results);
/** Accepts zeros. */
void rp_check_results_free(struct rp_check_results *results);

#endif
