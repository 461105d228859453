/**
 * @file sqlite.h
 * @brief SQLite as distributions have it, from 3.26 on (RHEL 8), in headers and at run time.
 *
 * An older SQLite does not know these settings, and refuses or ignores them: they are a second
 * fence around schemas that others wrote. The first is what our own statements name.
 */
#ifndef RP_TRACE_SQLITE_H
#define RP_TRACE_SQLITE_H

#include <sqlite3.h>

#ifndef SQLITE_DBCONFIG_DQS_DML /* 3.29 */
#define SQLITE_DBCONFIG_DQS_DML 1013
#define SQLITE_DBCONFIG_DQS_DDL 1014
#endif
#ifndef SQLITE_DBCONFIG_ENABLE_VIEW /* 3.30 */
#define SQLITE_DBCONFIG_ENABLE_VIEW 1015
#endif
#ifndef SQLITE_DBCONFIG_TRUSTED_SCHEMA /* 3.31 */
#define SQLITE_DBCONFIG_TRUSTED_SCHEMA 1017
#endif
#ifndef SQLITE_DIRECTONLY /* 3.30 */
#define SQLITE_DIRECTONLY 0x000080000
#endif
#ifndef SQLITE_FCNTL_RESERVE_BYTES /* 3.33 */
#define SQLITE_FCNTL_RESERVE_BYTES 38
#endif

#endif
