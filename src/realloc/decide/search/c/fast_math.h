/* Exponentials and logarithms without branches, so that compilers make several at a time. */

#ifndef REALLOC_FAST_MATH_H
#define REALLOC_FAST_MATH_H

#include <stdint.h>

typedef union {
    double number;
    uint64_t bits;
} Bits;

/* e^x to 1e-15, for x from −700 to 700 (beyond, as there). */
static inline double fast_exp(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 · 2^52: adding it rounds to a whole number */
    x = x < -700.0 ? -700.0 : x;
    x = x > 700.0 ? 700.0 : x;
    Bits whole = {.number = x * 1.44269504088896340736 + shift};
    const double k = whole.number - shift;
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double sum = 1.0 / 6227020800;
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    Bits scale = {.bits = (whole.bits + 1023) << 52};
    return sum * scale.number;
}

/* x σ(x). */
static inline double fast_silu(double x) { return x / (1.0 + fast_exp(-x)); }

/* log x to 1e-12 for x > 0. */
static inline double fast_log(double x)
{
    Bits from = {.number = x}, part, power;
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

#endif
