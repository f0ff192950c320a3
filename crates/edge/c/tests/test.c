/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Everything that the header promises, on every engine. Prints what does not hold; exit code 1 then. */
#define _POSIX_C_SOURCE 200809L
#include "saker.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define HOLDS(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            printf("%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition, saker_error_text()); \
            failures++;                                                                             \
        }                                                                                           \
    } while (0)

#define B(text) (const uint8_t *)(text), sizeof(text) - 1

static saker_store *opened(const char *engine) {
    char url[100];
    saker_store *store = NULL;
    snprintf(url, sizeof url, "mem:?size=16MiB&profile=tiny&engine=%s", engine);
    HOLDS(saker_open(url, &store) == SAKER_OK && store != NULL);
    return store;
}

static void pairs(const char *engine) {
    saker_store *store = opened(engine);
    uint8_t buffer[8];
    size_t bytes = 0;
    bool flag = false;
    HOLDS(saker_put(store, B("key"), B("good morning")) == SAKER_OK);
    HOLDS(saker_get(store, B("key"), buffer, sizeof buffer, &bytes) == SAKER_OK);
    HOLDS(bytes == 12 && memcmp(buffer, "good mor", 8) == 0);
    HOLDS(saker_put(store, B("a key of more than 16 bytes"), NULL, 0) == SAKER_OK);
    HOLDS(saker_get(store, B("a key of more than 16 bytes"), NULL, 0, &bytes) == SAKER_OK && bytes == 0);
    HOLDS(saker_get(store, B("none"), buffer, sizeof buffer, &bytes) == SAKER_NOT_FOUND);
    HOLDS(memcmp(saker_error_key(&bytes), "none", 4) == 0 && bytes == 4);
    HOLDS(saker_put_if_absent(store, B("key"), B("x"), &flag) == SAKER_OK && !flag);
    HOLDS(saker_put_if_absent(store, B("new"), B("x"), &flag) == SAKER_OK && flag);
    HOLDS(saker_exists(store, B("new"), &flag) == SAKER_OK && flag);
    HOLDS(saker_delete(store, B("new"), &flag) == SAKER_OK && flag);
    HOLDS(saker_delete(store, B("new"), NULL) == SAKER_OK);
    HOLDS(saker_flush(store) == SAKER_OK && saker_format(store) == SAKER_OK);
    HOLDS(saker_exists(store, B("key"), &flag) == SAKER_OK && !flag);
    HOLDS(saker_close(store) == SAKER_OK);
}

static void batches_and_scans(const char *engine) {
    saker_store *store = opened(engine);
    saker_batch *batch = NULL;
    saker_scan *scan = NULL;
    HOLDS(saker_batch_new(0, &batch) == SAKER_OK);
    for (unsigned n = 0; n < 500; n++) {
        char key[40];
        int length = snprintf(key, sizeof key, n % 4 ? "k%05u" : "k%05u of more than 16 bytes", n);
        HOLDS(saker_batch_put(batch, (const uint8_t *)key, (size_t)length, (const uint8_t *)&n, sizeof n) == SAKER_OK);
    }
    HOLDS(saker_batch_delete(batch, B("k00001")) == SAKER_OK);
    HOLDS(saker_write(store, batch) == SAKER_OK && saker_write(store, batch) == SAKER_OK);
    HOLDS(saker_batch_free(batch) == SAKER_OK);

    unsigned seen = 0, sum = 0, value = 0;
    uint8_t key[255];
    HOLDS(saker_scan_open(store, NULL, &scan) == SAKER_OK);
    for (;;) {
        size_t key_bytes = sizeof key, value_bytes = sizeof value;
        int32_t answer = saker_scan_next(scan, key, &key_bytes, (uint8_t *)&value, &value_bytes);
        if (answer == SAKER_END)
            break;
        HOLDS(answer == SAKER_OK && value_bytes == sizeof value);
        if (answer != SAKER_OK)
            break;
        seen++;
        sum += value;
    }
    HOLDS(seen == 499 && sum == 499 * 500 / 2 - 1);
    HOLDS(saker_scan_close(scan) == SAKER_OK);

    saker_range range = {.from = (const uint8_t *)"k00100", .from_bytes = 6, .to = (const uint8_t *)"k00200", .to_bytes = 6, .limit = 30};
    HOLDS(saker_scan_open(store, &range, &scan) == SAKER_OK);
    size_t key_bytes = 2, value_bytes = sizeof value;
    HOLDS(saker_scan_next(scan, key, &key_bytes, (uint8_t *)&value, &value_bytes) == SAKER_ARGUMENT && key_bytes >= 6);
    for (seen = 0;; seen++) {
        key_bytes = sizeof key, value_bytes = sizeof value;
        if (saker_scan_next(scan, key, &key_bytes, (uint8_t *)&value, &value_bytes) != SAKER_OK)
            break;
        HOLDS(value >= 100 && value < 200);
    }
    HOLDS(seen == 30 && saker_scan_close(scan) == SAKER_OK);
    HOLDS(saker_close(store) == SAKER_OK);
}

