#include "capture/code_elf.h"

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

static void read_section(const struct rp_code_elf *elf, size_t i, Elf64_Shdr *ret)
{
    memcpy(ret, elf->bytes + elf->header.e_shoff + i * sizeof *ret, sizeof *ret);
}

bool rp_code_elf_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret)
{
    const Elf64_Ehdr *h = &elf->header;
    Elf64_Shdr table, names;

    if (h->e_shentsize != sizeof table || !holds(elf->size, h->e_shoff, h->e_shnum * sizeof table))
        return false;
    for (size_t i = 0; i < h->e_shnum; i++) {
        read_section(elf, i, &table);
        if (table.sh_type != SHT_DYNSYM)
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
