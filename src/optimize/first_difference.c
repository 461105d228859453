#include "optimize/first_difference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

enum { MOST_SHOWN = 100, LEAD = 40 };

struct place {
    unsigned long line; /**< from 1 */
    long begin;         /**< of that line, in bytes from the beginning of the text */
    long at;            /**< of the first byte that differs */
};

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/** @return whether they differ anywhere */
static bool find(FILE *a, FILE *b, struct place *ret)
{
    struct place place = {.line = 1};

    for (;; place.at++) {
        const int x = getc(a), y = getc(b);

        if (x != y) {
            *ret = place;
            return true;
        }
        if (x == EOF)
            return false;
        if (x == '\n') {
            place.line++;
            place.begin = place.at + 1;
        }
    }
}

/** What a text has there, in quotes; what no terminal should get is a question mark. */
static void show(FILE *file, const struct place *place, struct rp_buf *text)
{
    const bool inside = place->at - place->begin > LEAD;
    const long begin = inside ? place->at - LEAD : place->begin;
    char shown[MOST_SHOWN + 1];
    size_t length;

    if (fseek(file, begin, SEEK_SET) != 0)
        return;
    length = fread(shown, 1, sizeof shown - 1, file);
    if (length == 0) {
        rp_buf_puts(text, "missing");
        return;
    }
    shown[length] = 0;
    for (size_t i = 0; i < length && shown[i] != '\n'; i++)
        if (shown[i] < ' ' || shown[i] > '~')
            shown[i] = '?';
    rp_buf_printf(text, "\"%s%.*s%s\"", inside ? "..." : "", (int)(strchrnul(shown, '\n') - shown),
                  shown, length == MOST_SHOWN && !strchr(shown, '\n') ? "..." : "");
}

char *rp_first_difference(const char *before_path, const char *after_path)
{
    rp_cleanup(close_file) FILE *before = fopen(before_path, "re");
    rp_cleanup(close_file) FILE *after = fopen(after_path, "re");
    rp_autobuf text = {0};
    struct place place;

    if (!before || !after || !find(before, after, &place))
        return NULL;
    rp_buf_printf(&text, "line %lu is ", place.line);
    show(after, &place, &text);
    rp_buf_puts(&text, " instead of ");
    show(before, &place, &text);
    return rp_buf_steal(&text);
}
