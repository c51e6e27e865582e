// A crew under ThreadSanitizer: products of many sizes, paused and resumed, with a second thread that computes alone.
#include "../crew.c"

#include <stdio.h>

enum { IN = 64, OUT = 1024, PRODUCTS = 5000 };

static uint8_t weights[OUT];

// Stands for a product: each result depends on its row, its column's first byte and the weight.
static void rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to) {
	for (int64_t i = 0; i < c->columns; i++) {
		const uint8_t *x = (const uint8_t *)c->x + i * lqk_q8_column(c->in);
		for (int64_t r = from; r < to; r++) c->result[i * c->out + r] = (float)(x[0] * 3 + c->weight[r] + r);
	}
}

static void *pauses(void *crew) {
	for (int i = 0; i < 200; i++) {
		lqk_crew_pause(crew);
		nanosleep(&(struct timespec){ 0, 50000 }, NULL);
		lqk_crew_resume(crew);
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	}
	return NULL;
}

int main(void) {
	static uint8_t x[COLUMNS * (IN + IN / LQK_Q8_BLOCK * 12)];
	static float result[COLUMNS * OUT];
	struct lqk_crew *crew = lqk_crew_new();
	pthread_t pauser;
	int wrong = 0;
	for (int r = 0; r < OUT; r++) weights[r] = (uint8_t)(r * 7);
	if (!crew || pthread_create(&pauser, NULL, pauses, crew) != 0) return 2;
	for (int n = 0; n < PRODUCTS; n++) {
		const struct lqk_q8_matmul c = {
			.result = result, .x = x, .weight = weights, .in = IN, .out = OUT / (1 + n % 4), .columns = 1 + n % COLUMNS,
		};
		for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(n + i);
		memset(result, 0, sizeof result);
		lqk_share(crew, &c, rows);
		for (int64_t i = 0; i < c.columns; i++)
			for (int64_t r = 0; r < c.out; r++)
				wrong += result[i * c.out + r] != (float)(x[i * lqk_q8_column(IN)] * 3 + weights[r] + r);
	}
	pthread_join(pauser, NULL);
	printf("%d wrong, %d pieces by the helper\n", wrong, (int)lqk_crew_helped(crew));
	lqk_crew_free(crew);
	return wrong != 0;
}
