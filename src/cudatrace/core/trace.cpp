#include "cudatrace/core/trace.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "cudatrace/core/kernel_names.hpp"
#include "cudatrace/core/report_line.hpp"

namespace cleave::cuda {

std::int64_t (*measured_context)(std::int64_t held) = nullptr;

namespace {

constexpr std::int64_t report_ms = 100;
constexpr std::int64_t context_every_ms = 10'000;
constexpr std::int64_t mebibyte = 1 << 20;
/// As `cleave forecast model` counts a context that was not measured.
constexpr std::int64_t usual_context = 615 * mebibyte;
/// Memory that grows by that share since the last report is reported at once: a few hundred reports
/// lead from the first mebibyte to the largest GPU.
constexpr std::int64_t growth_share = 16;

/// What a process knows of its own. Made once and never destroyed: calls come until the very end.
struct Process {
  enum class Stage { outside, entering, inside };
  Record* record = nullptr;
  std::atomic<Stage> stage{Stage::outside};  // a forked child is outside until it uses the GPU
  std::atomic<ProcessRow*> row{nullptr};     // null: all are taken, or the process ends
  BlockTable blocks;
  KernelNames names;
  const char* reports_to = nullptr;
  std::int64_t forecast =
      0;  // bytes that the program was said to need, without the context; 0: none
  std::int64_t stated_context = -1;
  std::int64_t expected_ms = 0;          // how long it was said to run; 0: not known
  std::int64_t context = usual_context;  // of one process, as it is assumed or stated
  std::atomic<std::int64_t> contexts_measured{-1}, context_due_ms{0};  // those of all processes
};

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

/// A whole number in a variable; -1 if there is none.
std::int64_t number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == 0) return -1;
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  return *end != 0 || number < 0 ? -1 : number;
}

void take_off(Record& all, ProcessRow& row) {
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    const std::int64_t held = row.held[kind].exchange(0);
    all.held_of[kind].fetch_sub(held);
    if (on_gpu(static_cast<MemoryKind>(kind))) all.held.fetch_sub(held);
  }
}

ProcessRow* row_of_this_process(Record& record) {
  const auto self = static_cast<std::int32_t>(::getpid());
  // From before it executed another program, which took its memory away.
  for (ProcessRow& row : record.process) {
    if (row.pid.load(std::memory_order_relaxed) != self) continue;
    take_off(record, row);
    row.started.store(start_of(self).value_or(0));
    return &row;
  }
  sweep_dead(record);
  for (ProcessRow& row : record.process) {
    std::int32_t nobody = 0;
    if (row.pid.load(std::memory_order_relaxed) == 0 &&
        row.pid.compare_exchange_strong(nobody, self)) {
      record.contexts.fetch_add(1);
      // A thread that still ran when the process before ended may have left something.
      take_off(record, row);
      row.started.store(start_of(self).value_or(0));
      return &row;
    }
  }
  record.see(Blind::processes_full);
  return nullptr;
}

/// Of all processes together.
std::int64_t all_contexts(const Process& own) {
  const std::int64_t measured = own.contexts_measured.load(std::memory_order_relaxed);
  return measured >= 0 ? measured
                       : own.record->contexts.load(std::memory_order_relaxed) * own.context;
}

std::int64_t held_with_contexts(const Process& own, std::int64_t held) {
  return held + all_contexts(own);
}

/// Takes a row for this process, once. Other threads wait for the one that does it.
void enter(Process& own) {
  auto stage = Process::Stage::outside;
  if (own.stage.compare_exchange_strong(stage, Process::Stage::entering)) {
    own.record->processes_seen.fetch_add(1);
    own.row = row_of_this_process(*own.record);
    own.record->most_contexts.reach(own.record->contexts.load());
    own.record->peak_with_contexts.reach(held_with_contexts(own, own.record->held.load()));
    own.stage.store(Process::Stage::inside);
  }
  while (own.stage.load() != Process::Stage::inside) ::sched_yield();
}

Process& process();

void before_fork() {
  process().blocks.lock_all();
  process().names.lock();
}

void after_fork() {
  process().names.unlock();
  process().blocks.unlock_all();
}

/// A child has none of its parent's allocations: a context does not survive a fork.
void in_child() {
  after_fork();
  Process& own = process();
  (void)own.blocks.clear();
  own.row = nullptr;
  own.stage.store(Process::Stage::outside);
}

/// Beside the socket, if the program runs under the daemon: then all of a job's processes share it.
Record* record_of_the_job(const char* socket) {
  const char* const last = socket == nullptr ? nullptr : std::strrchr(socket, '/');
  char path[256];
  constexpr const char* file = "cuda-record";
  if (last == nullptr) return nullptr;
  const int length =
      std::snprintf(path, sizeof(path), "%.*s/%s", static_cast<int>(last - socket), socket, file);
  return length > 0 && static_cast<std::size_t>(length) < sizeof(path) ? map_record(path) : nullptr;
}

/// Whether this process has used the GPU at all.
constinit std::atomic<bool> begun{false};

