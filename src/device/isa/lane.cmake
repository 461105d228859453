# Lane kernels, compiled once per CPU level. Sets RP_LANE_SOURCES (to add to rp_device_exec) and
# RP_LANE_OBJECTS ($<TARGET_OBJECTS:...> of the levels, to add to it as well).
#
# Only the instruction set differs. -fno-math-errno and -fno-trapping-math change no value: they say
# that nobody reads errno or the exception flags, which the vectoriser needs to know.
set(RP_LANE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(RP_LANE_SOURCES ${RP_LANE_DIR}/lane_select.c)
set(RP_LANE_OBJECTS)
set(rp_lane_kernels)
foreach(name integer float half memory mfma mfma_any)
  list(APPEND rp_lane_kernels ${RP_LANE_DIR}/lane_${name}.c)
endforeach()
set(rp_lane_flags ${RP_FAST} -ffp-contract=off -fno-fast-math -fno-math-errno -fno-trapping-math
    -fvisibility=hidden -mprefer-vector-width=512)
set(rp_lane_march_0 -march=x86-64)
set(rp_lane_march_1 -march=x86-64-v3)
set(rp_lane_march_2 -march=x86-64-v4)
foreach(level 0 1 2)
  add_library(rp_lane_${level} OBJECT ${rp_lane_kernels})
  target_compile_definitions(rp_lane_${level} PRIVATE RP_LANE_LEVEL=${level})
  target_include_directories(rp_lane_${level} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(rp_lane_${level} PRIVATE ${rp_lane_flags} ${rp_lane_march_${level}})
  set_target_properties(rp_lane_${level} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  list(APPEND RP_LANE_OBJECTS $<TARGET_OBJECTS:rp_lane_${level}>)
endforeach()
