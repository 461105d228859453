/**
 * @file runtime.h
 * @brief The HSA runtime's functions behind those of the same names here.
 *
 * They are found by name: the runtime may have been opened later than this library and out of the
 * global scope.
 */
#ifndef RP_DEVICE_KFD_RUNTIME_H
#define RP_DEVICE_KFD_RUNTIME_H

#include <stdint.h>

/* Of hsa.h. */
enum { RP_HSA_EQ, RP_HSA_NE, RP_HSA_LT, RP_HSA_GTE }; /**< hsa_signal_condition_t */
typedef struct {
    uint64_t handle;
} hsa_signal_t;

/** The runtime's function, or NULL; its order in the search is that of the program. */
void *rp_runtime_function(const char *name);

/** The same of HIP. */
void *rp_hip_function(const char *name);

/** Ticks a second of the clock in which the runtime takes timeouts; 0 before hsa_init. */
uint64_t rp_runtime_hz(void);

/** The runtime's function of the same name, looked up once; a program that can call has it. */
#define RP_RUNTIME(name)                                                                           \
    __extension__({                                                                                \
        static void *known_;                                                                       \
        union {                                                                                    \
            void *data;                                                                            \
            __typeof__(name) *call;                                                                \
        } found_ = {.data = __atomic_load_n(&known_, __ATOMIC_RELAXED)};                           \
        if (!found_.data) {                                                                        \
            found_.data = rp_runtime_function(#name);                                              \
            __atomic_store_n(&known_, found_.data, __ATOMIC_RELAXED);                              \
        }                                                                                          \
        found_.call;                                                                               \
    })

#endif
