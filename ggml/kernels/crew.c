// The crew; see crew.h.
#include "crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PIECE = 4 * LQK_Q8_PANEL, // rows
	MOST = 8192,              // rows of a product that is shared: 128 pieces
	INPUT = 64 << 10,         // bytes of rounded columns
	COLUMNS = 2,
	PATIENCE = 20000,  // ns that the owner waits for a piece under way
	WATCH = 200000     // ns that the helper looks for work before it sleeps
};

// The state of an offer in a word: its number, and the pieces front..back that nobody has taken.
#define STATE(number, front, back) ((uint64_t)(number) << 32 | (uint64_t)(front) << 16 | (uint64_t)(back))
#define NUMBER(s) ((uint32_t)((s) >> 32))
#define FRONT(s) ((int)((s) >> 16 & 0xffff))
#define BACK(s) ((int)((s) & 0xffff))

// What is offered.
struct job {
	struct lqk_q8_matmul c;
	lqk_rows *rows;
};

enum { WORDS = (sizeof(struct job) + 7) / 8 };

struct lqk_crew {
	_Atomic uint64_t state;
	_Atomic uint32_t done[MOST / PIECE]; // the offer whose piece of this number lies in results
	_Atomic int paused, asleep, late, stop;
	_Atomic int64_t helped;

	// The offer: written while nothing can be taken. The helper may read it at any time, so that it comes in words; what
	// it read counts only if it then takes a piece.
	_Atomic uint64_t job[WORDS];
	uint32_t number;

	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	uint8_t input[INPUT] __attribute__((aligned(64)));
	float results[COLUMNS * MOST] __attribute__((aligned(64)));
};

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int64_t last(int64_t piece, int64_t out) { return (piece + 1) * PIECE < out ? (piece + 1) * PIECE : out; }

static void put_job(struct lqk_crew *w, const struct job *job) {
	uint64_t words[WORDS] = { 0 };
	memcpy(words, job, sizeof *job);
	for (int i = 0; i < WORDS; i++) atomic_store_explicit(&w->job[i], words[i], memory_order_relaxed);
}

static struct job get_job(const struct lqk_crew *w) {
	uint64_t words[WORDS];
	for (int i = 0; i < WORDS; i++) words[i] = atomic_load_explicit(&w->job[i], memory_order_relaxed);
	struct job job;
	memcpy(&job, words, sizeof job);
	return job;
}

// help takes a piece from the back and tells whether there was one.
static int help(struct lqk_crew *w) {
	uint64_t s = atomic_load_explicit(&w->state, memory_order_acquire);
	if (FRONT(s) >= BACK(s)) return 0;
	const struct job job = get_job(w); // before the piece is taken: if that succeeds, it was the offer of this state
	const int piece = BACK(s) - 1;
	if (!atomic_compare_exchange_strong(&w->state, &s, STATE(NUMBER(s), FRONT(s), piece))) return 1;
	job.rows(&job.c, piece * PIECE, last(piece, job.c.out));
	atomic_store(&w->done[piece], NUMBER(s));
	atomic_store(&w->late, 0);
	atomic_fetch_add_explicit(&w->helped, 1, memory_order_relaxed);
	return 1;
}

static void rest(struct lqk_crew *w) {
	pthread_mutex_lock(&w->mutex);
	atomic_store(&w->asleep, 1);
	while (atomic_load(&w->asleep) && !atomic_load(&w->stop)) pthread_cond_wait(&w->wake, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
}

static void rouse(struct lqk_crew *w) {
	pthread_mutex_lock(&w->mutex);
	atomic_store(&w->asleep, 0);
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
}

static void *helper(void *crew) {
	struct lqk_crew *w = crew;
	int64_t idle = now();
	while (!atomic_load(&w->stop)) {
		if (!atomic_load(&w->paused) && help(w)) {
			idle = now();
			continue;
		}
		for (int i = 0; i < 20; i++) relax();
		if (atomic_load(&w->paused) || now() - idle > WATCH) {
			rest(w);
			idle = now();
		}
	}
	return NULL;
}

struct lqk_crew *lqk_crew_new(void) {
	struct lqk_crew *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
	if (!w) return NULL;
	memset(w, 0, sizeof *w);
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->wake, NULL);
	if (pthread_create(&w->thread, NULL, helper, w) == 0) return w;
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->mutex);
	free(w);
	return NULL;
}

