/* Code objects as linkers, assemblers and strip leave them: notes, symbols, functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "trace/code_object.h"
#include "unit/cmocka_all.h"

/* --- a code object, put together piece by piece ---------------------------------------------- */

enum {
    NOTE_AT = 0x400, /* places in the file, which are the addresses too */
    SYMBOLS_AT = 0x1000,
    NAMES_AT = 0x1800,
    HASH_AT = 0x1c00,
    DYNAMIC_AT = 0x1e00,
    DESCRIPTORS_AT = 0x2000,
    CODE_AT = 0x2400,
    CODE_BYTES = 0x400,
    SECTIONS_AT = 0x3000,
    FILE_BYTES = 0x4000,
};

struct object {
    uint8_t bytes[FILE_BYTES];
    size_t note_bytes, name_bytes, symbols, segments, sections;
    bool notes_in_section, no_sections, gnu_hash, local;
};

static void open_object(struct object *o)
{
    memset(o, 0, sizeof *o);
    o->symbols = 1;
    o->name_bytes = 1;
}

static void add_symbol(struct object *o, const char *name, unsigned type, uint64_t at,
                       uint64_t bytes)
{
    const Elf64_Sym s = {.st_name = (Elf64_Word)o->name_bytes,
                         .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                         .st_shndx = 1,
                         .st_value = at,
                         .st_size = bytes};

    memcpy(o->bytes + SYMBOLS_AT + o->symbols++ * sizeof s, &s, sizeof s);
    strcpy((char *)o->bytes + NAMES_AT + o->name_bytes, name);
    o->name_bytes += strlen(name) + 1;
}

/* A kernel as hand-written assembly has it: only the descriptor says where its code is. */
static void add_descriptor(struct object *o, const char *kd, unsigned number, uint64_t entry)
{
    const uint64_t at = DESCRIPTORS_AT + number * (uint64_t)RP_CODE_DESCRIPTOR_BYTES;
    const int64_t offset = (int64_t)(entry - at);

    memcpy(o->bytes + at + 16, &offset, sizeof offset);
    add_symbol(o, kd, STT_OBJECT, at, RP_CODE_DESCRIPTOR_BYTES);
}

static void add_note(struct object *o, const char *owner, uint32_t type, const void *text,
                     size_t bytes)
{
    const Elf64_Nhdr h = {
        .n_namesz = (Elf64_Word)strlen(owner) + 1, .n_descsz = (Elf64_Word)bytes, .n_type = type};
    uint8_t *to = o->bytes + NOTE_AT + o->note_bytes;

    memcpy(to, &h, sizeof h);
    memcpy(to + sizeof h, owner, h.n_namesz);
    memcpy(to + sizeof h + ((h.n_namesz + 3) & ~3u), text, bytes);
    o->note_bytes += sizeof h + ((h.n_namesz + 3) & ~3u) + ((bytes + 3) & ~(size_t)3);
    assert_true(NOTE_AT + o->note_bytes <= SYMBOLS_AT);
}

/* MessagePack: short strings, small numbers. */
static void put_text(struct rp_buf *b, const char *text)
{
    assert_true(strlen(text) < 32);
    rp_buf_printf(b, "%c%s", 0xa0 | (int)strlen(text), text);
}

static void put_number(struct rp_buf *b, const char *key, uint8_t value)
{
    put_text(b, key);
    rp_buf_add(b, &value, 1);
}

