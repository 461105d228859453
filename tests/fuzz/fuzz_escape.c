/* Whatever a text is: escaped it is UTF-8 of one line that holds nothing which acts, and stays as
 * it is when it is escaped again. Cut to any width, it is no wider. */
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz/must.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_harmless(const char *text)
{
    const size_t bytes = strlen(text);
    const char *command = text;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = rp_utf8_length(text + at, bytes - at);
        must(length > 0 && (unsigned char)text[at] >= ' ' && text[at] != 0x7f);
    }
    must(strncmp(text, "::", 2) != 0 && !strstr(text, " ::") && !strstr(text, "##["));
    must(!strstr(text, "\xe2\x80\xae") && !strstr(text, "\xc2\x9b")); /* U+202E, U+009B */
    while ((command = strstr(command, "##vso")))
        must(*(command += 5) != '[');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_autobuf text = {0}, once = {0}, twice = {0}, cut = {0}, json = {0};
    const unsigned width = size ? data[0] % 80 : 0;
    char small[16];

    rp_buf_add(&text, data, size);
    rp_escape(&once, rp_buf_text(&text));
    must_be_harmless(rp_buf_text(&once));
    rp_escape(&twice, rp_buf_text(&once));
    must(strcmp(rp_buf_text(&once), rp_buf_text(&twice)) == 0);
    must(rp_text_cells(rp_buf_text(&text)) == rp_text_cells(rp_buf_text(&once)));
    rp_text_printable(&cut, rp_buf_text(&text), width);
    must_be_harmless(rp_buf_text(&cut));
    must(rp_text_cells(rp_buf_text(&cut)) <= width);
    rp_escape_into(small, sizeof small, rp_buf_text(&text));
    must(strncmp(small, rp_buf_text(&once), strlen(small)) == 0);
    rp_escape_json(&json, rp_buf_text(&text));
    for (const char *p = rp_buf_text(&json); *p; p++)
        must((unsigned char)*p >= ' ' && *p != 0x7f && (*p != '"' || p[-1] == '\\'));
    return 0;
}
