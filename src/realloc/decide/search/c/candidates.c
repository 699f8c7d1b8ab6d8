/* ascent.py: ends one transfer away from what is held, on the simplex and in the ball around the base. */

#include "problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t larger(int64_t one, int64_t other) { return one > other ? one : other; }

int make_room(const Problem *p, Room *room)
{
    const int64_t tried = p->is_greedy || p->edges < p->most_edges ? p->edges : p->most_edges;
    const int64_t half = larger(larger(p->steps, p->first_sizes), 1) * tried, K = p->channels;
    const size_t m = (size_t)(half * p->parts);
    int64_t units = 1;
    for (int64_t o = 0; o < p->outcomes; o++) units = larger(units, p->outcome[o].units);
    memset(room, 0, sizeof *room);
    room->most = (int64_t)m;
    room->pairs = malloc((size_t)(2 * p->edges) * sizeof(int64_t));
    room->step = malloc((size_t)(2 * half) * sizeof(double));
    room->pull = malloc(4 * m * sizeof(double));
    room->shares = malloc((size_t)(K * half) * sizeof(double));
    room->variables = malloc((size_t)(2 * K + 1) * m * sizeof(double));
    room->units = malloc((size_t)(3 * units) * sizeof(double));
    room->rise = malloc((size_t)(2 * p->edges) * sizeof(double));
    room->asked = malloc(2 * m);
    if (!room->pairs || !room->step || !room->pull || !room->shares || !room->variables || !room->units || !room->rise || !room->asked)
        return 0;
    room->length = room->step + half;
    room->gain = room->pull + m, room->score = room->gain + m, room->spread = room->score + m;
    room->exact = room->asked + m;
    return 1;
}

void leave_room(Room *room)
{
    free(room->pairs), free(room->step), free(room->pull), free(room->shares);
    free(room->variables), free(room->units), free(room->rise), free(room->asked);
}

/* The value at a place of values in falling order. */
static double select_value(double *values, int64_t n, int64_t at)
{
    int64_t lo = 0, hi = n;
    while (hi - lo > 1) {
        const double pivot = values[lo + (hi - lo) / 2];
        int64_t i = lo, j = hi - 1;
        while (i <= j) {
            while (values[i] > pivot) i++;
            while (values[j] < pivot) j--;
            if (i <= j) {
                const double swapped = values[i];
                values[i++] = values[j], values[j--] = swapped;
            }
        }
        if (at <= j) hi = j + 1;
        else if (at >= i) lo = i;
        else break;
    }
    return values[at];
}

/* All transfers, or the steepest: those along which the channel that gets gains most over the one that gives. */
static void choose_edges(const Problem *p, int64_t row, const double *held, int bounded, Room *room)
{
    const int64_t E = p->edges, nodes = p->limits->nodes;
    if (E <= p->most_edges || room->is_greedy) {
        memcpy(room->pairs, p->pairs, (size_t)(2 * E) * sizeof(int64_t));
        room->tried = E;
        return;
    }
    double field[MOST], *rise = room->rise, *sorted = rise + E;
    memset(field, 0, sizeof field);
    for (const Outcome *o = p->outcome; o < p->outcome + p->outcomes; o++)
        if (o->weight != 0.0) add_slopes(p, o, row, held, field);
    for (int64_t e = 0; e < E; e++) {
        const int64_t from = p->pairs[2 * e], into = p->pairs[2 * e + 1];
        int possible = held[from] > 0;
        if (bounded) possible &= p->limits->high[row * nodes + into] > held[into] && p->limits->low[row * nodes + from] < held[from];
        rise[e] = sorted[e] = possible ? field[into] - field[from] : -INFINITY;
    }
    const double least = select_value(sorted, E, p->most_edges - 1);
    int64_t above = 0, tried = 0;
    for (int64_t e = 0; e < E; e++) above += rise[e] > least;
    int64_t equal = p->most_edges - above; /* of those, the first ones */
    for (int64_t e = 0; e < E && tried < p->most_edges; e++) {
        if (!(rise[e] > least) && !(rise[e] == least && equal-- > 0)) continue;
        room->pairs[2 * tried] = p->pairs[2 * e], room->pairs[2 * tried + 1] = p->pairs[2 * e + 1];
        tried++;
    }
    room->tried = tried;
}