Process* begin() {
  alignas(Process) static char room[sizeof(Process)];
  auto* const made = new (room) Process;
  made->reports_to = std::getenv("CLEAVE_REPORT");
  if (made->reports_to != nullptr && *made->reports_to == 0) made->reports_to = nullptr;
  made->forecast = std::max<std::int64_t>(number_in("CLEAVE_CUDA_FORECAST"), 0);
  made->stated_context = number_in("CLEAVE_CUDA_CONTEXT");
  made->expected_ms = std::max<std::int64_t>(number_in("CLEAVE_CUDA_EXPECTED_MS"), 0);
  if (made->stated_context >= 0) made->context = made->stated_context;
  if (const char* const file = std::getenv(record_variable)) made->record = map_record(file);
  if (made->record == nullptr) made->record = record_of_the_job(made->reports_to);
  if (made->record == nullptr) made->record = private_record();
  // Without memory for it there is nothing to run on either.
  if (made->record == nullptr) std::abort();
  begun = true;
  return made;
}

Process& process() {
  static Process* const only = [] {
    Process* const made = begin();
    ::pthread_atfork(before_fork, after_fork, in_child);
    return made;
  }();
  return *only;
}

/// The same for what counts as a use of the GPU.
Process& process_inside() {
  Process& own = process();
  if (own.stage.load(std::memory_order_acquire) != Process::Stage::inside) enter(own);
  return own;
}

/// The program's memory is more than was forecast. Said once for all of its processes.
void say_outgrown(Process& own, std::int64_t held) {
  if (own.record->outgrown.exchange(1) != 0) return;
  char line[200];
  const int length = std::snprintf(
      line, sizeof(line),
      "cleave: this program holds %lld MiB on the GPU, more than the %lld MiB of its forecast\n",
      static_cast<long long>((held + mebibyte - 1) / mebibyte),
      static_cast<long long>(own.forecast / mebibyte));
  if (length > 0) (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

/// Whether CUDA may be asked about itself: not while it is looked up, initialised or ended, nor
/// while launches are captured into a graph. Where it has just allocated, it may.
enum class Asking { allowed, not_now };

void send(Process& own, std::int64_t held, std::int64_t now, Asking asking) {
  Record& all = *own.record;
  if (asking == Asking::allowed && measured_context != nullptr && own.stated_context < 0) {
    std::int64_t due = own.context_due_ms.load();
    if (now >= due && own.context_due_ms.compare_exchange_strong(due, now + context_every_ms))
      if (const std::int64_t bytes = measured_context(all.held.load()); bytes >= 0)
        own.contexts_measured = bytes;
  }
  std::int64_t none = 0;
  all.first_ms.compare_exchange_strong(none, now);
  char room[512];
  const std::int64_t iteration = (now - all.first_ms.load()) / report_ms + 1;
  if (send_report(own.reports_to,
                  write_report_line(
                      {iteration, held, all_contexts(own), own.expected_ms / report_ms}, room)))
    all.reports.fetch_add(1);
}

void report(Process& own, Asking asking) {
  if (own.reports_to == nullptr) return;
  Record& all = *own.record;
  const std::int64_t now = now_ms(), most = all.window.value();
  std::int64_t due = all.due_ms.load(std::memory_order_relaxed);
  std::int64_t told = all.told.load(std::memory_order_relaxed);
  const bool grown = most > told + std::max(told / growth_share, mebibyte);
  if (now < due && !grown) return;
  if (grown && !all.told.compare_exchange_strong(told, most)) return;
  if (!grown && !all.due_ms.compare_exchange_strong(due, now + report_ms)) return;
  all.due_ms.store(now + report_ms, std::memory_order_relaxed);
  if (all.processes_seen.load(std::memory_order_relaxed) > 1) sweep_dead(all);
  send(own, std::max(all.window.restart(all.held.load()), all.held.load()), now, asking);
}

void add(Process& own, Block block, std::int64_t sign) {
  Record& all = *own.record;
  const auto kind = static_cast<std::size_t>(block.kind);
  const std::int64_t bytes = sign * static_cast<std::int64_t>(block.bytes);
  if (ProcessRow* const row = own.row.load(std::memory_order_relaxed))
    row->held[kind].fetch_add(bytes, std::memory_order_relaxed);
  const std::int64_t of_kind =
      all.held_of[kind].fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (sign > 0) all.peak_of[kind].reach(of_kind);
  if (!on_gpu(block.kind)) return;
  std::int64_t held = all.held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (sign < 0) return;
  // Of several processes one may have been killed, which frees what it held.
  if (all.processes_seen.load(std::memory_order_relaxed) > 1 &&
      (held > all.peak.value() || held_with_contexts(own, held) > all.peak_with_contexts.value())) {
    sweep_dead(all);
    held = all.held.load();
  }
  all.peak.reach(held);
  all.window.reach(held);
  all.peak_with_contexts.reach(held_with_contexts(own, held));
  if (own.forecast > 0 && held > own.forecast) say_outgrown(own, held);
}

/// The row of this kernel and shape; null if all are taken.
LaunchRow* row_of(Record& all, std::string_view name, const LaunchShape& shape) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001B3U; };
  for (const char c : name) mix(static_cast<unsigned char>(c));
  for (const std::uint32_t n : shape.grid) mix(n);
  for (const std::uint32_t n : shape.block) mix(n);
  mix(shape.shared_bytes);
  for (std::size_t i = 0; i < Record::shapes; ++i) {
    LaunchRow& row = all.launch[(hash + i) % Record::shapes];
    std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == LaunchRow::unused &&
        row.state.compare_exchange_strong(state, LaunchRow::being_written)) {
      row.shape = shape;
      std::copy(name.begin(), name.end(), row.name.begin());
      row.state.store(LaunchRow::written, std::memory_order_release);
      return &row;
    }
    // Its writer needs a moment, unless it was killed just then.
    constexpr int patience = 5000;
    for (int turns = 0; state != LaunchRow::written && turns < patience; ++turns) {
      ::sched_yield();
      state = row.state.load(std::memory_order_acquire);
    }
    if (state == LaunchRow::written && row.shape == shape && name == row.name.data()) return &row;
  }
  all.see(Blind::shapes_full);
  return nullptr;
}

