/*
 * Bytes are the file of a history, or changes to a sound one: reading it, judging and printing what
 * is in it, adding to it and removing from it end with a result or with a message. What was added
 * is there, and what was there stays. Seeds: tests/fuzz/seeds/history.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "analyze/history.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz/must.h"
#include "report/report.h"
#include "trace/history_db.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { MOST_BYTES = 1 << 20, SOUND = 12 };

static char path[64];

static double runs[] = {1.5, 1.25};
static struct rp_history_times times[] = {
    {.launches = 3, .runs_ms = runs, .run_count = 2},
    {.kernel = (char *)"k(int)", .launches = 3, .runs_ms = runs, .run_count = 2},
};

static int add(const char *hash, const char *added, int64_t *ret_id, bool *ret_new,
               struct rp_err *err)
{
    struct rp_history_result r = {.added = (char *)added,
                                  .config = (char *)"a=1",
                                  .program = (char *)"./app",
                                  .device = (char *)"hardware x",
                                  .complete = true,
                                  .times = times,
                                  .times_count = 2};

    snprintf(r.hash, sizeof r.hash, "%s", hash);
    return rp_history_add(path, &r, ret_id, ret_new, err);
}

static void put_file(const uint8_t *bytes, size_t len)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

/* A history of some results, made once. @return its bytes */
static size_t sound(uint8_t ret[MOST_BYTES])
{
    static uint8_t image[MOST_BYTES];
    static size_t len;

    if (!len) {
        int fd;

        unlink(path);
        for (int i = 0; i < SOUND; i++) {
            char hash[8], added[32];
            int64_t id;
            bool is_new;

            snprintf(hash, sizeof hash, "h%d", i);
            snprintf(added, sizeof added, "2026-01-%02dT00:00:00Z", i + 1);
            must(add(hash, added, &id, &is_new, NULL) == 0);
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
        len = (size_t)read(fd, image, sizeof image);
        must(fd >= 0 && len > 0 && len < sizeof image);
        close(fd);
    }
    memcpy(ret, image, len);
    return len;
}

/* Three bytes say where, as many as the fourth says follow. */
static void patch(const uint8_t *bytes, size_t len, uint8_t *image, size_t image_len)
{
    while (len > 4) {
        const size_t at = ((size_t)bytes[0] << 16 | (size_t)bytes[1] << 8 | bytes[2]) % image_len;
        size_t count = 1 + bytes[3] % 16;

        bytes += 4;
        len -= 4;
        count = count < len ? count : len;
        count = count < image_len - at ? count : image_len - at;
        memcpy(image + at, bytes, count);
        bytes += count;
        len -= count;
    }
}

static void print(const struct rp_history *h)
{
    const struct rp_change_rule rule = {.alpha = 0.01, .margin = 0.01, .recent = 5};
    const struct rp_history_result **list = calloc(h->count + 1, sizeof *list);
    struct rp_series_list series = {0};
    const struct rp_history_result *since = NULL;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0}, json = {0};
    json_t *parsed;

    must(list);
    for (size_t i = 0; i < h->count; i++)
        list[i] = &h->results[i];
    must(rp_report_history_term(list, h->count, true, (struct rp_term_style){0}, &text, &err) == 0);
    for (size_t i = 0; i < text.len; i++) /* nothing of the file steers the terminal */
        must(text.data[i] == '\n' || (uint8_t)text.data[i] >= ' ');
    must(rp_report_history_csv(list, h->count, &text, &err) == 0);
    must(rp_report_history_lines(list, h->count, &text, &err) == 0);
    must(rp_report_history_json(list, h->count, true, &json, &err) == 0);
    parsed = json_loads(rp_buf_text(&json), 0, NULL);
    must(parsed);
    json_decref(parsed);
    if (rp_series_of(h, &(struct rp_series_filter){0}, &series, &err) == 0) {
        must(rp_series_judge(&series, &rule, &err) == 0);
        must(rp_report_changes_svg(&series, &text, &err) == 0);
        must(rp_report_changes_html(&series, path, NULL, &text, &err) == 0);
        must(rp_report_changes_term(&series, (struct rp_term_style){0}, &text, &since, &err) == 0);
    }
    rp_series_list_free(&series);
    free(list);
}

/* @return how many results there are; < 0: refused, and it says why */
static long read_all(bool show)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_history h;
    long count;

    if (rp_history_read(path, &h, &err) < 0) {
        must(err.code == RP_BAD_INPUT && err.text[0]);
        return -1;
    }
    count = (long)h.count;
    if (show)
        print(&h);
    rp_history_free(&h);
    return count;
}

static void use(void)
{
    const long before = read_all(true);
    struct rp_err err = RP_ERR_INIT;
    bool is_new = false;
    int64_t id = 0;

    if (add("a new one", "2026-02-01T00:00:00Z", &id, &is_new, &err) < 0) {
        must(err.text[0] && read_all(false) == before);
        return;
    }
    if (before < 0) /* rows that cannot be read keep no other from being added */
        return;
    must(read_all(false) == before + is_new);
    must(rp_history_remove(path, &id, 1, &err) == 0);
    must(read_all(false) == before + is_new - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static uint8_t image[MOST_BYTES];
    const bool whole = len >= 16 && memcmp(bytes, "SQLite format 3", 16) == 0;
    char journal[sizeof path + 16];
    size_t image_len;

    snprintf(path, sizeof path, "/tmp/rp-fuzz-history-%ld.db", (long)getpid());
    snprintf(journal, sizeof journal, "%s-journal", path);
    if (whole) {
        put_file(bytes, len);
    } else {
        image_len = sound(image);
        patch(bytes, len, image, image_len);
        put_file(image, image_len);
    }
    use();
    unlink(path);
    unlink(journal);
    snprintf(journal, sizeof journal, "%s-wal", path);
    unlink(journal);
    snprintf(journal, sizeof journal, "%s-shm", path);
    unlink(journal);
    return 0;
}