/* Where candidates lie, for transfers of the ladder's sizes along the chosen edges. */
static void lay_out(const Problem *p, int64_t row, const double *ladder, int64_t sizes, Room *room)
{
    const int64_t K = p->channels, E = room->tried, half = sizes * E;
    const double *held = room->held, *base = p->base + row * K;
    const int64_t parts = room->is_greedy ? 1 : p->parts;
    room->half = half;
    room->count = half * parts;
    for (int64_t i = 0; i < half; i++) {
        const double size = ladder[i / E], holds = held[room->pairs[2 * (i % E)]];
        room->step[i] = room->is_greedy || size < holds ? size : holds;
        room->length[i] = 0.0;
    }
    for (int64_t k = 0; k < K; k++) {
        double *off = room->shares + k * half;
        for (int64_t s = 0; s < sizes; s++)
            for (int64_t e = 0; e < E; e++) {
                const int64_t i = s * E + e, from = room->pairs[2 * e], into = room->pairs[2 * e + 1];
                const double end = room->step[i] * ((into == k) * 1.0 - (from == k)) + held[k];
                off[i] = (end > 0.0 ? end : 0.0) - base[k];
            }
        for (int64_t i = 0; i < half; i++) room->length[i] += off[i] * off[i];
    }
    for (int64_t i = 0; i < half; i++) {
        const double length = sqrt(room->length[i]), reach = p->max_length / (length > 1e-300 ? length : 1e-300);
        const double pulled = room->is_greedy || reach > 1.0 ? 1.0 : reach;
        for (int64_t part = 0; part < parts; part++) room->pull[part * half + i] = p->nearer[part] * pulled;
    }
}

void place(const Problem *p, const Room *room, int64_t row, int64_t candidate, double *end)
{
    const int64_t K = p->channels, i = candidate % room->half, e = i % room->tried;
    const double *base = p->base + row * K;
    for (int64_t k = 0; k < K; k++) {
        const double change = (room->pairs[2 * e + 1] == k) * 1.0 - (room->pairs[2 * e] == k);
        const double there = room->step[i] * change + room->held[k];
        if (room->is_greedy) end[k] = there > p->limits->slack ? there : 0.0;
        else end[k] = ((there > 0.0 ? there : 0.0) - base[k]) * room->pull[candidate] + base[k];
    }
}

/* Scores, with the most that ω may be where it counts: `next_best` asks for it where that matters. */
static void score(const Problem *p, Room *room)
{
    const double most = p->lambda == 0.0 ? 0.0 : p->lambda * log(1.0 + p->epsilon);
    for (int64_t i = 0; i < room->count; i++) room->score[i] = room->gain[i] - p->beta * room->spread[i] + most;
    memset(room->asked, 0, (size_t)room->count);
    memset(room->exact, p->lambda == 0.0, (size_t)room->count);
}

/* Ends around the base, by transfers from what is held. */
void try_transfers(const Problem *p, int64_t row, const double *held, Room *room)
{
    room->held = held;
    room->is_greedy = 0;
    choose_edges(p, row, held, 1, room);
    lay_out(p, row, p->ladder, p->steps, room);
    value_nearby(p, row, room);
    score(p, room);
}

/* First steps from the base; those that a rule forbids are tried, too. */
void try_first_transfers(const Problem *p, int64_t row, Room *room)
{
    room->held = p->base + row * p->channels;
    room->is_greedy = 0;
    choose_edges(p, row, room->held, 0, room);
    lay_out(p, row, p->first_ladder, p->first_sizes, room);
    value_nearby(p, row, room);
    score(p, room);
}

/* Steps from what is held, for the greedy trace: their gains count from there, where the base's is `gain`. */
void try_steps(const Problem *p, int64_t row, const double *held, double gain, Room *room)
{
    room->held = held;
    room->is_greedy = 1;
    choose_edges(p, row, held, 0, room);
    lay_out(p, row, p->ladder, p->steps, room);
    value_nearby(p, row, room);
    for (int64_t i = 0; i < room->count; i++) room->gain[i] -= gain;
    score(p, room);
}

/* The best candidate that was not asked about yet, the first of equals; −1 where none is above `least`. */
int64_t next_best(const Problem *p, int64_t row, Room *room, double least)
{
    for (;;) {
        int64_t best = -1;
        double most = least;
        for (int64_t i = 0; i < room->count; i++)
            if (!room->asked[i] && room->score[i] > most) most = room->score[i], best = i;
        if (best < 0 || room->exact[best]) return best;
        double end[MOST];
        place(p, room, row, best, end);
        room->score[best] = room->gain[best] - p->beta * room->spread[best] + p->lambda * log(omega(p, row, end) + p->epsilon);
        room->exact[best] = 1;
    }
}

int allowed(const Problem *p, int64_t row, const double *end)
{
    return limits_allow(p, row, end) && way_supported(p, row, end) && guarded(p, row, end);
}
