// SPDX-License-Identifier: Apache-2.0 OR MIT
// RocksDB's side of the plug-in: a FileSystem whose calls go to Rust (`src/border.rs`), registered for `saker://` URIs when the library
// is loaded. Builds against RocksDB 7.8 and later.

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include "saker_rocksdb.h"

namespace {

using namespace ROCKSDB_NAMESPACE;

const std::string kScheme = "saker://";

saker_text TextOf(const Slice& slice) { return {slice.data(), slice.size()}; }

// How a call into Rust ended, as RocksDB wants to know it.
class Outcome {
 public:
  Outcome() { told_.code = SAKER_OK; }
  saker_outcome* told() { return &told_; }
  bool ok() const { return told_.code == SAKER_OK; }
  bool is_not_found() const { return told_.code == SAKER_NOT_FOUND; }
  const char* text() const { return told_.text; }

  IOStatus status() const {
    switch (told_.code) {
      case SAKER_OK:
        return IOStatus::OK();
      case SAKER_NOT_FOUND:
        return IOStatus::PathNotFound(told_.text);
      case SAKER_NO_SPACE:
        return IOStatus::NoSpace(told_.text);
      case SAKER_CORRUPTION:
        return IOStatus::Corruption(told_.text);
      case SAKER_INVALID:
        return IOStatus::InvalidArgument(told_.text);
      default:
        return IOStatus::IOError(told_.text);
    }
  }

  // Of what looks at a name: RocksDB takes NotFound there for an answer.
  IOStatus looked_up() const {
    return is_not_found() ? IOStatus::NotFound(told_.text) : status();
  }

 private:
  saker_outcome told_;
};

// A number that no other file of this device has had, for keys of RocksDB's caches.
size_t UniqueId(saker_file* file, char* id, size_t bytes_max) {
  const uint64_t inode = saker_file_inode(file);
  if (bytes_max < sizeof(inode)) {
    return 0;
  }
  memcpy(id, &inode, sizeof(inode));
  return sizeof(inode);
}

IOStatus ReadInto(saker_file* file, uint64_t offset, size_t bytes, Slice* result, char* scratch) {
  Outcome outcome;
  const size_t read = saker_file_read(file, offset, scratch, bytes, outcome.told());
  *result = Slice(scratch, read);
  return outcome.status();
}

// Closes a file when it goes, for those that RocksDB does not close itself.
struct FileCloser {
  void operator()(saker_file* file) const {
    Outcome outcome;
    saker_file_close(file, outcome.told());
  }
};
using FileHandle = std::unique_ptr<saker_file, FileCloser>;

class SequentialFile : public FSSequentialFile {
 public:
  explicit SequentialFile(FileHandle file) : file_(std::move(file)) {}

  IOStatus Read(size_t bytes, const IOOptions&, Slice* result, char* scratch, IODebugContext*) override {
    IOStatus status = ReadInto(file_.get(), offset_, bytes, result, scratch);
    offset_ += result->size();
    return status;
  }

  IOStatus Skip(uint64_t bytes) override {
    // As POSIX's lseek: behind the end there is nothing to read.
    offset_ += bytes;
    return IOStatus::OK();
  }

  IOStatus PositionedRead(uint64_t offset, size_t bytes, const IOOptions&, Slice* result, char* scratch,
                          IODebugContext*) override {
    return ReadInto(file_.get(), offset, bytes, result, scratch);
  }

  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

 private:
  FileHandle file_;
  uint64_t offset_ = 0;
};

class RandomFile : public FSRandomAccessFile {
 public:
  explicit RandomFile(FileHandle file) : file_(std::move(file)) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return ReadInto(file_.get(), offset, bytes, result, scratch);
  }

  size_t GetUniqueId(char* id, size_t bytes_max) const override {
    return UniqueId(file_.get(), id, bytes_max);
  }

  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }

#if ROCKSDB_MAJOR >= 10
  IOStatus GetFileSize(uint64_t* bytes) override {
    *bytes = saker_file_bytes(file_.get());
    return IOStatus::OK();
  }
#endif

 private:
  FileHandle file_;
};

