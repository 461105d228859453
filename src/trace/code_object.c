#include "trace/code_object.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

/** Are there that many bytes from there on? */
static bool holds(uint64_t size, uint64_t offset, uint64_t bytes)
{
    return offset <= size && bytes <= size - offset;
}

bool rp_code_elf_open(const uint8_t *bytes, size_t size, struct rp_code_elf *ret)
{
    struct rp_code_elf elf = {.bytes = bytes, .size = size};

    if (size < sizeof elf.header || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&elf.header, bytes, sizeof elf.header);
    if (elf.header.e_phentsize != sizeof(Elf64_Phdr) ||
        !holds(size, elf.header.e_phoff, elf.header.e_phnum * sizeof(Elf64_Phdr)))
        return false;
    *ret = elf;
    return true;
}

bool rp_code_elf_segment(const struct rp_code_elf *elf, size_t i, Elf64_Phdr *ret)
{
    memcpy(ret, elf->bytes + elf->header.e_phoff + i * sizeof *ret, sizeof *ret);
    return holds(elf->size, ret->p_offset, ret->p_filesz);
}

const uint8_t *rp_code_elf_at(const struct rp_code_elf *elf, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p;

        if (rp_code_elf_segment(elf, i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
            holds(p.p_filesz, address - p.p_vaddr, bytes))
            return elf->bytes + p.p_offset + (address - p.p_vaddr);
    }
    return NULL;
}

bool rp_code_file_open(const char *path, struct rp_code_elf *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    struct stat st;

    *ret = (struct rp_code_elf){0};
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return false;
    if (rp_code_elf_open(bytes, (size_t)st.st_size, ret))
        return true;
    munmap(bytes, (size_t)st.st_size);
    return false;
}

void rp_code_file_close(struct rp_code_elf *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->size);
    *file = (struct rp_code_elf){0};
}

/* --- notes --------------------------------------------------------------------------------- */

static uint64_t padded(uint64_t bytes, uint64_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

/* @return whether to go on */
static bool take_notes(const uint8_t *at, uint64_t bytes, uint64_t align, rp_code_note_fn *take,
                       void *ctx)
{
    /* 64-bit files pad to 8 bytes only where their header says so (gABI, "Note Section"). */
    const uint64_t padding = align == 8 ? 8 : 4;

    while (bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        uint64_t owner, text;

        memcpy(&h, at, sizeof h);
        owner = padded(sizeof h + (uint64_t)h.n_namesz, padding);
        text = (uint64_t)h.n_descsz;
        if (!holds(bytes, owner, text))
            return true;
        if (!take(ctx, &(struct rp_code_note){.type = h.n_type,
                                              .owner = (const char *)at + sizeof h,
                                              .owner_bytes = h.n_namesz,
                                              .text = at + owner,
                                              .text_bytes = h.n_descsz}))
            return false;
        text = padded(owner + text, padding);
        if (text >= bytes) /* The last note may lack its padding. */
            return true;
        at += text;
        bytes -= text;
    }
    return true;
}

static bool has_sections(const struct rp_code_elf *elf)
{
    const Elf64_Ehdr *h = &elf->header;

    return h->e_shentsize == sizeof(Elf64_Shdr) &&
           holds(elf->size, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr));
}

static void read_section(const struct rp_code_elf *elf, size_t i, Elf64_Shdr *ret)
{
    memcpy(ret, elf->bytes + elf->header.e_shoff + i * sizeof *ret, sizeof *ret);
}

bool rp_code_elf_has_section(const struct rp_code_elf *elf, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    Elf64_Shdr names, s;

    if (!has_sections(elf) || elf->header.e_shstrndx >= elf->header.e_shnum)
        return false;
    read_section(elf, elf->header.e_shstrndx, &names);
    if (!holds(elf->size, names.sh_offset, names.sh_size))
        return false;
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        read_section(elf, i, &s);
        if (s.sh_type != SHT_NOBITS && holds(names.sh_size, s.sh_name, bytes) &&
            memcmp(elf->bytes + names.sh_offset + s.sh_name, name, bytes) == 0)
            return true;
    }
    return false;
}

