/**
 * @file mem_private.h
 * @brief The private segment (scratch) and the apertures through which FLAT reaches it and LDS.
 */
#ifndef RP_DEVICE_ISA_MEM_PRIVATE_H
#define RP_DEVICE_ISA_MEM_PRIVATE_H

#include "mem_access.h"

enum rp_space { RP_SPACE_GLOBAL, RP_SPACE_LDS, RP_SPACE_PRIVATE };

/** Which memory a flat address means: the hardware compares the high halves. */
RP_INLINE enum rp_space rp_space_of(const struct rp_exec_host *host, uint64_t va)
{
    uint32_t high = (uint32_t)(va >> 32);
    if (high == (uint32_t)(host->lds_aperture >> 32))
        return RP_SPACE_LDS;
    if (high == (uint32_t)(host->scratch_aperture >> 32))
        return RP_SPACE_PRIVATE;
    return RP_SPACE_GLOBAL;
}

RP_INLINE bool rp_private_fits(const struct rp_wave *w, uint32_t offset, unsigned bytes)
{
    return (uint64_t)offset + bytes <= w->scratch_lane_bytes;
}

RP_INLINE uint8_t *rp_private_at(const struct rp_wave *w, unsigned lane, uint32_t offset)
{
    return w->scratch + (((size_t)(offset / 4) * RP_LANES) + lane) * 4 + offset % 4;
}

/* The byte order of a lane's segment is interleaved: move it in pieces that stay inside a dword,
 * whole ones where that is known beforehand. */
RP_INLINE void rp_private_read(const struct rp_wave *w, unsigned lane, uint32_t offset, void *to,
                               unsigned bytes)
{
    uint8_t *out = to;
    for (; (offset | bytes) % 4 == 0 && bytes; offset += 4, out += 4, bytes -= 4)
        memcpy(out, rp_private_at(w, lane, offset), 4);
    while (bytes) {
        unsigned piece = 4 - offset % 4 < bytes ? 4 - offset % 4 : bytes;
        memcpy(out, rp_private_at(w, lane, offset), piece);
        out += piece;
        offset += piece;
        bytes -= piece;
    }
}

RP_INLINE void rp_private_touch(struct rp_wave *w, uint32_t end)
{
    end = (end + 3) & ~3u;
    if (end > w->scratch_dirty_bytes)
        w->scratch_dirty_bytes = end;
}

RP_INLINE void rp_private_write(struct rp_wave *w, unsigned lane, uint32_t offset, const void *from,
                                unsigned bytes)
{
    const uint8_t *in = from;
    rp_private_touch(w, offset + bytes);
    for (; (offset | bytes) % 4 == 0 && bytes; offset += 4, in += 4, bytes -= 4)
        memcpy(rp_private_at(w, lane, offset), in, 4);
    while (bytes) {
        unsigned piece = 4 - offset % 4 < bytes ? 4 - offset % 4 : bytes;
        memcpy(rp_private_at(w, lane, offset), in, piece);
        in += piece;
        offset += piece;
        bytes -= piece;
    }
}

/** Addresses of all lanes of a FLAT or GLOBAL instruction, offset included. */
void rp_flat_addresses(struct rp_wave *w, const struct rp_insn *in, uint64_t ret_va[RP_LANES]);

#endif
