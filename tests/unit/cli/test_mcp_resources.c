/* Resources: results of calls in pages, files of the workspace, and what is no resource. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "unit/cmocka_all.h"

struct place {
    char *folder, *outside;
    struct rp_mcp_workspace workspace;
    struct rp_mcp_results results;
};

static void write_text(const char *folder, const char *name, const char *text)
{
    rp_autofree char *path = rp_path_join(folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *folder, const char *name)
{
    rp_autofree char *path = rp_path_join(folder, name);
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_mkdirs(path, &err), 0);
}

static struct place begin(void)
{
    struct place place = {0};
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_temporary_folder(&place.folder, &err), 0);
    assert_int_equal(rp_temporary_folder(&place.outside, &err), 0);
    assert_int_equal(rp_mcp_workspace_add(&place.workspace, place.folder, &err), 0);
    return place;
}

static void end(struct place *place)
{
    rp_mcp_results_free(&place->results);
    rp_mcp_workspace_free(&place->workspace);
    rp_temporary_folder_remove(&place->folder);
    rp_temporary_folder_remove(&place->outside);
}

static json_t *read_uri(const struct place *place, const char *uri)
{
    return rp_mcp_resource_read(&place->results, &place->workspace, uri);
}

static const char *text_at(const json_t *contents, size_t at, const char *key)
{
    return json_string_value(json_object_get(json_array_get(contents, at), key));
}

static unsigned keep(struct place *place, const char *text, size_t bytes)
{
    const struct rp_buf out = {.data = (char *)text, .len = bytes};

    return rp_mcp_results_keep(&place->results, rp_mcp_tool_find("profile"), &out, true);
}

/* All pages together are the result, whatever is in it: lines, characters of several bytes. */
static void pages_are_the_whole(void **state)
{
    static const char *const patterns[] = {"0123456\n", "x", "\xc3\xa4", "\xf0\x9f\x98\x80",
                                           "long line\xe2\x82\xac\n"};
    struct place place = begin();

    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        rp_autobuf text = {0}, joined = {0};
        unsigned number;
        size_t pages;

        while (text.len < 3 * RP_MCP_PAGE_BYTES + 17)
            rp_buf_puts(&text, patterns[i]);
        number = keep(&place, rp_buf_text(&text), text.len);
        pages = rp_mcp_pages(rp_buf_text(&text), text.len);
        assert_in_range(pages, 4, 5);
        for (size_t page = 1; page <= pages; page++) {
            rp_autofree char *uri = rp_format("rocm-perf://calls/%u?page=%zu", number, page);
            rp_autofree char *where = rp_format("Page %zu of %zu", page, pages);
            json_t *contents = read_uri(&place, uri);

            assert_non_null(contents);
            assert_string_equal(text_at(contents, 0, "uri"), uri);
            assert_true(strlen(text_at(contents, 0, "text")) <= RP_MCP_PAGE_BYTES);
            rp_buf_puts(&joined, text_at(contents, 0, "text"));
            assert_non_null(strstr(text_at(contents, 1, "text"), where));
            assert_int_equal(strstr(text_at(contents, 1, "text"), "the next one") != NULL,
                             page < pages);
            json_decref(contents);
        }
        assert_string_equal(rp_buf_text(&joined), rp_buf_text(&text));
    }
    end(&place);
}

static void the_last_eight_are_kept(void **state)
{
    struct place place = begin();
    json_t *contents, *list;

    (void)state;
    for (unsigned i = 1; i <= RP_MCP_KEPT + 1; i++)
        assert_int_equal(keep(&place, "{}", 2), i);
    assert_null(read_uri(&place, "rocm-perf://calls/1"));
    contents = read_uri(&place, "rocm-perf://calls/2");
    assert_string_equal(text_at(contents, 0, "text"), "{}");
    assert_string_equal(text_at(contents, 0, "mimeType"), "application/json");
    assert_int_equal(json_array_size(contents), 1);
    json_decref(contents);
    list = rp_mcp_resource_list(&place.results, &place.workspace);
    assert_int_equal(json_array_size(list), RP_MCP_KEPT);
    assert_string_equal(text_at(list, 0, "uri"), "rocm-perf://calls/9");
    json_decref(list);
    end(&place);
}

/* Results and captures are listed, as deep as they usually lie, and nothing of others. */
static void what_is_listed(void **state)
{
    static const char *const folders[] = {".rocpd_profile", "a/b/c/d", "a/b/c/d/e", ".git",
                                          "other"};
    struct place place = begin();
    rp_autofree char *link = rp_path_join(place.folder, "link");
    rp_autobuf names = {0};
    struct rp_err err = RP_ERR_INIT;
    json_t *list;

    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        rp_autofree char *folder = rp_path_join(place.folder, folders[i]);

        make_folder(place.folder, folders[i]);
        write_text(folder, "profile.json", "{}");
    }
    write_text(place.folder, "dispatch.json", "{}");
    write_text(place.folder, "package.json", "{}");
    write_text(place.outside, "profile.json", "{}");
    assert_int_equal(symlink(place.outside, link), 0);
    {
        rp_autofree char *inner = rp_path_join(place.folder, "other"); /* is listed once */

        assert_int_equal(rp_mcp_workspace_add(&place.workspace, inner, &err), 0);
    }
    list = rp_mcp_resource_list(&place.results, &place.workspace);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *contents = read_uri(&place, text_at(list, i, "uri"));

        assert_non_null(contents); /* What is listed can be read. */
        json_decref(contents);
        rp_buf_printf(&names, "%s|", text_at(list, i, "name"));
    }
    assert_string_equal(
        rp_buf_text(&names),
        ".rocpd_profile/profile.json|a/b/c/d/profile.json|dispatch.json|other/profile.json|");
    json_decref(list);
    end(&place);
}

