/**
 * @file check_run.h
 * @brief Runs a program on the software device while that checks what kernels do to memory.
 */
#ifndef RP_RUN_CHECK_RUN_H
#define RP_RUN_CHECK_RUN_H

struct rp_check_results;
struct rp_environment;
struct rp_err;
struct rp_proc_end;
struct rp_run_options;

/** Tests a list of what is to be checked, "races,bounds", each once.
 * @return 0; RP_USAGE */
int rp_check_words(const char *option, const char *text, struct rp_err *err);

/**
 * Runs it to its end and reads what was found, with source lines and names of kernels where they
 * are known.
 * @param options resolved, for the software device
 * @param what    "races,bounds": as of --check
 * @param ret     free it with rp_check_results_free, also on failure
 * @return 0, whatever the program's end; RP_USAGE: it cannot be started; RP_ENVIRONMENT;
 * RP_INTERRUPTED
 */
int rp_check_run(const struct rp_environment *env, const struct rp_run_options *options,
                 const char *what, char *const *argv, struct rp_check_results *ret,
                 struct rp_proc_end *ret_end, struct rp_err *err);

#endif
