#include "tool/hip_launch.h"

#include <dlfcn.h>
#include <string.h>

#include "tool/hip_abi.h"
#include "tool/tool.h"

enum place { PLACE_ARGS, PLACE_CONFIG, PLACE_LIST };
enum function { FUNCTION_HOST, FUNCTION_MODULE, FUNCTION_NONE };

struct launch {
    const char *name;
    uint8_t place, function; /* enum place, enum function */
    uint8_t function_at, grid_at, lds_at, lds_bytes;
};

static const struct launch launches[] = {
#define RP_HIP_LAUNCH(n, p, f, at, grid, lds, bytes)                                               \
    {.name = #n,                                                                                   \
     .place = PLACE_##p,                                                                           \
     .function = FUNCTION_##f,                                                                     \
     .function_at = (at),                                                                          \
     .grid_at = (grid),                                                                            \
     .lds_at = (lds),                                                                              \
     .lds_bytes = (bytes)},
#include "tool/hip_launches.def"
};

void rp_hip_launch_find(struct rp_hip_launch_calls *calls, void *handle)
{
    void *const symbols[] = {dlsym(handle, "hipExtGetLastError"),
                             dlsym(handle, "hipPeekAtLastError"), dlsym(handle, "hipGetErrorName"),
                             dlsym(handle, "hipKernelNameRefByPtr"),
                             dlsym(handle, "hipKernelNameRef")};

    memcpy(&calls->take_result, &symbols[0], sizeof(calls->take_result));
    memcpy(&calls->peek_error, &symbols[1], sizeof(calls->peek_error));
    memcpy(&calls->error_name, &symbols[2], sizeof(calls->error_name));
    memcpy(&calls->host_kernel, &symbols[3], sizeof(calls->host_kernel));
    memcpy(&calls->module_kernel, &symbols[4], sizeof(calls->module_kernel));
}

uint8_t rp_hip_launch_at(const char *call)
{
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        if (strcmp(launches[i].name, call) == 0)
            return (uint8_t)(i + 1);
    return 0;
}

/* Asking takes the result away. The last error is the same one when the call has failed, and asking
 * for that puts it back, for a program that asks in the same way. */
static int result_of_call(const struct rp_hip_launch_calls *calls)
{
    int error = calls->take_result && calls->peek_error ? calls->take_result() : 0;

    if (error)
        calls->peek_error();
    return error;
}

static const uint8_t *pointed(const struct rp_hip_trace_data *data)
{
    const uint8_t *first;

    memcpy(&first, data->args, sizeof(first));
    return first; /* NULL is one of the reasons to refuse a launch */
}

static const char *kernel_of(const struct rp_hip_launch_calls *calls, const struct launch *launch,
                             const struct rp_hip_trace_data *data)
{
    const uint8_t *from = launch->place == PLACE_LIST ? pointed(data) : data->args;
    void *function = NULL;

    if (from && launch->function != FUNCTION_NONE)
        memcpy(&function, from + launch->function_at, sizeof(function));
    if (!function)
        return NULL;
    if (launch->function == FUNCTION_HOST)
        return calls->host_kernel ? calls->host_kernel(function, NULL) : NULL;
    return calls->module_kernel ? calls->module_kernel(function) : NULL;
}

static void put_geometry(const struct launch *launch, const struct rp_hip_trace_data *data,
                         struct rp_rec_failed_launch *ret)
{
    const uint8_t *from = launch->place == PLACE_ARGS ? data->args : pointed(data);

    if (!from || launch->lds_bytes == 0)
        return;
    memcpy(ret->grid, from + launch->grid_at, sizeof(ret->grid));
    memcpy(ret->block, from + launch->grid_at + sizeof(ret->grid), sizeof(ret->block));
    memcpy(&ret->dynamic_lds_bytes, from + launch->lds_at, launch->lds_bytes);
}

void rp_hip_launch_end(struct rp_tool *tool, uint8_t at, const struct rp_hip_trace_data *data,
                       uint32_t api_name_id)
{
    const struct rp_hip_launch_calls *calls = &tool->hip.launch_calls;
    const struct launch *launch = &launches[at - 1];
    struct rp_record record = {.kind = RP_REC_FAILED_LAUNCH};
    struct rp_rec_failed_launch *failed = &record.u.failed_launch;
    int error = result_of_call(calls);

    rp_trace_count_launch(&tool->trace);
    if (error == 0)
        return;
    failed->correlation_id = data->correlation_id;
    failed->error = (uint32_t)error;
    failed->tid = rp_tool_tid();
    failed->api_name_id = api_name_id;
    if (calls->error_name)
        failed->error_name_id = rp_trace_string(&tool->trace, calls->error_name(error));
    failed->kernel_name_id = rp_trace_string(&tool->trace, kernel_of(calls, launch, data));
    put_geometry(launch, data, failed);
    rp_trace_append(&tool->trace, &record);
}
