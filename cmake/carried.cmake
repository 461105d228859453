# The libraries of a package that runs everywhere, linked statically: RP_CARRIED is the folder of their sources, which
# tools/package fetches. They take the names that pkg-config gives to installed ones. None is compiled otherwise than its
# own build would: options here are what that build finds out on Linux with glibc.
enable_language(ASM) # zstd's decoder of Huffman codes
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# carried(NAME HEADERS [DEFINITIONS...] SOURCES...)
function(carried target headers)
  cmake_parse_arguments(A "" "" "DEFINITIONS;SOURCES" ${ARGN})
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" name carried_${target})
  add_library(${name} STATIC ${A_SOURCES})
  target_compile_definitions(${name} PRIVATE ${A_DEFINITIONS})
  target_compile_options(${name} PRIVATE -w -fvisibility=hidden)
  # As a system's: their headers are not ours to warn of.
  target_include_directories(${name} SYSTEM PUBLIC ${headers})
  add_library(${target} ALIAS ${name})
endfunction()

# SQLite as distributions have it, without what loads other code.
carried(PkgConfig::SQLITE3 ${RP_CARRIED}/sqlite SOURCES ${RP_CARRIED}/sqlite/sqlite3.c
        DEFINITIONS SQLITE_ENABLE_COLUMN_METADATA SQLITE_OMIT_LOAD_EXTENSION SQLITE_THREADSAFE=1)
target_link_libraries(carried_PkgConfig__SQLITE3 PRIVATE Threads::Threads m)

file(GLOB sources ${RP_CARRIED}/jansson/src/*.c)
file(WRITE ${CMAKE_BINARY_DIR}/carried/jansson_config.h
"#define JSON_INLINE inline
#define JSON_INTEGER_IS_LONG_LONG 1
#define JSON_HAVE_LOCALECONV 1
#define JSON_HAVE_ATOMIC_BUILTINS 1
#define JSON_HAVE_SYNC_BUILTINS 1
#define JSON_PARSER_MAX_DEPTH 2048
")
file(WRITE ${CMAKE_BINARY_DIR}/carried/jansson_private_config.h
"#define HAVE_CLOSE 1
#define HAVE_ENDIAN_H 1
#define HAVE_FCNTL_H 1
#define HAVE_GETPID 1
#define HAVE_GETTIMEOFDAY 1
#define HAVE_LOCALE_H 1
#define HAVE_LOCALECONV 1
#define HAVE_OPEN 1
#define HAVE_READ 1
#define HAVE_SCHED_H 1
#define HAVE_SCHED_YIELD 1
#define HAVE_STDINT_H 1
#define HAVE_STRTOLL 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define INITIAL_HASHTABLE_ORDER 3
#define USE_URANDOM 1
")
carried(PkgConfig::JANSSON "${RP_CARRIED}/jansson/src;${CMAKE_BINARY_DIR}/carried" SOURCES ${sources}
        DEFINITIONS HAVE_CONFIG_H)

file(GLOB sources ${RP_CARRIED}/zstd/lib/common/*.c ${RP_CARRIED}/zstd/lib/compress/*.c
     ${RP_CARRIED}/zstd/lib/decompress/*.c ${RP_CARRIED}/zstd/lib/decompress/*.S)
carried(PkgConfig::ZSTD ${RP_CARRIED}/zstd/lib SOURCES ${sources} DEFINITIONS XXH_NAMESPACE=ZSTD_)

carried(PkgConfig::XXHASH ${RP_CARRIED}/xxhash SOURCES ${RP_CARRIED}/xxhash/xxhash.c)

file(GLOB sources ${RP_CARRIED}/zlib/*.c)
carried(ZLIB::ZLIB ${RP_CARRIED}/zlib SOURCES ${sources}
        DEFINITIONS _LARGEFILE64_SOURCE=1 HAVE_UNISTD_H HAVE_STDARG_H HAVE_HIDDEN)

set(CURL_INCLUDE_DIRS ${RP_CARRIED}/curl/include)
