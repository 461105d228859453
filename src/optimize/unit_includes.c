/* A header of which nobody knows where it is included: in its place the compiler is given a text
 * that does not compile. Where it does not mind, it has not read it. */
#include "optimize/unit_includes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile.h"
#include "optimize/compile_command.h"

int rp_unit_check_includes(const struct rp_compile_command *command, const char *source,
                           const char *arch, struct rp_err *err)
{
    static const char unreadable[] = "#error it is included\n";
    const char *unit = rp_compile_command_unit(command);
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_autofree char *text = NULL;
    rp_autofree char *object = NULL;
    rp_cleanup(rp_built_free) struct rp_built built = {0};

    if (!unit)
        return 0;
    if (rp_temporary_folder(&folder, err) < 0)
        return -(int)err->code;
    text = rp_path_join(folder, "text.h");
    object = rp_path_join(folder, "device.co");
    if (!text || !object)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_write_private_file(text, unreadable, strlen(unreadable), err) < 0 ||
        rp_compile(command, text, arch, object, &built, err) < 0)
        return -(int)err->code;
    return !built.ok ? 0
                     : rp_fail(err, RP_BAD_INPUT,
                               "%s is compiled, but does not include %s: name with --unit the file "
                               "that includes it and launches the kernels",
                               unit, source);
}
