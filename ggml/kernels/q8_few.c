// The form of Q8_0 products for a few columns; see q8.h.
#include "q8.h"

#include "crew.h"
#include "kernels.h"

#if defined(__x86_64__)

#include "q8_vnni.h"

enum { PANEL = LQK_Q8_PANEL };

void lqk_q8_round(void *tensor, int thread, int threads, void *call) {
	const struct lqk_q8_round *c = call;
	const int64_t blocks = c->in / BLOCK;
	(void)tensor;
	for (int64_t i = thread; i < c->columns * blocks; i += threads) {
		const int64_t n = i / blocks, b = i % blocks;
		int8_t *q = c->result + n * lqk_q8_column(c->in);
		float *scale = (float *)(q + c->in);
		round_block(q + b * BLOCK, scale + b, (int32_t *)(scale + blocks) + 2 * b, c->x + n * c->in + b * BLOCK);
	}
}

// Two blocks side by side.
TARGET static inline __m512i two(const void *a, const void *b) {
	const __m256i low = _mm256_loadu_si256(a);
	return _mm512_inserti64x4(_mm512_castsi256_si512(low), _mm256_loadu_si256(b), 1);
}

// Products of unsigned with signed bytes, summed in fours.
TARGET static inline __m512i dot(__m512i weight, __m512i x) {
	const __m512i flip = _mm512_set1_epi8((char)0x80);
	return _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_xor_si512(weight, flip), x);
}

// The next two add up neighbours: lanes of the results are sums of two lanes of a, then b, within 128 bits.
TARGET static inline __m512i pairs(__m512i a, __m512i b) {
	return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

TARGET static inline __m512i fours(__m512i a, __m512i b) {
	return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

// quads leaves in each 128 bits of *first the sums over the same 128 bits of s[0] to s[3], of *second of s[4] to s[7].
TARGET static inline void quads(const __m512i *s, __m512i *first, __m512i *second) {
	*first = fours(pairs(s[0], s[1]), pairs(s[2], s[3]));
	*second = fours(pairs(s[4], s[5]), pairs(s[6], s[7]));
}

// Scales of eight rows, `row` bytes apart.
TARGET static inline __m128i scales(const uint8_t *a, const uint8_t *b, int64_t row) {
	__m128i s = _mm_setzero_si128();
#define SCALE(p, r, lane)                                                                                              \
	{                                                                                                                  \
		uint16_t h;                                                                                                    \
		memcpy(&h, (p) + (r) * row, 2);                                                                                \
		s = _mm_insert_epi16(s, h, lane);                                                                              \
	}
	SCALE(a, 0, 0) SCALE(a, 1, 1) SCALE(a, 2, 2) SCALE(a, 3, 3)
	SCALE(b, 0, 4) SCALE(b, 1, 5) SCALE(b, 2, 6) SCALE(b, 3, 7)
#undef SCALE
	return s;
}

// sixteen rows, a block of all of them at a time: for rows that fit into the first cache together, and the next ones too.
TARGET static void sixteen(float *y, const uint8_t *w, int64_t blocks, struct column x) {
	const int64_t row = blocks * BYTES;
	const __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
	__m512 sum = _mm512_setzero_ps();
	for (int64_t b = 0; b < blocks; b++) {
		const uint8_t *p = w + b * BYTES, *p8 = p + 8 * row;
		AHEAD(w + PANEL * row + b * PANEL * BYTES, PANEL * BYTES);
		const __m512i v = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(x.q + b * BLOCK)));
		__m512i s[8], first, second;
		for (int r = 0; r < 8; r++) s[r] = dot(two(p + r * row + 2, p8 + r * row + 2), v);
		quads(s, &first, &second);
		// Rows 0-3, 8-11, 4-7, 12-15 in turn.
		__m512i t = _mm512_add_epi32(_mm512_shuffle_i64x2(first, second, _MM_SHUFFLE(2, 0, 2, 0)),
		                             _mm512_shuffle_i64x2(first, second, _MM_SHUFFLE(3, 1, 3, 1)));
		t = _mm512_add_epi32(t, _mm512_set1_epi32(correction(x, b)));
		const __m512 d = _mm512_cvtph_ps(_mm256_set_m128i(scales(p + 4 * row, p8 + 4 * row, row), scales(p, p8, row)));
		sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(t), _mm512_mul_ps(_mm512_set1_ps(x.scale[b]), d), sum);
	}
	_mm512_storeu_ps(y, _mm512_permutexvar_ps(place, sum));
}