/* The metadata of one kernel, of @p args arguments of 8 bytes each. */
static void add_metadata(struct object *o, const char *kd, uint8_t args, uint8_t vgprs)
{
    struct rp_buf b = {0};

    rp_buf_puts(&b, "\x82");
    put_text(&b, "amdhsa.target");
    put_text(&b, "amdgcn-amd-amdhsa--gfx942");
    put_text(&b, "amdhsa.kernels");
    rp_buf_puts(&b, "\x91\x89");
    put_text(&b, ".symbol");
    put_text(&b, kd);
    put_text(&b, ".args");
    rp_buf_printf(&b, "%c", 0x90 | args);
    for (uint8_t i = 0; i < args; i++) {
        rp_buf_puts(&b, i ? "\x83" : "\x84");
        if (!i) { /* LLVM says it of the first one, which is restrict. */
            put_text(&b, ".actual_access");
            put_text(&b, "read_only");
        }
        put_number(&b, ".offset", (uint8_t)(8 * i));
        put_number(&b, ".size", 8);
        put_text(&b, ".value_kind");
        put_text(&b, "global_buffer");
    }
    put_number(&b, ".kernarg_segment_size", (uint8_t)(8 * args));
    put_number(&b, ".group_segment_fixed_size", 0);
    put_number(&b, ".private_segment_fixed_size", 0);
    put_number(&b, ".wavefront_size", 64);
    put_number(&b, ".max_flat_workgroup_size", 64);
    put_number(&b, ".vgpr_count", vgprs);
    put_number(&b, ".sgpr_count", 16);
    assert_false(b.failed);
    add_note(o, "AMDGPU", 32, b.data, b.len);
    rp_buf_free(&b);
}

static void add_segment(struct object *o, Elf64_Word type, Elf64_Word flags, uint64_t at,
                        uint64_t bytes)
{
    const Elf64_Phdr p = {.p_type = type,
                          .p_flags = flags,
                          .p_offset = at,
                          .p_vaddr = at,
                          .p_filesz = bytes,
                          .p_memsz = bytes,
                          .p_align = 4};

    memcpy(o->bytes + sizeof(Elf64_Ehdr) + o->segments++ * sizeof p, &p, sizeof p);
}

static void add_section(struct object *o, Elf64_Word type, uint64_t at, uint64_t bytes,
                        Elf64_Word link)
{
    const Elf64_Shdr s = {.sh_type = type,
                          .sh_offset = at,
                          .sh_addr = at,
                          .sh_size = bytes,
                          .sh_link = link,
                          .sh_addralign = 4};

    memcpy(o->bytes + SECTIONS_AT + o->sections++ * sizeof s, &s, sizeof s);
}

static void add_dynamic(struct object *o)
{
    const Elf64_Dyn dynamic[] = {
        {.d_tag = DT_SYMTAB, .d_un.d_val = SYMBOLS_AT},
        {.d_tag = DT_STRTAB, .d_un.d_val = NAMES_AT},
        {.d_tag = DT_STRSZ, .d_un.d_val = o->name_bytes},
        {.d_tag = o->gnu_hash ? DT_GNU_HASH : DT_HASH, .d_un.d_val = HASH_AT},
        {.d_tag = DT_NULL}};
    const uint32_t last = (uint32_t)o->symbols - 1, one = 1;

    memcpy(o->bytes + DYNAMIC_AT, dynamic, sizeof dynamic);
    add_segment(o, PT_DYNAMIC, PF_R, DYNAMIC_AT, sizeof dynamic);
    if (!o->gnu_hash) {
        memcpy(o->bytes + HASH_AT, (uint32_t[]){1, last + 1}, 8);
        return;
    }
    /* One bucket with all symbols, one word of the filter; the last one's chain is odd. */
    memcpy(o->bytes + HASH_AT, (uint32_t[]){1, 1, 1, 0}, 16);
    memcpy(o->bytes + HASH_AT + 24, &one, 4);
    memcpy(o->bytes + HASH_AT + 28 + 4 * (last - 1), &one, 4);
}

static void close_object(struct object *o, struct rp_code_elf *ret)
{
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                    .e_phoff = sizeof h,
                    .e_phentsize = sizeof(Elf64_Phdr)};

    add_segment(o, PT_LOAD, PF_R, 0, CODE_AT);
    add_segment(o, PT_LOAD, PF_R | PF_X, CODE_AT, CODE_BYTES);
    if (!o->notes_in_section && o->note_bytes)
        add_segment(o, PT_NOTE, PF_R, NOTE_AT, o->note_bytes);
    if (!o->local)
        add_dynamic(o);
    if (!o->no_sections) {
        add_section(o, SHT_NULL, 0, 0, 0);
        add_section(o, o->local ? SHT_SYMTAB : SHT_DYNSYM, SYMBOLS_AT,
                    o->symbols * sizeof(Elf64_Sym), 2);
        add_section(o, SHT_STRTAB, NAMES_AT, o->name_bytes, 0);
        if (o->notes_in_section)
            add_section(o, SHT_NOTE, NOTE_AT, o->note_bytes, 0);
        h.e_shoff = SECTIONS_AT;
        h.e_shentsize = sizeof(Elf64_Shdr);
    }
    h.e_phnum = (Elf64_Half)o->segments;
    h.e_shnum = (Elf64_Half)o->sections;
    memcpy(o->bytes, &h, sizeof h);
    assert_true(rp_code_elf_open(o->bytes, sizeof o->bytes, ret));
}

