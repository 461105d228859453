# Counters of kernels on two GPUs, without a trace: calls and times are those of both, and what is made of counters is
# there where both have the same value.
{
    echo Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Start_Timestamp,End_Timestamp,TCC_HIT_sum,TCC_MISS_sum
    echo 0,0,same,64,64,0,0,32,0,16,1000,2000,30,70
    echo 1,1,same,64,64,0,0,32,0,16,5000,9000,30,70
    echo 2,1,same,64,64,0,0,32,0,16,15000,19000,30,70
    echo 3,0,differs,64,64,0,0,32,0,16,25000,28000,30,70
    echo 4,1,differs,64,64,0,0,32,0,16,35000,36000,70,30
    echo 5,0,untimed,64,64,0,0,32,0,16,35000,36000,70,30
    echo 6,1,untimed,64,64,0,0,32,0,16,0,0,70,30
} >pmc_perf.csv
rocm-perf report --format csv -o - pmc_perf.csv | cut -d , -f 1,8-10,29,48-
rocm-perf report --format markdown -o - pmc_perf.csv | grep '^|'
sed -i /untimed/d pmc_perf.csv
rocm-perf report --format csv -o - pmc_perf.csv | cut -d , -f 1,8-10,29,48-
rocm-perf report --format markdown -o - pmc_perf.csv | grep '^|'
