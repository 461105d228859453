#include "arch/arch.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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
    /* A power-capped device keeps its id but not its clocks, a partitioned one not its CU count. */
    for (uint32_t i = 0; pci_device_id && compute_units && i < arch->product_count; i++) {
        const struct rp_arch_product *p = &arch->products[i];

        if (p->pci_device_id == pci_device_id && p->compute_units == compute_units)
            return p;
    }
    for (uint32_t i = 0; pci_device_id && i < arch->product_count; i++) {
        if (arch->products[i].pci_device_id == pci_device_id)
            return &arch->products[i];
    }
    return NULL;
}

double rp_arch_memory_peak(const struct rp_arch *arch, const struct rp_arch_product *product)
{
    if (product == arch->products)
        return arch->hbm_peak_gbps;
    return (double)product->memory_width_bits / 8 * product->memory_clock_mhz *
           arch->memory_transfers_per_clock / 1000;
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
    if (p->timing)
        arch->timing = p->timing;
    arch->hbm_peak_gbps = rp_arch_memory_peak(arch, p);
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

bool rp_arch_clock_parse(const struct rp_arch *arch, const char *text, uint32_t *ret_mhz)
{
    const size_t digits = strspn(text, "0123456789");
    const unsigned long mhz = digits && digits < 6 && !text[digits] ? strtoul(text, NULL, 10) : 0;

    if (mhz < RP_ARCH_LOWEST_CLOCK_MHZ || mhz > arch->engine_clock_mhz)
        return false;
    *ret_mhz = (uint32_t)mhz;
    return true;
}

/* Of a latency, as many clocks are on the die as a hit in the L2 takes. */
static uint32_t latency_at(double part, uint32_t clocks, uint32_t on_die)
{
    return clocks <= on_die ? clocks : on_die + (uint32_t)((clocks - on_die) * part + 0.5);
}

void rp_arch_set_clock(struct rp_arch *arch, uint32_t mhz, struct rp_arch_timing *ret_timing)
{
    const struct rp_arch_timing *own = arch->timing;
    const double part = (double)mhz / arch->engine_clock_mhz;
    const uint32_t on_die = own ? own->l2_clocks : 0, highest = arch->engine_clock_mhz;

    if (mhz == highest)
        return;
    arch->engine_clock_mhz = mhz;
    arch->hbm_latency_cycles = latency_at(part, arch->hbm_latency_cycles, on_die);
    if (!own)
        return;
    *ret_timing = *own;
    ret_timing->mall_clocks = latency_at(part, own->mall_clocks, on_die);
    ret_timing->hbm_clocks = latency_at(part, own->hbm_clocks, on_die);
    ret_timing->highest_clock_mhz = highest;
    ret_timing->launch_clocks = latency_at(part, own->launch_clocks, 0);
    arch->timing = ret_timing;
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

/* The tables say how many counters each block of the hardware can read at a time. The source is
 * AMD's aqlprofile (number of counter registers of each block and family), from which rocprofv3
 * takes its limits; the tables of rocprof-compute agree for those of gfx9 that it has. gfx9 stands
 * for gfx90a, gfx942 and gfx950. GRBM_SE, and blocks that only draw, are left out.
 */

const struct rp_counter_block rp_counter_blocks_gfx9[] = {
    {"SQ", NULL, 8},  {"SQC", "SQ", 8},  {"TA", NULL, 2},   {"TD", NULL, 2},
    {"TCP", NULL, 4}, {"TCA", NULL, 4},  {"TCC", NULL, 4},  {"CPC", NULL, 2},
    {"CPF", NULL, 2}, {"SPI", NULL, 6},  {"GRBM", NULL, 2}, {"GDS", NULL, 4},
    {"RLC", NULL, 2}, {"SDMA", NULL, 2}, {"GCEA", NULL, 2}, {NULL, NULL, 0},
};

const struct rp_counter_block rp_counter_blocks_gfx10[] = {
    {"SQ", NULL, 8},   {"SQC", "SQ", 8},  {"TA", NULL, 2},   {"TD", NULL, 2},   {"TCP", NULL, 4},
    {"GL1A", NULL, 4}, {"GL1C", NULL, 4}, {"GL2A", NULL, 4}, {"GL2C", NULL, 4}, {"CPC", NULL, 2},
    {"CPF", NULL, 2},  {"SPI", NULL, 6},  {"GRBM", NULL, 2}, {"GDS", NULL, 4},  {"GCR", NULL, 2},
    {"RLC", NULL, 2},  {"SDMA", NULL, 2}, {"GCEA", NULL, 2}, {NULL, NULL, 0},
};

const struct rp_counter_block *rp_arch_counter_block(const struct rp_arch *arch,
                                                     const char *counter)
{
    size_t length = strcspn(counter, "_");

    if (counter[length] != '_')
        return NULL;
    for (const struct rp_counter_block *block = arch->counter_blocks; block && block->name; block++)
        if (strlen(block->name) == length && strncmp(block->name, counter, length) == 0)
            return block;
    return NULL;
}

#define NO_ACCUM    "it accumulates what another counter of the same pass says"
#define NO_HIT_TIME "how long a fetch of code takes that hits is not modelled"
#define NO_SKIPPED  "instructions that s_setvskip skips are not told apart"
#define NO_SWITCH   "waves are never taken off the GPU here"
#define NO_LDS_CASES                                                                               \
    "the LDS model has bank conflicts, but no rule for what else makes it slower: none is "        \
    "published"
#define NO_STALLS                                                                                  \
    "the model has one queue through TA, TD and TCP and one to memory: what one unit waits for "   \
    "another in it is not told apart"
#define NO_PREFETCH      "how much code the instruction cache asks for ahead is not published"
#define NO_SCALAR_WRITES "scalar stores and atomics are not counted apart"
#define NO_COALESCED     "which instructions the hardware takes for coalesced is not published"
#define NO_GFX942        "gfx942 does not have it, only gfx90a and gfx950 do"
#define NO_INVALIDATES   "caches begin empty here; what hardware invalidates is not modelled"
#define NO_TLB           "translations of addresses are modelled for their time alone"
#define NO_TYPES                                                                                   \
    "memory types (RW, NC, UC, CC) are not modelled: all memory is cached alike, and probes and "  \
    "uncached accesses do not exist"
#define NO_WRITE_TIME                                                                              \
    "writes go to memory when lines are written first here, not when they give way: hardware's "   \
    "are "                                                                                         \
    "under way at other times"
#define NO_PLACES                                                                                  \
    "accesses are not recorded by where their memory is: this GPU, another or the host"
#define NO_SGPR_WRITES                                                                             \
    "how many SGPRs a cycle the hardware sets at the start of a wave is not published"
#define NO_LIMITS "neither scratch memory nor limits set by software keep waves waiting here"
#define NO_FRONT  "the command processor is not modelled"

static const struct rp_device_counter_row rows[] = {
#define COUNTER(name, block, kind, text) {#name, block, RP_COUNTER_##kind, text, RP_COUNTER_##name},
#define NO_COUNTER(name, block, why)     {#name, block, RP_COUNTER_NONE, why, -1},
#include "arch/hardware_counters.def"
#undef COUNTER
#undef NO_COUNTER
};
enum { ROWS = sizeof rows / sizeof rows[0], NAME_BYTES = 64 };
#include "base/utf8.h"

const struct rp_device_counter_row *rp_device_counter_rows(size_t *ret_count)
{
    *ret_count = ROWS;
    return rows;
}

/* Some blocks exist several times, and rocprofv3 adds their counters up under this suffix. */
static bool has_instances(const char *block)
{
    static const char *const blocks[] = {"TA", "TD", "TCP", "TCC"};

    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (strcmp(block, blocks[i]) == 0)
            return true;
    return false;
}

/* Rewrites a name in the table's spelling. */
static bool plain_name(const char *name, char ret[NAME_BYTES], bool *ret_sum)
{
    static const char old_unit[] = "TCC_EA_", suffix[] = "_sum";
    bool is_old = strncmp(name, old_unit, sizeof old_unit - 1) == 0;
    int length = is_old ? snprintf(ret, NAME_BYTES, "TCC_EA0_%s", name + sizeof old_unit - 1)
                        : snprintf(ret, NAME_BYTES, "%s", name);
    size_t end = sizeof suffix - 1;

    if (length < 0 || length >= NAME_BYTES)
        return false;
    *ret_sum = (size_t)length > end && strcmp(ret + (size_t)length - end, suffix) == 0;
    if (*ret_sum)
        ret[(size_t)length - end] = '\0';
    return true;
}

const struct rp_device_counter_row *rp_device_counter_find(const char *name)
{
    char plain[NAME_BYTES];
    bool sum;

    if (!plain_name(name, plain, &sum))
        return NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, plain) == 0 && (!sum || has_instances(rows[i].block)))
            return &rows[i];
    return NULL;
}

const char *rp_device_counter_nearest(const char *name)
{
    char plain[NAME_BYTES];
    const char *nearest = NULL;
    size_t least;
    bool sum;

    if (!plain_name(name, plain, &sum))
        return NULL;
    for (char *at = plain; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    least = strlen(plain) / 2 + 1; /* Beyond that it is another word. */
    for (size_t i = 0; i < ROWS; i++) {
        const size_t d = rp_typing_errors(plain, rows[i].name);
        if (d < least) {
            least = d;
            nearest = rows[i].name;
        }
    }
    return nearest;
}

const char *rp_device_counter_kind_name(enum rp_device_counter_kind kind)
{
    static const char *const names[] = {
        [RP_COUNTER_NONE] = "none", [RP_COUNTER_EXACT] = "exact", [RP_COUNTER_CACHES] = "caches",
        [RP_COUNTER_TIME] = "time", [RP_COUNTER_WAVES] = "waves",
    };

    return names[kind];
}