static struct object the_object; /* 16 KiB */

/* --- notes ----------------------------------------------------------------------------------- */

static void check_kernel(const struct object *o, const char *kd, size_t args, uint64_t vgprs)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_code_kernel k;
    bool missing = true;

    assert_int_equal(rp_code_kernel_read(o->bytes, sizeof o->bytes, kd, &k, &missing, &err), 0);
    assert_false(missing);
    assert_int_equal(k.arg_count, args);
    assert_int_equal(k.kernarg_bytes, 8 * args);
    for (size_t i = 0; i < args; i++)
        assert_int_equal(k.args[i].no_alias, i == 0);
    assert_int_equal(k.vgprs, vgprs);
    assert_true(rp_code_text_is(k.target, "amdgcn-amd-amdhsa--gfx942"));
    rp_code_kernel_free(&k);
}

static void check_fails(const struct object *o, const char *kd, bool is_missing, const char *says)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_code_kernel k;
    bool missing = !is_missing;

    assert_int_equal(rp_code_kernel_read(o->bytes, sizeof o->bytes, kd, &k, &missing, &err),
                     -(int)RP_BAD_INPUT);
    assert_int_equal(missing, is_missing);
    assert_non_null(strstr(err.text, says));
}

/* All of Tensile's are such: one note for each kernel, among them notes of others. */
static void every_note_is_read(void **state)
{
    struct object *o = &the_object;
    struct rp_code_elf elf;

    (void)state;
    for (unsigned in_section = 0; in_section < 2; in_section++) {
        open_object(o);
        o->notes_in_section = in_section;
        add_note(o, "GNU", 3, "abcdefg", 7);
        add_metadata(o, "a.kd", 1, 8);
        add_note(o, "AMDGPU", 32, "\x80", 1); /* of a file without kernels */
        add_metadata(o, "b.kd", 3, 16);
        add_metadata(o, "c.kd", 2, 24);
        add_metadata(o, "b.kd", 1, 99); /* the first one counts */
        close_object(o, &elf);
        check_kernel(o, "a.kd", 1, 8);
        check_kernel(o, "b.kd", 3, 16);
        check_kernel(o, "c.kd", 2, 24);
        check_fails(o, "d.kd", true, "the code object has no kernel d.kd");
    }
}

static void what_lacks_metadata_is_said(void **state)
{
    struct object *o = &the_object;
    struct rp_code_elf elf;

    (void)state;
    open_object(o);
    close_object(o, &elf);
    check_fails(o, "a.kd", false, "no metadata of its kernels");
    open_object(o);
    add_note(o, "AMD", 10, "---\nVersion: [ 1, 0 ]\n", 22);
    close_object(o, &elf);
    check_fails(o, "a.kd", false, "of version 2");
    open_object(o); /* a note that is cut short hides what follows, not what was before */
    add_metadata(o, "a.kd", 1, 8);
    add_metadata(o, "b.kd", 1, 8);
    o->note_bytes -= 8;
    close_object(o, &elf);
    check_kernel(o, "a.kd", 1, 8);
    check_fails(o, "b.kd", true, "no kernel b.kd");
    open_object(o); /* an array that does not end */
    add_note(o, "AMDGPU", 32,
             "\x81\xae"
             "amdhsa.kernels"
             "\x92\x80",
             18);
    close_object(o, &elf);
    check_fails(o, "a.kd", false, "damaged");
}

/* --- functions ------------------------------------------------------------------------------- */

