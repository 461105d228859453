#include "base/svg.h"

#include <math.h>

double rp_svg_round_step(double least)
{
    const double power = pow(10, floor(log10(least)));

    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}
