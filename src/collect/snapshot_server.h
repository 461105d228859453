/**
 * @file snapshot_server.h
 * @brief Listens to the tools in the processes of a program, and writes what one of them captures.
 */
#ifndef RP_COLLECT_SNAPSHOT_SERVER_H
#define RP_COLLECT_SNAPSHOT_SERVER_H

#include "collect/isolate_run.h"
#include "trace/capture.h"

struct rp_environment;
struct rp_err;
struct rp_snapshot_server;

struct rp_snapshot_wanted {
    const struct rp_environment *env; /**< has the demangler; NULL: none */
    const char *kernel_regex;
    struct rp_snapshot_selection selection;
    const uint64_t *numbers; /**< .selection.number_count of them */
};

/** @param path  of the socket; @param wishes  must outlive the server, which sets .wants and .name;
 *  @param wanted  likewise */
int rp_snapshot_server_start(const char *path, struct rp_snapshot_request *wishes,
                             const struct rp_snapshot_wanted *wanted,
                             struct rp_snapshot_server **ret, struct rp_err *err);

/**
 * The program has ended: takes what is still on its way.
 * @return 0, or what kept a capture from being written
 */
int rp_snapshot_server_stop(struct rp_snapshot_server *server, struct rp_isolation *ret,
                            struct rp_err *err);

#endif
