// SPDX-License-Identifier: Apache-2.0 OR MIT
// A listener of RocksDB's that tells Rust (`src/listener.rs`) when writes are stopped and go on, and what ended in the background. It is
// registered when the library is loaded, so that options can name it: `listeners=saker_watch-7` tells watcher 7.

#include <cstdlib>
#include <memory>
#include <string>

#include <rocksdb/listener.h>
#include <rocksdb/utilities/object_registry.h>

#include "saker_rocksdb.h"

namespace {

using namespace ROCKSDB_NAMESPACE;

const char* const kName = "saker_watch";

class Watching : public EventListener {
 public:
  explicit Watching(const std::string& id)
      : id_(id), watch_(saker_watch_of(strtoull(id.c_str() + strlen(kName) + 1, nullptr, 10))) {}
  ~Watching() override { saker_watch_leave(watch_); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

  const char* Name() const override { return kName; }
  std::string GetId() const override { return id_; }

  void OnStallConditionsChanged(const WriteStallInfo& info) override {
    switch (info.condition.cur) {
      case WriteStallCondition::kStopped:
        return saker_watch_condition(watch_, SAKER_STOPPED);
      case WriteStallCondition::kDelayed:
        return saker_watch_condition(watch_, SAKER_DELAYED);
      default:
        return saker_watch_condition(watch_, SAKER_GOES_ON);
    }
  }

  void OnFlushCompleted(DB*, const FlushJobInfo&) override { saker_watch_flushed(watch_); }
  void OnCompactionCompleted(DB*, const CompactionJobInfo&) override { saker_watch_compacted(watch_); }

 private:
  const std::string id_;
  // NULL: nobody watches; RocksDB makes another listener of the name when it reads the options that it has written.
  saker_watch* const watch_;
};

int Register() {
  ObjectLibrary::Default()->AddFactory<EventListener>(
      ObjectLibrary::PatternEntry(kName, false).AddNumber("-"),
      [](const std::string& id, std::unique_ptr<EventListener>* made, std::string*) {
        made->reset(new Watching(id));
        return made->get();
      });
  return 0;
}

const int kRegistered = Register();

}  // namespace