/* The function that has the address, or NULL. */
static const struct rp_code_function *function_at(const struct rp_code_functions *f, uint64_t at)
{
    for (size_t i = 0; i < f->count; i++)
        if (at >= f->at[i].address && at - f->at[i].address < f->at[i].bytes)
            return &f->at[i];
    return NULL;
}

static void check_function(const struct rp_code_functions *f, uint64_t at, const char *name,
                           uint64_t begin, uint64_t bytes)
{
    const struct rp_code_function *found = function_at(f, at);

    assert_non_null(found);
    assert_int_equal(found->symbol_bytes, strlen(name));
    assert_memory_equal(found->symbol, name, strlen(name));
    assert_int_equal(found->address, begin);
    assert_int_equal(found->bytes, bytes);
}

/* Wherever the symbols are: in a section, only in the dynamic segment, or only local ones. */
static void functions_without_a_size_end_at_the_next(void **state)
{
    struct object *o = &the_object;
    struct rp_code_elf elf;
    struct rp_code_functions f;
    Elf64_Sym s;

    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        open_object(o);
        o->no_sections = kind == 1 || kind == 2;
        o->gnu_hash = kind == 2;
        o->local = kind == 3;
        add_symbol(o, "entry_of_b", STT_FUNC, CODE_AT + 0x100, 0);
        add_symbol(o, "helper", STT_FUNC, CODE_AT + 0x200, 0x20);
        add_symbol(o, "label", STT_NOTYPE, CODE_AT + 0x40, 0);
        add_descriptor(o, "a.kd", 0, CODE_AT);
        add_descriptor(o, "b.kd", 1, CODE_AT + 0x100);
        add_descriptor(o, "last.kd", 2, CODE_AT + 0x300);
        close_object(o, &elf);
        assert_int_equal(rp_code_functions_read(&elf, &f), 0);
        assert_int_equal(f.count, 4);
        check_function(&f, CODE_AT, "a", CODE_AT, 0x100);
        check_function(&f, CODE_AT + 0xff, "a", CODE_AT, 0x100);
        check_function(&f, CODE_AT + 0x104, "b", CODE_AT + 0x100, 0x100);
        check_function(&f, CODE_AT + 0x21f, "helper", CODE_AT + 0x200, 0x20);
        assert_null(function_at(&f, CODE_AT + 0x220));
        check_function(&f, CODE_AT + CODE_BYTES - 1, "last", CODE_AT + 0x300, 0x100);
        assert_null(function_at(&f, CODE_AT + CODE_BYTES));
        assert_null(function_at(&f, CODE_AT - 1));
        rp_code_functions_free(&f);
        assert_true(rp_code_elf_find(&elf, "last.kd", &s));
        assert_int_equal(s.st_value, DESCRIPTORS_AT + 2 * RP_CODE_DESCRIPTOR_BYTES);
        assert_false(rp_code_elf_find(&elf, "las.kd", &s));
    }
}

/* The size that a compiler gives its function is that of the kernel. */
static void a_kernel_takes_the_size_of_its_function(void **state)
{
    struct object *o = &the_object;
    struct rp_code_elf elf;
    struct rp_code_functions f;

    (void)state;
    open_object(o);
    add_symbol(o, "zz", STT_FUNC, CODE_AT, 0x30);
    add_symbol(o, "zz_alias", STT_FUNC, CODE_AT, 0x30);
    add_descriptor(o, "zz.kd", 0, CODE_AT);
    add_descriptor(o, "outside.kd", 1, CODE_AT + 0x10000); /* of no code that is there */
    close_object(o, &elf);
    assert_int_equal(rp_code_functions_read(&elf, &f), 0);
    check_function(&f, CODE_AT + 0x2f, "zz", CODE_AT, 0x30);
    assert_null(function_at(&f, CODE_AT + 0x30));
    assert_null(function_at(&f, CODE_AT + 0x10000));
    rp_code_functions_free(&f);
}

/* --- what a kernel consists of --------------------------------------------------------------- */

enum { TABLE_AT = DESCRIPTORS_AT + 0x200 };

/* s_getpc_b64 s[2:3]; s_add_u32 s2, s2, literal; s_addc_u32 s3, s3, literal */
static void add_address_of(struct object *o, uint64_t at, uint64_t target)
{
    const uint64_t offset = target - (at + 4);
    const uint32_t words[] = {0xbe821c00, 0x8002ff02, (uint32_t)offset, 0x8203ff03,
                              (uint32_t)(offset >> 32)};

    memcpy(o->bytes + at, words, sizeof words);
}

