// Products of weights that are packed in panels: 16 rows side by side, in the order in which they are read.
//
// The columns are rounded to bytes as in q8.h. A register holds four successive weights of each of the 16 rows, as
// unsigned bytes. For each 32 values of all rows:
//
//   Q8_0  16 scales; [8][16] times four bytes, 128 more than they are
//   Q4_K  [4][16] times four bytes, whose low halves are values 0-15 and high halves values 16-31; before each eight of
//         these, 16 d and 16 dmin (half precision), scales [8][16] and mins [8][16] (bytes)
//   Q6_K  the same with the low four bits, then [2][16] times four bytes of the others: bits 2i and 2i+1 of those of
//         register g are the high bits of values 16g + 4i and the three after; before each eight of these, 16 d (half
//         precision) and scales [16][16] (signed bytes)
#ifndef LQK_PANELS_H
#define LQK_PANELS_H

#include "q8.h"

enum { LQK_Q4_PANEL = 2368, LQK_Q6_PANEL = 3360 }; // bytes for 256 values of 16 rows

// Q8_0 weights that are in the file's order and, once `ready` is not 0, in panels, as a node of a graph. From then on
// the former are not read any more.
struct lqk_q8_twin {
	float *result;
	const void *x; // rounded columns
	const uint8_t *weight, *panels;
	const int32_t *ready;
	int64_t in, out, columns, crew; // as in struct lqk_q8_matmul
};

void lqk_q8_twin(void *tensor, int thread, int threads, void *call);

// Nodes of a graph, of struct lqk_q8_matmul.
void lqk_q8_panels(void *tensor, int thread, int threads, void *call);
void lqk_q4_panels(void *tensor, int thread, int threads, void *call);
void lqk_q6_panels(void *tensor, int thread, int threads, void *call);

#endif
