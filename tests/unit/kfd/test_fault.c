/* Kernel names from code objects as the loader leaves them in GPU memory. */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/kfd/fault.h"

enum { IMAGE_BYTES = 3 * 4096, DESCRIPTOR = 0x1640, OTHER = 0x1680 };

static const uint64_t image_va = 0x7f0000000000ull;

/* A code object's loaded image: header, program header, dynamic table, symbols, strings, hash. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Dyn dynamic[4];
    Elf64_Sym symbols[3];
    uint32_t hash[2];
    char strings[64];
};

static uint8_t memory[IMAGE_BYTES] __attribute__((aligned(4096)));

static void *translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    (void)ctx, (void)write;
    if (va < image_va || va + bytes > image_va + IMAGE_BYTES)
        return NULL;
    return memory + (va - image_va);
}

static const struct rp_exec_host host = {.translate = translate};

static struct image *build(void)
{
    struct image *image = (struct image *)memory;
    memset(memory, 0, sizeof memory);
    memcpy(image->header.e_ident, ELFMAG, SELFMAG);
    image->header.e_machine = EM_AMDGPU;
    image->header.e_phoff = offsetof(struct image, segment);
    image->header.e_phentsize = sizeof(Elf64_Phdr);
    image->header.e_phnum = 1;
    image->segment.p_type = PT_DYNAMIC;
    image->segment.p_vaddr = offsetof(struct image, dynamic);
    image->segment.p_memsz = sizeof image->dynamic;
    image->dynamic[0].d_tag = DT_SYMTAB;
    image->dynamic[0].d_un.d_ptr = offsetof(struct image, symbols);
    image->dynamic[1].d_tag = DT_STRTAB;
    image->dynamic[1].d_un.d_ptr = offsetof(struct image, strings);
    image->dynamic[2].d_tag = DT_HASH;
    image->dynamic[2].d_un.d_ptr = offsetof(struct image, hash);
    image->hash[1] = 3;
    memcpy(image->strings, "\0_Z4vaddPf.kd\0other", 19);
    image->symbols[1] = (Elf64_Sym){.st_name = 1, .st_value = DESCRIPTOR};
    image->symbols[2] = (Elf64_Sym){.st_name = 14, .st_value = OTHER};
    return image;
}

static void assert_name(uint64_t offset, const char *expected, int rc)
{
    char name[32];
    assert_int_equal(rp_fault_kernel_name(&host, image_va + offset, name, sizeof name), rc);
    assert_string_equal(name, expected);
}

static void names(void **state)
{
    (void)state;
    build();
    assert_name(DESCRIPTOR, "_Z4vaddPf", 0);
    assert_name(OTHER, "other", 0);
    assert_name(0x1000, "0x7f0000001000", -ENOENT); /* no symbol there */
}

static void damaged_images(void **state)
{
    (void)state;
    build()->hash[1] = UINT32_MAX; /* more symbols than memory */
    assert_name(0x1000, "0x7f0000001000", -ENOENT);
    build()->symbols[1].st_name = UINT32_MAX;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->header.e_phoff = UINT64_MAX - 8;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->header.e_machine = EM_X86_64;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->dynamic[2].d_tag = DT_NULL;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->segment.p_memsz = UINT64_MAX; /* the table ends with the memory */
    memset(build()->dynamic, 0x11, sizeof(Elf64_Dyn) * 4);
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    memset(memory, 0, sizeof memory);
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char name[6];
    build();
    assert_int_equal(rp_fault_kernel_name(&host, image_va + DESCRIPTOR, name, sizeof name), 0);
    assert_string_equal(name, "_Z4va");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(damaged_images),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
