/**
 * @file fake_hsa.h
 * @brief A runtime for tests: API tables whose functions keep signals, queues, agents and one
 *        executable in memory. The test plays the packet processor.
 */
#ifndef TESTS_TOOL_FAKE_HSA_H
#define TESTS_TOOL_FAKE_HSA_H

#include "tracer/hsa_abi.h"

enum { FAKE_CPU = 0x1000, FAKE_GPU = 0x2000, FAKE_EXECUTABLE = 0x77 };
enum { FAKE_KERNELS = 2, FAKE_CODE_BYTES = 4096 };

/** A queue of the program, with what reached "the hardware". */
struct fake_queue {
    struct rp_hsa_queue handle; /* first: the program's pointer */
    rp_hsa_intercept callback;
    void *callback_data;
    rp_hsa_queue_error on_error;
    void *on_error_data;
    bool profiled, intercepted;
    struct rp_hsa_packet *packets; /* submitted and not yet executed */
    size_t count, capacity;
    uint64_t executed;
    uint64_t write_index, read_index; /**< the tool got the packets before the second */
    unsigned users; /**< of the agent's cooperative queue: how often it was created */
};

struct fake_hsa {
    struct rp_hsa_tables root;
    struct rp_hsa_table *core, *amd;
    uint64_t clock_ticks;
    size_t signals_alive, queues_alive;
    uint32_t queue_packets; /**< size of new queues */
    bool copy_profiling;
    bool refuse_intercept, refuse_register, refuse_signals, refuse_freeze;
    struct fake_queue *cooperative; /**< the agent's, shared by all who create it */
    struct fake_queue *shell;       /**< the latest intercept queue around it; it never goes */
};

extern struct fake_hsa fake;

/** Fresh tables and objects. */
void fake_reset(void);
void fake_free(void);
/** The table's current entry, as the program would call it. */
#define FAKE_CALL(table, slot, name) ((__typeof__(((struct rp_hsa *)0)->name))fake.table->fn[slot])

/** Program rings the doorbell: the tool's callback gets the packets, what it writes is queued. */
void fake_submit(struct fake_queue *queue, const struct rp_hsa_packet *packets, size_t count);
/** Hardware executes the oldest @p count packets; each takes 10 ticks. */
void fake_execute(struct fake_queue *queue, size_t count);
/** Hardware executes the packet at @p index before the others. */
void fake_execute_at(struct fake_queue *queue, size_t index);
/** The runtime's event thread: runs the handlers whose signals completed. */
size_t fake_run_handlers(void);

uint64_t fake_kernel_object(size_t index);
rp_hsa_signal fake_signal(int64_t value);
struct rp_hsa_packet fake_dispatch(uint64_t kernel_object, rp_hsa_signal signal);

#endif