void rp_code_elf_notes(const struct rp_code_elf *elf, rp_code_note_fn *take, void *ctx)
{
    bool any = false;

    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p;

        if (!rp_code_elf_segment(elf, i, &p) || p.p_type != PT_NOTE || !p.p_filesz)
            continue;
        any = true;
        if (!take_notes(elf->bytes + p.p_offset, p.p_filesz, p.p_align, take, ctx))
            return;
    }
    for (size_t i = 0; !any && has_sections(elf) && i < elf->header.e_shnum; i++) {
        Elf64_Shdr s;

        read_section(elf, i, &s);
        if (s.sh_type == SHT_NOTE && holds(elf->size, s.sh_offset, s.sh_size) &&
            !take_notes(elf->bytes + s.sh_offset, s.sh_size, s.sh_addralign, take, ctx))
            return;
    }
}

/* --- symbols ------------------------------------------------------------------------------- */

/* @return false: there is none of the type, or it is not sound */
static bool symbols_of_section(const struct rp_code_elf *elf, Elf64_Word type,
                               struct rp_code_symbols *ret)
{
    const Elf64_Ehdr *h = &elf->header;
    Elf64_Shdr table, names;

    for (size_t i = 0; has_sections(elf) && i < h->e_shnum; i++) {
        read_section(elf, i, &table);
        if (table.sh_type != type)
            continue;
        if (table.sh_link >= h->e_shnum || !holds(elf->size, table.sh_offset, table.sh_size))
            return false;
        read_section(elf, table.sh_link, &names);
        if (!holds(elf->size, names.sh_offset, names.sh_size) || !names.sh_size ||
            elf->bytes[names.sh_offset + names.sh_size - 1])
            return false;
        *ret = (struct rp_code_symbols){.at = elf->bytes + table.sh_offset,
                                        .count = table.sh_size / sizeof(Elf64_Sym),
                                        .names = (const char *)elf->bytes + names.sh_offset,
                                        .name_bytes = names.sh_size};
        return true;
    }
    return false;
}

/* Finds the dynamic segment. @return its entries, not aligned; NULL: there is none */
static const uint8_t *find_dynamic(const struct rp_code_elf *elf, size_t *ret_count)
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p;

        if (!rp_code_elf_segment(elf, i, &p) || p.p_type != PT_DYNAMIC)
            continue;
        *ret_count = p.p_filesz / sizeof(Elf64_Dyn);
        return elf->bytes + p.p_offset;
    }
    return NULL;
}

/* @return whether there is an entry there; the last one says that it is the last */
static bool dynamic_entry(const uint8_t *entries, size_t count, size_t i, Elf64_Dyn *ret)
{
    if (!entries || i >= count)
        return false;
    memcpy(ret, entries + i * sizeof *ret, sizeof *ret);
    return ret->d_tag != DT_NULL;
}

/** This is what the dynamic segment says of symbols, as addresses. */
struct dynamic {
    uint64_t symbols, names, name_bytes, hash, gnu_hash;
};

static bool read_dynamic(const struct rp_code_elf *elf, struct dynamic *ret)
{
    size_t count = 0;
    const uint8_t *entries = find_dynamic(elf, &count);
    Elf64_Dyn d;

    *ret = (struct dynamic){0};
    for (size_t i = 0; dynamic_entry(entries, count, i, &d); i++)
        *(d.d_tag == DT_SYMTAB     ? &ret->symbols
          : d.d_tag == DT_STRTAB   ? &ret->names
          : d.d_tag == DT_STRSZ    ? &ret->name_bytes
          : d.d_tag == DT_HASH     ? &ret->hash
          : d.d_tag == DT_GNU_HASH ? &ret->gnu_hash
                                   : &(uint64_t){0}) = d.d_un.d_val;
    return ret->symbols && ret->names && ret->name_bytes;
}

const char *rp_code_elf_soname(const struct rp_code_elf *elf)
{
    struct dynamic dynamic;
    size_t count = 0;
    const uint8_t *entries = find_dynamic(elf, &count);
    const char *names = read_dynamic(elf, &dynamic)
                            ? (const char *)rp_code_elf_at(elf, dynamic.names, dynamic.name_bytes)
                            : NULL;
    Elf64_Dyn d;

    if (!names || names[dynamic.name_bytes - 1])
        return NULL;
    for (size_t i = 0; dynamic_entry(entries, count, i, &d); i++)
        if (d.d_tag == DT_SONAME && d.d_un.d_val < dynamic.name_bytes)
            return names + d.d_un.d_val;
    return NULL;
}

