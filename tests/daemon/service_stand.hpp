#pragma once
// The daemon's API without sockets, processes and GPUs: the real service over the real loop, with a
// store in memory, invented jobs, and a clock that the test moves. Any user may ask.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "../control/delayed_executor.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/temporary_folder_test.hpp"
#include "control/fake_store_test.hpp"
#include "daemon/service/service.hpp"
#include "model/gpu_model.hpp"
#include "runner/fake_runner_test.hpp"
#include "schema_check.hpp"

namespace cleave::trial {

struct Asked {
  std::shared_ptr<HttpResponse> response = std::make_shared<HttpResponse>();
  std::shared_ptr<bool> there = std::make_shared<bool>(false), gone = std::make_shared<bool>(false);
  std::shared_ptr<std::size_t> room = std::make_shared<std::size_t>(SIZE_MAX);  // for the answer
  [[nodiscard]] Json json() const { return Json::parse(response->body, nullptr, false); }
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& [key, value] : response->headers)
      if (key == name) return value;
    return {};
  }
};

class KeptAnswer final : public HttpAnswer::Target {
 public:
  explicit KeptAnswer(Asked asked) : asked_(std::move(asked)) {}
  void answer(HttpResponse response) override {
    if (*asked_.there) return;
    *asked_.response = std::move(response);
    *asked_.there = true;
  }
  [[nodiscard]] bool gone() const override { return *asked_.gone; }
  [[nodiscard]] bool fits(std::size_t bytes) const override { return bytes <= *asked_.room; }

 private:
  Asked asked_;
};

class HeardStream final : public HttpStream {
 public:
  bool send(std::shared_ptr<const std::string> piece) override {
    if (closed_) return false;
    sent.push_back(piece);
    if (stuck) waiting_ += piece->size();
    text += *piece;
    return true;
  }
  [[nodiscard]] std::size_t waiting() const override { return waiting_; }
  [[nodiscard]] bool closed() const override { return closed_; }
  void close() override { closed_ = true; }
  void when_empty(std::function<void()> call) override { call_ = std::move(call); }
  /// The other end has read everything.
  void read_all() {
    waiting_ = 0;
    if (call_) call_();
  }
  std::vector<std::shared_ptr<const std::string>> sent;
  std::string text;
  bool stuck = false;

 private:
  std::size_t waiting_ = 0;
  bool closed_ = false;
  std::function<void()> call_;
};

inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A user who may own files in this test, and is not an operator if the test runs as root.
inline std::uint32_t ada() {
  return ::geteuid() == 0 ? 1 : ::geteuid();
}
inline constexpr std::uint32_t bob = 2, nobody_knows = 3'999'999;

/// A scheduler that gives each job no more than it asks for.
inline ControlSettings by_request() {
  ControlSettings settings;
  settings.scheduler = "online";
  return settings;
}

class ServiceStand {
 public:
  explicit ServiceStand(ControlSettings settings = by_request(), std::uint32_t daemon_uid = 0)
      : description_(Json::parse(openapi_text())),
        check_(description_),
        machine_({*find_gpu_model("A100-40GB"), *find_gpu_model("A100-40GB")}),
        jobs_(7),
        store_(disk_),
        runner_(jobs_),
        audit_(state_.path().string()) {
    ExecutorDelays delays;
    delays.until_done = std::chrono::milliseconds(1);
    delays.until_told = std::chrono::milliseconds(1);
    executor_ = std::make_unique<DelayedExecutor>(machine_, delays, now_);
    const auto owner = [this](const JobOwner& as_submitted) -> Result<JobOwner> {
      return look_up_owner ? look_up_owner(as_submitted) : as_submitted;
    };
    control_ = std::move(*Control::begin({store_, *executor_, runner_, owner}, settings, moment()));
    service_ = std::make_unique<Service>(
        ServiceDoors{*control_, store_, audit_, [this] { return moment(); }, [] {}, [] {},
                     [this](std::function<void()> call) { posted_.push_back(std::move(call)); }},
        ServiceFacts{.version = "0",
                     .state_directory = state_.path().string(),
                     .jobs_directory = (state_.path() / "jobs").string(),
                     .simulated = true,
                     .uid = daemon_uid,
                     .started = moment().wall,
                     .notices = {},
                     .isolation = {}},
        ServiceSettings{"", false, "laws"});
    ::mkdir((state_.path() / "jobs").c_str(), 0755);
    run(std::chrono::milliseconds(50));
  }

