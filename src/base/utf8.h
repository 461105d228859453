/**
 * @file utf8.h
 * @brief Decodes UTF-8, measures its width, and has the one function through which text from files
 * reaches people.
 */
#ifndef RP_BASE_UTF8_H
#define RP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_buf;

/** Returns how many bytes the character that begins here has. It is 0 when this is not UTF-8 (RFC
 * 3629), or bytes is 0. It never looks behind a byte that is no part of it. @p ret gets the
 * character, or U+FFFD if there is none. */
size_t rp_utf8_decode(const char *text, size_t bytes, uint32_t *ret);
size_t rp_utf8_length(const char *text, size_t bytes);

/** Returns how many columns of a terminal a character takes: 0, 1 or 2, the same on every machine.
 */
unsigned rp_utf8_width(uint32_t point);
/** Counts the columns of a text as it is. A byte that is not UTF-8 takes one. */
size_t rp_utf8_cells(const char *text);

bool rp_utf8_is_valid(const char *text, size_t len);
/** Appends the text with every byte that is not part of a character replaced by U+FFFD. */
void rp_utf8_fix(struct rp_buf *ret, const char *text, size_t len);

/* Writes text of unknown origin so that nothing in it acts on a terminal, a file of lines or the
 * log of a CI service. Escaped are: control characters (C0, DEL, C1), so also line ends; marks that
 * turn the direction of writing; characters without width; bytes that are not UTF-8; the first
 * character of "::" at the beginning or behind a blank, where GitHub reads a command once a line is
 * broken there; the first of "##[", which GitHub and Azure take for a command anywhere ("##vso[",
 * too). A byte is written as \xNN, a character beyond ASCII as \uNNNN or \UNNNNNNNN. A backslash
 * stays as it is, so that a text which was escaped before does not change. */

/** Appends the escaped text. */
void rp_escape(struct rp_buf *buf, const char *text);

/** Writes the escaped text into an array, as much as fits, for callers that must not allocate. */
void rp_escape_into(char *ret, size_t room, const char *text);

/** Goes through a text one character after the other, for callers that cut or measure it. */
struct rp_escape_at {
    const char *at; /**< the next one */
    bool inside;    /**< behind a character that is no blank */
};

struct rp_escaped {
    char text[12];  /**< terminated */
    unsigned bytes; /**< of it */
    uint32_t point; /**< the character; 0: written out, in ASCII */
};

/** @return whether there was one */
bool rp_escape_next(struct rp_escape_at *at, struct rp_escaped *ret);

/** Appends the text as it stands between the quotes of a JSON string. Invisible characters, and the
 * first of "##[", become \uNNNN; bytes that are not UTF-8 become U+FFFD. */
void rp_escape_json(struct rp_buf *buf, const char *text);

/** Appends the lines of a finished result, such as a JSON document. Invisible characters, DEL, and
 * the first of "##[" become \uNNNN, which is the same text in JSON. */
void rp_escape_invisible(struct rp_buf *buf, const char *text);

/** Says whether a character beyond ASCII has no width, or acts on the terminal or the direction of
 * writing. */
bool rp_utf8_is_invisible(uint32_t point);

/** Counts how many typing errors make one word of the other, of the first 200 bytes of each: a byte
 * too many, missing or wrong, or two that changed places. */
size_t rp_typing_errors(const char *a, const char *b);

enum { RP_NEAREST_MOST = 48 }; /**< bytes; longer words are nobody's typing errors */

/** Finds the name that a word was probably meant to be. Initialise it with the word, and zeros. */
struct rp_nearest {
    const char *word, *name; /**< name is NULL while none is near enough */
    size_t distance;
};

/** Takes the name if it is nearer than those before: another, a missing, an additional letter, or
 * two that changed places, in at most a third of the word. The beginning of a name is near, too. */
void rp_nearest_try(struct rp_nearest *nearest, const char *name);

#endif
