/**
 * @file mode.h
 * @brief Who may read and write the files and folders that we make: the one place that says so.
 *
 * The umask is taken off. A file that is there keeps its mode, also where a new one takes its
 * place.
 */
#ifndef RP_BASE_MODE_H
#define RP_BASE_MODE_H

enum rp_mode {
    /** Results: nobody but owner and group writes, whatever the umask allows. */
    RP_MODE_FILE = 0664,
    RP_MODE_FOLDER = 0775,
    /** Results that outlive a session, and that other results are added to. */
    RP_MODE_HISTORY = 0644,
    /** Captures and sessions: they hold the memory, the sources and the input of a user's program.
     */
    RP_MODE_PRIVATE_FILE = 0600,
    RP_MODE_PRIVATE_FOLDER = 0700,
};

#endif
