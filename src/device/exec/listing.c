/* The instructions before a fault, for its message. */
#include <stdio.h>
#include <string.h>

#include "../isa/insn.h"
#include "exec.h"

enum { FARTHEST_BYTES = 1 << 20, MOST_LINES = 16 };

/* Decodes the instruction at va; 0 when it is none or not mapped. */
static unsigned decode_at(const struct rp_exec_host *host, uint64_t va, struct rp_insn *ret)
{
    uint32_t words[3] = {0};
    size_t count = 0;
    for (; count < 3; count++) {
        const void *at = host->translate(host->ctx, va + 4 * count, 4, 0);
        if (!at)
            break;
        memcpy(&words[count], at, 4);
    }
    return rp_isa_decode(words, count, ret);
}

static size_t put_line(const struct rp_exec_host *host, uint64_t from_va, uint64_t va, bool last,
                       char *text, size_t room)
{
    struct rp_insn in;
    char insn[160];
    decode_at(host, va, &in);
    rp_isa_print(&in, va, insn, sizeof insn);
    int n = snprintf(text, room, "  %s +0x%04llx  %s\n", last ? "->" : "  ",
                     (unsigned long long)(va - from_va), insn);
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

size_t rp_exec_listing(const struct rp_exec_host *host, uint64_t from_va, uint64_t pc,
                       unsigned lines, char *text, size_t room)
{
    uint64_t latest[MOST_LINES], va = from_va;
    size_t count = 0, used = 0;
    if (lines > MOST_LINES || pc < from_va || pc - from_va > FARTHEST_BYTES || !lines)
        return 0;
    for (;;) {
        struct rp_insn in;
        latest[count++ % lines] = va;
        if (va == pc)
            break;
        unsigned bytes = decode_at(host, va, &in);
        if (!bytes || va > pc)
            return 0;
        va += bytes;
    }
    size_t first = count > lines ? count - lines : 0;
    for (size_t i = first; i < count; i++) {
        size_t n =
            put_line(host, from_va, latest[i % lines], i + 1 == count, text + used, room - used);
        if (!n)
            break;
        used += n;
    }
    return used;
}