static bool word_at(const struct rp_code_elf *elf, uint64_t address, uint32_t *ret)
{
    const uint8_t *at = rp_code_elf_at(elf, address, sizeof *ret);

    if (at)
        memcpy(ret, at, sizeof *ret);
    return at != NULL;
}

/* The dynamic segment does not say how many symbols there are; its hash tables have each of them:
 * the old one says their number, the new one ends with the last one's chain. */
static uint64_t dynamic_count(const struct rp_code_elf *elf, const struct dynamic *d)
{
    enum { BUCKETS = 0, FIRST = 4, FILTER = 8, HEADER = 16 };
    uint32_t count = 0, buckets, first, filter, last = 0, chain;
    uint64_t at;

    if (d->hash && word_at(elf, d->hash + 4, &count))
        return count;
    if (!d->gnu_hash || !word_at(elf, d->gnu_hash + BUCKETS, &buckets) ||
        !word_at(elf, d->gnu_hash + FIRST, &first) || !word_at(elf, d->gnu_hash + FILTER, &filter))
        return 0;
    at = d->gnu_hash + HEADER + 8 * (uint64_t)filter;
    for (uint32_t i = 0; i < buckets; i++) {
        if (!word_at(elf, at + 4 * (uint64_t)i, &chain))
            return 0;
        last = chain > last ? chain : last;
    }
    at += 4 * (uint64_t)buckets;
    if (last < first)
        return first;
    for (;; last++) {
        if (!word_at(elf, at + 4 * (uint64_t)(last - first), &chain))
            return 0;
        if (chain & 1)
            return (uint64_t)last + 1;
    }
}

static bool symbols_of_dynamic(const struct rp_code_elf *elf, struct rp_code_symbols *ret)
{
    struct dynamic d;
    uint64_t count;
    const uint8_t *at, *names;

    if (!read_dynamic(elf, &d))
        return false;
    count = dynamic_count(elf, &d);
    if (!count || count > elf->size / sizeof(Elf64_Sym))
        return false;
    at = rp_code_elf_at(elf, d.symbols, count * sizeof(Elf64_Sym));
    names = rp_code_elf_at(elf, d.names, d.name_bytes);
    if (!at || !names || names[d.name_bytes - 1])
        return false;
    *ret = (struct rp_code_symbols){
        .at = at, .count = count, .names = (const char *)names, .name_bytes = d.name_bytes};
    return true;
}

bool rp_code_elf_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret)
{
    return symbols_of_section(elf, SHT_DYNSYM, ret) || symbols_of_dynamic(elf, ret);
}

bool rp_code_elf_all_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret)
{
    return symbols_of_section(elf, SHT_SYMTAB, ret);
}

bool rp_code_elf_find(const struct rp_code_elf *elf, const char *name, Elf64_Sym *ret)
{
    struct rp_code_symbols symbols;

    return (rp_code_elf_symbols(elf, &symbols) && rp_code_symbol_find(&symbols, name, ret)) ||
           (rp_code_elf_all_symbols(elf, &symbols) && rp_code_symbol_find(&symbols, name, ret));
}

bool rp_code_symbol_find(const struct rp_code_symbols *symbols, const char *name, Elf64_Sym *ret)
{
    for (size_t i = 0; i < symbols->count; i++) {
        Elf64_Sym symbol;
        const char *own = rp_code_symbol(symbols, i, &symbol);

        if (own && strcmp(own, name) == 0) {
            *ret = symbol;
            return true;
        }
    }
    return false;
}

/* --- functions ----------------------------------------------------------------------------- */

/**
 * Finds where the code of a kernel begins.
 * @param descriptor  symbol of "name.kd"
 * @return whether its descriptor is in the file
 */
static bool code_elf_entry(const struct rp_code_elf *elf, const Elf64_Sym *descriptor,
                           uint64_t *ret)
{
    const uint8_t *at = rp_code_elf_at(elf, descriptor->st_value, RP_CODE_DESCRIPTOR_BYTES);
    int64_t offset;

    if (!at)
        return false;
    memcpy(&offset, at + RP_CODE_ENTRY_AT, sizeof offset);
    *ret = descriptor->st_value + (uint64_t)offset;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct rp_code_function *x = a, *y = b;
    const uint32_t both = x->symbol_bytes < y->symbol_bytes ? x->symbol_bytes : y->symbol_bytes;
    int order;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    order = memcmp(x->symbol, y->symbol, both);
    return order ? order
                 : (x->symbol_bytes > y->symbol_bytes) - (x->symbol_bytes < y->symbol_bytes);
}

