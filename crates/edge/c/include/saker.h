/* Key-value SSDs in user space. docs/c.md of the source tree is the page for users.
 *
 * Every call answers SAKER_OK or the number of a kind of failure; saker_error_text says what to do about the last failure of the calling
 * thread. Handles are not followed: one that was closed, or never was one, is SAKER_CLOSED. Any thread may use any handle, at the same
 * time: a device does one call at a time. A child of a fork must not use its parent's handles: SAKER_FORKED.
 * Memory belongs to the caller and is used during the call only. Null is no bytes where the length is 0.
 *
 * Made by cbindgen; do not edit. */

#ifndef SAKER_H
#define SAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>



/*
 `saker_batch_new`: all of the batch is done or nothing.
 */
#define SAKER_ATOMIC 1

/*
 `saker_range`: values are left out.
 */
#define SAKER_KEYS_ONLY 1

/*
 `saker_range`: in falling order, which only some engines have.
 */
#define SAKER_BACKWARDS 2

/*
 `saker_txn_require`: there is no such pair.
 */
#define SAKER_ABSENT 0

/*
 `saker_txn_require`: there is such a pair.
 */
#define SAKER_PRESENT 1

/*
 `saker_txn_outcome`: it was carried out.
 */
#define SAKER_TXN_DONE 1

/*
 `saker_txn_outcome`: it was not carried out; a commit on its way may do so.
 */
#define SAKER_TXN_NOT_DONE 2

/*
 `saker_txn_outcome`: parts of it are at the device, and no commit.
 */
#define SAKER_TXN_OPEN 3

/*
 What a call answers: `SAKER_OK` or the number of a kind of failure. Numbers stay as they are; later versions have more. `saker_error_is`
 asks whether one is of a wider kind.
 */
enum saker_error
#ifdef __cplusplus
  : int32_t
