# What rocprofv3 wrote of a process in several forms is read once; a file of such a name that has not
# what the CSV file has is no reason to leave it out.
python3 - <<'PY'
import json, os
def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
def counters(path, start=1000000):
    put(path, "Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
              f"1,Agent 1,7,k,SQ_WAVES,10,{start},{start + 1000}\n")
def kernels(path, start=1000000, count=1):
    put(path, "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
              + count * f"KERNEL_DISPATCH,Agent 1,1,0,7,1,1,k,1,{start},{start + 1000}\n")
def process(with_kernels, with_counters, with_calls=False, pid=7):
    info = {"kernel_id": 1, "dispatch_id": 1, "agent_id": {"handle": 5}, "queue_id": {"handle": 1}, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 64, "y": 1, "z": 1}}
    dispatch = {"kind": 1, "operation": 1, "thread_id": 7, "correlation_id": {"internal": 1, "external": 0}, "start_timestamp": 500000, "end_timestamp": 504000, "dispatch_info": info}
    counted = {"thread_id": 7, "dispatch_data": {"dispatch_info": info, "start_timestamp": 500000, "end_timestamp": 504000}, "records": [{"counter_id": {"handle": 9}, "value": 10}]}
    call = {"kind": 2, "operation": 1, "thread_id": 7, "correlation_id": {"internal": 1, "external": 0, "ancestor": 0}, "start_timestamp": 400000, "end_timestamp": 401000}
    return {"metadata": {"pid": pid, "init_time": 1, "fini_time": 900000, "command": ["./app"]},
            "agents": [{"id": {"handle": 5}, "node_id": 1, "type": 2, "name": "gfx942"}],
            "counters": [{"id": {"handle": 9}, "name": "SQ_WAVES"}],
            "strings": {"buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "KERNEL_DISPATCH", "operations": ["", ""]}, {"kind": "HIP_RUNTIME_API_EXT", "operations": ["", "hipInit"]}]},
            "kernel_symbols": [{"kernel_id": 1, "code_object_id": 1, "kernel_name": "k.kd", "formatted_kernel_name": "k"}],
            "callback_records": {"counter_collection": [counted] * with_counters},
            "buffer_records": {"kernel_dispatch": [dispatch] * with_kernels, "hip_api": [call] * with_calls}}
def trace(path, *processes): put(path, json.dumps({"rocprofiler-sdk-tool": list(processes)}))
for name, text in (("nobody", '{"rocprofiler-sdk-tool":[]}'), ("object", "{}"), ("cut", '{"rocprofiler-sdk-tool":[{"metadata":{"pid":7},"callback_records":{"counter_coll')):
    put(f"{name}/x_results.json", text)
    counters(f"{name}/x_counter_collection.csv")
    kernels(f"{name}/x_kernel_trace.csv")
put("damaged/x_results.db", "")
counters("damaged/x_counter_collection.csv")
# rocprofv3 --kernel-trace --output-format json, then --pmc --output-format csv with the same -o
trace("two_runs/x_results.json", process(True, False))
counters("two_runs/x_counter_collection.csv")
# the same, and the process that was counted is the second one of the file
trace("second/x_results.json", process(True, False), process(True, True, pid=8))
counters("second/x_counter_collection.csv")
# one run in both forms: with a trace, of counters alone, and of calls alone
trace("both/x_results.json", process(True, True))
counters("both/x_counter_collection.csv", 500000)
kernels("both/x_kernel_trace.csv", 500000)
trace("counted/x_results.json", process(False, True))
counters("counted/x_counter_collection.csv", 500000)
kernels("counted/x_kernel_trace.csv", 500000)
for name, count in (("calls", 0), ("other_kernels", 1)):
    trace(f"{name}/x_results.json", process(False, False, True))
    put(f"{name}/x_hip_api_trace.csv", "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\nHIP_API,hipInit,7,7,1,400000,401000\n")
    kernels(f"{name}/x_kernel_trace.csv", 5000000, count)
PY
for case in nobody object cut damaged two_runs second both counted calls other_kernels; do
    rocm-perf analyze -v $case >shown 2>said
    echo "$case: exit $?" && cat said && grep -e '^Kernels  ' -e ' dispatch' -e '^    SQ_' shown
    rocm-perf analyze --json $case 2>/dev/null | python3 -c '
import json, sys
print(len(json.load(sys.stdin)["processes"]), "processes")' 2>/dev/null
done
true
