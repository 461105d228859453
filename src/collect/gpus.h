/**
 * @file gpus.h
 * @brief The GPUs that the driver shows, in the order in which ROCR_VISIBLE_DEVICES counts them.
 */
#ifndef RP_COLLECT_GPUS_H
#define RP_COLLECT_GPUS_H

#include <stddef.h>
#include <stdint.h>

/** Where the driver shows them. */
#define RP_GPU_NODES "/sys/class/kfd/kfd/topology/nodes"
/** The files through which programs use them: renderD128, ... */
#define RP_GPU_FILES "/dev/dri"

struct rp_gpu {
    uint32_t node;
    char gfx[32];           /**< "gfx942" */
    uint32_t pci_device_id; /**< 0: not known */
    uint32_t compute_units; /**< 0: not known */
    uint64_t unique_id;     /**< 0: it has none */
    const char *product;    /**< "AMD Instinct MI300X"; static; "": not in our table */
};

/**
 * Only those that this process may use: in a container or a job, ROCr does not count others either.
 * @param nodes  RP_GPU_NODES
 * @param files  RP_GPU_FILES
 * @param ret    owned, ret_count of them; NULL without any, or when out of memory
 */
void rp_gpus_list(const char *nodes, const char *files, struct rp_gpu **ret, size_t *ret_count);

/**
 * The first GPU that a program sees.
 * @param visible  value of ROCR_VISIBLE_DEVICES: "1,0", "GPU-0123456789abcdef"; NULL or "": all
 * @return NULL: it sees none
 */
const struct rp_gpu *rp_gpus_first_visible(const struct rp_gpu *gpus, size_t count,
                                           const char *visible);

#endif
