/**
 * @file variables.c
 * @brief Variables and constants of the kernel's code object.
 *
 * The loader puts the code object of the kernel where it likes. Its variables are thus there twice:
 * at the captured address, for pointers in memory and arguments, and where its code finds them.
 * Both get the captured contents; what is changed at either is the result. Another code object has
 * its variables at other offsets: those with the name and size of a captured one take its contents
 * and give its result. Others are left alone between runs, as they would be in the program: a
 * kernel that computes the first time only is found out. When two kernels are compared, they are
 * brought back to what the loader has left before each timed run: a kernel that keeps its result
 * for the next run has nothing of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "replay/addresses.h"
#include "replay/replay.h"
#include "replay/write_set.h"
#include "trace/code_object.h"

const struct rp_capture_memory *rp_replay_kernel_code(const struct rp_replay *r)
{
    for (size_t i = 0; i < r->memory_count; i++)
        if (r->memory[i].region.memory_class == RP_MEMORY_CODE &&
            r->memory[i].region.base == r->facts->dispatch.code_base)
            return &r->memory[i];
    return NULL;
}

/* --- symbols ------------------------------------------------------------------------------- */

static bool find_symbols(const uint8_t *bytes, size_t size, struct rp_code_symbols *ret)
{
    struct rp_code_elf elf;

    return rp_code_elf_open(bytes, size, &elf) && rp_code_elf_symbols(&elf, ret);
}

/* A variable, and not a kernel's descriptor. */
static const char *variable_at(const struct rp_code_symbols *symbols, size_t i, Elf64_Sym *ret)
{
    const char *name = rp_code_symbol(symbols, i, ret);

    return name && ELF64_ST_TYPE(ret->st_info) == STT_OBJECT && ret->st_size &&
                   !rp_code_symbol_is_kernel(name)
               ? name
               : NULL;
}

static bool inside(const struct rp_replay_span *spans, size_t count, const Elf64_Sym *s)
{
    for (size_t i = 0; i < count; i++)
        if (s->st_value >= spans[i].from && s->st_size <= spans[i].bytes &&
            s->st_value - spans[i].from <= spans[i].bytes - s->st_size)
            return true;
    return false;
}

int rp_replay_find_symbol(const uint8_t *elf, size_t size, const char *name, uint64_t *ret,
                          struct rp_err *err)
{
    struct rp_code_symbols symbols;
    struct rp_code_elf object;
    Elf64_Sym symbol;

    if (!rp_code_elf_open(elf, size, &object) || !rp_code_elf_symbols(&object, &symbols))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no sound symbol table");
    if (!rp_code_elf_find(&object, name, &symbol))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no symbol %s", name);
    *ret = symbol.st_value;
    return 0;
}

int rp_replay_pair_variables(struct rp_replay_kernel *k, const uint8_t *elf, size_t size,
                             const struct rp_replay_kernel *original, const uint8_t *captured,
                             size_t captured_size, struct rp_err *err)
{
    struct rp_code_symbols own, theirs;

    if (!find_symbols(elf, size, &own) || !find_symbols(captured, captured_size, &theirs))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no sound symbol table");
    k->variables = calloc(own.count + 1, sizeof *k->variables);
    if (!k->variables)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < own.count; i++) {
        Elf64_Sym s, other;
        const char *name = variable_at(&own, i, &s);

        if (!name || !inside(k->segments, k->segment_count, &s))
            continue;
        for (size_t j = 0; j < theirs.count; j++) {
            const char *other_name = variable_at(&theirs, j, &other);

            if (other_name && strcmp(name, other_name) == 0 && other.st_size == s.st_size &&
                inside(original->segments, original->segment_count, &other)) {
                k->variables[k->variable_count++] = (struct rp_replay_span){
                    .captured = other.st_value, .from = s.st_value, .bytes = s.st_size};
                break;
            }
        }
    }
    return 0;
}

/* --- contents ------------------------------------------------------------------------------ */

static int page_of(struct rp_replay *r, const struct rp_capture_memory *m,
                   enum rp_region_state state, uint64_t from, uint64_t bytes, uint8_t *to,
                   struct rp_err *err)
{
    uint8_t page[RP_PAGE_BYTES];
    int rc = rp_capture_page(r->capture, m, state, from / RP_PAGE_BYTES, page, err);

    if (rc == 0)
        memcpy(to, page + from % RP_PAGE_BYTES, bytes);
    return rc;
}

/* Up to the end of a page. */
static uint64_t within_page(uint64_t from, uint64_t end)
{
    const uint64_t left = RP_PAGE_BYTES - from % RP_PAGE_BYTES;

    return end - from < left ? end - from : left;
}

static int fill_variable(struct rp_replay *r, const struct rp_capture_memory *m,
                         const struct rp_replay_span *v, struct rp_err *err)
{
    uint64_t bytes;
    int rc = 0;

    for (uint64_t at = 0; at < v->bytes && rc == 0; at += bytes) {
        bytes = within_page(v->captured + at, v->captured + v->bytes);
        rc = page_of(r, m, RP_STATE_BEFORE, v->captured + at, bytes, r->stage, err);
        if (rc == 0)
            rc = rp_replay_move(r, r->kernel->code_base + v->from + at, false, bytes, true, err);
    }
    return rc;
}

