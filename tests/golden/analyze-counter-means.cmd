# Percentages and means of rocprof do not add up, counters and amounts do; a large value is written out as the counters
# below it are.
{
    echo 'Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Start_Timestamp,End_Timestamp,SQ_WAVES,SQ_WAVE_CYCLES,TCC_HIT_sum,VALUUtilization,TA_BUSY_avr,GPU_UTIL,FetchSize,Wavefronts,FETCH_SIZE'
    echo 0,0,k,64,64,0,0,32,0,16,1000,2000,100,10000000,5,99.5,40,50,7,100,7
    echo 1,0,k,64,64,0,0,32,0,16,3000,4000,100,10000000,5,98.5,60,70,7,100,7
} >pmc_perf.csv
rocm-perf analyze -v --arch gfx942 pmc_perf.csv | sed -n '/^Counters/,$p'
