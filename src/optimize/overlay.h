/**
 * @file overlay.h
 * @brief Another text of a header for all that includes it, without touching the header: a virtual
 *        file system of clang (-ivfsoverlay).
 */
#ifndef RP_OPTIMIZE_OVERLAY_H
#define RP_OPTIMIZE_OVERLAY_H

struct rp_err;

/**
 * Writes a file for -ivfsoverlay beside the text. Messages and places of the compiler name the
 * header.
 * @param header  absolute, without links
 * @param text    file with the other text; absolute
 * @return 0 with its path, owned by the caller
 */
int rp_overlay_write(const char *header, const char *text, char **ret_path, struct rp_err *err);

#endif