static void many_and_facts(const char *engine) {
    saker_store *store = opened(engine);
    uint8_t buffers[3][8];
    char text[4096];
    size_t bytes = 0;
    HOLDS(saker_put(store, B("one"), B("1")) == SAKER_OK && saker_put(store, B("three, with a long key"), B("good morning")) == SAKER_OK);
    saker_wanted wanted[3] = {{.key = (const uint8_t *)"one", .key_bytes = 3, .buffer = buffers[0], .buffer_bytes = 8},
                              {.key = (const uint8_t *)"two", .key_bytes = 3, .buffer = buffers[1], .buffer_bytes = 8},
                              {.key = (const uint8_t *)"three, with a long key", .key_bytes = 22, .buffer = buffers[2], .buffer_bytes = 8}};
    HOLDS(saker_multi_get(store, wanted, 3) == SAKER_OK);
    HOLDS(wanted[0].is_there && wanted[0].value_bytes == 1 && buffers[0][0] == '1');
    HOLDS(!wanted[1].is_there && wanted[1].value_bytes == 0);
    HOLDS(wanted[2].is_there && wanted[2].value_bytes == 12 && memcmp(buffers[2], "good mor", 8) == 0);
    HOLDS(saker_stats(store, text, sizeof text, &bytes) == SAKER_OK && bytes == strlen(text) && strstr(text, "commands ") == text);
    HOLDS(saker_stats(store, text, 5, &bytes) == SAKER_OK && bytes > 100 && strcmp(text, "comm") == 0);
    HOLDS(saker_settings(store, text, sizeof text, &bytes) == SAKER_OK && bytes == strlen(text));
    HOLDS(saker_close(store) == SAKER_OK);
}

static const uint8_t HOST[16] = "the shop's ID...";

