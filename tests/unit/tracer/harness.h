/* What the tests of the collector share: a program on the fake runtime, and the trace of it. */
#ifndef RP_TEST_TRACER_HARNESS_H
#define RP_TEST_TRACER_HARNESS_H

#include "trace/records.h"
#include "unit/tracer/fake_hsa.h"

bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names);
void OnUnload(void);

#define CORE(slot, name) FAKE_CALL(core, slot, name)
#define AMD(slot, name)  FAKE_CALL(amd, slot, name)

/** Where the collector writes: made by tool_load, removed by tool_unload. */
extern char tool_folder[64];

struct rp_record_file *read_trace(void);
/** The n-th record of a kind, or NULL. */
const struct rp_record *nth(const struct rp_record_file *file, uint32_t kind, size_t n);
size_t count_kind(const struct rp_record_file *file, uint32_t kind);
size_t recorded(uint32_t kind);
struct rp_trace_header header_now(void);

struct fake_queue *create_queue(void);
void destroy_queue(struct fake_queue *queue);
void submit_one(struct fake_queue *queue, rp_hsa_signal signal);
/** Any wait that returns tells the tool to look. */
void wait_something(void);

/* Set-up and tear-down of a test. */
int tool_load(void **state);
int tool_unload(void **state);

#endif