#endif // __cplusplus
 {
  /*
   `saker_scan_next`: there are no more pairs.
   */
  SAKER_END = -1,
  /*
   Success.
   */
  SAKER_OK = 0,
  /*
   Any failure.
   */
  SAKER_ANY = 1,
  /*
   A device cannot be opened, or an image cannot be made: the kinds up to 19.
   */
  SAKER_OPEN = 10,
  /*
   The URL makes no sense.
   */
  SAKER_URL = 11,
  /*
   An option or a setting that does not suit.
   */
  SAKER_SETTING = 12,
  /*
   There is no such profile.
   */
  SAKER_PROFILE = 13,
  /*
   The size of a device makes no sense.
   */
  SAKER_PLAN = 14,
  /*
   The image cannot be opened.
   */
  SAKER_IMAGE = 15,
  /*
   The image is damaged.
   */
  SAKER_DAMAGED_IMAGE = 16,
  /*
   The device has no such namespace.
   */
  SAKER_NO_NAMESPACE = 17,
  /*
   The target cannot be reached.
   */
  SAKER_REMOTE = 18,
  /*
   The namespace behind the kernel's driver cannot be used.
   */
  SAKER_LINUX = 19,
  /*
   A backup cannot be made, read or restored.
   */
  SAKER_BACKUP = 20,
  /*
   The handle cannot be used, or an argument makes no sense: the kinds up to 34. Nothing was done.
   */
  SAKER_HANDLE = 30,
  /*
   It was closed, or never was a handle of this kind.
   */
  SAKER_CLOSED = 31,
  /*
   It was opened by the process that forked this one.
   */
  SAKER_FORKED = 32,
  /*
   A call has panicked: open the device again.
   */
  SAKER_BROKEN = 33,
  /*
   An argument that no call takes: a null pointer, a buffer that is too short, an unknown flag.
   */
  SAKER_ARGUMENT = 34,
  /*
   The device refused, or did not answer: all kinds from here on.
   */
  SAKER_HOST = 50,
  /*
   No answer came in time.
   */
  SAKER_TIMEOUT = 51,
  /*
   The device broke the protocol.
   */
  SAKER_PROTOCOL = 52,
  /*
   The command could not be submitted.
   */
  SAKER_SUBMIT = 53,
  /*
   The host has no memory for a queue or a buffer.
   */
  SAKER_MEMORY = 54,
  /*
   A status that has no kind of its own.
   */
  SAKER_STATUS = 55,
  /*
   What is stored under the mark of long keys is none of ours.
   */
  SAKER_ENVELOPE = 56,
  /*
   Falling order was asked of a device that keeps none.
   */
  SAKER_NO_ORDER = 57,
  /*
   An operation does not fit a group.
   */
  SAKER_GROUP = 58,
  /*
   A transaction was carried out, and whether it survives a power cut is not known: look whether it is there, then flush again.
   */
  SAKER_UNFLUSHED = 59,
  /*
   The answer of a key-value store: the kinds up to 87.
   */
  SAKER_KV = 70,
  /*
   There is no such key.
   */
  SAKER_NOT_FOUND = 71,
  /*
   The key exists, and should not.
   */
  SAKER_EXISTS = 72,
  /*
   No room: reads and deletes still work.
   */
  SAKER_FULL = 73,
  /*
   The value is too long.
   */
  SAKER_VALUE_LENGTH = 74,
  /*
   The key is empty or too long.
   */
  SAKER_KEY_LENGTH = 75,
  /*
   The device cannot take this now: try again later.
   */
  SAKER_NOT_READY = 76,
  /*
   The device could not write to its storage.
   */
  SAKER_WRITE_FAULT = 77,
  /*
   The namespace is being formatted: try again later.
   */
  SAKER_FORMATTING = 78,
  /*
   Another host has reserved the namespace.
   */
  SAKER_RESERVED = 79,
  /*
   The stored value is damaged.
   */
  SAKER_DAMAGED = 80,
  /*
   No such key-value namespace.
   */
  SAKER_NAMESPACE = 81,
  /*
   The namespace is write protected.
   */
  SAKER_WRITE_PROTECTED = 82,
  /*
   The connection was lost: whether the write took place is not known. Read, then decide.
   */
  SAKER_OUTCOME_UNKNOWN = 83,
  /*
   The connection was lost, and the iterator with it.
   */
  SAKER_ITERATOR_LOST = 84,
  /*
   The device cannot be reached: nothing was written.
   */
  SAKER_UNREACHABLE = 85,
  /*
   The target does not let this host do that.
   */
  SAKER_DENIED = 86,
  /*
   The device has as many scans under way as it can have: close one, then try again.
   */
  SAKER_MANY_SCANS = 87,
  /*
   A transaction was not carried out, and nothing was done: the kinds up to 105.
   */
  SAKER_TRANSACTION = 100,
  /*
   A pair that it read has changed: begin again.
   */
  SAKER_CONFLICT = 101,
  /*
   What it requires does not hold.
   */
  SAKER_UNMET = 102,
  /*
   There are no transactions here.
   */
  SAKER_NO_TRANSACTIONS = 103,
  /*
   It does not fit a command.
   */
  SAKER_TRANSACTION_LENGTH = 104,
  /*
   Its keys are in several shards.
   */
  SAKER_SEVERAL_SHARDS = 105,
};
#ifndef __cplusplus
typedef int32_t saker_error;
#endif // __cplusplus

/*
 Writes that are noted, and leave together.
 */
typedef struct saker_batch saker_batch;

/*
 A scan that is under way.
 */
typedef struct saker_scan saker_scan;

/*
 A device of pairs. Any thread may use it; it does one call at a time.
 */
typedef struct saker_store saker_store;

/*
 A transaction that is being put together.
 */
typedef struct saker_txn saker_txn;

/*
 A key that is asked for among others, and what became of it.
 */
