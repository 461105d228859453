#include "collect/gpus.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/path.h"

enum { MOST_PROPERTIES_BYTES = 1 << 16 };

/** The number behind "KEY " at the beginning of a line; 0: there is none. */
static uint64_t property(const char *text, const char *key)
{
    const size_t bytes = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, bytes) == 0 && line[bytes] == ' ')
            return strtoull(line + bytes, NULL, 10);
    }
    return 0;
}

/** gfx_target_version 90402 is gfx942: stepping in hexadecimal. @return false: it is a CPU */
static bool read_gpu(const char *text, struct rp_gpu *gpu)
{
    const uint64_t version = property(text, "gfx_target_version");
    const uint64_t simds = property(text, "simd_count");
    const uint64_t simds_per_cu = property(text, "simd_per_cu");
    const struct rp_arch_product *product;
    const struct rp_arch *arch;

    if (!version || !simds)
        return false;
    snprintf(gpu->gfx, sizeof gpu->gfx, "gfx%u%x%x", (unsigned)(version / 10000),
             (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    gpu->pci_device_id = (uint32_t)property(text, "device_id");
    gpu->compute_units = simds_per_cu ? (uint32_t)(simds / simds_per_cu) : 0;
    gpu->unique_id = property(text, "unique_id");
    arch = rp_arch_find(gpu->gfx);
    product = arch ? rp_arch_product_find(arch, gpu->pci_device_id, gpu->compute_units, 0) : NULL;
    gpu->product = product ? product->name : "";
    return true;
}

/** Control groups refuse it in open(), not in access(). What the driver does not tell is usable. */
static bool is_usable(const char *text, const char *files)
{
    const uint64_t minor = property(text, "drm_render_minor");
    rp_autofree char *path = rp_format("%s/renderD%" PRIu64, files, minor);
    rp_autoclose int fd = minor && path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    return !minor || fd >= 0;
}

static int by_node(const void *a, const void *b)
{
    const struct rp_gpu *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

void rp_gpus_list(const char *nodes, const char *files, struct rp_gpu **ret, size_t *ret_count)
{
    DIR *dir = opendir(nodes);
    struct rp_gpu *gpus = NULL;
    struct dirent *entry;
    size_t count = 0;

    while (dir && (entry = readdir(dir))) {
        rp_autofree char *path = rp_format("%s/%s/properties", nodes, entry->d_name);
        rp_autofree char *text = path ? rp_read_text(path, MOST_PROPERTIES_BYTES) : NULL;
        struct rp_gpu gpu = {.node = (uint32_t)strtoul(entry->d_name, NULL, 10)};
        struct rp_gpu *grown;

        if (!text || !read_gpu(text, &gpu) || !is_usable(text, files))
            continue;
        if (!(grown = reallocarray(gpus, count + 1, sizeof *grown)))
            break;
        gpus = grown;
        gpus[count++] = gpu;
    }
    if (dir)
        closedir(dir);
    if (count)
        qsort(gpus, count, sizeof *gpus, by_node);
    *ret = gpus;
    *ret_count = count;
}

const struct rp_gpu *rp_gpus_first_visible(const struct rp_gpu *gpus, size_t count,
                                           const char *visible)
{
    static const char by_id[] = "GPU-";
    char *end;

    if (!visible || !*visible)
        return count ? gpus : NULL;
    if (strncasecmp(visible, by_id, strlen(by_id)) == 0) {
        const uint64_t id = strtoull(visible + strlen(by_id), &end, 16);

        for (size_t i = 0; id && i < count; i++)
            if (gpus[i].unique_id == id)
                return &gpus[i];
        return NULL;
    }
    const unsigned long number = strtoul(visible, &end, 10);

    return end != visible && number < count ? &gpus[number] : NULL;
}
