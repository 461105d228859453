/**
 * @file hip_compiler.h
 * @brief The command line of the HIP compiler of the ROCm in use.
 */
#ifndef RP_RUN_HIP_COMPILER_H
#define RP_RUN_HIP_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"

struct rp_environment;
struct rp_err;
struct rp_proc;
struct rp_proc_end;

/**
 * Makes the command line.
 * @param user the user's arguments, NULL-terminated
 * @param ret program and arguments, NULL-terminated; free with rp_hipcc_args_free
 * @return 0, or RP_ENVIRONMENT when there is no compiler
 */
int rp_hipcc_args(const struct rp_environment *env, char *const *user, char ***ret,
                  struct rp_err *err);
void rp_hipcc_args_free(char ***args);

/* Runs the compiler of the private ROCm, or repeats the result of an earlier equal command.
 * Commands are equal by the compiler's own preprocessed text, for the host and for each GPU, and by
 * everything else that counts: the compiler and its libraries, the words of the command, the
 * folder, the environment that a compiler reads, the contents of every file that was included or is
 * linked. Then the written file, its permission to be executed, and both outputs are those of
 * before, to the byte. Only a successful result is kept. A command is run as if there were no cache
 * if it has an option that is not in hip_compiler_options.def, reads standard input, or has sources
 * that name files which preprocessing does not show (.incbin). The cache is in the folder compiler
 * of the user's cache ($ROCM_PERF_CACHE). ROCM_PERF_COMPILER_CACHE is its limit in MiB (1024; off:
 * none). Anybody may remove it at any time. */

/**
 * Says whether results of such a command are kept at all.
 * @param argv of the compiler, as rp_hipcc_args makes it
 */
bool rp_compiler_cache_applies(const struct rp_environment *env, char *const *argv);

/**
 * Runs a compiler as rp_proc_run does. Its outputs appear when it has ended, unless they go to a
 * file.
 * @param again to see whether it gives the same result once more: it is run, unless this very
 * command was run twice before with the same result
 * @return as rp_proc_run
 */
int rp_compiler_run(const struct rp_environment *env, const struct rp_proc *proc, bool again,
                    struct rp_proc_end *ret, struct rp_err *err);

/* The key under which a result of the compiler is kept (hip_compiler_key.c). */

enum { RP_COMPILER_KEY_TEXT = 33 };

/** This is a command, as far as it matters here. Its words are the caller's. Release it with
 * rp_compiler_command_free. */
struct rp_compiler_command {
    char *const *argv;
    const char *output;    /**< NULL: it only prints */
    const char *directory; /**< of -working-directory=; NULL: that in which it runs */
    const char *overlay;   /**< of -ivfsoverlay */
    const char **links;    /**< objects, archives and libraries, as they are named: words of argv */
    const char **places;   /**< of -L */
    const char **archs;    /**< "gfx942" */
    size_t link_count, place_count, arch_count, source_count;
    bool host, device; /**< which sides are compiled */
    bool portable;     /**< what it gives depends neither on the folder nor on the output's name */
};

/** This is a file that was read for the key. */
struct rp_compiler_file {
    char *path;
    struct stat st;
};

/** Release it with rp_compiler_key_free. */
struct rp_compiler_key {
    char text[RP_COMPILER_KEY_TEXT];
    struct {
        RP_VEC(struct rp_compiler_file);
    } files; /**< but for those of the compiler itself */
};

/** @return whether its result may be kept; then ret must be released */
bool rp_compiler_command_read(const struct rp_environment *env, char *const *argv,
                              struct rp_compiler_command *ret);
static inline void rp_compiler_command_free(struct rp_compiler_command *command)
{
    free(command->links);
    free(command->places);
    free(command->archs);
    *command = (struct rp_compiler_command){0};
}

/**
 * Preprocesses, and reads what is included and linked.
 * @param proc how the compiler is run: directory, environment, limits
 * @return 1 with *ret; 0: there is no key; RP_INTERRUPTED
 */
int rp_compiler_key(const struct rp_environment *env, const struct rp_proc *proc,
                    const struct rp_compiler_command *command, struct rp_compiler_key *ret,
                    struct rp_err *err);
static inline void rp_compiler_key_free(struct rp_compiler_key *key)
{
    for (size_t i = 0; i < key->files.count; i++)
        free(key->files.items[i].path);
    rp_vec_free(&key->files);
    *key = (struct rp_compiler_key){0};
}

/** Says whether the files are still as they were read. */
bool rp_compiler_key_is_current(const struct rp_compiler_key *key);

#endif