  /// Asks, and checks the answer against the description if it comes at once.
  Asked begin(std::uint32_t uid, const std::string& method, const std::string& target,
              const std::string& body = {}, const std::string& last_id = {}) {
    const auto parsed = parse_http_target(target);
    Asked asked;
    if (!parsed) {
      ADD_FAILURE() << target;
      return asked;
    }
    HttpRequest request;
    request.peer = {uid, uid, 4711};
    request.method = method;
    request.path = parsed->path;
    request.query = parsed->query;
    request.last_event_id = last_id;
    request.idempotency_key = std::exchange(next_key, std::nullopt);
    request.body = body;
    service_->serve(std::move(request), HttpAnswer(std::make_shared<KeptAnswer>(asked)));
    return asked;
  }
  /// Waits until it is answered.
  Asked ask(std::uint32_t uid, const std::string& method, const std::string& target,
            const std::string& body = {}) {
    Asked asked = begin(uid, method, target, body);
    for (int i = 0; i < 100'000 && !*asked.there; ++i) run(std::chrono::milliseconds(1));
    EXPECT_TRUE(*asked.there) << method << " " << target;
    check(method, target, asked);
    return asked;
  }
  void check(const std::string& method, const std::string& target, const Asked& asked) {
    const HttpResponse& response = *asked.response;
    const auto findings =
        check_.check_answer(method, target.substr(0, target.find('?')), response.status,
                            response.content_type, response.body);
    EXPECT_TRUE(findings.empty()) << fmt::format("{}", fmt::join(findings, "\n")) << "\n"
                                  << response.body;
  }

  void run(Duration time) {
    const Duration end = now_ + time;
    while (now_ < end) {
      now_ += std::chrono::milliseconds(1);
      // Two turns a millisecond, as in a busy loop.
      for (int turn = 0; turn < 2 && !posted_.empty(); ++turn) {
        const auto call = std::move(posted_.front());
        posted_.pop_front();
        call();
      }
      executor_->advance_to(now_);
      jobs_.advance_to(moment().wall);
      control_->step(moment());
      service_->after_step();
      service_->tick();
    }
  }
  [[nodiscard]] Moment moment() const {
    return {now_, Instant{} + std::chrono::hours(500'000) + now_};
  }
  [[nodiscard]] std::string audit() const {
    return text_of_file((state_.path() / "audit.jsonl").string());
  }

  /// The record that a supervisor would have written.
  void write_output(const std::string& attempt, std::uint32_t owner, const std::string& text) {
    const std::string folder = (state_.path() / "jobs" / attempt).string(),
                      users = folder + "/user";
    ::mkdir(folder.c_str(), 0755);
    ::mkdir(users.c_str(), 0700);
    const std::string file = users + "/stdout.log";
    std::ofstream(file, std::ios::app) << text;
    if (::geteuid() == 0) {
      EXPECT_EQ(::chown(users.c_str(), owner, owner), 0);
      EXPECT_EQ(::chown(file.c_str(), owner, owner), 0);
    }
  }

  /// The key of the next request.
  std::optional<std::string> next_key;
  /// The system's view of a job's owner when it starts; empty: unchanged.
  std::function<Result<JobOwner>(const JobOwner&)> look_up_owner;

  [[nodiscard]] const Json& description() const { return description_; }
  [[nodiscard]] const SchemaCheck& schemas() const { return check_; }
  [[nodiscard]] FakeDisk& disk() { return disk_; }
  [[nodiscard]] FakeJobs& jobs() { return jobs_; }
  [[nodiscard]] std::size_t posted() const { return posted_.size(); }
  [[nodiscard]] FakeStore& store() { return store_; }
  [[nodiscard]] Service& service() { return *service_; }

 private:
  Json description_;
  SchemaCheck check_;
  TemporaryFolder state_;
  Machine machine_;
  FakeDisk disk_;
  FakeJobs jobs_;
  FakeStore store_;
  FakeRunner runner_;
  AuditFile audit_;
  Duration now_ = std::chrono::seconds(1);
  std::deque<std::function<void()>> posted_;
  std::unique_ptr<DelayedExecutor> executor_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<Service> service_;
};

}  // namespace cleave::trial
