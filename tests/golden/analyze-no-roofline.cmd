# exit 2
head='"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
printf '%s\n"HIP_RUNTIME_API_EXT","hipLaunchKernel",70,70,1,1000000,1005000\n' "$head" >7_hip_api_trace.csv
rocm-perf analyze --roofline 7_hip_api_trace.csv
cat >7_kernel_trace.csv <<'CSV'
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 1",1,1,70,1,1,"first(float*, int)",1,1010000,1050000,0,0,8,0,16,256,1,1,1024,1,1
CSV
rocm-perf analyze --roofline 7_hip_api_trace.csv
rocm-perf analyze --roofline "$SOURCE/tests/data/rocpd/streams-hip_results.db"
python3 "$SOURCE/tests/att/gen_att.py" made 5
rocm-perf analyze --roofline made