/* A workspace of many results is listed up to a bound. */
static void the_list_ends(void **state)
{
    struct place place = begin();
    json_t *list;

    (void)state;
    for (int i = 0; i < 210; i++) {
        rp_autofree char *name = rp_format("r%d", i);
        rp_autofree char *folder = rp_path_join(place.folder, name);

        make_folder(place.folder, name);
        write_text(folder, "profile.json", "{}");
    }
    list = rp_mcp_resource_list(&place.results, &place.workspace);
    assert_int_equal(json_array_size(list), 200);
    json_decref(list);
    end(&place);
}

static void files_are_read(void **state)
{
    struct place place = begin();
    rp_autofree char *uri = NULL;
    json_t *contents;

    (void)state;
    write_text(place.folder, "a b?page=1", "text");
    uri = rp_format("file://localhost%s/a%%20b%%3fpage=1", place.workspace.roots[0]);
    contents = read_uri(&place, uri);
    assert_string_equal(text_at(contents, 0, "text"), "text");
    assert_string_equal(text_at(contents, 0, "mimeType"), "text/plain");
    json_decref(contents);
    end(&place);
}

/* Nothing leads out of the workspace, and what is not written as we write it is no resource. */
static void what_is_no_resource(void **state)
{
    static const char *const uris[] = {"",
                                       "x",
                                       "rocm-perf://calls/",
                                       "rocm-perf://calls/0",
                                       "rocm-perf://calls/01",
                                       "rocm-perf://calls/-1",
                                       "rocm-perf://calls/+1",
                                       "rocm-perf://calls/2",
                                       "rocm-perf://calls/1/",
                                       "rocm-perf://calls/1?page=",
                                       "rocm-perf://calls/1?page=0",
                                       "rocm-perf://calls/1?page=2",
                                       "rocm-perf://calls/1?page=-1",
                                       "rocm-perf://calls/1?page=1x",
                                       "rocm-perf://calls/1?page=99999999999999999999",
                                       "rocm-perf://calls/4294967297",
                                       "rocm-perf://calls/1?page=1?page=1",
                                       "rocm-perf://calls/../1",
                                       "rocm-perf://calls/%31",
                                       "file:",
                                       "file://",
                                       "file:///",
                                       "file://etc/passwd",
                                       "file:///etc/passwd",
                                       "file:///%65tc/passwd",
                                       "http://x",
                                       "FILE:///etc/passwd"};
    static const char *const forms[] = {"file://%s/../../etc/passwd",
                                        "file://%s/%%2e%%2e/%%2E./etc/passwd",
                                        "file://%s/link",
                                        "file://%s/link/x",
                                        "file://%s/up/profile.json",
                                        "file://%s/file%%00.json",
                                        "file://%s/file%%",
                                        "file://%s/file%%4",
                                        "file://%s/file%%zz",
                                        "file://%s/file#x",
                                        "file://%s/file?x=1",
                                        "file://%s/file?page=2",
                                        "file://%s/file?page=1a",
                                        "file://%s",
                                        "file://%s/pipe",
                                        "file://%s/none",
                                        "file://%s/binary",
                                        "file://other.host%s/file"};
    struct place place = begin();
    rp_autofree char *link = rp_path_join(place.folder, "link");
    rp_autofree char *up = rp_path_join(place.folder, "up");
    rp_autofree char *pipe_path = rp_path_join(place.folder, "pipe");
    rp_autobuf endless = {0};

    (void)state;
    keep(&place, "{}", 2);
    write_text(place.folder, "file", "text");
    write_text(place.folder, "binary", "\xff\xfe");
    write_text(place.outside, "profile.json", "{}");
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(symlink(place.outside, up), 0);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++)
        if (read_uri(&place, uris[i]))
            fail_msg("%s", uris[i]);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *at = strstr(forms[i], "%s");
        rp_autobuf uri = {0};

        rp_buf_add(&uri, forms[i], (size_t)(at - forms[i]));
        rp_buf_puts(&uri, place.workspace.roots[0]);
        for (at += 2; *at; at++) {
            rp_buf_add(&uri, at, 1);
            at += at[0] == '%' && at[1] == '%';
        }
        if (read_uri(&place, rp_buf_text(&uri)))
            fail_msg("%s", rp_buf_text(&uri));
    }
    rp_buf_printf(&endless, "file://%s", place.workspace.roots[0]);
    while (endless.len < 40000)
        rp_buf_puts(&endless, "/.");
    rp_buf_puts(&endless, "/file");
    assert_null(read_uri(&place, rp_buf_text(&endless)));
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_the_whole), cmocka_unit_test(the_last_eight_are_kept),
        cmocka_unit_test(what_is_listed),      cmocka_unit_test(the_list_ends),
        cmocka_unit_test(files_are_read),      cmocka_unit_test(what_is_no_resource),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
