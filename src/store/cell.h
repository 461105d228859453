/**
 * @file cell.h
 * @brief A value of a row, as SQLite stores it.
 */
#ifndef RP_STORE_CELL_H
#define RP_STORE_CELL_H

#include <stdint.h>

enum rp_cell_type {
    RP_CELL_NULL,
    RP_CELL_INTEGER,
    RP_CELL_REAL,
    RP_CELL_TEXT, /**< or a blob */
};

struct rp_cell {
    union {
        int64_t number;
        double real;
        const unsigned char *bytes; /**< UTF-8, without a zero behind them */
    };
    uint32_t len; /**< of the text */
    enum rp_cell_type type;
};

#endif
