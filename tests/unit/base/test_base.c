/* What is small: messages, buffers, SHA-256 against the examples of FIPS 180-4 and sha256sum, and
 * what a regular expression becomes before regcomp makes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/regex_size.h"
#include "base/sha256.h"

#include "unit/cmocka_all.h"

static void messages_read_outside_in(void **state)
{
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_fail(&err, RP_BAD_INPUT, "table %s is missing", "t"), -RP_BAD_INPUT);
    assert_int_equal(rp_wrap(&err, "read trace %s", "x.db"), -RP_BAD_INPUT);
    assert_string_equal(err.text, "read trace x.db: table t is missing");
    assert_int_equal(rp_fail_errno(&err, RP_ENVIRONMENT, ENOSPC, "write"), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "write: No space left on device");
    assert_int_equal(rp_fail(NULL, RP_USAGE, "nobody listens"), -RP_USAGE);
}

static void long_messages_are_cut(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    char big[3 * RP_ERR_TEXT_BYTES];

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    rp_fail_errno(&err, RP_USAGE, EIO, "%s", big);
    assert_int_equal(strlen(err.text), RP_ERR_TEXT_BYTES - 1);
    rp_wrap(&err, "%s", big);
    assert_int_equal(strlen(err.text), RP_ERR_TEXT_BYTES - 1);
}

static void buffers_grow(void **state)
{
    rp_autobuf buf = {0};
    rp_autofree char *taken = NULL;

    (void)state;
    assert_string_equal(rp_buf_text(&buf), "");
    for (int i = 0; i < 1000; i++)
        rp_buf_printf(&buf, "%d,", i % 10);
    assert_int_equal(buf.len, 2000);
    rp_buf_add(&buf, "\0z", 2);
    assert_int_equal(buf.data[2001], 'z');
    taken = rp_buf_steal(&buf);
    assert_int_equal(strlen(taken), 2000);
    assert_int_equal(buf.len, 0);
    assert_null(buf.data);
}

static void sha256_is(const char *text, size_t bytes, const char *expected)
{
    char hash[RP_SHA256_TEXT];

    rp_sha256(text, bytes, hash);
    assert_string_equal(hash, expected);
}

static void hashes_the_published_examples(void **state)
{
    enum { MILLION = 1000000 };
    rp_autofree char *as = malloc(MILLION);

    (void)state;
    sha256_is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_non_null(as);
    memset(as, 'a', MILLION);
    sha256_is(as, MILLION, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/** Lengths around the ends of blocks and of what is read at once. */
static void hashes_files_as_sha256sum_does(void **state)
{
    static const size_t lengths[] = {1, 55, 63, 64, 65, 119, 120, 128, 16383, 16384, 16385, 50001};
    char path[] = "/tmp/rp-sha-XXXXXX";
    rp_autoclose int fd = mkstemp(path);
    rp_autofree char *command = rp_format("sha256sum %s", path);
    struct rp_err err = RP_ERR_INIT;
    char hash[RP_SHA256_TEXT], expected[RP_SHA256_TEXT];
    rp_autofree char *bytes = malloc(50001);

    (void)state;
    assert_true(fd >= 0 && bytes && command);
    for (size_t i = 0; i < 50001; i++)
        bytes[i] = (char)(i * 2654435761U >> 13);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        FILE *sum;

        assert_int_equal(rp_write_file(path, bytes, lengths[i], &err), 0);
        sum = popen(command, "r"); /* NOLINT(cert-env33-c): a test's own command */
        assert_non_null(sum);
        assert_int_equal(fread(expected, 1, 64, sum), 64);
        pclose(sum);
        expected[64] = 0;
        assert_int_equal(rp_sha256_file(path, hash, &err), 0);
        assert_string_equal(hash, expected);
    }
    unlink(path);
    assert_int_equal(rp_sha256_file(path, hash, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, path));
}

static char *many(const char *piece, size_t count)
{
    const size_t bytes = strlen(piece);
    char *text = malloc(bytes * count + 1);

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * bytes, piece, bytes);
    text[bytes * count] = '\0';
    return text;
}

static void parts_of_expressions(void **state)
{
    static const struct {
        const char *text;
        size_t parts;
    } rows[] = {
        {"", 0},           {"abc", 3},          {"^gemm\\(int\\)$", 1},
        {"^gemm.*", 7},    {"[a-z]", 1},        {"[]a]b", 2},
        {"[^]a]b", 2},     {"[[:alpha:]]b", 2}, {"a{3}", 4},
        {"a{1,100}", 101}, {"a{100,}", 102},    {"a{,7}", 8},
        {"a{x}", 4},   /* no repetition */
        {"a\\{9}", 4}, /* nor this */
        {"a+", 3},     /* made as aa* */
        {"(ab){2}", 7},    {"(a|b)", 4},        {"((", 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rp_regex_parts(rows[i].text) != rows[i].parts)
            fail_msg("%s: %zu", rows[i].text, rp_regex_parts(rows[i].text));
}

static void too_large_ones_are_refused(void **state)
{
    static const char *const rows[] = {
        "((a{1,255}){1,255}){1,255}",
        "a{1,255}{1,255}{1,255}",
        "a{32767}",
        "a{99999999999999999999}",
        "a{0,32767}",
        "a{32767,}",
        "(a|b{1,200}){1,200}",
        "(((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+", /* each + is two */
        "a++++++++++++++++++++++++",
    };
    char *deep = many("(", 300), *wide = many("a|", 3000), *long_one = many("a", 70000);
    char *name = many("a", 9000);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rp_regex_check_size("--kernel", rows[i], &err) != -RP_USAGE)
            fail_msg("%s", rows[i]);
        assert_non_null(strstr(err.text, "--kernel"));
        assert_non_null(strstr(err.text, "too large"));
    }
    assert_int_equal(rp_regex_check_size("x", deep, &err), -RP_USAGE);
    assert_int_equal(rp_regex_check_size("x", wide, &err), -RP_USAGE);
    assert_int_equal(rp_regex_check_size("x", long_one, &err), -RP_USAGE);
    assert_int_equal(rp_regex_check_size("x", name, &err), -RP_USAGE);
    name[0] = '^'; /* the whole of a long name is one place */
    assert_int_equal(rp_regex_check_size("x", name, &err), 0);
    free(deep);
    free(wide);
    free(long_one);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_read_outside_in),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(buffers_grow),
        cmocka_unit_test(hashes_the_published_examples),
        cmocka_unit_test(hashes_files_as_sha256sum_does),
        cmocka_unit_test(parts_of_expressions),
        cmocka_unit_test(too_large_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
