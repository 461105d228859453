#include "optimize/code_functions.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "capture/code_elf.h"

enum { DESCRIPTOR_BYTES = 64, ENTRY_AT = 16, ENTRY_BYTES = 8 };

/* --- what a code object holds -------------------------------------------------------------- */

struct named {
    uint64_t at, bytes;
    const char *name;
    bool function;
    bool local;
};

struct holds {
    struct rp_code_elf elf;
    Elf64_Shdr *sections;
    size_t section_count;
    struct named *named; /* by their places */
    size_t named_count;
    Elf64_Rela *relocations;
    size_t relocation_count;
    struct rp_code_symbols symbols; /* dynamic ones, to which relocations refer */
};

static void release(struct holds *h)
{
    free(h->sections);
    free(h->named);
    free(h->relocations);
}

static bool is_whole(const struct holds *h, const Elf64_Shdr *s)
{
    return s->sh_offset <= h->elf.size && s->sh_size <= h->elf.size - s->sh_offset;
}

static bool read_sections(struct holds *h)
{
    const Elf64_Ehdr *e = &h->elf.header;

    if (e->e_shentsize != sizeof *h->sections || e->e_shoff > h->elf.size ||
        e->e_shnum * sizeof *h->sections > h->elf.size - e->e_shoff)
        return false;
    h->sections = calloc(e->e_shnum + (size_t)1, sizeof *h->sections);
    if (!h->sections)
        return false;
    memcpy(h->sections, h->elf.bytes + e->e_shoff, e->e_shnum * sizeof *h->sections);
    h->section_count = e->e_shnum;
    return true;
}

static bool add_symbols(struct holds *h, const Elf64_Shdr *table)
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

static bool add_relocations(struct holds *h, const Elf64_Shdr *table)
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
 * long. 0: there is nothing. */
static uint64_t unnamed_bytes(const struct holds *h, uint64_t at)
{
    uint64_t end = 0;

    for (size_t i = 0; i < h->section_count; i++) {
        const Elf64_Shdr *s = &h->sections[i];

        if (s->sh_flags & SHF_ALLOC && at >= s->sh_addr && at - s->sh_addr < s->sh_size)
            end = s->sh_addr + s->sh_size;
    }
    for (size_t i = 0; i < h->named_count; i++)
        if (h->named[i].at > at && h->named[i].at < end)
            end = h->named[i].at;
    return end > at ? end - at : 0;
}

/* Hand-written assembly leaves out sizes: what has the address of a sized one is that, and other
 * functions end where the next one begins, or their section ends. */
