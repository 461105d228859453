/**
 * @file compiler_cache.h
 * @brief Runs the compiler of the private ROCm, or repeats what the same command gave before.
 *
 * What is the same is decided by the compiler's own preprocessed text, for the host and for each
 * GPU, and by all that is beside it: the compiler and its libraries, the words of the command, the
 * folder, the environment that a compiler reads, the contents of every file that was included or is
 * linked. Then the file that is written, its permission to be executed, and both outputs are those
 * of before, to the byte. Only what ended with success is kept. A command with an option that is
 * not in compiler_options.def, one that reads standard input, and one whose sources name files that
 * preprocessing does not show (.incbin) is run as if there were no cache.
 *
 * It is in the folder compiler of the user's cache ($ROCM_PERF_CACHE), of at most so many MiB as
 * ROCM_PERF_COMPILER_CACHE says (1024; off: none). Anybody may remove it at any time.
 */
#ifndef RP_COLLECT_COMPILER_CACHE_H
#define RP_COLLECT_COMPILER_CACHE_H

#include <stdbool.h>

struct rp_environment;
struct rp_err;
struct rp_proc;
struct rp_proc_end;

/**
 * Whether results of such a command are kept at all.
 * @param argv  of the compiler, as rp_hipcc_args makes it
 */
bool rp_compiler_cache_takes(const struct rp_environment *env, char *const *argv);

/**
 * As rp_proc_run, for a compiler. Its outputs appear when it has ended, unless they go to a file.
 * @param again  to see whether it gives the same once more: it is asked, unless it once was with
 * this very command, and gave the same then
 * @return as rp_proc_run
 */
int rp_compiler_run(const struct rp_environment *env, const struct rp_proc *proc, bool again,
                    struct rp_proc_end *ret, struct rp_err *err);

#endif
