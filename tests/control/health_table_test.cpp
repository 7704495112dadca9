// Every row of the table of health, given by the simulated driver: the loop of the daemon, over the
// doors of the daemon to NVML, does what the row says and nothing else. Only the clock, the store
// and the processes of jobs are the test's.

#include <gtest/gtest.h>

#include "control/control.hpp"
#include "control/fake_store_test.hpp"
#include "control/gpu_worker.hpp"
#include "loop_stand.hpp"
#include "runner/fake_runner_test.hpp"
#include "simulated_stand.hpp"

namespace cleave::trial {
namespace {

using namespace std::chrono_literals;

/// Does each operation at once.
class DirectExecutor final : public GpuExecutor {
 public:
  explicit DirectExecutor(const SimulatedStand& stand) : door_(stand.door()) {
    gpus_ = find_managed_gpus(*door_, {"all"}).value();
    GpuWorkerSettings settings;
    settings.state_directory = stand.state();
    for (const GpuIdentity& gpu : gpus_) workers_.emplace_back(*door_, gpu, settings);
  }
  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override { return gpus_; }
  void ask(NumberedOperation operation) override {
    news_.push_back(workers_.at(index(operation.gpu)).carry_out(operation));
  }
  [[nodiscard]] std::vector<GpuNews> poll() override { return std::exchange(news_, {}); }
  [[nodiscard]] int wake_fd() const override { return -1; }

 private:
  std::unique_ptr<NvmlDoor> door_;
  std::vector<GpuIdentity> gpus_;
  std::vector<GpuWorker> workers_;
  std::vector<GpuNews> news_;
};

/// Two GPUs with three jobs: `met` and `beside` on one of them, `far` on the whole of the other.
/// The process of `met` fails at `met_fails`.
class Scene {
 public:
  static constexpr Duration met_fails = 10s;

  /// `silent`: the drivers tell of Xids only, as older ones.
  explicit Scene(bool silent = false) {
    for (const int each : {0, 1})
      if (silent) stand_.fault(each, "silent-health");
    std::filesystem::create_directories(stand_.state());
    ControlSettings settings = settings_by_request();
    auto begun = Control::begin({store_, executor_, runner_}, settings, moment());
    EXPECT_TRUE(begun) << begun.error().text();
    control = std::move(*begun);
  }

  /// As jobs that may run again.
  JobNumber submit(std::string_view profile, Duration runs, int code) {
    NewJob job;
    job.owner = {1000, 1000, {}, "someone"};
    job.command = {{"work"}, {"PATH=/bin"}, "/"};
    job.spec.request = {ByProfile{std::string(profile)}, {}};
    job.spec.restartable = true;
    const auto number = control->submit(job, moment());
    EXPECT_TRUE(number) << number.error().text();
    FakeCourse course;
    course.runs = 100h;
    for (std::int64_t attempt = 1; attempt < 9; ++attempt) jobs_.plan({*number, attempt}, course);
    course.runs = runs;
    course.outcome.code = code;
    jobs_.plan({*number, 1}, course);
    return *number;
  }
  void start_all() {
    met = submit("3g.20gb", met_fails, 1);
    run(1s);
    far = submit("7g.40gb", 100h, 0);
    run(1s);
    beside = submit("2g.10gb", 100h, 0);
    run(1s);
    gpu = attempts(met)[0].gpu == executor_.gpus()[0].uuid ? 0 : 1;
    ASSERT_EQ(attempts(beside)[0].gpu, attempts(met)[0].gpu);
    ASSERT_NE(attempts(far)[0].gpu, attempts(met)[0].gpu);
    device = attempts(met)[0].device;
  }
  void run(Duration time) {
    const Duration end = now_ + time;
    while (now_ < end) {
      control->step(moment());
      Duration next = std::min(end, control->wake_at());
      if (const auto due = jobs_.next()) next = std::min(next, due->time_since_epoch());
      now_ = std::max(now_ + 1us, next);
      jobs_.advance_to(Instant{} + now_);
    }
    control->step(moment());
  }
  void run_until(Duration time) { run(time - now_); }
  [[nodiscard]] Moment moment() const { return {now_, Instant{} + 1'000'000h + now_}; }

  JobRecord record(JobNumber number) { return **store_.job(number); }
  std::vector<AttemptRecord> attempts(JobNumber number) { return *store_.attempts(number); }
  [[nodiscard]] bool drained(std::size_t which) const { return control->gpus()[which].drained; }
  [[nodiscard]] std::string trouble(std::size_t which) const {
    return control->gpus()[which].trouble;
  }
  /// The number of the GPU instance of `met`.
  [[nodiscard]] std::uint32_t instance() const {
    for (const SimGpuInstanceView& each : stand_.look(gpu).instances)
      if (!each.compute_instances.empty() && each.compute_instances[0].uuid == device)
        return each.id;
    ADD_FAILURE() << "there is no instance " << device;
    return 0;
  }
  [[nodiscard]] bool exists(const std::string& wanted) const {
    for (const SimGpuInstanceView& each : stand_.look(gpu).instances)
      for (const SimComputeInstanceView& compute : each.compute_instances)
        if (compute.uuid == wanted) return true;
    return false;
  }
  void give(std::string_view sign, std::optional<std::uint32_t> at = {}) const {
    const auto given = set_sim_fault(stand_.node(), static_cast<int>(gpu), sign, {}, at);
    EXPECT_TRUE(given) << given.error().text();
  }
  void undrain() {
    EXPECT_TRUE(control->drain(GpuId{static_cast<std::uint32_t>(gpu)}, false, moment()));
  }

  JobNumber met = 0, beside = 0, far = 0;
  std::size_t gpu = 0;
  std::string device;  // of `met`, at first

