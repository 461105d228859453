/**
 * @file bridge.h
 * @brief Reads and writes what other projects keep tuned configurations in: lists of triton.Config
 * in a Python file, and tables of tuned shapes as aiter has them.
 */
#ifndef RP_TUNE_BRIDGE_H
#define RP_TUNE_BRIDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct rp_err;
struct rp_space;

/* A list of @triton.autotune is Python: triton.Config({'BLOCK': 128}, num_warps=4), ... It is read
 * as text, and nothing of it runs, so its values have to be written out. */

/**
 * @param at a line of the @triton.autotune that is meant; 0: the only one
 * @param ret a list of objects, owned by the caller; each configuration once. What a Config does
 * not say is left out, as is pre_hook
 * @return 0; RP_BAD_INPUT naming the line and the remedy
 */
int rp_triton_parse(const char *text, size_t bytes, unsigned long at, json_t **ret,
                    struct rp_err *err);

/** Appends a Python file whose `configs` is a list with this configuration. */
void rp_triton_put(const struct rp_space *space, size_t config, struct rp_buf *to);

/* aiter keeps a table for each kind of GEMM: gfx,cu_num,M,N,K,...,kernelId,splitK,us,kernelName,
 * tflops,bw,errRatio. A row is the best kernel of one shape. Which columns there are differs from
 * table to table: those of the space's parameters, of a kernel and of measurements are the result,
 * all others say for which shape it is. */

/** Initialise it with zeros, and release it with rp_tuned_table_free. */
struct rp_tuned_table {
    char *path;
    struct rp_buf text;
    char **columns;
    size_t count;
    char **wanted; /**< of each column what the user says of the shape; NULL: nothing */
    char **row;    /**< of each column what the row of that shape has; NULL: there is no row */
    size_t row_begin, row_end; /**< where that row is; both at the end of the text: nowhere */
    uint32_t *first;           /**< configurations of the space that rows of that shape have */
    size_t first_count;
};

/**
 * Reads a table, and finds what it has of a shape.
 * @param shape "M=128,N=1280,K=8192": columns and their values
 * @return 0; RP_USAGE: the shape lacks a column, or names one that is not there; RP_BAD_INPUT
 * naming file and line; RP_ENVIRONMENT
 */
int rp_tuned_table_read(const char *path, const char *shape, const struct rp_space *space,
                        struct rp_tuned_table *ret, struct rp_err *err);

/**
 * Reads the table again, which others may have changed, and writes it with the row of the shape
 * replaced, or added behind the others.
 * @param ret_kept_us time of the row, which stays where its kernel is none of those of the
 * space and says that this one is faster; 0: it is replaced
 * @return 0; as of rp_tuned_table_read
 */
int rp_tuned_table_write(const char *path, const char *shape, const struct rp_space *space,
                         size_t config, double us, double *ret_kept_us, struct rp_err *err);
/** Accepts zeros. */
void rp_tuned_table_free(struct rp_tuned_table *table);

#endif
