/* A decision problem as numbers: what decide.py hands over, in the order of `layouts.py`.

Every field has eight bytes. Letters: K channels, n rows, U units of the student, C coordinates of the
support's border, m candidates. Sums may be made in any order: numpy's differ from them by rounding only. */

#ifndef REALLOC_PROBLEM_H
#define REALLOC_PROBLEM_H

#include <stdint.h>

#define MOST 64           /* channels: MOST_CHANNELS of library.py */
#define MOST_INTERVALS 16 /* of a way: MOST_INTERVALS of library.py */
#define MOST_AXES 12      /* of an index: MOST_AXES of library.py */

/* Logged mixes that repeat (learn/teacher/repeated_mixes.py), in the order of their first share. */
typedef struct {
    int64_t count;
    const double *shares; /* (G, K) */
    const double *worth;  /* (G) beyond the surface */
    const double *rho;    /* (G) */
    double lasting;
    double same; /* L1 distance below which two mixes are one */
} Mixes;

/* One outcome: its student (learn/student/potential.py), gains nearby, and σ̂. */
typedef struct {
    double weight;       /* in the objective */
    double tolerance;    /* what a guardrail may lose; NaN: none */
    double common_error;
    double unit;         /* of a sum over members */
    int64_t units;       /* U */
    const float *directions, *centre, *inverse; /* (K, U), (K), (K): of scaled shares */
    const float *linear, *shifts, *heights;     /* (n, K), (n, U), (n, U) */
    /* near the base, by polynomials (learn/student/local_polynomial.py) */
    int64_t degree, terms;                      /* terms 0: unit by unit */
    const double *axes;                         /* (K, K − 1) from moves to the polynomials' variables */
    const float *coefficients;                  /* (n, terms) */
    const double *slopes;                       /* (K, U) from moves to each unit's variable */
    const float *bends;                         /* (n, degree, U) */
    int64_t steep_units;                        /* that no polynomial follows */
    const int64_t *steep;
    const double *covariance;                   /* (n, K, K) */
    Mixes mixes;
} Outcome;

/* A k-d tree of points (neighbours.c). */
typedef struct {
    int64_t count, dimensions, leaf;
    const double *points;  /* in the order of the tree */
    const int64_t *order;  /* which point stands there */
    const int64_t *split;  /* of every node: an axis */
    const double *border;  /* and where it is cut */
} Index;

enum { LOG_RATIO, PARTIAL, SPHERE };

/* Where the logs hold evidence (learn/support). */
typedef struct {
    int64_t kind, coordinates, intervals, patterns;
    double limit, margin, smallest_share, least_log;
    const double *axes, *shift, *by_count; /* (K, C), (C), (K) */
    const uint64_t *known;                 /* (patterns) rising */
    const uint64_t *codes;                 /* (K) */
    const uint8_t *pairs;                  /* (K, K) that were logged together */
    const double *centre, *scale, *centre_variance, *scale_variance; /* (n, C), (n) each */
    const double *log_centre;              /* (n, K), of PARTIAL */
    /* logged moves, for ω */
    Index index;
    const double *index_axes; /* (2 C, dimensions) */
    double index_unit, anchor;
    int64_t neighbours;
    const double *ranks;
    int64_t rank_count;
    double least_omega; /* of SPHERE */
} Support;

/* What the business allows (decide/constraints). */
typedef struct {
    int64_t nodes, bounded;
    double slack, grid, on_grid;   /* grid 0: none */
    const int64_t *bounded_nodes;
    const uint8_t *members;        /* (bounded, K) */
    const double *low, *high;      /* (n, nodes) */
    const uint8_t *kept;           /* (n) */
    const double *largest;         /* (n) */
    const double *anchor;          /* (n, K) */
} Limits;

typedef struct {
    int64_t channels, rows, outcomes;
    int64_t edges, most_edges, steps, first_sizes, parts, turns, greedy_steps, is_greedy, mixes;
    double beta, lambda, epsilon, max_length, threshold, radius, least_rise, unmoved;
    const int64_t *pairs;        /* (edges, 2) */
    const double *ladder;        /* (steps) sizes of transfers */
    const double *first_ladder;  /* (first_sizes) of first steps */
    const double *nearer;        /* (parts) of the way to a candidate, the first is 1 */
    const double *mix;           /* (mixes, K) logged mixes to try */
    const double *base, *start;  /* (n, K) */
    const Outcome *outcome;      /* (outcomes) */
    const Support *support;
    const Limits *limits;
} Problem;

/* gains.c */
double potential(const Problem *p, const Outcome *o, int64_t row, const double *shares);
void add_slopes(const Problem *p, const Outcome *o, int64_t row, const double *shares, double *field);
double sigma_of(const Problem *p, const Outcome *o, int64_t row, const double *from, const double *to);
int64_t find_mix(const Mixes *mixes, int64_t K, const double *shares);
double mixes_gain(const Mixes *mixes, int64_t K, const double *from, const double *to);
double objective(const Problem *p, int64_t row, const double *from, const double *to);
void gain_and_sigma(const Problem *p, int64_t row, const double *from, const double *to, double *gain, double *sigma);
int guarded(const Problem *p, int64_t row, const double *end);

/* nearby.c */
typedef struct {
    int64_t most;          /* candidates that there is room for */
    int64_t count, half;   /* candidates; those of one part of the way */
    int64_t tried;         /* E transfers, each in every size */
    int is_greedy;         /* steps from what is held; else ends around the base */
    const double *held;    /* (K) */
    int64_t *pairs;        /* (E, 2) */
    double *step, *length; /* (half) */
    double *pull;          /* (count) what part of the way to the candidate */
    double *gain, *score, *spread; /* (count) */
    double *shares;        /* (K, half) of unpulled candidates, from the base */
    double *variables;     /* (K − 1, count) and as many again, for polynomials */
    double *units;         /* (3, U) */
    double *rise;          /* (2, edges) */
    uint8_t *asked, *exact; /* (count) */
} Room;
void value_nearby(const Problem *p, int64_t row, Room *room);

/* support.c */
double omega(const Problem *p, int64_t row, const double *end);
int supported(const Problem *p, int64_t row, const double *end);
int start_supported(const Problem *p, int64_t row);
int way_supported(const Problem *p, int64_t row, const double *end);

/* limits.c */
int limits_allow(const Problem *p, int64_t row, const double *end);

/* neighbours.c */
double furthest(const Index *index, const double *at, int64_t k);

/* candidates.c */
int make_room(const Problem *p, Room *room);
void leave_room(Room *room);
void try_transfers(const Problem *p, int64_t row, const double *held, Room *room);
void try_first_transfers(const Problem *p, int64_t row, Room *room);
void try_steps(const Problem *p, int64_t row, const double *held, double gain, Room *room);
int allowed(const Problem *p, int64_t row, const double *end);
void place(const Problem *p, const Room *room, int64_t row, int64_t candidate, double *end);
int64_t next_best(const Problem *p, int64_t row, Room *room, double least);

#endif
