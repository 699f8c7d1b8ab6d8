/* Of which source a library is, and which of the libraries this processor can run. */

const char *realloc_source(void) { return SOURCE; } /* another layout must never be called */

/* 0: any; 1: x86-64-v3, with AVX2; 2: x86-64-v4, with AVX-512. */
int realloc_level(void)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return 2;
    if (__builtin_cpu_supports("x86-64-v3")) return 1;
#endif
    return 0;
}
