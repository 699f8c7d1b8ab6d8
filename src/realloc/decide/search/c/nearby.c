/* Candidates valued by polynomials (learn/student/local_polynomial.py): of the move, where those have few
terms; else of what each unit sees, unit by unit. Both are 0 at the base. */

#include "problem.h"
#include "fast_math.h"
#include <math.h>
#include <string.h>

/* Horner's rule in the last variable, with polynomials of the others. Returns the next coefficient. */
static const float *evaluate(const float *c, const double *d, int64_t D, int64_t degree, int64_t m, double *found)
{
    const double *last = d + (D - 1) * m;
    double *inner = found + m;
    if (D == 1) {
        for (int64_t i = 0; i < m; i++) found[i] = c[0];
        for (int64_t power = 1; power <= degree; power++) {
            const double next = c[power];
            for (int64_t i = 0; i < m; i++) found[i] = found[i] * last[i] + next;
        }
        return c + degree + 1;
    }
    c = evaluate(c, d, D - 1, 0, m, found);
    for (int64_t power = 1; power <= degree; power++) {
        c = evaluate(c, d, D - 1, power, m, inner);
        for (int64_t i = 0; i < m; i++) found[i] = found[i] * last[i] + inner[i];
    }
    return c;
}

static void add_terms(const Problem *p, const Outcome *o, int64_t row, Room *room)
{
    const int64_t K = p->channels, D = K - 1, m = room->count, half = room->half;
    double *d = room->variables, *value = d + D * m;
    memset(d, 0, (size_t)(D * m) * sizeof(double));
    for (int64_t k = 0; k < K; k++)
        for (int64_t v = 0; v < D; v++) {
            const double axis = o->axes[k * D + v];
            if (axis == 0.0) continue;
            for (int64_t first = 0; first < m; first += half)
                for (int64_t i = 0; i < half; i++) d[v * m + first + i] += axis * room->shares[k * half + i];
        }
    for (int64_t v = 0; v < D; v++)
        for (int64_t i = 0; i < m; i++) d[v * m + i] *= room->pull[i];
    evaluate(o->coefficients + row * o->terms, d, D, o->degree, m, value);
    for (int64_t i = 0; i < m; i++) room->gain[i] += o->weight * value[i];
}

/* Σ_j of polynomials without a constant, at variables `pull` · t (U). */
static inline __attribute__((always_inline)) double sum_units(const float *bends, const double *t, double pull, int64_t U,
                                                              const int64_t degree)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < U; j++) {
        const double at = pull * t[j];
        double value = bends[(degree - 1) * U + j];
#pragma GCC unroll 32
        for (int64_t power = degree - 2; power >= 0; power--) value = value * at + bends[power * U + j];
        sum += value * at;
    }
    return sum;
}

static double sum_of_degree(const float *bends, const double *t, double pull, int64_t U, int64_t degree)
{
    switch (degree) { /* each of its own: the compiler then makes several units at a time */
    case 6: return sum_units(bends, t, pull, U, 6);
    case 8: return sum_units(bends, t, pull, U, 8);
    case 10: return sum_units(bends, t, pull, U, 10);
    case 12: return sum_units(bends, t, pull, U, 12);
    case 14: return sum_units(bends, t, pull, U, 14);
    default: return sum_units(bends, t, pull, U, degree);
    }
}

static void add_units(const Problem *p, const Outcome *o, int64_t row, Room *room)
{
    const int64_t K = p->channels, U = o->units, half = room->half, E = room->tried;
    const double *base = p->base + row * K;
    const float *bends = o->bends + row * o->degree * U;
    double *held = room->units, *apart = held + U, *t = apart + U;
    memset(held, 0, (size_t)U * sizeof(double));
    for (int64_t k = 0; k < K; k++) {
        const double off = room->held[k] - base[k];
        for (int64_t j = 0; j < U; j++) held[j] += off * o->slopes[k * U + j];
    }
    for (int64_t e = 0; e < E; e++) {
        const double *from = o->slopes + room->pairs[2 * e] * U, *into = o->slopes + room->pairs[2 * e + 1] * U;
        for (int64_t j = 0; j < U; j++) apart[j] = into[j] - from[j];
        for (int64_t i = e; i < half; i += E) {
            for (int64_t j = 0; j < U; j++) t[j] = held[j] + room->step[i] * apart[j];
            for (int64_t at = i; at < room->count; at += half)
                room->gain[at] += o->weight * sum_of_degree(bends, t, room->pull[at], U, o->degree);
        }
    }
    for (int64_t k = 0; k < K; k++) {
        const double slope = o->weight * o->unit * o->linear[row * K + k] * o->inverse[k];
        for (int64_t at = 0; at < room->count; at++) room->gain[at] += slope * room->pull[at] * room->shares[k * half + at % half];
    }
}

