/**
 * @file schemas.h
 * @brief Files of schemas/, as text; schemas.c is made of them by the build.
 */
#ifndef RP_MCP_SCHEMAS_H
#define RP_MCP_SCHEMAS_H

extern const char rp_mcp_schema_autotune[];
extern const char rp_mcp_schema_compare[];
extern const char rp_mcp_schema_doctor[];
extern const char rp_mcp_schema_optimize[];
extern const char rp_mcp_schema_profile[];

#endif
