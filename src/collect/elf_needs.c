#include "collect/elf_needs.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_rocm_library(const char *name)
{
    return name && (strncmp(name, "libamdhip64.so", 14) == 0 ||
                    strncmp(name, "libhsa-runtime64.so", 19) == 0 ||
                    strncmp(name, "libhiprtc.so", 12) == 0);
}

static void scan_dynamic(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                         struct rp_elf_needs *needs)
{
    Elf_Data *data = elf_getdata(section, NULL);

    if (!data || !header->sh_entsize)
        return;
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
        GElf_Dyn entry;

        if (!gelf_getdyn(data, (int)i, &entry))
            return;
        if (entry.d_tag == DT_NEEDED &&
            is_rocm_library(elf_strptr(elf, header->sh_link, entry.d_un.d_val)))
            needs->needs_rocm = true;
    }
}

static void scan_interp(Elf *elf, const char *root, struct rp_elf_needs *needs)
{
    size_t count, file_bytes;
    const char *file = elf_rawfile(elf, &file_bytes);
    size_t root_len = strlen(root);

    if (!file || elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr phdr;

        if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_INTERP)
            continue;
        if (phdr.p_offset > file_bytes || phdr.p_filesz > file_bytes - phdr.p_offset)
            return;
        needs->interp_is_in =
            phdr.p_filesz > root_len && strncmp(file + phdr.p_offset, root, root_len) == 0;
    }
}

void rp_elf_needs(const char *path, const char *root, struct rp_elf_needs *ret)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf_Scn *section = NULL;
    Elf *elf;

    memset(ret, 0, sizeof *ret);
    if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
        return;
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (!elf)
        return;
    ret->is_elf = elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64;
    if (ret->is_elf) {
        scan_interp(elf, root, ret);
        while ((section = elf_nextscn(elf, section))) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
                scan_dynamic(elf, section, &header, ret);
        }
    }
    elf_end(elf);
}
