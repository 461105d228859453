/**
 * @file mem_format.h
 * @brief Conversions between buffer data formats and registers.
 *
 * Field positions and meanings: CDNA3 ISA guide, "Buffer Data Formats". Only what that document
 * (and the definitions of normalised numbers it shares with every graphics interface) settles is
 * converted; where hardware has to round in a way nobody has published, the answer is a reason to
 * refuse, which depends on the value.
 */
#ifndef RP_DEVICE_ISA_MEM_FORMAT_H
#define RP_DEVICE_ISA_MEM_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

/** BUF_NUM_FORMAT_* */
enum rp_num_format {
    RP_NUM_UNORM = 0,
    RP_NUM_SNORM = 1,
    RP_NUM_USCALED = 2,
    RP_NUM_SSCALED = 3,
    RP_NUM_UINT = 4,
    RP_NUM_SINT = 5,
    RP_NUM_FLOAT = 7,
};

/** Layout of one element: components x, y, z, w from the lowest bit up. */
struct rp_data_format {
    uint8_t bytes; /**< 0 = no such format */
    uint8_t components;
    uint8_t bits[4];
    uint8_t at_bit[4];
};

/** Layout of BUF_DATA_FORMAT_* number @p data_format; bytes 0 for invalid ones. */
const struct rp_data_format *rp_data_format(unsigned data_format);

/** NULL if components of @p bits can be numbers of that kind, else why not. */
const char *rp_format_check(unsigned bits, unsigned num_format);

/**
 * One component to a register.
 * @param raw  the component's bits
 * @param d16  the register is 16 bits wide: f16 for everything but UINT and SINT
 * @return NULL with *ret_value, or why it cannot be converted
 */
const char *rp_format_load(uint32_t raw, unsigned bits, unsigned num_format, bool d16,
                           uint32_t *ret_value);

/** The other direction. @return NULL with *ret_raw, or why it cannot be converted */
const char *rp_format_store(uint32_t value, unsigned bits, unsigned num_format, bool d16,
                            uint32_t *ret_raw);

/** The constant one in a register, as selector SEL_1 gives it. */
uint32_t rp_format_one(unsigned num_format, bool d16);

#endif
