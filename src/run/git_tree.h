/**
 * @file git_tree.h
 * @brief What git knows of the user's repository, and trees of its commits in folders of their own.
 *        The user's work tree, index and branches are read and never changed.
 */
#ifndef RP_RUN_GIT_TREE_H
#define RP_RUN_GIT_TREE_H

#include <stdbool.h>

#include "base/process.h"

struct rp_buf;
struct rp_err;

/** Reads the commit of the git work tree of the current folder, with "-dirty" where tracked files
 * are changed.
 * @return to be freed; NULL: there is no git, or no commit */
char *rp_git_current_commit(void);

/** Finds the top folder of the work tree that the current folder is in.
 * @return 0; RP_USAGE: it is in none; RP_ENVIRONMENT: there is no git */
int rp_git_root(char **ret, struct rp_err *err);

/** Says whether two commits have the same files. */
bool rp_git_same_files(const char *root, const char *a, const char *b);

/** Counts submodules in whose own trees files are changed. Their changes are in no snapshot. */
size_t rp_git_changed_submodules(const char *root);

/** Reads the name of the branch that the work tree is on.
 * @return to be freed; NULL: it is on none */
char *rp_git_branch(const char *root);

/** Finds the commit that a name stands for.
 * @return 0; RP_USAGE: there is none, with what helps */
int rp_git_commit_of(const char *root, const char *name, char **ret, struct rp_err *err);

/**
 * Tells the subjects of those commits that the repository has. Nothing is fetched.
 * @param commits those that are no whole hashes are left out
 * @param found called for each, in any order
 */
int rp_git_subjects(const char *root, const char *const *commits, size_t count,
                    void (*found)(void *context, const char *commit, const char *subject),
                    void *context);

/**
 * Makes a commit of the work tree as it is, with what is changed and what is new and not ignored.
 * No branch refers to it, so git removes it some day. Where nothing is changed, it is HEAD.
 * @param leave_out absolute paths, which are not taken; NULL at the end
 * @param scratch an existing folder for the index of that commit
 * @param ret_changed whether it differs from HEAD
 */
int rp_git_snapshot(const char *root, const char *const *leave_out, const char *scratch, char **ret,
                    bool *ret_changed, struct rp_err *err);

/** A commit that is checked out beside the user's tree. Initialise it with zeros. */
struct rp_git_tree {
    char *path;
    char *record; /**< the folder in which the repository has it noted */
};

/** Checks a commit out, without hooks. A note of a tree at that path, which is gone, is replaced.
 * @param path of a folder that does not exist yet */
int rp_git_tree_make(const char *root, const char *commit, const char *path,
                     struct rp_git_tree *ret, struct rp_err *err);

/** Removes the tree and the repository's note of it. It starts no process, so that it works after a
 * signal, too. */
void rp_git_tree_remove(struct rp_git_tree *tree);

/**
 * Finds where a word stands in source files.
 * @param ret lines "FILE\0NUMBER\0TEXT\n", of which there may be none
 */
int rp_git_find_word(const char *tree, const char *word, struct rp_buf *ret, struct rp_err *err);

/** Variables that git sets for its hooks, and that would lead git in another tree astray, are
 * removed by these changes, which end with a NULL name. */
extern const struct rp_env_change rp_git_no_variables[];

#endif
