// Attention of single positions: softmax(q·K·scale + mask)·V for each head of each sequence (lane) by itself.
//
// Keys are [lanes][slots][kv][head], values lie transposed: [lanes][kv][head][slots]. Slots are taken in blocks, with a
// running maximum (Milakov and Gimelshein 2018, Online normalizer calculation for softmax), so a result depends neither
// on the width of the window nor on what is in slots that the mask hides.
#ifndef LQK_ATTEND_H
#define LQK_ATTEND_H

#include <stdint.h>

enum {
	LQK_ATTEND_HEAD = 256, // most channels of a head, a multiple of 16
	LQK_ATTEND_GROUP = 8   // most heads that share keys and values
};

struct lqk_attend {
	float *result;      // [lanes][heads][head]
	const float *q;     // the same
	const void *keys;   // F32 or F16
	const void *values; // of the same type
	const float *mask;  // [lanes][window]: 0 or -infinity; NULL: all is seen
	int64_t head, heads, kv, slots, window, lanes;
	int64_t half;  // keys and values are F16
	double scale;
};

void lqk_attend(void *tensor, int thread, int threads, void *call);

#endif
