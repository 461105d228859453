#include "svm.h"

#include <errno.h>

#include "device/exec/exec.h"
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

enum svm_flag { SVM_HOST_ACCESS = 1, SVM_COHERENT = 2, SVM_GPU_READ_ONLY = 8 };

enum {
    SVM_GRANULARITY_DEFAULT = 9, /* the driver's: 2 MiB */
    SVM_GRANULARITY_MAX = 0x3f,
};

/** What holds for memory of which nothing was said; with XNACK every GPU has access. */
static struct rp_svm_attributes initial(const struct rp_memory *memory)
{
    return (struct rp_svm_attributes){
        .preferred = RP_SVM_UNDEFINED,
        .prefetched = RP_SVM_UNDEFINED,
        .access = memory->xnack ? (1u << memory->gpu_count) - 1 : 0,
        .flags = SVM_HOST_ACCESS | SVM_COHERENT,
        .granularity = SVM_GRANULARITY_DEFAULT,
    };
}

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

/* ---- set ---------------------------------------------------------------------------------- */

static int check(const struct rp_memory *memory, const struct svm_attribute *attribute)
{
    unsigned gpu;
    switch (attribute->type) {
    case SVM_PREFERRED_LOCATION:
    case SVM_PREFETCH_LOCATION:
        if (attribute->value == 0 || attribute->value == RP_SVM_UNDEFINED)
            return 0;
        return gpu_of(memory, attribute, &gpu);
    case SVM_ACCESS:
    case SVM_ACCESS_IN_PLACE:
    case SVM_NO_ACCESS:
        return gpu_of(memory, attribute, &gpu);
    default:
        return attribute->type < SVM_TYPE_MAX ? 0 : -EINVAL;
    }
}

static void apply(struct rp_svm_attributes *a, const void *ctx)
{
    const struct svm_args *args = ctx;
    for (uint32_t i = 0; i < args->count; i++) {
        uint32_t value = args->attributes[i].value;
        uint32_t gpu = 1u << (value - RP_TOPOLOGY_GPU_ID) % 32; /* if it is one: checked before */
        switch (args->attributes[i].type) {
        case SVM_PREFERRED_LOCATION:
            a->preferred = value;
            break;
        case SVM_PREFETCH_LOCATION:
            a->prefetched = value;
            break;
        case SVM_ACCESS:
            a->access |= gpu;
            a->in_place &= ~gpu;
            break;
        case SVM_ACCESS_IN_PLACE:
            a->access &= ~gpu;
            a->in_place |= gpu;
            break;
        case SVM_NO_ACCESS:
            a->access &= ~gpu;
            a->in_place &= ~gpu;
            break;
        case SVM_SET_FLAGS:
            a->flags |= value;
            break;
        case SVM_CLEAR_FLAGS:
            a->flags &= ~value;
            break;
        default:
            a->granularity = value < SVM_GRANULARITY_MAX ? value : SVM_GRANULARITY_MAX;
            break;
        }
    }
}