struct overlap {
    uint64_t first_at, first_bytes, second_at, second_bytes;
    uint64_t meant[2];   /* by the kernel: bytes behind TABLE_AT */
    uint64_t last_bytes; /* how many of these make the kernel */
};

static uint64_t hash_of_overlap(const struct overlap *c, unsigned type, uint64_t changed)
{
    struct object *o = &the_object;
    struct rp_code_identity *contents;
    struct rp_code_elf elf;
    uint64_t hash;

    open_object(o);
    add_symbol(o, "k", STT_FUNC, CODE_AT, 0x40);
    add_descriptor(o, "k.kd", 0, CODE_AT);
    add_symbol(o, "first", type, TABLE_AT + c->first_at, c->first_bytes);
    add_symbol(o, "second", type, TABLE_AT + c->second_at, c->second_bytes);
    add_address_of(o, CODE_AT, TABLE_AT + c->meant[0]);
    add_address_of(o, CODE_AT + 20, TABLE_AT + c->meant[1]);
    o->bytes[TABLE_AT + changed] = 1;
    close_object(o, &elf);
    contents = rp_code_identity_open(o->bytes, sizeof o->bytes);
    assert_non_null(contents);
    hash = rp_code_identity_hash(contents, "k.kd");
    rp_code_identity_free(contents);
    return hash;
}

/* An alias that is shorter, or a label in a table: every byte that the kernel can reach counts. */
static void what_overlaps_counts_as_a_whole(void **state)
{
    static const struct overlap cases[] = {
        {0, 16, 0, 100, {4, 48}, 100},  {0, 100, 0, 16, {4, 48}, 100}, {0, 16, 0, 100, {0, 0}, 100},
        {0, 16, 8, 100, {8, 8}, 108},   {0, 16, 8, 100, {0, 0}, 108},  {0, 100, 8, 16, {8, 8}, 100},
        {0, 100, 0, 100, {0, 96}, 100}, {0, 16, 16, 84, {0, 16}, 100}, {0, 16, 16, 84, {0, 0}, 16},
    };
    static const unsigned types[] = {STT_OBJECT, STT_FUNC};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t t = 0; t < 2; t++) {
            const struct overlap *c = &cases[i];
            const uint64_t nothing = hash_of_overlap(c, types[t], 0x180);

            assert_int_not_equal(nothing, 0);
            for (uint64_t changed = 0; changed < 120; changed++)
                if ((hash_of_overlap(c, types[t], changed) != nothing) != (changed < c->last_bytes))
                    fail_msg("case %zu, type %u: byte %u", i, types[t], (unsigned)changed);
        }
    }
}

/* Every byte of headers, notes and tables may be anything: nothing is read beyond the file. */
static void damaged_files_are_survived(void **state)
{
    struct object *o = &the_object;
    uint8_t *copy = malloc(FILE_BYTES);
    struct rp_code_elf elf;
    uint32_t random = 1;

    (void)state;
    assert_non_null(copy);
    open_object(o);
    add_metadata(o, "a.kd", 1, 8);
    add_metadata(o, "b.kd", 1, 8);
    add_symbol(o, "a", STT_FUNC, CODE_AT, 0);
    add_descriptor(o, "a.kd", 0, CODE_AT);
    close_object(o, &elf);
    for (unsigned i = 0; i < 20000; i++) {
        struct rp_code_functions f;
        struct rp_code_kernel k;
        struct rp_code_identity *contents;
        struct rp_err err = RP_ERR_INIT;
        size_t size = FILE_BYTES;

        memcpy(copy, o->bytes, FILE_BYTES);
        for (unsigned j = 0; j < 3; j++) {
            static const uint32_t from[] = {0, NOTE_AT, SYMBOLS_AT, HASH_AT, SECTIONS_AT};

            random = random * 1664525u + 1013904223u;
            copy[from[random >> 8 & 3] + (random >> 12) % 0x200] = (uint8_t)(random >> 24);
        }
        if (i % 8 == 0)
            size = random % FILE_BYTES;
        if (!rp_code_elf_open(copy, size, &elf))
            continue;
        if (rp_code_functions_read(&elf, &f) == 0)
            rp_code_functions_free(&f);
        if (rp_code_kernel_read(copy, size, "b.kd", &k, NULL, &err) == 0)
            rp_code_kernel_free(&k);
        contents = rp_code_identity_open(copy, size);
        if (contents)
            rp_code_identity_hash(contents, "a.kd");
        rp_code_identity_free(contents);
    }
    free(copy);
}

