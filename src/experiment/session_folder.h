/**
 * @file session_folder.h
 * @brief Keeps the folder of a session of optimize or of a search of autotune: its lock, its
 * journal, the input of its programs, and the settings that must stay the same. docs/formats.md
 * describes the journal.
 */
#ifndef RP_EXPERIMENT_SESSION_FOLDER_H
#define RP_EXPERIMENT_SESSION_FOLDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rp_buf;
struct rp_journal;

struct rp_session_folder {
    const char *path;  /**< as the user gave it */
    const char *noun;  /**< what messages call it: "session", "search" */
    bool resume;       /**< --resume was given */
    const char *again; /**< how a user goes on when a disk was full; NULL: "go on with --resume" */
    void (*note)(void *context,
                 const char *line); /**< what a user should know; NULL: nobody listens */
    void *context;
    /* The functions below fill in these members. */
    int lock;                   /**< -1 before it is claimed */
    struct rp_journal *journal; /**< NULL before it is opened */
    char *input;                /**< a file with what programs read; NULL: they read nothing */
};

/**
 * Makes the folder and locks it, and looks whether there is something to go on with, or to lose.
 * Call it before anything is begun that costs time. Where --resume finds nothing, nothing is made.
 * @return 0; RP_USAGE: another session has it, or one is there and --resume was not given, or files
 * of others would be overwritten, or --resume finds nothing; RP_ENVIRONMENT
 */
int rp_session_folder_claim(struct rp_session_folder *folder, struct rp_err *err);

/**
 * Opens the journal of a claimed folder. A session that had done nothing begins anew.
 * @return 0; RP_BAD_INPUT naming the line that is damaged; RP_ENVIRONMENT
 */
int rp_session_folder_open_journal(struct rp_session_folder *folder, struct rp_err *err);

/**
 * Saves standard input, so that each run of each program reads the same, also after --resume.
 * @return 0; RP_USAGE: it is different from before, or has no end; RP_ENVIRONMENT; RP_INTERRUPTED
 */
int rp_session_folder_keep_input(struct rp_session_folder *folder, struct rp_err *err);

/**
 * Makes a folder in it for the user alone, if it is absent.
 * @param ret its absolute path, for programs that run elsewhere; free it
 * @return 0 or RP_ENVIRONMENT
 */
int rp_session_folder_make(const struct rp_session_folder *folder, const char *name, char **ret,
                           struct rp_err *err);

/** What is written to a folder that is gone is lost. It accepts a folder that was never claimed.
 * @return 0; RP_ENVIRONMENT: it was removed or renamed, and another one may have its name */
int rp_session_folder_check_place(const struct rp_session_folder *folder, struct rp_err *err);

/**
 * A failure on a full disk, or without the folder, says nothing about a candidate, so this is asked
 * before a failure is believed.
 * @return 0 or RP_ENVIRONMENT
 */
int rp_session_folder_check(const struct rp_session_folder *folder, struct rp_err *err);

/** Gives the lock back. It accepts a folder that was never claimed, with a lock of -1. */
void rp_session_folder_close(struct rp_session_folder *folder);

/** This is a member of the record that says what a session is, with the name that a user knows. */
struct rp_identity_row {
    const char *key;
    const char *name; /**< the option, or words where there is none */
    /** Returns a value as the user gives it, "not given" for a default; the caller owns the text.
     * NULL: as JSON has it */
    char *(*text)(const json_t *value);
};

/** The option is in percent, and the record has a fraction. */
char *rp_identity_percent(const json_t *fraction);
/** The option is a word. */
char *rp_identity_word(const json_t *word);
/** It is a model of time, with or without its version, which has today's name in the text. */
char *rp_identity_model(const json_t *model);

/**
 * Adds what differs between two such records: first in the order of the rows, then the keys without
 * a row. Objects in them are left out, because they are records of their own.
 * @param values also the values: "--seed was 1, is 2; ..."; otherwise names alone: "--seed, --top"
 */
void rp_identity_put_differences(const struct rp_identity_row *rows, size_t count,
                                 const json_t *then, const json_t *now, bool values,
                                 struct rp_buf *to);

/** Refuses to go on with a session that was begun with other settings.
 * @param differ the text of the above */
int rp_identity_refuse(const struct rp_session_folder *folder, const struct rp_buf *differ,
                       struct rp_err *err);

#endif
