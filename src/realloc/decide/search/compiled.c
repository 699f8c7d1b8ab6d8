/* The search of ascent.py and the first steps of first_steps.py, a row at a time.

Gains are compared in single precision: candidates often differ by less than its rounding error, and
one that is rounded differently may win. So sums are made in the order in which numpy makes them, and
nothing is fused (flags in hatch_build.py); then both searches take the same steps. Letters: K channels,
D directions of moves, m candidates. Tables of candidates lie channel by channel: candidate i of
channel k is at [k * m + i]. All constants come from Python, in `Problem`. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 5           /* channels: MOST_CHANNELS of compiled.py */
#define MOST_INTERVALS 16 /* of a way: MOST_INTERVALS of compiled.py */
#define LOG_ERROR 1e-5    /* more than the error of a radius that is made with approximate_log */

/* Wider registers where the processor has them. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif
#define INLINE static inline __attribute__((always_inline))

typedef struct {
    int64_t channels, directions, degree, terms; /* K, D, of the polynomials */
    int64_t outcomes;                            /* in the objective */
    int64_t dimensions;                          /* of the border's coordinates */
    int64_t patterns, nodes, bounded, edges, steps, turns;
    int64_t intervals;           /* of a way to an end: its points between are asked about */
    double beta, max_length, threshold, limit, margin;
    double least_rise;           /* of the score, as a part of it, worth another turn */
    double slack;                /* by which limits may be passed */
    double unmoved;              /* shares that differ by less did not move */
    double smallest_share;       /* whose logarithm is taken */
    const double *ladder;        /* (steps) sizes of transfers */
    const double *nearer;        /* (parts) of the way to a candidate, the first is 1 */
    int64_t parts;
    const int64_t *pairs;        /* (edges, 2) */
    const double *weight;        /* (outcomes) */
    const float *axes;           /* (K, D) of the polynomials */
    const double *border_axes;   /* (K, dimensions) */
    const double *shift;         /* (dimensions) */
    const uint64_t *known;       /* (patterns) rising */
    const uint64_t *codes;       /* (K) what each active channel adds to a pattern */
    const int64_t *bounded_nodes; /* (bounded) */
    const uint8_t *members;      /* (bounded, K) */
    /* of the rows */
    const double *base;          /* (n, K) */
    const double *start;         /* (n, K) */
    const float *coefficients;   /* (outcomes, n, terms) */
    const double *covariance;    /* (outcomes, n, K, K) */
    const double *centre;        /* (n, dimensions) */
    const double *scale, *centre_variance, *scale_variance; /* (n) */
    const double *low, *high;    /* (n, nodes) */
    const uint8_t *kept;         /* (n) */
    const double *largest;       /* (n) */
    int64_t rows;
} Problem;

typedef struct {
    double *places;   /* (K, m) */
    double *length;   /* (m) */
    double *score;    /* (m) */
    double *gain;     /* (m) */
    double *sigma;    /* (m) */
    float *moves;     /* (D, m) */
    float *values;    /* ((D + 1), m): one table for each depth of the polynomial */
    uint8_t *asked;   /* (m) */
    uint8_t *possible, *supported;
} Room;

/* polynomials.py: Horner's rule in the last direction, with polynomials of the others. Returns the next coefficient. */
INLINE const float *evaluate1(const float *c, const float *d, int64_t degree, int64_t m, float *found)
{
    const float first = c[0];
    for (int64_t i = 0; i < m; i++) found[i] = first;
    for (int64_t power = 1; power <= degree; power++) {
        const float next = c[power];
        for (int64_t i = 0; i < m; i++) found[i] = found[i] * d[i] + next;
    }
    return c + degree + 1;
}

#define IN_FURTHER_DIRECTION(name, fewer, D)                                                                  \
    INLINE const float *name(const float *c, const float *d, int64_t degree, int64_t m, float *found)         \
    {                                                                                                         \
        const float *last = d + (D - 1) * m;                                                                  \
        float *inner = found + m;                                                                             \
        c = fewer(c, d, 0, m, found);                                                                         \
        for (int64_t power = 1; power <= degree; power++) {                                                   \
            c = fewer(c, d, power, m, inner);                                                                 \
            for (int64_t i = 0; i < m; i++) found[i] = found[i] * last[i] + inner[i];                         \
        }                                                                                                     \
        return c;                                                                                             \
    }
IN_FURTHER_DIRECTION(evaluate2, evaluate1, 2)
IN_FURTHER_DIRECTION(evaluate3, evaluate2, 3)
IN_FURTHER_DIRECTION(evaluate4, evaluate3, 4)

INLINE void evaluate(const float *c, const float *d, int64_t D, int64_t degree, int64_t m, float *found)
{
    if (D == 1) evaluate1(c, d, degree, m, found);
    else if (D == 2) evaluate2(c, d, degree, m, found);
    else if (D == 3) evaluate3(c, d, degree, m, found);
    else evaluate4(c, d, degree, m, found);
}

