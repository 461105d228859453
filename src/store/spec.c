#include "store/spec.h"

#include "rocm-perf/store.h"

#define AT(row, field) .offset = offsetof(struct rp_row_##row, field)
#define NEEDED         .required = true
#define TO(t)          .refers_to = RP_TABLE_##t
#define OWN                                                                                        \
    {.name = "nid", .kind = RP_KIND_NODE},                                                         \
    {                                                                                              \
        .name = "pid", .kind = RP_KIND_PROCESS                                                     \
    }

static const struct rp_column process_columns[] = {
    {.name = "id", .kind = RP_KIND_PROCESS},
    {.name = "nid", .kind = RP_KIND_NODE},
    {.name = "ppid", .kind = RP_KIND_INT, AT(process, ppid)},
    {.name = "pid", .kind = RP_KIND_INT, AT(process, pid), NEEDED},
    {.name = "init", .kind = RP_KIND_TIME, AT(process, init_ns)},
    {.name = "fini", .kind = RP_KIND_TIME, AT(process, fini_ns)},
    {.name = "start", .kind = RP_KIND_TIME, AT(process, start_ns)},
    {.name = "end", .kind = RP_KIND_TIME, AT(process, end_ns)},
    {.name = "command", .kind = RP_KIND_TEXT, AT(process, command)},
    {.name = "environment", .kind = RP_KIND_JSON, AT(process, environment)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(process, extdata)},
};

static const struct rp_column thread_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(thread, tid), NEEDED},
    OWN,
    {.name = "ppid", .kind = RP_KIND_PARENT},
    {.name = "tid", .kind = RP_KIND_INT, AT(thread, tid), NEEDED},
    {.name = "name", .kind = RP_KIND_TEXT, AT(thread, name)},
};

static const struct rp_column agent_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(agent, id), NEEDED},
    OWN,
    {.name = "type", .kind = RP_KIND_TYPE, AT(agent, is_gpu), NEEDED},
    {.name = "absolute_index", .kind = RP_KIND_INT, AT(agent, absolute_index), NEEDED},
    {.name = "logical_index", .kind = RP_KIND_INT, AT(agent, logical_index), NEEDED},
    {.name = "type_index", .kind = RP_KIND_INT, AT(agent, type_index), NEEDED},
    {.name = "uuid", .kind = RP_KIND_INT, AT(agent, device_id)},
    {.name = "name", .kind = RP_KIND_TEXT, AT(agent, name), NEEDED},
    {.name = "model_name", .kind = RP_KIND_TEXT, AT(agent, model_name)},
    {.name = "vendor_name", .kind = RP_KIND_TEXT, AT(agent, vendor_name)},
    {.name = "product_name", .kind = RP_KIND_TEXT, AT(agent, product_name)},
    {.name = "user_name", .kind = RP_KIND_TEXT, AT(agent, user_name)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(agent, extdata)},
};

static const struct rp_column queue_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(queue, id), NEEDED},
    OWN,
    {.name = "name", .kind = RP_KIND_TEXT, AT(queue, name)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(queue, extdata)},
};

static const struct rp_column code_object_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(code_object, id), NEEDED},
    OWN,
    {.name = "agent_id", .kind = RP_KIND_REF, AT(code_object, agent_id), TO(info_agent)},
    {.name = "uri", .kind = RP_KIND_TEXT, AT(code_object, uri)},
    {.name = "load_base", .kind = RP_KIND_INT, AT(code_object, load_base)},
    {.name = "load_size", .kind = RP_KIND_INT, AT(code_object, load_size_bytes)},
    {.name = "load_delta", .kind = RP_KIND_INT, AT(code_object, load_delta)},
    {.name = "storage_type", .kind = RP_KIND_STORAGE, AT(code_object, storage_known)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(code_object, extdata)},
};

static const struct rp_column kernel_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(kernel, id), NEEDED},
    OWN,
    {.name = "code_object_id",
     .kind = RP_KIND_REF,
     AT(kernel, code_object_id),
     TO(info_code_object),
     NEEDED},
    {.name = "kernel_name", .kind = RP_KIND_TEXT, AT(kernel, kernel_name), NEEDED},
    {.name = "display_name", .kind = RP_KIND_TEXT, AT(kernel, display_name), NEEDED},
    {.name = "kernel_object", .kind = RP_KIND_INT, AT(kernel, kernel_object)},
    {.name = "kernarg_segment_size", .kind = RP_KIND_INT, AT(kernel, kernarg_bytes), NEEDED},
    {.name = "kernarg_segment_alignment",
     .kind = RP_KIND_INT,
     AT(kernel, kernarg_align_bytes),
     NEEDED},
    {.name = "group_segment_size", .kind = RP_KIND_INT, AT(kernel, group_bytes), NEEDED},
    {.name = "private_segment_size", .kind = RP_KIND_INT, AT(kernel, private_bytes), NEEDED},
    {.name = "sgpr_count", .kind = RP_KIND_INT, AT(kernel, sgpr_count), NEEDED},
    {.name = "arch_vgpr_count", .kind = RP_KIND_INT, AT(kernel, arch_vgpr_count), NEEDED},
    {.name = "accum_vgpr_count", .kind = RP_KIND_INT, AT(kernel, accum_vgpr_count), NEEDED},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(kernel, extdata)},
};