static void transactions(const char *engine) {
    saker_store *store = opened(engine);
    saker_txn *txn = NULL, *other = NULL;
    uint8_t buffer[8];
    size_t bytes = 0;
    HOLDS(saker_put(store, B("alice"), B("70")) == SAKER_OK);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_begin(store, &other) == SAKER_OK);
    HOLDS(saker_txn_get(txn, B("alice"), buffer, sizeof buffer, &bytes) == SAKER_OK && bytes == 2);
    HOLDS(saker_txn_get(other, B("alice"), buffer, sizeof buffer, &bytes) == SAKER_OK);
    HOLDS(saker_txn_put(txn, B("alice"), B("50")) == SAKER_OK && saker_txn_put(other, B("alice"), B("60")) == SAKER_OK);
    HOLDS(saker_txn_commit(txn) == SAKER_OK);
    HOLDS(saker_txn_commit(other) == SAKER_CONFLICT && memcmp(saker_error_key(&bytes), "alice", 5) == 0 && bytes == 5);
    HOLDS(saker_error_is(SAKER_CONFLICT, SAKER_TRANSACTION) && saker_error_is(SAKER_CONFLICT, SAKER_HOST));
    HOLDS(!saker_error_is(SAKER_CONFLICT, SAKER_KV));
    HOLDS(saker_txn_commit(txn) == SAKER_CLOSED && saker_txn_abort(other) == SAKER_CLOSED);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_delete(txn, B("alice"), NULL) == SAKER_OK);
    HOLDS(saker_txn_abort(txn) == SAKER_OK);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_require(txn, B("carol"), SAKER_PRESENT) == SAKER_OK);
    HOLDS(saker_txn_put(txn, B("alice"), B("0")) == SAKER_OK && saker_txn_commit(txn) == SAKER_UNMET);
    HOLDS(memcmp(saker_error_key(NULL), "carol", 5) == 0);
    for (int before = 0; before < 2; before++) {   /* as if the first answer had been lost */
        uint32_t outcome = 0;
        bool was_done = !before;
        HOLDS(saker_txn_outcome(store, HOST, 7, &outcome) == SAKER_OK);
        HOLDS(outcome == (before ? SAKER_TXN_DONE : SAKER_TXN_NOT_DONE));
        HOLDS(saker_txn_begin(store, &txn) == SAKER_OK);
        HOLDS(saker_txn_put(txn, B("order"), (const uint8_t *)(before ? "two" : "one"), 3) == SAKER_OK);
        HOLDS(saker_txn_commit_as(txn, HOST, 7, &was_done) == SAKER_OK && was_done == (before == 1));
        HOLDS(saker_txn_commit_as(txn, HOST, 7, NULL) == SAKER_CLOSED);
        HOLDS(saker_get(store, B("order"), buffer, sizeof buffer, &bytes) == SAKER_OK && bytes == 3 && memcmp(buffer, "one", 3) == 0);
    }
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_commit_as(txn, HOST, 6000, NULL) == SAKER_OK);
    HOLDS(saker_txn_outcome(store, HOST, 7, &(uint32_t){0}) == SAKER_OK);   /* in another pair of outcomes */
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_put(txn, B("order"), B("three")) == SAKER_OK);
    HOLDS(saker_txn_commit_through(txn) == SAKER_OK && saker_get(store, B("order"), buffer, sizeof buffer, &bytes) == SAKER_OK && bytes == 5);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_require(txn, B("order"), SAKER_ABSENT) == SAKER_OK);
    HOLDS(saker_txn_commit_through(txn) == SAKER_UNMET && saker_txn_commit_through(NULL) == SAKER_CLOSED);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_commit_as(txn, NULL, 1, NULL) == SAKER_ARGUMENT);
    HOLDS(saker_txn_commit(txn) == SAKER_CLOSED && saker_txn_outcome(store, HOST, 1, NULL) == SAKER_ARGUMENT);
    saker_batch *batch = NULL;
    HOLDS(saker_batch_new(SAKER_ATOMIC, &batch) == SAKER_OK && saker_batch_put(batch, B("bob"), B("30")) == SAKER_OK);
    HOLDS(saker_batch_delete(batch, B("nobody")) == SAKER_OK && saker_write(store, batch) == SAKER_OK && saker_batch_free(batch) == SAKER_OK);
    HOLDS(saker_get(store, B("bob"), buffer, sizeof buffer, &bytes) == SAKER_OK && memcmp(buffer, "30", 2) == 0);
    HOLDS(saker_get(store, B("alice"), buffer, sizeof buffer, &bytes) == SAKER_OK && memcmp(buffer, "50", 2) == 0);
    HOLDS(saker_close(store) == SAKER_OK);
}

