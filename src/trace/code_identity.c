/* What a kernel consists of, so that kernels of two code objects can be told apart, or found
 *        to be the same one.
 *
 * That is its descriptor, its instructions, and all that these refer to: functions that are called,
 * tables, variables. Addresses are taken for what is there, so that kernels that only lie elsewhere
 * are the same. The injected tool has it, too: it needs libc only.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/code_object.h"

enum {
    ENTRY_BYTES = 8,
    MOST_SECTIONS = 4096, /* compilers make some twenty; each address is looked for in all */
};

/* --- what a code object holds -------------------------------------------------------------- */

struct named {
    uint64_t at, bytes;
    const char *name;
    bool function;
    bool local;
};

struct rp_code_identity {
    struct rp_code_elf elf;
    Elf64_Shdr *sections;
    size_t section_count;
    struct named *named; /* by their places, of which no two overlap */
    size_t named_count;
    Elf64_Rela *relocations; /* by their places */
    size_t relocation_count;
    struct rp_code_symbols symbols; /* dynamic ones, to which relocations refer */
};

void rp_code_identity_free(struct rp_code_identity *h)
{
    if (!h)
        return;
    free(h->sections);
    free(h->named);
    free(h->relocations);
    free(h);
}

static bool is_whole(const struct rp_code_identity *h, const Elf64_Shdr *s)
{
    return s->sh_offset <= h->elf.size && s->sh_size <= h->elf.size - s->sh_offset;
}

static bool read_sections(struct rp_code_identity *h)
{
    const Elf64_Ehdr *e = &h->elf.header;

    if (e->e_shentsize != sizeof *h->sections || e->e_shnum > MOST_SECTIONS ||
        e->e_shoff > h->elf.size || e->e_shnum * sizeof *h->sections > h->elf.size - e->e_shoff)
        return false;
    h->sections = calloc(e->e_shnum + (size_t)1, sizeof *h->sections);
    if (!h->sections)
        return false;
    memcpy(h->sections, h->elf.bytes + e->e_shoff, e->e_shnum * sizeof *h->sections);
    h->section_count = e->e_shnum;
    return true;
}

static bool add_symbols(struct rp_code_identity *h, const Elf64_Shdr *table)
{
    const Elf64_Shdr *names =
        table->sh_link < h->section_count ? &h->sections[table->sh_link] : NULL;
    const size_t count = table->sh_size / sizeof(Elf64_Sym);
    struct named *grown;

    if (!names || !is_whole(h, table) || !is_whole(h, names) || !names->sh_size ||
        h->elf.bytes[names->sh_offset + names->sh_size - 1])
        return false;
    grown = realloc(h->named, (h->named_count + count + 1) * sizeof *grown);
    if (!grown)
        return false;
    h->named = grown;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym s;
        unsigned type;

        memcpy(&s, h->elf.bytes + table->sh_offset + i * sizeof s, sizeof s);
        type = ELF64_ST_TYPE(s.st_info);
        if (s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE || s.st_name >= names->sh_size ||
            !(type == STT_FUNC || (type == STT_OBJECT && s.st_size)))
            continue;
        h->named[h->named_count++] =
            (struct named){.at = s.st_value,
                           .bytes = s.st_size,
                           .name = (const char *)h->elf.bytes + names->sh_offset + s.st_name,
                           .function = type == STT_FUNC,
                           .local = ELF64_ST_BIND(s.st_info) == STB_LOCAL};
    }
    return true;
}

static bool add_relocations(struct rp_code_identity *h, const Elf64_Shdr *table)
{
    const size_t count = table->sh_size / sizeof(Elf64_Rela);
    Elf64_Rela *grown;

    if (!is_whole(h, table))
        return false;
    grown = realloc(h->relocations, (h->relocation_count + count + 1) * sizeof *grown);
    if (!grown)
        return false;
    h->relocations = grown;
    memcpy(grown + h->relocation_count, h->elf.bytes + table->sh_offset, count * sizeof *grown);
    h->relocation_count += count;
    return true;
}

