/**
 * @file csv_read.h
 * @brief Text within CSV.
 */
#ifndef RP_REPORT_CSV_H
#define RP_REPORT_CSV_H

struct rp_buf;

/** Appends a cell (RFC 4180), in quotes where it needs them; no spreadsheet takes it for a formula.
 */
void rp_csv_cell(struct rp_buf *buf, const char *text);

#endif