typedef struct saker_wanted {
  /*
   The key.
   */
  const uint8_t *key;
  /*
   Its length.
   */
  size_t key_bytes;
  /*
   Where its value goes.
   */
  uint8_t *buffer;
  /*
   Bytes of the buffer.
   */
  size_t buffer_bytes;
  /*
   Answer: the value's length, which may be more than the buffer's; 0 if it is not there.
   */
  size_t value_bytes;
  /*
   Answer: whether it is there.
   */
  bool is_there;
} saker_wanted;

/*
 Which pairs: keys from `from` on, before `to`, that begin with `prefix`. A length of 0 does not limit it; nor does a `limit` of 0.
 */
typedef struct saker_range {
  /*
   The least key.
   */
  const uint8_t *from;
  /*
   Its length.
   */
  size_t from_bytes;
  /*
   The first key behind the range.
   */
  const uint8_t *to;
  /*
   Its length.
   */
  size_t to_bytes;
  /*
   What every key begins with.
   */
  const uint8_t *prefix;
  /*
   Its length.
   */
  size_t prefix_bytes;
  /*
   Pairs at most.
   */
  uint64_t limit;
  /*
   0, `SAKER_KEYS_ONLY`, `SAKER_BACKWARDS` or both.
   */
  uint32_t flags;
} saker_range;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 One line that says what to do about the last failure of the calling thread; empty if it has had none. It is valid until the thread's next
 failure or its end.
 */
const char *saker_error_text(void);

/*
 The key that the last failure of the calling thread is about, which is valid as long as its text. `bytes` becomes its length, 0 if there is
 none, and may be null.

 # Safety
 `bytes` is null or a place for a number.
 */
const uint8_t *saker_error_key(size_t *bytes);

/*
 The NVMe status (`SCT << 8 | SC`) of the last failure of the calling thread; 0 if the device gave none.
 */
uint16_t saker_error_status(void);

/*
 Whether a number is of a kind: `saker_error_is(SAKER_FULL, SAKER_HOST)`.
 */
bool saker_error_is(int32_t number, int32_t kind);

/*
 Makes an empty batch. `flags` is 0 or `SAKER_ATOMIC`.

 # Safety
 `batch` is null or a place for a handle.
 */
int32_t saker_batch_new(uint32_t flags, struct saker_batch **batch);

/*
 Notes a pair: it is copied.

 # Safety
 There are as many bytes of key and value as the lengths say.
 */
int32_t saker_batch_put(struct saker_batch *batch, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes);

/*
 Notes that a pair is to be deleted.

 # Safety
 There are as many bytes of key as its length says.
 */
int32_t saker_batch_delete(struct saker_batch *batch, const uint8_t *key, size_t key_bytes);

/*
 Carries a batch out: of each key the last write. The batch is empty afterwards, unless a handle was none. `saker_error_key` names the first
 write that failed; the others were carried out, unless the batch is atomic: then nothing was done.
 */
int32_t saker_write(struct saker_store *store, struct saker_batch *batch);

/*
 Forgets a batch.
 */
int32_t saker_batch_free(struct saker_batch *batch);

/*
 Counters, a line each: `pairs 12`. Empty where the device is not on the caller's thread (`tcp:`, `threads=`). As `snprintf`: the text is cut to
 the buffer, with a zero at its end, and `*text_bytes` becomes its whole length.

 # Safety
 There are `buffer_bytes` at `buffer`; `text_bytes` is null or a place for a length.
 */
int32_t saker_stats(struct saker_store *store,
                    char *buffer,
                    size_t buffer_bytes,
                    size_t *text_bytes);

/*
 Settings of the engine, a line each: name, value and kind (`stored`, `kept`, `at open`, `live`). The buffer is as of `saker_stats`.

 # Safety
 As `saker_stats`.
 */
int32_t saker_settings(struct saker_store *store, char *buffer, size_t buffer_bytes, size_t *text_bytes);

/*
 Changes a live setting, at once.

 # Safety
 The texts end with a zero.
 */
