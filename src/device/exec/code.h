/**
 * @file code.h
 * @brief Decoded instructions by address, shared by all dispatches of the process.
 *
 * The unit is a page of 4 KiB of GPU code. A page remembers the bytes it was decoded from; every
 * dispatch compares them with memory when it first enters the page, so rewritten code is noticed
 * even when nobody announced it.
 */
#ifndef RP_DEVICE_EXEC_CODE_H
#define RP_DEVICE_EXEC_CODE_H

#include <stdint.h>

#include "memory.h"
#include "wave.h"

enum {
    RP_CODE_PAGE_BYTES = 4096,
    RP_CODE_PAGE_INSNS = RP_CODE_PAGE_BYTES / 4,
    RP_CODE_REACH = 12, /**< how far an instruction that begins in a page may go beyond it */
};

/** Translations of a page for waves that are recorded (trail.h). */
struct rp_code_recorded {
    const struct rp_jit_entry *native[RP_CODE_PAGE_INSNS]; /**< as rp_insn.native; atomic */
    uint8_t heat[RP_CODE_PAGE_INSNS];
};

struct rp_code_page {
    uint64_t base_va;
    unsigned refs;             /**< the cache's own and one per dispatch using it; atomic */
    struct rp_code_page *next; /**< hash chain */
    uint8_t bytes[RP_CODE_PAGE_BYTES +
                  RP_CODE_REACH];  /**< as decoded; the last instruction may reach beyond */
    uint32_t valid_bytes;          /**< how many of them are mapped */
    struct rp_jit_region *regions; /**< its translations (jit/jit.h), and how large they are */
    size_t region_bytes;
    uint8_t heat[RP_CODE_PAGE_INSNS];  /**< how often an instruction has been entered; atomic */
    struct rp_code_recorded *recorded; /**< NULL until a recorded wave has come by; atomic */
    /** One per dword; fn is NULL until decoded, and is written last. */
    struct rp_insn insn[RP_CODE_PAGE_INSNS];
};

/**
 * The page that holds @p va, with a reference for the caller.
 * @return NULL with *ret_kind MEMORY (code not mapped) or NO_MEMORY
 */
struct rp_code_page *rp_code_page_get(struct rp_mem *mem, uint64_t va,
                                      enum rp_fault_kind *ret_kind);

/** Accepts NULL. */
void rp_code_page_put(struct rp_code_page *page);

/** Translates hot code of @p page from slot @p index on. */
void rp_code_translate(struct rp_code_page *page, unsigned index);

/** The page's, made when there is none; NULL when the host is out of memory. */
struct rp_code_recorded *rp_code_recorded_new(struct rp_code_page *page);

/** The same for recorded waves, of a page that has rp_code_page.recorded. */
void rp_code_translate_recorded(struct rp_code_page *page, unsigned index);

/** Whether what sampled workgroups access is noted, for counters of caches. */
bool rp_code_observes(void);

/** Decodes the instruction of @p page at slot @p index. */
void rp_code_decode(struct rp_code_page *page, unsigned index);

#endif
