/**
 * @file capture_args.h
 * @brief Where the arguments of a captured kernel lie, those that the runtime adds among them.
 */
#ifndef RP_CAPTURE_CAPTURE_ARGS_H
#define RP_CAPTURE_CAPTURE_ARGS_H

#include <jansson.h>

/**
 * @param code_path  the code object; @param symbol  with .kd
 * @return an array, or JSON null where the code object does not say; NULL: out of memory
 */
json_t *rp_capture_describe_args(const char *code_path, const char *symbol);

#endif
