# exit 3
mkdir -p run/host
cat >run/host/7_kernel_trace.csv <<'CSV'
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 1",1,1,70,1,1,"first(float*, int)",1,1010000,1050000,0,0,8,0,16,256,1,1,1024,1,1
"KERNEL_DISPATCH","Agent 1",1,1,70,2,2,"second(float*)",3,1052000,1090000,0,0,8,0,16,256,1,1,1024,1,1
CSV
cat >run/host/7_hip_api_trace.csv <<'CSV'
"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API_EXT","hipLaunchKernel",70,70,1,1000000,1005000
"HIP_RUNTIME_API_EXT","hipLaunchKernel",70,70,2,1007000,1012000
"HIP_RUNTIME_API_EXT","hipDeviceSynchronize",70,70,4,1013000,1098000
CSV
cat >run/host/7_hsa_api_trace.csv <<'CSV'
"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HSA_CORE_API","hsa_signal_store_screlease",70,70,3,1008000,1009000
CSV
rocm-perf analyze -v run
rocm-perf analyze -v run/host/7_hip_api_trace.csv run/host/7_kernel_trace.csv | grep '^End to end  '
sed -i 's/1010000,1050000/1.01E+06,1050000/' run/host/7_kernel_trace.csv
rocm-perf analyze -v run
