/**
 * @file notes.h
 * @brief Remarks that are no failures: the command line prints them, the library keeps them.
 */
#ifndef RP_LIBRARY_NOTES_H
#define RP_LIBRARY_NOTES_H

/** All 0: nobody wants them. */
struct rp_note_sink {
    void (*put)(void *ctx, const char *text); /**< one sentence, without a newline */
    void *ctx;
};

/** Out of memory: the note is lost. */
void rp_note(const struct rp_note_sink *sink, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