int rp_replay_fill_variables(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = rp_replay_kernel_code(r);
    const struct rp_replay_kernel *k = r->kernel;
    int rc = 0;

    for (size_t i = 0; m && i < k->variable_count && rc == 0; i++)
        rc = fill_variable(r, m, &k->variables[i], err);
    return rc;
}

/* --- which are written --------------------------------------------------------------------- */

/* The page of a variable as it was before the dispatch, with bits flipped. */
static int flipped_piece(struct rp_replay *r, const struct rp_capture_memory *m, uint64_t captured,
                         uint8_t *page, struct rp_err *err)
{
    const uint64_t number = captured / RP_PAGE_BYTES;
    const struct rp_addresses addresses = {.ranges = r->ranges, .count = r->range_count};
    int rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, number, page, err);

    if (rc == 0)
        rp_write_set_flip(RP_FLIP_EACH, rp_replay_place(r, m, number), page, RP_PAGE_BYTES,
                          &addresses);
    return rc;
}

int rp_replay_flip_variables(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = rp_replay_kernel_code(r);
    const struct rp_replay_kernel *k = &r->original;
    uint8_t page[RP_PAGE_BYTES];
    int rc = 0, any = 0;

    for (size_t i = 0; m && i < k->segment_count; i++) {
        const struct rp_replay_span *v = &k->segments[i];
        uint64_t bytes;

        if (!v->writable)
            continue;
        any = 1;
        for (uint64_t at = 0; at < v->bytes && rc == 0; at += bytes) {
            bytes = within_page(v->captured + at, v->captured + v->bytes);
            rc = flipped_piece(r, m, v->captured + at, page, err);
            if (rc < 0)
                return rc;
            memcpy(r->stage, page + (v->captured + at) % RP_PAGE_BYTES, bytes);
            rc = rp_replay_move(r, k->code_base + v->from + at, false, bytes, true, err);
        }
    }
    return rc < 0 ? rc : any;
}

static void count_piece(const uint8_t *put, const uint8_t *got, const uint8_t *before,
                        const uint8_t *after, uint64_t bytes, struct rp_variables_written *ret)
{
    for (uint64_t at = 0; at < bytes; at += 4) {
        const size_t here = bytes - at < 4 ? bytes - at : 4;
        const bool same = memcmp(before + at, after + at, here) == 0;

        if (same && memcmp(put + at, got + at, here) == 0)
            continue;
        ret->bytes += here;
        ret->blind_bytes += same ? here : 0;
    }
}

int rp_replay_count_variables(struct rp_replay *r, struct rp_variables_written *ret,
                              struct rp_err *err)
{
    const struct rp_capture_memory *m = rp_replay_kernel_code(r);
    const struct rp_replay_kernel *k = &r->original;
    uint8_t put[RP_PAGE_BYTES], before[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
    struct rp_variables_written sum = {0};

    for (size_t i = 0; m && i < k->segment_count; i++) {
        const struct rp_replay_span *v = &k->segments[i];
        uint64_t bytes;

        for (uint64_t at = 0; v->writable && at < v->bytes; at += bytes) {
            const uint64_t from = v->captured + at, offset = from % RP_PAGE_BYTES;
            int rc = flipped_piece(r, m, from, put, err);

            bytes = within_page(from, v->captured + v->bytes);
            if (rc == 0)
                rc = page_of(r, m, RP_STATE_BEFORE, from, bytes, before, err);
            if (rc == 0)
                rc = page_of(r, m, RP_STATE_AFTER, from, bytes, after, err);
            if (rc == 0)
                rc = rp_replay_move(r, k->code_base + v->from + at, false, bytes, false, err);
            if (rc < 0)
                return rc;
            count_piece(put + offset, r->stage, before, after, bytes, &sum);
        }
    }
    *ret = sum;
    return 0;
}

/* --- results ------------------------------------------------------------------------------- */

/* What the kernel has changed where its code finds the variables, among those of a page. */
static int merge_own(struct rp_replay *r, uint64_t from, uint64_t bytes, const uint8_t *before,
                     uint8_t *got, struct rp_err *err)
{
    const struct rp_replay_kernel *k = r->kernel;
    int rc = 0;

    for (size_t i = 0; i < k->variable_count && rc == 0; i++) {
        const struct rp_replay_span *v = &k->variables[i];
        const uint64_t low = v->captured > from ? v->captured : from;
        const uint64_t end = v->captured + v->bytes;
        const uint64_t high = end < from + bytes ? end : from + bytes;

        if (low >= high)
            continue;
        rc = rp_replay_move(r, k->code_base + v->from + (low - v->captured), false, high - low,
                            false, err);
        for (uint64_t j = 0; j < high - low && rc == 0; j++)
            if (r->stage[j] != before[low - from + j])
                got[low - from + j] = r->stage[j];
    }
    return rc;
}

static int compare_piece(struct rp_replay *r, const struct rp_capture_memory *m, uint64_t from,
                         uint64_t bytes, struct rp_replay_verdict *v, struct rp_err *err)
{
    uint8_t before[RP_PAGE_BYTES], after[RP_PAGE_BYTES], got[RP_PAGE_BYTES];
    int rc = page_of(r, m, RP_STATE_BEFORE, from, bytes, before, err);

    if (rc == 0)
        rc = page_of(r, m, RP_STATE_AFTER, from, bytes, after, err);
    if (rc == 0)
        rc = rp_replay_move(r, m->region.base + from, false, bytes, false, err);
    if (rc < 0)
        return rc;
    memcpy(got, r->stage, bytes);
    rc = merge_own(r, from, bytes, before, got, err);
    if (rc == 0)
        rp_replay_note(v, m->region.base + from, got, after, bytes);
    return rc;
}

int rp_replay_compare_variables(struct rp_replay *r, struct rp_replay_verdict *v,
                                struct rp_err *err)
{
    const struct rp_capture_memory *m = rp_replay_kernel_code(r);
    const struct rp_replay_kernel *captured = &r->original;
    int rc = 0;