class WritableFile : public FSWritableFile {
 public:
  WritableFile(const std::string& path, FileHandle file, const FileOptions& options)
      : FSWritableFile(options), file_(std::move(file)), is_log_(IsLog(path)) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    return Do(saker_file_append, TextOf(data));
  }

  IOStatus Truncate(uint64_t bytes, const IOOptions&, IODebugContext*) override {
    return Do(saker_file_truncate, bytes);
  }

  IOStatus Close(const IOOptions&, IODebugContext*) override {
    if (!file_) {
      return IOStatus::OK();
    }
    bytes_ = saker_file_bytes(file_.get());
    Outcome outcome;
    saker_file_close(file_.release(), outcome.told());
    return outcome.status();
  }

  // RocksDB acknowledges a write without sync behind a flush of its log: it outlives the program then. Other files it syncs before it
  // relies on them, often right behind a flush; their bytes gather in the file's tail, where who reads finds them.
  IOStatus Flush(const IOOptions&, IODebugContext*) override {
    return is_log_ ? Do(saker_file_flush) : IOStatus::OK();
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return Do(saker_file_sync); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return Do(saker_file_sync); }
  bool IsSyncThreadSafe() const override { return true; }

  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return strict_bytes_per_sync_ ? Do(saker_file_sync) : Do(saker_file_send);
  }

  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
    return file_ ? saker_file_bytes(file_.get()) : bytes_;
  }

  size_t GetUniqueId(char* id, size_t bytes_max) const override {
    return file_ ? UniqueId(file_.get(), id, bytes_max) : 0;
  }

  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }
  // The file system takes blocks ahead of need by itself.
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}

 private:
  template <typename Call, typename... Args>
  IOStatus Do(Call call, Args... args) {
    if (!file_) {
      return IOStatus::IOError("the file is closed");
    }
    Outcome outcome;
    call(file_.get(), args..., outcome.told());
    return outcome.status();
  }

  // Of writes: `000007.log`.
  static bool IsLog(const std::string& path) {
    const std::string end = ".log";
    return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
  }

  FileHandle file_;
  bool is_log_;
  uint64_t bytes_ = 0;
};

struct VolumeCloser {
  void operator()(saker_volume* volume) const { saker_volume_close(volume); }
};
using Volume = std::shared_ptr<saker_volume>;

class Directory : public FSDirectory {
 public:
  explicit Directory(Volume volume) : volume_(std::move(volume)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    Outcome outcome;
    saker_volume_sync_names(volume_.get(), outcome.told());
    return outcome.status();
  }

  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  Volume volume_;
};

struct Lock : public FileLock {
  explicit Lock(saker_file* locked) : file(locked) {}
  saker_file* file;
};

class SakerFileSystem : public FileSystem {
 public:
  SakerFileSystem(std::string uri, Volume volume) : uri_(std::move(uri)), volume_(std::move(volume)) {}