static void fill_sizes(struct holds *h)
{
    size_t kept = 0;

    for (size_t i = 0; i < h->named_count; i++) {
        struct named *n = &h->named[i];

        for (size_t j = i + 1; !n->bytes && j < h->named_count && h->named[j].at == n->at; j++)
            n->bytes = h->named[j].bytes;
        if (!n->bytes)
            n->bytes = unnamed_bytes(h, n->at);
        if (n->bytes)
            h->named[kept++] = *n;
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

static int read_object(const struct rp_code_object *object, struct holds *ret, struct rp_err *err)
{
    struct holds h = {0};
    bool ok = rp_code_elf_open(object->bytes, object->size, &h.elf) && read_sections(&h) &&
              rp_code_elf_symbols(&h.elf, &h.symbols);

    for (size_t i = 0; i < h.section_count && ok; i++) {
        const Elf64_Shdr *s = &h.sections[i];

        if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
            ok = add_symbols(&h, s);
        else if (s->sh_type == SHT_RELA && s->sh_flags & SHF_ALLOC) /* the loader's */
            ok = add_relocations(&h, s);
    }
    if (!ok) {
        release(&h);
        return rp_fail(err, RP_BAD_INPUT, "symbols or sections of a code object cannot be read");
    }
    if (h.named_count)
        qsort(h.named, h.named_count, sizeof *h.named, by_place);
    fill_sizes(&h);
    *ret = h;
    return 0;
}

static const struct named *find_named(const struct holds *h, uint64_t at)
{
    for (size_t i = 0; i < h->named_count && h->named[i].at <= at; i++)
        if (at - h->named[i].at < h->named[i].bytes)
            return &h->named[i];
    return NULL;
}

/* A variable is another one though it begins with the same contents; a table is not. */
static bool is_variable(const struct holds *h, const struct named *n)
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
    const struct holds *h;
    struct rp_buf text;
    struct place *places; /* in the order in which they are come to */
    size_t count;
    bool failed;
};

static void add_number(struct walk *w, uint64_t number)
{
    rp_buf_add(&w->text, &number, sizeof number);
}

static size_t place_of(struct walk *w, const struct place *place)
{
    struct place *grown;

    for (size_t i = 0; i < w->count; i++)
        if (w->places[i].at == place->at && w->places[i].bytes == place->bytes)
            return i;
    grown = realloc(w->places, (w->count + 1) * sizeof *grown);
    if (!grown) {
        w->failed = true;
        return 0;
    }
    w->places = grown;
    w->places[w->count] = *place;
    return w->count++;
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
        place.bytes = unnamed_bytes(w->h, at);

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
    for (size_t i = 0; i < w->h->relocation_count; i++) {
        const Elf64_Rela *r = &w->h->relocations[i];
        Elf64_Sym symbol;
        const char *name;

        if (r->r_offset - data->at >= data->bytes)
            continue;
        add_number(w, r->r_offset - data->at);
        add_number(w, ELF64_R_TYPE(r->r_info));
        if (!ELF64_R_SYM(r->r_info)) {
            add_address(w, (uint64_t)r->r_addend);
            continue;
        }
        name = ELF64_R_SYM(r->r_info) < w->h->symbols.count
                   ? rp_code_symbol(&w->h->symbols, ELF64_R_SYM(r->r_info), &symbol)
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
    if (place->function && bytes) {
        add_instructions(w, place, bytes);
        return;
    }
    add_filled(w, place);
    if (bytes) /* else it begins as zeros */
        rp_buf_add(&w->text, bytes, place->bytes);
}

/* @return false: it cannot be told */
static bool add_kernel(struct walk *w, const char *kd)
{
    const uint8_t *descriptor;
    Elf64_Sym symbol;
    int64_t entry;

    if (!rp_code_symbol_find(&w->h->symbols, kd, &symbol))
        return false;
    descriptor = rp_code_elf_at(&w->h->elf, symbol.st_value, DESCRIPTOR_BYTES);
    if (!descriptor)
        return false;
    memcpy(&entry, descriptor + ENTRY_AT, sizeof entry);
    rp_buf_add(&w->text, descriptor, ENTRY_AT);
    rp_buf_add(&w->text, descriptor + ENTRY_AT + ENTRY_BYTES,
               DESCRIPTOR_BYTES - ENTRY_AT - ENTRY_BYTES);
    add_address(w, symbol.st_value + (uint64_t)entry);
    for (size_t i = 0; i < w->count && !w->failed; i++) {
        const struct place place = w->places[i];

        add_place(w, &place);
    }
    return !w->failed && !w->text.failed;
}

static bool kernel_hash(const struct holds *h, const char *kd, char ret[RP_SHA256_TEXT])
{
    struct walk w = {.h = h};
    const bool told = add_kernel(&w, kd);

    if (told)
        rp_sha256(w.text.data, w.text.len, ret);
    rp_buf_free(&w.text);
    free(w.places);
    return told;
}

/* --- all kernels --------------------------------------------------------------------------- */

void rp_code_names_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** "name.kd" is of the kernel @p symbol. */
static bool is_descriptor_of(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);

    return strncmp(name, symbol, length) == 0 && strcmp(name + length, ".kd") == 0;
}

static int find_changed(const struct holds *before, const struct holds *after, const char *symbol,
                        char **names, struct rp_err *err)
{
    size_t count = 0;

    for (size_t i = 0; i < before->symbols.count; i++) {
        char old[RP_SHA256_TEXT], now[RP_SHA256_TEXT];
        Elf64_Sym s;
        const char *name = rp_code_symbol(&before->symbols, i, &s);

        if (!name || !rp_code_symbol_is_kernel(name) || is_descriptor_of(name, symbol) ||
            (kernel_hash(before, name, old) && kernel_hash(after, name, now) &&
             strcmp(old, now) == 0))
            continue;
        names[count] = strndup(name, strlen(name) - strlen(".kd"));
        if (!names[count++])
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
    return 0;
}

int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err)
{
    rp_cleanup(release) struct holds a = {0}, b = {0};
    char **names;
    int rc = read_object(before, &a, err);

    if (rc == 0)
        rc = read_object(after, &b, err);
    if (rc < 0)
        return rc;
    names = calloc(a.symbols.count + 1, sizeof *names);
    if (!names)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = find_changed(&a, &b, symbol, names, err);
    if (rc < 0)
        rp_code_names_free(names);
    else
        *ret = names;
    return rc;
}
