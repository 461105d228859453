/**
 * @file journal.h
 * @brief What a session has done, in a file that is only appended to: enough to go on after a kill
 *        at any moment, and to check each decision. Format: docs/formats.md.
 */
#ifndef RP_BASE_JOURNAL_H
#define RP_BASE_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_journal;

/** Says whether a session has gone further than its first record, which says what it is: then there
 * is something to go on with, or to lose. A damaged journal counts as begun. */
bool rp_journal_is_begun(const char *path);

/** Creates a journal. An existing one begins anew if no session has gone further than its first
 * record. The head of one that was removed goes with it.
 * @return 0; RP_USAGE when it is begun; RP_ENVIRONMENT */
int rp_journal_create(const char *path, struct rp_journal **ret, struct rp_err *err);

/** Reads a journal and goes on with it. The rest of a last line that a kill has left is cut off.
 * @param ret_cut_bytes how much was cut off
 * @return 0; RP_BAD_INPUT naming the line: it is damaged, or not a journal, or not the one that its
 * head was written for; RP_ENVIRONMENT: it may not be read and written */
int rp_journal_resume(const char *path, struct rp_journal **ret, uint64_t *ret_cut_bytes,
                      struct rp_err *err);

/** Writes that file, so that rp_journal_resume notices from now on when the end is missing. Later
 * records do not make the head wrong. */
int rp_journal_write_head(const struct rp_journal *journal, struct rp_err *err);

/** Returns the hash of the last record, which covers all before it. The journal owns it. */
const char *rp_journal_last_hash(const struct rp_journal *journal);

/** Accepts NULL. */
void rp_journal_close(struct rp_journal *journal);

/**
 * Appends a record, which is on the disk when this returns.
 * @param key   what later finds it; NULL: nothing does
 * @param data  an object; taken over, also on failure; NULL: out of memory
 * @return 0 or RP_ENVIRONMENT
 */
int rp_journal_add(struct rp_journal *journal, const char *kind, const char *key, json_t *data,
                   struct rp_err *err);

/** Returns the data of the last record of that kind and key, or NULL. The journal owns it. */
const json_t *rp_journal_find(const struct rp_journal *journal, const char *kind, const char *key);

size_t rp_journal_count(const struct rp_journal *journal);
/** @param ret_kind  may be NULL, as ret_key, which is "" when it has none */
const json_t *rp_journal_at(const struct rp_journal *journal, size_t index, const char **ret_kind,
                            const char **ret_key);

/** Parses the records of a journal's text into an array of objects.
 * @param ret_good_bytes of whole lines that are as they were written
 * @return 0; RP_BAD_INPUT when a line that is not the last is damaged */
int rp_journal_parse(const char *text, size_t bytes, json_t **ret_records, size_t *ret_good_bytes,
                     char ret_last_hash[65], struct rp_err *err);

/** Says how a user goes on where the journal cannot be written: "judge again". Borrowed. */
void rp_journal_set_again(struct rp_journal *journal, const char *again);

/** Says what helps where a file of a session cannot be made or written: "make space".
 * @param why an errno */
const char *rp_journal_remedy(int why);

/** Makes a JSON string of bytes that need not be UTF-8: other bytes become U+FFFD. */
json_t *rp_journal_string(const char *bytes, size_t count);

#endif
