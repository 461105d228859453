/* Scalar operand values, the handlers of instructions that do nothing or cannot execute, the map
 * from GPU to host addresses, and the log of atomics.
 */
#include "device/isa/wave_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/mem_access.h"
#include "device/isa/mem_address.h"

uint64_t rp_opnd_scalar_slow(const struct rp_wave *wave, const struct rp_opnd *o)
{
    switch (o->kind) {
    case RP_OPND_SGPR:
        return o->dwords > 1 ? rp_sgpr64(wave, o->index) : wave->sgpr[o->index];
    case RP_OPND_CONST:
        return o->imm;
    case RP_OPND_SPECIAL:
        break;
    default:
        return 0;
    }
    const struct rp_exec_host *host = rp_wave_host(wave);
    /* The operand encodings are those of the ISA guide's scalar source table. */
    switch (o->index) {
    case 235: /* src_shared_base as one dword is the aperture's high half. */
        return o->dwords > 1 ? host->lds_aperture : host->lds_aperture >> 32;
    case 236: /* src_shared_limit needs this because apertures are 4 GiB. */
        return o->dwords > 1 ? host->lds_aperture | 0xffffffffu : host->lds_aperture >> 32;
    case 237:
        return o->dwords > 1 ? host->scratch_aperture : host->scratch_aperture >> 32;
    case 238:
        return o->dwords > 1 ? host->scratch_aperture | 0xffffffffu : host->scratch_aperture >> 32;
    case 251:
        return RP_VCC(wave) == 0;
    case 252:
        return RP_EXEC(wave) == 0;
    case 253:
        return wave->scc;
    default: /* The decoder gives instructions with other encodings the operand fault handler. */
        return 0;
    }
}

int rp_nop(struct rp_wave *wave, const struct rp_insn *in)
{
    (void)wave;
    (void)in;
    return RP_STEP_NEXT;
}

int rp_fault_unimplemented(struct rp_wave *wave, const struct rp_insn *in)
{
    return rp_wave_fault(wave, in, RP_FAULT_UNIMPLEMENTED, "this instruction is not implemented");
}

int rp_fault_operand(struct rp_wave *wave, const struct rp_insn *in)
{
    return rp_wave_fault(wave, in, RP_FAULT_UNIMPLEMENTED,
                         "an operand or modifier of this instruction is not supported");
}

int rp_fault_illegal(struct rp_wave *wave, const struct rp_insn *in)
{
    return rp_wave_fault(wave, in, RP_FAULT_ILLEGAL_OPCODE,
                         "0x%08x is no %s instruction known here", in->raw[0],
                         rp_isa_target_name());
}

void rp_mem_init(struct rp_mem *m, const struct rp_exec_host *host)
{
    memset(m, 0, sizeof *m);
    m->host = host;
    m->generation = host->generation ? __atomic_load_n(host->generation, __ATOMIC_ACQUIRE) : 0;
}

void rp_mem_forget(struct rp_mem *m, uint64_t generation)
{
    memset(m->side, 0, sizeof m->side);
    m->generation = generation;
}

static enum rp_memory_location place_of(const struct rp_mem *m, uint64_t va)
{
    return m->host->place ? m->host->place(m->host->ctx, va) : RP_PLACE_LOCAL;
}

void *rp_mem_find_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    uint64_t begin = 0, end = 0;
    int64_t delta = 0;
    if (va + bytes < va)
        return NULL;
    if (m->host->range && m->host->range(m->host->ctx, va, (int)write, &begin, &end, &delta) &&
        begin <= va && va < end) {
        m->side[write][rp_mem_index(va)] = (struct rp_mem_range){.begin = begin,
                                                                 .span_bytes = end - begin,
                                                                 .delta = (uint64_t)delta,
                                                                 .place = place_of(m, va)};
        if (end - va >= bytes)
            return (void *)(uintptr_t)(va + (uint64_t)delta);
    }
    return m->host->translate(m->host->ctx, va, bytes, (int)write);
}

/* A lane's scattered dword costs this much on a link, because the L2 asks for 64 bytes there
 * (TCC_EA0_RDREQ, which counts 32-byte requests separately, of AMD's MI300 performance counters).
 */
enum { REQUEST_BYTES = 64 };

static uint64_t link_bytes(uint64_t span_bytes, uint64_t lanes)
{
    uint64_t most = REQUEST_BYTES * lanes;
    return span_bytes < most ? span_bytes : most;
}

void *rp_mem_lanes_at_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write,
                           uint64_t exec)
{
    void *at = rp_mem_find(m, va, bytes, write);
    const struct rp_mem_range *r = rp_mem_entry(m, va, write);
    if (!at || !m->counts)
        return at;
    enum rp_memory_location place = va - r->begin < r->span_bytes ? r->place : place_of(m, va);
    if (place != RP_PLACE_LOCAL)
        m->counts->link_bytes[place][write] +=
            link_bytes(bytes, (uint64_t)__builtin_popcountll(exec));
    return at;
}

