/**
 * @file kernel_source.h
 * @brief A kernel of a source file as the compiler sees it.
 */
#ifndef RP_OPTIMIZE_KERNEL_SOURCE_H
#define RP_OPTIMIZE_KERNEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_ast;
struct rp_ast_node;
struct rp_compile_command;
struct rp_err;
struct rp_kernel_shape; /**< kernel_shape.h */
struct rp_kernel_source;

/* Describes one kernel of a source file as the compiler sees it: where its text begins and ends,
 * its loops, and what it does that a change must not touch. */

struct rp_kernel_source {
    char *path;        /**< of the file */
    char *text;        /**< of the whole file, terminated */
    size_t bytes;      /**< of text */
    char *name;        /**< as the source has it, without namespaces */
    char *symbol;      /**< mangled, without .kd */
    size_t begin, end; /**< of the definition: from its template head or extern "C" to behind } */
    size_t body_begin, body_end;  /**< from { to behind } */
    uint32_t line;                /**< of begin */
    struct rp_source_loop *loops; /**< in the order of the source */
    size_t loop_count;
    struct rp_source_array *arrays; /**< in LDS, in the order of the source */
    size_t array_count;
    struct rp_source_stride *strides;
    size_t stride_count;
    bool *skipped;      /**< rp_source_pieces; NULL: the compiler takes all of the kernel */
    size_t piece_count; /**< of skipped */
    struct rp_source_change *changes; /**< that the tree allows, the most promising first */
    size_t change_count;
    struct rp_launch_constant *constants; /**< of rp_launch_constants_find, if that was called */
    size_t constant_count;
    struct rp_kernel_shape *shape;
};

enum rp_change_kind {
    RP_CHANGE_ELEMENT,  /**< an element of memory in a register: memory_sums.c */
    RP_CHANGE_TILE,     /**< the next tile in registers: next_tiles.c */
    RP_CHANGE_WIDE,     /**< neighbours in each round: wide_loads.c */
    RP_CHANGE_WIDE_SUM, /**< ... with sums of floating-point numbers in another order */
};

/** Is a whole new text of the kernel. */
struct rp_source_change {
    enum rp_change_kind kind;
    uint64_t workgroup; /**< it is right with workgroups of this size only; 0: of any */
    char *title, *kernel_text;
};

struct rp_source_array {
    char *name;
    size_t bound_begin, bound_end; /**< of the last bound in the file, between its brackets */
    unsigned long row;             /**< that bound */
    unsigned more;                 /**< elements by which it may grow: 1, or those of a vector that
                                        is read at once */
    const char *why_not; /**< why its rows may not become longer, half a sentence; NULL: they may */
};

/** This is a constant by which indices of arrays in LDS are multiplied, as in a[y * PITCH + x] of
 * a[HEIGHT * PITCH]. */
struct rp_source_stride {
    char *name;
    size_t *places; /**< where it stands for that; bytes in the file, ascending */
    size_t count;
};

/** Offsets are bytes in the file. */
struct rp_source_loop {
    size_t begin, end;               /**< from `for` to the end of its body */
    size_t pragma_begin, pragma_end; /**< its unroll pragmas, whole lines; equal when it has none */
    uint32_t line;                   /**< of `for`, 1 = first */
    uint32_t depth;                  /**< loops around it */
    bool innermost, counted;
    bool trip_count_known;
    uint64_t trip_count;
    const char *sum_type; /**< of the variable to which its body adds a term, and does nothing else;
                               NULL: it does something else */
    const char *why_not;  /**< why unrolling it is not proposed, half a sentence; NULL: it is */
};

/**
 * Reads a source file and finds the kernel with a symbol in it: overloads, namespaces and instances
 * of templates are exact.
 * @param symbol  mangled, with or without .kd
 * @param arch    "gfx942": macros may depend on it
 * @return 0; RP_BAD_INPUT when the kernel is not in this file, comes out of a macro, or the file
 *         does not compile; RP_ENVIRONMENT
 */
int rp_kernel_source_read(const struct rp_compile_command *command, const char *path,
                          const char *symbol, const char *arch, struct rp_kernel_source **ret,
                          struct rp_err *err);
void rp_kernel_source_free(struct rp_kernel_source *source);

/**
 * @param ret_path  absolute
 * @param ret_text  terminated; owned by the caller
 * @return 0; RP_BAD_INPUT when it cannot be read, holds a NUL or has more than 16 MiB
 */
int rp_source_file_read(const char *path, char **ret_path, char **ret_text, size_t *ret_bytes,
                        struct rp_err *err);

/* What stands between #if and #endif: the compiler takes some of it, and skips the rest. */

/**
 * Asks the compiler which pieces of a kernel's text it skips. A piece ends where the next line of
 * the preprocessor (rp_tokens_next_line) begins, or with the kernel.
 * @param path of the file, whose name the compiler gets; the text is another one's, too
 * @param begin, end of the kernel in text
 * @param ret whether each is skipped; NULL: the kernel has no #if, and none is
 * @return 0; RP_VERDICT: the preprocessor does not accept it; others when it could not be asked
 */
int rp_source_pieces(const struct rp_compile_command *command, const char *path, const char *text,
                     size_t bytes, size_t begin, size_t end, const char *arch, bool **ret,
                     size_t *ret_count, struct rp_err *err);

/* The loops of a function: which count, and how often they go round. */

/** Fills in loops and loop_count; the caller has filled in the rest except shape. */
int rp_source_loops_find(const struct rp_ast_node *function, struct rp_kernel_source *source,
                         struct rp_err *err);

/** Fills in arrays and strides with their numbers, likewise. */
void rp_source_arrays_find(const struct rp_ast_node *function, struct rp_kernel_source *source);

/** Adds changes that keep an element of memory in a register; loops are known. */
void rp_memory_sums_find(const struct rp_ast_node *function, struct rp_kernel_source *source);

/** Adds changes that load the next tile while one is used, likewise. */
void rp_next_tiles_find(const struct rp_ast_node *function, struct rp_kernel_source *source);

/** Adds changes that give each lane neighbours, likewise. */
void rp_wide_loads_find(const struct rp_ast_node *function, struct rp_kernel_source *source);

/* Whether the file that is compiled (--unit) includes the header whose kernels are changed. */

/* Runs the user's compiler for the declarations of one name, or for what it makes of a file. */

/**
 * @param path of the file to read; absolute
 * @param filter the name with its namespaces
 * @param name ... and without
 * @param ret_output the compiler's message when it does not accept the file, else unchanged
 * @return 0; RP_VERDICT with *ret_output; others when it could not be asked
 */
int rp_ast_dump(const struct rp_compile_command *command, const char *path, const char *filter,
                const char *name, const char *arch, struct rp_ast **ret, char **ret_output,
                struct rp_err *err);

#endif
