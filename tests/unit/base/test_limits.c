/* Programs that take too much, and SHA-256 against the examples of FIPS 180-4 and sha256sum. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sha256.h"

#include "unit/cmocka_all.h"

enum { MIB = 1 << 20 };
static const int64_t MANY_NS = 60 * (int64_t)1000000000;

static struct rp_proc_end run(const char *script, const struct rp_proc_limits *limits)
{
    rp_autofree char *own = strdup(script);
    char sh[] = "sh", c[] = "-c";
    char *const argv[] = {sh, c, own, NULL};
    const struct rp_proc proc = {.path = "/bin/sh",
                                 .argv = argv,
                                 .stdout_fd = -1,
                                 .stderr_fd = -1,
                                 .timeout_ns = MANY_NS,
                                 .limits = limits};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    assert_int_equal(rp_proc_run(&proc, &end, &err), 0);
    return end;
}

static void memory_of_all_processes_counts(void **state)
{
    /* Neither of both alone has 200 MiB when the first is found. */
    const struct rp_proc_limits limits = {.resident_bytes = 200 * (uint64_t)MIB};
    struct rp_proc_end end = run("tail /dev/zero & tail /dev/zero; wait", &limits);

    (void)state;
    assert_true(end.over_memory);
    assert_false(end.timed_out);
    assert_true(end.signaled);
    assert_int_equal(end.status, SIGKILL);
    assert_true(end.wall_ns < MANY_NS / 2);
}

static void little_memory_is_left_alone(void **state)
{
    const struct rp_proc_limits limits = {.resident_bytes = 200 * (uint64_t)MIB};
    struct rp_proc_end end = run("sleep 0.3; exit 7", &limits);

    (void)state;
    assert_false(end.over_memory);
    assert_false(end.signaled);
    assert_int_equal(end.status, 7);
}

static void addresses_files_and_time_have_limits(void **state)
{
    struct rp_proc_end end;

    (void)state;
    end = run("exec tail /dev/zero 2>/dev/null",
              &(struct rp_proc_limits){.address_bytes = 64 * (uint64_t)MIB});
    assert_false(end.signaled);
    assert_int_not_equal(end.status, 0);
    end = run("exec head -c 100000 /dev/zero >/tmp/rp-limits-$$",
              &(struct rp_proc_limits){.file_bytes = 4096});
    assert_true(end.signaled);
    assert_int_equal(end.status, SIGXFSZ);
    run("rm -f /tmp/rp-limits-*", NULL);
    end = run("while :; do :; done", &(struct rp_proc_limits){.cpu_s = 1});
    assert_true(end.signaled);
    assert_true(end.status == SIGKILL || end.status == SIGXCPU);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_all_processes_counts),
        cmocka_unit_test(little_memory_is_left_alone),
        cmocka_unit_test(addresses_files_and_time_have_limits),
        cmocka_unit_test(hashes_the_published_examples),
        cmocka_unit_test(hashes_files_as_sha256sum_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
