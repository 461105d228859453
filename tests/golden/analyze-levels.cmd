# rocprof-compute before 3.2 counts the waves in flight in a run of its own, with cycles of its own: those divide them.
head='Dispatch_ID,GPU_ID,Kernel_Name,Arch_VGPR,Accum_VGPR,SGPR,Start_Timestamp,End_Timestamp'
mkdir run && printf 'gpu_arch,gpu_model,gpu_chip_id\ngfx942,MI300X_A1,29857\n' >run/sysinfo.csv
printf '%s,GRBM_GUI_ACTIVE,SQ_ACTIVE_INST_VALU,SQ_LEVEL_WAVES\n0,0,k (.kd),8,0,16,1000,2000,80000,30400,0\n1,0,k (.kd),8,0,16,3000,4000,80000,30400,0\n' "$head" >run/pmc_perf.csv
cp -r run later
# 4 waves on each of 304 CUs for 1000 cycles of each of 8 XCDs
printf '%s,GRBM_GUI_ACTIVE,SQ_WAVES,SQ_LEVEL_WAVES,SQ_ACCUM_PREV_HIRES\n0,0,k (.kd),8,0,16,1000,900000,8000,64,0,1216000\n1,0,k (.kd),8,0,16,3000,904000,8000,64,0,1216000\n' "$head" >run/SQ_LEVEL_WAVES.csv
rocm-perf analyze -v run
gzip run/*.csv && rocm-perf analyze -v run | grep -E '^  +(2|waves per CU|VALU util)'
# Since then all is in one file, and this one is a part of it.
printf '%s,SQ_LEVEL_WAVES\n0,0,k (.kd),8,0,16,1000,2000,0\n1,0,k (.kd),8,0,16,3000,4000,0\n' "$head" >later/SQ_LEVEL_WAVES.csv
rocm-perf analyze -v later | grep -E '^  +(2|2 d|waves per CU|VALU util|SQ_)'
# Joined, each sum of levels stands behind its own counter; in other forms nobody knows whose it is.
mkdir joined && cp later/sysinfo.csv joined
printf '%s,GRBM_GUI_ACTIVE,SQ_IFETCH_LEVEL,SQ_ACCUM_PREV_HIRES,SQ_LEVEL_WAVES,SQ_ACCUM_PREV_HIRES_8\n0,0,k,8,0,16,1000,2000,8000,5,777,6,1216000\n' "$head" >joined/pmc_perf.csv
rocm-perf analyze -v joined | grep -E '^  +(waves per CU|SQ_)'
printf 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value\n1,0,k,GRBM_GUI_ACTIVE,8000\n1,0,k,SQ_LEVEL_WAVES,0\n1,0,k,SQ_ACCUM_PREV_HIRES,1216000\n' >one_counter_collection.csv
rocm-perf analyze -v --arch gfx942 one_counter_collection.csv | grep -E '^  +(waves per CU|SQ_)'
sed 's/^1,0,k,GRBM.*/&\n1,0,k,SQ_INST_LEVEL_LDS,0/' one_counter_collection.csv >two_counter_collection.csv
rocm-perf analyze -v --arch gfx942 two_counter_collection.csv | grep -E '^  +(waves per CU|SQ_)'
sed s/SQ_ACCUM_PREV_HIRES/SQ_LEVEL_WAVES_ACCUM/ two_counter_collection.csv >new_counter_collection.csv
rocm-perf analyze -v --arch gfx942 new_counter_collection.csv | grep -E '^  +(waves per CU|SQ_)'
# Runs that were not joined yet.
mkdir single && cp later/sysinfo.csv single
printf '%s,SQ_WAVES\n0,0,k,8,0,16,1000,2000,64\n' "$head" >single/pmc_perf_0.csv
printf '%s,SQ_INSTS\n0,0,k,8,0,16,1100,2100,640\n' "$head" >single/pmc_perf_10.csv
rocm-perf analyze -v single | grep -E '^  +(1 d|SQ_)'
# A filter that nothing matched.
mkdir none && cp later/sysinfo.csv none && for name in SQ_LEVEL_WAVES timestamps pmc_perf_0; do printf 'Dispatch_ID,Kernel_Name\n' >none/$name.csv; done
rocm-perf analyze -v none; echo "exit $?"
rm none/pmc_perf_0.csv && rocm-perf report none; echo "exit $?"
# Passes that differ by a multiple: in figures, not as 3e+02.
printf 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value\n1,0,k,TCC_EA0_WRREQ_sum,1000\n1,0,k,TCC_EA0_WRREQ_64B_sum,4008\n' >far_counter_collection.csv
rocm-perf analyze -v --arch gfx942 far_counter_collection.csv | grep -A 2 'bytes written'