/* What does not fit is told before anything is done, in each way to say it. */
static void too_long(const char *engine) {
    static uint8_t value[(1 << 20) + 1];
    saker_store *store = opened(engine);
    saker_txn *txn = NULL;
    saker_batch *batch = NULL;
    uint8_t buffer[8];
    size_t bytes = 0;
    uint32_t outcome = 0;
    bool flag = true;
    HOLDS(saker_put(store, B("key"), B("before")) == SAKER_OK);
    for (int way = 0; way < 3; way++) {
        int32_t answer = SAKER_OK;
        if (way < 2) {
            HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_put(txn, B("key"), value, sizeof value) == SAKER_OK);
            HOLDS(saker_txn_put(txn, B("other, under a long key"), B("never")) == SAKER_OK);
            answer = way == 0 ? saker_txn_commit(txn) : saker_txn_commit_as(txn, HOST, 1, NULL);
        } else {
            HOLDS(saker_batch_new(SAKER_ATOMIC, &batch) == SAKER_OK && saker_batch_put(batch, B("key"), value, sizeof value) == SAKER_OK);
            HOLDS(saker_batch_put(batch, B("other, under a long key"), B("never")) == SAKER_OK);
            answer = saker_write(store, batch);
            HOLDS(saker_batch_free(batch) == SAKER_OK);
        }
        HOLDS(answer == SAKER_TRANSACTION_LENGTH && strstr(saker_error_text(), "too long") != NULL);
        HOLDS(saker_get(store, B("key"), buffer, sizeof buffer, &bytes) == SAKER_OK && bytes == 6);
        HOLDS(saker_exists(store, B("other, under a long key"), &flag) == SAKER_OK && !flag);
        HOLDS(saker_txn_outcome(store, HOST, 1, &outcome) == SAKER_OK && outcome == SAKER_TXN_NOT_DONE);
    }
    HOLDS(saker_close(store) == SAKER_OK);
}