/* ascent.py: ends one transfer away from `held`, on the simplex and in the ball around `home`. */
INLINE void candidates(const Problem *p, const double *home, const double *held, Room *r)
{
    const int64_t K = p->channels, E = p->edges, S = p->steps, half = S * E, m = half * p->parts;
    for (int64_t k = 0; k < K; k++) {
        double *to = r->places + k * m;
        for (int64_t s = 0; s < S; s++)
            for (int64_t e = 0; e < E; e++) {
                const int64_t from = p->pairs[2 * e], into = p->pairs[2 * e + 1];
                const double step = p->ladder[s] < held[from] ? p->ladder[s] : held[from];
                const double change = (into == k) * 1.0 - (from == k);
                const double end = step * change + held[k];
                to[s * E + e] = (end > 0.0 ? end : 0.0) - home[k];
            }
    }
    for (int64_t i = 0; i < half; i++) {
        double sum = r->places[i] * r->places[i];
        for (int64_t k = 1; k < K; k++) sum += r->places[k * m + i] * r->places[k * m + i];
        const double length = sqrt(sum);
        const double pulled = p->max_length / (length > 1e-300 ? length : 1e-300);
        r->length[i] = pulled < 1.0 ? pulled : 1.0;
    }
    for (int64_t k = 0; k < K; k++) {
        double *to = r->places + k * m;
        for (int64_t part = p->parts - 1; part >= 0; part--)
            for (int64_t i = 0; i < half; i++)
                to[part * half + i] = to[i] * (p->nearer[part] * r->length[i]) + home[k];
    }
}

/* decide.py: what ending at the m places is worth, from the row's base. */
INLINE void worth(const Problem *p, int64_t row, int64_t m, Room *r)
{
    const int64_t K = p->channels, D = p->directions;
    const double *base = p->base + row * K;
    for (int64_t j = 0; j < D; j++) {
        float *d = r->moves + j * m;
        for (int64_t k = 0; k < K; k++) {
            const float axis = p->axes[k * D + j];
            const double *to = r->places + k * m;
            if (k == 0)
                for (int64_t i = 0; i < m; i++) d[i] = axis * (float)(to[i] - base[k]);
            else
                for (int64_t i = 0; i < m; i++) d[i] += axis * (float)(to[i] - base[k]);
        }
    }
    for (int64_t i = 0; i < m; i++) r->gain[i] = r->score[i] = 0.0;
    for (int64_t s = 0; s < p->outcomes; s++) {
        evaluate(p->coefficients + (s * p->rows + row) * p->terms, r->moves, D, p->degree, m, r->values);
        const float weight = (float)p->weight[s];
        for (int64_t i = 0; i < m; i++) r->gain[i] += (double)(weight * r->values[i]);
        const double *V = p->covariance + (s * p->rows + row) * K * K;
        for (int64_t i = 0; i < m; i++) r->sigma[i] = 0.0;
        for (int64_t k = 0; k < K; k++)
            for (int64_t l = 0; l <= k; l++) {
                const double v = V[k * K + l] * (1 + (l < k));
                const double *one = r->places + k * m, *other = r->places + l * m;
                for (int64_t i = 0; i < m; i++) r->sigma[i] += (one[i] - base[k]) * v * (other[i] - base[l]);
            }
        const double size = fabs(p->weight[s]);
        for (int64_t i = 0; i < m; i++) r->score[i] += size * sqrt(r->sigma[i] > 0.0 ? r->sigma[i] : 0.0);
    }
    for (int64_t i = 0; i < m; i++) r->score[i] = r->gain[i] - p->beta * r->score[i];
}

/* support/density.py: whether the radius, margin and all, is within the limit. */
static int near(const Problem *p, int64_t row, const double *shares)
{
    const int64_t K = p->channels, C = p->dimensions;
    double bent[MOST], sum = 0.0;
    for (int64_t k = 0; k < K; k++) bent[k] = log(shares[k] > p->smallest_share ? shares[k] : p->smallest_share);
    for (int64_t d = 0; d < C; d++) {
        double off = bent[0] * p->border_axes[d];
        off -= p->shift[d];
        for (int64_t k = 1; k < K; k++) off += bent[k] * p->border_axes[k * C + d];
        off -= p->centre[row * C + d];
        sum = d == 0 ? off * off : sum + off * off;
    }
    double radius = sqrt(sum) / p->scale[row];
    if (p->margin != 0.0)
        radius = radius + p->margin * sqrt(p->centre_variance[row] + radius * radius * p->scale_variance[row]);
    return radius <= p->limit;
}