static void add_functions(const struct rp_code_elf *elf, const struct rp_code_symbols *symbols,
                          struct rp_code_functions *to)
{
    for (size_t i = 0; i < symbols->count; i++) {
        Elf64_Sym s;
        const char *name = rp_code_symbol(symbols, i, &s);
        struct rp_code_function f;

        if (!name || !*name)
            continue;
        f = (struct rp_code_function){.symbol = name,
                                      .symbol_bytes = (uint32_t)strlen(name),
                                      .address = s.st_value,
                                      .bytes = s.st_size};
        if (rp_code_symbol_is_kernel(name)) {
            f.is_kernel = true;
            f.symbol_bytes -= (uint32_t)strlen(".kd");
            f.bytes = 0; /* The size of the descriptor does not tell the size of the code. */
            if (code_elf_entry(elf, &s, &f.address))
                to->at[to->count++] = f;
        } else if (ELF64_ST_TYPE(s.st_info) == STT_FUNC) {
            to->at[to->count++] = f;
        }
    }
}

/* Keeps one of the functions at one address: the first kernel, or else the first function, with
 * the size that any of them has.
 */
static void drop_aliases(struct rp_code_functions *functions)
{
    size_t kept = 0;

    if (functions->count)
        qsort(functions->at, functions->count, sizeof *functions->at, by_address);
    for (size_t i = 0; i < functions->count; i++) {
        struct rp_code_function *f = &functions->at[i];
        struct rp_code_function *last = kept ? &functions->at[kept - 1] : NULL;

        if (!last || last->address != f->address) {
            functions->at[kept++] = *f;
            continue;
        }
        if (!f->bytes)
            f->bytes = last->bytes;
        if (!last->bytes)
            last->bytes = f->bytes;
        if (f->is_kernel && !last->is_kernel)
            *last = *f;
    }
    functions->count = kept;
}

static uint64_t end_of_segment(const struct rp_code_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p;

        if (rp_code_elf_segment(elf, i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
            address - p.p_vaddr < p.p_filesz)
            return p.p_vaddr + p.p_filesz;
    }
    return address;
}

static void fill_sizes(const struct rp_code_elf *elf, struct rp_code_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        struct rp_code_function *f = &functions->at[i];
        uint64_t end;

        if (f->bytes)
            continue;
        end = end_of_segment(elf, f->address);
        if (i + 1 < functions->count && functions->at[i + 1].address < end)
            end = functions->at[i + 1].address;
        f->bytes = end - f->address;
    }
}

int rp_code_functions_read(const struct rp_code_elf *elf, struct rp_code_functions *ret)
{
    struct rp_code_symbols all = {0}, dynamic = {0};
    struct rp_code_functions functions = {0};

    rp_code_elf_symbols(elf, &dynamic);
    rp_code_elf_all_symbols(elf, &all);
    functions.at = calloc(all.count + dynamic.count + 1, sizeof *functions.at);
    if (!functions.at)
        return -1;
    add_functions(elf, all.count ? &all : &dynamic, &functions);
    drop_aliases(&functions);
    fill_sizes(elf, &functions);
    *ret = functions;
    return 0;
}

/* --- identity: what a kernel consists of ------------------------------------------------------ */

/* The identity of a kernel tells kernels of two code objects apart, or shows that they are the
 * same. It consists of its descriptor, its instructions, and everything that these refer to:
 * functions that are called, tables, variables. Addresses are replaced by what is there, so that
 * kernels that only lie elsewhere are the same. The injected tool has this code too, so it needs
 * libc only.
 */