/* Whatever is wrong is a number, and nothing else happens. */
static void misuse(void) {
    saker_store *store = NULL;
    saker_scan *scan = NULL;
    saker_txn *txn = NULL;
    size_t bytes = 0;
    bool flag;
    HOLDS(saker_open(NULL, &store) == SAKER_ARGUMENT && saker_open("mem:?size=64MiB&profile=tiny", NULL) == SAKER_ARGUMENT);
    HOLDS(saker_open("nothing", &store) == SAKER_URL && store == NULL && strstr(saker_error_text(), "mem:") != NULL);
    HOLDS(saker_open("\xff\xfe", &store) == SAKER_ARGUMENT);
    HOLDS(saker_open("file:no/such.img", &store) == SAKER_IMAGE && saker_error_is(SAKER_IMAGE, SAKER_OPEN));
    HOLDS(saker_create(NULL, "1GiB", NULL, NULL) == SAKER_ARGUMENT && saker_create("x", "many", NULL, NULL) == SAKER_ARGUMENT);
    store = opened("hash_store");
    HOLDS(saker_put(store, NULL, 3, B("x")) == SAKER_ARGUMENT && saker_put(store, B("k"), NULL, 3) == SAKER_ARGUMENT);
    HOLDS(saker_put(store, B("k"), (const uint8_t *)"x", (size_t)-1) == SAKER_ARGUMENT);
    HOLDS(saker_put(store, NULL, 0, B("x")) == SAKER_KEY_LENGTH);
    HOLDS(saker_get(store, B("k"), NULL, 10, &bytes) == SAKER_ARGUMENT);
    HOLDS(saker_put(store, B("k"), B("x")) == SAKER_OK && saker_get(store, B("k"), NULL, 0, NULL) == SAKER_ARGUMENT);
    HOLDS(saker_exists(store, B("k"), NULL) == SAKER_ARGUMENT);
    HOLDS(saker_scan_open(store, NULL, NULL) == SAKER_ARGUMENT && saker_txn_begin(store, NULL) == SAKER_ARGUMENT);
    HOLDS(saker_batch_new(SAKER_ATOMIC, NULL) == SAKER_ARGUMENT && saker_write(store, (saker_batch *)99999) == SAKER_CLOSED);
    HOLDS(saker_scan_open(store, NULL, &scan) == SAKER_OK && saker_txn_begin(store, &txn) == SAKER_OK);
    HOLDS(saker_scan_next(scan, NULL, NULL, NULL, NULL) == SAKER_ARGUMENT);
    HOLDS(saker_close(store) == SAKER_OK && saker_close(store) == SAKER_CLOSED);
    HOLDS(saker_put(store, B("k"), B("x")) == SAKER_CLOSED && saker_exists(store, B("k"), &flag) == SAKER_CLOSED);
    HOLDS(saker_txn_commit(txn) == SAKER_CLOSED && saker_scan_close(scan) == SAKER_OK && saker_scan_close(scan) == SAKER_CLOSED);
    HOLDS(saker_put(NULL, B("k"), B("x")) == SAKER_CLOSED && saker_close((saker_store *)12345678) == SAKER_CLOSED && saker_batch_free(NULL) == SAKER_CLOSED);
    store = opened("hash_store");
    saker_batch *batch = NULL;
    HOLDS(saker_batch_new(7, &batch) == SAKER_ARGUMENT && batch == NULL);
    saker_range range = {.flags = 8};
    HOLDS(saker_scan_open(store, &range, &scan) == SAKER_ARGUMENT && scan == NULL);
    range = (saker_range){.flags = SAKER_BACKWARDS};
    HOLDS(saker_scan_open(store, &range, &scan) == SAKER_NO_ORDER && scan == NULL);
    range = (saker_range){.from = NULL, .from_bytes = 3};
    HOLDS(saker_scan_open(store, &range, &scan) == SAKER_ARGUMENT);
    /* A handle of another kind. */
    HOLDS(saker_batch_new(SAKER_ATOMIC, &batch) == SAKER_OK);
    HOLDS(saker_put((saker_store *)(void *)batch, B("k"), B("x")) == SAKER_CLOSED);
    HOLDS(saker_close((saker_store *)(void *)batch) == SAKER_CLOSED && saker_batch_free((saker_batch *)(void *)store) == SAKER_CLOSED);
    HOLDS(saker_txn_commit((saker_txn *)(void *)batch) == SAKER_CLOSED && saker_scan_close((saker_scan *)(void *)store) == SAKER_CLOSED);
    HOLDS(saker_batch_put(batch, NULL, 2, B("x")) == SAKER_ARGUMENT && saker_batch_put(batch, NULL, 0, B("x")) == SAKER_OK);
    HOLDS(saker_write(store, batch) == SAKER_KEY_LENGTH && saker_batch_free(batch) == SAKER_OK && saker_batch_free(batch) == SAKER_CLOSED);
    static uint8_t key[300];
    HOLDS(saker_put(store, key, 255, NULL, 0) == SAKER_OK && saker_put(store, key, 256, NULL, 0) == SAKER_KEY_LENGTH);
    HOLDS(saker_get(store, key, 300, NULL, 0, &bytes) == SAKER_KEY_LENGTH && saker_delete(store, key, 0, NULL) == SAKER_KEY_LENGTH);
    HOLDS(saker_multi_get(store, NULL, 1) == SAKER_ARGUMENT && saker_multi_get(store, NULL, 0) == SAKER_OK);
    saker_wanted wanted = {.key = NULL, .key_bytes = 1};
    HOLDS(saker_multi_get(store, &wanted, (size_t)-1) == SAKER_ARGUMENT && saker_multi_get(store, &wanted, 1) == SAKER_ARGUMENT);
    HOLDS(saker_stats(store, NULL, 0, NULL) == SAKER_ARGUMENT && saker_stats(store, NULL, 10, &bytes) == SAKER_ARGUMENT);
    HOLDS(saker_settings(NULL, NULL, 0, &bytes) == SAKER_CLOSED && saker_set_setting(store, NULL, "1") == SAKER_ARGUMENT);
    HOLDS(saker_set_setting(store, "nothing", "1") != SAKER_OK && saker_error_text()[0] != 0);
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_require(txn, B("k"), 9) == SAKER_ARGUMENT && saker_txn_abort(txn) == SAKER_OK);
    /* Memory that overlaps, and that is not aligned. */
    uint8_t memory[64] = "key";
    HOLDS(saker_put(store, B("key"), B("its value")) == SAKER_OK);
    HOLDS(saker_get(store, memory, 3, memory, sizeof memory, (size_t *)(void *)(memory + 33)) == SAKER_OK);
    HOLDS(memcmp(memory, "its value", 9) == 0);
    memcpy(&bytes, memory + 33, sizeof bytes);
    HOLDS(bytes == 9 && saker_close(store) == SAKER_OK);
}

