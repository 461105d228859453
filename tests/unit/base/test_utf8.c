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

#define BAD "\xef\xbf\xbd"

static void bytes_that_are_none_are_replaced(void **state)
{
    static const struct {
        const char *text, *fixed;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        {"a\xff"
         "b",
         "a" BAD "b"},
        {"\x80", BAD},
        {"\xc3", BAD},                         /* cut short */
        {"\xe2\x82", BAD BAD},                 /* cut short */
        {"\xc0\xaf", BAD BAD},                 /* longer than needed */
        {"\xe0\x9f\xbf", BAD BAD BAD},         /* longer than needed */
        {"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD}, /* longer than needed */
        {"\xed\xa0\x80", BAD BAD BAD},         /* surrogate */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond U+10FFFF */
        {"\xf8\x88\x80\x80\x80", BAD BAD BAD BAD BAD},
        {"\xc3\xc3\xa9", BAD "\xc3\xa9"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rp_autobuf out = {0};
        size_t len = strlen(cases[i].text);
        rp_utf8_fix(&out, cases[i].text, len);
        assert_string_equal(rp_buf_text(&out), cases[i].fixed);
        assert_int_equal(rp_utf8_is_valid(cases[i].text, len),
                         strcmp(cases[i].text, cases[i].fixed) == 0);
        assert_true(rp_utf8_is_valid(rp_buf_text(&out), out.len));
    }
}

/* Encoded by the rules of RFC 3629, without our decoder. */
static size_t encode(uint32_t c, char ret[4])
{
    if (c < 0x80) {
        ret[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        ret[0] = (char)(0xc0 | c >> 6);
        ret[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        ret[0] = (char)(0xe0 | c >> 12);
        ret[1] = (char)(0x80 | (c >> 6 & 0x3f));
        ret[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    ret[0] = (char)(0xf0 | c >> 18);
    ret[1] = (char)(0x80 | (c >> 12 & 0x3f));
    ret[2] = (char)(0x80 | (c >> 6 & 0x3f));
    ret[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static void every_character_is_decoded(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        const bool is_half = c >= 0xd800 && c <= 0xdfff;
        char bytes[4];
        const size_t length = encode(c, bytes);
        uint32_t point = 1;

        if (rp_utf8_decode(bytes, length, &point) != (is_half ? 0 : length) ||
            point != (is_half ? 0xfffd : c) || rp_utf8_decode(bytes, length - 1, &point) != 0 ||
            rp_utf8_is_valid(bytes, length) == is_half)
            fail_msg("U+%04X", c);
    }
}

/* Of every two bytes the shorter forms, and of none a character that is not there. */
static void only_shortest_forms_are_characters(void **state)
{
    (void)state;
    for (unsigned first = 0x80; first < 0x100; first++)
        for (unsigned second = 0; second < 0x100; second++) {
            const char bytes[] = {(char)first, (char)second, (char)0xbf, (char)0xbf};
            uint32_t point;
            char again[4];
            const size_t length = rp_utf8_decode(bytes, 4, &point);

            if (length && (encode(point, again) != length || memcmp(again, bytes, length) != 0))
                fail_msg("%02x %02x", first, second);
            if (!length)
                assert_int_equal(point, 0xfffd);
        }
}

/* A bad byte anywhere, among bytes that are looked at eight at a time. */
static void one_bad_byte_is_found(void **state)
{
    char text[41];

    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len <= sizeof text; len++) {
        assert_true(rp_utf8_is_valid(text, len));
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)0x80;
            assert_false(rp_utf8_is_valid(text, len));
            text[i] = 'a';
        }
    }
    assert_true(rp_utf8_is_valid("1234567\xc3\xa9", 9));
    assert_false(rp_utf8_is_valid("1234567\xc3\xa9", 8));
}

static void widths_are_those_of_terminals(void **state)
{
    static const struct {
        uint32_t point;
        unsigned width;
    } cases[] = {
        {'a', 1},     {0xe9, 1},    {0xad, 1},    {0x2ff, 1},   {0x300, 0},   {0x36f, 0},
        {0x370, 1},   {0x10ff, 1},  {0x1100, 2},  {0x1160, 0},  {0x200b, 0},  {0x2329, 2},
        {0x25a0, 1},  {0x2588, 1},  {0x302a, 0},  {0x3042, 2},  {0x4e2d, 2},  {0xac00, 2},
        {0xd7b0, 0},  {0xfe0f, 0},  {0xff41, 2},  {0xff61, 1},  {0xfffd, 1},  {0x1f600, 2},
        {0x20000, 2}, {0x3fffd, 2}, {0x3fffe, 1}, {0xe01ef, 0}, {0xe01f0, 1}, {0x10ffff, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rp_utf8_width(cases[i].point) != cases[i].width)
            fail_msg("U+%04X is not %u", cases[i].point, cases[i].width);
    assert_int_equal(rp_utf8_cells(""), 0);
    assert_int_equal(rp_utf8_cells("a\xc3\xa9\xe4\xb8\xad\xcc\x80\xff"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_acts_is_written_out),
        cmocka_unit_test(no_command_of_a_ci_service),
        cmocka_unit_test(escaped_once_is_enough),
        cmocka_unit_test(json_strings),
        cmocka_unit_test(bytes_that_are_none_are_replaced),
        cmocka_unit_test(every_character_is_decoded),
        cmocka_unit_test(only_shortest_forms_are_characters),
        cmocka_unit_test(one_bad_byte_is_found),
        cmocka_unit_test(widths_are_those_of_terminals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
