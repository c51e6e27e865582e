/* One line per test, "ok - name" or "not ok - name", after the checks in it that failed. run.sh counts the lines. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

#include <qwen.h>

static int check_failed;  /* in the test that is running */
static int tests_failed;

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            check_failed = 1;                                                             \
            printf("# %s:%d: %s [last error: %s]\n", __FILE__, __LINE__, #condition, qt_last_error()); \
        }                                                                                 \
    } while (0)

/* The message of the failure just seen names `what`. */
#define CHECK_ERROR(what) CHECK(strstr(qt_last_error(), (what)) != NULL)

#define RUN(test) run_test(#test, test)

static void run_test(const char *name, void (*test)(void)) {
    check_failed = 0;
    test();
    printf("%s - %s\n", check_failed ? "not ok" : "ok", name);
    fflush(stdout);
    tests_failed += check_failed;
}

#endif
