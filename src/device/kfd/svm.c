#include "svm.h"

#include <errno.h>

#include "log.h"
#include "topology.h"

struct svm_attribute {
    uint32_t type, value;
};

struct svm_args {
    uint64_t start, bytes;
    uint32_t op, count;
    struct svm_attribute attributes[];
};

enum svm_op { SVM_SET = 0, SVM_GET = 1 };

enum svm_type {
    SVM_PREFERRED_LOCATION = 0,
    SVM_PREFETCH_LOCATION = 1,
    SVM_ACCESS = 2,
    SVM_ACCESS_IN_PLACE = 3,
    SVM_NO_ACCESS = 4,
    SVM_SET_FLAGS = 5,
    SVM_CLEAR_FLAGS = 6,
    SVM_GRANULARITY = 7,
    SVM_TYPE_MAX,
};

static const uint32_t location_undefined = 0xffffffff;

/** Sets *ret_gpu from an attribute that names a GPU. 0 or -EINVAL. */
static int gpu_of(const struct rp_memory *memory, const struct svm_attribute *attribute,
                  unsigned *ret_gpu)
{
    uint32_t gpu = attribute->value - RP_TOPOLOGY_GPU_ID;
    if (gpu >= memory->gpu_count)
        return -EINVAL;
    *ret_gpu = gpu;
    return 0;
}

static int set_access(struct rp_memory *memory, const struct svm_args *args,
                      const struct svm_attribute *attribute)
{
    unsigned gpu;
    int rc = gpu_of(memory, attribute, &gpu);
    if (rc < 0)
        return rc;
    if (attribute->type != SVM_NO_ACCESS)
        return rp_memory_share(memory, gpu, args->start, args->bytes);
    rp_memory_unshare(memory, gpu, args->start, args->bytes);
    return 0;
}

static int set(struct rp_memory *memory, const struct svm_args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        const struct svm_attribute *attribute = &args->attributes[i];
        int rc = 0;
        if (attribute->type >= SVM_TYPE_MAX)
            return -EINVAL;
        if (attribute->type == SVM_ACCESS || attribute->type == SVM_ACCESS_IN_PLACE ||
            attribute->type == SVM_NO_ACCESS)
            rc = set_access(memory, args, attribute);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int get(struct rp_memory *memory, struct svm_args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        struct svm_attribute *attribute = &args->attributes[i];
        unsigned gpu;
        switch (attribute->type) {
        case SVM_PREFERRED_LOCATION:
        case SVM_PREFETCH_LOCATION:
            attribute->value = location_undefined;
            break;
        case SVM_ACCESS: /* asked with this type; answered by changing it */
            if (gpu_of(memory, attribute, &gpu) < 0)
                return -EINVAL;
            attribute->type = rp_memory_is_mapped(memory, gpu, args->start, args->bytes)
                                  ? SVM_ACCESS_IN_PLACE
                                  : SVM_NO_ACCESS;
            break;
        case SVM_SET_FLAGS:
        case SVM_GRANULARITY:
            attribute->value = 0;
            break;
        case SVM_CLEAR_FLAGS:
            attribute->value = UINT32_MAX;
            break;
        default:
            return -EINVAL;
        }
    }
    return 0;
}

int rp_svm_ioctl(struct rp_memory *memory, void *user, uint32_t bytes)
{
    struct svm_args *args = user;
    if (bytes < sizeof *args ||
        args->count > (bytes - sizeof *args) / sizeof(struct svm_attribute) || args->bytes == 0)
        return -EINVAL;
    int rc = args->op == SVM_SET   ? set(memory, args)
             : args->op == SVM_GET ? get(memory, args)
                                   : -EINVAL;
    rp_log("svm op %u, 0x%llx, %llu bytes, %u attributes: %d", args->op,
           (unsigned long long)args->start, (unsigned long long)args->bytes, args->count, rc);
    return rc;
}