void rp_mem_count_lanes(struct rp_mem *m, const uint64_t *va, uint64_t exec, unsigned bytes,
                        unsigned write)
{
    struct {
        uint64_t low, high, lanes;
    } spans[RP_PLACES] = {0};
    for (uint64_t left = m->counts ? exec : 0; left; left &= left - 1) {
        uint64_t at = va[__builtin_ctzll(left)];
        rp_mem_find(m, at, 1, write); /* The lookup caches its range, if it is in any. */
        const struct rp_mem_range *r = rp_mem_entry(m, at, write);
        enum rp_memory_location place = at - r->begin < r->span_bytes ? r->place : place_of(m, at);
        if (!spans[place].lanes || at < spans[place].low)
            spans[place].low = at;
        if (at > spans[place].high)
            spans[place].high = at;
        spans[place].lanes++;
    }
    for (unsigned place = 0; place < RP_PLACES; place++)
        if (place != RP_PLACE_LOCAL && spans[place].lanes)
            m->counts->link_bytes[place][write] +=
                link_bytes(spans[place].high - spans[place].low + bytes, spans[place].lanes);
}

/* Such accesses cross from one mapping into another that lies elsewhere in host memory, as two
 * neighbouring pieces of a reserved address range do. They are rare, so the ordinary ways try
 * first.
 */

enum { WIDEST_BYTES = 64 };

bool rp_mem_read_split(struct rp_wave *w, uint64_t va, void *to, unsigned bytes)
{
    uint8_t *out = to;
    for (unsigned i = 0; i < bytes; i++) {
        const uint8_t *p = rp_mem_find(rp_mem_of(w), va + i, 1, 0);
        if (!p)
            return false;
        out[i] = *p;
    }
    return true;
}

bool rp_mem_write_split(struct rp_wave *w, uint64_t va, const void *from, unsigned bytes)
{
    const uint8_t *in = from;
    uint8_t *place[WIDEST_BYTES]; /* All bytes are looked up before any is written. */
    for (unsigned i = 0; i < bytes; i++) {
        place[i] = rp_mem_find(rp_mem_of(w), va + i, 1, 1);
        if (!place[i])
            return false;
    }
    for (unsigned i = 0; i < bytes; i++)
        *place[i] = in[i];
    return true;
}

enum { PAGE_SHIFT = 12, PAGE_BITS = RP_ATOMIC_LOG_PAGE_WORDS * 64 };

void rp_atomic_log_apply(struct rp_atomic_log *log, struct rp_mem *mem)
{
    bool changed;
    while (log->applied < log->count) {
        /* It is counted before the access, because one that traps is left out
         * (rp_atomic_log_retire()).
         */
        const struct rp_atomic_log_entry *e = &log->entry[log->applied++];
        void *p = rp_mem_find(mem, e->va, e->bytes, 1); /* Traffic was counted when it was noted. */
        if (p)
            e->fn(p, e->data, e->data, &changed);
    }
    rp_atomic_log_clear(log);
}

static unsigned page_bit(uint64_t page)
{
    return (unsigned)(page * 0x9e3779b97f4a7c15u >> 54) % PAGE_BITS;
}

void rp_atomic_log_add(struct rp_wave *w, rp_atomic_fn *fn, uint64_t va, uint32_t bytes,
                       uint64_t data)
{
    struct rp_atomic_log *log = w->group->env->log;
    log->entry[log->count++] =
        (struct rp_atomic_log_entry){.fn = fn, .va = va, .bytes = bytes, .data = data};
    if (va < log->low)
        log->low = va;
    if (va + 8 > log->high)
        log->high = va + 8;
    unsigned bit = page_bit(va >> PAGE_SHIFT);
    log->pages[bit / 64] |= 1ull << bit % 64;
}

bool rp_atomic_log_touches(const struct rp_atomic_log *log, uint64_t from, uint64_t to)
{
    if (to <= log->low || from >= log->high)
        return false;
    uint64_t page = from >> PAGE_SHIFT, last = (to - 1) >> PAGE_SHIFT;
    if (last - page > 64)
        return true;
    for (; page <= last; page++) {
        unsigned bit = page_bit(page);
        if (log->pages[bit / 64] >> bit % 64 & 1)
            return true;
    }
    return false;
}

int rp_wave_fault(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                  const char *fmt, ...)
{
    char reason[110], text[80];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    uint64_t pc = w->pc - in->size_bytes;
    rp_isa_print(in, pc, text, sizeof text);
    w->fault = (struct rp_fault){.kind = kind, .pc = pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text, "%s: %s", text, reason);
    return RP_STEP_FAULT;
}

int rp_wave_fault_address(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                          int lane, uint64_t address, const char *what)
{
    if (lane < 0)
        rp_wave_fault(w, in, kind, "%s 0x%llx", what, (unsigned long long)address);
    else
        rp_wave_fault(w, in, kind, "%s 0x%llx (lane %d)", what, (unsigned long long)address, lane);
    w->fault.address = address;
    w->fault.lane = lane;
    return RP_STEP_FAULT;
}
