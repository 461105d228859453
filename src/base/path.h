/**
 * @file path.h
 * @brief Paths and small file-system helpers. Returned strings are the caller's to free.
 */
#ifndef RP_BASE_PATH_H
#define RP_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/** "dir/name"; NULL when out of memory. */
char *rp_path_join(const char *dir, const char *name);
/**
 * "text" as a pattern of glob(3) that matches nothing else, whatever characters are in it.
 * NULL when out of memory.
 */
char *rp_path_literal(const char *text);
/** A pattern of glob(3) for names in that very folder; NULL when out of memory. */
char *rp_path_pattern(const char *dir, const char *names);
/** printf into fresh memory; NULL when out of memory. */
char *rp_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Without links followed; NULL when out of memory, or the current folder is gone. */
char *rp_path_absolute(const char *path);
bool rp_path_exists(const char *path);
bool rp_path_is_dir(const char *path);
/** They lead to one file; of those that are not there yet, the same name. No devices, no folders.
 */
bool rp_same_file(const char *a, const char *b);
/**
 * What is read more than once, or not from its beginning, has to be a file or a folder; a pipe
 * without a writer would be waited for. @return 0, also when nothing is there; RP_BAD_INPUT;
 * RP_USAGE when it is longer than the system allows
 */
int rp_check_input(const char *path, struct rp_err *err);

/** mkdir -p. @return 0 or RP_ENVIRONMENT naming the folder that failed. */
int rp_mkdirs(const char *path, struct rp_err *err);
/** The same for a capture or a session: folders that are made are for nobody else. */
int rp_mkdirs_private(const char *path, struct rp_err *err);

/** Takes from everybody but the owner the right to read, write and run a file, or a whole tree,
 * that another program has made. Links are not followed. Best effort. */
void rp_close_tree(const char *path);

/** A new folder of our own in $TMPDIR, else /tmp. @return 0, or RP_ENVIRONMENT */
int rp_temporary_folder(char **ret_path, struct rp_err *err);
/** Removes it with all in it, and frees the path: for rp_cleanup. */
void rp_temporary_folder_remove(char **path);

/** Removes a file or a whole tree without following links; a missing path is fine. Best effort. */
void rp_remove_tree(const char *path);

/**
 * Finds a program as execvp would: a name with a slash is taken as it is, others are looked up in
 * $PATH.
 * @return 0 with an absolute path; RP_USAGE when there is no such file or it may not be executed
 */
int rp_find_program(const char *name, char **ret_path, struct rp_err *err);
/** The same with another PATH. NULL: the usual folders. */
int rp_find_program_in(const char *search, const char *name, char **ret_path, struct rp_err *err);

/** Folder of the running executable. */
int rp_executable_dir(char **ret_dir, struct rp_err *err);

/** First line of a small text file without its newline; NULL if unreadable. */
char *rp_read_line(const char *path);

/** Whole file as terminated text; NULL if unreadable or larger than max_bytes. */
char *rp_read_text(const char *path, size_t max_bytes);

/**
 * Whole file as bytes, which are the caller's.
 * @param code  of what it is where it cannot be read: RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_read_file(const char *path, size_t most_bytes, enum rp_code code, void **ret,
                 size_t *ret_bytes, struct rp_err *err);

/** Behind the name of a file just before it gets its own, and then the process's number. */
#define RP_WRITE_PARTIAL ".partial."

/** All bytes, however long it takes: interrupted, or to a pipe that does not wait. @return 0, or -1
 * with errno set: part of it may be written */
int rp_write_all(int fd, const void *data, size_t bytes);
/**
 * Writes a file so that readers see the old or the new contents, never a part: temporary name in
 * the same folder, fsync, rename, fsync of the folder. Killed meanwhile it leaves nothing behind,
 * where the file system has files without names (O_TMPFILE). A file that is there keeps its mode.
 */
int rp_write_file(const char *path, const void *data, size_t bytes, struct rp_err *err);
/** The same for a part of a capture or a session: a new one is for nobody else. */
int rp_write_private_file(const char *path, const void *data, size_t bytes, struct rp_err *err);
/** A new part of a capture, to be written piece by piece. @return NULL with errno */
FILE *rp_create_private_file(const char *path);

/** Puts the name of a file that was made or renamed on the disk. @return 0, or -1 with errno */
int rp_sync_folder_of(const char *path);

/**
 * The same for a file that a user names: what a link leads to is written, not the link replaced,
 * and a device or a pipe takes the text as it is.
 */
int rp_write_output(const char *path, const void *data, size_t bytes, struct rp_err *err);

/** Whether that would work, found before what is to be written is there. Leaves nothing behind. */
int rp_check_output(const char *path, struct rp_err *err);

/** As rp_write_file, a new file with the permissions of another, as far as results have these
 * (base/file.h). @param like  NULL, or not there: as new files */
int rp_write_file_like(const char *path, const char *like, const void *data, size_t bytes,
                       struct rp_err *err);
/** As rp_write_file, what is to take the place of another file by rename(2): with its mode. */
int rp_write_file_for(const char *path, const char *place, const void *data, size_t bytes,
                      struct rp_err *err);

#endif
