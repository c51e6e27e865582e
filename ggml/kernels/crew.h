// A second thread that helps with products while it has nothing better to do, and that nobody has to wait for.
//
// The thread that computes a graph offers each product to its crew: rows are taken in pieces, by the owner from the
// first on, by the helper from the last on. The helper's results lie in memory of the crew, where the owner fetches
// them. If the helper was put to sleep by the system in the middle of a piece, the owner computes that piece itself
// after a moment, and offers nothing more until the helper is back: on a busy machine there is no barrier to hang at.
// The results do not depend on who computes what.
#ifndef LQK_CREW_H
#define LQK_CREW_H

#include "q8.h"

struct lqk_crew;

// A product's rows from..to, multiples of LQK_Q8_PANEL but for the end, written where they belong in c->result.
typedef void lqk_rows(const struct lqk_q8_matmul *c, int64_t from, int64_t to);

struct lqk_crew *lqk_crew_new(void); // NULL: no thread or no memory
void lqk_crew_free(struct lqk_crew *crew);

// Between pause and resume, which may be nested, the helper does nothing.
void lqk_crew_pause(struct lqk_crew *crew);
void lqk_crew_resume(struct lqk_crew *crew);

// lqk_share computes a product, with the crew's help if there is one and the product is worth it.
void lqk_share(struct lqk_crew *crew, const struct lqk_q8_matmul *c, lqk_rows *rows);

// lqk_divide computes a thread's share of a product as a node of a graph. A graph of one thread has the help of c->crew.
void lqk_divide(const struct lqk_q8_matmul *c, lqk_rows *rows, int thread, int threads);

// lqk_crew_helped counts the pieces that helpers have contributed.
int64_t lqk_crew_helped(const struct lqk_crew *crew);

#endif
