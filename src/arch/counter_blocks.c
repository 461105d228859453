/* How many counters each block of the hardware can read at a time.
 *
 * Sources: AMD's aqlprofile (number of counter registers of each block and family), which
 * rocprofv3 takes its limits from; the tables of rocprof-compute agree for those of gfx9 that it
 * has. gfx9 stands for gfx90a, gfx942 and gfx950. GRBM_SE and what only draws is left out.
 */
#include "arch/archs.h"

#include <string.h>

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
