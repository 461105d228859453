/**
 * @file workload.h
 * @brief What commands have in common that run kernels of this suite's own (doctor --selftest,
 *        bench): rocm-perf-selftest launches them, and commands of this suite run it, as a user's
 *        program.
 */
#ifndef RP_CLI_WORKLOAD_H
#define RP_CLI_WORKLOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "run/machine.h"
#include "run/run_program.h"

struct rp_err;
struct rp_row_dispatch;
struct rp_row_kernel;
struct rp_store;

/** Set env and options; rp_workload_open does the rest. Release it with rp_workload_close. */
struct rp_workload {
    const struct rp_environment *env;
    struct rp_run_options options; /**< resolved */
    bool software;
    struct rp_arch arch; /**< of the GPU, as far as it is known */
    char isa[32];        /**< "gfx942" */
    struct rp_device_identity on;
    char *folder;        /**< for everything that is made */
    char *suite;         /**< this program */
    char *program;       /**< rocm-perf-selftest, which launches kernels */
    char *libraries;     /**< folder of the ROCm in use */
    char *code;          /**< code object with the kernels */
    int64_t deadline_ns; /**< when what is run must have ended */
};

/** Resolves the device, makes the folder, and finds the GPU and the programs.
 * @return 0; RP_USAGE; RP_ENVIRONMENT */
int rp_workload_open(struct rp_workload *work, struct rp_err *err);
void rp_workload_close(struct rp_workload *work);

extern const char rp_selftest_kernels[], rp_bench_kernels[]; /**< sources of kernels */

/**
 * Compiles kernels for the GPU, by hipRTC or else by the compiler.
 * @param name of the source in the folder
 * @param ret_compiler by which
 * @return 0; RP_ENVIRONMENT: there is neither; RP_PROGRAM
 */
int rp_workload_compile(struct rp_workload *work, const char *source, const char *name,
                        const char **ret_compiler, struct rp_err *err);

enum { RP_WORKLOAD_MOST_WORDS = 64 };

/** The words of a command, which the struct owns. */
struct rp_workload_words {
    char *at[RP_WORKLOAD_MOST_WORDS];
    size_t count;
};

void rp_workload_words_free(struct rp_workload_words *words);
void rp_workload_word(struct rp_workload_words *words, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Adds this program and one of its commands. */
void rp_workload_suite(const struct rp_workload *work, const char *command,
                       struct rp_workload_words *words);
void rp_workload_add_device(const struct rp_workload *work, struct rp_workload_words *words);
/** Adds the GPU's own model, on the machine of the GPU. */
void rp_workload_add_model(const struct rp_workload *work, struct rp_workload_words *words);
/** Adds the private ROCm's own loader, because that ROCm is newer than the machine's libc. */
void rp_workload_add_loader(const struct rp_workload *work, struct rp_workload_words *words);
/** Adds the program in a mode; what it finds is in RESULT.txt. Numbers follow. */
void rp_workload_add(const struct rp_workload *work, const char *mode, const char *result,
                     struct rp_workload_words *words);

/**
 * Runs a command in the folder, until the time has passed.
 * @param name for messages, and of the files with what it said
 * @param ret_out what it printed; NULL: not wanted
 */
int rp_workload_run(struct rp_workload *work, const char *name, struct rp_workload_words *words,
                    char **ret_out, struct rp_err *err);
/** Runs a command that prints JSON. */
int rp_workload_run_json(struct rp_workload *work, const char *name,
                         struct rp_workload_words *words, json_t **ret, struct rp_err *err);
/** Reads a file of the folder. */
int rp_workload_read_json(const struct rp_workload *work, const char *path, json_t **ret,
                          struct rp_err *err);

struct rp_workload_trace {
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    size_t dispatch_count, kernel_count;
};

/** Reads what a database has of launches; the store owns it. */
int rp_workload_read_trace(struct rp_store *store, struct rp_workload_trace *ret,
                           struct rp_err *err);
/** Says whether the name of the kernel begins so. */
bool rp_workload_is_named(const struct rp_workload_trace *trace,
                          const struct rp_row_dispatch *dispatch, const char *name);

/** Returns a result as text that ends with a line's end, and releases it. NULL: no memory */
char *rp_workload_document_text(json_t *document);

#endif
