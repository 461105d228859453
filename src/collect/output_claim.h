/**
 * @file output_claim.h
 * @brief One writer for an output folder that is made in the end: others are told at their start.
 */
#ifndef RP_COLLECT_OUTPUT_CLAIM_H
#define RP_COLLECT_OUTPUT_CLAIM_H

struct rp_err;

/**
 * Claims the name of a folder on this machine (within one network namespace) for as long as
 * @p ret_fd is open, at most until the process ends: it is an address of the abstract socket
 * namespace, which leaves nothing behind.
 * @param ret_fd  -1: there is nothing to claim it with; then the end says who came late
 * @return 0, or RP_USAGE: somebody else has it
 */
int rp_output_claim(const char *folder, int *ret_fd, struct rp_err *err);

/**
 * Sees whether a folder of that name can be made, with those that it lies in: makes the first one
 * that is not there, with @p suffix and the process's number behind its name, and removes it.
 * @return 0; RP_USAGE: no folder can have that name; RP_ENVIRONMENT
 */
int rp_output_try(const char *folder, const char *suffix, struct rp_err *err);

#endif
