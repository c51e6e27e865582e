// What the machine can do: memory bandwidth by size of the working set, and peak arithmetic.
// Usage: gcc -O3 -march=native -fopenmp membw.c -o membw && OMP_NUM_THREADS=2 ./membw
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef float vec __attribute__((vector_size(64))); // one AVX-512 register, or what the machine has of it
enum { LANES = 16, CHAINS = 12, REPEATS = 7 };       // CHAINS independent sums hide an FMA's latency

static volatile float sink; // results go here, so that no loop is optimised away

static float total(const vec *v) {
    float t = 0;
    for (int i = 0; i < LANES; i++)
        t += (*v)[i];
    return t;
}

// Best GB/s of reading `bytes` in all, split over the threads, again and again until 2 GB are read.
static double read_bandwidth(vec **buffers, int threads, size_t bytes) {
    const size_t n = bytes / sizeof(vec) / threads / 4 * 4;
    const int passes = (int)((2000u << 20) / bytes) + 1;
    double best = 0;
    for (int r = 0; r < REPEATS; r++) {
        const double start = omp_get_wtime();
#pragma omp parallel num_threads(threads)
        {
            const vec *a = buffers[omp_get_thread_num()];
            vec s[4] = {{0}};
            for (int p = 0; p < passes; p++)
                for (size_t i = 0; i < n; i += 4)
                    for (int k = 0; k < 4; k++)
                        s[k] += a[i + k];
            s[0] += s[1] + s[2] + s[3];
            sink = total(&s[0]);
        }
        const double rate = (double)n * sizeof(vec) * threads * passes / (omp_get_wtime() - start) / 1e9;
        if (rate > best)
            best = rate;
    }
    return best;
}

// Best GOP/s of CHAINS times STEP per iteration, OPS operations each (a multiply-add is two).
#define PEAK(TYPE, ZERO, STEP, OPS, RESULT)                                                                            \
    double best = 0;                                                                                                   \
    for (int r = 0; r < REPEATS; r++) {                                                                                \
        const double start = omp_get_wtime();                                                                          \
        _Pragma("omp parallel num_threads(threads)") {                                                                 \
            TYPE s[CHAINS];                                                                                            \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++)                                                  \
                s[i] = ZERO;                                                                                           \
            for (long n = 0; n < 10000000; n++) {                                                                      \
                _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {                                            \
                    s[i] = STEP;                                                                                       \
                    __asm__ volatile("" : "+v"(s[i])); /* so that the compiler cannot see equal chains */              \
                }                                                                                                      \
            }                                                                                                          \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++)                                                  \
                sink = RESULT;                                                                                         \
        }                                                                                                              \
        const double rate = (double)OPS * CHAINS * 1e7 * threads / (omp_get_wtime() - start) / 1e9;                    \
        if (rate > best)                                                                                               \
            best = rate;                                                                                               \
    }                                                                                                                  \
    return best;

#ifdef __AVX512F__
static double peak_f32(int threads) {
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
    PEAK(__m512, _mm512_setzero_ps(), _mm512_fmadd_ps(s[i], x, y), 32, _mm512_reduce_add_ps(s[i]))
}
#endif
#ifdef __AVX512BF16__
static double peak_bf16(int threads) {
    const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3f803f80);
    PEAK(__m512, _mm512_setzero_ps(), _mm512_dpbf16_ps(s[i], x, x), 64, _mm512_reduce_add_ps(s[i]))
}
#endif
#ifdef __AVX512VNNI__
static double peak_int8(int threads) {
    const __m512i x = _mm512_set1_epi8(3), y = _mm512_set1_epi8(2);
    PEAK(__m512i, _mm512_setzero_si512(), _mm512_dpbusd_epi32(s[i], x, y), 128, (float)_mm512_reduce_add_epi32(s[i]))
}
#endif

int main(void) {
    static const size_t sizes[] = {1u << 20, 8u << 20, 32u << 20, 88u << 20, 512u << 20};
    const size_t largest = sizes[sizeof sizes / sizeof *sizes - 1];
    const int threads = omp_get_max_threads();
    vec *buffers[threads];
    for (int t = 0; t < threads; t++) {
        buffers[t] = aligned_alloc(4096, largest / threads + 4096 - largest / threads % 4096);
        if (!buffers[t])
            return fprintf(stderr, "membw: out of memory\n"), 1;
        memset(buffers[t], 0, largest / threads);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        printf("read %4zu MiB, %d threads: %6.1f GB/s\n", sizes[i] >> 20, threads,
               read_bandwidth(buffers, threads, sizes[i]));
#ifdef __AVX512F__
    printf("F32 multiply-add: %.0f GFLOP/s\n", peak_f32(threads));
#endif
#ifdef __AVX512BF16__
    printf("BF16 dot product: %.0f GFLOP/s\n", peak_bf16(threads));
#endif
#ifdef __AVX512VNNI__
    printf("int8 dot product: %.0f GOP/s\n", peak_int8(threads));
#endif
    for (int t = 0; t < threads; t++)
        free(buffers[t]);
    return 0;
}