/** Lets the page tables follow what the pieces of the range now say. */
static int follow(struct rp_memory *memory, uint64_t begin, uint64_t end)
{
    const struct rp_svm_range *range;
    for (uint64_t va = begin; va < end; va = range->end) {
        range = rp_svm_ranges_next(&memory->svm, va);
        if (!range)
            break;
        uint64_t stop = range->end < end ? range->end : end;
        const struct rp_svm_attributes *a = &range->attributes;
        for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++) {
            bool visible = (a->access | a->in_place) >> gpu & 1;
            int rc = rp_memory_set_shared(memory, gpu, va, stop, visible,
                                          !(a->flags & SVM_GPU_READ_ONLY));
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static int set(struct rp_memory *memory, const struct svm_args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        int rc = check(memory, &args->attributes[i]);
        if (rc < 0)
            return rc;
    }
    const struct rp_svm_attributes first = initial(memory);
    int rc = rp_svm_ranges_update(&memory->svm, args->start, args->start + args->bytes, &first,
                                  apply, args);
    return rc < 0 ? rc : follow(memory, args->start, args->start + args->bytes);
}

/* ---- get ---------------------------------------------------------------------------------- */

/** What all pieces of a range have in common. */
struct summary {
    struct rp_svm_attributes all;
    uint32_t any_flags;
};

static uint32_t common(uint32_t a, uint32_t b)
{
    return a == b ? a : RP_SVM_UNDEFINED;
}

static struct summary summarise(const struct rp_memory *memory, uint64_t begin, uint64_t end)
{
    struct summary sum = {.all = initial(memory)};
    const struct rp_svm_range *range = rp_svm_ranges_next(&memory->svm, begin);
    sum.any_flags = sum.all.flags;
    if (!range || range->begin >= end)
        return sum;
    sum.all = range->attributes;
    sum.any_flags = sum.all.flags;
    /* Pieces of which nothing was said do not count, as in the driver. */
    while ((range = rp_svm_ranges_next(&memory->svm, range->end)) && range->begin < end) {
        const struct rp_svm_attributes *a = &range->attributes;
        sum.all.preferred = common(sum.all.preferred, a->preferred);
        sum.all.prefetched = common(sum.all.prefetched, a->prefetched);
        sum.all.access &= a->access;
        sum.all.in_place &= a->in_place;
        sum.all.flags &= a->flags;
        sum.any_flags |= a->flags;
        if (a->granularity < sum.all.granularity)
            sum.all.granularity = a->granularity;
    }
    return sum;
}

/** An access attribute is asked for as SVM_ACCESS, and answered by changing that. */
static int access_of(const struct rp_memory *memory, const struct summary *sum,
                     struct svm_attribute *attribute)
{
    unsigned gpu;
    int rc = gpu_of(memory, attribute, &gpu);
    if (rc < 0)
        return rc;
    attribute->type = sum->all.access >> gpu & 1     ? SVM_ACCESS
                      : sum->all.in_place >> gpu & 1 ? SVM_ACCESS_IN_PLACE
                                                     : SVM_NO_ACCESS;
    return 0;
}

static int get(const struct rp_memory *memory, struct svm_args *args)
{
    const struct summary sum = summarise(memory, args->start, args->start + args->bytes);
    for (uint32_t i = 0; i < args->count; i++) {
        struct svm_attribute *attribute = &args->attributes[i];
        int rc = 0;
        switch (attribute->type) {
        case SVM_PREFERRED_LOCATION:
            attribute->value = sum.all.preferred;
            break;
        case SVM_PREFETCH_LOCATION:
            attribute->value = sum.all.prefetched;
            break;
        case SVM_ACCESS:
            rc = access_of(memory, &sum, attribute);
            break;
        case SVM_SET_FLAGS:
            attribute->value = sum.all.flags;
            break;
        case SVM_CLEAR_FLAGS:
            attribute->value = ~sum.any_flags;
            break;
        case SVM_GRANULARITY:
            attribute->value = sum.all.granularity;
            break;
        default:
            rc = -EINVAL;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int rp_svm_ioctl(struct rp_memory *memory, void *user, uint32_t bytes)
{
    struct svm_args *args = user;
    if (bytes < sizeof *args ||
        args->count > (bytes - sizeof *args) / sizeof(struct svm_attribute) || args->bytes == 0 ||
        args->start % RP_BACKING_PAGE || args->bytes % RP_BACKING_PAGE ||
        args->start + args->bytes < args->start)
        return -EINVAL;
    pthread_mutex_lock(&memory->lock);
    int rc = args->op == SVM_SET   ? set(memory, args)
             : args->op == SVM_GET ? get(memory, args)
                                   : -EINVAL;
    pthread_mutex_unlock(&memory->lock);
    if (rc == 0 && args->op == SVM_SET)
        rp_exec_settle(); /* a kernel may be using what it has lost */
    rp_log("svm op %u, 0x%llx, %llu bytes, %u attributes: %d", args->op,
           (unsigned long long)args->start, (unsigned long long)args->bytes, args->count, rc);
    return rc;
}
