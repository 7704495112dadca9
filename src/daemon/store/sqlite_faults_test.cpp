#include "daemon/store/sqlite_faults_test.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace cleave {

namespace {

Faults file_faults, memory_faults;
sqlite3_vfs* real_vfs = nullptr;
sqlite3_mem_methods real_memory{};

/// A file; the real one lies behind it in the same memory.
struct FaultyFile {
  sqlite3_file base;
  [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<FaultyFile*>(file)->real();
}

const sqlite3_io_methods faulty_methods = {
    .iVersion = 1,  // no index of the log in shared memory
    .xClose = [](sqlite3_file* file) { return real_of(file)->pMethods->xClose(real_of(file)); },
    .xRead =
        [](sqlite3_file* file, void* to, int bytes, sqlite3_int64 from) {
          if (!file_faults.next_fails())
            return real_of(file)->pMethods->xRead(real_of(file), to, bytes, from);
          std::memset(to, 0xaa, static_cast<std::size_t>(bytes));
          return SQLITE_IOERR_READ;
        },
    .xWrite =
        [](sqlite3_file* file, const void* data, int bytes, sqlite3_int64 to) {
          const auto& real = *real_of(file)->pMethods;
          if (!file_faults.next_fails()) return real.xWrite(real_of(file), data, bytes, to);
          // A part of it comes to the disk.
          static_cast<void>(real.xWrite(real_of(file), data, bytes / 2, to));
          return file_faults.at % 2 == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        },
    .xTruncate =
        [](sqlite3_file* file, sqlite3_int64 size) {
          if (file_faults.next_fails()) return SQLITE_IOERR_TRUNCATE;
          return real_of(file)->pMethods->xTruncate(real_of(file), size);
        },
    .xSync =
        [](sqlite3_file* file, int flags) {
          if (file_faults.next_fails()) return SQLITE_IOERR_FSYNC;
          return real_of(file)->pMethods->xSync(real_of(file), flags);
        },
    .xFileSize =
        [](sqlite3_file* file, sqlite3_int64* size) {
          if (file_faults.next_fails()) return SQLITE_IOERR_FSTAT;
          return real_of(file)->pMethods->xFileSize(real_of(file), size);
        },
    .xLock =
        [](sqlite3_file* file, int level) {
          if (file_faults.next_fails()) return SQLITE_IOERR_LOCK;
          return real_of(file)->pMethods->xLock(real_of(file), level);
        },
    .xUnlock = [](sqlite3_file* file,
                  int level) { return real_of(file)->pMethods->xUnlock(real_of(file), level); },
    .xCheckReservedLock =
        [](sqlite3_file* file, int* held) {
          if (file_faults.next_fails()) return SQLITE_IOERR_CHECKRESERVEDLOCK;
          return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
        },
    .xFileControl =
        [](sqlite3_file* file, int what, void* with) {
          return real_of(file)->pMethods->xFileControl(real_of(file), what, with);
        },
    .xSectorSize =
        [](sqlite3_file* file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* file) {
          return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
        },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* got) {
  file->pMethods = nullptr;
  if (file_faults.next_fails()) return SQLITE_CANTOPEN;
  const int code = real_vfs->xOpen(real_vfs, name, real_of(file), flags, got);
  if (code == SQLITE_OK) file->pMethods = &faulty_methods;
  return code;
}

int delete_file(sqlite3_vfs*, const char* name, int sync) {
  if (file_faults.next_fails()) return SQLITE_IOERR_DELETE;
  return real_vfs->xDelete(real_vfs, name, sync);
}

int look_for_file(sqlite3_vfs*, const char* name, int how, int* there) {
  if (file_faults.next_fails()) return SQLITE_IOERR_ACCESS;
  return real_vfs->xAccess(real_vfs, name, how, there);
}

void* allocate(int bytes) {
  return memory_faults.next_fails() ? nullptr : real_memory.xMalloc(bytes);
}

void* allocate_again(void* before, int bytes) {
  return memory_faults.next_fails() ? nullptr : real_memory.xRealloc(before, bytes);
}

void configure(const sqlite3_mem_methods& memory, int lookaside) {
  // Small values would else come from a part of each connection, and be no calls.
  EXPECT_EQ(sqlite3_shutdown(), SQLITE_OK);
  EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory), SQLITE_OK);
  EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, lookaside, lookaside == 0 ? 0 : 100),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_initialize(), SQLITE_OK);
}

}  // namespace

FaultySqlite::FaultySqlite() {
  EXPECT_EQ(sqlite3_shutdown(), SQLITE_OK);
  EXPECT_EQ(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &before_), SQLITE_OK);
  real_memory = before_;
  sqlite3_mem_methods faulty = before_;
  faulty.xMalloc = allocate;
  faulty.xRealloc = allocate_again;
  configure(faulty, 0);
  real_vfs = sqlite3_vfs_find(nullptr);
  vfs_ = *real_vfs;
  vfs_.zName = "faulty";
  vfs_.szOsFile += static_cast<int>(sizeof(FaultyFile));
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = look_for_file;
  EXPECT_EQ(sqlite3_vfs_register(&vfs_, 1), SQLITE_OK);
}

FaultySqlite::~FaultySqlite() {
  files().end();
  memory().end();
  EXPECT_EQ(sqlite3_vfs_unregister(&vfs_), SQLITE_OK);
  constexpr int usual_lookaside = 1200;
  configure(before_, usual_lookaside);
}

Faults& FaultySqlite::files() {
  return file_faults;
}
Faults& FaultySqlite::memory() {
  return memory_faults;
}

}  // namespace cleave