static int known(const Problem *p, const double *shares)
{
    uint64_t code = 0;
    for (int64_t k = 0; k < p->channels; k++)
        if (shares[k] > 0) code += p->codes[k];
    for (int64_t i = 0; i < p->patterns; i++)
        if (p->known[i] == code) return 1;
    return 0;
}

static int inside(const Problem *p, int64_t row, const double *shares) { return known(p, shares) && near(p, row, shares); }

/* log x to 1e-12 for x > 0, without a branch, so that several are made at a time. */
INLINE double approximate_log(double x)
{
    union { double number; uint64_t bits; } from = {.number = x}, part, power;
    const uint64_t k = (from.bits - 0x3FE6A09E667F3BCDu + ((uint64_t)1024 << 52)) >> 52; /* x = m 2^(k − 1024), m from √½ to √2 */
    part.bits = from.bits - (k << 52) + ((uint64_t)1024 << 52);
    power.bits = k | 0x4330000000000000u; /* 2^52 + k */
    const double s = (part.number - 1) / (part.number + 1), z = s * s;
    double sum = 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    sum = sum * z + 1.0;
    return (power.number - (4503599627370496.0 + 1024)) * 0.69314718055994530942 + 2 * s * sum;
}

/* support.py: whether the way to an end is inside; the start is asked about before. Radii of all points
   between are made with approximate logarithms, and made again exactly if they are close to the limit. */
INLINE int way_inside(const Problem *p, int64_t row, const double *end)
{
    const int64_t K = p->channels, C = p->dimensions;
    const int intervals = (int)p->intervals;
    const double *here = p->base + row * K;
    double between[MOST], bent[MOST][MOST_INTERVALS], sum[MOST_INTERVALS];
    if (!inside(p, row, end)) return 0;
    for (int64_t k = 0; k < K; k++)
        for (int part = 0; part < intervals; part++) {
            const double s = (double)part / intervals, share = (1 - s) * here[k] + s * end[k];
            bent[k][part] = approximate_log(share > p->smallest_share ? share : p->smallest_share);
        }
    for (int part = 0; part < intervals; part++) sum[part] = 0.0;
    for (int64_t d = 0; d < C; d++)
        for (int part = 0; part < intervals; part++) {
            double off = -p->shift[d] - p->centre[row * C + d];
            for (int64_t k = 0; k < K; k++) off += bent[k][part] * p->border_axes[k * C + d];
            sum[part] += off * off;
        }
    for (int part = 1; part < intervals; part++) {
        double radius = sqrt(sum[part]) / p->scale[row];
        radius += p->margin * sqrt(p->centre_variance[row] + radius * radius * p->scale_variance[row]);
        if (radius < p->limit - LOG_ERROR) continue;
        if (!(radius <= p->limit + LOG_ERROR)) return 0;
        const double s = (double)part / intervals;
        for (int64_t k = 0; k < K; k++) between[k] = (1 - s) * here[k] + s * end[k];
        if (!near(p, row, between)) return 0;
    }
    return 1;
}

/* decision/limits.py. */
static int limits_allow(const Problem *p, int64_t row, const double *end)
{
    const int64_t K = p->channels;
    if (p->kept[row]) return 0;
    for (int64_t b = 0; b < p->bounded; b++) {
        const int64_t node = p->bounded_nodes[b];
        double held = 0.0;
        for (int64_t k = 0; k < K; k++)
            if (p->members[b * K + k]) held += end[k];
        if (!(held >= p->low[row * p->nodes + node] - p->slack && held <= p->high[row * p->nodes + node] + p->slack)) return 0;
    }
    if (isfinite(p->largest[row])) {
        double moved = 0.0;
        for (int64_t k = 0; k < K; k++) moved += fabs(end[k] - p->start[row * K + k]);
        if (moved / 2 > p->largest[row] + p->slack) return 0;
    }
    return 1;
}

static void take(const Room *r, int64_t K, int64_t m, int64_t i, double *end)
{
    for (int64_t k = 0; k < K; k++) end[k] = r->places[k * m + i];
}

/* The first of the highest scores that were not asked about yet; −1 where none is above `least`. */
static int64_t highest(const double *score, const uint8_t *asked, int64_t m, double least)
{
    int64_t best = -1;
    for (int64_t i = 0; i < m; i++)
        if (!asked[i] && score[i] > least) {
            least = score[i];
            best = i;
        }
    return best;
}

/* Of which source this is: another layout of `Problem` must never be called. */
const char *realloc_source(void) { return SOURCE; }

static int64_t room_for(const Problem *p) { return p->steps * p->edges * p->parts; }

