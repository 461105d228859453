/**
 * @file schema_version.h
 * @brief Which versions of the suite's own JSON documents are read; docs/format/README.md.
 */
#ifndef RP_BASE_SCHEMA_VERSION_H
#define RP_BASE_SCHEMA_VERSION_H

struct rp_err;

/**
 * Takes "1.0" and every later minor version, which only adds keys.
 * @param version  the document's schema_version, NULL when it has none
 * @param path     of the document, for the message
 * @return 0; RP_BAD_INPUT
 */
int rp_schema_version_check(const char *version, const char *path, struct rp_err *err);

#endif
