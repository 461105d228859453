/**
 * @file segments.c
 * @brief Where a code object has what can be variables.
 */
#include <stdlib.h>

#include "base/err.h"
#include "replay/replay.h"
#include "trace/code_object.h"

enum { PAGE = 4096 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add_segment(struct rp_replay_kernel *k, const Elf64_Phdr *p, uint64_t from,
                        uint64_t end)
{
    if (from < end)
        k->segments[k->segment_count++] =
            (struct rp_replay_span){.captured = from,
                                    .from = from,
                                    .bytes = end - from,
                                    .writable = (p->p_flags & PF_W) != 0};
}

/* All between and behind them, to the end of the last page: the loader's memory for a code object
 * is one piece, and the GPU can write all of it. */
static void find_fixed(struct rp_replay_kernel *k, uint64_t least, uint64_t most)
{
    const uint64_t end =
        most <= UINT64_MAX - PAGE ? (most + PAGE - 1) & ~(uint64_t)(PAGE - 1) : most;
    uint64_t at = least;

    for (size_t i = 0; i <= k->segment_count; i++) {
        const uint64_t from = i < k->segment_count ? k->segments[i].from : end;

        if (from > at)
            k->fixed[k->fixed_count++] = (struct rp_replay_span){.from = at, .bytes = from - at};
        if (i < k->segment_count && from + k->segments[i].bytes > at)
            at = from + k->segments[i].bytes;
    }
}

/* Segments with variables and constants (which the program can set): all but code, and what the
 * loader fills with addresses. */
int rp_replay_find_segments(struct rp_replay_kernel *k, const uint8_t *bytes, size_t size,
                            uint64_t limit, struct rp_err *err)
{
    struct rp_code_elf elf;
    uint64_t relro = 0, relro_end = 0, least = UINT64_MAX, most = 0;
    size_t count;

    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT,
                       "the code object is no ELF file with sound program headers");
    count = elf.header.e_phnum;
    k->segments = calloc(2 * count + 1, sizeof *k->segments);
    k->fixed = calloc(2 * count + 2, sizeof *k->fixed);
    if (!k->segments || !k->fixed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            Elf64_Phdr p;

            if (!rp_code_elf_segment(&elf, i, &p)) /* the runtime would not see */
                return rp_fail(err, RP_BAD_INPUT, "the code object is cut short");
            if (p.p_memsz > UINT64_MAX - p.p_vaddr)
                return rp_fail(err, RP_BAD_INPUT, "the code object has a segment without an end");
            if (pass == 0 && p.p_type == PT_GNU_RELRO) {
                relro = p.p_vaddr;
                relro_end = p.p_vaddr + p.p_memsz;
            }
            if (p.p_type == PT_LOAD && p.p_memsz) {
                least = smaller(least, p.p_vaddr);
                most = p.p_vaddr + p.p_memsz > most ? p.p_vaddr + p.p_memsz : most;
            }
            if (pass == 0 || p.p_type != PT_LOAD || p.p_flags & PF_X)
                continue;
            add_segment(k, &p, p.p_vaddr, smaller(p.p_vaddr + p.p_memsz, smaller(relro, limit)));
            add_segment(k, &p, p.p_vaddr > relro_end ? p.p_vaddr : relro_end,
                        smaller(p.p_vaddr + p.p_memsz, limit));
        }
    find_fixed(k, least, most);
    return 0;
}