static int make_room(const Problem *p, Room *r)
{
    const size_t m = (size_t)room_for(p), K = (size_t)p->channels, D = (size_t)p->directions;
    memset(r, 0, sizeof *r);
    r->places = malloc(K * m * sizeof(double));
    r->length = malloc(4 * m * sizeof(double));
    r->moves = malloc((2 * D + 1) * m * sizeof(float));
    r->asked = malloc(3 * m);
    if (!r->places || !r->length || !r->moves || !r->asked) return 0;
    r->score = r->length + m, r->gain = r->score + m, r->sigma = r->gain + m;
    r->values = r->moves + D * m;
    r->possible = r->asked + m, r->supported = r->possible + m;
    return 1;
}

static void leave_room(Room *r)
{
    free(r->places), free(r->length), free(r->moves), free(r->asked);
}

/* The best ends of the rows, (n, K); 1 where there is no memory. */
WIDE int realloc_ascend(const Problem *p, double *shares)
{
    const int64_t K = p->channels, m = room_for(p);
    Room room;
    if (!make_room(p, &room)) {
        leave_room(&room);
        return 1;
    }
    for (int64_t row = 0; row < p->rows; row++) {
        const double *base = p->base + row * K;
        double *end = shares + row * K, there[MOST], held = 0.0;
        memcpy(end, base, (size_t)K * sizeof(double));
        if (p->kept[row] || !inside(p, row, base)) continue;
        for (int64_t turn = 0; turn < p->turns; turn++) {
            candidates(p, base, end, &room);
            worth(p, row, m, &room);
            const double least = held + p->least_rise * (1 + fabs(held));
            int64_t best;
            memset(room.asked, 0, (size_t)m);
            while ((best = highest(room.score, room.asked, m, least)) >= 0) {
                take(&room, K, m, best, there);
                if (limits_allow(p, row, there) && way_inside(p, row, there)) break;
                room.asked[best] = 1;
            }
            if (best < 0) break;
            held = room.score[best];
            memcpy(end, there, (size_t)K * sizeof(double));
        }
        if (!(held > p->threshold)) memcpy(end, base, (size_t)K * sizeof(double));
    }
    leave_room(&room);
    return 0;
}

enum { SOME_GAIN = 1, SOME_GOOD = 2, SOME_FREE = 4, POSSIBLE = 8, SUPPORTED = 16, START_SUPPORTED = 32, EXISTS = 64 };

/* first_steps.py: the end of the best first step of every row, and flags about it and about all of them;
   1 where there is no memory. */
WIDE int realloc_first_steps(const Problem *p, double *ends, uint8_t *flags)
{
    const int64_t K = p->channels, m = room_for(p);
    Room room;
    if (!make_room(p, &room)) {
        leave_room(&room);
        return 1;
    }
    for (int64_t row = 0; row < p->rows; row++) {
        const double *base = p->base + row * K;
        double there[MOST];
        uint8_t state = 0;
        candidates(p, base, base, &room);
        worth(p, row, m, &room);
        const int start_inside = inside(p, row, base);
        int64_t best = 0, free_step = -1, blocked_once = -1;
        for (int64_t i = 0; i < m; i++) {
            double moved = 0.0;
            take(&room, K, m, i, there);
            for (int64_t k = 0; k < K; k++) moved += fabs(there[k] - base[k]);
            if (moved / 2 <= p->unmoved) room.score[i] = room.gain[i] = -INFINITY; /* the source was empty */
            room.possible[i] = (uint8_t)limits_allow(p, row, there);
            room.supported[i] = 0;
            if (room.gain[i] > 0) state |= SOME_GAIN;
            if (room.score[i] > p->threshold) state |= SOME_GOOD;
            if (room.score[i] > room.score[best]) best = i;
        }
        for (int64_t i = 0; i < m; i++) room.asked[i] = !room.possible[i];
        if (start_inside)
            while ((free_step = highest(room.score, room.asked, m, p->threshold)) >= 0) {
                take(&room, K, m, free_step, there);
                if (way_inside(p, row, there)) break;
                room.asked[free_step] = 1;
            }
        if (free_step >= 0) {
            room.supported[free_step] = 1;
            best = free_step;
            state |= SOME_FREE;
        } else {
            for (int64_t i = 0; start_inside && i < m; i++) {
                take(&room, K, m, i, there);
                room.supported[i] = (uint8_t)way_inside(p, row, there);
            }
            for (int64_t i = 0; i < m; i++) /* those that one rule blocked_once forbids */
                if (room.score[i] > p->threshold && room.supported[i] != room.possible[i])
                    if (blocked_once < 0 || room.score[i] > room.score[blocked_once]) blocked_once = i;
            if (blocked_once >= 0) best = blocked_once;
        }
        if (room.possible[best]) state |= POSSIBLE;
        if (room.supported[best]) state |= SUPPORTED;
        if (start_inside && way_inside(p, row, base)) state |= START_SUPPORTED;
        if (isfinite(room.gain[best])) state |= EXISTS;
        take(&room, K, m, best, ends + row * K);
        flags[row] = state;
    }
    leave_room(&room);
    return 0;
}
