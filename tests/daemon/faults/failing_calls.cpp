// Put before a program with LD_PRELOAD: counts its calls of the system by kind, and makes some of
// them fail.
//
//   CLEAVE_FAULT=KIND:FIRST:TIMES:ERROR  of the calls of KIND those from FIRST on (1 is the first),
//                                        TIMES of them, return ERROR (a number)
//   CLEAVE_FAULT_COUNTS=FILE             has the numbers of calls, a line each "KIND N"; written
//   when
//                                        the program ends by itself
//
// Kinds: see `kinds` below. "sqlite-memory" is what libsqlite3 allocates. The programs that it
// starts are left alone where they get another environment, as the daemon's supervisors do.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

enum Kind {
  opens,
  writes,
  syncs,
  names,
  starts,
  descriptors,
  reads,
  maps,
  locks,
  looks,
  sqlite_memory
};
constexpr const char* kinds[] = {"open", "write", "sync", "name", "start",        "descriptor",
                                 "read", "map",   "lock", "look", "sqlite-memory"};
constexpr int kind_count = sizeof kinds / sizeof *kinds;

std::atomic<long> counts[kind_count];
std::atomic<bool> ready = false;
int failing = -1;
long first = 0, last = 0;
int error_number = 0;
std::uintptr_t sqlite_begins = 0, sqlite_ends = 0;

int note_sqlite(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "libsqlite3.so") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    sqlite_begins = info->dlpi_addr + part.p_vaddr;
    sqlite_ends = sqlite_begins + part.p_memsz;
  }
  return 1;
}

__attribute__((constructor)) void begin() {
  dl_iterate_phdr(note_sqlite, nullptr);
  const char* text = std::getenv("CLEAVE_FAULT");
  char kind[32] = "";
  long times = 0;
  if (text != nullptr &&
      std::sscanf(text, "%31[^:]:%ld:%ld:%d", kind, &first, &times, &error_number) == 4) {
    last = first + times - 1;
    for (int i = 0; i < kind_count; ++i)
      if (std::strcmp(kind, kinds[i]) == 0) failing = i;
  }
  ready = true;
}

/// Counts a call; whether it is to fail, with errno set.
bool fails(Kind kind) {
  if (!ready) return false;
  const long number = ++counts[kind];
  if (kind != failing || number < first || number > last) return false;
  errno = error_number;
  return true;
}

__attribute__((destructor)) void end() {
  ready = false;
  const char* path = std::getenv("CLEAVE_FAULT_COUNTS");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (int i = 0; i < kind_count; ++i) std::fprintf(file, "%s %ld\n", kinds[i], counts[i].load());
  std::fclose(file);
}

