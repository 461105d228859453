/**
 * @file vec.h
 * @brief Growing arrays.
 *
 *     struct { RP_VEC(struct point); } points = {0};
 *     ...
 *     if (rp_vec_push(&points, (struct point){x, y}) < 0)
 *         return rp_out_of_memory(err);
 *     for (size_t i = 0; i < points.count; i++)
 *         draw(&points.items[i]);
 *     rp_vec_free(&points);
 *
 * Code that only programs have need not look at the result (alloc.h). The members are read
 * directly. An array that is to leave is taken by rp_steal(points.items). RP_VEC stands first in
 * its struct, which may have a name and other members, too. libc only.
 */
#ifndef RP_BASE_VEC_H
#define RP_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** Initialise it with zeros. items is NULL as long as room is 0. */
#define RP_VEC(type)                                                                               \
    type *items;                                                                                   \
    size_t count, room

/** Makes room for @p extra more items. */
#define rp_vec_reserve(vec, extra)                                                                 \
    __extension__({                                                                                \
        __typeof__(vec) vec_ = (vec);                                                              \
        const size_t extra_ = (extra);                                                             \
        extra_ <= vec_->room - vec_->count                                                         \
            ? 0                                                                                    \
            : rp_vec_grow(&vec_->items, &vec_->room, vec_->count, extra_, sizeof *vec_->items);    \
    })

/** Appends a value. A compound literal may stand without parentheses.
 * @return as rp_vec_reserve */
#define rp_vec_push(vec, ...)                                                                      \
    __extension__({                                                                                \
        __typeof__(vec) to_ = (vec);                                                               \
        __typeof__(*to_->items) value_ = __VA_ARGS__;                                              \
        const int pushed_ = rp_vec_reserve(to_, 1);                                                \
        if (pushed_ == 0)                                                                          \
            to_->items[to_->count++] = value_;                                                     \
        pushed_;                                                                                   \
    })

/** Appends a zeroed item. @return it, or NULL: memory ended */
#define rp_vec_add(vec)                                                                            \
    __extension__({                                                                                \
        __typeof__(vec) to_ = (vec);                                                               \
        __typeof__(to_->items) new_ = NULL;                                                        \
        if (rp_vec_reserve(to_, 1) == 0) {                                                         \
            new_ = &to_->items[to_->count++];                                                      \
            memset(new_, 0, sizeof *new_);                                                         \
        }                                                                                          \
        new_;                                                                                      \
    })

/** Frees the array, but not what its items own. The vec is empty then. */
#define rp_vec_free(vec)                                                                           \
    __extension__({                                                                                \
        __typeof__(vec) vec_ = (vec);                                                              \
        free(vec_->items);                                                                         \
        vec_->items = NULL;                                                                        \
        vec_->count = vec_->room = 0;                                                              \
    })

/** Adds one more item to an array that stores no room: its room is the next power of two of its
 * count, and items are never removed.
 * @param items address of the pointer
 * @return the item, which is to be filled, or NULL: memory ended */
#define rp_array_add(items, count)                                                                 \
    ((__typeof__(*(items)))rp_array_next((items), (count), sizeof **(items)))
void *rp_array_next(void *items, size_t *count, size_t item_bytes);

/** rp_vec_reserve calls this. It also serves an array whose members stand in another struct under
 * names of their own.
 * @param items address of the pointer to the items
 * @param room items that it has room for
 * @param count items in it */
int rp_vec_grow(void *items, size_t *room, size_t count, size_t extra, size_t item_bytes);

#endif
