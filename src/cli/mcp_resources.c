/* Resources that a client reads: the results of the last calls, which answers only name, and the
 * results and captures that lie in the workspace. A long one is read in pages. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
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
#include "base/utf8.h"
#include "cli/mcp.h"

enum {
    MOST_DEPTH = 4,         /**< folders below the workspace that are looked into */
    MOST_LISTED = 200,      /**< files */
    MOST_SEEN = 20000,      /**< names that are read to find them */
    MOST_URI_BYTES = 16384, /**< four times the longest path, as each byte may be %xx */
    MOST_FILE_BYTES = 64 << 20,
};

#define CALLS     "rocm-perf://calls/"
#define FILES     "file://"
#define PAGE_MARK "?page="

/* --- pages --------------------------------------------------------------------------------- */

size_t rp_mcp_page_end(const char *text, size_t bytes, size_t begin)
{
    size_t end = begin + RP_MCP_PAGE_BYTES;
    const char *line;

    if (bytes - begin <= RP_MCP_PAGE_BYTES)
        return bytes;
    line = memrchr(text + begin + RP_MCP_PAGE_BYTES / 2, '\n', RP_MCP_PAGE_BYTES / 2);
    if (line)
        return (size_t)(line - text) + 1;
    for (unsigned i = 0; i < 3 && ((unsigned char)text[end] & 0xc0) == 0x80; i++)
        end--;
    return end;
}

size_t rp_mcp_pages(const char *text, size_t bytes)
{
    size_t count = 1;

    for (size_t at = 0; (at = rp_mcp_page_end(text, bytes, at)) < bytes;)
        count++;
    return count;
}

/** @param page from 1 on
 * @return false: there is no such page */
static bool find_page(const char *text, size_t bytes, size_t page, size_t *ret_begin,
                      size_t *ret_end)
{
    size_t begin = 0, end = rp_mcp_page_end(text, bytes, 0);

    while (--page && end < bytes) {
        begin = end;
        end = rp_mcp_page_end(text, bytes, begin);
    }
    *ret_begin = begin;
    *ret_end = end;
    return page == 0;
}

/** Makes the contents of resources/read: the page, and where there are several, which it is. */
static json_t *contents(const char *uri, const char *text, size_t bytes, size_t page, bool is_json)
{
    const size_t count = rp_mcp_pages(text, bytes);
    size_t begin, end;
    rp_autobuf where = {0}, name = {0};
    json_t *list, *one;

    if (!page || !find_page(text, bytes, page, &begin, &end))
        return NULL;
    if (count == 1)
        return json_pack("[{s:s, s:s, s:o}]", "uri", uri, "mimeType",
                         is_json ? "application/json" : "text/plain", "text",
                         rp_mcp_text(text, bytes));
    rp_buf_printf(&name, "%s" PAGE_MARK "%zu", uri, page);
    one = json_pack("{s:s, s:s, s:o, s:{s:I, s:I}}", "uri", rp_buf_text(&name), "mimeType",
                    "text/plain", "text", rp_mcp_text(text + begin, end - begin), "_meta",
                    "rocm-perf/page", (json_int_t)page, "rocm-perf/pages", (json_int_t)count);
    list = json_pack("[o]", one);
    rp_buf_printf(&where, "Page %zu of %zu", page, count);
    if (page < count)
        rp_buf_printf(&where, "; the next one is %s" PAGE_MARK "%zu", uri, page + 1);
    json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "uri", uri, "mimeType", "text/plain",
                                          "text", rp_mcp_text(rp_buf_text(&where), where.len)));
    return list;
}

/* --- results of calls ---------------------------------------------------------------------- */

unsigned rp_mcp_results_keep(struct rp_mcp_results *results, const struct rp_mcp_tool *tool,
                             const struct rp_buf *out, bool is_json)
{
    struct rp_mcp_kept *kept = &results->kept[results->count % RP_MCP_KEPT];

    free(kept->text);
    *kept = (struct rp_mcp_kept){.number = ++results->count,
                                 .tool = tool->name,
                                 .text = rp_alloc_zero(out->len + 1, 1),
                                 .bytes = out->len,
                                 .is_json = is_json};
    memcpy(kept->text, rp_buf_text(out), out->len);
    return kept->number;
}

void rp_mcp_results_free(struct rp_mcp_results *results)
{
    for (size_t i = 0; i < RP_MCP_KEPT; i++)
        free(results->kept[i].text);
    *results = (struct rp_mcp_results){0};
}

static const struct rp_mcp_kept *kept_numbered(const struct rp_mcp_results *results,
                                               unsigned long number)
{
    for (size_t i = 0; i < RP_MCP_KEPT; i++)
        if (results->kept[i].text && results->kept[i].number == number)
            return &results->kept[i];
    return NULL;
}

/** Reads a number as we write them: "1", and neither "01" nor "+1".
 * @return 0: it is none, or too large for anything here */
