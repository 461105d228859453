/* Bundles of device code, made here byte by byte: for which GPUs they are. */
#include <stdlib.h>
#include <string.h>

#include "trace/offload_bundle.h"

#include "unit/cmocka_all.h"

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
        cmocka_unit_test(targets_and_xnack),
        cmocka_unit_test(control_characters_are_cut),
        cmocka_unit_test(damage),
        cmocka_unit_test(compressed_bundles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
