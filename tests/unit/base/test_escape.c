/* Nothing of a text acts: on a terminal, in a line, in the log of a CI service. */
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#include "unit/cmocka_all.h"

struct row {
    const char *in, *out;
};

static void check(void (*fn)(struct rp_buf *, const char *), const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rp_autobuf buf = {0};

        fn(&buf, rows[i].in);
        assert_string_equal(rp_buf_text(&buf), rows[i].out);
    }
}

static void what_acts_is_written_out(void **state)
{
    static const struct row rows[] = {
        {"", ""},
        {"void gemm<float>(float*, int)", "void gemm<float>(float*, int)"},
        {"a\x1b[31mb", "a\\x1b[31mb"},
        {"a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"}, /* CSI as one character */
        {"\xe2\x80\xae\xe2\x80\x8f\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c",
         "\\u202e\\u200f\\u2066\\u2069\\u061c"},
        {"a\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf\xc2\xad\xcd\x8f",
         "a\\u200b\\u200d\\ufeff\\u00ad\\u034f"},
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"}, /* line ends of another kind */
        {"\xf3\xa0\x81\x81\xef\xb8\x8f", "\\U000e0041\\ufe0f"},
        {"\xff\xc3(\x80\xc0\xaf", "\\xff\\xc3(\\x80\\xc0\\xaf"},
        {"\xed\xa0\x80\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"},
        {"cut \xe4\xb8", "cut \\xe4\\xb8"},
        {"\xc3\xa4 \xe4\xb8\xad \xf0\x9f\x9a\x80", "\xc3\xa4 \xe4\xb8\xad \xf0\x9f\x9a\x80"},
        {"C:\\dir\\x1b", "C:\\dir\\x1b"},
    };

    (void)state;
    check(rp_escape, rows, sizeof rows / sizeof *rows);
}

/* GitHub looks behind the blanks at the beginning of a line, and a line may be broken anywhere. */
static void no_command_of_a_ci_service(void **state)
{
    static const struct row rows[] = {
        {"::error::x", "\\x3a:error::x"},
        {"  ::warning file=a::x", "  \\x3a:warning file=a::x"},
        {"a ::error::x", "a \\x3a:error::x"},
        {"\xc2\xa0::error::", "\xc2\xa0\\x3a:error::"},
        {"\xe3\x80\x80::error::", "\xe3\x80\x80\\x3a:error::"},
        {"a\n::error::x", "a\\x0a::error::x"},
        {"ns::kernel<std::pair>", "ns::kernel<std::pair>"},
        {":a", ":a"},
        {":::error::", "\\x3a::error::"},
        {"##[error]x", "\\x23#[error]x"},
        {"a##[add-mask]x", "a\\x23#[add-mask]x"},
        {"##vso[task.logissue]", "\\x23#vso[task.logissue]"},
        {"###[x", "#\\x23#[x"},
        {"a ## b", "a ## b"},
    };

    (void)state;
    check(rp_escape, rows, sizeof rows / sizeof *rows);
}

static void escaped_once_is_enough(void **state)
{
    static const char text[] = "\x1b[2J\n::error::\xff ::x ##[y]\xe2\x80\xae";
    rp_autobuf once = {0}, twice = {0};
    char small[9];

    (void)state;
    rp_escape(&once, text);
    rp_escape(&twice, rp_buf_text(&once));
    assert_string_equal(rp_buf_text(&twice), rp_buf_text(&once));
    rp_escape_into(small, sizeof small, "abcde\nf");
    assert_string_equal(small, "abcde"); /* no half of what is written out */
    rp_escape_into(small, sizeof small, "abcd\nf");
    assert_string_equal(small, "abcd\\x0a");
}

static void json_strings(void **state)
{
    static const struct row rows[] = {
        {"a\"b\\c\n\x1b\x7f", "a\\\"b\\\\c\\u000a\\u001b\\u007f"},
        {"\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81", "\\u009b\\u202e\\udb40\\udc41"},
        {"\xff\xc3\xa4", "\xef\xbf\xbd\xc3\xa4"},
        {"::error ##[x]", "::error \\u0023#[x]"},
    };
    static const struct row whole[] = {
        {"{\n  \"a\": \"\xc2\x9b\xc3\xa4\x7f\xe2\x80\xae\"\n}\n\033[1mbold\033[0m",
         "{\n  \"a\": \"\\u009b\xc3\xa4\\u007f\\u202e\"\n}\n\033[1mbold\033[0m"},
        {"{\"a\": \"##[error]\"}", "{\"a\": \"\\u0023#[error]\"}"},
        {"plain # ##", "plain # ##"},
        {"", ""},
    };

    (void)state;
    check(rp_escape_json, rows, sizeof rows / sizeof *rows);
    check(rp_escape_invisible, whole, sizeof whole / sizeof *whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_acts_is_written_out),
        cmocka_unit_test(no_command_of_a_ci_service),
        cmocka_unit_test(escaped_once_is_enough),
        cmocka_unit_test(json_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