static saker_store *shared;

static void *thread(void *number) {
    unsigned first = *(unsigned *)number;
    for (unsigned n = first; n < 400; n += 4) {
        unsigned found = 0;
        size_t bytes = 0;
        HOLDS(saker_put(shared, (const uint8_t *)&n, sizeof n, (const uint8_t *)&n, sizeof n) == SAKER_OK);
        HOLDS(saker_get(shared, (const uint8_t *)&n, sizeof n, (uint8_t *)&found, sizeof found, &bytes) == SAKER_OK && found == n);
        HOLDS(saker_get(shared, B("none"), NULL, 0, &bytes) == SAKER_NOT_FOUND);
        HOLDS(strstr(saker_error_text(), "none") != NULL);
    }
    return NULL;
}

/* A device has so many scans at a time; one more is told so, and one that is closed makes room. */
static void many_scans(const char *engine) {
    saker_store *store = opened(engine);
    saker_scan *scans[16], *scan = NULL;
    for (unsigned n = 0; n < 16; n++)
        HOLDS(saker_scan_open(store, NULL, &scans[n]) == SAKER_OK);
    int32_t answer = saker_scan_open(store, NULL, &scan);
    HOLDS(answer == SAKER_MANY_SCANS && scan == NULL && saker_error_is(answer, SAKER_KV) && !saker_error_is(answer, SAKER_FULL));
    HOLDS(strstr(saker_error_text(), "end one") != NULL);
    HOLDS(saker_scan_close(scans[0]) == SAKER_OK && saker_scan_open(store, NULL, &scans[0]) == SAKER_OK);
    for (unsigned n = 0; n < 16; n++)
        HOLDS(saker_scan_close(scans[n]) == SAKER_OK);
    HOLDS(saker_close(store) == SAKER_OK);
}

static void threads(void) {
    pthread_t running[4];
    unsigned numbers[4];
    shared = opened("hash_store");
    for (unsigned n = 0; n < 4; n++) {
        numbers[n] = n;
        pthread_create(&running[n], NULL, thread, &numbers[n]);
    }
    for (unsigned n = 0; n < 4; n++)
        pthread_join(running[n], NULL);
    HOLDS(saker_close(shared) == SAKER_OK);
}

static void full(void) {
    static uint8_t value[20000];
    saker_store *store = NULL;
    bool flag;
    int32_t answer = SAKER_OK;
    HOLDS(saker_open("mem:?size=16MiB&profile=tiny", &store) == SAKER_OK);
    unsigned stored = 0;
    for (; answer == SAKER_OK; stored++)
        answer = saker_put(store, (const uint8_t *)&stored, sizeof stored, value, sizeof value);
    HOLDS(answer == SAKER_FULL && saker_error_is(answer, SAKER_KV) && stored > 100);
    stored = 0;
    HOLDS(saker_exists(store, (const uint8_t *)&stored, sizeof stored, &flag) == SAKER_OK && flag);
    HOLDS(saker_delete(store, (const uint8_t *)&stored, sizeof stored, &flag) == SAKER_OK && flag);
    HOLDS(saker_close(store) == SAKER_OK);
}