/// Reading and writing counters and timers takes nothing that could run out.
bool is_counter(int file) {
  struct stat facts;
  return ::syscall(SYS_fstat, file, &facts) == 0 && (facts.st_mode & S_IFMT) == 0;
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The real function of the same name, looked up once.
#define REAL(name) static auto* const real = next(static_cast<decltype(&name)>(nullptr), #name)
#define FAIL(kind, value) \
  if (fails(kind)) return value

/// A call that is passed on as it is.
#define WRAP(kind, result, bad, name, parameters, arguments) \
  result name parameters {                                   \
    REAL(name);                                              \
    FAIL(kind, bad);                                         \
    return real arguments;                                   \
  }

// With a mode where one is needed.
#define WRAP_OPEN(name)                        \
  int name(const char* path, int flags, ...) { \
    REAL(name);                                \
    va_list rest;                              \
    va_start(rest, flags);                     \
    const mode_t mode = va_arg(rest, mode_t);  \
    va_end(rest);                              \
    FAIL(opens, -1);                           \
    return real(path, flags, mode);            \
  }
#define WRAP_OPENAT(name)                                  \
  int name(int folder, const char* path, int flags, ...) { \
    REAL(name);                                            \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    const mode_t mode = va_arg(rest, mode_t);              \
    va_end(rest);                                          \
    FAIL(opens, -1);                                       \
    return real(folder, path, flags, mode);                \
  }

extern "C" {

// Those that glibc's checks of sizes call, and which its headers do not show.
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)
WRAP(opens, int, -1, __open_2, (const char* path, int flags), (path, flags))
WRAP(opens, int, -1, __open64_2, (const char* path, int flags), (path, flags))
WRAP(opens, int, -1, __openat_2, (int at, const char* path, int flags), (at, path, flags))
WRAP(opens, int, -1, __openat64_2, (int at, const char* path, int flags), (at, path, flags))
WRAP(opens, FILE*, nullptr, fopen, (const char* path, const char* mode), (path, mode))
WRAP(opens, FILE*, nullptr, fopen64, (const char* path, const char* mode), (path, mode))
WRAP(opens, DIR*, nullptr, opendir, (const char* path), (path))
WRAP(opens, DIR*, nullptr, fdopendir, (int folder), (folder))

ssize_t write(int to, const void* data, size_t size) {
  REAL(write);
  if (!is_counter(to)) FAIL(writes, -1);
  return real(to, data, size);
}
WRAP(writes, ssize_t, -1, pwrite, (int to, const void* data, size_t size, off_t at),
     (to, data, size, at))
WRAP(writes, ssize_t, -1, pwrite64, (int to, const void* data, size_t size, off64_t at),
     (to, data, size, at))
WRAP(writes, ssize_t, -1, writev, (int to, const iovec* parts, int count), (to, parts, count))
WRAP(writes, ssize_t, -1, send, (int to, const void* data, size_t size, int flags),
     (to, data, size, flags))
WRAP(writes, ssize_t, -1, sendmsg, (int to, const msghdr* message, int flags), (to, message, flags))

WRAP(syncs, int, -1, fsync, (int file), (file))
WRAP(syncs, int, -1, fdatasync, (int file), (file))
WRAP(syncs, int, -1, ftruncate, (int file, off_t size), (file, size))
WRAP(syncs, int, -1, ftruncate64, (int file, off64_t size), (file, size))
WRAP(syncs, int, -1, msync, (void* from, size_t size, int flags), (from, size, flags))

WRAP(names, int, -1, mkdir, (const char* path, mode_t mode), (path, mode))
WRAP(names, int, -1, mkdirat, (int at, const char* path, mode_t mode), (at, path, mode))
WRAP(names, int, -1, rename, (const char* from, const char* to), (from, to))
WRAP(names, int, -1, renameat, (int at, const char* from, int there, const char* to),
     (at, from, there, to))
WRAP(names, int, -1, renameat2,
     (int at, const char* from, int there, const char* to, unsigned flags),
     (at, from, there, to, flags))
WRAP(names, int, -1, unlink, (const char* path), (path))
WRAP(names, int, -1, unlinkat, (int at, const char* path, int flags), (at, path, flags))
WRAP(names, int, -1, rmdir, (const char* path), (path))
WRAP(names, int, -1, link, (const char* from, const char* to), (from, to))

WRAP(starts, pid_t, -1, fork, (), ())
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const environment[]) {
  REAL(posix_spawn);
  FAIL(starts, error_number);
  return real(pid, path, actions, attributes, arguments, environment);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  REAL(pthread_create);
  FAIL(starts, error_number);
  return real(thread, attributes, run, argument);
}

WRAP(descriptors, int, -1, pipe, (int ends[2]), (ends))
WRAP(descriptors, int, -1, pipe2, (int ends[2], int flags), (ends, flags))
WRAP(descriptors, int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(descriptors, int, -1, socketpair, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends))
WRAP(descriptors, int, -1, connect, (int made, const sockaddr* address, socklen_t size),
     (made, address, size))
WRAP(descriptors, int, -1, accept4, (int made, sockaddr* address, socklen_t* size, int flags),
     (made, address, size, flags))
WRAP(descriptors, int, -1, epoll_create1, (int flags), (flags))
WRAP(descriptors, int, -1, epoll_ctl, (int set, int what, int file, epoll_event* event),
     (set, what, file, event))
