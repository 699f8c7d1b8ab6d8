/* The nearest of many points: a k-d tree, as scipy's, that can be asked without leaving C.

Node i has the children 2 i + 1 and 2 i + 2; a node of points lo to hi is cut in the middle of them, so
that only the axis and the place of the cut are kept. */

#include "problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NEIGHBOURS 1024

typedef struct {
    const Index *index;
    const double *at;
    int64_t k, held;
    double distance[MOST_NEIGHBOURS]; /* squared, rising */
    int64_t nearest[MOST_NEIGHBOURS];
    double aside[MOST_AXES]; /* squared distance to the node along each axis */
    int64_t count;           /* within `radius` */
    double radius;           /* squared */
} Query;

static double squared(const Query *q, int64_t place)
{
    const int64_t C = q->index->dimensions;
    const double *point = q->index->points + place * C;
    double sum = 0.0;
    for (int64_t d = 0; d < C; d++) sum += (point[d] - q->at[d]) * (point[d] - q->at[d]);
    return sum;
}

static void keep(Query *q, int64_t place, double distance)
{
    if (q->held == q->k && !(distance < q->distance[q->k - 1])) return;
    int64_t i = q->held < q->k ? q->held++ : q->k - 1;
    for (; i > 0 && q->distance[i - 1] > distance; i--) {
        q->distance[i] = q->distance[i - 1];
        q->nearest[i] = q->nearest[i - 1];
    }
    q->distance[i] = distance;
    q->nearest[i] = q->index->order[place];
}

/* Visit what may be nearer than the k-th so far, or within the radius. */
static void visit(Query *q, int64_t node, int64_t lo, int64_t hi, double distance)
{
    const double worst = q->held < q->k ? INFINITY : q->distance[q->k - 1];
    if (distance > worst && distance > q->radius) return;
    if (hi - lo <= q->index->leaf) {
        for (int64_t place = lo; place < hi; place++) {
            const double own = squared(q, place);
            q->count += own <= q->radius;
            keep(q, place, own);
        }
        return;
    }
    const int64_t middle = lo + (hi - lo) / 2, axis = q->index->split[node];
    const double beyond = q->at[axis] - q->index->border[node], before = q->aside[axis];
    const double far = distance - before + beyond * beyond;
    if (beyond < 0) {
        visit(q, 2 * node + 1, lo, middle, distance);
        q->aside[axis] = beyond * beyond;
        visit(q, 2 * node + 2, middle, hi, far);
    } else {
        visit(q, 2 * node + 2, middle, hi, distance);
        q->aside[axis] = beyond * beyond;
        visit(q, 2 * node + 1, lo, middle, far);
    }
    q->aside[axis] = before;
}

static void ask(Query *q, const Index *index, const double *at, int64_t k, double radius)
{
    q->index = index, q->at = at, q->k = k, q->held = 0, q->count = 0, q->radius = radius;
    memset(q->aside, 0, sizeof q->aside);
    visit(q, 0, 0, index->count, 0.0);
}

double furthest(const Index *index, const double *at, int64_t k)
{
    Query q;
    ask(&q, index, at, k, -1.0);
    return sqrt(q.distance[k - 1]);
}

static int64_t widest(const double *points, int64_t C, const int64_t *order, int64_t lo, int64_t hi)
{
    int64_t best = 0;
    double most = -1.0;
    for (int64_t d = 0; d < C; d++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = lo; i < hi; i++) {
            const double value = points[order[i] * C + d];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        if (high - low > most) most = high - low, best = d;
    }
    return best;
}

/* Puts the place `middle` in order along an axis: none before it is larger, none after it smaller. */
static void divide(const double *points, int64_t C, int64_t axis, int64_t *order, int64_t lo, int64_t hi, int64_t middle)
{
    while (hi - lo > 1) {
        const double pivot = points[order[lo + (hi - lo) / 2] * C + axis];
        int64_t i = lo, j = hi - 1;
        while (i <= j) {
            while (points[order[i] * C + axis] < pivot) i++;
            while (points[order[j] * C + axis] > pivot) j--;
            if (i <= j) {
                const int64_t swapped = order[i];
                order[i++] = order[j], order[j--] = swapped;
            }
        }
        if (middle <= j) hi = j + 1;
        else if (middle >= i) lo = i;
        else return;
    }
}

static void build(const double *points, int64_t C, int64_t leaf, int64_t node, int64_t lo, int64_t hi, int64_t *order,
                  int64_t *split, double *border)
{
    if (hi - lo <= leaf) return;
    const int64_t middle = lo + (hi - lo) / 2;
    split[node] = widest(points, C, order, lo, hi);
    divide(points, C, split[node], order, lo, hi, middle);
    border[node] = points[order[middle] * C + split[node]];
    build(points, C, leaf, 2 * node + 1, lo, middle, order, split, border);
    build(points, C, leaf, 2 * node + 2, middle, hi, order, split, border);
}

/* The tree of points (n, C): their order, and the cuts of all nodes. */
int realloc_build_index(const double *points, int64_t n, int64_t C, int64_t leaf, int64_t *order, int64_t *split, double *border)
{
    if (C < 1 || C > MOST_AXES || leaf < 1) return 2;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    build(points, C, leaf, 0, 0, n, order, split, border);
    return 0;
}

/* Of every point (m, C): the k nearest and the distance of the last, and how many lie within a radius. */
int realloc_neighbours(const Index *index, const double *at, int64_t m, int64_t k, const double *radius, double *distance,
                       int64_t *count, int64_t *nearest)
{
    Query q;
    if (k < 1 || k > MOST_NEIGHBOURS || k > index->count || index->dimensions > MOST_AXES) return 2;
    for (int64_t i = 0; i < m; i++) {
        ask(&q, index, at + i * index->dimensions, k, *radius * *radius);
        distance[i] = sqrt(q.distance[k - 1]);
        count[i] = q.count;
        memcpy(nearest + i * k, q.nearest, (size_t)k * sizeof(int64_t));
    }
    return 0;
}