 private:
  SimulatedStand stand_{"2xA100-40GB"};
  FakeJobs jobs_{1};
  FakeDisk disk_;
  FakeStore store_{disk_};
  FakeRunner runner_{jobs_};
  DirectExecutor executor_{stand_};
  Duration now_{};

 public:
  std::unique_ptr<Control> control;
};

/// What is seen after the sign, of the four reactions and what goes beyond them.
struct Seen {
  bool failed = false, met_runs_again = false, retry_counted = false;
  bool device_gone = false, drained = false, said = false;
  bool beside_stopped = false, far_touched = false;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << fmt::format(
             "failed {} again {} retry {} gone {} drained {} said {} beside {} far {}", seen.failed,
             seen.met_runs_again, seen.retry_counted, seen.device_gone, seen.drained, seen.said,
             seen.beside_stopped, seen.far_touched);
}

Seen look(Scene& scene, const HealthFact& fact) {
  Seen seen;
  const JobRecord met = scene.record(scene.met);
  seen.failed = met.state == JobState::failed;
  seen.met_runs_again = !seen.failed && scene.attempts(scene.met)[0].end == AttemptEnd::lost;
  seen.retry_counted = met.failures > 0;
  seen.device_gone = !scene.exists(scene.device);
  seen.drained = scene.drained(scene.gpu);
  seen.said = scene.trouble(scene.gpu).find(in_words(fact)) != std::string::npos;
  seen.beside_stopped = scene.attempts(scene.beside)[0].end.has_value();
  seen.far_touched = scene.attempts(scene.far)[0].end.has_value() || scene.drained(1 - scene.gpu) ||
                     !scene.trouble(1 - scene.gpu).empty();
  return seen;
}

Seen expected(const HealthFact& fact, HealthReaction reaction) {
  Seen seen;
  seen.failed = reaction == HealthReaction::ignore;
  seen.met_runs_again = !seen.failed;
  seen.device_gone = reaction == HealthReaction::drain_instance;
  seen.drained = seen.said = reaction == HealthReaction::drain_gpu;
  seen.beside_stopped = seen.drained && fact.stops_jobs;
  return seen;
}

/// What the row says makes it good makes it good; before that nothing did.
void cure(Scene& scene, const HealthFact& fact) {
  scene.run(20s);
  ASSERT_TRUE(scene.drained(scene.gpu)) << "by itself";
  if (fact.cure == HealthCure::reset) {
    scene.give("lost");
    scene.run(10s);
  }
  scene.give("none");
  scene.run(10s);
  EXPECT_EQ(scene.drained(scene.gpu), fact.cure == HealthCure::operators);
  scene.undrain();
  scene.run(10s);
  EXPECT_FALSE(scene.drained(scene.gpu));
  EXPECT_EQ(scene.trouble(scene.gpu), "");
}

/// Gives the sign a second before the process of `met` fails, and looks ten seconds later.
void try_sign(const HealthFact& fact, bool of_instance, HealthReaction reaction, bool silent) {
  SCOPED_TRACE(fmt::format("{}{}{}", name(fact), of_instance ? " of an instance" : "",
                           silent ? ", and the driver tells nothing else" : ""));
  Scene scene(silent);
  ASSERT_NO_FATAL_FAILURE(scene.start_all());
  scene.run_until(Scene::met_fails);
  scene.give(name(fact), of_instance ? std::optional(scene.instance()) : std::nullopt);
  scene.run(12s);
  EXPECT_EQ(look(scene, fact), expected(fact, reaction));
  if (reaction == HealthReaction::drain_gpu) cure(scene, fact);
}

std::vector<const HealthFact*> rows(bool states) {
  std::vector<const HealthFact*> all;
  for (const HealthFact& fact : health_facts()) {
    const bool state = fact.sign != HealthSign::xid && fact.sign != HealthSign::memory_errors;
    if (state == states) all.push_back(&fact);
  }
  return all;
}

TEST(HealthTable, EachXidAndCountDoesWhatItsRowSays) {
  for (const HealthFact* fact : rows(false)) {
    const HealthReaction told = fact->deferred ? HealthReaction::requeue_job : fact->reaction;
    try_sign(*fact, true, told, false);
    if (fact->deferred) try_sign(*fact, true, fact->reaction, true);
    if (fact->sign == HealthSign::xid && fact->reaction != fact->without_instance)
      try_sign(*fact, false, fact->without_instance, false);
  }
}

/// Drivers tell of remapped rows while there is no instance.
TEST(HealthTable, EachStateDoesWhatItsRowSays) {
  for (const HealthFact* fact : rows(true)) {
    SCOPED_TRACE(name(*fact));
    Scene scene;
    scene.run(1s);
    scene.give(name(*fact));
    scene.run(10s);
    const bool drains = fact->reaction == HealthReaction::drain_gpu;
    EXPECT_EQ(scene.drained(0), drains);
    EXPECT_FALSE(scene.drained(1));
    EXPECT_EQ(scene.trouble(0).find(in_words(*fact)) != std::string::npos, drains)
        << scene.trouble(0);
    const JobNumber one = scene.submit("7g.40gb", 100h, 0), two = scene.submit("7g.40gb", 100h, 0);
    scene.run(10s);
    EXPECT_EQ(scene.record(one).state, JobState::running);
    EXPECT_EQ(scene.record(two).state, drains ? JobState::queued : JobState::running);
    if (!drains) continue;
    scene.give("none");
    scene.run(10s);
    EXPECT_FALSE(scene.drained(0)) << "the driver says so no longer";
    EXPECT_EQ(scene.record(two).state, JobState::running);
  }
}

}  // namespace
}  // namespace cleave::trial
