// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the test programs share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/version.h>

// Ends the test with a line if something does not hold.
#define HOLDS(what, ...)                                        \
  do {                                                          \
    if (!(what)) {                                              \
      fprintf(stderr, "%s:%d: %s:", __FILE__, __LINE__, #what); \
      fprintf(stderr, " " __VA_ARGS__);                         \
      fprintf(stderr, "\n");                                    \
      exit(1);                                                  \
    }                                                           \
  } while (false)

#define OK(call)                                     \
  do {                                               \
    const auto status_ = (call);                     \
    HOLDS(status_.ok(), "%s", status_.ToString().c_str()); \
  } while (false)

inline std::shared_ptr<rocksdb::FileSystem> FilesOf(const std::string& url) {
  std::shared_ptr<rocksdb::FileSystem> files;
  OK(rocksdb::FileSystem::CreateFromString(rocksdb::ConfigOptions(), "id=saker://" + url, &files));
  return files;
}

// Opens a database by the interface of each version.
inline rocksdb::Status Open(const rocksdb::Options& options, const std::string& path, std::unique_ptr<rocksdb::DB>* db) {
#if ROCKSDB_MAJOR >= 11
  return rocksdb::DB::Open(options, path, db);
#else
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, &opened);
  db->reset(opened);
  return status;
#endif
}
