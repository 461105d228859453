/**
 * @file ast_dump.h
 * @brief Runs the user's compiler for the declarations of one name, or for what it makes of a file.
 */
#ifndef RP_OPTIMIZE_AST_DUMP_H
#define RP_OPTIMIZE_AST_DUMP_H

struct rp_ast;
struct rp_compile_command;
struct rp_err;
struct rp_ir;

/**
 * @param path        of the file to read; absolute
 * @param filter      the name with its namespaces
 * @param name        ... and without
 * @param ret_output  what the compiler said when it does not accept the file, else unchanged
 * @return 0; RP_VERDICT with *ret_output; others when it could not be asked
 */
int rp_ast_dump(const struct rp_compile_command *command, const char *path, const char *filter,
                const char *name, const char *arch, struct rp_ast **ret, char **ret_output,
                struct rp_err *err);

/**
 * The device code of a file, with places, before anything is optimised.
 * @return 0; RP_VERDICT when the compiler does not accept the file; others when it could not be
 * asked
 */
int rp_ir_dump(const struct rp_compile_command *command, const char *path, const char *arch,
               struct rp_ir **ret, struct rp_err *err);

#endif
