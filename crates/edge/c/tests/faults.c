/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a program in C is told when a device is full, slow, out of reach or killed. Whoever starts it does the fault: it says what it wants
 * on standard output, and waits for a line. usage: faults full|lost|held|slow|killed URL */
#define _POSIX_C_SOURCE 200809L
#include "saker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

#define HOLDS(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fprintf(stderr, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition, saker_error_text()); \
            failures++;                                                                             \
        }                                                                                           \
    } while (0)

#define B(text) (const uint8_t *)(text), sizeof(text) - 1

static void please(const char *what) {
    char line[10];
    printf("%s\n", what);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        exit(3);
}

static bool is_lost(int32_t answer) {
    return answer == SAKER_UNREACHABLE || answer == SAKER_OUTCOME_UNKNOWN || answer == SAKER_ITERATOR_LOST;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int32_t put(saker_store *store, unsigned n) {
    static uint8_t value[20000];
    return saker_put(store, (const uint8_t *)&n, sizeof n, value, sizeof value);
}

/* A full device is SAKER_FULL, whatever call met it; reads and deletes go on. */
static void full(saker_store *store) {
    static uint8_t value[20000];
    unsigned stored = 0;
    size_t bytes = 0;
    bool flag = false;
    int32_t answer = SAKER_OK;
    saker_batch *batch = NULL;
    while (stored < 20000 && (answer = put(store, stored)) == SAKER_OK)
        stored++;
    HOLDS(answer == SAKER_FULL && saker_error_is(answer, SAKER_KV) && strlen(saker_error_text()) > 10 && stored > 50);
    HOLDS(saker_batch_new(0, &batch) == SAKER_OK);
    for (unsigned n = 0; n < 20; n++) {
        uint8_t key[2] = {'b', (uint8_t)n};
        HOLDS(saker_batch_put(batch, key, sizeof key, value, sizeof value) == SAKER_OK);
    }
    HOLDS(saker_write(store, batch) == SAKER_FULL && saker_error_key(&bytes) != NULL && bytes == 2);
    HOLDS(saker_batch_free(batch) == SAKER_OK);
    for (unsigned n = 0; n < 20; n++) {
        uint8_t key[2] = {'b', (uint8_t)n};
        HOLDS(saker_delete(store, key, sizeof key, NULL) == SAKER_OK);
    }
    for (unsigned n = 0; n < stored; n++) {
        HOLDS(saker_get(store, (const uint8_t *)&n, sizeof n, value, sizeof value, &bytes) == SAKER_OK && bytes == sizeof value);
        HOLDS(saker_delete(store, (const uint8_t *)&n, sizeof n, &flag) == SAKER_OK && flag);
    }
    HOLDS(put(store, 0) == SAKER_OK);
}

/* Reads were not carried out, of a write it is not known; the same handle goes on when the device is there again. */
static void lost(saker_store *store, const char *fault) {
    size_t bytes = 0;
    uint8_t value[8], key[255];
    saker_scan *scan = NULL;
    saker_txn *txn = NULL;
    HOLDS(saker_put(store, B("key"), B("old")) == SAKER_OK);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_put(txn, B("other"), B("value")) == SAKER_OK);
    please(fault);
    double begun = seconds();
    int32_t answer = saker_put(store, B("key"), B("new"));
    HOLDS(is_lost(answer) && saker_error_is(answer, SAKER_KV) && strlen(saker_error_text()) > 10);
    HOLDS(strcmp(fault, "hold") != 0 || answer == SAKER_OUTCOME_UNKNOWN);
    HOLDS(saker_get(store, B("key"), value, sizeof value, &bytes) == SAKER_UNREACHABLE);
    HOLDS(is_lost(saker_txn_commit(txn)) && saker_txn_commit(txn) == SAKER_CLOSED);
    size_t key_bytes = sizeof key, value_bytes = sizeof value;
    answer = saker_scan_open(store, NULL, &scan);
    if (answer == SAKER_OK) {
        HOLDS(is_lost(saker_scan_next(scan, key, &key_bytes, value, &value_bytes)));
        HOLDS(saker_scan_close(scan) == SAKER_OK);
    } else
        HOLDS(is_lost(answer) && scan == NULL);
    HOLDS(seconds() - begun < 30);
    please("pass");
    /* It looks every two seconds whether the target is there again. */
    bool flag;
    for (unsigned n = 0; n < 300 && saker_exists(store, B("key"), &flag) == SAKER_UNREACHABLE; n++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    HOLDS(saker_get(store, B("key"), value, sizeof value, &bytes) == SAKER_OK && bytes == 3);
    HOLDS(memcmp(value, "old", 3) == 0 || memcmp(value, "new", 3) == 0);
    HOLDS(saker_put(store, B("key"), B("newer")) == SAKER_OK);
}

/* What was acknowledged is there after the device's end; the handle says that it is gone, and is closed like any other. */
static void killed(saker_store *store) {
    uint8_t value[8];
    size_t bytes = 0;
    HOLDS(saker_put(store, B("acknowledged"), B("value")) == SAKER_OK);
    please("kill");
    HOLDS(is_lost(saker_put(store, B("key"), B("value"))));
    HOLDS(saker_get(store, B("acknowledged"), value, sizeof value, &bytes) == SAKER_UNREACHABLE);
}

static void *puts_many(void *store) {
    for (unsigned n = 0; n < 24; n++)
        HOLDS(put((saker_store *)store, n) == SAKER_OK);
    return NULL;
}

/* A call waits, which is no failure, and no other device does. Each operation of the flash takes 30 ms longer. */
static void slow(saker_store *store) {
    saker_store *quick = NULL;
    pthread_t thread;
    HOLDS(saker_open("mem:?size=16MiB&profile=tiny", &quick) == SAKER_OK);
    double begun = seconds();
    pthread_create(&thread, NULL, puts_many, store);
    HOLDS(saker_put(quick, B("key"), B("value")) == SAKER_OK);
    double quickly = seconds() - begun;
    pthread_join(thread, NULL);
    HOLDS(seconds() - begun >= 0.03 && seconds() - begun > quickly);
    HOLDS(saker_close(quick) == SAKER_OK);
}

int main(int count, char **arguments) {
    saker_store *store = NULL;
    if (count != 3)
        return 2;
    const char *what = arguments[1];
    HOLDS(saker_open(arguments[2], &store) == SAKER_OK);
    if (strcmp(what, "full") == 0)
        full(store);
    else if (strcmp(what, "lost") == 0)
        lost(store, "cut");
    else if (strcmp(what, "held") == 0)
        lost(store, "hold");
    else if (strcmp(what, "slow") == 0)
        slow(store);
    else if (strcmp(what, "killed") == 0)
        killed(store);
    int32_t closed = saker_close(store);
    HOLDS(closed == SAKER_OK || strcmp(what, "killed") == 0);
    HOLDS(saker_close(store) == SAKER_CLOSED);
    return failures != 0;
}