int32_t saker_set_setting(struct saker_store *store, const char *name, const char *value);

/*
 Reads the values of many keys, which leave together. If it fails, nothing is said about any of them.

 # Safety
 There are `count` of `wanted`, whose lengths are those of their bytes.
 */
int32_t saker_multi_get(struct saker_store *store, struct saker_wanted *wanted, size_t count);

/*
 Begins a scan of the pairs of a range, or of all if `range` is null. The engines `lsm` and `tree` show it in the order of keys and as of now.
 A device has 16 scans at a time: another one is `SAKER_MANY_SCANS`.

 # Safety
 `range` is null or a range whose lengths are those of its bytes; `scan` is null or a place for a handle.
 */
int32_t saker_scan_open(struct saker_store *store,
                        const struct saker_range *range,
                        struct saker_scan **scan);

/*
 The next pair. `*key_bytes` and `*value_bytes` are the buffers' lengths before and the pair's afterwards. `SAKER_END` behind the last pair;
 `SAKER_ARGUMENT` if a buffer is too short: the pair stays, call again with longer ones. A key has at most 255 bytes, a value 2 MiB.

 # Safety
 There are as many bytes of the buffers as their lengths say; the lengths are null or places for numbers.
 */
int32_t saker_scan_next(struct saker_scan *scan, uint8_t *key, size_t *key_bytes, uint8_t *value, size_t *value_bytes);

/*
 Ends a scan. Until then the device keeps what it sees.
 */
int32_t saker_scan_close(struct saker_scan *scan);

/*
 Makes an image with one namespace of pairs. `size` is such as "1GiB"; `profile` and `engine` may be null. What is there is never overwritten.

 # Safety
 The texts end with a zero.
 */
int32_t saker_create(const char *path,
                     const char *size,
                     const char *profile,
                     const char *engine);

/*
 Opens the device of a URL: "mem:", "file:disk.img", "tcp://HOST:PORT/NQN", "/dev/ng0n1". `*store` is null if it fails.

 # Safety
 `url` ends with a zero; `store` is null or a place for a handle.
 */
int32_t saker_open(const char *url, struct saker_store **store);

/*
 Opens an image, which is made if it is not there, and grows if it is smaller than `size`. One that is there keeps its profile and its engine.

 # Safety
 As `saker_create`; `store` is null or a place for a handle.
 */
int32_t saker_open_or_create(const char *path,
                             const char *size,
                             const char *profile,
                             const char *engine,
                             struct saker_store **store);

/*
 Closes in order: everything is flushed, an image is marked clean. The handle is none afterwards, whatever the answer. Calls of other threads
 that are under way end first. Scans and transactions of the store are told that it is closed; end them as well.
 */
int32_t saker_close(struct saker_store *store);

/*
 Stores a pair. A key has 1 to 255 bytes, a value up to 2 MiB.

 # Safety
 There are as many bytes of key and value as the lengths say.
 */
int32_t saker_put(struct saker_store *store, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes);

/*
 Stores a pair if its key is not there. `*stored` becomes whether it was stored; it may be null.

 # Safety
 As `saker_put`; `stored` is null or a place for the answer.
 */
int32_t saker_put_if_absent(struct saker_store *store,
                            const uint8_t *key,
                            size_t key_bytes,
                            const uint8_t *value,
                            size_t value_bytes,
                            bool *stored);

/*
 Reads a value into a buffer. `*value_bytes` becomes the value's length, which may be more than the buffer's: its beginning is there then.

 # Safety
 There are as many bytes of key and buffer as the lengths say; `value_bytes` is null or a place for a length.
 */
int32_t saker_get(struct saker_store *store,
                  const uint8_t *key,
                  size_t key_bytes,
                  uint8_t *buffer,
                  size_t buffer_bytes,
                  size_t *value_bytes);

