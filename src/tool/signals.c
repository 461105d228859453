/**
 * @file signals.c
 * @brief Hooks of signal functions: read the times before the program overwrites them, and record
 *        what completed before the program learns of it.
 */
#include <errno.h>

#include "tool/tool.h"

/* A store says what the value is from now on, whatever it was. */
static bool is_store(int slot)
{
    return slot == RP_SLOT_hsa_signal_store_relaxed || slot == RP_SLOT_hsa_signal_store_screlease ||
           slot == RP_SLOT_hsa_signal_silent_store_relaxed ||
           slot == RP_SLOT_hsa_signal_silent_store_screlease;
}

static void before_change(rp_hsa_signal signal, bool anew)
{
    if (!rp_tool_active(&rp_the_tool))
        return;
    rp_harvest_before_change(&rp_the_tool, signal);
    rp_shared_copies_before_change(&rp_the_tool, signal, anew);
}

/* Without records nobody reads what the program can know: the tool's own thread is in time. */
static void observed(void)
{
    if (rp_tool_active(&rp_the_tool) && rp_tool_records(&rp_the_tool))
        rp_harvest_observed(&rp_the_tool);
}

/* One hook per entry of hsa.def that belongs to one of these groups. */
#define RP_SIGNAL_SET(index, name)                                                                 \
    static void hook_##name(rp_hsa_signal signal, int64_t value)                                   \
    {                                                                                              \
        before_change(signal, is_store(index));                                                    \
        rp_the_tool.hsa.name(signal, value);                                                       \
    }
#define RP_SIGNAL_EXCHANGE(index, name)                                                            \
    static int64_t hook_##name(rp_hsa_signal signal, int64_t value)                                \
    {                                                                                              \
        before_change(signal, true);                                                               \
        return rp_the_tool.hsa.name(signal, value);                                                \
    }
#define RP_SIGNAL_CAS(index, name)                                                                 \
    static int64_t hook_##name(rp_hsa_signal signal, int64_t expected, int64_t value)              \
    {                                                                                              \
        before_change(signal, false);                                                              \
        return rp_the_tool.hsa.name(signal, expected, value);                                      \
    }
#define RP_SIGNAL_LOAD(index, name)                                                                \
    static int64_t hook_##name(rp_hsa_signal signal)                                               \
    {                                                                                              \
        int64_t value = rp_the_tool.hsa.name(signal);                                              \
                                                                                                   \
        if (value < 1)                                                                             \
            observed();                                                                            \
        return value;                                                                              \
    }
#define RP_SIGNAL_WAIT(index, name)                                                                \
    static int64_t hook_##name(rp_hsa_signal signal, uint32_t condition, int64_t value,            \
                               uint64_t timeout, uint32_t wait_state)                              \
    {                                                                                              \
        int64_t result = rp_the_tool.hsa.name(signal, condition, value, timeout, wait_state);      \
                                                                                                   \
        observed();                                                                                \
        return result;                                                                             \
    }
#include "hsa.def"

static rp_hsa_status hook_signal_destroy(rp_hsa_signal signal)
{
    if (rp_tool_active(&rp_the_tool)) {
        rp_handlers_settle(&rp_the_tool);
        rp_handlers_forget(&rp_the_tool, signal);
        rp_harvest_before_destroy(&rp_the_tool, signal);
        rp_shared_copies_before_destroy(&rp_the_tool, signal);
        rp_producers_forget(&rp_the_tool.producers, signal);
    }
    return rp_the_tool.hsa.hsa_signal_destroy(signal);
}

static uint32_t hook_wait_any(uint32_t count, rp_hsa_signal *signals, uint32_t *conditions,
                              int64_t *values, uint64_t timeout, uint32_t wait_state,
                              int64_t *ret_value)
{
    uint32_t which = rp_the_tool.hsa.hsa_amd_signal_wait_any(count, signals, conditions, values,
                                                             timeout, wait_state, ret_value);

    observed();
    return which;
}

static uint32_t hook_wait_all(uint32_t count, rp_hsa_signal *signals, uint32_t *conditions,
                              int64_t *values, uint64_t timeout, uint32_t wait_state,
                              int64_t *ret_values)
{
    uint32_t result = rp_the_tool.hsa.hsa_amd_signal_wait_all(count, signals, conditions, values,
                                                              timeout, wait_state, ret_values);

    observed();
    return result;
}

void rp_signals_hook(const struct rp_hsa_tables *tables)
{
#define RP_SIGNAL_SET(index, name)      RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_EXCHANGE(index, name) RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_CAS(index, name)      RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_LOAD(index, name)     RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_SIGNAL_WAIT(index, name)     RP_TOOL_REPLACE(tables->core, name, hook_##name);
#include "hsa.def"
    RP_TOOL_REPLACE(tables->core, hsa_signal_destroy, hook_signal_destroy);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_signal_wait_any, hook_wait_any);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_signal_wait_all, hook_wait_all);
}
