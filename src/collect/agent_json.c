/**
 * @file agent_json.c
 * @brief Properties of a recorded agent as JSON.
 */
#include "collect/agent_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "trace/records.h"

enum { MAX_MEM_BANKS = 8 };

static void put_text(struct rp_buf *json, const char *text)
{
    rp_buf_puts(json, "\"");
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;

        if (ch == '"' || ch == '\\')
            rp_buf_printf(json, "\\%c", ch);
        else if (ch < 0x20)
            rp_buf_printf(json, "\\u%04x", ch);
        else
            rp_buf_add(json, text, 1);
    }
    rp_buf_puts(json, "\"");
}

static void put_key(struct rp_buf *json, const char *key)
{
    if (json->len > 0 && json->data[json->len - 1] != '{')
        rp_buf_puts(json, ",");
    put_text(json, key);
    rp_buf_puts(json, ":");
}

static void put_number(struct rp_buf *json, const char *key, uint64_t value)
{
    put_key(json, key);
    rp_buf_printf(json, "%" PRIu64, value);
}

static void put_name(struct rp_buf *json, const char *key, const char *value)
{
    put_key(json, key);
    put_text(json, value);
}

/* Name of the next property of the agent that begins with the prefix, without the prefix; NULL at
 * the end. An empty prefix takes the ones that belong to no array. */
static const char *next_property(const struct rp_record_file *file, uint64_t agent,
                                 const char *prefix, size_t *index, uint64_t *ret_value)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (; *index < count; ++*index) {
        const struct rp_rec_agent_prop *prop = &records[*index].u.agent_prop;
        const char *key;

        if (records[*index].kind != RP_REC_AGENT_PROP || prop->agent != agent)
            continue;
        key = rp_record_file_string(file, prop->key_id);
        if (!*key || strncmp(key, prefix, strlen(prefix)) != 0 || (!*prefix && strchr(key, '.')))
            continue;
        *ret_value = prop->value;
        ++*index;
        return key + strlen(prefix);
    }
    return NULL;
}

static bool put_bank(struct rp_buf *json, const struct rp_record_file *file, uint64_t agent,
                     unsigned bank)
{
    char prefix[24];
    const char *key;
    size_t index = 0;
    uint64_t value;

    snprintf(prefix, sizeof(prefix), "mem_banks.%u.", bank);
    key = next_property(file, agent, prefix, &index, &value);
    if (!key)
        return false;
    rp_buf_puts(json, bank ? ",{" : "{");
    for (; key; key = next_property(file, agent, prefix, &index, &value))
        put_number(json, key, value);
    rp_buf_puts(json, "}");
    return true;
}

char *rp_agent_json(const struct rp_record_file *file, const struct rp_rec_agent *agent)
{
    rp_autobuf json = {0};
    const char *key;
    size_t index = 0;
    uint64_t value;

    rp_buf_puts(&json, "{");
    put_number(&json, "type", agent->type == 1 ? 2 : 1); /* rocprofv3: 1 CPU, 2 GPU */
    while ((key = next_property(file, agent->handle, "", &index, &value)))
        put_number(&json, key, value);
    put_name(&json, "name", rp_record_file_string(file, agent->name_id));
    put_name(&json, "vendor_name", rp_record_file_string(file, agent->vendor_name_id));
    put_name(&json, "product_name", rp_record_file_string(file, agent->product_name_id));
    put_name(&json, "uuid_text", rp_record_file_string(file, agent->uuid_id));
    put_number(&json, "node_id", agent->node_id);
    put_number(&json, "logical_node_id", agent->logical_index);
    put_number(&json, "logical_node_type_id", agent->type_index);
    put_key(&json, "mem_banks");
    rp_buf_puts(&json, "[");
    for (unsigned bank = 0; bank < MAX_MEM_BANKS && put_bank(&json, file, agent->handle, bank);
         bank++)
        ;
    rp_buf_puts(&json, "]}");
    return rp_buf_steal(&json);
}