/* From there on to what has a name, or the end of the section: a table that has none may be as
 * long. 0: there is nothing. @param next  the first in named that begins behind it */
static uint64_t unnamed_bytes(const struct rp_code_identity *h, uint64_t at, size_t next)
{
    uint64_t end = 0;

    for (size_t i = 0; i < h->section_count; i++) {
        const Elf64_Shdr *s = &h->sections[i];

        if (s->sh_flags & SHF_ALLOC && at >= s->sh_addr && at - s->sh_addr < s->sh_size)
            end = s->sh_addr + s->sh_size;
    }
    if (next < h->named_count && h->named[next].at < end)
        end = h->named[next].at;
    return end > at ? end - at : 0;
}

static uint64_t end_of(const struct named *n)
{
    return n->bytes > UINT64_MAX - n->at ? UINT64_MAX : n->at + n->bytes;
}

/* Hand-written assembly leaves out sizes: what has the address of a sized one is that, and other
 * functions end where the next one begins, or their section ends.
 * What overlaps (an alias that is longer, a label in a table) becomes one: whichever of its names
 * an address is meant by, all of it can be reached from there. */
static void fill_sizes(struct rp_code_identity *h)
{
    size_t kept = 0, next = 0, sized = 0;

    for (size_t i = 0; i < h->named_count; i++) {
        struct named *n = &h->named[i], *last = kept ? &h->named[kept - 1] : NULL;

        for (; next < h->named_count && h->named[next].at <= n->at; next++) {
        }
        for (sized = sized > i ? sized : i; sized < next && !h->named[sized].bytes; sized++) {
        }
        if (!n->bytes)
            n->bytes = sized < next ? h->named[sized].bytes : unnamed_bytes(h, n->at, next);
        if (!n->bytes)
            continue;
        if (!last || n->at >= end_of(last)) {
            h->named[kept++] = *n;
            continue;
        }
        last->bytes = end_of(n) > end_of(last) ? end_of(n) - last->at : last->bytes;
        last->function |= n->function;
        last->local &= n->local;
    }
    h->named_count = kept;
}

