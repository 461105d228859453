/* This file reads frames of Python code from CPython's structures. */
#include "tracer/python_frames.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Offsets are of release builds for 64 bits. What they lead to is checked by its type, so that a
 * build with other structures (for debugging, without the lock) has no frames. */
struct rp_python_layout {
    unsigned minor;   /**< of version 3 */
    size_t in_thread; /**< its current frame, or what has that */
    int in_c_frame;   /**< offset of the current frame there; -1: the thread has it */
    size_t code, previous, instruction;       /**< of a frame */
    size_t file, function, first_line, lines; /**< of a code object */
    size_t instructions;                      /**< of a code object; 0: the frame counts them */
    size_t text;                              /**< of a str in ASCII: its characters */
};

/* They were read from the headers of 3.10.13, 3.11.7, 3.12.1 and 3.13.0. */
static const struct rp_python_layout layouts[] = {
    {10, 24, -1, 32, 24, 96, 104, 112, 40, 120, 0, 48},
    {11, 56, 8, 32, 48, 56, 112, 128, 72, 136, 184, 48},
    {12, 56, 0, 0, 8, 56, 112, 128, 68, 136, 192, 40},
    {13, 72, -1, 0, 8, 56, 112, 128, 68, 136, 200, 40},
};

enum {
    TYPE_OF_OBJECT = 8,
    TEXT_LENGTH = 16,
    TEXT_STATE = 32,
    TEXT_IS_COMPACT_ASCII = 3 << 5, /**< bits of that */
    BYTES_LENGTH = 16,
    BYTES_CONTENTS = 32,
    MOST_LINES_BYTES = 1 << 16,       /**< of the table of a function's lines */
    MOST_SEEN = 4 * RP_PYTHON_FRAMES, /**< with those that stand for C code */
};

/* Reads memory that may not be there. */
static bool read_at(uintptr_t from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

    return from && process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static uintptr_t word_at(uintptr_t from)
{
    uintptr_t word = 0;

    return read_at(from, &word, sizeof(word)) ? word : 0;
}

static bool find(const char *name, void *ret)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    memcpy(ret, &symbol, sizeof(symbol));
    return symbol != NULL;
}

void rp_python_find(struct rp_python *python)
{
    const char *(*version)(void);
    unsigned minor = 0;

    if (!find("Py_GetVersion", &version) || !find("Py_IsInitialized", &python->is_initialized) ||
        !find("PyGILState_GetThisThreadState", &python->thread_state) ||
        !find("PyCode_Type", &python->code_type) || !find("PyUnicode_Type", &python->text_type) ||
        !find("PyBytes_Type", &python->bytes_type) || sscanf(version(), "3.%u", &minor) != 1)
        return;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
        if (layouts[i].minor == minor)
            python->layout = &layouts[i];
}

/* --- frames -------------------------------------------------------------------------------- */

/** Every call is looked at, and a system call for each word would be felt. Where all that was read
 * of a stack was what it should be, the structures are read as Python reads them. */
struct reading {
    bool trusted;
    bool failed; /**< there was nothing to read at an address */
};

static uintptr_t word_of(struct reading *r, uintptr_t from)
{
    uintptr_t word = 0;

    if (r->trusted)
        memcpy(&word, (const void *)from, sizeof(word));
    else if (!read_at(from, &word, sizeof(word)))
        r->failed = true;
    return word;
}

static uintptr_t current_frame(const struct rp_python *python, struct reading *r)
{
    const struct rp_python_layout *l = python->layout;
    uintptr_t at = python->is_initialized() ? (uintptr_t)python->thread_state() : 0;

    at = at ? word_of(r, at + l->in_thread) : 0;
    return at && l->in_c_frame >= 0 ? word_of(r, at + (size_t)l->in_c_frame) : at;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x9e3779b97f4a7c15u;
}

/* Another code object may lie where one was freed: its file's name and table of lines tell them
 * apart, of which the end and the beginning are taken. */
static uint64_t identity_of(const struct rp_python *python, uintptr_t code, struct reading *r)
{
    enum { TABLE_WORDS = 4 };
    const struct rp_python_layout *l = python->layout;
    const uintptr_t file = word_of(r, code + l->file), lines = word_of(r, code + l->lines);
    const uintptr_t letters = file ? word_of(r, file + TEXT_LENGTH) : 0;
    const uintptr_t bytes = lines ? word_of(r, lines + BYTES_LENGTH) : 0;
    uint64_t hash = mix(mix(mix(code, file), letters), bytes);

    if (letters >= sizeof(uintptr_t) && letters < sizeof(((struct rp_python_place *)0)->file))
        hash = mix(hash, word_of(r, file + l->text + letters - sizeof(uintptr_t)));
    for (unsigned i = 0; i < TABLE_WORDS && (i + 1) * sizeof(uintptr_t) <= bytes; i++)
        hash = mix(hash, word_of(r, lines + BYTES_CONTENTS + i * sizeof(uintptr_t)));
    return hash;
}

