/**
 * @file isa_decode.h
 * @brief What the parts of the decoder share. Private to decode*.c.
 *
 * Every function takes the state of one instruction; one that finds a value no instruction can
 * have sets rp_dec.bad, and the caller need not look before it goes on.
 */
#ifndef RP_DEVICE_ISA_ISA_DECODE_H
#define RP_DEVICE_ISA_ISA_DECODE_H

#include <stdint.h>

static inline uint32_t bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

#endif
