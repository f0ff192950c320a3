// SPDX-License-Identifier: Apache-2.0 OR MIT
// A program that uses RocksDB dies again and again. What the database then has is what some prefix of its writes made, and no write is
// missing that was acknowledged and has to be there: where power goes each synced one, else each.
//
// usage: crash kill URL LIVES SEED              it is killed (SIGKILL), often in the middle of a compaction
//        crash cut URL LIVES SEED               the device loses power at a program or erase of its flash
//        crash server URL LIVES SEED SAKER      the server is killed that has the image of the URL, `file:IMAGE`; SAKER is the command
//
// The state that is expected is the ground truth: the parent makes it from the seed, and from what the child said in a file of the host's,
// which a death leaves: what it was about to write, what was acknowledged, and what of that was synced.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "common.h"

using namespace rocksdb;

extern char** environ;

namespace {

constexpr uint64_t kKeys = 3000;
const char kPosition[] = "position";

struct Random {
  uint64_t state;
  uint64_t Next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t end) { return Next() % end; }
};

// A database with small files, so that it flushes and compacts all the time, and its own file system.
struct Database {
  std::unique_ptr<Env> env;
  std::unique_ptr<DB> db;

  explicit Database(const std::string& url) {
    std::shared_ptr<FileSystem> files;
    status = FileSystem::CreateFromString(ConfigOptions(), "id=saker://" + url, &files);
    // A server may be dead already.
    if (!status.ok()) return;
    env = NewCompositeEnv(files);
    Options options;
    options.env = env.get();
    options.create_if_missing = true;
    options.write_buffer_size = 64 << 10;
    options.target_file_size_base = 64 << 10;
    options.max_bytes_for_level_base = 256 << 10;
    options.level0_file_num_compaction_trigger = 2;
    options.max_background_jobs = 2;
    options.compression = kNoCompression;
    options.paranoid_checks = true;
    // The prefix law needs the log to be whole up to where it ends.
    options.wal_recovery_mode = WALRecoveryMode::kPointInTimeRecovery;
    status = Open(options, "/db", &db);
  }
  ~Database() {
    if (db) db->Close().PermitUncheckedError();
  }

  Status status;
};

// One write, by its number and the life that it is done in.
struct Change {
  std::string key, value;
  bool removes, syncs;
  uint64_t flushes;

  Change(uint64_t seed, uint64_t life, uint64_t number) {
    Random random{seed * 1000003 + life * 7919 + number * 104729};
    key = "key" + std::to_string(random.Below(kKeys));
    removes = random.Below(8) == 0;
    syncs = random.Below(4) == 0;
    flushes = random.Below(400);
    value.resize(random.Below(600));
    for (char& byte : value) byte = static_cast<char>(random.Next());
  }
};

// What a child says, in a file of the host's: two numbers in their places.
class Said {
 public:
  explicit Said(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CREAT, 0600)) { HOLDS(file_ >= 0); }
  ~Said() { close(file_); }
  void Say(int what, uint64_t number) { HOLDS(pwrite(file_, &number, 8, what * 8) == 8); }
  uint64_t Of(int what) {
    uint64_t number = 0;
    HOLDS(pread(file_, &number, 8, what * 8) >= 0);
    return number;
  }

 private:
  int file_;
};
enum { kBegun = 0, kSynced = 1, kAcknowledged = 2 };

// Writes until it dies, or until the device does.
int Write(const std::string& url, const std::string& said_path, uint64_t seed, uint64_t life) {
  Said said(said_path);
  Database database(url);
  if (!database.db) return 3;
  std::string position;
  const Status found = database.db->Get(ReadOptions(), kPosition, &position);
  // A device that is gone already does not say where to go on.
  if (!found.ok() && !found.IsNotFound()) _exit(3);
  for (uint64_t number = found.ok() ? std::stoull(position) + 1 : 1;; number++) {
    const Change change(seed, life, number);
    WriteBatch batch;
    OK(batch.Put(kPosition, std::to_string(number)));
    OK(change.removes ? batch.Delete(change.key) : batch.Put(change.key, change.value));
    WriteOptions options;
    options.sync = change.syncs;
    said.Say(kBegun, number);
    if (!database.db->Write(options, &batch).ok()) break;
    said.Say(kAcknowledged, number);
    if (change.syncs) said.Say(kSynced, number);
    if (change.flushes == 0 && !database.db->Flush(FlushOptions()).ok()) break;
    if (change.flushes == 1) database.db->CompactRange(CompactRangeOptions(), nullptr, nullptr).PermitUncheckedError();
  }
  // The device has no power: nothing can be closed in order.
  _exit(3);
}

