/* Key-value SSDs in user space. docs/c.md is the page for users.
 *
 * Every call answers SAKER_OK or the number of a class of failures; saker_error_text says what to do, of the last failure of the calling
 * thread. Handles are numbers: one that was closed, or never was one, is SAKER_CLOSED. Any thread may use any handle, at the same time:
 * a device does one call at a time. A child of a fork must not use its parent's handles: SAKER_FORKED.
 * Memory belongs to the caller, and is used during the call only. Null is no bytes where the length is 0.
 */
#ifndef SAKER_H
#define SAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t saker_store;
typedef uint64_t saker_batch;
typedef uint64_t saker_scan;
typedef uint64_t saker_txn;

/* Classes of failures. Those with an indent are kinds of the one before them: see saker_error_is. */
enum saker_error {
    SAKER_END = -1, /* saker_scan_next: there are no more pairs */
    SAKER_OK = 0,
    SAKER_ANY = 1,
    SAKER_OPEN = 10,
        SAKER_URL = 11, SAKER_SETTING = 12, SAKER_PROFILE = 13, SAKER_PLAN = 14, SAKER_IMAGE = 15, SAKER_DAMAGED_IMAGE = 16,
        SAKER_NO_NAMESPACE = 17, SAKER_REMOTE = 18, SAKER_LINUX = 19,
    SAKER_HANDLE = 30,
        SAKER_CLOSED = 31, SAKER_FORKED = 32, SAKER_BROKEN = 33, SAKER_ARGUMENT = 34,
    SAKER_HOST = 50,
        SAKER_TIMEOUT = 51, SAKER_PROTOCOL = 52, SAKER_SUBMIT = 53, SAKER_MEMORY = 54, SAKER_STATUS = 55, SAKER_ENVELOPE = 56,
        SAKER_NO_ORDER = 57, SAKER_GROUP = 58,
    SAKER_KV = 70, /* of SAKER_HOST */
        SAKER_NOT_FOUND = 71, SAKER_EXISTS = 72, SAKER_FULL = 73, SAKER_VALUE_LENGTH = 74, SAKER_KEY_LENGTH = 75,
        SAKER_NOT_READY = 76, SAKER_WRITE_FAULT = 77, SAKER_FORMATTING = 78, SAKER_RESERVED = 79, SAKER_DAMAGED = 80,
        SAKER_NAMESPACE = 81, SAKER_WRITE_PROTECTED = 82, SAKER_OUTCOME_UNKNOWN = 83, SAKER_ITERATOR_LOST = 84, SAKER_UNREACHABLE = 85,
    SAKER_TRANSACTION = 100, /* of SAKER_HOST: nothing was done */
        SAKER_CONFLICT = 101, SAKER_UNMET = 102, SAKER_NO_TRANSACTIONS = 103, SAKER_TRANSACTION_LENGTH = 104, SAKER_SEVERAL_SHARDS = 105
};

/* Of the last failure of this thread; valid until its next one. The key's length is 0 if there is none. */
const char *saker_error_text(void);
const uint8_t *saker_error_key(size_t *bytes);
/* Whether a number is of a class: saker_error_is(SAKER_FULL, SAKER_HOST). */
bool saker_error_is(int32_t number, int32_t error_class);

/* Makes an image with one namespace of pairs. size is such as "1GiB"; profile and engine may be null. */
int32_t saker_create(const char *path, const char *size, const char *profile, const char *engine);
/* Opens the device of a URL: "mem:", "file:disk.img", "tcp://HOST:PORT/NQN", "/dev/ng0n1". */
int32_t saker_open(const char *url, saker_store *store);
/* Closes in order. The handle is none afterwards, whatever the answer. */
int32_t saker_close(saker_store store);

int32_t saker_put(saker_store store, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes);
/* stored may be null. */
int32_t saker_put_if_absent(saker_store store, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes,
                            bool *stored);
/* *value_bytes becomes the value's length, which may be more than the buffer's: its beginning is there then. */
int32_t saker_get(saker_store store, const uint8_t *key, size_t key_bytes, uint8_t *buffer, size_t buffer_bytes, size_t *value_bytes);
/* was_there may be null. */
int32_t saker_delete(saker_store store, const uint8_t *key, size_t key_bytes, bool *was_there);
int32_t saker_exists(saker_store store, const uint8_t *key, size_t key_bytes, bool *is_there);
/* What was answered survives a power cut when this returns. */
int32_t saker_flush(saker_store store);
/* Deletes everything. */
int32_t saker_format(saker_store store);

/* Writes that leave together: of an atomic batch all is done or nothing. saker_write empties the batch, whatever the answer. */
int32_t saker_batch_new(bool is_atomic, saker_batch *batch);
int32_t saker_batch_put(saker_batch batch, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes);
int32_t saker_batch_delete(saker_batch batch, const uint8_t *key, size_t key_bytes);
int32_t saker_write(saker_store store, saker_batch batch);
int32_t saker_batch_free(saker_batch batch);

/* Keys from `from` on, before `to`, that begin with `prefix`; empty ones do not limit it. limit 0: all. */
typedef struct saker_range {
    const uint8_t *from;
    size_t from_bytes;
    const uint8_t *to;
    size_t to_bytes;
    const uint8_t *prefix;
    size_t prefix_bytes;
    uint64_t limit;
    bool keys_only;
    bool backwards;
} saker_range;

/* range may be null: all pairs. */
int32_t saker_scan_open(saker_store store, const saker_range *range, saker_scan *scan);
/* The next pair. *key_bytes and *value_bytes are the buffers' lengths before and the pair's afterwards. SAKER_END behind the last pair;
 * SAKER_ARGUMENT if a buffer is too short: call again with longer ones. A key has at most 255 bytes, a value 2 MiB. */
int32_t saker_scan_next(saker_scan scan, uint8_t *key, size_t *key_bytes, uint8_t *value, size_t *value_bytes);
int32_t saker_scan_close(saker_scan scan);

/* Transactions: see docs/api.md. commit and abort end the handle, whatever the answer; SAKER_CONFLICT: begin again. */
int32_t saker_txn_begin(saker_store store, saker_txn *txn);
int32_t saker_txn_get(saker_txn txn, const uint8_t *key, size_t key_bytes, uint8_t *buffer, size_t buffer_bytes, size_t *value_bytes);
int32_t saker_txn_put(saker_txn txn, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes);
int32_t saker_txn_delete(saker_txn txn, const uint8_t *key, size_t key_bytes, bool *was_there);
int32_t saker_txn_commit(saker_txn txn);
int32_t saker_txn_abort(saker_txn txn);

#ifdef __cplusplus
}
#endif
#endif
