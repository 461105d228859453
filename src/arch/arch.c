#include "arch/arch.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
    /* In "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-" the processor follows the last '-' of the
     * triple. Its features follow the first ':' and may end in '-' themselves.
     */
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

const struct rp_arch *rp_arch_default(void)
{
    size_t i = 0;

    while (!table[i]->is_default)
        i++;
    return table[i];
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

/* Finds one product of an architecture by the words that a user types. */

/* "AMD Instinct MI300A" is called mi300a, "AMD Instinct MI300X VF" mi300x-vf. */
static void short_name(const struct rp_arch_product *product, char *out, size_t room)
{
    static const char *const makers[] = {"AMD Instinct ", "AMD "};
    const char *name = product->name;

    for (size_t i = 0; i < RP_COUNT(makers); i++) {
        if (strncmp(name, makers[i], strlen(makers[i])) == 0) {
            name += strlen(makers[i]);
            break;
        }
    }
    snprintf(out, room, "%s", name);
    for (char *p = out; *p; p++)
        *p = *p == ' ' ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
}

static bool is_complete(const struct rp_arch_product *p)
{
    return p->compute_units && p->xcc_count && p->shader_engines && p->engine_clock_mhz &&
           p->memory_clock_mhz && p->memory_width_bits && p->memory_bytes;
}

static void take_product(struct rp_arch *arch, const struct rp_arch_product *p)
{
    arch->product = p->name;
    arch->pci_device_id = p->pci_device_id;
    arch->compute_units = p->compute_units;
    arch->xcc_count = p->xcc_count;
    arch->shader_engines = p->shader_engines;
    arch->engine_clock_mhz = p->engine_clock_mhz;
    arch->memory_clock_mhz = p->memory_clock_mhz;
    arch->memory_width_bits = p->memory_width_bits;
    arch->memory_bytes = p->memory_bytes;
    arch->apu = p->apu;
    arch->hbm_peak_gbps = (double)p->memory_width_bits / 8 * p->memory_clock_mhz *
                          arch->memory_transfers_per_clock / 1000;
}

static const struct rp_arch_product *find_product(const struct rp_arch *arch, const char *word)
{
    for (uint32_t i = 0; i < arch->product_count; i++) {
        char name[64];

        short_name(&arch->products[i], name, sizeof name);
        if (strcasecmp(name, word) == 0)
            return &arch->products[i];
    }
    return NULL;
}

int rp_arch_select(const char *spec, struct rp_arch *ret)
{
    unsigned count;
    const struct rp_arch *const *all = rp_arch_all(&count);
    size_t head;

    if (!spec)
        spec = rp_arch_default()->name;
    head = strcspn(spec, ":");
    for (unsigned i = 0; i < count; i++) {
        bool named = strlen(all[i]->name) == head && strncasecmp(all[i]->name, spec, head) == 0;
        const char *word = !named ? spec : spec[head] ? spec + head + 1 : NULL;
        const struct rp_arch_product *product =
            word ? find_product(all[i], word) : &all[i]->products[0];

        if (!product)
            continue;
        *ret = *all[i];
        take_product(ret, product);
        if (ret->software_refusal)
            return -ENOTSUP;
        return is_complete(product) ? 0 : -ENODATA;
    }
    return -ENOENT;
}

int rp_arch_spec(const char *isa, const char *product, char *out, size_t room)
{
    const struct rp_arch *arch = rp_arch_find(isa);

    for (uint32_t i = 0; arch && !arch->software_refusal && i < arch->product_count; i++) {
        const struct rp_arch_product *p = &arch->products[i];
        char name[64];

        if (strcmp(p->name, product) != 0 || !is_complete(p))
            continue;
        short_name(p, name, sizeof name);
        return snprintf(out, room, "%s:%s", arch->name, name) < (int)room ? 0 : -ENOENT;
    }
    return -ENOENT;
}

static bool is_choice(const struct rp_arch *arch, const struct rp_arch_product *product,
                      enum rp_arch_choice of)
{
    return !arch->software_refusal && is_complete(product) && (of != RP_ARCH_TIMED || arch->timing);
}

int rp_arch_choices(enum rp_arch_choice of, char *out, size_t room)
{
    size_t used = 0;
    unsigned count;
    const struct rp_arch *const *all = rp_arch_all(&count);

    if (room)
        out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        bool whole = of == RP_ARCH_ANY && all[i]->software_refusal;

        for (uint32_t k = 0; k < (whole ? 1 : all[i]->product_count); k++) {
            char name[64];

            if (!whole && !is_choice(all[i], &all[i]->products[k], of))
                continue;
            short_name(&all[i]->products[k], name, sizeof name);
            used += (size_t)snprintf(used < room ? out + used : NULL, used < room ? room - used : 0,
                                     "%s%s%s%s", used ? ", " : "", all[i]->name, whole ? "" : ":",
                                     whole ? "" : name);
        }
    }
    return (int)used;
}