/* Units that bend too fast for a polynomial, as they are. */
static void add_steep(const Problem *p, const Outcome *o, int64_t row, Room *room)
{
    const int64_t K = p->channels, U = o->units, half = room->half;
    const double *base = p->base + row * K;
    double *along = room->variables; /* (half): what the unit sees along the way */
    for (int64_t place = 0; place < o->steep_units; place++) {
        const int64_t j = o->steep[place];
        double at_base = o->shifts[row * U + j];
        memset(along, 0, (size_t)half * sizeof(double));
        for (int64_t k = 0; k < K; k++) {
            const double slope = (double)o->directions[k * U + j] * o->inverse[k];
            at_base += (base[k] - o->centre[k]) * slope;
            for (int64_t i = 0; i < half; i++) along[i] += room->shares[k * half + i] * slope;
        }
        const double height = o->weight * o->unit * o->heights[row * U + j], value = fast_silu(at_base);
        for (int64_t first = 0; first < room->count; first += half)
            for (int64_t i = 0; i < half; i++)
                room->gain[first + i] += height * (fast_silu(at_base + room->pull[first + i] * along[i]) - value);
    }
}

/* σ̂ from the base, or from what is held: of pull · (held + step · (e_l − e_k)) by products with V, made once. */
static void add_spread(const Problem *p, const Outcome *o, int64_t row, Room *room)
{
    const int64_t K = p->channels, half = room->half;
    const double *V = o->covariance + row * K * K, *base = p->base + row * K;
    double off[MOST], along[MOST], own = 0.0;
    for (int64_t k = 0; k < K; k++) off[k] = room->is_greedy ? 0.0 : room->held[k] - base[k];
    for (int64_t k = 0; k < K; k++) {
        along[k] = 0.0;
        for (int64_t l = 0; l < K; l++) along[k] += V[k * K + l] * off[l];
        own += along[k] * off[k];
    }
    for (int64_t i = 0; i < half; i++) {
        const int64_t e = i % room->tried, k = room->pairs[2 * e], l = room->pairs[2 * e + 1];
        const double step = room->step[i], edge = V[k * K + k] + V[l * K + l] - V[k * K + l] - V[l * K + k];
        const double variance = own + 2.0 * step * (along[l] - along[k]) + step * step * edge;
        const double surface = fabs(o->weight) * sqrt(variance > 0.0 ? variance : 0.0);
        for (int64_t at = i; at < room->count; at += half) room->spread[at] += surface * room->pull[at];
    }
}

/* Where mixes repeat, gains and σ̂ of candidates differ by the mixes that they leave and reach. */
static void add_mixes(const Problem *p, const Outcome *o, int64_t row, Room *room)
{
    const int64_t K = p->channels;
    const double *base = p->base + row * K, *from = room->is_greedy ? room->held : base;
    const int64_t start = find_mix(&o->mixes, K, base);
    double end[MOST];
    for (int64_t i = 0; i < room->count; i++) {
        place(p, room, row, i, end);
        const int64_t there = find_mix(&o->mixes, K, end);
        const double leaves = start < 0 ? 0.0 : o->mixes.worth[start], reaches = there < 0 ? 0.0 : o->mixes.worth[there];
        room->gain[i] += o->weight * (reaches - leaves);
        room->spread[i] += fabs(o->weight) * sigma_of(p, o, row, from, end);
    }
}

/* Ĝ and σ̂ of the objective for all candidates, from the base. */
void value_nearby(const Problem *p, int64_t row, Room *room)
{
    memset(room->gain, 0, (size_t)room->count * sizeof(double));
    memset(room->spread, 0, (size_t)room->count * sizeof(double));
    for (const Outcome *o = p->outcome; o < p->outcome + p->outcomes; o++) {
        if (o->weight == 0.0) continue;
        if (o->terms) add_terms(p, o, row, room);
        else add_units(p, o, row, room);
        if (o->steep_units) add_steep(p, o, row, room);
        if (o->mixes.count) add_mixes(p, o, row, room);
        else add_spread(p, o, row, room);
    }
}
