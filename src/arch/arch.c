#include "arch/archs.h"

#include <stddef.h>
#include <string.h>

static const struct rp_arch *const table[] = {
#define RP_ARCH(id) &rp_arch_##id,
#include "arch/archs.def"
#undef RP_ARCH
};

const struct rp_arch *rp_arch_find(const char *name)
{
    const char *base;
    size_t len;

    if (!name)
        return NULL;
    /* "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-": the processor follows the last '-' of the
     * triple, its features follow the first ':' (and may end in '-' themselves). */
    len = strcspn(name, ":");
    base = name;
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '-')
            base = name + i + 1;
    }
    len -= (size_t)(base - name);
    for (size_t i = 0; i < RP_COUNT(table); i++) {
        if (strlen(table[i]->name) == len && memcmp(table[i]->name, base, len) == 0)
            return table[i];
    }
    return NULL;
}

const struct rp_arch *const *rp_arch_all(unsigned *ret_count)
{
    if (ret_count)
        *ret_count = (unsigned)RP_COUNT(table);
    return table;
}

static bool fits(uint32_t said, uint32_t known)
{
    return said == 0 || said == known;
}

const struct rp_arch_product *rp_arch_product_find(const struct rp_arch *arch,
                                                   uint32_t pci_device_id, uint32_t compute_units,
                                                   uint32_t memory_clock_mhz)
{
    if (!arch || (!pci_device_id && !compute_units && !memory_clock_mhz))
        return NULL;
    for (uint32_t i = 0; i < arch->product_count; i++) {
        const struct rp_arch_product *p = &arch->products[i];
        if (fits(pci_device_id, p->pci_device_id) && fits(compute_units, p->compute_units) &&
            fits(memory_clock_mhz, p->memory_clock_mhz))
            return p;
    }
    /* A partitioned or power-capped device keeps its id but not its CU count and clocks. */
    for (uint32_t i = 0; pci_device_id && i < arch->product_count; i++) {
        if (arch->products[i].pci_device_id == pci_device_id)
            return &arch->products[i];
    }
    return NULL;
}
