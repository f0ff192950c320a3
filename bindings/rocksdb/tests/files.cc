// SPDX-License-Identifier: Apache-2.0 OR MIT
// What RocksDB expects of a file system, call by call. usage: files URL     A device URL of an empty file system.

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <rocksdb/utilities/object_registry.h>

#include "common.h"

using namespace rocksdb;

namespace {

const IOOptions kIO;
const FileOptions kOptions;

std::string Bytes(size_t count, int salt) {
  std::string bytes(count, 0);
  for (size_t n = 0; n < count; n++) bytes[n] = static_cast<char>(n * 31 + salt + n / 251);
  return bytes;
}

void Write(FileSystem* files, const std::string& path, const std::string& bytes, bool syncs = true) {
  std::unique_ptr<FSWritableFile> file;
  OK(files->NewWritableFile(path, kOptions, &file, nullptr));
  for (size_t at = 0; at < bytes.size(); at += 7777) OK(file->Append(Slice(bytes).ToString().substr(at, 7777), kIO, nullptr));
  OK(file->Flush(kIO, nullptr));
  if (syncs) OK(file->Sync(kIO, nullptr));
  HOLDS(file->GetFileSize(kIO, nullptr) == bytes.size());
  OK(file->Close(kIO, nullptr));
}

std::string Read(FileSystem* files, const std::string& path) {
  std::unique_ptr<FSSequentialFile> file;
  OK(files->NewSequentialFile(path, kOptions, &file, nullptr));
  std::string all, scratch(5000, 0);
  for (;;) {
    Slice part;
    OK(file->Read(scratch.size(), kIO, &part, scratch.data(), nullptr));
    if (part.empty()) return all;
    all.append(part.data(), part.size());
  }
}

void Names(FileSystem* files) {
  OK(files->CreateDir("/d", kIO, nullptr));
  HOLDS(files->CreateDir("/d", kIO, nullptr).IsIOError());
  OK(files->CreateDirIfMissing("/d/", kIO, nullptr));
  Write(files, "/d/a", Bytes(10, 1));
  HOLDS(!files->CreateDirIfMissing("/d/a", kIO, nullptr).ok());
  OK(files->FileExists("/d/a", kIO, nullptr));
  HOLDS(files->FileExists("/d/b", kIO, nullptr).IsNotFound());
  HOLDS(files->FileExists("/e/b", kIO, nullptr).IsNotFound());
  std::unique_ptr<FSWritableFile> writable;
  HOLDS(files->NewWritableFile("/e/b", kOptions, &writable, nullptr).IsPathNotFound() && !writable);
  std::unique_ptr<FSRandomAccessFile> random;
  HOLDS(files->NewRandomAccessFile("/d/b", kOptions, &random, nullptr).IsPathNotFound() && !random);
  HOLDS(files->DeleteFile("/d/b", kIO, nullptr).IsPathNotFound());
  HOLDS(!files->DeleteDir("/d", kIO, nullptr).ok());
  std::vector<std::string> names;
  HOLDS(files->GetChildren("/e", kIO, &names, nullptr).IsNotFound());
  OK(files->LinkFile("/d/a", "/d/c", kIO, nullptr));
  OK(files->GetChildren("/d", kIO, &names, nullptr));
  HOLDS((names == std::vector<std::string>{"a", "c"}));
  uint64_t links = 0;
  OK(files->NumFileLinks("/d/a", kIO, &links, nullptr));
  bool is_same = false, is_directory = false;
  OK(files->AreFilesSame("/d/a", "/d/c", kIO, &is_same, nullptr));
  HOLDS(links == 2 && is_same);
  OK(files->IsDirectory("/d", kIO, &is_directory, nullptr));
  HOLDS(is_directory);
  std::vector<Env::FileAttributes> attributes;
  OK(files->GetChildrenFileAttributes("/d", kIO, &attributes, nullptr));
  HOLDS(attributes.size() == 2 && attributes[1].name == "c" && attributes[1].size_bytes == 10);
  OK(files->DeleteFile("/d/a", kIO, nullptr));
  HOLDS(Read(files, "/d/c") == Bytes(10, 1));
  uint64_t seconds = 0;
  OK(files->GetFileModificationTime("/d/c", kIO, &seconds, nullptr));
  HOLDS(seconds > 1700000000);
  std::string path;
  OK(files->GetAbsolutePath("d/c", kIO, &path, nullptr));
  HOLDS(path == "/d/c");
  OK(files->GetTestDirectory(kIO, &path, nullptr));
  OK(files->IsDirectory(path, kIO, &is_directory, nullptr));
  std::unique_ptr<FSDirectory> directory;
  OK(files->NewDirectory("/d", kIO, &directory, nullptr));
  OK(directory->Fsync(kIO, nullptr));
  OK(directory->Close(kIO, nullptr));
  HOLDS(!files->NewDirectory("/e", kIO, &directory, nullptr).ok());
}

// Who has a file open goes on reading it when its name goes, or leads elsewhere.
void OpenFiles(FileSystem* files) {
  const std::string old = Bytes(100000, 2), other = Bytes(3000, 3);
  Write(files, "/gone", old);
  Write(files, "/over", old);
  Write(files, "/new", other);
  Write(files, "/again", old);
  std::unique_ptr<FSRandomAccessFile> gone, over, again;
  OK(files->NewRandomAccessFile("/gone", kOptions, &gone, nullptr));
  OK(files->NewRandomAccessFile("/over", kOptions, &over, nullptr));
  OK(files->NewRandomAccessFile("/again", kOptions, &again, nullptr));
  OK(files->DeleteFile("/gone", kIO, nullptr));
  OK(files->RenameFile("/new", "/over", kIO, nullptr));
  Write(files, "/again", other);
  for (int n = 0; n < 50; n++) {
    // Their blocks would be had by these.
    Write(files, "/filler", Bytes(200000, n));
    OK(files->DeleteFile("/filler", kIO, nullptr));
  }
  for (auto* file : {gone.get(), over.get(), again.get()}) {
    std::string scratch(old.size() + 10, 0);
    Slice all;
    OK(file->Read(0, scratch.size(), kIO, &all, scratch.data(), nullptr));
    HOLDS(all == Slice(old));
    OK(file->Read(old.size() + 5, 10, kIO, &all, scratch.data(), nullptr));
    HOLDS(all.empty());
  }
  HOLDS(Read(files, "/over") == other && Read(files, "/again") == other);
  char ids[3][32];
  HOLDS(gone->GetUniqueId(ids[0], 32) == 8 && over->GetUniqueId(ids[1], 32) == 8 && again->GetUniqueId(ids[2], 4) == 0);
  HOLDS(std::string(ids[0], 8) != std::string(ids[1], 8));
}

void Writes(FileSystem* files) {
  std::unique_ptr<FSWritableFile> file;
  OK(files->NewWritableFile("/w", kOptions, &file, nullptr));
  file->SetPreallocationBlockSize(1 << 20);
  file->PrepareWrite(0, 5000, kIO, nullptr);
  OK(file->Append(Bytes(5000, 4), kIO, nullptr));
  HOLDS(Read(files, "/w") == Bytes(5000, 4), "what was appended can be read before it is synced");
  OK(file->RangeSync(0, 4096, kIO, nullptr));
  OK(file->Truncate(4000, kIO, nullptr));
  OK(file->Append("end", kIO, nullptr));
  OK(file->Fsync(kIO, nullptr));
  OK(file->Close(kIO, nullptr));
  OK(file->Close(kIO, nullptr));
  HOLDS(file->Append("late", kIO, nullptr).IsIOError());
  const std::string now = Bytes(5000, 4).substr(0, 4000) + "end";
  HOLDS(Read(files, "/w") == now);
  OK(files->ReopenWritableFile("/w", kOptions, &file, nullptr));
  OK(file->Append("more", kIO, nullptr));
  OK(file->Sync(kIO, nullptr));
  file.reset();
  HOLDS(Read(files, "/w") == now + "more");
  OK(files->Truncate("/w", 7, kIO, nullptr));
  HOLDS(Read(files, "/w") == now.substr(0, 7));
  OK(files->ReuseWritableFile("/w2", "/w", kOptions, &file, nullptr));
  OK(file->Append("reused", kIO, nullptr));
  OK(file->Close(kIO, nullptr));
  HOLDS(Read(files, "/w2") == "reused");
  HOLDS(files->FileExists("/w", kIO, nullptr).IsNotFound());
  uint64_t bytes = 0;
  OK(files->GetFileSize("/w2", kIO, &bytes, nullptr));
  HOLDS(bytes == 6);
}

void Locks(FileSystem* files, const std::string& url) {
  FileLock *lock = nullptr, *second = nullptr;
  OK(files->LockFile("/LOCK", kIO, &lock, nullptr));
  HOLDS(files->LockFile("/LOCK", kIO, &second, nullptr).IsIOError() && second == nullptr);
  auto again = FilesOf(url);
  HOLDS(again->LockFile("/LOCK", kIO, &second, nullptr).IsIOError(), "one device, opened twice, is one");
  OK(files->UnlockFile(lock, kIO, nullptr));
  OK(again->LockFile("/LOCK", kIO, &second, nullptr));
  OK(again->UnlockFile(second, kIO, nullptr));
}

// Several threads read one file, and others append, make and remove files meanwhile.
void Threads(FileSystem* files) {
  const std::string all = Bytes(1 << 20, 5);
  Write(files, "/shared", all);
  std::unique_ptr<FSRandomAccessFile> file;
  OK(files->NewRandomAccessFile("/shared", kOptions, &file, nullptr));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int n = 0; !stop; n++) {
      Write(files, "/busy", Bytes(50000, n), n % 3 == 0);
      OK(files->RenameFile("/busy", "/busy." + std::to_string(n % 4), kIO, nullptr));
    }
  });
  std::vector<std::thread> readers;
  for (uint64_t salt = 1; salt <= 3; salt++) {
    readers.emplace_back([&, salt] {
      uint64_t random = salt;
      for (int n = 0; n < 3000; n++) {
        FSReadRequest requests[3];
        std::string scratch[3];
        for (int r = 0; r < 3; r++) {
          random = random * 6364136223846793005u + 1442695040888963407u;
          requests[r].offset = (random >> 33) % all.size();
          requests[r].len = (random >> 20) % 9000;
          scratch[r].resize(requests[r].len);
          requests[r].scratch = scratch[r].data();
        }
        OK(file->MultiRead(requests, 3, kIO, nullptr));
        for (const auto& request : requests) {
          OK(request.status);
          HOLDS(request.result == Slice(all.substr(request.offset, request.len)));
        }
      }
    });
  }
  for (auto& reader : readers) reader.join();
  stop = true;
  writer.join();
}

