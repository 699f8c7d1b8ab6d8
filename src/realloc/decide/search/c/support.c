/* learn/support: whether the logs hold evidence for a place and for the straight way to it. */

#include "problem.h"
#include "fast_math.h"
#include <math.h>

#define LOG_ERROR 1e-5 /* more than the error of a radius that is made with fast_log */

/* Coordinates of bent shares, from the state's centre: the length of what is left, in units of its scale. */
static double radius_of(const Problem *p, int64_t row, const double *bent)
{
    const Support *s = p->support;
    const int64_t K = p->channels, C = s->coordinates;
    double off[MOST], sum = 0.0;
    for (int64_t d = 0; d < C; d++) off[d] = -s->shift[d] - s->centre[row * C + d];
    for (int64_t k = 0; k < K; k++)
        for (int64_t d = 0; d < C; d++) off[d] += bent[k] * s->axes[k * C + d];
    for (int64_t d = 0; d < C; d++) sum += off[d] * off[d];
    const double radius = sqrt(sum) / s->scale[row];
    if (s->margin == 0.0) return radius;
    return radius + s->margin * sqrt(s->centre_variance[row] + radius * radius * s->scale_variance[row]);
}

/* coordinates.py: channels that rest follow the state's centre; the others count for all. */
static void fill_in(const Problem *p, int64_t row, double *bent)
{
    const int64_t K = p->channels;
    const double *centre = p->support->log_centre + row * K, least = p->support->least_log;
    double level = 0.0;
    int64_t active = 0;
    for (int64_t k = 0; k < K; k++)
        if (bent[k] > least) active++, level += bent[k] - centre[k];
    level /= active > 1 ? (double)active : 1.0;
    const double stretch = sqrt((double)(K - 1) / (active > 2 ? (double)(active - 1) : 1.0));
    for (int64_t k = 0; k < K; k++)
        bent[k] = centre[k] + level + (bent[k] > least ? (bent[k] - centre[k] - level) * stretch : 0.0);
}

static double count_factor(const Problem *p, const double *shares)
{
    int64_t active = 0;
    if (p->support->kind != PARTIAL) return 1.0;
    for (int64_t k = 0; k < p->channels; k++) active += shares[k] > 0;
    return p->support->by_count[active > 0 ? active - 1 : p->channels - 1];
}

static void bend(const Problem *p, const double *shares, double *bent)
{
    const double least = p->support->smallest_share;
    for (int64_t k = 0; k < p->channels; k++)
        bent[k] = p->support->kind == SPHERE ? sqrt(shares[k] > 0 ? shares[k] : 0.0) : log(shares[k] > least ? shares[k] : least);
}

static int near(const Problem *p, int64_t row, const double *shares)
{
    double bent[MOST];
    bend(p, shares, bent);
    if (p->support->kind == PARTIAL) fill_in(p, row, bent);
    return radius_of(p, row, bent) * count_factor(p, shares) <= p->support->limit;
}

static uint64_t pattern(const Problem *p, const double *shares)
{
    uint64_t code = 0;
    for (int64_t k = 0; k < p->channels; k++)
        if (shares[k] > 0) code += p->support->codes[k];
    return code;
}

/* Whether a row may keep a set of channels that was not logged: each two of them were logged together. */
static int comparable(const Problem *p, const double *start)
{
    const int64_t K = p->channels;
    int64_t active = 0;
    for (int64_t k = 0; k < K; k++) {
        if (!(start[k] > 0)) continue;
        active++;
        for (int64_t l = 0; l < K; l++)
            if (start[l] > 0 && !p->support->pairs[k * K + l]) return 0;
    }
    return active > 1;
}

static int known(const Problem *p, int64_t row, const double *shares)
{
    const Support *s = p->support;
    const double *start = p->base + row * p->channels;
    const uint64_t code = pattern(p, shares);
    int64_t lo = 0, hi = s->patterns;
    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (s->known[middle] < code) lo = middle + 1;
        else hi = middle;
    }
    if (lo < s->patterns && s->known[lo] == code) return 1;
    return s->kind == PARTIAL && pattern(p, start) == code && comparable(p, start);
}

int supported(const Problem *p, int64_t row, const double *end) { return known(p, row, end) && near(p, row, end); }

/* direction.py: the rank of the distance to the k-th logged move like the one that ends here. */
double omega(const Problem *p, int64_t row, const double *end)
{
    const Support *s = p->support;
    const int64_t K = p->channels, C = s->coordinates, T = s->index.dimensions;
    double bent[MOST], place[2 * MOST], at[MOST_AXES];
    bend(p, end, bent);
    if (s->kind == PARTIAL) fill_in(p, row, bent);
    for (int64_t d = 0; d < C; d++) {
        place[d] = -s->shift[d];
        for (int64_t k = 0; k < K; k++) place[d] += bent[k] * s->axes[k * C + d];
        place[C + d] = s->anchor * s->centre[row * C + d];
    }
    for (int64_t t = 0; t < T; t++) {
        at[t] = 0.0;
        for (int64_t d = 0; d < 2 * C; d++) at[t] += place[d] * s->index_axes[d * T + t];
        at[t] /= s->index_unit;
    }
    const double distance = furthest(&s->index, at, s->neighbours);
    int64_t lo = 0, hi = s->rank_count; /* the first rank that is not below it */
    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (s->ranks[middle] < distance) lo = middle + 1;
        else hi = middle;
    }
    return (double)(1 + s->rank_count - lo) / (double)(s->rank_count + 1);
}

/* Points between are looked at with approximate logarithms, and again exactly if they are close to the limit. */
static int between_supported(const Problem *p, int64_t row, const double *end)
{
    const Support *s = p->support;
    const int64_t K = p->channels;
    const int intervals = (int)s->intervals;
    const double *here = p->base + row * K;
    double bent[MOST][MOST_INTERVALS], own[MOST], between[MOST];
    for (int64_t k = 0; k < K; k++)
        for (int part = 0; part < intervals; part++) {
            const double t = (double)part / intervals, share = (1 - t) * here[k] + t * end[k];
            bent[k][part] = s->kind == SPHERE ? sqrt(share > 0 ? share : 0.0) : fast_log(share > s->smallest_share ? share : s->smallest_share);
        }
    for (int part = 1; part < intervals; part++) {
        const double t = (double)part / intervals;
        for (int64_t k = 0; k < K; k++) between[k] = (1 - t) * here[k] + t * end[k], own[k] = bent[k][part];
        if (s->kind == PARTIAL) fill_in(p, row, own);
        const double radius = radius_of(p, row, own) * count_factor(p, between);
        if (radius < s->limit - LOG_ERROR) continue;
        if (!(radius <= s->limit + LOG_ERROR)) return 0;
        if (!near(p, row, between)) return 0;
    }
    return 1;
}

int start_supported(const Problem *p, int64_t row) { return supported(p, row, p->base + row * p->channels); }

/* The whole way from a base that is supported itself. */
int way_supported(const Problem *p, int64_t row, const double *end)
{
    if (!supported(p, row, end) || !between_supported(p, row, end)) return 0;
    return p->support->kind != SPHERE || omega(p, row, end) >= p->support->least_omega;
}