/* Bundles of device code, made here byte by byte: for which GPUs they are. */

#define HIP(target) "hipv4-amdgcn-amd-amdhsa--" target

enum { ROOM = 4096 };

struct bundle {
    uint8_t bytes[ROOM];
    size_t used;
};

static void put(struct bundle *b, const void *data, size_t bytes)
{
    assert_true(b->used + bytes <= sizeof b->bytes);
    memcpy(b->bytes + b->used, data, bytes);
    b->used += bytes;
}

static struct bundle bundle_of(const char *const *names)
{
    struct bundle b = {.used = 0};
    uint64_t count = 0;

    while (names[count])
        count++;
    put(&b, RP_BUNDLE_MAGIC, RP_BUNDLE_MAGIC_BYTES);
    put(&b, &count, 8);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t entry[] = {4096, 100, strlen(names[i])};
        put(&b, entry, sizeof entry);
        put(&b, names[i], strlen(names[i]));
    }
    return b;
}

static void check(const char *const *names, bool xnack, enum rp_offload_fit want,
                  const char *targets)
{
    const struct bundle b = bundle_of(names);
    struct rp_bundle_fit fit = {.gfx = "gfx942"};

    rp_bundle_note(&fit, b.bytes, b.used);
    assert_int_equal(rp_bundle_verdict(&fit, xnack), want);
    assert_string_equal(fit.targets, targets);
}

#define CHECK(xnack, want, targets, ...)                                                           \
    check((const char *const[]){__VA_ARGS__, NULL}, xnack, want, targets)

static void targets_and_xnack(void **state)
{
    (void)state;
    CHECK(false, RP_OFFLOAD_OTHER_GPU, "gfx90a", "host-x86_64-unknown-linux-gnu-", HIP("gfx90a"));
    CHECK(false, RP_OFFLOAD_OTHER_GPU, "gfx90a, gfx1100, gfx90", HIP("gfx90a:xnack-"),
          HIP("gfx90a:xnack+"), HIP("gfx1100"), HIP("gfx90"));
    CHECK(false, RP_OFFLOAD_FITS, "gfx90a, gfx942", HIP("gfx90a"), HIP("gfx942:sramecc+"));
    CHECK(false, RP_OFFLOAD_XNACK_ON, "gfx942", HIP("gfx942:xnack+"));
    CHECK(true, RP_OFFLOAD_FITS, "gfx942", HIP("gfx942:sramecc+:xnack+"));
    CHECK(true, RP_OFFLOAD_XNACK_OFF, "gfx942", HIP("gfx942:xnack-"));
    CHECK(false, RP_OFFLOAD_FITS, "gfx9-4-generic", HIP("gfx9-4-generic"));
    CHECK(false, RP_OFFLOAD_FITS, "", "hip-spirv64-amd-amdhsa--amdgcnspirv");
    CHECK(false, RP_OFFLOAD_FITS, "", "openmp-amdgcn-amd-amdhsa--gfx90a"); /* not HIP's */
}

/* What a file has reaches a terminal as letters, digits and dashes only. */
static void control_characters_are_cut(void **state)
{
    (void)state;
    CHECK(false, RP_OFFLOAD_OTHER_GPU, "gfx90a", HIP("gfx90a\033[2J"));
}