static bool is_over;

static void *restless(void *arguments) {
    (void)arguments;
    saker_batch *batch = NULL;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        HOLDS(saker_batch_new(0, &batch) == SAKER_OK && saker_batch_free(batch) == SAKER_OK);
        HOLDS(saker_put(shared, B("restless"), B("x")) == SAKER_OK);
    }
    return NULL;
}

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer of GCC 12 does not take its heap's locks before a fork: a child would wait for one that another thread had. */
static const bool works_beside_forks = false;
#else
static const bool works_beside_forks = true;
#endif

/* A child is told, whatever the parent's threads were at when it was made; what it opens itself is its own. */
static void forks(unsigned count) {
    pthread_t thread;
    int status = 0;
    shared = opened("hash_store");
    if (works_beside_forks)
        pthread_create(&thread, NULL, restless, NULL);
    for (unsigned n = 0; n < count; n++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            saker_store *store = NULL;
            bool is_refused = saker_put(shared, B("key"), B("x")) == SAKER_FORKED && saker_close(shared) == SAKER_FORKED;
            bool is_open = saker_open("mem:?size=4MiB&profile=tiny", &store) == SAKER_OK && saker_put(store, B("key"), B("x")) == SAKER_OK;
            _exit(is_refused && is_open && saker_close(store) == SAKER_OK ? 0 : 1);
        }
        HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    if (works_beside_forks)
        pthread_join(thread, NULL);
    HOLDS(saker_close(shared) == SAKER_OK);
}

