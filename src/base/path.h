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

/** Joins "dir/name". It returns NULL when memory has ended. */
char *rp_path_join(const char *dir, const char *name);
/** Makes a pattern of glob(3) that matches this text and nothing else, whatever characters are in
 * it. It returns NULL when memory has ended. */
char *rp_path_literal(const char *text);
/** Makes a pattern of glob(3) for names in that very folder. It returns NULL when memory has ended.
 */
char *rp_path_pattern(const char *dir, const char *names);
/** Prints into fresh memory. It returns NULL when memory has ended. */
char *rp_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Makes a path absolute without following links. It returns NULL when memory has ended or the
 * current folder is gone. */
char *rp_path_absolute(const char *path);
bool rp_path_exists(const char *path);
bool rp_path_is_dir(const char *path);
/** Says whether both lead to one file. Paths that do not exist yet have to have the same name.
 * Devices and folders are never the same file. */
bool rp_same_file(const char *a, const char *b);
/** Refuses what is neither a file nor a folder. Input is read more than once, or not from its
 * beginning, and opening a pipe without a writer would wait for one.
 * @return 0, also when nothing is there; RP_BAD_INPUT; RP_USAGE when it is longer than the system
 * allows */
int rp_check_input(const char *path, struct rp_err *err);

/** Makes a folder and its parents, as mkdir -p does.
 * @return 0 or RP_ENVIRONMENT naming the folder that failed. */
int rp_mkdirs(const char *path, struct rp_err *err);
/** Does the same for a capture or a session: nobody else may enter the folders that are made. */
int rp_mkdirs_private(const char *path, struct rp_err *err);

/** Takes from everybody but the owner the right to read, write and run a file, or a whole tree,
 * that another program has made. Links are not followed, and failures are ignored. */
void rp_close_tree(const char *path);

/** Makes a new folder of our own in $TMPDIR, or in /tmp.
 * @return 0, or RP_ENVIRONMENT */
int rp_temporary_folder(char **ret_path, struct rp_err *err);
/** Removes the folder with all in it, and frees the path. rp_cleanup calls it. */
void rp_temporary_folder_remove(char **path);

/** Removes a file or a whole tree without following links. A missing path is fine, and failures are
 * ignored. */
void rp_remove_tree(const char *path);

/**
 * Finds a program as execvp would: a name with a slash is taken as it is, others are looked up in
 * $PATH.
 * @return 0 with an absolute path; RP_USAGE when there is no such file or it may not be executed
 */
int rp_find_program(const char *name, char **ret_path, struct rp_err *err);
/** Searches another PATH in the same way. NULL stands for the usual folders. */
int rp_find_program_in(const char *search, const char *name, char **ret_path, struct rp_err *err);

/** Finds the folder of the running executable. */
int rp_executable_dir(char **ret_dir, struct rp_err *err);

/** Reads the first line of a small text file without its newline. It returns NULL if the file is
 * unreadable. */
char *rp_read_line(const char *path);

/** Reads a whole file as terminated text. It returns NULL if the file is unreadable or larger than
 * max_bytes. */
char *rp_read_text(const char *path, size_t max_bytes);

/** Reads a whole file as bytes, which the caller owns.
 * @param code error code where it cannot be read: RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_read_file(const char *path, size_t most_bytes, enum rp_code code, void **ret,
                 size_t *ret_bytes, struct rp_err *err);

/** This stands behind the name of a file just before the file gets its own, followed by the
 * process's number. */
#define RP_WRITE_PARTIAL ".partial."

/** Writes all bytes, however long it takes, also when interrupted or to a pipe that does not wait.
 * @return 0, or -1 with errno set: part of it may be written */
int rp_write_all(int fd, const void *data, size_t bytes);
/** Writes a file so that readers see the old or the new contents, never a part: it has a temporary
 * name in the same folder, and is then synced and renamed; the folder is synced last. A kill
 * meanwhile leaves nothing behind, where the file system has files without names (O_TMPFILE). An
 * existing file keeps its mode. */
int rp_write_file(const char *path, const void *data, size_t bytes, struct rp_err *err);
/** Does the same for a part of a capture or a session, which nobody else may read. */
int rp_write_private_file(const char *path, const void *data, size_t bytes, struct rp_err *err);
/** Creates a part of a capture that is written piece by piece.
 * @return NULL with errno */
FILE *rp_create_private_file(const char *path);

/** Puts the name of a file that was made or renamed on the disk, so that it survives a crash.
 * @return 0, or -1 with errno */
int rp_sync_folder_of(const char *path);

/** Writes a file that a user names. It writes to the target of a link and does not replace the
 * link; a device or a pipe takes the text as it is. */
int rp_write_output(const char *path, const void *data, size_t bytes, struct rp_err *err);

/** Says whether such a write would work, before there is anything to be written. It leaves nothing
 * behind. */
int rp_check_output(const char *path, struct rp_err *err);

/** Writes as rp_write_file does, and gives a new file the permissions of another, as far as results
 * have these (base/file.h).
 * @param like NULL, or absent: the usual permissions */
int rp_write_file_like(const char *path, const char *like, const void *data, size_t bytes,
                       struct rp_err *err);
/** Writes as rp_write_file does, but with the mode of the file whose place it is to take by
 * rename(2). */
int rp_write_file_for(const char *path, const char *place, const void *data, size_t bytes,
                      struct rp_err *err);

#endif