/* Cut off anywhere, and with lengths that go beyond the end: never read beyond @p bytes. */
static void damage(void **state)
{
    static const char *const names[] = {"host-x86_64-unknown-linux-gnu-", HIP("gfx90a"), NULL};
    (void)state;
    struct bundle b = bundle_of(names);

    for (size_t bytes = 0; bytes <= b.used; bytes++) {
        uint8_t *exact = malloc(bytes ? bytes : 1); /* the address sanitizer watches its end */
        struct rp_bundle_fit fit = {.gfx = "gfx942"};
        assert_non_null(exact);
        memcpy(exact, b.bytes, bytes);
        rp_bundle_note(&fit, exact, bytes);
        rp_bundle_note_compressed(&fit, exact, bytes);
        assert_string_equal(fit.targets, bytes == b.used ? "gfx90a" : "");
        free(exact);
    }
    memset(b.bytes + RP_BUNDLE_MAGIC_BYTES + 8 + 16, 0xff, 8); /* the first name's length */
    struct rp_bundle_fit fit = {.gfx = "gfx942"};
    rp_bundle_note(&fit, b.bytes, b.used);
    assert_string_equal(fit.targets, "");
}

enum { ZLIB, ZSTD };

static size_t compress_by(unsigned method, uint8_t *to, size_t room, const struct bundle *b)
{
    void *library = dlopen(method == ZSTD ? "libzstd.so.1" : "libz.so.1", RTLD_LAZY);
    unsigned long bytes = room;
    union {
        void *symbol;
        size_t (*zstd)(void *, size_t, const void *, size_t, int);
        int (*zlib)(void *, unsigned long *, const void *, unsigned long);
    } f;

    assert_non_null(library);
    f.symbol = dlsym(library, method == ZSTD ? "ZSTD_compress" : "compress");
    assert_non_null(f.symbol);
    if (method == ZSTD)
        bytes = f.zstd(to, room, b->bytes, b->used, 3);
    else
        assert_int_equal(f.zlib(to, &bytes, b->bytes, b->used), 0);
    assert_true(bytes < room);
    return bytes;
}

/* @param behind  bytes of the file that are none of the bundle's */
static void check_compressed(uint16_t version, uint16_t method, size_t behind)
{
    static const char *const names[] = {"host-x86_64-unknown-linux-gnu-", HIP("gfx90a"), NULL};
    static const size_t headers[] = {0, 20, 24, 32}, widths[] = {0, 0, 4, 8};
    const struct bundle b = bundle_of(names);
    const size_t header = headers[version];
    uint8_t file[ROOM] = "CCOB";
    const uint64_t whole =
        header + compress_by(method, file + header, sizeof file - header - behind, &b);
    struct rp_bundle_fit fit = {.gfx = "gfx942"}, cut = fit, damaged = fit;

    memcpy(file + 4, &version, 2);
    memcpy(file + 6, &method, 2);
    memcpy(file + 8, &whole, widths[version]);
    rp_bundle_note_compressed(&fit, file, whole + behind);
    assert_string_equal(fit.targets, "gfx90a");
    if (version > 1) { /* version 1 does not say that anything is missing */
        rp_bundle_note_compressed(&cut, file, whole - 1);
        assert_string_equal(cut.targets, "");
    }
    memset(file + header, 0x55, 8);
    rp_bundle_note_compressed(&damaged, file, whole + behind);
    assert_string_equal(damaged.targets, "");
    rp_bundle_fit_end(&fit);
    rp_bundle_fit_end(&cut);
    rp_bundle_fit_end(&damaged);
    assert_string_equal(fit.targets, "gfx90a");
}

static void compressed_bundles(void **state)
{
    (void)state;
    for (uint16_t version = 1; version <= 3; version++)
        for (uint16_t method = ZLIB; method <= ZSTD; method++)
            for (size_t behind = 0; behind <= 100; behind += 100)
                check_compressed(version, method, behind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_note_is_read),
        cmocka_unit_test(what_lacks_metadata_is_said),
        cmocka_unit_test(functions_without_a_size_end_at_the_next),
        cmocka_unit_test(a_kernel_takes_the_size_of_its_function),
        cmocka_unit_test(what_overlaps_counts_as_a_whole),
        cmocka_unit_test(damaged_files_are_survived),
        cmocka_unit_test(targets_and_xnack),
        cmocka_unit_test(control_characters_are_cut),
        cmocka_unit_test(damage),
        cmocka_unit_test(compressed_bundles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