// Starts a program, without the plug-in unless it is this one again. What it says goes to a file.
pid_t Start(std::vector<std::string> words, const std::string& errors, int stream = 2) {
  const bool is_this = stream == 2;
  std::vector<char*> environment;
  for (char** entry = environ; *entry; entry++) {
    if (is_this || strncmp(*entry, "LD_PRELOAD=", 11) != 0) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  std::vector<char*> raw;
  for (auto& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  pid_t child = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, stream, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const char* program = is_this ? "/proc/self/exe" : raw[0];
  HOLDS(posix_spawn(&child, program, &actions, nullptr, raw.data(), environment.data()) == 0, "%s", program);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

// A server of an image, on a port of its own choice.
struct Server {
  pid_t pid = 0;
  std::string url;

  Server(const std::string& saker, const std::string& image, const std::string& says) {
    pid = Start({saker, "serve", "--image", image, "--listen", "127.0.0.1:0"}, says, 1);
    for (int tries = 0; url.empty() && tries < 3000; tries++) {
      std::ifstream file(says);
      std::string word, at;
      while (file >> word) {
        if (word == "serving" && file >> at && at.rfind("tcp://", 0) == 0 && file.peek() != EOF) url = at + "?reconnect=0";
      }
      usleep(10000);
    }
    HOLDS(!url.empty(), "the server does not begin; see %s", says.c_str());
  }
  void IsKilled() {
    int ended = 0;
    HOLDS(waitpid(pid, &ended, 0) == pid && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL, "the server ended by itself");
  }
};

// Kills the victim behind some of the child's writes, a moment into the next; one in six while the child opens the database.
void Kill(pid_t victim, pid_t child, const std::string& said_path, uint64_t position, Random& random) {
  const bool is_opening = random.Below(6) == 0;
  const uint64_t writes = 1 + random.Below(2500);
  const auto moment = static_cast<useconds_t>(random.Below(is_opening ? 20000 : 3000));
  Said said(said_path);
  siginfo_t ended{};
  while (!is_opening && said.Of(kBegun) < position + writes) {
    usleep(500);
    // A child that ended by itself is judged by who waits for it.
    if (waitid(P_PID, child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == child) return;
  }
  usleep(moment);
  kill(victim, SIGKILL);
}

// Whether a child ended as it should. Debian's RocksDB has its assertions on, and one of them fails where a table is closed whose file
// has refused a write; a panic of the plug-in is something else.
bool IsExpected(int ended, bool is_killed, const std::string& errors) {
  std::ifstream file(errors);
  const std::string said((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (said.find("panicked") != std::string::npos) return false;
  if (is_killed) return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
  const bool aborted = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT;
  return (WIFEXITED(ended) && WEXITSTATUS(ended) == 3) || (aborted && said.find("AssertFalseAndGetStatus") != std::string::npos);
}

using Model = std::map<std::string, std::string>;

void Compare(DB* db, const Model& model) {
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  auto wanted = model.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++wanted) {
    HOLDS(wanted != model.end() && it->key() == Slice(wanted->first) && it->value() == Slice(wanted->second),
          "%s is not what was written", it->key().ToString().c_str());
  }
  OK(it->status());
  HOLDS(wanted == model.end(), "%s is missing", wanted->first.c_str());
  OK(db->VerifyChecksum());
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments, arguments + count);
  if (count == 6 && words[1] == "child") return Write(words[2], words[3], std::stoull(words[4]), std::stoull(words[5]));
  const bool cuts = count == 5 && words[1] == "cut", kills = count == 5 && words[1] == "kill";
  const bool serves = count == 6 && words[1] == "server";
  HOLDS(cuts || kills || serves, "usage: crash kill|cut URL LIVES SEED, or crash server URL LIVES SEED SAKER");
  const std::string url = words[2];
  const uint64_t lives = std::stoull(words[3]), seed = std::stoull(words[4]);
  char said_path[] = "/tmp/saker-rocksdb-said-XXXXXX";
  close(mkstemp(said_path));
  const std::string errors = std::string(said_path) + ".stderr";
  Random random{seed};
  Model model;
  uint64_t position = 0, synced_in_all = 0, acknowledged_in_all = 0, lost = 0;
  for (uint64_t life = 0; life < lives; life++) {
    { Said(said_path).Say(kBegun, position), Said(said_path).Say(kSynced, 0), Said(said_path).Say(kAcknowledged, 0); }
    const std::string faults = cuts ? "?fault.cut=" + std::to_string(1 + random.Below(300)) : "";
    std::unique_ptr<Server> server;
    if (serves) server.reset(new Server(words[5], url.substr(url.find(':') + 1), std::string(said_path) + ".serves"));
    const std::string used = serves ? server->url : url + faults;
    const pid_t child = Start({words[0], "child", used, said_path, words[4], std::to_string(life)}, errors);
    if (!cuts) Kill(serves ? server->pid : child, child, said_path, position, random);
    int ended = 0;
    HOLDS(waitpid(child, &ended, 0) == child);
    if (serves) server->IsKilled();
    HOLDS(IsExpected(ended, kills, errors), "life %d ended by itself: %x; see %s", int(life), ended, errors.c_str());
    Said said(said_path);
    // What is acknowledged outlives whoever is killed. A cut of power leaves what is synced.
    const uint64_t begun = said.Of(kBegun), told = said.Of(cuts ? kSynced : kAcknowledged);
    Database database(url);
    OK(database.status);
    std::string found = "0";
    const Status status = database.db->Get(ReadOptions(), kPosition, &found);
    HOLDS(status.ok() || status.IsNotFound(), "%s", status.ToString().c_str());
    const uint64_t reached = std::stoull(found);
    HOLDS(reached >= position && reached >= told && reached <= begun, "life %d of seed %d: write %d was %s, %d begun, and %d is there",
          int(life), int(seed), int(told), cuts ? "synced" : "acknowledged", int(begun), int(reached));
    for (uint64_t number = position + 1; number <= reached; number++) {
      const Change change(seed, life, number);
      model[kPosition] = std::to_string(number);
      if (change.removes) model.erase(change.key);
      else model[change.key] = change.value;
      synced_in_all += change.syncs;
    }
    const uint64_t acknowledged = said.Of(kAcknowledged);
    acknowledged_in_all += acknowledged > position ? acknowledged - position : 0;
    lost += acknowledged > reached ? acknowledged - reached : 0;
    Compare(database.db.get(), model);
    position = reached;
  }
  unlink(said_path), unlink(errors.c_str()), unlink((std::string(said_path) + ".serves").c_str());
  HOLDS(position > 0 && synced_in_all > 0, "the lives were too short to write anything; ask for more of them");
  HOLDS(cuts || lost == 0);
  printf("%d lives, %d writes acknowledged, %d of them with sync and none of those lost; of the others %d\n", int(lives),
         int(acknowledged_in_all), int(synced_in_all), int(lost));
}
