# What is wrong is called what it is, and rows of several GPUs, small figures and what is left out say so.
traces() { # START of the last dispatch
    cat <<CSV
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 4",1,0,77,1,30,"saxpy(float*, float)",1,1000000000000,1000000005000,0,0,16,0,32,256,1,1,65536,1,1
"KERNEL_DISPATCH","Agent 4",1,0,77,2,20,"copy(int*)",2,$1,1000000011000,0,0,16,0,32,256,1,1,65536,1,1
CSV
}
for start in 18446744073709550616 -9223372036854775809 x1 1e12; do
    traces $start >1_kernel_trace.csv
    rocm-perf analyze -v 1_kernel_trace.csv 2>&1
done
for start in -5 0; do
    traces $start >1_kernel_trace.csv
    rocm-perf analyze -v 1_kernel_trace.csv 2>&1 | grep 'left out'
done
# A file system without small letters.
mkdir upper && traces 1000000006000 >upper/1_KERNEL_TRACE.CSV
gzip -c upper/1_KERNEL_TRACE.CSV >packed_KERNEL_TRACE.CSV.GZ
cat >upper/1_HIP_API_TRACE.CSV <<CSV
"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API_EXT","hipDeviceSynchronize",77,77,9,999999999000,1000000012000
CSV
for trace in upper upper/1_KERNEL_TRACE.CSV upper/1_HIP_API_TRACE.CSV packed_KERNEL_TRACE.CSV.GZ; do
    rocm-perf analyze -v $trace 2>&1 | grep -e '^End to end  ' -e '^Kernels  ' -e warning -e rocm-perf:
done
# A kernel that takes none of the time is not ranked unless it is asked for.
traces 1000000011000 >1_kernel_trace.csv
rocm-perf analyze -v 1_kernel_trace.csv | sed -n '/^Kernels by/,$p'
rocm-perf analyze -v 1_kernel_trace.csv --top 2 | sed -n '/^Kernels by/,$p'
printf 'Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs,StdDev\nk,5,25000,5000,100,2,6000,1\n' >1_kernel_stats.csv
rocm-perf analyze -v 1_kernel_stats.csv
# The same kernels on two GPUs.
for gpu in 4 5; do
    mkdir -p two/$gpu
    {
        echo Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp
        for counter in SQ_WAVES,1024 TCC_EA0_RDREQ_sum,8192 TCC_EA0_RDREQ_32B_sum,0 TCC_BUBBLE_sum,0 TCC_EA0_WRREQ_sum,4096 TCC_EA0_WRREQ_64B_sum,4096; do
            echo "1,1,Agent $gpu,1,7$gpu,7$gpu,65536,1,copy(int*),256,0,0,16,0,32,$counter,1000000,110000$gpu"
        done
    } >two/$gpu/${gpu}_counter_collection.csv
done
rocm-perf analyze -v --arch gfx942 two | sed -n '/limiter, %/,/^Note/p'
# A counter of 64 bits that fell below 0, as far as a double knows it.
for value in 9223372036854775807 9223372036854775808; do
    sed "s/SQ_WAVES,1024/SQ_WAVES,$value/" two/4/4_counter_collection.csv >5_counter_collection.csv
    rocm-perf analyze -v 5_counter_collection.csv 2>&1
done
true