  static const char* kClassName() { return "SakerFileSystem"; }
  const char* Name() const override { return kClassName(); }
  std::string GetId() const override { return uri_; }
  bool IsInstanceOf(const std::string& id) const override {
    return id == kClassName() || FileSystem::IsInstanceOf(id);
  }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions&,
                             std::unique_ptr<FSSequentialFile>* result, IODebugContext*) override {
    return Open(path, 0, [&](FileHandle file) { result->reset(new SequentialFile(std::move(file))); });
  }

  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions&,
                               std::unique_ptr<FSRandomAccessFile>* result, IODebugContext*) override {
    return Open(path, 0, [&](FileHandle file) { result->reset(new RandomFile(std::move(file))); });
  }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result, IODebugContext*) override {
    return Open(path, 1, [&](FileHandle file) { result->reset(new WritableFile(path, std::move(file), options)); });
  }

  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result, IODebugContext*) override {
    return Open(path, 2, [&](FileHandle file) { result->reset(new WritableFile(path, std::move(file), options)); });
  }

  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* result, IODebugContext* debug) override {
    bool is_directory = false;
    IOStatus status = IsDirectory(path, options, &is_directory, debug);
    if (status.ok() && !is_directory) {
      return IOStatus::IOError(path, "not a directory");
    }
    if (status.ok()) {
      result->reset(new Directory(volume_));
    }
    return status;
  }

  IOStatus FileExists(const std::string& path, const IOOptions&, IODebugContext*) override {
    saker_stat stat;
    return Stat(path, &stat).looked_up();
  }

  IOStatus GetChildren(const std::string& path, const IOOptions&, std::vector<std::string>* result,
                       IODebugContext*) override {
    result->clear();
    return List(path, result, [](void* context, saker_text name, const saker_stat*) {
      static_cast<std::vector<std::string>*>(context)->emplace_back(name.bytes, name.length);
    });
  }

  IOStatus GetChildrenFileAttributes(const std::string& path, const IOOptions&,
                                     std::vector<FileAttributes>* result, IODebugContext*) override {
    result->clear();
    return List(path, result, [](void* context, saker_text name, const saker_stat* stat) {
      FileAttributes attributes;
      attributes.name.assign(name.bytes, name.length);
      attributes.size_bytes = stat->bytes;
      static_cast<std::vector<FileAttributes>*>(context)->push_back(std::move(attributes));
    });
  }

  IOStatus DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) override {
    return OnPath(saker_path_remove, path);
  }

  IOStatus Truncate(const std::string& path, size_t bytes, const IOOptions&, IODebugContext*) override {
    IOStatus cut;
    IOStatus opened = Open(path, 0, [&](FileHandle file) {
      Outcome outcome;
      saker_file_truncate(file.get(), bytes, outcome.told());
      cut = outcome.status();
    });
    return opened.ok() ? cut : opened;
  }

  IOStatus CreateDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    return OnPath(saker_path_make_directory, path, 1);
  }

  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions&, IODebugContext*) override {
    return OnPath(saker_path_make_directory, path, 0);
  }

  IOStatus DeleteDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    return OnPath(saker_path_remove_directory, path);
  }

  IOStatus GetFileSize(const std::string& path, const IOOptions&, uint64_t* bytes, IODebugContext*) override {
    saker_stat stat{};
    const Outcome outcome = Stat(path, &stat);
    *bytes = stat.bytes;
    return outcome.status();
  }

  IOStatus GetFileModificationTime(const std::string& path, const IOOptions&, uint64_t* seconds,
                                   IODebugContext*) override {
    saker_stat stat{};
    const Outcome outcome = Stat(path, &stat);
    *seconds = stat.seconds;
    return outcome.status();
  }

  IOStatus IsDirectory(const std::string& path, const IOOptions&, bool* is_directory, IODebugContext*) override {
    saker_stat stat{};
    const Outcome outcome = Stat(path, &stat);
    *is_directory = stat.is_directory != 0;
    return outcome.status();
  }

  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) override {
    return OnPath(saker_path_rename, from, TextOf(to));
  }

  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) override {
    return OnPath(saker_path_link, from, TextOf(to));
  }

  IOStatus NumFileLinks(const std::string& path, const IOOptions&, uint64_t* links, IODebugContext*) override {
    saker_stat stat{};
    const Outcome outcome = Stat(path, &stat);
    *links = stat.links;
    return outcome.status();
  }

  IOStatus AreFilesSame(const std::string& first, const std::string& second, const IOOptions&, bool* is_same,
                        IODebugContext*) override {
    saker_stat a{}, b{};
    Outcome outcome = Stat(first, &a);
    if (outcome.ok()) {
      outcome = Stat(second, &b);
    }
    *is_same = outcome.ok() && a.inode == b.inode;
    return outcome.status();
  }

  IOStatus LockFile(const std::string& path, const IOOptions&, FileLock** lock, IODebugContext*) override {
    Outcome outcome;
    saker_file* file = saker_file_lock(volume_.get(), TextOf(path), outcome.told());
    *lock = file ? new Lock(file) : nullptr;
    return outcome.status();
  }

  IOStatus UnlockFile(FileLock* lock, const IOOptions&, IODebugContext*) override {
    std::unique_ptr<Lock> held(static_cast<Lock*>(lock));
    Outcome outcome;
    saker_file_unlock(held->file, outcome.told());
    return outcome.status();
  }

  IOStatus GetTestDirectory(const IOOptions& options, std::string* path, IODebugContext* debug) override {
    *path = "/test";
    return CreateDirIfMissing(*path, options, debug);
  }

  IOStatus GetAbsolutePath(const std::string& path, const IOOptions&, std::string* absolute,
                           IODebugContext*) override {
    // All paths begin at the root.
    *absolute = !path.empty() && path.front() == '/' ? path : "/" + path;
    return IOStatus::OK();
  }

  IOStatus GetFreeSpace(const std::string&, const IOOptions&, uint64_t* bytes, IODebugContext*) override {
    saker_volume_space(volume_.get(), bytes);
    return IOStatus::OK();
  }

  // Preallocation and memory maps are of no use here.
  FileOptions OptimizeForLogWrite(const FileOptions& options, const DBOptions& db) const override {
    return Plain(FileSystem::OptimizeForLogWrite(options, db));
  }
  FileOptions OptimizeForManifestWrite(const FileOptions& options) const override {
    return Plain(FileSystem::OptimizeForManifestWrite(options));
  }
  void SanitizeFileOptions(FileOptions* options) const override { *options = Plain(*options); }

