/**
 * @file orphan_watch.h
 * @brief Nobody asks for this process any more: it ends, and what it runs with it.
 */
#ifndef RP_TUNE_ORPHAN_WATCH_H
#define RP_TUNE_ORPHAN_WATCH_H

/**
 * From here on the end of the parent is SIGTERM for this process, and a while later SIGTERM again:
 * what rp_proc_run runs is killed by the second one. Without pidfds (Linux before 5.3) there is
 * none.
 */
void rp_orphan_watch_begin(void);

#endif