static const struct rp_column dispatch_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(dispatch, id), NEEDED},
    OWN,
    {.name = "tid", .kind = RP_KIND_THREAD, AT(dispatch, tid), TO(info_thread)},
    {.name = "agent_id", .kind = RP_KIND_REF, AT(dispatch, agent_id), TO(info_agent), NEEDED},
    {.name = "kernel_id",
     .kind = RP_KIND_REF,
     AT(dispatch, kernel_id),
     TO(info_kernel_symbol),
     NEEDED},
    {.name = "dispatch_id", .kind = RP_KIND_INT, AT(dispatch, dispatch_id), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_REF, AT(dispatch, queue_id), TO(info_queue), NEEDED},
    {.name = "stream_id", .kind = RP_KIND_REF, AT(dispatch, stream_id), TO(info_stream), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(dispatch, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(dispatch, end_ns), NEEDED},
    {.name = "private_segment_size", .kind = RP_KIND_INT, AT(dispatch, private_bytes), NEEDED},
    {.name = "group_segment_size", .kind = RP_KIND_INT, AT(dispatch, group_bytes), NEEDED},
    {.name = "workgroup_size_x", .kind = RP_KIND_INT, AT(dispatch, workgroup[0]), NEEDED},
    {.name = "workgroup_size_y", .kind = RP_KIND_INT, AT(dispatch, workgroup[1]), NEEDED},
    {.name = "workgroup_size_z", .kind = RP_KIND_INT, AT(dispatch, workgroup[2]), NEEDED},
    {.name = "grid_size_x", .kind = RP_KIND_INT, AT(dispatch, grid[0]), NEEDED},
    {.name = "grid_size_y", .kind = RP_KIND_INT, AT(dispatch, grid[1]), NEEDED},
    {.name = "grid_size_z", .kind = RP_KIND_INT, AT(dispatch, grid[2]), NEEDED},
    {.name = "region_name_id", .kind = RP_KIND_NO_REGION},
    {.name = "event_id", .kind = RP_KIND_EVENT_BOTH, AT(dispatch, correlation_id)},
};

static const struct rp_column launch_columns[] = {
    {.name = "agent_id", .kind = RP_KIND_REF, AT(launch, agent_id), NEEDED},
    {.name = "kernel_id", .kind = RP_KIND_REF, AT(launch, kernel_id), NEEDED},
    {.name = "dispatch_id", .kind = RP_KIND_INT, AT(launch, dispatch_id), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_REF, AT(launch, queue_id), NEEDED},
    {.name = "stream_id", .kind = RP_KIND_REF, AT(launch, stream_id), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(launch, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(launch, end_ns), NEEDED},
    {.name = "event_id", .kind = RP_KIND_EVENT, AT(launch, correlation_id)},
};

static const struct rp_column work_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(dispatch, id), NEEDED},
    {.name = "agent_id", .kind = RP_KIND_REF, AT(dispatch, agent_id), NEEDED},
    {.name = "kernel_id", .kind = RP_KIND_REF, AT(dispatch, kernel_id), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(dispatch, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(dispatch, end_ns), NEEDED},
    {.name = "private_segment_size", .kind = RP_KIND_INT, AT(dispatch, private_bytes), NEEDED},
    {.name = "group_segment_size", .kind = RP_KIND_INT, AT(dispatch, group_bytes), NEEDED},
    {.name = "workgroup_size_x", .kind = RP_KIND_INT, AT(dispatch, workgroup[0]), NEEDED},
    {.name = "workgroup_size_y", .kind = RP_KIND_INT, AT(dispatch, workgroup[1]), NEEDED},
    {.name = "workgroup_size_z", .kind = RP_KIND_INT, AT(dispatch, workgroup[2]), NEEDED},
    {.name = "grid_size_x", .kind = RP_KIND_INT, AT(dispatch, grid[0]), NEEDED},
    {.name = "grid_size_y", .kind = RP_KIND_INT, AT(dispatch, grid[1]), NEEDED},
    {.name = "grid_size_z", .kind = RP_KIND_INT, AT(dispatch, grid[2]), NEEDED},
};

