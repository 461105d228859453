#include "trace/code_object.h"

#include <stdlib.h>
#include <string.h>

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
        if (text >= bytes) /* the last one may lack its padding */
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

/** What the dynamic segment says of symbols: addresses. */
struct dynamic {
    uint64_t symbols, names, name_bytes, hash, gnu_hash;
};

static bool read_dynamic(const struct rp_code_elf *elf, struct dynamic *ret)
{
    *ret = (struct dynamic){0};
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        Elf64_Phdr p;

        if (!rp_code_elf_segment(elf, i, &p) || p.p_type != PT_DYNAMIC)
            continue;
        for (uint64_t at = 0; p.p_filesz - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn d;

            memcpy(&d, elf->bytes + p.p_offset + at, sizeof d);
            if (d.d_tag == DT_NULL)
                break;
            *(d.d_tag == DT_SYMTAB     ? &ret->symbols
              : d.d_tag == DT_STRTAB   ? &ret->names
              : d.d_tag == DT_STRSZ    ? &ret->name_bytes
              : d.d_tag == DT_HASH     ? &ret->hash
              : d.d_tag == DT_GNU_HASH ? &ret->gnu_hash
                                       : &(uint64_t){0}) = d.d_un.d_val;
        }
        return ret->symbols && ret->names && ret->name_bytes;
    }
    return false;
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

/** All symbols, local ones included. @return false: they are stripped, or damaged */
static bool rp_code_elf_all_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret)
{
    return symbols_of_section(elf, SHT_SYMTAB, ret);
}

bool rp_code_elf_find(const struct rp_code_elf *elf, const char *name, Elf64_Sym *ret)
{
    struct rp_code_symbols symbols;

    return (rp_code_elf_symbols(elf, &symbols) && rp_code_symbol_find(&symbols, name, ret)) ||
           (rp_code_elf_all_symbols(elf, &symbols) && rp_code_symbol_find(&symbols, name, ret));
}

const char *rp_code_symbol(const struct rp_code_symbols *symbols, size_t i, Elf64_Sym *ret)
{
    memcpy(ret, symbols->at + i * sizeof *ret, sizeof *ret);
    return ret->st_shndx != SHN_UNDEF && ret->st_name < symbols->name_bytes
               ? symbols->names + ret->st_name
               : NULL;
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

bool rp_code_symbol_is_kernel(const char *name)
{
    const size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".kd") == 0;
}

/* --- functions ----------------------------------------------------------------------------- */

bool rp_code_elf_entry(const struct rp_code_elf *elf, const Elf64_Sym *descriptor, uint64_t *ret)
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
            f.bytes = 0; /* that of the descriptor says nothing of the code */
            if (rp_code_elf_entry(elf, &s, &f.address))
                to->at[to->count++] = f;
        } else if (ELF64_ST_TYPE(s.st_info) == STT_FUNC) {
            to->at[to->count++] = f;
        }
    }
}

/* Of those at one address the first kernel, else the first, with the size that one of them has. */
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

void rp_code_functions_free(struct rp_code_functions *functions)
{
    free(functions->at);
    *functions = (struct rp_code_functions){0};
}

const struct rp_code_function *rp_code_function_at(const struct rp_code_functions *functions,
                                                   uint64_t address)
{
    size_t low = 0, high = functions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (functions->at[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address - functions->at[low - 1].address >= functions->at[low - 1].bytes)
        return NULL;
    return &functions->at[low - 1];
}
