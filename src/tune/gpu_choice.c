#include "tune/gpu_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "collect/gpus.h"

static bool same_model(const struct rp_gpu *a, const struct rp_gpu *b)
{
    return strcmp(a->gfx, b->gfx) == 0 && strcmp(a->product, b->product) == 0 &&
           a->compute_units == b->compute_units;
}

static void put_model(struct rp_buf *to, const char *word, const struct rp_gpu *gpu)
{
    rp_buf_printf(to, "GPU %s is %s (%s, %u CUs)", word, gpu->product[0] ? gpu->product : "unknown",
                  gpu->gfx, gpu->compute_units);
}

/** Adds a GPU to the list; others must be like the first one. */
static int add(struct rp_buf *list, const char *word, const struct rp_gpu *gpu, char *first_word,
               const struct rp_gpu **first, struct rp_err *err)
{
    rp_autobuf models = {0};

    if (!*first) {
        *first = gpu;
        snprintf(first_word, 32, "%s", word);
    }
    if (!same_model(gpu, *first)) {
        put_model(&models, first_word, *first);
        rp_buf_puts(&models, ", ");
        put_model(&models, word, gpu);
        return rp_fail(err, RP_ENVIRONMENT,
                       "--gpus all: %s: times of several models are not compared; name those of "
                       "one, like --gpus %s",
                       rp_buf_text(&models), first_word);
    }
    rp_buf_printf(list, "%s%s", list->len ? "," : "", word);
    return 0;
}

int rp_gpu_choice_of(const struct rp_gpu *gpus, size_t count, const char *visible, char **ret,
                     struct rp_err *err)
{
    rp_autofree char *words = visible && *visible ? strdup(visible) : NULL;
    const struct rp_gpu *first = NULL;
    char first_word[32] = "", *rest = NULL;
    rp_autobuf list = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && !words && i < count; i++) {
        char word[32];

        snprintf(word, sizeof word, "%zu", i);
        rc = add(&list, word, &gpus[i], first_word, &first, err);
    }
    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; rc == 0 && word;
         word = strtok_r(NULL, ",", &rest)) {
        const struct rp_gpu *gpu = rp_gpus_first_visible(gpus, count, word);

        if (!gpu) /* ROCr looks no further */
            break;
        rc = add(&list, word, gpu, first_word, &first, err);
    }
    if (rc < 0)
        return rc;
    if (!first)
        return rp_fail(err, RP_ENVIRONMENT, "--gpus all: there is no GPU that may be used%s%s",
                       words ? ": ROCR_VISIBLE_DEVICES=" : "", words ? visible : "");
    *ret = rp_buf_steal(&list);
    return *ret ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static size_t software_count(void)
{
    const char *text = getenv("ROCM_PERF_DEVICE_GPUS");
    const unsigned long count = text ? strtoul(text, NULL, 10) : 1;

    return count ? count : 1; /* resolving the device refuses other values */
}

static int all_software(const char *visible, char **ret, struct rp_err *err)
{
    const struct rp_gpu like = {.product = ""};
    const size_t count = software_count();
    rp_autofree struct rp_gpu *gpus = calloc(count, sizeof *gpus);

    if (!gpus)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++)
        gpus[i] = like;
    return rp_gpu_choice_of(gpus, count, visible, ret, err);
}

int rp_gpu_choice(enum rp_device wish, char **ret, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_autofree struct rp_gpu *gpus = NULL;
    enum rp_device device;
    size_t count;
    int rc = rp_environment_detect(&env, err);

    if (rc == 0)
        rc = rp_device_resolve(&env, wish, &device, err);
    if (rc < 0)
        return rc;
    if (device == RP_DEVICE_SOFTWARE)
        return all_software(visible, ret, err);
    rp_gpus_list(RP_GPU_NODES, RP_GPU_FILES, &gpus, &count);
    return rp_gpu_choice_of(gpus, count, visible, ret, err);
}

int rp_gpu_choice_check_software(const char *const *gpus, struct rp_err *err)
{
    const size_t count = software_count();

    for (; *gpus; gpus++) {
        char *end;
        const unsigned long number = strtoul(*gpus, &end, 10);

        if (end == *gpus || *end || number >= count)
            return rp_fail(err, RP_USAGE,
                           "--gpus %s: the software device has %zu (ROCM_PERF_DEVICE_GPUS); more "
                           "workers need no more of them: use --workers",
                           *gpus, count);
    }
    return 0;
}