/* A child is refused; an image keeps what was answered before SIGKILL. */
static void processes(const char *folder) {
    char path[200], url[220];
    saker_store *store = NULL;
    uint8_t buffer[8];
    size_t bytes = 0;
    int status = 0;
    snprintf(path, sizeof path, "%s/disk.img", folder);
    snprintf(url, sizeof url, "file:%s", path);
    HOLDS(saker_create(path, "16MiB", "tiny", "lsm") == SAKER_OK && saker_create(path, "16MiB", "tiny", "lsm") == SAKER_IMAGE);
    pid_t writer = fork();
    if (writer == 0) {
        if (saker_open(url, &store) != SAKER_OK || saker_put(store, B("key"), B("value")) != SAKER_OK)
            _exit(1);
        raise(SIGKILL);
    }
    HOLDS(waitpid(writer, &status, 0) == writer && WIFSIGNALED(status));
    HOLDS(saker_open(url, &store) == SAKER_OK);
    HOLDS(saker_get(store, B("key"), buffer, sizeof buffer, &bytes) == SAKER_OK && bytes == 5);
    pid_t child = fork();
    if (child == 0)
        _exit(saker_put(store, B("key"), B("x")) == SAKER_FORKED && saker_close(store) == SAKER_FORKED ? 0 : 1);
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* A transaction that was begun before a fork is the parent's. */
    saker_txn *txn = NULL;
    HOLDS(saker_txn_begin(store, &txn) == SAKER_OK && saker_txn_put(txn, B("both"), B("1")) == SAKER_OK);
    child = fork();
    if (child == 0) {
        bool is_refused = saker_txn_put(txn, B("child"), B("x")) == SAKER_FORKED && saker_txn_commit_as(txn, HOST, 1, NULL) == SAKER_FORKED;
        _exit(is_refused && saker_txn_begin(store, &txn) == SAKER_FORKED ? 0 : 1);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    HOLDS(saker_txn_commit_as(txn, HOST, 1, NULL) == SAKER_OK && saker_get(store, B("both"), buffer, sizeof buffer, &bytes) == SAKER_OK);
    HOLDS(saker_get(store, B("child"), buffer, sizeof buffer, &bytes) == SAKER_NOT_FOUND);
    HOLDS(saker_put(store, B("key"), B("still here")) == SAKER_OK && saker_close(store) == SAKER_OK);
}

/* A transaction that was answered is there after a power cut, on a device without a capacitor; one that was not flushed says so. */
static void through(const char *folder, const char *engine, unsigned cuts) {
    char path[200], url[300];
    uint8_t value[4];
    size_t bytes = 0;
    unsigned answered = 0, unflushed = 0;
    saker_store *store = NULL;
    saker_txn *txn = NULL;
    snprintf(path, sizeof path, "%s/through.img", folder);
    for (unsigned cut_at = 1; cut_at < cuts; cut_at += 3) {
        unsigned number = 0, found = 0;
        int32_t answer = SAKER_OK;
        HOLDS(saker_create(path, "256MiB", "nvmevirt-970pro", engine) == SAKER_OK);
        snprintf(url, sizeof url, "file:%s?fault.cut=%u&fault.seed=%u", path, cut_at, cut_at);
        HOLDS(saker_open(url, &store) == SAKER_OK);
        while (answer == SAKER_OK) {
            number++;
            HOLDS(saker_txn_begin(store, &txn) == SAKER_OK);
            HOLDS(saker_txn_put(txn, B("number"), (const uint8_t *)&number, sizeof number) == SAKER_OK);
            answer = saker_txn_commit_through(txn);
            HOLDS(saker_txn_commit_through(txn) == SAKER_CLOSED);
        }
        answered += number - 1;
        unflushed += answer == SAKER_UNFLUSHED && saker_error_is(answer, SAKER_HOST) && !saker_error_is(answer, SAKER_TRANSACTION);
        saker_close(store);   /* there is no power */
        snprintf(url, sizeof url, "file:%s", path);
        HOLDS(saker_open(url, &store) == SAKER_OK);
        answer = saker_get(store, B("number"), value, sizeof value, &bytes);
        if (answer == SAKER_OK)
            memcpy(&found, value, sizeof found);
        HOLDS(found == number || found + 1 == number);
        HOLDS(saker_close(store) == SAKER_OK && remove(path) == 0);
    }
    HOLDS(answered > 0 && unflushed > 0);
}

/* An image is made, is found, and grows. */
static void growing(const char *folder) {
    char path[200], *larger[] = {"16MiB", "32MiB", "16MiB"};
    saker_store *store = NULL;
    bool flag = false;
    snprintf(path, sizeof path, "%s/growing.img", folder);
    for (unsigned n = 0; n < 3; n++) {
        HOLDS(saker_open_or_create(path, larger[n], "tiny", "tree", &store) == SAKER_OK);
        HOLDS(saker_exists(store, B("key"), &flag) == SAKER_OK && flag == (n > 0));
        HOLDS(saker_put(store, B("key"), B("value")) == SAKER_OK && saker_close(store) == SAKER_OK);
    }
    HOLDS(saker_open_or_create(path, "16MiB", "tiny", "none", &store) == SAKER_ARGUMENT && store == NULL);
}

int main(int count, char **arguments) {
    static const char *engines[] = {"hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"};
    if (count != 3) {
        fprintf(stderr, "usage: test FOLDER few|check|soak\n");
        return 2;
    }
    bool is_few = strcmp(arguments[2], "few") == 0, is_soak = strcmp(arguments[2], "soak") == 0;
    for (size_t n = 0; n < (is_few ? 1 : sizeof engines / sizeof *engines); n++) {
        pairs(engines[n]);
        batches_and_scans(engines[n]);
        many_and_facts(engines[n]);
        transactions(engines[n]);
        too_long(engines[n]);
        through(arguments[1], engines[n], is_few ? 6 : is_soak ? 200 : 20);
    }
    misuse();
    threads();
    many_scans("lsm");
    many_scans("tree");
    processes(arguments[1]);
    growing(arguments[1]);
    forks(is_few ? 2 : is_soak ? 500 : 20);
    if (!is_few)
        full();
    printf("%d do not hold\n", failures);
    return failures != 0;
}
