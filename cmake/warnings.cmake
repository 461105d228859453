# Compiler flags common to all rooms.
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
                    -Wwrite-strings -Wundef)
add_compile_definitions(_GNU_SOURCE)
if(RP_WERROR)
  add_compile_options(-Werror)
endif()
if(RP_SANITIZE AND NOT RP_FUZZ) # with both: clang, as below
  # The injected libraries opt out (rp_injected_library): they are loaded into programs that are
  # not instrumented. Their code is linked into unit tests, where it is.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(RP_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(RP_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  if(RP_SANITIZE) # as gcc says it, to the tests, which try less then
    add_compile_definitions(__SANITIZE_ADDRESS__=1)
  endif()
endif()
if(RP_SANITIZE OR RP_TSAN OR RP_FUZZ)
  # After the build type's own: -O0 doubles the time of the tests, -O3 (RP_FAST) that of compiling;
  # lines are enough for a report, and full debug information for programs of 90 MB.
  add_compile_options(-O1 -g1)
  set(RP_FAST -O1)
else()
  set(RP_FAST -O3)
endif()

# What a program is linked with so that it ends where memory ends: src/base/alloc.h.
set(RP_MEMORY_DIES LINKER:-u,rp_die_of_memory)

# rp_room(<name> [OF_PROGRAMS] [SOURCES ...] [LIBS ...]): static library rp_<name> of all .c files of the folder, or of
# SOURCES, that sees only the public headers and src/; which rooms it may include is checked by tools/check-layers.
# OF_PROGRAMS: no library has it. Whatever links it is a program, which ends where memory ends.
function(rp_room name)
  cmake_parse_arguments(A "OF_PROGRAMS" "" "SOURCES;LIBS" ${ARGN})
  if(NOT A_SOURCES)
    file(GLOB A_SOURCES CONFIGURE_DEPENDS *.c)
  endif()
  add_library(rp_${name} STATIC ${A_SOURCES})
  target_include_directories(rp_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(rp_${name} PUBLIC ${A_LIBS})
  if(A_OF_PROGRAMS)
    target_link_options(rp_${name} INTERFACE ${RP_MEMORY_DIES})
  endif()
endfunction()
