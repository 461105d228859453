/**
 * @file fuzz_hidden_args.c
 * @brief Any bytes as a code object, and as the metadata in one: a verdict or a reason. And the
 *        symbols of what can be read: each is found by its name, and lies in the file or nowhere.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "trace/code_object.h"

#include "fuzz/must.h"
#include "replay/replay_code.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_captured_here(const void *data, uint64_t address)
{
    (void)data;
    return address & 1;
}

static void check_symbols(const uint8_t *bytes, size_t size)
{
    struct rp_code_symbols symbols;
    struct rp_code_elf elf;

    if (!rp_code_elf_open(bytes, size, &elf) || !rp_code_elf_symbols(&elf, &symbols))
        return;
    for (size_t i = 0; i < symbols.count; i++) {
        Elf64_Sym symbol, found;
        const char *name = rp_code_symbol(&symbols, i, &symbol);
        const uint8_t *at = name ? rp_code_elf_at(&elf, symbol.st_value, symbol.st_size) : NULL;

        must(!name || rp_code_symbol_find(&symbols, name, &found));
        must(!at || (at >= bytes && symbol.st_size <= size - (size_t)(at - bytes)));
    }
}

static void check(const uint8_t *elf, size_t size)
{
    static struct rp_host_args host; /* Its addresses are taken once. */
    uint8_t bytes[512] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const struct rp_kernarg kernarg = {
        .bytes = bytes, .size = sizeof bytes, .host = &host, .is_captured = is_captured_here};
    const struct rp_abi_dispatch dispatch = {
        .gpu = "gfx942", .workgroup = {256, 1, 1}, .grid = {1000, 1, 1}, .kernarg_bytes = 512};
    struct rp_code_kernel kernel = {0};
    struct rp_err err = RP_ERR_INIT;
    int rc = rp_code_kernel_read(elf, size, "_Z12target_printPj.kd", &kernel, NULL, &err);

    host.count = 0;
    if (rc == 0)
        rc = replay_check_hidden_args(&kernel, &kernarg, &err);
    if (rc == 0)
        rc = abi_check(&kernel, &kernel, &dispatch, &err);
    if (rc < 0 && !err.text[0])
        __builtin_trap(); /* refused without saying why */
    rp_code_kernel_free(&kernel);
    check_symbols(elf, size);
}

/* Around metadata a sound file; an exact copy, so that each byte beyond its end is found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct {
        Elf64_Ehdr file;
        Elf64_Phdr program;
        Elf64_Nhdr note;
        char name[8];
    } head = {
        .file = {.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1},
        .program = {.p_type = PT_NOTE, .p_offset = offsetof(__typeof__(head), note)},
        .note = {.n_namesz = 7, .n_type = 32},
        .name = "AMDGPU"};
    const size_t padded = (size + 3) & ~(size_t)3;
    uint8_t *copy = malloc(sizeof head + padded);

    memcpy(head.file.e_ident, ELFMAG, SELFMAG);
    head.note.n_descsz = (uint32_t)size;
    head.program.p_filesz = sizeof head.note + sizeof head.name + padded;
    memcpy(copy, &head, sizeof head);
    memset(copy + sizeof head, 0, padded);
    memcpy(copy + sizeof head, data, size);
    check(copy, sizeof head + padded);
    free(copy);
    copy = malloc(size + 1);
    memcpy(copy, data, size);
    check(copy, size);
    free(copy);
    return 0;
}
