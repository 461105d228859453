#include "optimize/overlay.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

RP_DEFINE_CLEANUP(json_t, json_decref)

int rp_overlay_write(const char *header, const char *text, char **ret_path, struct rp_err *err)
{
    /* "LLVM: RedirectingFileSystem": YAML, of which JSON is a part. */
    rp_cleanup(rp_cleanup_json_decref) json_t *root =
        json_pack("{s:i, s:s, s:s, s:[{s:s, s:s, s:s}]}", "version", 0, "case-sensitive", "true",
                  "use-external-names", "false", "roots", "name", header, "type", "file",
                  "external-contents", text);
    rp_autofree char *path = rp_format("%s.overlay", text);
    rp_autofree char *json = root ? json_dumps(root, 0) : NULL;
    int rc;

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!json)
        return rp_fail(err, RP_BAD_INPUT, "%s: its name is not UTF-8: rename it", header);
    rc = rp_write_private_file(path, json, strlen(json), err);
    if (rc == 0)
        *ret_path = rp_steal(path);
    return rc;
}