/*
 Deletes a pair, if it is there. `*was_there` becomes whether it was; it may be null.

 # Safety
 There are as many bytes of key as its length says; `was_there` is null or a place for the answer.
 */
int32_t saker_delete(struct saker_store *store, const uint8_t *key, size_t key_bytes, bool *was_there);

/*
 `*is_there` becomes whether there is such a pair.

 # Safety
 There are as many bytes of key as its length says; `is_there` is null or a place for the answer.
 */
int32_t saker_exists(struct saker_store *store, const uint8_t *key, size_t key_bytes, bool *is_there);

/*
 What was answered survives a power cut when this returns.
 */
int32_t saker_flush(struct saker_store *store);

/*
 Deletes everything.
 */
int32_t saker_format(struct saker_store *store);

/*
 Begins a transaction. It is optimistic: nothing is locked, and nothing is at the device before the commit. End it with `saker_txn_commit` or
 `saker_txn_abort`.

 # Safety
 `txn` is null or a place for a handle.
 */
int32_t saker_txn_begin(struct saker_store *store,
                        struct saker_txn **txn);

/*
 Reads a value as `saker_get`. It must not change until the commit.

 # Safety
 As `saker_get`.
 */
int32_t saker_txn_get(struct saker_txn *txn,
                      const uint8_t *key,
                      size_t key_bytes,
                      uint8_t *buffer,
                      size_t buffer_bytes,
                      size_t *value_bytes);

/*
 Stores a pair when the transaction is committed: it is copied.

 # Safety
 As `saker_put`.
 */
int32_t saker_txn_put(struct saker_txn *txn, const uint8_t *key, size_t key_bytes, const uint8_t *value, size_t value_bytes);

/*
 Deletes a pair when the transaction is committed.

 # Safety
 As `saker_delete`.
 */
int32_t saker_txn_delete(struct saker_txn *txn, const uint8_t *key, size_t key_bytes, bool *was_there);

/*
 Requires `SAKER_ABSENT` or `SAKER_PRESENT` of a pair at the commit, which is `SAKER_UNMET` if it does not hold.

 # Safety
 There are as many bytes of key as its length says.
 */
int32_t saker_txn_require(struct saker_txn *txn, const uint8_t *key, size_t key_bytes, uint32_t what);

/*
 Carries it out: all of it or nothing. The handle is none afterwards, whatever the answer. `SAKER_CONFLICT`: begin again.
 */
int32_t saker_txn_commit(struct saker_txn *txn);

/*
 As `saker_txn_commit`, and returns when the transaction survives a power cut, with all that was carried out before it. Threads that commit at
 the same time share a flush. `SAKER_UNFLUSHED`: it was carried out, and whether it survives a power cut is not known.
 */
int32_t saker_txn_commit_through(struct saker_txn *txn);

/*
 Carries it out under an ID, once: `host` is 16 bytes that no other host has, and numbers rise. A commit whose answer is lost is sent again
 by itself; so may a program that was restarted, with the same ID. `*was_done` says whether it was carried out before, and nothing was done
 now. The device remembers the last 4,096 numbers of a host; older ones are `SAKER_OUTCOME_UNKNOWN`. The handle is none afterwards,
 whatever the answer.

 # Safety
 `host` is null or 16 bytes; `was_done` is null or a place for an answer.
 */
int32_t saker_txn_commit_as(struct saker_txn *txn, const uint8_t *host, uint64_t number, bool *was_done);

/*
 What became of the transaction of an ID: `SAKER_TXN_DONE`, `SAKER_TXN_NOT_DONE` or `SAKER_TXN_OPEN`.

 # Safety
 `host` is null or 16 bytes; `outcome` is null or a place for an answer.
 */
int32_t saker_txn_outcome(struct saker_store *store, const uint8_t *host, uint64_t number, uint32_t *outcome);

/*
 Forgets it. The handle is none afterwards.
 */
int32_t saker_txn_abort(struct saker_txn *txn);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SAKER_H */
