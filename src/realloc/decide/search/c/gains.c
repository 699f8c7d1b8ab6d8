/* Gains by the student itself (learn/student/potential.py), σ̂, and what repeated mixes say beyond them. */

#include "problem.h"
#include "fast_math.h"
#include <math.h>

#define BLOCK 64

/* What BLOCK units from `first` on see at scaled shares; how many there are. */
static int64_t arguments(const Outcome *o, int64_t row, int64_t K, const double *z, int64_t first, double *found)
{
    const int64_t U = o->units, count = U - first < BLOCK ? U - first : BLOCK;
    const float *shifts = o->shifts + row * U + first;
    for (int64_t j = 0; j < count; j++) found[j] = shifts[j];
    for (int64_t k = 0; k < K; k++) {
        const float *along = o->directions + k * U + first;
        for (int64_t j = 0; j < count; j++) found[j] += z[k] * along[j];
    }
    return count;
}

static void scale(const Outcome *o, int64_t K, const double *shares, double *z)
{
    for (int64_t k = 0; k < K; k++) z[k] = (shares[k] - o->centre[k]) * o->inverse[k];
}

/* s(x, p), summed over members. */
double potential(const Problem *p, const Outcome *o, int64_t row, const double *shares)
{
    const int64_t K = p->channels, U = o->units;
    double z[MOST], see[BLOCK], sum = 0.0;
    scale(o, K, shares, z);
    for (int64_t k = 0; k < K; k++) sum += o->linear[row * K + k] * z[k];
    for (int64_t first = 0; first < U; first += BLOCK) {
        const int64_t count = arguments(o, row, K, z, first, see);
        const float *heights = o->heights + row * U + first;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < count; j++) sum += heights[j] * fast_silu(see[j]);
    }
    return sum;
}

/* Adds the outcome's slopes of the objective, channel by channel; only differences count. */
void add_slopes(const Problem *p, const Outcome *o, int64_t row, const double *shares, double *field)
{
    const int64_t K = p->channels, U = o->units;
    double z[MOST], see[BLOCK], slopes[MOST];
    scale(o, K, shares, z);
    for (int64_t k = 0; k < K; k++) slopes[k] = o->linear[row * K + k];
    for (int64_t first = 0; first < U; first += BLOCK) {
        const int64_t count = arguments(o, row, K, z, first, see);
        const float *heights = o->heights + row * U + first;
        for (int64_t j = 0; j < count; j++) {
            const double gate = 1.0 / (1.0 + fast_exp(-see[j]));
            see[j] = heights[j] * (gate * (1.0 + see[j] * (1.0 - gate)));
        }
        for (int64_t k = 0; k < K; k++) {
            const float *along = o->directions + k * U + first;
            double sum = 0.0;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < count; j++) sum += see[j] * along[j];
            slopes[k] += sum;
        }
    }
    for (int64_t k = 0; k < K; k++) field[k] += o->weight * o->unit * o->inverse[k] * slopes[k];
}

/* The number of the mix at shares; −1 where none is. */
int64_t find_mix(const Mixes *mixes, int64_t K, const double *shares)
{
    int64_t lo = 0, hi = mixes->count, found = -1;
    double least = mixes->same;
    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (mixes->shares[middle * K] < shares[0] - mixes->same) lo = middle + 1;
        else hi = middle;
    }
    for (; lo < mixes->count && mixes->shares[lo * K] <= shares[0] + mixes->same; lo++) {
        double apart = 0.0;
        for (int64_t k = 0; k < K; k++) apart += fabs(mixes->shares[lo * K + k] - shares[k]);
        if (apart < least) least = apart, found = lo;
    }
    return found;
}

double mixes_gain(const Mixes *mixes, int64_t K, const double *from, const double *to)
{
    if (!mixes->count) return 0.0;
    const int64_t here = find_mix(mixes, K, from), there = find_mix(mixes, K, to);
    return (there < 0 ? 0.0 : mixes->worth[there]) - (here < 0 ? 0.0 : mixes->worth[here]);
}

double sigma_of(const Problem *p, const Outcome *o, int64_t row, const double *from, const double *to)
{
    const int64_t K = p->channels;
    const double *V = o->covariance + row * K * K;
    double variance = 0.0;
    for (int64_t k = 0; k < K; k++) {
        double along = 0.0;
        for (int64_t l = 0; l < K; l++) along += V[k * K + l] * (to[l] - from[l]);
        variance += along * (to[k] - from[k]);
    }
    const double surface = sqrt(variance > 0.0 ? variance : 0.0);
    if (!o->mixes.count) return surface;
    const int64_t start = find_mix(&o->mixes, K, from), end = find_mix(&o->mixes, K, to);
    const double here = start < 0 ? 0.0 : o->mixes.rho[start], there = end < 0 ? 0.0 : o->mixes.rho[end];
    const double smooth = (1.0 - (here < there ? here : there)) * surface;
    return sqrt(smooth * smooth + o->mixes.lasting * ((1.0 - here) + (1.0 - there)));
}

static double gain_of(const Problem *p, const Outcome *o, int64_t row, const double *from, const double *to)
{
    const double surface = o->unit * (potential(p, o, row, to) - potential(p, o, row, from));
    return surface + mixes_gain(&o->mixes, p->channels, from, to);
}

/* Ĝ and σ̂ of the objective, the common error included. */
void gain_and_sigma(const Problem *p, int64_t row, const double *from, const double *to, double *gain, double *sigma)
{
    *gain = *sigma = 0.0;
    for (const Outcome *o = p->outcome; o < p->outcome + p->outcomes; o++) {
        if (o->weight == 0.0) continue;
        const double own = gain_of(p, o, row, from, to);
        *gain += o->weight * own;
        *sigma += fabs(o->weight) * hypot(sigma_of(p, o, row, from, to), o->common_error * own);
    }
}

/* The conservative gain by the student itself. */
double objective(const Problem *p, int64_t row, const double *from, const double *to)
{
    double score = 0.0;
    for (const Outcome *o = p->outcome; o < p->outcome + p->outcomes; o++)
        if (o->weight != 0.0)
            score += o->weight * gain_of(p, o, row, from, to) - p->beta * fabs(o->weight) * sigma_of(p, o, row, from, to);
    return p->lambda == 0.0 ? score : score + p->lambda * log(omega(p, row, to) + p->epsilon);
}

/* conservative.py: whether every guardrail stays above what it may lose, against the row's own shares. */
int guarded(const Problem *p, int64_t row, const double *end)
{
    const double *start = p->start + row * p->channels;
    for (const Outcome *o = p->outcome; o < p->outcome + p->outcomes; o++) {
        if (isnan(o->tolerance)) continue;
        const double gain = gain_of(p, o, row, start, end);
        const double error = hypot(sigma_of(p, o, row, start, end), o->common_error * gain);
        if (!(gain - p->radius * error >= -o->tolerance)) return 0;
    }
    return 1;
}
