#include "tune/json_build.h"

void rp_json_set(json_t **object, const char *key, json_t *value)
{
    if (*object && json_object_set_new(*object, key, value) < 0) {
        json_decref(*object);
        *object = NULL;
    } else if (!*object) {
        json_decref(value);
    }
}

void rp_json_append(json_t **array, json_t *value)
{
    if (*array && json_array_append_new(*array, value) < 0) {
        json_decref(*array);
        *array = NULL;
    } else if (!*array) {
        json_decref(value);
    }
}
