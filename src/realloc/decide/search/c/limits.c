/* decide/constraints/limits.py: whether an end keeps every constraint, up to float error. */

#include "problem.h"
#include <math.h>

int limits_allow(const Problem *p, int64_t row, const double *end)
{
    const Limits *limits = p->limits;
    const int64_t K = p->channels;
    if (limits->kept[row]) return 0;
    for (int64_t b = 0; b < limits->bounded; b++) {
        const int64_t node = limits->bounded_nodes[b];
        double held = 0.0;
        for (int64_t k = 0; k < K; k++)
            if (limits->members[b * K + k]) held += end[k];
        const double low = limits->low[row * limits->nodes + node], high = limits->high[row * limits->nodes + node];
        if (!(held >= low - limits->slack && held <= high + limits->slack)) return 0;
    }
    if (isfinite(limits->largest[row])) {
        double moved = 0.0;
        for (int64_t k = 0; k < K; k++) moved += fabs(end[k] - p->start[row * K + k]);
        if (moved / 2 > limits->largest[row] + limits->slack) return 0;
    }
    if (limits->grid > 0)
        for (int64_t k = 0; k < K; k++) {
            const double away = end[k] - limits->anchor[row * K + k];
            if (fabs(away - limits->grid * rint(away / limits->grid)) > limits->on_grid) return 0;
        }
    return 1;
}