static const struct rp_column copy_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(copy, id), NEEDED},
    OWN,
    {.name = "tid", .kind = RP_KIND_THREAD, AT(copy, tid), TO(info_thread)},
    {.name = "start", .kind = RP_KIND_INT, AT(copy, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(copy, end_ns), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(copy, name), NEEDED},
    {.name = "dst_agent_id", .kind = RP_KIND_REF, AT(copy, dst_agent_id), TO(info_agent), NEEDED},
    {.name = "dst_address", .kind = RP_KIND_INT, AT(copy, dst_address)},
    {.name = "src_agent_id", .kind = RP_KIND_REF, AT(copy, src_agent_id), TO(info_agent), NEEDED},
    {.name = "src_address", .kind = RP_KIND_INT, AT(copy, src_address)},
    {.name = "size", .kind = RP_KIND_INT, AT(copy, bytes), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_REF, AT(copy, queue_id), TO(info_queue)},
    {.name = "stream_id", .kind = RP_KIND_REF, AT(copy, stream_id), TO(info_stream)},
    {.name = "event_id", .kind = RP_KIND_EVENT, AT(copy, correlation_id)},
};

static const struct rp_column region_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(region, id), NEEDED},
    OWN,
    {.name = "tid", .kind = RP_KIND_THREAD, AT(region, tid), TO(info_thread), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(region, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(region, end_ns), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(region, name), NEEDED},
    {.name = "event_id", .kind = RP_KIND_EVENT_ROW, AT(region, event_id), NEEDED},
};

static const struct rp_column arg_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(arg, id), NEEDED},
    {.name = "event_id", .kind = RP_KIND_INT, AT(arg, event_id), NEEDED},
    {.name = "position", .kind = RP_KIND_INT, AT(arg, position)},
    {.name = "type", .kind = RP_KIND_WRITTEN, AT(arg, type)},
    {.name = "name", .kind = RP_KIND_TEXT, AT(arg, name), NEEDED},
    {.name = "value", .kind = RP_KIND_TEXT, AT(arg, value), NEEDED},
};

static const struct rp_column arg_value_columns[] = {
    {.name = "event_id", .kind = RP_KIND_INT, AT(arg, event_id), NEEDED},
    {.name = "name", .kind = RP_KIND_TEXT, AT(arg, name), NEEDED},
    {.name = "value", .kind = RP_KIND_TEXT, AT(arg, value), NEEDED},
};

static const struct rp_column hip_event_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(hip_event, id), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_INT, AT(hip_event, queue_id), NEEDED},
    {.name = "stream_id", .kind = RP_KIND_INT, AT(hip_event, stream_id), NEEDED},
    {.name = "hip_event_handle", .kind = RP_KIND_INT, AT(hip_event, handle), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(hip_event, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(hip_event, end_ns), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(hip_event, name), NEEDED},
    {.name = "event_id", .kind = RP_KIND_EVENT, AT(hip_event, correlation_id), NEEDED},
};

static const struct rp_column dependency_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(dependency, id)},
    {.name = "is_copy", .kind = RP_KIND_INT, AT(dependency, is_copy), NEEDED},
    {.name = "row_id", .kind = RP_KIND_INT, AT(dependency, row_id), NEEDED},
    {.name = "waits_for_copy", .kind = RP_KIND_INT, AT(dependency, waits_for_copy), NEEDED},
    {.name = "waits_for_id", .kind = RP_KIND_INT, AT(dependency, waits_for_id), NEEDED},
};

static const struct rp_column replay_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(replay, id), NEEDED},
    {.name = "waves", .kind = RP_KIND_INT, AT(replay, waves), NEEDED},
    {.name = "replayed_waves", .kind = RP_KIND_INT, AT(replay, replayed_waves), NEEDED},
    {.name = "error_share", .kind = RP_KIND_REAL, AT(replay, error_share), NEEDED},
    {.name = "fast_clock_waves", .kind = RP_KIND_KNOWN, AT(replay, fast_clock_waves)},
};

static const struct rp_column pmc_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(pmc, id), NEEDED},
    {.name = "name", .kind = RP_KIND_TEXT, AT(pmc, name), NEEDED},
};

static const struct rp_column pmc_event_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(pmc_event, id)},
    {.name = "event_id", .kind = RP_KIND_REF, AT(pmc_event, event_id), NEEDED},
    {.name = "pmc_id", .kind = RP_KIND_REF, AT(pmc_event, pmc_id), NEEDED},
    {.name = "sample_id", .kind = RP_KIND_REF, AT(pmc_event, sample_id)},
    {.name = "value", .kind = RP_KIND_REAL, AT(pmc_event, value), NEEDED},
};