    for (size_t i = 0; m && i < captured->segment_count && rc == 0; i++) {
        const uint64_t end = captured->segments[i].from + captured->segments[i].bytes;
        uint64_t bytes;

        for (uint64_t from = captured->segments[i].from; from < end && rc == 0; from += bytes) {
            bytes = within_page(from, end);
            rc = compare_piece(r, m, from, bytes, v, err);
            v->bytes += bytes;
        }
    }
    v->regions += m != NULL;
    return rc;
}

/* --- as loaded ----------------------------------------------------------------------------- */

enum { MOST_LOADED_BYTES = 256 << 20 };

enum loaded_move { KEEP, RESET, CHECK };

/* Reads what is kept at @p at, brings it back, or looks whether it is still there. */
static int move_spans(struct rp_replay *r, const struct rp_replay_kernel *k,
                      const struct rp_replay_span *spans, size_t count, uint8_t *at,
                      enum loaded_move what, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        for (uint64_t done = 0; done < spans[i].bytes && rc == 0;) {
            const uint64_t left = spans[i].bytes - done;
            const uint64_t bytes = left < RP_REPLAY_STAGE_BYTES ? left : RP_REPLAY_STAGE_BYTES;

            if (what == RESET)
                memcpy(r->stage, at, bytes);
            rc = rp_replay_move(r, k->code_base + spans[i].from + done, false, bytes, what == RESET,
                                err);
            if (what == KEEP)
                memcpy(at, r->stage, bytes);
            if (what == CHECK && rc == 0 && memcmp(at, r->stage, bytes) != 0)
                rc = rp_fail(err, RP_VERDICT,
                             "the code of %s is other than it was loaded: a kernel under test "
                             "writes into code, and what it keeps there for its next run would "
                             "make it seem faster or right",
                             k->path ? k->path : "the captured kernel");
            at += bytes;
            done += bytes;
        }
    return rc;
}

static int keep_spans(struct rp_replay *r, const struct rp_replay_kernel *k,
                      const struct rp_replay_span *spans, size_t count, uint8_t **ret,
                      struct rp_err *err)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += spans[i].bytes < MOST_LOADED_BYTES ? spans[i].bytes : MOST_LOADED_BYTES + 1;
    if (total > MOST_LOADED_BYTES)
        return rp_fail(err, RP_VERDICT,
                       "%llu bytes of its code object or more are too many to be kept",
                       (unsigned long long)total);
    *ret = malloc(total + 1);
    return *ret ? move_spans(r, k, spans, count, *ret, KEEP, err)
                : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

int rp_replay_keep_code(struct rp_replay *r, struct rp_replay_kernel *k, struct rp_err *err)
{
    return keep_spans(r, k, k->fixed, k->fixed_count, &k->loaded_fixed, err);
}

int rp_replay_keep_loaded(struct rp_replay *r, struct rp_replay_kernel *k, struct rp_err *err)
{
    int rc = keep_spans(r, k, k->segments, k->segment_count, &k->loaded, err);

    return rc < 0 ? rc : rp_replay_keep_code(r, k, err);
}

static int check_loaded_code(struct rp_replay *r, const struct rp_replay_kernel *k,
                             struct rp_err *err)
{
    return k->loaded_fixed ? move_spans(r, k, k->fixed, k->fixed_count, k->loaded_fixed, CHECK, err)
                           : 0;
}

int rp_replay_check_code(struct rp_replay *r, struct rp_err *err)
{
    int rc = check_loaded_code(r, &r->original, err);

    for (unsigned i = 0; i < RP_REPLAY_CANDIDATES && rc == 0; i++)
        rc = check_loaded_code(r, &r->candidates[i], err);
    return rc < 0 ? rc : rp_replay_check_copy(r, err);
}

int rp_replay_reset_loaded(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_replay_kernel *k = r->kernel;
    int rc = k->loaded ? move_spans(r, k, k->segments, k->segment_count, k->loaded, RESET, err) : 0;

    return rc < 0 || !k->loaded ? rc : rp_replay_fill_variables(r, err);
}
