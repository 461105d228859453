/**
 * @file capture_files.h
 * @brief Names in a capture folder.
 */
#ifndef RP_CAPTURE_CAPTURE_FILES_H
#define RP_CAPTURE_CAPTURE_FILES_H

#include <inttypes.h>

#define RP_CAPTURE_DISPATCH_FILE  "dispatch.json"
#define RP_CAPTURE_REGIONS_FILE   "memory_regions.json"
#define RP_CAPTURE_COVERAGE_FILE  "coverage.json"
#define RP_CAPTURE_CHECKSUMS_FILE "checksums.json"  /* the last one that is written */
#define RP_CAPTURE_SELF_FILE      "self_check.json" /* added to a whole capture */
#define RP_CAPTURE_KERNARG_FILE   "kernarg.bin"
#define RP_CAPTURE_CODE_FILE      "kernel.hsaco"
#define RP_CAPTURE_PAGES_FILE     "memory/pages.bin"
#define RP_CAPTURE_REGION_FILE    "region_%012" PRIx64 ".bin" /* in memory/ and after/ */
#define RP_CAPTURE_SEVERAL_FOLDER "dispatch-%" PRIu64         /* one of several in a folder */
#define RP_CAPTURE_PARTIAL        ".partial-"                 /* and a process number */

#define RP_CAPTURE_FORMAT "rocm-perf-capture"
enum { RP_CAPTURE_FORMAT_VERSION = 1 };

#endif
