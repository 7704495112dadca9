#pragma once
// A daemon for tests of the commands: it keeps the jobs that it is given and runs none.

#include <map>
#include <mutex>

#include "api/documents.hpp"
#include "api/stub_daemon_test.hpp"
#include "base/json.hpp"
#include "program.hpp"

namespace cleave::testing_program {

struct StubLog {
  std::string bytes;
  std::size_t gone = 0;  // bytes at its beginning that were removed
  bool over = false;
};

class StubWorld {
 public:
  StubWorld()
      : daemon_(scratch_.path("s"),
                [this](const StubRequest& request) { return answer(request); }) {}

  /// `cleave` with this daemon.
  [[nodiscard]] std::string command(const std::string& arguments) const {
    return "CLEAVE_SOCKET='" + daemon_.path() + "' cleave " + arguments;
  }
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    return shell(command(arguments));
  }

  void put(ApiJob job) {
    const std::lock_guard lock(mutex_);
    jobs_[job.id] = std::move(job);
  }
  void put_log(std::int64_t job, const std::string& stream, std::int64_t attempt, StubLog log) {
    const std::lock_guard lock(mutex_);
    logs_[{job, stream, attempt}] = std::move(log);
  }
  /// Answers this request with that response.
  void answers(const std::string& method_and_path, StubReply reply) {
    const std::lock_guard lock(mutex_);
    fixed_[method_and_path] = std::move(reply);
  }
  [[nodiscard]] std::vector<Json> submissions() {
    const std::lock_guard lock(mutex_);
    return submissions_;
  }
  [[nodiscard]] std::string last_body() {
    const std::lock_guard lock(mutex_);
    return last_body_;
  }
  StubDaemon& daemon() { return daemon_; }
  Scratch& scratch() { return scratch_; }

 private:
  static StubReply json(const Json& document, int status = 200) {
    return {status, document.dump(), "Content-Type: application/json\r\n", false, {}, {}};
  }
  static StubReply refusal(int status, const char* kind, const std::string& message) {
    return json(
        Json{{"error",
              {{"kind", kind}, {"place", ""}, {"message", message}, {"remedy", "ask again"}}}},
        status);
  }

  StubReply answer(const StubRequest& request) {
    const std::unique_lock lock(mutex_);
    last_body_ = request.body;
    const std::string path = request.path();
    if (const auto fixed = fixed_.find(request.method + " " + path); fixed != fixed_.end())
      return fixed->second;
    if (path == "/v1/jobs") return request.method == "POST" ? take(request) : list(request);
    if (path == "/v1/cancellations") return cancel(request);
    if (path.starts_with("/v1/jobs/")) return about_job(request, path.substr(9));
    return refusal(404, "bad input", "no such thing: " + path);
  }

  StubReply take(const StubRequest& request) {
    const auto document = parse_json(request.body, "request");
    const auto submission =
        document ? read_submission(*document, "request") : std::unexpected(document.error());
    if (!submission) return json(error_document(submission.error()), 400);
    submissions_.push_back(*document);
    ApiJob job;
    job.id = 12;
    job.state = "queued";
    job.reason = "it has just come";
    job.name = submission->name;
    jobs_.try_emplace(job.id, job);
    return json(to_json(jobs_[job.id], true), 201);
  }

  StubReply list(const StubRequest& request) {
    const std::string before = request.query("before"), limit = request.query("limit");
    Json found = Json::array();
    for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
      const ApiJob& job = at->second;
      if (!before.empty() && job.id >= std::stoll(before)) continue;
      if (job.is_over() && request.query("all").empty()) continue;
      if (!request.query("state").empty() && request.query("state") != job.state) continue;
      if (!limit.empty() && found.size() == std::min<std::size_t>(std::stoul(limit), 3)) break;
      Json document = to_json(job, false);
      document["a_later_key"] = "kept";
      found.push_back(std::move(document));
    }
    return json(Json{{"jobs", found}});
  }

  StubReply cancel(const StubRequest& request) {
    const auto document = parse_json(request.body, "request");
    if (!document) return json(error_document(document.error()), 400);
    Json jobs = Json::array(), refused = Json::array();
    for (const Json& each : (*document)["jobs"]) {
      const auto found = jobs_.find(each.get<std::int64_t>());
      if (found == jobs_.end()) {
        const Error error{ErrorKind::bad_input, "", "there is no job " + each.dump(), "ask again"};
        refused.push_back(error_document(error));
        refused.back()["job"] = each;
        continue;
      }
      if (!found->second.is_over()) found->second.state = "cancelled";
      jobs.push_back(to_json(found->second, false));
    }
    return json(Json{{"jobs", jobs}, {"refused", refused}});
  }

  StubReply about_job(const StubRequest& request, const std::string& rest) {
    const std::string what =
        rest.find('/') == std::string::npos ? "" : rest.substr(rest.find('/') + 1);
    const auto found = jobs_.find(std::atoll(rest.c_str()));
    if (found == jobs_.end())
      return refusal(404, "bad input", "there is no job " + rest.substr(0, rest.find('/')));
    ApiJob& job = found->second;
    if (what == "cancel") job.state = "cancelled";
    if (what == "logs") return log_of(request, job);
    return json(to_json(job, true));
  }

  StubReply log_of(const StubRequest& request, const ApiJob& job) {
    std::int64_t attempt = std::atoll(request.query("attempt").c_str());
    if (attempt == 0) attempt = job.attempts;
    const StubLog& log = logs_[{job.id, request.query("stream"), attempt}];
    const auto size = static_cast<std::int64_t>(log.bytes.size());
    std::int64_t offset = std::atoll(request.query("offset").c_str());
    if (offset < 0) offset = std::max<std::int64_t>(size + offset, 0);
    offset = std::clamp(offset, std::min(static_cast<std::int64_t>(log.gone), size), size);
    const std::string bytes = log.bytes.substr(static_cast<std::size_t>(offset), 10);
    const auto next = offset + static_cast<std::int64_t>(bytes.size());
    return {
        200,
        bytes,
        fmt::format("Cleave-Offset: {}\r\nCleave-Next-Offset: {}\r\nCleave-Attempt: {}\r\n{}",
                    offset, next, attempt, log.over && next == size ? "Cleave-Over: true\r\n" : ""),
        false,
        {},
        {}};
  }

  Scratch scratch_;
  std::mutex mutex_;
  std::map<std::int64_t, ApiJob> jobs_;
  std::map<std::tuple<std::int64_t, std::string, std::int64_t>, StubLog> logs_;
  std::map<std::string, StubReply> fixed_;
  std::vector<Json> submissions_;
  std::string last_body_;
  StubDaemon daemon_;
};

}  // namespace cleave::testing_program
