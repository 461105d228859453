/** @file dag_parts.h @brief Pieces of dag.json, each one key and its value. */
#ifndef RP_REPORT_DAG_PARTS_H
#define RP_REPORT_DAG_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct rp_buf;
struct rp_dag_result;
struct rp_dag_share;

/** Nanoseconds by part, as an object. */
void rp_dag_json_by_part(struct rp_buf *buf, const int64_t *part_ns);
/** "by_range" of host time. */
void rp_dag_json_ranges(struct rp_buf *buf, const struct rp_dag_share *shares, size_t count);
void rp_dag_json_collectives(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_disturbed(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_idle(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_limits(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_machines(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_near(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_overlap(struct rp_buf *buf, const struct rp_dag_result *r);
void rp_dag_json_processes(struct rp_buf *buf, const struct rp_dag_result *r);

#endif