WRAP(descriptors, int, -1, timerfd_create, (int clock, int flags), (clock, flags))
int fcntl(int file, int what, ...) {
  REAL(fcntl);
  va_list rest;
  va_start(rest, what);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const bool lock = what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK;
  if ((what == F_DUPFD || what == F_DUPFD_CLOEXEC) && fails(descriptors)) return -1;
  if (lock && fails(locks)) return -1;
  return real(file, what, argument);
}
int fcntl64(int file, int what, ...) {
  va_list rest;
  va_start(rest, what);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl(file, what, argument);
}

ssize_t read(int from, void* data, size_t size) {
  REAL(read);
  if (!is_counter(from)) FAIL(reads, -1);
  return real(from, data, size);
}
WRAP(reads, ssize_t, -1, pread, (int from, void* data, size_t size, off_t at),
     (from, data, size, at))
WRAP(reads, ssize_t, -1, pread64, (int from, void* data, size_t size, off64_t at),
     (from, data, size, at))
WRAP(reads, ssize_t, -1, readv, (int from, const iovec* parts, int count), (from, parts, count))
WRAP(reads, ssize_t, -1, recv, (int from, void* data, size_t size, int flags),
     (from, data, size, flags))
WRAP(reads, ssize_t, -1, recvmsg, (int from, msghdr* message, int flags), (from, message, flags))
ssize_t __read_chk(int from, void* data, size_t size, size_t room) {
  REAL(__read_chk);
  if (!is_counter(from)) FAIL(reads, -1);
  return real(from, data, size, room);
}
WRAP(reads, ssize_t, -1, __pread_chk, (int from, void* data, size_t size, off_t at, size_t room),
     (from, data, size, at, room))
WRAP(reads, ssize_t, -1, __pread64_chk,
     (int from, void* data, size_t size, off64_t at, size_t room), (from, data, size, at, room))
WRAP(reads, ssize_t, -1, __recv_chk, (int from, void* data, size_t size, size_t room, int flags),
     (from, data, size, room, flags))
dirent* readdir(DIR* folder) {
  REAL(readdir);
  FAIL(reads, nullptr);
  return real(folder);
}
dirent64* readdir64(DIR* folder) {
  REAL(readdir64);
  FAIL(reads, nullptr);
  return real(folder);
}

WRAP(maps, void*, MAP_FAILED, mmap,
     (void* at, size_t size, int may, int flags, int file, off_t from),
     (at, size, may, flags, file, from))
WRAP(maps, void*, MAP_FAILED, mmap64,
     (void* at, size_t size, int may, int flags, int file, off64_t from),
     (at, size, may, flags, file, from))

WRAP(locks, int, -1, flock, (int file, int what), (file, what))

WRAP(looks, int, -1, stat, (const char* path, struct stat* facts), (path, facts))
WRAP(looks, int, -1, lstat, (const char* path, struct stat* facts), (path, facts))
WRAP(looks, int, -1, fstat, (int file, struct stat* facts), (file, facts))
WRAP(looks, int, -1, fstatat, (int at, const char* path, struct stat* facts, int flags),
     (at, path, facts, flags))
WRAP(looks, int, -1, stat64, (const char* path, struct stat64* facts), (path, facts))
WRAP(looks, int, -1, lstat64, (const char* path, struct stat64* facts), (path, facts))
WRAP(looks, int, -1, fstat64, (int file, struct stat64* facts), (file, facts))

// The allocations of SQLite are told by who calls.
#define OF_SQLITE                                                                    \
  (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) >= sqlite_begins && \
   reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) < sqlite_ends)
void* malloc(size_t size) {
  if (OF_SQLITE && fails(sqlite_memory)) return nullptr;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  if (OF_SQLITE && fails(sqlite_memory)) return nullptr;
  return __libc_calloc(count, size);
}
void* realloc(void* before, size_t size) {
  if (OF_SQLITE && fails(sqlite_memory)) return nullptr;
  return __libc_realloc(before, size);
}

}  // extern "C"
