/**
 * @file benchmark_json.h
 * @brief Reads the JSON of google-benchmark, nvbench and hyperfine as the profile.json that says
 * the same, so that nobody else has to know them.
 */
#ifndef RP_ANALYZE_BENCHMARK_JSON_H
#define RP_ANALYZE_BENCHMARK_JSON_H

struct json_t;
struct rp_err;

/**
 * Benchmarks become kernels, and their repetitions runs. The times of all are sums over as many
 * runs as each of them has.
 * @param ret NULL: it is the JSON of none of them; else to be released by the caller
 * @return 0; RP_BAD_INPUT: it has no times; RP_ENVIRONMENT
 */
int rp_benchmark_profile(const struct json_t *root, struct json_t **ret, struct rp_err *err);

#endif
