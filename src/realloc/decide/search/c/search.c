/* decide.py: search and try mixes, a row at a time; then what explains the decision. */

#include "problem.h"
#include <math.h>
#include <string.h>

static double length_of(const double *from, const double *to, int64_t K)
{
    double sum = 0.0;
    for (int64_t k = 0; k < K; k++) sum += (to[k] - from[k]) * (to[k] - from[k]);
    return sqrt(sum);
}

/* ascent.py: the best allowed end, turn by turn; returns what it is worth. */
static double ascend(const Problem *p, int64_t row, Room *room, double *end)
{
    double held = 0.0, there[MOST];
    for (int64_t turn = 0; turn < p->turns; turn++) {
        try_transfers(p, row, end, room);
        const double least = held + p->least_rise * (1 + fabs(held));
        int64_t best;
        while ((best = next_best(p, row, room, least)) >= 0) {
            place(p, room, row, best, there);
            if (allowed(p, row, there)) break;
            room->asked[best] = 1;
        }
        if (best < 0) break;
        held = room->score[best];
        memcpy(end, there, sizeof(double) * (size_t)p->channels);
    }
    return held;
}

/* greedy.py: the best allowed step from where the last one ended. */
static double step_on(const Problem *p, int64_t row, Room *room, double *end)
{
    const int64_t K = p->channels;
    double promised = 0.0, length = 0.0, gain = 0.0, there[MOST];
    for (int64_t turn = 0; turn < p->greedy_steps; turn++) {
        try_steps(p, row, end, gain, room);
        for (int64_t i = 0; i < room->count; i++) {
            const int64_t from = room->pairs[2 * (i % room->tried)];
            const int possible = end[from] - room->step[i] >= -p->limits->slack
                                 && length + sqrt(2.0) * room->step[i] <= p->max_length + p->limits->slack;
            if (!possible) room->score[i] = -INFINITY;
        }
        int64_t best;
        while ((best = next_best(p, row, room, p->threshold)) >= 0) {
            place(p, room, row, best, there);
            if (allowed(p, row, there)) break;
            room->asked[best] = 1;
        }
        if (best < 0) break;
        promised += room->score[best];
        gain += room->gain[best];
        length += sqrt(2.0) * room->step[best];
        memcpy(end, there, sizeof(double) * (size_t)K);
    }
    return promised;
}

/* decide.py: an allowed repeated mix, where it is worth more. */
static void try_mixes(const Problem *p, int64_t row, double *end)
{
    const int64_t K = p->channels;
    const double *base = p->base + row * K;
    double moved = 0.0;
    for (int64_t k = 0; k < K; k++) moved += fabs(end[k] - base[k]);
    double most = moved / 2 > p->unmoved ? objective(p, row, base, end) : p->threshold;
    for (int64_t g = 0; g < p->mixes; g++) {
        const double *mix = p->mix + g * K;
        if (length_of(base, mix, K) > p->max_length + p->limits->slack || !limits_allow(p, row, mix) || !supported(p, row, mix)) continue;
        const double score = objective(p, row, base, mix);
        if (!(score > most) || !allowed(p, row, mix)) continue;
        most = score;
        memcpy(end, mix, sizeof(double) * (size_t)K);
    }
}

/* Sizes that the code has room for; anything else is refused before a row is touched. */
static int is_sound(const Problem *p)
{
    const Support *s = p->support;
    if (p->channels < 2 || p->channels > MOST || p->edges < 1 || p->most_edges < 1 || p->rows < 0 || p->parts < 1) return 0;
    if (p->steps < 1 || p->first_sizes < 1 || p->outcomes < 1) return 0;
    if (s->coordinates < 1 || s->coordinates > p->channels || s->intervals < 1 || s->intervals > MOST_INTERVALS) return 0;
    if (s->kind < LOG_RATIO || s->kind > SPHERE || s->index.dimensions > MOST_AXES) return 0;
    for (int64_t o = 0; o < p->outcomes; o++)
        if (p->outcome[o].units < 0 || (p->outcome[o].weight != 0.0 && p->outcome[o].degree < 2)) return 0;
    return p->limits->nodes >= p->channels;
}