void lqk_crew_free(struct lqk_crew *w) {
	if (!w) return;
	atomic_store(&w->stop, 1);
	rouse(w);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

void lqk_crew_pause(struct lqk_crew *w) { atomic_fetch_add(&w->paused, 1); }
void lqk_crew_resume(struct lqk_crew *w) { atomic_fetch_sub(&w->paused, 1); }

int64_t lqk_crew_helped(const struct lqk_crew *w) { return atomic_load_explicit(&w->helped, memory_order_relaxed); }

// takes tells whether the helper can be offered a product.
static int takes(struct lqk_crew *w, const struct lqk_q8_matmul *c) {
	return w && c->columns <= COLUMNS && c->out >= 4 * PIECE && c->out <= MOST && c->columns * lqk_q8_column(c->in) <= INPUT &&
	       !atomic_load_explicit(&w->paused, memory_order_acquire) && !atomic_load_explicit(&w->late, memory_order_acquire);
}

// offer lays a product out for the helper: its input is copied, so that what the helper reads lives as long as the crew.
static void offer(struct lqk_crew *w, const struct lqk_q8_matmul *c, lqk_rows *rows, int pieces) {
	memcpy(w->input, c->x, c->columns * lqk_q8_column(c->in));
	struct job job = { *c, rows };
	job.c.x = w->input;
	job.c.result = w->results;
	put_job(w, &job);
	if (++w->number == 0) w->number = 1; // done starts with zeros
	atomic_store_explicit(&w->state, STATE(w->number, 0, pieces), memory_order_release);
	if (atomic_load(&w->asleep)) rouse(w);
}

// fetch copies a piece of the helper's results.
static void fetch(const struct lqk_crew *w, const struct lqk_q8_matmul *c, int64_t piece) {
	const int64_t from = piece * PIECE, n = last(piece, c->out) - from;
	for (int64_t i = 0; i < c->columns; i++) memcpy(c->result + i * c->out + from, w->results + i * c->out + from, n * sizeof(float));
}

// arrives waits a moment for a piece that the helper has taken.
static int arrives(struct lqk_crew *w, int piece) {
	int64_t since = 0;
	for (int tries = 0;; tries++) {
		if (atomic_load_explicit(&w->done[piece], memory_order_acquire) == w->number) return 1;
		relax();
		if (tries % 64 == 63) {
			const int64_t t = now();
			if (since == 0) since = t;
			if (t - since > PATIENCE) return 0;
		}
	}
}

void lqk_share(struct lqk_crew *w, const struct lqk_q8_matmul *c, lqk_rows *rows) {
	if (!takes(w, c)) {
		rows(c, 0, c->out);
		return;
	}
	const int pieces = (int)((c->out + PIECE - 1) / PIECE);
	offer(w, c, rows, pieces);
	uint64_t s = atomic_load(&w->state);
	while (FRONT(s) < BACK(s)) {
		const int piece = FRONT(s);
		if (!atomic_compare_exchange_strong(&w->state, &s, STATE(w->number, piece + 1, BACK(s)))) continue;
		rows(c, piece * PIECE, last(piece, c->out));
		s = atomic_load(&w->state);
	}
	// The helper has taken BACK(s) to the end, one after the other: only the last one that it took may be under way.
	const int taken = BACK(s);
	for (int piece = pieces - 1; piece > taken; piece--) fetch(w, c, piece);
	if (taken == pieces) return;
	if (arrives(w, taken)) {
		fetch(w, c, taken);
		return;
	}
	atomic_store(&w->late, 1);
	if (atomic_load(&w->done[taken]) == w->number) atomic_store(&w->late, 0); // it came in the same moment
	rows(c, taken * PIECE, last(taken, c->out));
}

void lqk_divide(const struct lqk_q8_matmul *c, lqk_rows *rows, int thread, int threads) {
	if (threads == 1) {
		lqk_share((struct lqk_crew *)(intptr_t)c->crew, c, rows);
		return;
	}
	const int64_t panels = (c->out + LQK_Q8_PANEL - 1) / LQK_Q8_PANEL;
	const int64_t from = panels * thread / threads * LQK_Q8_PANEL, to = panels * (thread + 1) / threads * LQK_Q8_PANEL;
	rows(c, from, to < c->out ? to : c->out);
}