/* Both tables of symbols have most of them: which comes first is the same in both builds. */
static int by_place(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_offset(const void *a, const void *b)
{
    const Elf64_Rela *x = a, *y = b;

    if (x->r_offset != y->r_offset)
        return x->r_offset < y->r_offset ? -1 : 1;
    if (x->r_info != y->r_info)
        return x->r_info < y->r_info ? -1 : 1;
    return (x->r_addend > y->r_addend) - (x->r_addend < y->r_addend);
}

static bool read_contents(struct rp_code_identity *h)
{
    for (size_t i = 0; i < h->section_count; i++) {
        const Elf64_Shdr *s = &h->sections[i];

        if ((s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM) && !add_symbols(h, s))
            return false;
        if (s->sh_type == SHT_RELA && s->sh_flags & SHF_ALLOC && /* the loader's */
            !add_relocations(h, s))
            return false;
    }
    return true;
}

struct rp_code_identity *rp_code_identity_open(const uint8_t *bytes, size_t size)
{
    struct rp_code_identity *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    if (!rp_code_elf_open(bytes, size, &h->elf) || !read_sections(h) ||
        !rp_code_elf_symbols(&h->elf, &h->symbols) || !read_contents(h)) {
        rp_code_identity_free(h);
        return NULL;
    }
    if (h->named_count)
        qsort(h->named, h->named_count, sizeof *h->named, by_place);
    if (h->relocation_count)
        qsort(h->relocations, h->relocation_count, sizeof *h->relocations, by_offset);
    fill_sizes(h);
    return h;
}

const struct rp_code_symbols *rp_code_identity_symbols(const struct rp_code_identity *h)
{
    return &h->symbols;
}

static size_t first_behind(const struct rp_code_identity *h, uint64_t at)
{
    size_t low = 0, high = h->named_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->named[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct named *find_named(const struct rp_code_identity *h, uint64_t at)
{
    const size_t behind = first_behind(h, at);
    const struct named *n = behind ? &h->named[behind - 1] : NULL;

    return n && at < end_of(n) ? n : NULL;
}

/* A variable is another one though it begins with the same contents; a table is not. */
static bool is_variable(const struct rp_code_identity *h, const struct named *n)
{
    for (size_t i = 0; i < h->section_count; i++) {
        const Elf64_Shdr *s = &h->sections[i];

        if (s->sh_flags & SHF_WRITE && n->at >= s->sh_addr && n->at - s->sh_addr < s->sh_size)
            return true;
    }
    return !n->local; /* the host may write into it by its name */
}

/* --- what a kernel comes to ---------------------------------------------------------------- */

struct place {
    uint64_t at, bytes;
    bool function;
    const char *name; /* of what is known by it, and not only by what it holds; else NULL */
};

struct walk {
    const struct rp_code_identity *h;
    struct rp_buf text;
    struct {
        RP_VEC(struct place);
    } places;                /* in the order in which they are come to */
    struct rp_idmap numbers; /* of places, by their addresses */
    bool failed;
};

static void add_number(struct walk *w, uint64_t number)
{
    rp_buf_add(&w->text, &number, sizeof number);
}

/* No two places begin at one address: those with names do not overlap, and the others begin where
 * none of these is. */
static size_t place_of(struct walk *w, const struct place *place)
{
    const uint32_t number = w->failed ? RP_NO_NUMBER : rp_idmap_add(&w->numbers, place->at);

    if (number == w->places.count)
        w->failed = rp_vec_push(&w->places, *place) < 0;
    w->failed |= number == RP_NO_NUMBER;
    return w->failed ? 0 : number;
}

/* An address is which of the places, and how far in it. */
static void add_address(struct walk *w, uint64_t at)
{
    const struct named *n = find_named(w->h, at);
    struct place place = {.at = at};

    if (n)
        place = (struct place){
            .at = n->at,
            .bytes = n->bytes,
            .function = n->function,
            .name = !n->function && is_variable(w->h, n) ? n->name : NULL,
        };
    else
        place.bytes = unnamed_bytes(w->h, at, first_behind(w->h, at));

    if (!place.bytes) { /* none of ours */
        add_number(w, UINT64_MAX);
        add_number(w, at);
        return;
    }
    add_number(w, place_of(w, &place));
    add_number(w, at - place.at);
}

static uint32_t word_at(const uint8_t *bytes, uint64_t offset)
{
    uint32_t word;

    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

/* CDNA3 ISA, SOP1 and SOP2: s_getpc_b64 sN; s_add_u32 sN, sN, literal; s_addc_u32 sN+1, sN+1,
 * literal. So compilers write every address of the code object (LLVM: SI_PC_ADD_REL_OFFSET). */
static bool is_address(const uint8_t *at, uint64_t pc, uint64_t *ret)
{
    enum { GETPC = 0xbe801c00, ADD = 0x8000ff00, ADDC = 0x8200ff00, TO = 16 };
    const uint32_t n = word_at(at, 0) >> TO & 0x7f;

    if (word_at(at, 0) != ((uint32_t)GETPC | n << TO) ||
        word_at(at, 4) != ((uint32_t)ADD | n << TO | n) ||
        word_at(at, 12) != ((uint32_t)ADDC | (n + 1) << TO | (n + 1)))
        return false;
    *ret = pc + 4 + (word_at(at, 8) | (uint64_t)word_at(at, 16) << 32);
    return true;
}

static void add_instructions(struct walk *w, const struct place *f, const uint8_t *bytes)
{
    enum { ADDRESS_BYTES = 20 };
    uint64_t from = 0, target;

    for (uint64_t i = 0; i + ADDRESS_BYTES <= f->bytes; i += 4) {
        if (!is_address(bytes + i, f->at + i, &target))
            continue;
        rp_buf_add(&w->text, bytes + from, i + 4 - from); /* with the register */
        if (target - f->at < f->bytes) {
            add_number(w, UINT64_MAX - 1);
            add_number(w, target - f->at);
        } else {
            add_address(w, target);
        }
        from = i + ADDRESS_BYTES;
        i = from - 4;
    }
    rp_buf_add(&w->text, bytes + from, f->bytes - from);
}

/* What the loader fills in. */
static void add_filled(struct walk *w, const struct place *data)
{
    const struct rp_code_identity *h = w->h;
    size_t low = 0, high = h->relocation_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->relocations[middle].r_offset < data->at)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low;
         i < h->relocation_count && h->relocations[i].r_offset - data->at < data->bytes; i++) {
        const Elf64_Rela *r = &h->relocations[i];
        Elf64_Sym symbol;
        const char *name;

        add_number(w, r->r_offset - data->at);
        add_number(w, ELF64_R_TYPE(r->r_info));
        if (!ELF64_R_SYM(r->r_info)) {
            add_address(w, (uint64_t)r->r_addend);
            continue;
        }
        name = ELF64_R_SYM(r->r_info) < h->symbols.count
                   ? rp_code_symbol(&h->symbols, ELF64_R_SYM(r->r_info), &symbol)
                   : NULL;
        if (name)
            add_address(w, symbol.st_value + (uint64_t)r->r_addend);
        else
            w->failed = true;
    }
}

static void add_place(struct walk *w, const struct place *place)
{
    const uint8_t *bytes = rp_code_elf_at(&w->h->elf, place->at, place->bytes);

    add_number(w, place->bytes);
    if (place->name)
        rp_buf_add(&w->text, place->name, strlen(place->name) + 1);
    add_filled(w, place);
    if (place->function && bytes)
        add_instructions(w, place, bytes);
    else if (bytes) /* else it begins as zeros */
        rp_buf_add(&w->text, bytes, place->bytes);
}

bool rp_code_identity_of_kernel(const struct rp_code_identity *h, const char *kd, size_t most_bytes,
                                struct rp_buf *ret)
{
    struct walk w = {.h = h};
    const uint8_t *descriptor;
    Elf64_Sym symbol;
    uint64_t entry;

    if (!rp_code_elf_find(&h->elf, kd, &symbol) || !rp_code_elf_entry(&h->elf, &symbol, &entry))
        return false;
    descriptor = rp_code_elf_at(&h->elf, symbol.st_value, RP_CODE_DESCRIPTOR_BYTES);
    rp_buf_add(&w.text, descriptor, RP_CODE_ENTRY_AT);
    rp_buf_add(&w.text, descriptor + RP_CODE_ENTRY_AT + ENTRY_BYTES,
               RP_CODE_DESCRIPTOR_BYTES - RP_CODE_ENTRY_AT - ENTRY_BYTES);
    add_address(&w, entry);
    if (w.places.count)
        w.places.items[0].function = true; /* hand-written assembly may not say so */
    for (size_t i = 0; i < w.places.count && !w.failed && (i == 0 || w.text.len < most_bytes);
         i++) {
        const struct place place = w.places.items[i];

        add_place(&w, &place);
    }
    w.failed |= !w.places.count;
    rp_vec_free(&w.places);
    rp_idmap_free(&w.numbers);
    if (w.failed || w.text.failed) {
        rp_buf_free(&w.text);
        return false;
    }
    *ret = w.text;
    return true;
}

/* By words of 8 bytes, the last one filled with zeros: libraries have 100 MB of kernels. */
static uint64_t hash_of(const void *text, size_t bytes)
{
    const uint8_t *at = text;
    uint64_t hash = 0xcbf29ce484222325u ^ bytes; /* steps as of splitmix64 */

    for (size_t left = bytes; left; at += 8) {
        const size_t here = left < 8 ? left : 8;
        uint64_t word = 0;

        memcpy(&word, at, here);
        left -= here;
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    hash *= 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
    return hash ? hash : 1;
}

uint64_t rp_code_identity_hash(const struct rp_code_identity *h, const char *kd)
{
    enum { MOST_BYTES = 1 << 20 };
    struct rp_buf text = {0};
    uint64_t hash = 0;

    if (rp_code_identity_of_kernel(h, kd, MOST_BYTES, &text))
        hash = hash_of(text.data, text.len);
    rp_buf_free(&text);
    return hash;
}
