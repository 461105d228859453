/**
 * @file hipcc.h
 * @brief The command line of the HIP compiler of the ROCm in use.
 */
#ifndef RP_COLLECT_HIPCC_H
#define RP_COLLECT_HIPCC_H

struct rp_environment;
struct rp_err;

/**
 * @param user  the user's arguments, NULL-terminated
 * @param ret   program and arguments, NULL-terminated; free with rp_hipcc_args_free
 * @return 0, or RP_ENVIRONMENT when there is no compiler
 */
int rp_hipcc_args(const struct rp_environment *env, char *const *user, char ***ret,
                  struct rp_err *err);
void rp_hipcc_args_free(char ***args);

#endif
