#include "replay/varied_why.h"

#include "replay/varied.h"

/* It computes with others than those that were changed, or by less than the rule sees. */
static const char *same_numbers(const struct rp_varied *v)
{
    const bool near = v->trial->rule.type != RP_EXACT;

    if (v->rule.words) /* their last bits */
        return near ? "the captured kernel gives the same within the rule with other integers "
                      "(if it computes with numbers of another type, name it: --inputs f32, f16, "
                      "bf16 or f64)"
                    : "the captured kernel gives the same result with other integers (if it "
                      "computes with numbers of another type, name it: --inputs f32, f16, bf16 or "
                      "f64)";
    return near ? "the captured kernel gives the same within the rule with other numbers (if it "
                  "computes with integers, --inputs i32 changes these; other types: f32, f16, "
                  "bf16, f64)"
                : "the captured kernel gives the same result with other numbers (if it computes "
                  "with integers, --inputs i32 changes these; other types: f32, f16, bf16, f64)";
}

const char *rp_varied_same_result(const struct rp_varied *v)
{
    return v->now == RP_VARY_NUMBERS || v->now == RP_VARY_SIGNS ? same_numbers(v)
           : v->now == RP_VARY_INTEGERS
               ? "the captured kernel gives the same with other whole numbers"
           : v->now == RP_VARY_ORDER
               ? "the captured kernel gives the same with memory in another order"
           : rp_variation_is_of_zeros(v->now)
               ? "the captured kernel gives the same with other values there"
           : v->now == RP_VARY_LARGE ? "the captured kernel gives the same with large whole numbers"
           : v->now == RP_VARY_NEGATIVES || v->now == RP_VARY_BYTES || v->now == RP_VARY_MIXED
               ? "the captured kernel gives the same with them"
               : "the captured kernel gives the same with other values of them";
}

const char *rp_varied_nothing_to_change(const struct rp_varied *v)
{
    return v->now == RP_VARY_NUMBERS || v->now == RP_VARY_SIGNS
               ? "no page of memory is known to hold numbers only (--inputs names their type)"
           : v->now == RP_VARY_INTEGERS       ? "each page has what may be addresses, or zeros only"
           : v->now == RP_VARY_ORDER          ? "all values are the same, or may be addresses"
           : rp_variation_is_of_zeros(v->now) ? "there is no zero that may be such a value"
           : v->now == RP_VARY_LARGE || v->now == RP_VARY_NEGATIVES
               ? "no page of memory is known to hold small whole numbers only"
           : v->now == RP_VARY_BYTES
               ? "each page has what may be addresses, or numbers, or small whole numbers only"
           : v->now == RP_VARY_MIXED
               ? "no page of memory has numbers of 32 bits among other values, and no addresses"
           : v->now == RP_VARY_UNEQUAL ? "no two that are passed by value are equal"
           : v->now == RP_VARY_FIELDS  ? "no structure is passed by value that has such values"
           : v->now == RP_VARY_ARGUMENT_SIGNS
               ? "none is passed by value that is known to have a sign"
               : "none is passed by value that could be another one";
}
