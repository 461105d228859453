/**
 * @file fault.h
 * @brief Turns a dispatch that cannot go on into what the runtime sees of it, and one line.
 */
#ifndef RP_DEVICE_KFD_FAULT_H
#define RP_DEVICE_KFD_FAULT_H

#include "packet.h"

/**
 * Reports a kernel's fault: one line on cp->report_fd naming kernel, reason, PC and lane, indented
 * lines with the C++ name, the place in the grid and the instructions before it, and the error code
 * in the queue's inactive signal. The queue stops.
 */
void rp_fault_kernel(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t kernel_object_va,
                     const struct rp_fault *fault);

/** Says on cp->report_fd that a kernel has only waited for cp->patience_ns. */
void rp_fault_waits(const struct rp_cp *cp, uint64_t kernel_object_va);

/** Says on cp->report_fd that a kernel is still at work after cp->patience_ns, and how far it is.
 */
void rp_fault_long(const struct rp_cp *cp, uint64_t kernel_object_va,
                   const struct rp_counts *counts);

/** As rp_fault_kernel, for a packet that the processor refuses. @p why is a complete phrase. */
void rp_fault_packet(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error,
                     const char *why);

struct rp_sdma_queue;

/** The line for a DMA packet that cannot be done; whom to tell is the caller's business. */
void rp_fault_sdma(const struct rp_cp *cp, const struct rp_sdma_queue *queue, const char *why);

/** Stops a queue that did nothing wrong itself: the runtime only listens to compute queues. */
void rp_fault_stop(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error);

/**
 * Name of the kernel whose descriptor is at @p descriptor_va, from the symbol table of the code
 * object around it in GPU memory. @return 0, or -ENOENT with @p name = the address in hex
 */
int rp_fault_kernel_name(const struct rp_exec_host *host, uint64_t descriptor_va, char *name,
                         size_t room);

#endif
