/**
 * @file driver_files.h
 * @brief What the writers of the driver's files share: one file of the tree, and its text.
 */
#ifndef RP_DEVICE_KFD_DRIVER_FILES_H
#define RP_DEVICE_KFD_DRIVER_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "topology.h"

/** The text of a file while it is written. */
struct rp_driver_text {
    char *out;
    size_t used;
    const struct rp_topology *topology;
    const struct rp_arch *arch;
    unsigned gpu;     /**< whose file this is; of a node of the host, 0 */
    unsigned to_node; /**< of a link between nodes */
    unsigned cache;   /**< which of the GPU's */
};

/** Adds to the text; what is beyond RP_TOPOLOGY_FILE_BYTES is left out. */
__attribute__((format(printf, 2, 3))) void rp_driver_text_add(struct rp_driver_text *text,
                                                              const char *format, ...);

/** One entry of the tree. A folder is where files are; folders of their own are the empty ones. */
struct rp_driver_file {
    char path[RP_TOPOLOGY_PATH_BYTES];
    enum rp_topology_kind kind;
    void (*write)(struct rp_driver_text *text); /**< of a FILE */
    char target[RP_TOPOLOGY_PATH_BYTES];        /**< of a LINK: absolute, without links in it */
    unsigned gpu, to_node, cache;
    unsigned minor; /**< of a DEVICE */
};

/** Ends the walk by returning true. */
typedef bool rp_driver_visitor(void *ctx, const struct rp_driver_file *file);

/** One of @p path and @p root is above the other, or they are the same. */
bool rp_driver_related(const char *path, const char *root);

/**
 * Visits the names of the GPUs in the folders of links (/sys/class, /sys/bus, /sys/dev) and their
 * device files in /dev. Both walks leave groups out that have nothing to do with @p path, and
 * return true as soon as @p each does.
 */
bool rp_sysfs_visit_names(const struct rp_topology *topology, const char *path,
                          rp_driver_visitor *each, void *ctx);

/** Visits the folders in which each GPU's own files are (/sys/devices). */
bool rp_sysfs_visit_devices(const struct rp_topology *topology, const char *path,
                            rp_driver_visitor *each, void *ctx);

#endif