enum {
    ENTRY_ADDRESS_BYTES = 8,
    MOST_SECTIONS = 4096, /**< compilers make some twenty; each address is looked for in all */
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
    struct named *named; /**< by their places, of which no two overlap */
    size_t named_count;
    Elf64_Rela *relocations; /**< by their places */
    size_t relocation_count;
    struct rp_code_symbols symbols; /**< dynamic ones, to which relocations refer */
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

/* Returns the bytes from there to the next name, or to the end of the section, because a table
 * without a name may be that long. 0: there is nothing. @param next the first in named that begins
 * behind it
 */
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
static void fill_named_sizes(struct rp_code_identity *h)
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
        if (s->sh_type == SHT_RELA && s->sh_flags & SHF_ALLOC && /* The loader applies these. */
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
    fill_named_sizes(h);
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
    return !n->local; /* The host may write into a symbol that it can find by name. */
}

/* --- what a kernel comes to ---------------------------------------------------------------- */

struct place {
    uint64_t at, bytes;
    bool function;
    const char *name; /**< of what is known by it, and not only by what it holds; else NULL */
};

struct walk {
    const struct rp_code_identity *h;
    struct rp_buf text;
    struct {
        RP_VEC(struct place);
    } places;                /**< in the order in which they are come to */
    struct rp_idmap numbers; /**< of places, by their addresses */
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

/* Adds an address as the number of a place, and how far in it. */
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

    if (!place.bytes) { /* The place is not in this code object. */
        add_number(w, UINT64_MAX);
        add_number(w, at);
        return;
    }
    add_number(w, place_of(w, &place));
    add_number(w, at - place.at);
}

static uint32_t identity_word_at(const uint8_t *bytes, uint64_t offset)
{
    uint32_t word;

    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

/* Compilers write every address of the code object as s_getpc_b64 sN; s_add_u32 sN, sN, literal;
 * s_addc_u32 sN+1, sN+1, literal (CDNA3 ISA, SOP1 and SOP2; LLVM: SI_PC_ADD_REL_OFFSET).
 */
static bool is_address(const uint8_t *at, uint64_t pc, uint64_t *ret)
{
    enum { GETPC = 0xbe801c00, ADD = 0x8000ff00, ADDC = 0x8200ff00, TO = 16 };
    const uint32_t n = identity_word_at(at, 0) >> TO & 0x7f;

    if (identity_word_at(at, 0) != ((uint32_t)GETPC | n << TO) ||
        identity_word_at(at, 4) != ((uint32_t)ADD | n << TO | n) ||
        identity_word_at(at, 12) != ((uint32_t)ADDC | (n + 1) << TO | (n + 1)))
        return false;
    *ret = pc + 4 + (identity_word_at(at, 8) | (uint64_t)identity_word_at(at, 16) << 32);
    return true;
}

static void add_instructions(struct walk *w, const struct place *f, const uint8_t *bytes)
{
    enum { ADDRESS_BYTES = 20 };
    uint64_t from = 0, target;

    for (uint64_t i = 0; i + ADDRESS_BYTES <= f->bytes; i += 4) {
        if (!is_address(bytes + i, f->at + i, &target))
            continue;
        /* The instruction's register is part of the text. */
        rp_buf_add(&w->text, bytes + from, i + 4 - from);
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

/* The loader fills this in. */
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
    else if (bytes) /* Memory without bytes in the file begins as zeros. */
        rp_buf_add(&w->text, bytes, place->bytes);
}

bool rp_code_identity_of_kernel(const struct rp_code_identity *h, const char *kd, size_t most_bytes,
                                struct rp_buf *ret)
{
    struct walk w = {.h = h};
    const uint8_t *descriptor;
    Elf64_Sym symbol;
    uint64_t entry;

    if (!rp_code_elf_find(&h->elf, kd, &symbol) || !code_elf_entry(&h->elf, &symbol, &entry))
        return false;
    descriptor = rp_code_elf_at(&h->elf, symbol.st_value, RP_CODE_DESCRIPTOR_BYTES);
    rp_buf_add(&w.text, descriptor, RP_CODE_ENTRY_AT);
    rp_buf_add(&w.text, descriptor + RP_CODE_ENTRY_AT + ENTRY_ADDRESS_BYTES,
               RP_CODE_DESCRIPTOR_BYTES - RP_CODE_ENTRY_AT - ENTRY_ADDRESS_BYTES);
    add_address(&w, entry);
    if (w.places.count)
        /* Hand-written assembly may not mark the kernel as a function. */
        w.places.items[0].function = true;
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

/* Hashes words of 8 bytes, the last one filled with zeros, because libraries have 100 MB of
 * kernels.
 */
static uint64_t hash_of(const void *text, size_t bytes)
{
    const uint8_t *at = text;
    uint64_t hash = 0xcbf29ce484222325u ^ bytes; /* The steps are those of splitmix64. */

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
