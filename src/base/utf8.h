/**
 * @file utf8.h
 * @brief UTF-8: the decoder, widths, and the one function through which text from files reaches
 * people.
 */
#ifndef RP_BASE_UTF8_H
#define RP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_buf;

/** Bytes of the character that begins here; 0 when this is not UTF-8 (RFC 3629), or bytes is 0.
 *  Never looks behind a byte that is no part of it. @p ret the character; U+FFFD if there is none
 */
size_t rp_utf8_decode(const char *text, size_t bytes, uint32_t *ret);
size_t rp_utf8_length(const char *text, size_t bytes);

/** Columns of a terminal that a character takes: 0, 1 or 2; the same on every machine. */
unsigned rp_utf8_width(uint32_t point);
/** Of a text as it is; a byte that is not UTF-8 takes one. */
size_t rp_utf8_cells(const char *text);

bool rp_utf8_is_valid(const char *text, size_t len);
/** Appends the text with every byte that is not part of a character replaced by U+FFFD. */
void rp_utf8_fix(struct rp_buf *ret, const char *text, size_t len);

/* Text of unknown origin written so that nothing in it acts on a terminal, a file of lines
 *        or the log of a CI service.
 *
 * Written out are: control characters (C0, DEL, C1), so also line ends; marks that turn the
 * direction of writing; characters without width; bytes that are not UTF-8; the first character of
 * "::" at the beginning or behind a blank, where GitHub reads a command once a line is broken
 * there; the first of "##[", which GitHub and Azure take for a command anywhere ("##vso[", too).
 * A byte is written as \xNN, a character beyond ASCII as \uNNNN or \UNNNNNNNN. A backslash stays as
 * it is: a text that was escaped before does not change.
 */

/** Appends the text, escaped. */
void rp_escape(struct rp_buf *buf, const char *text);

/** The same into an array, as much as fits, for who must not allocate. */
void rp_escape_into(char *ret, size_t room, const char *text);

/** One character of a text after the other, for who cuts or measures it. */
struct rp_escape_at {
    const char *at; /**< the next one */
    bool inside;    /**< behind a character that is no blank */
};

struct rp_escaped {
    char text[12];  /**< terminated */
    unsigned bytes; /**< of it */
    uint32_t point; /**< the character; 0: written out, in ASCII */
};

/** @return there was one */
bool rp_escape_next(struct rp_escape_at *at, struct rp_escaped *ret);

/** Appends the text as what stands between the quotes of a JSON string: characters that are not
 *  seen, and the first of "##[", as \uNNNN; bytes that are not UTF-8 as U+FFFD. */
void rp_escape_json(struct rp_buf *buf, const char *text);

/** Appends the lines of a result that is made already, such as a JSON document: what is not seen,
 *  DEL, and the first of "##[" become \uNNNN. In JSON that is the same text. */
void rp_escape_invisible(struct rp_buf *buf, const char *text);

/** Has it no width, or does it act on the terminal or the direction of writing? Beyond ASCII. */
bool rp_utf8_is_invisible(uint32_t point);

#endif
