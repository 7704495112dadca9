#include "daemon/threaded_executor.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/format.hpp"
#include "daemon/signals_elsewhere.hpp"
#include "device/nvml_door.hpp"

namespace cleave {

/// Where the threads leave their news.
struct ThreadedExecutor::Outbox {
  std::mutex mutex;
  std::vector<GpuNews> news;
  FileHandle wake;  // eventfd

  void put(GpuNews one) {
    const std::scoped_lock lock(mutex);
    news.push_back(std::move(one));
    const std::uint64_t count = 1;
    // It can only be full after 2^64 news that nobody took.
    (void)!::write(wake.descriptor(), &count, sizeof count);
  }
  std::vector<GpuNews> take() {
    const std::scoped_lock lock(mutex);
    std::uint64_t count = 0;
    (void)!::read(wake.descriptor(), &count, sizeof count);
    return std::exchange(news, {});
  }
};

/// The operations of one GPU, and the thread that does them. Shared with the thread, which may
/// outlive the executor.
class ThreadedExecutor::Lane {
 public:
  Lane(GpuIdentity gpu, OpenDoor open_door, GpuWorkerSettings settings,
       std::shared_ptr<Outbox> outbox)
      : gpu_(std::move(gpu)),
        open_door_(std::move(open_door)),
        settings_(std::move(settings)),
        outbox_(std::move(outbox)) {}

  void ask(NumberedOperation operation) {
    const std::scoped_lock lock(mutex_);
    operations_.push_back(std::move(operation));
    changed_.notify_all();
  }
  /// No further operation is begun.
  void stop() {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    operations_.clear();
    changed_.notify_all();
  }
  /// Whether the thread is done by then.
  bool done_by(std::chrono::steady_clock::time_point end) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, end, [&] { return done_; });
  }
  /// The thread.
  void run() {
    while (const auto operation = next()) {
      GpuNews news = carried_out(*operation);
      if (stopped()) break;  // nobody hears it any more
      outbox_->put(std::move(news));
    }
    close();
    const std::scoped_lock lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

 private:
  std::optional<NumberedOperation> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || !operations_.empty(); });
    if (stopping_) return {};
    NumberedOperation operation = std::move(operations_.front());
    operations_.pop_front();
    return operation;
  }
  bool stopped() {
    const std::scoped_lock lock(mutex_);
    return stopping_;
  }
  void close() {
    worker_.reset();
    door_.reset();
  }
  GpuNews carried_out(const NumberedOperation& operation) {
    GpuNews news{.number = operation.number,
                 .gpu = operation.gpu,
                 .done = {},
                 .observation = {},
                 .made = {},
                 .remarks = {}};
    const auto begun = std::chrono::steady_clock::now();
    try {
      if (!worker_) news.done = open();
      if (worker_) news = worker_->carry_out(operation);
    } catch (const std::exception& thrown) {
      news.done = fail(ErrorKind::internal, place_of(GpuIndex{gpu_.index}), thrown.what());
      close();
    }
    news.took = std::chrono::steady_clock::now() - begun;
    lost_ = news.observation ? news.observation->lost : lost_ && !worker_;
    // A library that cannot even be opened after the GPU was lost does not mean that the GPU is
    // back.
    if (lost_ && !news.observation) {
      news.observation.emplace();
      news.observation->lost = true;
      news.observation->mig = false;
    }
    if (lost_) close();
    return news;
  }
  Result<void> open() {
    auto door = open_door_();
    if (!door) return std::unexpected(door.error());
    door_ = std::move(*door);
    worker_.emplace(*door_, gpu_, settings_);
    return {};
  }

  const GpuIdentity gpu_;
  const OpenDoor open_door_;
  const GpuWorkerSettings settings_;
  const std::shared_ptr<Outbox> outbox_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<NumberedOperation> operations_;
  bool stopping_ = false, done_ = false;

  // Of the thread alone:
  std::unique_ptr<Door> door_;
  std::optional<GpuWorker> worker_;
  bool lost_ = false;
};

ThreadedExecutor::ThreadedExecutor(std::vector<GpuIdentity> gpus, std::shared_ptr<Outbox> outbox,
                                   std::chrono::milliseconds farewell)
    : gpus_(std::move(gpus)), outbox_(std::move(outbox)), farewell_(farewell) {}

Result<std::unique_ptr<ThreadedExecutor>> ThreadedExecutor::open(
    const std::string& library, const std::vector<std::string>& wanted,
    ThreadedExecutorSettings settings, std::vector<std::string>* remarks) {
  const auto door = NvmlDoor::open(library);
  if (!door) return std::unexpected(door.error());
  auto gpus = find_managed_gpus(**door, wanted, remarks);
  if (!gpus) return std::unexpected(gpus.error());
  // The file that was found: a later loader path leads nowhere else.
  const std::string file = (*door)->driver().library;
  const OpenDoor own_doors = [file]() -> Result<std::unique_ptr<Door>> {
    auto opened = NvmlDoor::open(file);
    if (!opened) return std::unexpected(opened.error());
    return std::move(*opened);
  };
  const OpenDoor open_door = settings.open_door ? settings.open_door : own_doors;
  return begin(std::move(*gpus), open_door, std::move(settings));
}

Result<std::unique_ptr<ThreadedExecutor>> ThreadedExecutor::begin(
    std::vector<GpuIdentity> gpus, OpenDoor open_door, ThreadedExecutorSettings settings) {
  auto outbox = std::make_shared<Outbox>();
  outbox->wake = FileHandle(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!outbox->wake) return system_failure("eventfd", "cannot be made");
  std::unique_ptr<ThreadedExecutor> executor(
      new ThreadedExecutor(std::move(gpus), outbox, settings.farewell));
  const SignalsElsewhere elsewhere;
  for (const GpuIdentity& gpu : executor->gpus_) {
    auto lane = std::make_shared<Lane>(gpu, open_door, settings.worker, outbox);
    try {
      // Never joined: whether it is done it says itself, and one that hangs must not hold the
      // process.
      std::thread([lane] { lane->run(); }).detach();
    } catch (const std::system_error& no_thread) {
      return fail(ErrorKind::infeasible, fmt::format("GPU {}", gpu.index),
                  fmt::format("no thread for it can be started: {}", no_thread.what()));
    }
    executor->lanes_.push_back(std::move(lane));
  }
  return executor;
}

ThreadedExecutor::~ThreadedExecutor() {
  for (const auto& lane : lanes_) lane->stop();
  const auto end = std::chrono::steady_clock::now() + farewell_;
  for (const auto& lane : lanes_) (void)lane->done_by(end);
}

void ThreadedExecutor::ask(NumberedOperation operation) {
  lanes_.at(index(operation.gpu))->ask(std::move(operation));
}

std::vector<GpuNews> ThreadedExecutor::poll() {
  return outbox_->take();
}

int ThreadedExecutor::wake_fd() const {
  return outbox_->wake.descriptor();
}

}  // namespace cleave
