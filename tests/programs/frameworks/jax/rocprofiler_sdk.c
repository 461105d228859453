/* Debian has no rocprofiler-sdk. JAX's plugin links these functions of it for its own profiler:
 * here all say that they cannot (ROCPROFILER_STATUS_ERROR), and that profiler stays off. */
#define CANNOT(name)                                                                               \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return 1;                                                                                  \
    }

CANNOT(rocprofiler_assign_callback_thread)
CANNOT(rocprofiler_configure_buffer_tracing_service)
CANNOT(rocprofiler_configure_callback_tracing_service)
CANNOT(rocprofiler_context_is_valid)
CANNOT(rocprofiler_create_buffer)
CANNOT(rocprofiler_create_callback_thread)
CANNOT(rocprofiler_create_context)
CANNOT(rocprofiler_flush_buffer)
CANNOT(rocprofiler_force_configure)
CANNOT(rocprofiler_get_timestamp)
CANNOT(rocprofiler_iterate_callback_tracing_kind_operations)
CANNOT(rocprofiler_iterate_callback_tracing_kinds)
CANNOT(rocprofiler_query_available_agents)
CANNOT(rocprofiler_query_callback_tracing_kind_name)
CANNOT(rocprofiler_query_callback_tracing_kind_operation_name)
CANNOT(rocprofiler_start_context)
CANNOT(rocprofiler_stop_context)

const char *rocprofiler_get_status_string(int status);
const char *rocprofiler_get_status_string(int status)
{
    (void)status;
    return "there is no rocprofiler-sdk";
}
