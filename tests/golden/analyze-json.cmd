# exit 3
# The JSON of rocprofv3: a file, a folder in which a database says the same, one without a field.
mkdir -p run/host
kernel() { # KERNEL DISPATCH CALL START END
    echo '{"size":1,"kind":1,"operation":1,"thread_id":70,"correlation_id":{"internal":'"$3"',"external":0},'
    echo '"start_timestamp":'"$4"',"end_timestamp":'"$5"',"dispatch_info":{"agent_id":{"handle":18446744073709551610},'
    echo '"queue_id":{"handle":1},"kernel_id":'"$1"',"dispatch_id":'"$2"',"private_segment_size":0,"group_segment_size":0,'
    echo '"workgroup_size":{"x":256,"y":1,"z":1},"grid_size":{"x":1024,"y":1,"z":1}},"stream_id":{"handle":1}}'
}
call() { # OPERATION CALL START END
    echo '{"size":1,"kind":2,"operation":'"$1"',"thread_id":70,"correlation_id":{"internal":'"$2"',"external":0,"ancestor":0},'
    echo '"start_timestamp":'"$3"',"end_timestamp":'"$4"',"args":[{"type":"hipStream_t","name":"stream","value":"0x5500"}]}'
}
{
    echo '{"rocprofiler-sdk-tool":[{"metadata":{"pid":70,"init_time":900000,"fini_time":1200000,"command":["./app"]},'
    echo '"agents":[{"id":{"handle":18446744073709551610},"node_id":1,"type":2,"name":"gfx942"}],"counters":[],'
    echo '"strings":{"buffer_records":[{"kind":"NONE","operations":[]},{"kind":"KERNEL_DISPATCH","operations":["",""]},'
    echo '{"kind":"HIP_RUNTIME_API_EXT","operations":["hipLaunchKernel","hipDeviceSynchronize"]}]},'
    echo '"kernel_symbols":[{"size":1,"kernel_id":1,"code_object_id":1,"kernel_name":"a.kd","formatted_kernel_name":"first(float*, int)"},'
    echo '{"size":1,"kernel_id":2,"code_object_id":1,"kernel_name":"b.kd","formatted_kernel_name":"second(float*)"}],'
    echo '"buffer_records":{"kernel_dispatch":['
    kernel 1 1 1 1010000 1050000
    echo ,
    kernel 2 2 2 1052000 1090000
    echo '],"hip_api":['
    call 0 1 1000000 1005000
    echo ,
    call 0 2 1007000 1012000
    echo ,
    call 1 3 1013000 1098000
    echo ']}}]}'
} >run/host/7_results.json
rocm-perf analyze -v run/host/7_results.json
cp "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" run/host/7_results.db
rocm-perf analyze -v run | grep '^End to end  '
sed -i 's/"end_timestamp":1090000/"end":1090000/' run/host/7_results.json
rocm-perf analyze -v run/host/7_results.json
