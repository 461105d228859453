/**
 * @file space.h
 * @brief Holds a search space: parameters, and the configurations that are allowed, one row each.
 *
 * Who makes a space (a file of parameters and constraints, a list, a recorded space) adds
 * parameters first and then configurations. From then on nothing changes it: configurations are
 * known by their number, parameters and values by theirs.
 */
#ifndef RP_TUNE_SPACE_H
#define RP_TUNE_SPACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_buf;
struct rp_err;
struct rp_space;
struct rp_value;

enum rp_value_kind { RP_VALUE_INTEGER, RP_VALUE_REAL, RP_VALUE_BOOLEAN, RP_VALUE_TEXT };

struct rp_value {
    enum rp_value_kind kind;
    union {
        int64_t integer;
        double real; /**< finite */
        bool boolean;
        const char *text; /**< the space's copy; UTF-8 without zero bytes */
    };
};

struct rp_parameter {
    const char *name;
    struct rp_value *values; /**< all different, in the order in which they were given */
    size_t count;
};

/** In a configuration this marks a conditional parameter whose condition does not hold. */
enum { RP_NO_VALUE = UINT16_MAX };
enum {
    RP_MAX_PARAMETERS = 256,
    RP_MAX_PARAMETER_VALUES = 10000, /**< of one parameter */
    RP_MAX_CONFIGS = 10000000,       /**< of a space: the model looks at each of them */
};

/** Release it with rp_space_free. */
struct rp_space {
    struct rp_parameter *parameters;
    size_t parameter_count;
    uint16_t *choices; /**< count rows of parameter_count value numbers, or RP_NO_VALUE */
    size_t count;
    bool conditional;             /**< some configuration has a parameter without a value */
    struct rp_space_index *index; /**< finds a configuration by its row */
};

struct rp_space *rp_space_new(void);
void rp_space_free(struct rp_space *space);
/** Converts a value to a number: false is 0, true 1.
 * @return false: it is text */
static inline bool rp_value_number(const struct rp_value *value, double *ret)
{
    switch (value->kind) {
    case RP_VALUE_INTEGER:
        *ret = (double)value->integer;
        return true;
    case RP_VALUE_REAL:
        *ret = value->real;
        return true;
    case RP_VALUE_BOOLEAN:
        *ret = value->boolean;
        return true;
    case RP_VALUE_TEXT:
        break;
    }
    return false;
}

/** Writes a value as users write it: 16, 0.5, true, text as it is. Reals read back as the same
 * number. */
void rp_value_text(const struct rp_value *value, struct rp_buf *to);

/**
 * Adds a parameter, which is only possible before the first configuration.
 * @param values copied, with their texts
 * @return 0; RP_BAD_INPUT: no name or one that is there already, no value, the same one twice, too
 * many; RP_ENVIRONMENT
 */
int rp_space_add_parameter(struct rp_space *space, const char *name, const struct rp_value *values,
                           size_t count, struct rp_err *err);

/** @return its number, or -1 */
int rp_space_parameter(const struct rp_space *space, const char *name);
/** @return the value's number, or -1 */
int rp_parameter_value(const struct rp_parameter *parameter, const struct rp_value *value);

/**
 * Adds a configuration.
 * @param row  a value's number for each parameter, or RP_NO_VALUE
 * @return 0; 1 it was there already, nothing was added; RP_BAD_INPUT: more than RP_MAX_CONFIGS;
 *         RP_ENVIRONMENT
 */
int rp_space_add(struct rp_space *space, const uint16_t *row, struct rp_err *err);

/** @return the configuration's number, or -1 */
int64_t rp_space_find(const struct rp_space *space, const uint16_t *row);
static inline const uint16_t *rp_space_row(const struct rp_space *space, size_t config)
{
    return space->choices + config * space->parameter_count;
}

/** Returns NULL when the parameter has no value there. */
static inline const struct rp_value *rp_space_value(const struct rp_space *space, size_t config,
                                                    size_t parameter)
{
    const uint16_t choice = rp_space_row(space, config)[parameter];

    return choice == RP_NO_VALUE ? NULL : &space->parameters[parameter].values[choice];
}

/**
 * Names a configuration in journals, whatever the order of parameters and values in a file: it is a
 * JSON object with sorted keys, without parameters that have no value. The caller owns it.
 */
char *rp_space_key(const struct rp_space *space, size_t config);

/* All files of search spaces share these: JSON, plain or compressed, and lists of configurations in
 * it. */

#define rp_autojson __attribute__((cleanup(rp_json_drop))) json_t *

/** Reads a whole file, and decompresses it if gzip compressed it.
 * @return 0, RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_json_read_file(const char *path, struct rp_buf *text, struct rp_err *err);

/** @return 0; RP_BAD_INPUT with line and column: no JSON, or the same key twice in an object */
int rp_json_space_parse(const char *text, size_t bytes, json_t **ret, struct rp_err *err);

/** Borrows the text.
 * @return false: it is neither a number, a text, true nor false */
bool rp_json_value(const json_t *json, struct rp_value *ret);
/** Converts a value to JSON. The caller owns the result. */
json_t *rp_json_of_value(const struct rp_value *value);

/** Checks a name, because names are printed and stand in templates.
 * @return 0, RP_BAD_INPUT */
int rp_space_check_name(const char *name, struct rp_err *err);

/**
 * Adds a parameter with the values that it has in configs, an array of objects. It does not count
 * in an object that lacks it or has null.
 */
int rp_json_add_parameter(struct rp_space *space, const char *name, const json_t *configs,
                          struct rp_err *err);

/** @param config its values have been added
 * @return as rp_space_add: 1 it was there already */
int rp_json_add_config(struct rp_space *space, const json_t *config, struct rp_err *err);

static inline void rp_json_drop(json_t **json)
{
    json_decref(*json);
}

#endif
