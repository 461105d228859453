/* Journals of any bytes, and of any records under right hashes: never a crash, and what was good
 * once is so again. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/sha256.h"

#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t bytes)
{
    struct rp_err err = RP_ERR_INIT;
    json_t *records, *again;
    size_t good, good_again;
    char hash[65], hash_again[65];

    if (rp_journal_parse(text, bytes, &records, &good, hash, &err) < 0) {
        must(err.code == RP_BAD_INPUT);
        return;
    }
    must(good <= bytes && (good == 0 || text[good - 1] == '\n'));
    must(rp_journal_parse(text, good, &again, &good_again, hash_again, &err) == 0);
    must(good == good_again && strcmp(hash, hash_again) == 0 && json_equal(records, again));
    json_decref(records);
    json_decref(again);
}

/** Each line of the input as the body of a record. */
static void check_bodies(const char *data, size_t size)
{
    char hash[RP_SHA256_TEXT] = "0000000000000000000000000000000000000000000000000000000000000000";
    rp_autobuf lines = {0};

    while (size) {
        const char *end = memchr(data, '\n', size);
        const size_t bytes = end ? (size_t)(end - data) : size;
        rp_autobuf both = {0};

        rp_buf_puts(&both, hash);
        rp_buf_add(&both, data, bytes);
        rp_sha256(rp_buf_text(&both), both.len, hash);
        rp_buf_printf(&lines, "{\"sha256\":\"%s\",\"record\":", hash);
        rp_buf_add(&lines, data, bytes);
        rp_buf_puts(&lines, "}\n");
        data += bytes + (end != NULL);
        size -= bytes + (end != NULL);
    }
    check(rp_buf_text(&lines), lines.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *text = rp_journal_string((const char *)data, size);

    must(text); /* whatever the bytes are, they can be kept */
    json_decref(text);
    check((const char *)data, size);
    check_bodies((const char *)data, size);
    return 0;
}
