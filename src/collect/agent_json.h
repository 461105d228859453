/**
 * @file agent_json.h
 * @brief Properties of a recorded agent as rocpd_info_agent.extdata has them.
 */
#ifndef RP_COLLECT_AGENT_JSON_H
#define RP_COLLECT_AGENT_JSON_H

struct rp_rec_agent;
struct rp_record_file;

/**
 * JSON object: the recorded integers under their keys, "mem_banks.0.width" as an entry of the array
 * "mem_banks", then names and indices.
 * @return owned by the caller (free); NULL when out of memory
 */
char *rp_agent_json(const struct rp_record_file *file, const struct rp_rec_agent *agent);

#endif
