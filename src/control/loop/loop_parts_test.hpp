#pragma once
// For tests: the parts of the loop over a node of empty GPUs, a store in memory, jobs that are not
// there and an executor that only remembers what it was asked.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/format.hpp"
#include "control/fake_store_test.hpp"
#include "control/loop/command_translator.hpp"
#include "control/loop/engine_rebuild.hpp"
#include "control/loop/listing.hpp"
#include "control/loop/step_taker.hpp"
#include "control/loop/user_requests.hpp"
#include "control/node/node_state_test.hpp"
#include "runner/fake_runner_test.hpp"

namespace cleave {

inline constexpr GpuId gpu0{0};

/// Remembers operations; answers are what a test puts in.
class QuietExecutor final : public GpuExecutor {
 public:
  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override { return none_; }
  void ask(NumberedOperation operation) override { asked.push_back(std::move(operation)); }
  [[nodiscard]] std::vector<GpuNews> poll() override { return std::exchange(news, {}); }
  [[nodiscard]] int wake_fd() const override { return -1; }

  std::vector<NumberedOperation> asked;
  std::vector<GpuNews> news;

 private:
  std::vector<GpuIdentity> none_;
};

/// All parts, wired as control.cpp does. A test drives the ones it is about.
class LoopParts : public testing::Test {
 protected:
  explicit LoopParts(const std::vector<std::string>& models = {"A100-SXM4-40GB"}) : node_(models) {
    brain.set_carry_out([this](const Command& command) { commands.carry_out(command); });
    brain.choose_scheduler("online");
    jobs.advance_to(epoch + now);
    for (ManagedGpu& gpu : node.gpus) gpu.next_look = Duration::max();
  }

  void pass(Duration time) {
    now += time;
    clock.advance({now, epoch + now});
    jobs.advance_to(epoch + now);
  }
  /// Makes the engine, if one is wanted.
  void think() {
    rebuild.step();
    brain.settle();
  }
  /// A job that has been submitted, in the store and in the queue.
  LiveJob& submit(const std::string& profile, JobSpec spec = {}) {
    NewJob job;
    job.owner = {1000, 1000, {}, "someone"};
    job.command = {{"work"}, {}, "/"};
    job.spec = std::move(spec);
    job.spec.request.wanted = ByProfile{profile};
    job.spec.asked = profile;
    const auto numbers = users.submit({&job, 1});
    EXPECT_TRUE(numbers) << numbers.error().text();
    users.write();
    brain.settle();
    return *node.find(numbers->front());
  }
  /// A job that the store has, and that no queue knows.
  LiveJob& written_job(JobNumber number) {
    LiveJob& job = node_.add_job(number);
    StoreBatch batch;
    batch.jobs.push_back(job.record);
    batch.commands.emplace_back(number, JobCommand{{"work"}, {}, "/"});
    EXPECT_TRUE(store.write(batch, Durability::synced));
    return job;
  }
  /// The executor did what it was asked last; an instance has this device.
  void succeed(const std::string& device = "") { answer({}, device); }
  void refuse(const std::string& why) {
    answer(std::unexpected(Error{ErrorKind::infeasible, "GPU 0", why, {}}), "");
  }
  void answer(Result<void> done, const std::string& device) {
    ASSERT_FALSE(executor.asked.empty());
    const NumberedOperation operation = executor.asked.back();
    GpuNews news;
    news.number = operation.number;
    news.gpu = operation.gpu;
    news.done = std::move(done);
    news.made = device;
    news.took = std::chrono::milliseconds(100);
    executor.news.push_back(std::move(news));
    gpus.hear();
  }
  /// Takes steps, writes and does. Where a start first wants to see that its place is free, it
  /// does, unless `strangers` are there.
  void act() {
    const std::size_t before = executor.asked.size();
    steps.take();
    book.commit(node);
    if (executor.asked.size() == before) return;
    const NumberedOperation last = executor.asked.back();
    if (!std::holds_alternative<LookAtGpu>(last.operation)) return;
    show(last);
    steps.take();
    book.commit(node);
  }
  /// The answer to a look at a GPU that is as it is believed to be, but for the strangers.
  void show(const NumberedOperation& look) {
    GpuNews news;
    news.number = look.number;
    news.gpu = look.gpu;
    news.observation.emplace();
    for (const auto& [placement, instance] : node.gpu(look.gpu).instances) {
      if (instance.state == ManagedInstance::State::making) continue;
      ObservedInstance seen;
      seen.device = instance.device;
      seen.placement = placement;
      seen.owner = Ownership::ours;
      if (seen.device == strangers_on) seen.processes = strangers;
      news.observation->instances.push_back(seen);
    }
    executor.news.push_back(std::move(news));
    gpus.hear();
  }
  /// The kinds of events since the last call, "job-started gpu-lost".
  std::string happened() {
    book.commit(node);
    std::string kinds;
    for (const EventRecord& event : book.events_since(heard_)) {
      kinds += (kinds.empty() ? "" : " ") + event.kind;
      heard_ = event.number;
    }
    return kinds;
  }
  /// What the executor was asked since the last call, "create 3 look".
  std::string asked() {
    std::string words;
    for (const NumberedOperation& each : executor.asked) {
      if (!words.empty()) words += " ";
      if (const auto* create = std::get_if<CreateOnGpu>(&each.operation))
        words += fmt::format("create {}", create->placement);
      if (const auto* destroy = std::get_if<DestroyOnGpu>(&each.operation))
        words += "destroy " + destroy->device;
      if (const auto* mig = std::get_if<SwitchMig>(&each.operation))
        words += mig->on ? "mig on" : "mig off";
      if (std::holds_alternative<LookAtGpu>(each.operation)) words += "look";
    }
    return words;
  }

  const Instant epoch = Instant{} + std::chrono::hours(1'000'000);
  Duration now = std::chrono::seconds(10);
  Clock clock{{now, epoch + now}};
  ControlSettings settings;
  FakeDisk disk;
  FakeStore store{disk};
  FakeJobs jobs{1};
  FakeRunner runner{jobs};
  QuietExecutor executor;
  NodeForTest node_;
  NodeState& node = node_.state;
  Book book{store, clock};
  Brain brain{clock};
  JobLifecycle lifecycle{clock, node, book, brain, runner};
  CommandTranslator commands{clock, node, book, brain, lifecycle};
  ProcessListener processes{clock, settings, node, book, brain, lifecycle, runner};
  HealthKeeper health{clock, node, book, lifecycle};
  UseKeeper use{clock, node, book};
  GpuListener gpus{clock, settings, node, book, brain, lifecycle, health, use, executor};
  std::string strangers_on;  // an instance's device
  std::vector<LiveProcess> strangers;
  AttemptLauncher launcher{clock, settings, node, book, processes, runner, {}};
  StepTaker steps{clock, settings, node, brain, lifecycle, gpus, launcher};
  EngineRebuild rebuild{clock, settings, node, book, brain, lifecycle, gpus};
  ExemptUsers exempt;
  DependencyKeeper dependencies{node, book, lifecycle};
  UserRequests users{clock, settings, node, book, brain, lifecycle, exempt, health, dependencies};
  Listing listing{clock, settings, node, book, brain, gpus};

 private:
  std::int64_t heard_ = 0;
};

}  // namespace cleave