void LogAndSpace(FileSystem* files) {
  std::shared_ptr<Logger> log;
  OK(files->NewLogger("/LOG", kIO, &log, nullptr));
  log->SetInfoLogLevel(InfoLogLevel::INFO_LEVEL);
  Info(log.get(), "a line of %d", 42);
  OK(log->Close());
  log.reset();
  HOLDS(Read(files, "/LOG").find("a line of 42") != std::string::npos);
  uint64_t free = 0;
  OK(files->GetFreeSpace("/", kIO, &free, nullptr));
  Write(files, "/big", Bytes(1 << 20, 6));
  uint64_t less = 0;
  OK(files->GetFreeSpace("/", kIO, &less, nullptr));
  HOLDS(free - less >= 1 << 20, "%zu, then %zu", size_t(free), size_t(less));
}

// A full device refuses, and takes files again when others have gone.
void Full(FileSystem* files) {
  const std::string part = Bytes(1 << 20, 7);
  std::unique_ptr<FSWritableFile> file;
  OK(files->NewWritableFile("/full", kOptions, &file, nullptr));
  IOStatus status;
  uint64_t written = 0;
  while ((status = file->Append(part, kIO, nullptr)).ok()) written += part.size();
  HOLDS(status.IsNoSpace(), "%s", status.ToString().c_str());
  OK(file->Sync(kIO, nullptr));
  HOLDS(file->GetFileSize(kIO, nullptr) == written);
  OK(file->Close(kIO, nullptr));
  OK(files->DeleteFile("/full", kIO, nullptr));
  std::unique_ptr<FSDirectory> directory;
  OK(files->NewDirectory("/", kIO, &directory, nullptr));
  OK(directory->Fsync(kIO, nullptr));
  Write(files, "/fits", part);
  HOLDS(Read(files, "/fits") == part);
}

void Refusals() {
  std::shared_ptr<FileSystem> files;
  for (const char* uri : {"saker://file:/nowhere/disk.img", "saker://mem:", "saker://nonsense", "saker://"}) {
    const Status status = FileSystem::CreateFromString(ConfigOptions(), uri, &files);
    HOLDS(!status.ok() && !files, "%s: %s", uri, status.ToString().c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  HOLDS(count == 2, "usage: files URL");
  const std::string url = arguments[1];
  {
    auto files = FilesOf(url);
    FileSystem* fs = files.get();
    Names(fs), OpenFiles(fs), Writes(fs), Locks(fs, url), Threads(fs), LogAndSpace(fs), Full(fs);
  }
  Refusals();
  if (url.rfind("file:", 0) == 0) {
    // The last user has closed it; what was synced is there.
    auto files = FilesOf(url);
    HOLDS(Read(files.get(), "/w2") == "reused" && Read(files.get(), "/over") == Bytes(3000, 3));
    HOLDS(Read(files.get(), "/fits") == Bytes(1 << 20, 7));
    // Files that were not synced are there too, for the device was closed in order.
    HOLDS(Read(files.get(), "/LOG").find("a line of 42") != std::string::npos);
  }
  printf("sound\n");
}
