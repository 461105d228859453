/* This build step makes a C file of the page of `rocm-perf report` from its template, styles and
 * scripts. rp_html_embed OUT.c NAME page.html LICENCE STYLE.css... SCRIPT.js... (LICENCE "-": none;
 * NAME is what the arrays are called by) The
 * page forbids itself everything but this very style and this very script (a Content Security
 * Policy with their hashes), so both have to be known here. The template's @TITLE@ and @DATA@ are
 * left for the command: what lies between them becomes three arrays. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/sha256.h"

enum { MOST_BYTES = 4 << 20, HASH_BYTES = 32 };

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "rp_html_embed: %s: %s\n", name, what);
    exit(1);
}

static void add_file(struct rp_buf *buf, const char *name)
{
    char *text = rp_read_text(name, MOST_BYTES);

    if (!text)
        fail("cannot be read", name);
    rp_buf_puts(buf, text);
    rp_buf_puts(buf, "\n");
    free(text);
}

/* Of our own files neither the blanks at the beginning of a line nor a line of comment is needed in
 * every page. No text of theirs goes over the end of a line, so that nothing else is changed. */
static void add_own_file(struct rp_buf *buf, const char *name)
{
    char *text = rp_read_text(name, MOST_BYTES);

    if (!text)
        fail("cannot be read", name);
    for (char *line = text; *line;) {
        char *at = line + strspn(line, " \t"), *end = at + strcspn(at, "\n");

        if (at < end && strncmp(at, "//", 2) != 0) {
            rp_buf_add(buf, at, (size_t)(end - at));
            rp_buf_puts(buf, "\n");
        }
        line = end + (*end == '\n');
    }
    free(text);
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), part = strlen(end);

    return len >= part && strcmp(name + len - part, end) == 0;
}

static void put_base64(struct rp_buf *buf, const unsigned char bytes[HASH_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (int i = 0; i < HASH_BYTES; i += 3) {
        unsigned left = HASH_BYTES - i, n = bytes[i] << 16;

        n |= left > 1 ? bytes[i + 1] << 8 : 0;
        n |= left > 2 ? bytes[i + 2] : 0;
        rp_buf_printf(buf, "%c%c%c%c", digits[n >> 18], digits[n >> 12 & 63],
                      left > 1 ? digits[n >> 6 & 63] : '=', left > 2 ? digits[n & 63] : '=');
    }
}

static void put_hash(struct rp_buf *buf, const struct rp_buf *of)
{
    char hex[RP_SHA256_TEXT];
    unsigned char bytes[HASH_BYTES];

    rp_sha256(of->data, of->len, hex);
    for (int i = 0; i < HASH_BYTES; i++) {
        unsigned byte;

        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
    }
    rp_buf_puts(buf, "'sha256-");
    put_base64(buf, bytes);
    rp_buf_puts(buf, "'");
}

static void put_escaped(struct rp_buf *buf, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            rp_buf_puts(buf, *text == '<' ? "&lt;" : "&amp;");
        else
            rp_buf_add(buf, text, 1);
}

static void put_array(FILE *out, const char *of, const char *part, const char *text, size_t len)
{
    fprintf(out, "const char %s_%s[] = {", of, part);
    for (size_t i = 0; i < len; i++)
        fprintf(out, "%s%d,", i % 20 ? "" : "\n", (signed char)text[i]);
    fprintf(out, "0};\nconst size_t %s_%s_bytes = %zu;\n", of, part, len);
}

/* Fills everything into the template but @TITLE@ and @DATA@. */
static void fill(const char *template, const struct rp_buf *style, const struct rp_buf *script,
                 const char *licence, struct rp_buf *page)
{
    while (*template) {
        size_t plain = strcspn(template, "@");

        rp_buf_add(page, template, plain);
        template += plain;
        if (strncmp(template, "@CSP@", 5) == 0) {
            rp_buf_puts(page,
                        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src ");
            put_hash(page, style);
            rp_buf_puts(page, "; script-src ");
            put_hash(page, script);
            template += 5;
        } else if (strncmp(template, "@STYLE@", 7) == 0) {
            rp_buf_add(page, style->data, style->len);
            template += 7;
        } else if (strncmp(template, "@SCRIPT@", 8) == 0) {
            rp_buf_add(page, script->data, script->len);
            template += 8;
        } else if (strncmp(template, "@LICENCE@", 9) == 0) {
            put_escaped(page, licence);
            template += 9;
        } else if (*template) {
            rp_buf_add(page, template ++, 1);
        }
    }
}

static void write_page(const char *name, const char *of, const char *page)
{
    const char *title = strstr(page, "@TITLE@"), *data = strstr(page, "@DATA@");
    FILE *out = fopen(name, "w");

    if (!title || !data || data < title)
        fail("the template lacks @TITLE@ or, behind it, @DATA@", name);
    if (!out)
        fail("cannot be written", name);
    fputs("#include \"report/report.h\"\n", out);
    put_array(out, of, "begin", page, (size_t)(title - page));
    title += strlen("@TITLE@");
    put_array(out, of, "middle", title, (size_t)(data - title));
    data += strlen("@DATA@");
    put_array(out, of, "end", data, strlen(data));
    if (fclose(out) != 0)
        fail("cannot be written", name);
}

int main(int argc, char **argv)
{
    struct rp_buf style = {0}, script = {0}, licence = {0}, page = {0};
    char *template = argc > 4 ? rp_read_text(argv[3], MOST_BYTES) : NULL;

    if (!template)
        fail("no template; usage: rp_html_embed OUT.c NAME page.html LICENCE FILE...", argv[0]);
    if (strcmp(argv[4], "-") != 0)
        add_file(&licence, argv[4]);
    for (int i = 5; i < argc; i++)
        (strstr(argv[i], "uPlot") ? add_file : add_own_file)(
            ends_with(argv[i], ".css") ? &style : &script, argv[i]);
    if (strcasestr(rp_buf_text(&script), "</script") || strcasestr(rp_buf_text(&style), "</style"))
        fail("ends its own element", argv[1]);
    fill(template, &style, &script, rp_buf_text(&licence), &page);
    if (page.failed || style.failed || script.failed || licence.failed)
        fail("out of memory", argv[1]);
    write_page(argv[1], argv[2], page.data);
    rp_buf_free(&style);
    rp_buf_free(&script);
    rp_buf_free(&licence);
    rp_buf_free(&page);
    free(template);
    return 0;
}