uint32_t rp_python_walk(struct rp_python *python, struct rp_python_frame ret[RP_PYTHON_FRAMES])
{
    const struct rp_python_layout *l = python->layout;
    struct reading r = {.trusted = python->trusted};
    uintptr_t at = l ? current_frame(python, &r) : 0;
    uint32_t count = 0;

    for (unsigned i = 0; at && i < MOST_SEEN && count < RP_PYTHON_FRAMES; i++) {
        struct rp_python_frame frame = {.code = word_of(&r, at + l->code),
                                        .instruction = word_of(&r, at + l->instruction)};

        if (frame.code && word_of(&r, frame.code + TYPE_OF_OBJECT) == python->code_type) {
            frame.identity = identity_of(python, frame.code, &r);
            ret[count++] = frame;
        }
        at = word_of(&r, at + l->previous);
    }
    if (count && !at && !r.failed)
        python->trusted = true; /* The chain had an end. */
    return count;
}

/* --- places -------------------------------------------------------------------------------- */

/* Names in other letters than ASCII's are not known. */
static bool read_text(const struct rp_python *python, uintptr_t text, char *ret, size_t room)
{
    const uintptr_t length = word_at(text + TEXT_LENGTH);
    uint32_t state = 0;

    if (word_at(text + TYPE_OF_OBJECT) != python->text_type || length == 0 || length >= room ||
        !read_at(text + TEXT_STATE, &state, sizeof(state)) ||
        (state & TEXT_IS_COMPACT_ASCII) != TEXT_IS_COMPACT_ASCII ||
        !read_at(text + python->layout->text, ret, length))
        return false;
    ret[length] = '\0';
    return strlen(ret) == length;
}

/* Reads a number of 6 bits at a time, least first. @return the next byte */
static size_t read_varint(const uint8_t *table, size_t bytes, size_t at, uint32_t *ret)
{
    unsigned shift = 0;

    *ret = 0;
    for (bool more = true; more && at < bytes && shift < 30; shift += 6) {
        *ret |= (uint32_t)(table[at] & 63) << shift;
        more = table[at++] & 64;
    }
    return at;
}

/* From 3.11 on: an entry is a byte with its highest bit set (4 bits of kind, 3 of how many code
 * units less one), and bytes without. (CPython, Objects/locations.md) */
static uint32_t find_in_entries(const uint8_t *table, size_t bytes, uint32_t line, uint64_t unit)
{
    enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    uint64_t end = 0;

    for (size_t at = 0; at < bytes;) {
        const unsigned kind = table[at] >> 3 & 15;
        uint32_t delta = 0;

        end += (table[at] & 7) + 1u;
        if (kind == LONG || kind == NO_COLUMNS) {
            read_varint(table, bytes, at + 1, &delta);
            line += delta & 1 ? 0 - (delta >> 1) : delta >> 1;
        } else if (kind >= ONE_LINE && kind < NO_COLUMNS) {
            line += kind - ONE_LINE;
        }
        if (unit < end)
            return kind == NONE ? 0 : line;
        for (at++; at < bytes && !(table[at] & 128); at++)
            ;
    }
    return 0;
}

/* 3.10: pairs of how many bytes of code, and by how much the line differs; -128: it has none.
 * (CPython, Objects/lnotab_notes.txt) */
static uint32_t find_in_pairs(const uint8_t *table, size_t bytes, uint32_t line, uint64_t unit)
{
    enum { NONE = -128 };
    uint64_t end = 0;

    for (size_t at = 0; at + 1 < bytes; at += 2) {
        const int8_t delta = (int8_t)table[at + 1];

        end += table[at];
        line += delta == NONE ? 0 : (uint32_t)delta;
        if (2 * unit < end)
            return delta == NONE ? 0 : line;
    }
    return 0;
}

/* @param unit  of code, of two bytes */
static uint32_t find_line(const struct rp_python *python, uintptr_t code, uint64_t unit)
{
    const struct rp_python_layout *l = python->layout;
    const uintptr_t lines = word_at(code + l->lines);
    const uintptr_t bytes = word_at(lines + BYTES_LENGTH);
    uint8_t *table = NULL;
    uint32_t line = 0;

    if (word_at(lines + TYPE_OF_OBJECT) != python->bytes_type || bytes > MOST_LINES_BYTES ||
        !read_at(code + l->first_line, &line, sizeof(line)))
        return 0;
    table = malloc(bytes + 1);
    if (table && read_at(lines + BYTES_CONTENTS, table, bytes))
        line = l->instructions ? find_in_entries(table, bytes, line, unit)
                               : find_in_pairs(table, bytes, line, unit);
    else
        line = 0;
    free(table);
    return line;
}

bool rp_python_describe(const struct rp_python *python, const struct rp_python_frame *frame,
                        struct rp_python_place *ret)
{
    const struct rp_python_layout *l = python->layout;
    const uint64_t unit = l->instructions
                              ? (frame->instruction - (frame->code + l->instructions)) / 2
                              : (uint32_t)frame->instruction;

    ret->line = find_line(python, frame->code, unit);
    return ret->line &&
           read_text(python, word_at(frame->code + l->file), ret->file, sizeof(ret->file)) &&
           read_text(python, word_at(frame->code + l->function), ret->function,
                     sizeof(ret->function));
}