/// The last launch of this thread, which most often is also the next.
struct LastLaunch {
  const void* kernel = nullptr;
  LaunchShape shape;
  LaunchRow* row = nullptr;
};
thread_local constinit LastLaunch last_launch;

/// What a process that ends leaves behind is freed by the driver. A demand that was not met, and
/// that no later allocation made up for, is told, so that the end can be understood.
__attribute__((destructor)) void at_the_end() {
  if (!begun.load()) return;
  Process& own = process();
  Record& all = *own.record;
  if (own.reports_to != nullptr) {
    const std::int64_t refused = all.refused.value();
    const std::int64_t held = std::max(all.window.value(), refused);
    if (refused > all.peak.value() || held > all.told.load())
      send(own, held, now_ms(), Asking::not_now);
  }
  (void)own.blocks.clear();
  // Other threads may still run, and allocate: from here on they find no row.
  ProcessRow* const row = own.row.exchange(nullptr);
  if (row == nullptr) return;
  take_off(all, *row);
  all.contexts.fetch_sub(1);
  row->started.store(0);
  row->pid.store(0);
}

}  // namespace

Record& record() {
  return *process().record;
}

std::int64_t contexts() {
  Process& own = process();
  return std::max<std::int64_t>(own.record->contexts.load(), 0) +
         (own.row.load() == nullptr ? 1 : 0);
}

void allocated(Space space, std::uint64_t name, std::uint64_t bytes, MemoryKind kind) {
  Process& own = process_inside();
  std::optional<Block> lost;
  if (!own.blocks.add(space, name, {bytes, kind}, lost)) {
    own.record->see(Blind::table_full);
    return;
  }
  if (lost) add(own, *lost, -1);
  own.record->allocations.fetch_add(1, std::memory_order_relaxed);
  add(own, {bytes, kind}, 1);
  // Variables are registered before main.
  if (kind != MemoryKind::variables) report(own, Asking::allowed);
}

std::optional<Block> take(Space space, std::uint64_t name) {
  return process().blocks.take(space, name);
}

void released(Block block) {
  Process& own = process();
  own.record->frees.fetch_add(1, std::memory_order_relaxed);
  add(own, block, -1);
  report(own, Asking::not_now);
}

void put_back(Space space, std::uint64_t name, Block block) {
  std::optional<Block> lost;
  (void)process().blocks.add(space, name, block, lost);
}

void unknown_free() {
  record().unknown_frees.fetch_add(1, std::memory_order_relaxed);
}

void refused(std::uint64_t bytes) {
  Record& all = record();
  all.refusals.fetch_add(1, std::memory_order_relaxed);
  constexpr std::uint64_t most = std::uint64_t{1} << 53U;
  const std::int64_t demand = all.held.load() + static_cast<std::int64_t>(std::min(bytes, most));
  all.refused.reach(demand);
  all.refused_with_contexts.reach(demand + contexts() * process().context);
}

void released_everything() {
  Process& own = process();
  const auto sums = own.blocks.clear();
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    add(own, {static_cast<std::uint64_t>(sums[kind]), static_cast<MemoryKind>(kind)}, -1);
}

void named(const void* kernel, const char* name) {
  if (name != nullptr) process().names.tell(kernel, name);
}

const char* name_of(const void* kernel) {
  return process().names.find(kernel);
}

void launched(const void* kernel, const LaunchShape& shape) {
  Process& own = process_inside();
  Record& all = *own.record;
  all.launches.fetch_add(1, std::memory_order_relaxed);
  LastLaunch& last = last_launch;
  if (last.row == nullptr || last.kernel != kernel || last.shape != shape) {
    const std::string_view name = own.names.find(kernel);
    last = {kernel, shape, row_of(all, name.substr(0, sizeof(LaunchRow::name) - 1), shape)};
  }
  if (last.row != nullptr) last.row->launches.fetch_add(1, std::memory_order_relaxed);
  report(own, Asking::not_now);
}

void moment() {
  report(process_inside(), Asking::not_now);
}

}  // namespace cleave::cuda