#if ROCKSDB_MAJOR >= 9
  void SupportedOps(int64_t& operations) override { operations = 0; }
#endif

 private:
  static FileOptions Plain(FileOptions options) {
    options.use_mmap_reads = options.use_mmap_writes = options.allow_fallocate = false;
    return options;
  }

  template <typename Use>
  IOStatus Open(const std::string& path, int32_t mode, Use use) {
    Outcome outcome;
    FileHandle file(saker_file_open(volume_.get(), TextOf(path), mode, outcome.told()));
    if (file) {
      use(std::move(file));
    }
    return outcome.status();
  }

  Outcome Stat(const std::string& path, saker_stat* stat) {
    Outcome outcome;
    saker_path_stat(volume_.get(), TextOf(path), stat, outcome.told());
    return outcome;
  }

  template <typename Result>
  IOStatus List(const std::string& path, Result* result, saker_entry each) {
    Outcome outcome;
    saker_path_list(volume_.get(), TextOf(path), each, result, outcome.told());
    return outcome.looked_up();
  }

  template <typename Call, typename... Args>
  IOStatus OnPath(Call call, const std::string& path, Args... args) {
    Outcome outcome;
    call(volume_.get(), TextOf(path), args..., outcome.told());
    return outcome.status();
  }

  std::string uri_;
  Volume volume_;
};

FileSystem* Make(const std::string& uri, std::unique_ptr<FileSystem>* guard, std::string* error) {
  Outcome outcome;
  const std::string url = uri.compare(0, kScheme.size(), kScheme) == 0 ? uri.substr(kScheme.size()) : uri;
  saker_volume* opened = saker_volume_open(TextOf(url), outcome.told());
  if (!opened) {
    *error = outcome.text();
    return nullptr;
  }
  guard->reset(new SakerFileSystem(uri, Volume(opened, VolumeCloser())));
  return guard->get();
}

// Made when the library is loaded, before whatever the program makes: so it goes when all of that is gone.
struct Plugin {
  Plugin() {
    auto pattern = ObjectLibrary::PatternEntry("saker", false).AddSeparator("://", false);
    ObjectLibrary::Default()->AddFactory<FileSystem>(pattern, Make);
  }
  ~Plugin() { saker_volumes_leave(); }
};
const Plugin plugin;

}  // namespace

// What RocksDB's interface for C, and so the crate `rocksdb`, has for an Env: `rocksdb_env_t` of facebook/rocksdb, db/c.cc, which deletes
// both.
struct CEnv {
  Env* rep;
  bool is_default;
};

// An Env of a device URL for the crate `rocksdb` (`src/env.rs`). NULL: it failed.
extern "C" void* saker_rocksdb_env(saker_text url, saker_outcome* told) {
  saker_volume* opened = saker_volume_open(url, told);
  if (!opened) {
    return nullptr;
  }
  std::shared_ptr<FileSystem> files(new SakerFileSystem(kScheme + std::string(url.bytes, url.length), Volume(opened, VolumeCloser())));
  return new CEnv{NewCompositeEnv(std::move(files)).release(), false};
}