static unsigned long number_at(const char **text)
{
    unsigned long number = 0;
    size_t digits = strspn(*text, "0123456789");

    if (!digits || digits > 9 || **text == '0')
        return 0;
    for (; digits; digits--)
        number = 10 * number + (unsigned long)(*(*text)++ - '0');
    return number;
}

static json_t *read_call(const struct rp_mcp_results *results, const char *rest)
{
    const unsigned long number = number_at(&rest);
    const struct rp_mcp_kept *kept = number ? kept_numbered(results, number) : NULL;
    unsigned long page = 1;
    rp_autobuf uri = {0};

    if (kept && strncmp(rest, PAGE_MARK, strlen(PAGE_MARK)) == 0) {
        rest += strlen(PAGE_MARK);
        page = number_at(&rest);
    }
    if (!kept || *rest)
        return NULL;
    rp_buf_printf(&uri, CALLS "%lu", number);
    return contents(rp_buf_text(&uri), kept->text, kept->bytes, page, kept->is_json);
}

/* --- files --------------------------------------------------------------------------------- */

static void put_uri(const char *path, struct rp_buf *to)
{
    rp_buf_puts(to, FILES);
    for (; *path; path++)
        if (isalnum((unsigned char)*path) || strchr("/-._~", *path))
            rp_buf_add(to, path, 1);
        else
            rp_buf_printf(to, "%%%02X", (unsigned char)*path);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/** Reads the path of a file URI, up to the page.
 * @param ret_page 0: it is no number
 * @return NULL: it is no URI of a file of this machine */
static char *path_of(const char *rest, unsigned long *ret_page)
{
    const char *page = strstr(rest, PAGE_MARK);
    const size_t length = page ? (size_t)(page - rest) : strlen(rest);
    rp_autobuf path = {0};
    size_t at = strncmp(rest, "localhost/", strlen("localhost/")) == 0 ? strlen("localhost") : 0;

    *ret_page = 1;
    if (page) {
        page += strlen(PAGE_MARK);
        *ret_page = number_at(&page);
        if (*page)
            return NULL;
    }
    if (rest[at] != '/')
        return NULL;
    for (; at < length; at++) {
        const bool coded = rest[at] == '%' && at + 2 < length;
        const int high = coded ? hex_digit(rest[at + 1]) : -1;
        const int low = coded ? hex_digit(rest[at + 2]) : -1;
        const char byte = (char)(16 * high + low);

        if (rest[at] == '?' || rest[at] == '#' ||
            (rest[at] == '%' && (high < 0 || low < 0 || !byte)))
            return NULL;
        rp_buf_add(&path, rest[at] == '%' ? &byte : &rest[at], 1);
        at += rest[at] == '%' ? 2 : 0;
    }
    return rp_strdup(rp_buf_text(&path));
}

/** Says whether an open file is the one at this path, which has no links: a folder on the way may
 * have become one since the path was resolved. */
static bool is_at(int fd, const char *path)
{
    rp_autofree char *own = rp_format("/proc/self/fd/%d", fd);
    char target[PATH_MAX];
    const ssize_t bytes = readlink(own, target, sizeof target);

    return bytes > 0 && (size_t)bytes == strlen(path) && memcmp(target, path, (size_t)bytes) == 0;
}

/** Reads a file of text, which may be replaced meanwhile; a pipe would make the server wait.
 * @return NULL: it is no file, no longer there, too large, or not text */
static char *file_text(const char *path, size_t *ret_bytes)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    rp_autobuf text = {0};
    char bytes[1 << 16];
    struct stat st;
    ssize_t got = 1;

    if (fd < 0 || !is_at(fd, path) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size > MOST_FILE_BYTES)
        return NULL;
    while (got > 0 && text.len <= MOST_FILE_BYTES) {
        got = read(fd, bytes, sizeof bytes);
        if (got > 0)
            rp_buf_add(&text, bytes, (size_t)got);
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (got != 0 || memchr(rp_buf_text(&text), '\0', text.len) ||
        !rp_utf8_is_valid(rp_buf_text(&text), text.len))
        return NULL;
    *ret_bytes = text.len;
    return rp_strdup(rp_buf_text(&text));
}

static bool ends_in(const char *text, const char *end)
{
    const size_t bytes = strlen(text), of_end = strlen(end);

    return bytes >= of_end && strcmp(text + bytes - of_end, end) == 0;
}

static json_t *read_file(const struct rp_mcp_workspace *workspace, const char *rest)
{
    unsigned long page;
    rp_autofree char *asked = path_of(rest, &page);
    rp_autofree char *path = asked ? rp_mcp_workspace_resolve(workspace, NULL, asked) : NULL;
    size_t bytes = 0;
    rp_autofree char *text = path ? file_text(path, &bytes) : NULL;
    rp_autobuf uri = {0};

    if (!text)
        return NULL;
    put_uri(path, &uri);
    return contents(rp_buf_text(&uri), text, bytes, page, ends_in(path, ".json"));
}

json_t *rp_mcp_resource_read(const struct rp_mcp_results *results,
                             const struct rp_mcp_workspace *workspace, const char *uri)
{
    if (strlen(uri) > MOST_URI_BYTES)
        return NULL;
    if (strncmp(uri, CALLS, strlen(CALLS)) == 0)
        return read_call(results, uri + strlen(CALLS));
    if (strncmp(uri, FILES, strlen(FILES)) == 0)
        return read_file(workspace, uri + strlen(FILES));
    return NULL;
}

/* --- the list ------------------------------------------------------------------------------ */

/** What a result or a capture is known by. */
static const struct {
    const char *name, *what;
} documents[] = {
    {"profile.json", "profile"},     {"analysis.json", "what limits each kernel"},
    {"dag.json", "execution graph"}, {"roofline.json", "rooflines"},
    {"judge.json", "judgement"},     {"optimize.json", "session of optimize"},
    {"autotune.json", "search"},     {"dispatch.json", "capture of a dispatch"},
};

struct walk {
    const char *root;
    json_t *list;
    size_t seen;
};

/** Says whether the file was found below another folder of the workspace. */
static bool is_listed(const json_t *list, const char *uri)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one) if (strcmp(json_string_value(json_object_get(one, "uri")),
                                                uri) == 0) return true;
    return false;
}