/* The best ends of all rows, (n, K); 1 where there is no memory, 2 where sizes are wrong. */
int realloc_search(const Problem *p, double *shares)
{
    const int64_t K = p->channels;
    Room room;
    if (!is_sound(p)) return 2;
    if (!make_room(p, &room)) {
        leave_room(&room);
        return 1;
    }
    for (int64_t row = 0; row < p->rows; row++) {
        const double *base = p->base + row * K;
        double *end = shares + row * K;
        memcpy(end, base, sizeof(double) * (size_t)K);
        if (p->limits->kept[row] || !start_supported(p, row)) continue;
        const double worth = p->is_greedy ? step_on(p, row, &room, end) : ascend(p, row, &room, end);
        if (!(worth > p->threshold) || !(objective(p, row, base, end) > p->threshold)) memcpy(end, base, sizeof(double) * (size_t)K);
        try_mixes(p, row, end);
    }
    leave_room(&room);
    return 0;
}

enum { SOME_GAIN = 1, SOME_GOOD = 2, SOME_FREE = 4, POSSIBLE = 8, SUPPORTED = 16, SAFE = 32, START_SUPPORTED = 64, EXISTS = 128 };

/* first_steps.py: the best first step that nothing forbids; else the best that one rule alone forbids; else −1. */
static int64_t unforbidden(const Problem *p, int64_t row, Room *room, int start_inside, int *state)
{
    int64_t best, blocked_once = -1;
    double there[MOST];
    while ((best = next_best(p, row, room, p->threshold)) >= 0) {
        *state |= SOME_GOOD;
        place(p, room, row, best, there);
        int forbidden = !limits_allow(p, row, there);
        forbidden += !(start_inside && way_supported(p, row, there));
        if (forbidden < 2) forbidden += !guarded(p, row, there);
        if (!forbidden) {
            *state |= SOME_FREE;
            return best;
        }
        if (forbidden == 1 && blocked_once < 0) blocked_once = best;
        room->asked[best] = 1;
    }
    return blocked_once;
}

static uint8_t explain_row(const Problem *p, int64_t row, Room *room, double *end)
{
    const int64_t K = p->channels;
    const double *base = p->base + row * K;
    const int start_inside = start_supported(p, row);
    int state = 0;
    try_first_transfers(p, row, room);
    for (int64_t i = 0; i < room->count; i++) {
        double moved = 0.0;
        place(p, room, row, i, end);
        for (int64_t k = 0; k < K; k++) moved += fabs(end[k] - base[k]);
        if (moved / 2 <= p->unmoved) room->score[i] = room->gain[i] = -INFINITY; /* the source was empty */
        if (room->gain[i] > 0) state |= SOME_GAIN;
    }
    int64_t best = unforbidden(p, row, room, start_inside, &state);
    if (best < 0) {
        memset(room->asked, 0, (size_t)room->count);
        best = next_best(p, row, room, -INFINITY);
        best = best < 0 ? 0 : best;
    }
    place(p, room, row, best, end);
    if (limits_allow(p, row, end)) state |= POSSIBLE;
    if (start_inside && way_supported(p, row, end)) state |= SUPPORTED;
    if (guarded(p, row, end)) state |= SAFE;
    if (start_inside && way_supported(p, row, base)) state |= START_SUPPORTED;
    if (isfinite(room->gain[best])) state |= EXISTS;
    return (uint8_t)state;
}

/* Of every row: Ĝ and σ̂ of the shares that were chosen and of the best first step, (n, 4), where that step
   ends, and flags about it and about all first steps. 1 where there is no memory, 2 where sizes are wrong. */
int realloc_explain(const Problem *p, const double *shares, double *numbers, double *ends, uint8_t *flags)
{
    const int64_t K = p->channels;
    Room room;
    if (!is_sound(p)) return 2;
    if (!make_room(p, &room)) {
        leave_room(&room);
        return 1;
    }
    for (int64_t row = 0; row < p->rows; row++) {
        double *own = numbers + 4 * row;
        flags[row] = explain_row(p, row, &room, ends + row * K);
        gain_and_sigma(p, row, p->start + row * K, shares + row * K, own, own + 1);
        gain_and_sigma(p, row, p->base + row * K, ends + row * K, own + 2, own + 3);
    }
    leave_room(&room);
    return 0;
}
