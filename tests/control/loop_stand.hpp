#pragma once
// A loop on a clock of its own, over GPUs, jobs and a disk in memory.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "control/control.hpp"
#include "control/fake_store_test.hpp"
#include "delayed_executor.hpp"
#include "runner/fake_runner_test.hpp"

namespace cleave::trial {

/// Gives each job no more than it asks for, so that it is known beforehand what runs where.
inline ControlSettings settings_by_request() {
  ControlSettings settings;
  settings.scheduler = "online";
  return settings;
}

using namespace std::chrono_literals;

class Loop : public testing::Test {
 protected:
  Loop() : Loop({"A100-40GB"}) {}
  explicit Loop(const std::vector<std::string>& gpus) : machine(models_of(gpus)) { begin(); }

  void begin() {
    control.reset();
    runner = std::make_unique<FakeRunner>(jobs);
    store = std::make_unique<FakeStore>(disk);
    delays.seed = ++executors_made;
    executor = std::make_unique<DelayedExecutor>(machine, delays, now);
    auto begun =
        Control::begin({*store, *executor, *runner, {}, look_at_disk, exempt}, settings, moment());
    ASSERT_TRUE(begun) << begun.error().text();
    control = std::move(*begun);
  }
  [[nodiscard]] Moment moment() const { return {now, Instant{} + 1'000'000h + now + set}; }

  /// As a job that ends well after `runs`, with each of its processes.
  JobNumber submit(NewJob job, Duration runs = 10s) {
    const auto number = control->submit(job, moment());
    EXPECT_TRUE(number) << number.error().text();
    FakeCourse course = next_course;
    course.runs = runs;
    for (std::int64_t rank = 0; rank < job.spec.request.places; ++rank)
      for (std::int64_t attempt = 1; attempt < 9; ++attempt)
        jobs.plan({*number + rank, attempt}, course);
    return *number;
  }
  static NewJob job(Request request = {Unknown{}, {}}) {
    NewJob job;
    job.owner = {1000, 1000, {}, "someone"};
    job.command = {{"work"}, {"PATH=/bin"}, "/"};
    job.spec.request = std::move(request);
    job.spec.asked = text(job.spec.request);
    return job;
  }
  static NewJob sized(std::string profile) { return job({ByProfile{std::move(profile)}, {}}); }

  void run(Duration time) {
    const Duration end = now + time;
    while (now < end) {
      control->step(moment());
      Duration next = std::min(end, control->wake_at());
      if (const auto due = executor->next()) next = std::min(next, *due);
      if (const auto due = jobs.next()) next = std::min(next, due->time_since_epoch());
      now = std::max(now + 1us, next);
      jobs.advance_to(Instant{} + now);
      executor->advance_to(now);
    }
    control->step(moment());
  }
  JobRecord record(JobNumber number) { return **store->job(number); }
  std::vector<AttemptRecord> attempts(JobNumber number) { return *store->attempts(number); }
  MiB report(std::int64_t mib) { return MiB{mib}; }
  static std::vector<const GpuModel*> models_of(const std::vector<std::string>& names) {
    std::vector<const GpuModel*> models;
    for (const std::string& name : names) models.push_back(*find_gpu_model(name));
    return models;
  }

  Machine machine;
  FakeJobs jobs{1};
  FakeCourse next_course;  // of the jobs that are submitted, but for how long they run
  FakeDisk disk;
  Duration now{}, set{};  // set: by how much the clock of the wall was
  std::uint64_t executors_made = 0;
  ExecutorDelays delays;
  ControlSettings settings = settings_by_request();
  std::function<std::vector<DiskRoom>()> look_at_disk;
  ExemptUsers exempt;
  std::unique_ptr<FakeStore> store;
  std::unique_ptr<DelayedExecutor> executor;
  std::unique_ptr<FakeRunner> runner;
  std::unique_ptr<Control> control;
};

}  // namespace cleave::trial