static const struct rp_column node_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(node, id), NEEDED},
    {.name = "machine_id", .kind = RP_KIND_TEXT, AT(node, machine_id)},
    {.name = "hostname", .kind = RP_KIND_TEXT, AT(node, hostname)},
};

static const struct rp_column note_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(note, event_id), NEEDED},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(note, extdata)},
};

#define ROWS(r, cols)                                                                              \
    .columns = cols, .column_count = sizeof cols / sizeof cols[0],                                 \
    .row_bytes = sizeof(struct rp_row_##r), .guid_offset = offsetof(struct rp_row_##r, guid_index)

const struct rp_spec rp_specs[RP_ROWS_COUNT] = {
    [RP_ROWS_process] = {.table = RP_TABLE_info_process,
                         .what = "process",
                         .required = true,
                         ROWS(process, process_columns)},
    [RP_ROWS_thread] = {.table = RP_TABLE_info_thread,
                        .what = "thread",
                        ROWS(thread, thread_columns)},
    [RP_ROWS_agent] = {.table = RP_TABLE_info_agent,
                       .what = "agent",
                       .required = true,
                       ROWS(agent, agent_columns)},
    [RP_ROWS_queue] = {.table = RP_TABLE_info_queue, .what = "queue", ROWS(queue, queue_columns)},
    [RP_ROWS_stream] = {.table = RP_TABLE_info_stream,
                        .what = "stream",
                        ROWS(queue, queue_columns)},
    [RP_ROWS_code_object] = {.table = RP_TABLE_info_code_object,
                             .what = "code object",
                             ROWS(code_object, code_object_columns)},
    [RP_ROWS_kernel] = {.table = RP_TABLE_info_kernel_symbol,
                        .what = "kernel",
                        .required = true,
                        ROWS(kernel, kernel_columns)},
    [RP_ROWS_dispatch] = {.table = RP_TABLE_kernel_dispatch,
                          .what = "dispatch",
                          .category = "KERNEL_DISPATCH",
                          .required = true,
                          .numbered = true,
                          ROWS(dispatch, dispatch_columns)},
    [RP_ROWS_launch] = {.table = RP_TABLE_kernel_dispatch,
                        .what = "dispatch",
                        .category = "KERNEL_DISPATCH",
                        .required = true,
                        .read_only = true,
                        ROWS(launch, launch_columns)},
    [RP_ROWS_work] = {.table = RP_TABLE_kernel_dispatch,
                      .what = "dispatch",
                      .required = true,
                      .read_only = true,
                      ROWS(dispatch, work_columns)},
    [RP_ROWS_copy] = {.table = RP_TABLE_memory_copy,
                      .what = "copy",
                      .category = "MEMORY_COPY",
                      .numbered = true,
                      ROWS(copy, copy_columns)},
    [RP_ROWS_region] = {.table = RP_TABLE_region,
                        .what = "region",
                        .category = "HIP_RUNTIME_API_EXT",
                        ROWS(region, region_columns)},
    [RP_ROWS_arg] = {.table = RP_TABLE_arg,
                     .what = "argument",
                     .numbered = true,
                     ROWS(arg, arg_columns)},
    [RP_ROWS_arg_value] = {.table = RP_TABLE_arg,
                           .what = "argument",
                           .read_only = true,
                           ROWS(arg, arg_value_columns)},
    [RP_ROWS_hip_event] = {.table = RP_TABLE_hip_event,
                           .what = "HIP event",
                           .category = "HIP_EVENT",
                           .read_only = true,
                           ROWS(hip_event, hip_event_columns)},
    [RP_ROWS_dependency] = {.table = RP_TABLE_dependency,
                            .what = "dependency",
                            .numbered = true,
                            .read_only = true,
                            ROWS(dependency, dependency_columns)},
    [RP_ROWS_replay] = {.table = RP_TABLE_replay,
                        .what = "replay",
                        .read_only = true,
                        ROWS(replay, replay_columns)},
    [RP_ROWS_pmc] = {.table = RP_TABLE_info_pmc,
                     .what = "counter",
                     .read_only = true,
                     ROWS(pmc, pmc_columns)},
    [RP_ROWS_pmc_event] = {.table = RP_TABLE_pmc_event,
                           .what = "counter value",
                           .read_only = true,
                           ROWS(pmc_event, pmc_event_columns)},
    [RP_ROWS_node] = {.table = RP_TABLE_info_node,
                      .what = "node",
                      .read_only = true,
                      ROWS(node, node_columns)},
    [RP_ROWS_note] = {.table = RP_TABLE_event,
                      .what = "event",
                      .read_only = true,
                      ROWS(note, note_columns)},
};
