// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the file system in Rust offers to RocksDB's side. `src/border.rs` has the other half.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

// How a call ended. The order is that of `Code` in `src/outcome.rs`.
enum saker_code : int32_t {
  SAKER_OK,
  SAKER_NOT_FOUND,
  SAKER_NO_SPACE,
  SAKER_LOCKED,
  SAKER_CORRUPTION,
  SAKER_INVALID,
  SAKER_IO,
};

// `text` ends with NUL; it is set unless the code is SAKER_OK.
struct saker_outcome {
  int32_t code;
  char text[508];
};

struct saker_text {
  const char* bytes;
  size_t length;
};

struct saker_stat {
  uint64_t inode;
  uint64_t bytes;
  uint64_t seconds;
  uint32_t links;
  uint32_t is_directory;
};

struct saker_volume;
struct saker_file;

// Writes of a database. The order is that of `Condition` in `src/watch.rs`.
enum saker_condition : int32_t {
  SAKER_GOES_ON,
  SAKER_DELAYED,
  SAKER_STOPPED,
};

struct saker_watch;

typedef void (*saker_entry)(void* context, saker_text name, const saker_stat* stat);

// The files of a device; those of one URL are one for all that open it. NULL: it failed.
saker_volume* saker_volume_open(saker_text url, saker_outcome*);
void saker_volume_close(saker_volume*);
// The program ends: all volumes are closed in order. What is called later fails.
void saker_volumes_leave(void);
void saker_volume_space(saker_volume*, uint64_t* free_bytes);
void saker_volume_sync_names(saker_volume*, saker_outcome*);

// `mode`: 0 opens what is there, 1 makes a new file in place of what is there, 2 opens or makes. NULL: it failed.
saker_file* saker_file_open(saker_volume*, saker_text path, int32_t mode, saker_outcome*);
saker_file* saker_file_lock(saker_volume*, saker_text path, saker_outcome*);
void saker_file_unlock(saker_file*, saker_outcome*);
// Frees the file, whatever the outcome is.
void saker_file_close(saker_file*, saker_outcome*);
uint64_t saker_file_bytes(saker_file*);
uint64_t saker_file_inode(saker_file*);
size_t saker_file_read(saker_file*, uint64_t offset, char* out, size_t bytes, saker_outcome*);
void saker_file_append(saker_file*, saker_text data, saker_outcome*);
void saker_file_truncate(saker_file*, uint64_t bytes, saker_outcome*);
// What is appended goes to the device. No record says so yet.
void saker_file_send(saker_file*, saker_outcome*);
// What is appended outlives the program.
void saker_file_flush(saker_file*, saker_outcome*);
// What is appended is durable.
void saker_file_sync(saker_file*, saker_outcome*);

void saker_path_stat(saker_volume*, saker_text path, saker_stat*, saker_outcome*);
void saker_path_list(saker_volume*, saker_text path, saker_entry, void* context, saker_outcome*);
void saker_path_remove(saker_volume*, saker_text path, saker_outcome*);
// `is_error`: whether a directory that is there is an error.
void saker_path_make_directory(saker_volume*, saker_text path, int32_t is_error, saker_outcome*);
void saker_path_remove_directory(saker_volume*, saker_text path, saker_outcome*);
void saker_path_rename(saker_volume*, saker_text from, saker_text to, saker_outcome*);
void saker_path_link(saker_volume*, saker_text from, saker_text to, saker_outcome*);

// Who watches under that number; NULL: nobody. Given back by saker_watch_leave, which takes NULL, as all below do.
saker_watch* saker_watch_of(uint64_t number);
void saker_watch_leave(saker_watch*);
void saker_watch_condition(saker_watch*, int32_t condition);
void saker_watch_flushed(saker_watch*);
void saker_watch_compacted(saker_watch*);
}
