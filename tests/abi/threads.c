/* One context and many threads: equal results, a last error for each, a queue, and a free among them. */
#define _POSIX_C_SOURCE 200809L
#include "model.h"

#include <pthread.h>
#include <time.h>

#define THREADS 16

static struct qt_context *ctx;
static struct qt_tts_params request;

static void run_threads(int n, void *(*body)(void *)) {
    pthread_t thread[THREADS];
    intptr_t i;
    for (i = 0; i < n; i++) {
        CHECK(pthread_create(&thread[i], NULL, body, (void *)i) == 0);
    }
    for (i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
    }
}

/* ---- Each thread gets what it would get alone ---- */

static struct qt_audio alone[THREADS], together[THREADS];
static enum qt_status status[THREADS];

static enum qt_status speak(intptr_t seed, struct qt_audio *out) {
    struct qt_tts_params p = request;
    p.seed = seed;
    p.max_new_tokens = 4;
    return qt_synthesize(ctx, &p, out);
}

static void *speak_together(void *i) {
    status[(intptr_t)i] = speak((intptr_t)i, &together[(intptr_t)i]);
    return NULL;
}

static void one_context_sixteen_threads(void) {
    int i;
    for (i = 0; i < THREADS; i++) {
        CHECK(speak(i, &alone[i]) == QT_STATUS_OK);
    }
    run_threads(THREADS, speak_together);
    for (i = 0; i < THREADS; i++) {
        CHECK(status[i] == QT_STATUS_OK);
        CHECK(same_audio(&alone[i], &together[i]));
        qt_audio_free(&alone[i]);
        qt_audio_free(&together[i]);
    }
}

/* ---- Errors of one thread are not seen by another ---- */

static int wrong_messages;
static pthread_mutex_t wrong_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *make_errors(void *arg) {
    struct qt_init_params p;
    char mine[32];
    int i, wrong = *qt_last_error() != '\0'; /* a new thread has none */
    qt_init_default_params(&p);
    for (i = 0; i < 200; i++) {
        p.abi_version = 1000 + (int)(intptr_t)arg;
        sprintf(mine, "abi_version: %d,", p.abi_version);
        wrong += qt_init(&p) != NULL;
        wrong += strncmp(qt_last_error(), mine, strlen(mine)) != 0;
    }
    pthread_mutex_lock(&wrong_mutex);
    wrong_messages += wrong;
    pthread_mutex_unlock(&wrong_mutex);
    return NULL;
}

static void last_error_is_per_thread(void) {
    CHECK(qt_init(NULL) == NULL);
    run_threads(THREADS, make_errors);
    CHECK(wrong_messages == 0);
    CHECK_ERROR("params: NULL");
}

static void *one_error(void *arg) {
    (void)arg;
    CHECK(qt_init(NULL) == NULL);
    CHECK_ERROR("params");
    return NULL;
}

/* Threads come and go; what the library keeps for them goes too. */
static void many_threads_come_and_go(void) {
    int i;
    for (i = 0; i < 2000; i++) {
        pthread_t t;
        CHECK(pthread_create(&t, NULL, one_error, NULL) == 0);
        pthread_join(t, NULL);
    }
}

/* ---- The log may be redirected while it is in use ---- */

static void *set_log(void *arg) {
    int i;
    for (i = 0; i < 500; i++) {
        qt_log_set(discard_log, arg);
        qt_version();
    }
    return NULL;
}

static void log_is_set_from_everywhere(void) { run_threads(THREADS, set_log); }

/* ---- A gate holds one synthesis inside a callback until the test opens it ---- */

static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static int gate_reached, gate_open;

static bool wait_at_gate(void *user_data) {
    (void)user_data;
    pthread_mutex_lock(&gate_mutex);
    gate_reached = 1;
    pthread_cond_broadcast(&gate_moved);
    while (!gate_open) {
        pthread_cond_wait(&gate_moved, &gate_mutex);
    }
    pthread_mutex_unlock(&gate_mutex);
    return false;
}

static void gate_close(void) { gate_reached = gate_open = 0; }

static void gate_wait(void) {
    pthread_mutex_lock(&gate_mutex);
    while (!gate_reached) {
        pthread_cond_wait(&gate_moved, &gate_mutex);
    }
    pthread_mutex_unlock(&gate_mutex);
}

static void gate_let_through(void) {
    pthread_mutex_lock(&gate_mutex);
    gate_open = 1;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate_mutex);
}

static struct qt_context *shared;
static enum qt_status held_status, waiting_status;

static void *held_synthesis(void *arg) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    (void)arg;
    p.cancel = wait_at_gate;
    held_status = qt_synthesize(shared, &p, &out);
    qt_audio_free(&out);
    return NULL;
}

static bool stop_now(void *user_data) {
    *(int *)user_data += 1;
    return *(int *)user_data > 3;
}

static void *waiting_synthesis(void *arg) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    int polls = 0;
    (void)arg;
    p.cancel = stop_now;
    p.cancel_user_data = &polls;
    waiting_status = qt_synthesize(shared, &p, &out);
    qt_audio_free(&out);
    return NULL;
}

