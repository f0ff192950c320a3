// SPDX-License-Identifier: Apache-2.0 OR MIT
// A database is filled, overwritten, read beside a writer, and walked; its backup, what that restores, and its checkpoint have the same
// pairs. For versions of RocksDB that come without db_bench and ldb. usage: database URL KEYS

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/backup_engine.h>
#include <rocksdb/utilities/checkpoint.h>

#include "common.h"

using namespace rocksdb;

namespace {

using Model = std::map<std::string, std::string>;

std::string Key(uint64_t n) {
  char key[17];
  snprintf(key, sizeof(key), "%016llu", static_cast<unsigned long long>(n));
  return key;
}

std::string Value(uint64_t n, uint64_t round) {
  std::string value(100, 0);
  for (size_t at = 0; at < value.size(); at++) value[at] = static_cast<char>(n * 31 + round * 7 + at);
  return value;
}

uint64_t Next(uint64_t& state) { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 17; }

Options Small(Env* env) {
  Options options;
  options.env = env;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  options.target_file_size_base = 1 << 20;
  options.compression = kNoCompression;
  BlockBasedTableOptions table;
  table.filter_policy.reset(NewBloomFilterPolicy(10));
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  return options;
}

void Same(DB* db, const Model& model) {
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  auto wanted = model.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++wanted) {
    HOLDS(wanted != model.end() && it->key() == Slice(wanted->first) && it->value() == Slice(wanted->second));
  }
  OK(it->status());
  HOLDS(wanted == model.end());
  OK(db->VerifyChecksum());
}

void Fill(DB* db, Model& model, uint64_t keys, uint64_t round, uint64_t seed) {
  for (uint64_t n = 0; n < keys; n++) {
    const uint64_t key = round == 0 ? n : Next(seed) % keys;
    model[Key(key)] = Value(key, round);
    OK(db->Put(WriteOptions(), Key(key), Value(key, round)));
  }
}

// Readers see for each key what one of the rounds wrote.
void ReadBesideAWriter(DB* db, Model& model, uint64_t keys) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (uint64_t salt = 1; salt <= 2; salt++) {
    readers.emplace_back([&, salt] {
      uint64_t seed = salt;
      while (!stop) {
        const uint64_t key = Next(seed) % keys;
        std::string value;
        OK(db->Get(ReadOptions(), Key(key), &value));
        HOLDS(value == Value(key, 0) || value == Value(key, 1) || value == Value(key, 2));
        std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
        it->Seek(Key(key));
        for (uint64_t n = key; n < std::min(key + 20, keys); n++, it->Next()) HOLDS(it->Valid() && it->key() == Slice(Key(n)));
      }
    });
  }
  Fill(db, model, keys, 2, 5);
  stop = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace

int main(int count, char** arguments) {
  HOLDS(count == 3, "usage: database URL KEYS");
  const uint64_t keys = std::stoull(arguments[2]);
  auto env = NewCompositeEnv(FilesOf(arguments[1]));
  const Options options = Small(env.get());
  Model model;
  std::unique_ptr<DB> db;
  OK(Open(options, "/database", &db));
  Fill(db.get(), model, keys, 0, 0);
  Fill(db.get(), model, keys, 1, 4);
  ReadBesideAWriter(db.get(), model, keys);
  Same(db.get(), model);
  Checkpoint* checkpoint = nullptr;
  OK(Checkpoint::Create(db.get(), &checkpoint));
  OK(checkpoint->CreateCheckpoint("/checkpoint"));
  delete checkpoint;
  BackupEngineOptions backups("/backup", env.get());
  BackupEngine* engine = nullptr;
  OK(BackupEngine::Open(backups, env.get(), &engine));
  OK(engine->CreateNewBackup(db.get(), true));
  // What comes later is in neither.
  OK(db->Put(WriteOptions(), "later", "than both"));
  OK(db->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  OK(engine->VerifyBackup(1, true));
  OK(engine->RestoreDBFromLatestBackup("/restored", "/restored"));
  delete engine;
  for (const char* copy : {"/checkpoint", "/restored"}) {
    std::unique_ptr<DB> other;
    OK(Open(options, copy, &other));
    Same(other.get(), model);
    OK(other->Close());
  }
  OK(db->Close());
  db.reset();
  OK(Open(options, "/database", &db));
  model["later"] = "than both";
  Same(db.get(), model);
  OK(db->Close());
  printf("%d pairs, RocksDB %d.%d.%d\n", int(model.size()), ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
}
