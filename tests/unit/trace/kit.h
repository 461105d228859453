/**
 * @file kit.h
 * @brief What the store tests share: a scratch folder, plain SQL, a sample trace.
 */
#ifndef RP_TEST_STORE_KIT_H
#define RP_TEST_STORE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "trace/rocpd.h"
#include "trace/sqlite.h"

#include <stdbool.h>

/** Group fixtures: a scratch folder that every test may fill. */
int kit_setup(void **state);
int kit_teardown(void **state);
/** "<scratch>/<name>"; valid for some further calls. */
const char *kit_path(const char *name);
/** "<test data>/rocpd/<name>". */
const char *kit_data(const char *name);
/** Calls @p fn for every database of the test data; fails when there are fewer than four. */
void kit_for_each_database(void (*fn)(const char *path));

void *kit_read_file(const char *path, size_t *ret_bytes);
void kit_write_file(const char *path, const void *bytes, size_t len);
void kit_copy(const char *from, const char *to);
/** Files in the scratch folder. */
size_t kit_file_count(void);
void kit_remove_all(void);

/** Runs SQL on the file, which may be created; fails the test on an error. */
void kit_sql(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** First column of the first row as a number. */
int64_t kit_sql_int(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** All rows, '|' between columns and '\n' after each; free it. */
char *kit_sql_text(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Origin whose guid depends on @p seed. */
struct rp_store_origin kit_origin(uint64_t seed);
/** Puts a process, two agents, a code object, two kernels, four dispatches and two copies. */
int kit_put_sample(struct rp_store_writer *w, int64_t base_ns, struct rp_err *err);
/** Writes that to @p path. */
void kit_write_sample(const char *path, uint64_t seed, int64_t base_ns);
/** Unites two databases as `rocpd merge` does; without views only the suffixed tables are left. */
void kit_merge(const char *a, const char *b, const char *to, bool views);

/** Loads every kind of row; the first failure's code or 0. */
int kit_read_all(struct rp_store *s, struct rp_err *err);
/** Opens and loads everything; the message is in err on failure. */
int kit_open_and_read(const char *path, struct rp_err *err);

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            fail_msg("%s: %s", #call, err.text);                                                   \
    } while (0)
#define assert_says(err, part)                                                                     \
    do {                                                                                           \
        if (!strstr((err).text, part))                                                             \
            fail_msg("'%s' does not say '%s'", (err).text, part);                                  \
    } while (0)

#endif
