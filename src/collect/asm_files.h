/**
 * @file asm_files.h
 * @brief Whether a source makes the assembler read files: what it names is not seen when it is
 *        preprocessed.
 */
#ifndef RP_COLLECT_ASM_FILES_H
#define RP_COLLECT_ASM_FILES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * @param text  C or C++, preprocessed
 * @return whether a literal has, or may come to, .include or .incbin; literals side by side are
 *         one, and escapes are what they stand for. Also true where it cannot be told: directives
 *         that put others together, and assembly that is no literal.
 */
bool rp_asm_reads_files(const char *text, size_t bytes);

#endif