static void add_document(struct walk *walk, const char *path, const char *what, off_t bytes)
{
    const size_t root = strlen(walk->root);
    const char *name = path + root + (walk->root[root - 1] != '/');
    rp_autobuf uri = {0}, shown = {0};

    put_uri(path, &uri);
    rp_escape(&shown, name);
    if (is_listed(walk->list, rp_buf_text(&uri)))
        return;
    json_array_append_new(
        walk->list, json_pack("{s:s, s:o, s:s, s:s, s:I}", "uri", rp_buf_text(&uri), "name",
                              rp_mcp_text(rp_buf_text(&shown), shown.len), "description", what,
                              "mimeType", "application/json", "size", (json_int_t)bytes));
}

/** Says whether a folder may hold results: hidden ones are those of other programs, but for ours.
 */
static bool is_looked_into(const char *name)
{
    return name[0] != '.' || strncmp(name, ".rocpd_profile", strlen(".rocpd_profile")) == 0;
}

static int keep_order(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void walk_folder(struct walk *walk, const char *folder, unsigned depth);

static void look_at(struct walk *walk, const char *folder, const char *name, unsigned depth)
{
    rp_autofree char *path = rp_path_join(folder, name);
    struct stat st;

    /* Links are not followed, so that the walk stays where it is and ends. */
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode) && depth < MOST_DEPTH && is_looked_into(name))
        walk_folder(walk, path, depth + 1);
    for (size_t i = 0; S_ISREG(st.st_mode) && i < sizeof documents / sizeof *documents; i++)
        if (strcmp(documents[i].name, name) == 0 && json_array_size(walk->list) < MOST_LISTED)
            add_document(walk, path, documents[i].what, st.st_size);
}

static void walk_folder(struct walk *walk, const char *folder, unsigned depth)
{
    struct dirent **names = NULL;
    const int count = walk->seen < MOST_SEEN ? scandir(folder, &names, NULL, keep_order) : -1;

    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;

        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && walk->seen++ < MOST_SEEN &&
            json_array_size(walk->list) < MOST_LISTED)
            look_at(walk, folder, name, depth);
        free(names[i]);
    }
    free(names);
}

static void list_calls(const struct rp_mcp_results *results, json_t *list)
{
    for (unsigned i = 0; i < RP_MCP_KEPT && i < results->count; i++) {
        const struct rp_mcp_kept *kept = &results->kept[(results->count - 1 - i) % RP_MCP_KEPT];
        rp_autofree char *uri = rp_format(CALLS "%u", kept->number);
        rp_autofree char *name = rp_format("call %u", kept->number);
        rp_autofree char *what = rp_format("result of %s, pages: %zu", kept->tool,
                                           rp_mcp_pages(kept->text, kept->bytes));

        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:I}", "uri", uri, "name", name,
                                              "description", what, "mimeType",
                                              kept->is_json ? "application/json" : "text/plain",
                                              "size", (json_int_t)kept->bytes));
    }
}

json_t *rp_mcp_resource_list(const struct rp_mcp_results *results,
                             const struct rp_mcp_workspace *workspace)
{
    struct walk walk = {.list = json_array()};

    for (size_t i = 0; i < workspace->count; i++) {
        walk.root = workspace->roots[i];
        if (strcmp(walk.root, "/") != 0) /* All that is there is nobody's workspace. */
            walk_folder(&walk, walk.root, 0);
    }
    list_calls(results, walk.list);
    return walk.list;
}

json_t *rp_mcp_resource_templates(void)
{
    return json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "uriTemplate", CALLS "{number}", "name",
                     "result of a call", "description",
                     "the first page of a call's result; an answer names it", "uriTemplate",
                     CALLS "{number}" PAGE_MARK "{page}", "name", "page of a result", "description",
                     "a further page, from 1 on");
}
