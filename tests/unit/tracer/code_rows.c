/* usage: code_rows CODE_OBJECT KERNEL...
 * Prints of each kernel "target wave_size vgprs lds" of its metadata, and "vgprs sgprs wave_size"
 * of its descriptor as the tracer records them. */
#include "tracer/code_objects.c"

#include "base/err.h"

#include <stdio.h>

static bool print_kernel(const struct rp_code_elf *elf, const char *name)
{
    struct rp_err err = {0};
    struct rp_code_symbols symbols = {0};
    struct rp_code_kernel kernel = {0};
    struct rp_kd_registers registers = {0};
    Elf64_Sym symbol;
    const uint8_t *descriptor;
    char kd[64], gfx[64];

    snprintf(kd, sizeof kd, "%s.kd", name);
    if (rp_code_kernel_read(elf->bytes, elf->size, kd, &kernel, NULL, &err) < 0 ||
        !rp_code_elf_symbols(elf, &symbols) || !rp_code_symbol_find(&symbols, kd, &symbol))
        return false;
    snprintf(gfx, sizeof gfx, "%.*s", (int)kernel.target.bytes, kernel.target.at);
    descriptor = rp_code_elf_at(elf, symbol.st_value, RP_KD_BYTES);
    if (!descriptor || !strstr(gfx, "gfx") ||
        kd_registers(strstr(gfx, "gfx"), descriptor, &registers) < 0)
        return false;
    printf("%s %u %u %u %u %u %u\n", strstr(gfx, "gfx"), (unsigned)kernel.wave_size,
           (unsigned)kernel.vgprs, (unsigned)kernel.group_bytes,
           registers.arch_vgpr_count + registers.accum_vgpr_count, registers.sgpr_count,
           registers.wave_size);
    rp_code_kernel_free(&kernel);
    return true;
}

int main(int argc, char **argv)
{
    struct rp_code_elf elf;

    if (argc < 2 || !rp_code_file_open(argv[1], &elf))
        return 1;
    for (int i = 2; i < argc; i++)
        if (!print_kernel(&elf, argv[i]))
            return 1;
    rp_code_file_close(&elf);
    return 0;
}
