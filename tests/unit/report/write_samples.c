/* write_samples DIR: the JSON of every sample, for the schema check. */
#include "report/samples.h"

#include "base/buf.h"
#include "base/err.h"

#include <stdio.h>
#include <sys/stat.h>

static int write_sample(const char *dir, const struct sample *s)
{
    rp_autobuf path = {0};
    rp_autobuf json = {0};
    struct rp_err err = RP_ERR_INIT;
    FILE *file;
    bool ok;

    rp_buf_printf(&path, "%s/%s.json", dir, s->name);
    if (rp_report_profile_json(&s->report, &json, &err) < 0) {
        fprintf(stderr, "%s: %s\n", s->name, err.text);
        return 1;
    }
    file = fopen(rp_buf_text(&path), "w");
    if (!file) {
        perror(rp_buf_text(&path));
        return 1;
    }
    ok = fwrite(rp_buf_text(&json), 1, json.len, file) == json.len;
    return fclose(file) != 0 || !ok;
}

int main(int argc, char **argv)
{
    size_t count;
    const struct sample *all = samples(&count);

    if (argc != 2) {
        fprintf(stderr, "usage: write_samples DIR\n");
        return 2;
    }
    mkdir(argv[1], 0777);
    for (size_t i = 0; i < count; i++) {
        if (write_sample(argv[1], &all[i]) != 0)
            return 1;
    }
    return 0;
}