/* A call that waits for its turn can be cancelled. */
static void waiting_calls_poll(void) {
    pthread_t first, second;
    shared = ctx;
    gate_close();
    pthread_create(&first, NULL, held_synthesis, NULL);
    gate_wait();
    pthread_create(&second, NULL, waiting_synthesis, NULL);
    pthread_join(second, NULL); /* while the first is still held */
    CHECK(waiting_status == QT_STATUS_CANCELLED);
    gate_let_through();
    pthread_join(first, NULL);
    CHECK(held_status == QT_STATUS_OK);
}

static int admitted; /* guarded by gate_mutex */

static bool tell_admitted(void *user_data) {
    (void)user_data;
    pthread_mutex_lock(&gate_mutex);
    admitted = 1;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate_mutex);
    return false;
}

static void *queued_synthesis(void *arg) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    (void)arg;
    p.cancel = tell_admitted;
    waiting_status = qt_synthesize(shared, &p, &out);
    qt_audio_free(&out);
    return NULL;
}

/* max_queue 1: one runs, one waits, the third is refused at once. */
static void the_queue_has_an_end(void) {
    struct qt_options o;
    struct qt_audio out;
    struct qt_result r;
    pthread_t first, second;
    qt_options_init(&o, sizeof o);
    qt_result_init(&r, sizeof r);
    o.max_queue = 1;
    shared = open_with(&o);
    gate_close();
    pthread_create(&first, NULL, held_synthesis, NULL);
    gate_wait();
    pthread_create(&second, NULL, queued_synthesis, NULL);
    pthread_mutex_lock(&gate_mutex);
    while (!admitted) {
        pthread_cond_wait(&gate_moved, &gate_mutex);
    }
    pthread_mutex_unlock(&gate_mutex);
    CHECK(qt_synthesize_ex(shared, &request, NULL, &out, &r) == QT_STATUS_GENERATE_FAILED);
    CHECK(r.finish == QT_FINISH_BUSY);
    CHECK_ERROR("max_queue");
    gate_let_through();
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    CHECK(held_status == QT_STATUS_OK && waiting_status == QT_STATUS_OK);
    qt_free(shared);
}

static void *free_shared(void *arg) {
    (void)arg;
    qt_free(shared);
    return NULL;
}

/* qt_free stops what runs, waits for it, and makes the handle unknown at once. */
static void free_while_in_use(void) {
    pthread_t speaker, freer;
    shared = open_model();
    gate_close();
    pthread_create(&speaker, NULL, held_synthesis, NULL);
    gate_wait();
    pthread_create(&freer, NULL, free_shared, NULL);
    while (qt_num_codebooks(shared) != 0) {
        struct timespec pause = { 0, 1000000 };
        nanosleep(&pause, NULL);
    }
    gate_let_through();
    pthread_join(freer, NULL);
    pthread_join(speaker, NULL);
    CHECK(held_status == QT_STATUS_CANCELLED);
}

static void *speak_until_freed(void *arg) {
    struct qt_tts_params p = request;
    struct qt_audio out;
    enum qt_status s;
    do {
        s = qt_synthesize(shared, &p, &out);
        qt_audio_free(&out);
    } while (s == QT_STATUS_OK);
    status[(intptr_t)arg] = s;
    return NULL;
}

static void free_among_sixteen_threads(void) {
    pthread_t thread[THREADS];
    struct timespec pause = { 0, 100000000 };
    intptr_t i;
    shared = open_model();
    for (i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, speak_until_freed, (void *)i);
    }
    nanosleep(&pause, NULL);
    qt_free(shared);
    for (i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(status[i] == QT_STATUS_CANCELLED || status[i] == QT_STATUS_INVALID_PARAMS);
    }
}

static void *own_context(void *i) {
    struct qt_context *c = open_model();
    struct qt_tts_params p = request;
    p.seed = 7;
    status[(intptr_t)i] = qt_synthesize(c, &p, &together[(intptr_t)i]);
    qt_free(c);
    return NULL;
}

static void contexts_side_by_side(void) {
    int i;
    run_threads(4, own_context);
    for (i = 0; i < 4; i++) {
        CHECK(status[i] == QT_STATUS_OK);
        CHECK(same_audio(&together[0], &together[i]));
    }
    for (i = 0; i < 4; i++) {
        qt_audio_free(&together[i]);
    }
}

int main(int argc, char **argv) {
    model_args(argc, argv);
    ctx = open_model();
    short_request(ctx, &request);
    RUN(one_context_sixteen_threads);
    RUN(last_error_is_per_thread);
    RUN(many_threads_come_and_go);
    RUN(log_is_set_from_everywhere);
    RUN(waiting_calls_poll);
    RUN(the_queue_has_an_end);
    RUN(free_while_in_use);
    RUN(free_among_sixteen_threads);
    RUN(contexts_side_by_side);
    qt_free(ctx);
    return tests_failed != 0;
}