// In each lane the scales of two successive blocks.
TARGET static inline __m512 both(float low, float high) {
	return _mm512_mask_mov_ps(_mm512_set1_ps(low), 0xff00, _mm512_set1_ps(high));
}

// eight rows, two blocks of all of them at a time.
TARGET static void eight(float *y, const uint8_t *w, int64_t blocks, struct column x) {
	const int64_t row = blocks * BYTES;
	const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
	__m256 sum = _mm256_setzero_ps();
	for (int64_t b = 0; b < blocks; b += 2) {
		const uint8_t *p = w + b * BYTES;
		AHEAD(w + 8 * row + b * 8 * BYTES, 2 * 8 * BYTES);
		const __m512i v = _mm512_loadu_si512(x.q + b * BLOCK);
		__m512i s[8], first, second;
		for (int r = 0; r < 8; r++) s[r] = dot(two(p + r * row + 2, p + r * row + BYTES + 2), v);
		quads(s, &first, &second);
		// The first block of rows 0-7, then the second.
		__m512i t = _mm512_add_epi32(_mm512_permutex2var_epi64(first, low, second), _mm512_permutex2var_epi64(first, high, second));
		t = _mm512_add_epi32(t, _mm512_mask_mov_epi32(_mm512_set1_epi32(correction(x, b)), 0xff00, _mm512_set1_epi32(correction(x, b + 1))));
		const __m512 d = _mm512_mul_ps(both(x.scale[b], x.scale[b + 1]),
			_mm512_cvtph_ps(_mm256_set_m128i(scales(p + BYTES, p + BYTES + 4 * row, row), scales(p, p + 4 * row, row))));
		const __m512 f = _mm512_cvtepi32_ps(t);
		sum = _mm256_fmadd_ps(_mm512_castps512_ps256(f), _mm512_castps512_ps256(d), sum);
		sum = _mm256_fmadd_ps(_mm512_extractf32x8_ps(f, 1), _mm512_extractf32x8_ps(d, 1), sum);
	}
	_mm256_storeu_ps(y, sum);
}

// one row.
TARGET static void one(float *y, const uint8_t *w, int64_t blocks, struct column x) {
	float sum = 0;
	for (int64_t b = 0; b < blocks; b++, w += BYTES) {
		const __m512i weight = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(w + 2)));
		const __m512i v = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)(x.q + b * BLOCK)));
		const int32_t s = _mm512_reduce_add_epi32(dot(weight, v)) + correction(x, b);
		sum = fmaf((float)s, x.scale[b] * half_at(w), sum);
	}
	*y = sum;
}

// rows that follow each other, at most a panel of them.
static void some(float *y, const uint8_t *w, int rows, int64_t blocks, struct column x) {
	enum { NEAR = 24 << 10 }; // half the smallest first cache that comes with VNNI
	const int64_t row = blocks * BYTES;
	int r = 0;
	if (rows == PANEL && (PANEL * row <= NEAR || blocks % 2 != 0)) {
		sixteen(y, w, blocks, x);
		return;
	}
	for (; r + 8 <= rows && blocks % 2 == 0; r += 8) eight(y + r, w + r * row, blocks, x);
	for (; r < rows; r++) one(y + r, w + r * row, blocks, x);
}

void lqk_q8_few_rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to) {
	const int64_t blocks = c->in / BLOCK;
	for (int64_t first = from; first < to; first += PANEL) {
		const int rows = to - first < PANEL ? (int)(to - first) : PANEL;
		for (int64_t n = 0; n < c->columns; n++)
			some(c->result + n * c->out + first, c->weight + first * blocks * BYTES, rows, blocks, column_at(c->x, n, c->in));
	}
}

void lqk_q8_few(void *tensor, int thread, int threads, void *call) {
	(void)tensor;
	lqk_divide(call, lqk_q8_few_rows, thread, threads);
}

#else

#define NONE                                                                                                           \
	{ (void)tensor, (void)thread, (void)threads, (void)call; }

void lqk_q8_round(void *tensor, int thread, int threads, void *call) NONE
void lqk_q8_few(void *tensor, int thread, int threads, void *call) NONE

#endif
