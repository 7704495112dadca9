#include "daemon/stop_points.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/nvml_door.hpp"

namespace cleave {

namespace {

/// Carries out an operation between its two points.
template <class Operation>
auto between_points(const AtPoint& at, std::string_view name, Operation operation) {
  at(fmt::format("before-{}", name));
  auto done = operation();
  at(fmt::format("after-{}", name));
  return done;
}

class StoppingStore final : public Store {
 public:
  StoppingStore(std::unique_ptr<Store> store, AtPoint at)
      : store_(std::move(store)), at_(std::move(at)) {}

  Result<StoreContents> load() override { return store_->load(); }
  Result<void> write(const StoreBatch& batch, Durability durability) override {
    return between_points(at_, "write", [&] { return store_->write(batch, durability); });
  }
  Result<std::optional<JobRecord>> job(JobNumber number) override { return store_->job(number); }
  Result<std::optional<JobCommand>> command(JobNumber number) override {
    return store_->command(number);
  }
  Result<std::optional<JobRecord>> job_with_key(std::uint32_t uid,
                                                const std::string& key) override {
    return store_->job_with_key(uid, key);
  }
  Result<std::vector<AttemptRecord>> attempts(JobNumber number) override {
    return store_->attempts(number);
  }
  Result<std::optional<AttemptRecord>> attempt(const JobKey& key) override {
    return store_->attempt(key);
  }
  Result<std::vector<JobRecord>> jobs(const JobQuery& query) override {
    return store_->jobs(query);
  }
  Result<std::vector<StoredJob>> jobs_with_attempts(const JobQuery& query) override {
    return store_->jobs_with_attempts(query);
  }
  Result<std::vector<EventRecord>> events(std::int64_t after, std::optional<std::uint32_t> uid,
                                          std::size_t most) override {
    return store_->events(after, uid, most);
  }
  Result<std::vector<JobRecord>> ended_before(Instant time, std::size_t most) override {
    return store_->ended_before(time, most);
  }
  Result<std::vector<StoredSize>> sizes(JobNumber after, std::int64_t most_bytes) override {
    return store_->sizes(after, most_bytes);
  }
  Result<std::vector<LivePlan>> plans(std::int64_t before, std::size_t most) override {
    return store_->plans(before, most);
  }
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override {
    return store_->usage(query);
  }
  Result<void> forget_usage(std::int64_t before) override { return store_->forget_usage(before); }
  Result<void> forget_events(std::size_t keep) override { return store_->forget_events(keep); }
  void settle() override { store_->settle(); }

 private:
  std::unique_ptr<Store> store_;
  AtPoint at_;
};

class StoppingRunner final : public Runner {
 public:
  StoppingRunner(std::unique_ptr<Runner> runner, AtPoint at)
      : runner_(std::move(runner)), at_(std::move(at)) {}

  using Runner::found;
  Result<std::vector<FoundJob>> found(const IsSettled& is_settled) override {
    return runner_->found(is_settled);
  }
  Started start(const Launch& launch) override {
    return between_points(at_, "start", [&] { return runner_->start(launch); });
  }
  Result<void> signal(const JobKey& key, int number) override {
    return between_points(at_, "signal", [&] { return runner_->signal(key, number); });
  }
  Result<void> checkpoint(const JobKey& key, Duration longest) override {
    return between_points(at_, "checkpoint", [&] { return runner_->checkpoint(key, longest); });
  }
  Result<void> stop(const JobKey& key, std::optional<Duration> grace) override {
    return between_points(at_, "stop", [&] { return runner_->stop(key, grace); });
  }
  bool fences() const override { return runner_->fences(); }
  int free_port(int wanted) override { return runner_->free_port(wanted); }
  std::vector<RunnerEvent> poll() override { return runner_->poll(); }
  int wake_fd() const override { return runner_->wake_fd(); }
  std::int64_t kept_bytes(const JobKey& key) override { return runner_->kept_bytes(key); }
  Result<void> forget(const JobKey& key) override {
    return between_points(at_, "forget", [&] { return runner_->forget(key); });
  }

 private:
  std::unique_ptr<Runner> runner_;
  AtPoint at_;
};

class StoppingDoor final : public NvmlDoor {
 public:
  StoppingDoor(std::unique_ptr<NvmlLibrary> library, AtPoint at)
      : NvmlDoor(std::move(library)), at_(std::move(at)) {}

  DriverAnswer<LiveGpuInstance> create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                    std::optional<Span> placement) override {
    return between_points(at_, "create-gpu-instance",
                          [&] { return NvmlDoor::create_gpu_instance(gpu, profile, placement); });
  }
  DriverAnswer<void> destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) override {
    return between_points(at_, "destroy-gpu-instance",
                          [&] { return NvmlDoor::destroy_gpu_instance(gpu, instance); });
  }
  DriverAnswer<LiveComputeInstance> create_compute_instance(
      GpuIndex gpu, GpuInstanceId instance, ProfileId profile,
      std::optional<Span> placement) override {
    return between_points(at_, "create-compute-instance", [&] {
      return NvmlDoor::create_compute_instance(gpu, instance, profile, placement);
    });
  }
  DriverAnswer<void> destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                              ComputeInstanceId compute) override {
    return between_points(at_, "destroy-compute-instance", [&] {
      return NvmlDoor::destroy_compute_instance(gpu, instance, compute);
    });
  }

 private:
  AtPoint at_;
};

}  // namespace

std::vector<std::string> stop_points() {
  return {"write",
          "start",
          "stop",
          "signal",
          "checkpoint",
          "forget",
          "create-gpu-instance",
          "create-compute-instance",
          "destroy-compute-instance",
          "destroy-gpu-instance"};
}

Result<AtPoint> stop_of_environment() {
  const char* given = std::getenv(stop_variable);
  if (given == nullptr || *given == 0) return AtPoint{};
  const std::string_view text = given;
  const std::size_t colon = text.find(':');
  const auto count = colon == text.npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  const std::string point(text.substr(0, colon));
  bool known = false;
  for (const std::string& each : stop_points())
    known =
        known || point == fmt::format("before-{}", each) || point == fmt::format("after-{}", each);
  if (!known || !count || *count < 1)
    return fail(ErrorKind::bad_input, stop_variable,
                fmt::format("'{}' does not name a point", shown(text)),
                fmt::format("write before- or after- with {}, and :N", any_of(stop_points())));
  auto left = std::make_shared<std::atomic<std::int64_t>>(*count);
  return AtPoint([point, left](std::string_view at) {
    if (at == point && left->fetch_sub(1) == 1) static_cast<void>(std::raise(SIGKILL));
  });
}

std::unique_ptr<Store> stopping_store(std::unique_ptr<Store> store, AtPoint at) {
  return std::make_unique<StoppingStore>(std::move(store), std::move(at));
}

std::unique_ptr<Runner> stopping_runner(std::unique_ptr<Runner> runner, AtPoint at) {
  return std::make_unique<StoppingRunner>(std::move(runner), std::move(at));
}

OpenDoor stopping_doors(std::string library, AtPoint at) {
  return [library = std::move(library), at = std::move(at)]() -> Result<std::unique_ptr<Door>> {
    auto opened = NvmlLibrary::open(library);
    if (!opened) return std::unexpected(opened.error());
    return std::make_unique<StoppingDoor>(std::move(*opened), at);
  };
}

}  // namespace cleave
