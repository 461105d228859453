#include "report/report.h"

#include "base/buf.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char hostile[] =
    "{\"name\": \"</script><img src=x onerror=alert(1)><!--<script>\", \"n\": \"a\\\\b\"}\n";

static void make(const char *title, struct rp_buf *page)
{
    const struct rp_html_document documents[] = {
        {.name = "dag", .text = hostile, .bytes = sizeof hostile - 1},
        {.name = "analysis", .text = "{}\n", .bytes = 3},
    };
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_report_html(title, documents, 2, page, &err), 0);
}

/* What stands between the tags of a document, with the one escape taken back. */
static void document(const struct rp_buf *page, const char *begin, struct rp_buf *ret)
{
    const char *at = strstr(page->data, begin), *end;

    assert_non_null(at);
    at += strlen(begin);
    end = strstr(at, "</script>\n");
    assert_non_null(end);
    while (at < end)
        if (strncmp(at, "\\u003c", 6) == 0) {
            rp_buf_puts(ret, "<");
            at += 6;
        } else {
            rp_buf_add(ret, at++, 1);
        }
}

static void documents_are_the_json_byte_for_byte(void **state)
{
    rp_autobuf page = {0}, text = {0}, other = {0};

    (void)state;
    make("t", &page);
    document(&page, "<script type=\"application/json\" id=\"data-dag\">", &text);
    assert_string_equal(rp_buf_text(&text), hostile);
    document(&page, "<script type=\"application/json\" id=\"data-analysis\">", &other);
    assert_string_equal(rp_buf_text(&other), "{}\n");
}

/* Of a profile.json that another program has written, for one. */
static void what_is_not_seen_is_written_out(void **state)
{
    static const char text[] = "{\"a\": \"x\xe2\x80\xae\xc2\x9b\x7f##[error]<\"}\n";
    const struct rp_html_document odd = {.name = "dag", .text = text, .bytes = sizeof text - 1};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf page = {0};

    (void)state;
    assert_int_equal(rp_report_html("t", &odd, 1, &page, &err), 0);
    assert_non_null(
        strstr(page.data, "{\"a\": \"x\\u202e\\u009b\\u007f\\u0023#[error]\\u003c\"}\n</script>"));
}

static void nothing_of_a_trace_becomes_markup(void **state)
{
    rp_autobuf page = {0};

    (void)state;
    make("</title><script>alert(1)</script>&\xff", &page);
    assert_null(strstr(page.data, "<img"));
    assert_null(strstr(page.data, "<!--"));
    assert_null(strstr(page.data, "<script>alert"));
    assert_non_null(strstr(page.data, "<title>&lt;/title>&lt;script>alert(1)&lt;/script>&amp;"
                                      "\\xff</title>"));
    rp_buf_free(&page);
    make("a\xe2\x80\xae"
         "b\n\x01\xe2\x80\x8b"
         "c",
         &page); /* marks that reorder and hide */
    assert_non_null(strstr(page.data, "<title>a\\u202eb\\x0a\\x01\\u200bc</title>"));
}

static void a_page_allows_itself_two_hashes_only(void **state)
{
    rp_autobuf page = {0};

    (void)state;
    make("t", &page);
    assert_non_null(strstr(page.data, "content=\"default-src 'none'; base-uri 'none'; form-action "
                                      "'none'; style-src 'sha256-"));
    assert_non_null(strstr(page.data, "; script-src 'sha256-"));
    assert_null(strstr(page.data, "unsafe-"));
    assert_null(strstr(page.data, "@STYLE@"));
    assert_null(strstr(page.data, "<link"));
    assert_null(strstr(page.data, "<script src"));
}

/* "less than 1 MB beside its data" */
static void a_page_is_small(void **state)
{
    rp_autobuf page = {0};

    (void)state;
    make("t", &page);
    assert_true(page.len < 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_the_json_byte_for_byte),
        cmocka_unit_test(what_is_not_seen_is_written_out),
        cmocka_unit_test(nothing_of_a_trace_becomes_markup),
        cmocka_unit_test(a_page_allows_itself_two_hashes_only),
        cmocka_unit_test(a_page_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
