/* Diffs of many pairs of texts, applied by git. */
#include "optimize/session_parts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include "unit/scratch.h"

#include "optimize/session_files.c"

static void applies(const char *before, const char *after)
{
    rp_autofree char *file = rp_path_join(scratch_dir, "k.hip");
    rp_autofree char *patch = rp_path_join(scratch_dir, "k.patch");
    rp_autofree char *command = rp_format(
        "cd %s && git apply --unidiff-zero --whitespace=nowarn k.patch 2>&1", scratch_dir);
    rp_autofree char *got = NULL;
    rp_autobuf text = {0};
    struct rp_err err = RP_ERR_INIT;

    patch_write("k.hip", before, strlen(before), after, strlen(after), &text);
    if (strcmp(before, after) == 0) {
        assert_int_equal(text.len, 0);
        return;
    }
    assert_int_equal(rp_write_file(file, before, strlen(before), &err), 0);
    assert_int_equal(rp_write_file(patch, text.data, text.len, &err), 0);
    if (system(command) != 0) /* NOLINT(cert-env33-c): a test's own command */
        fail_msg("git does not apply:\n%s", text.data);
    got = rp_read_text(file, 1 << 20);
    assert_string_equal(got, after);
}

static void by_hand(void **state)
{
    rp_autobuf text = {0};

    (void)state;
    patch_write("k.hip", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 18, "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", 21,
                &text);
    assert_string_equal(rp_buf_text(&text),
                        "--- a/k.hip\n+++ b/k.hip\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n"
                        "-5\n+five\n 6\n 7\n 8\n");
    applies("a\nb\nc\n", "a\nb\nc\n");
    applies("a\nb\nc", "a\nb\nc\n");
    applies("a\nb\nc\n", "a\nb\nc");
    applies("a\nb\nc", "a\nx\nc");
    applies("a\r\nb\r\n", "a\r\nc\r\n");
    applies("a\n", "b\nc\nd\n");
    applies("x\nx\nx\n", "x\nx\n");
}

static void many_texts(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (unsigned i = 0; i < 150; i++) {
        char texts[2][32];

        for (unsigned t = 0; t < 2; t++) {
            size_t length;

            seed = seed * 1664525 + 1013904223;
            length = 1 + (seed >> 16) % 20;
            for (size_t j = 0; j < length; j++) {
                seed = seed * 1664525 + 1013904223;
                texts[t][j] = "ab\n"[(seed >> 16) % 3];
            }
            texts[t][length] = 0;
        }
        applies(texts[0], texts[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(many_texts)};

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
