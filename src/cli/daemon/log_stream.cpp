#include "cli/daemon/log_stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "api/documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<LogPiece> ask_log(ApiClient& daemon, const LogOf& log, std::int64_t attempt,
                         std::int64_t offset, seconds wait) {
  std::string target =
      fmt::format("/v1/jobs/{}/logs?stream={}&offset={}", log.job, log.stream, offset);
  if (log.rank > 0) target += fmt::format("&rank={}", log.rank);
  if (attempt > 0) target += fmt::format("&attempt={}", attempt);
  if (wait.count() > 0) target += fmt::format("&wait_s={}", wait.count());
  const auto answer = daemon.ask("GET", target, "", wait);
  if (!answer) return std::unexpected(answer.error());
  LogPiece piece;
  piece.bytes = answer->body;
  const auto from = parse_integer(answer->header("Cleave-Offset"));
  const auto next = parse_integer(answer->header("Cleave-Next-Offset"));
  piece.attempt = parse_integer(answer->header("Cleave-Attempt")).value_or(attempt);
  if (!from || !next || *from < 0 || *next < *from)
    return fail(ErrorKind::internal, "the daemon's answer",
                "it does not say which part of the log it is");
  piece.offset = *from;
  piece.next = *next;
  piece.over = lowercase(answer->header("Cleave-Over")) == "true";
  return piece;
}

namespace {

/// From there to where the log ends now.
Result<LogPiece> ask_to_the_end(ApiClient& daemon, const LogOf& log, std::int64_t attempt,
                                std::int64_t offset) {
  auto all = ask_log(daemon, log, attempt, offset);
  while (all) {
    const auto more = ask_log(daemon, log, all->attempt, all->next);
    if (!more) return more;
    if (more->bytes.empty()) return all;
    all->bytes += more->bytes;
    all->next = more->next;
    all->over = more->over;
  }
  return all;
}

/// Where the last `lines` lines begin; nothing where there are fewer.
std::optional<std::size_t> begin_of_last(std::string_view text, std::int64_t lines) {
  std::size_t at = text.size();
  if (lines == 0) return at;
  if (text.ends_with('\n')) --at;
  while (true) {
    const std::size_t line_end = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    if (line_end == std::string_view::npos) return std::nullopt;
    if (--lines == 0) return line_end + 1;
    at = line_end;
  }
}

}  // namespace

Result<LogPiece> ask_tail(ApiClient& daemon, const LogOf& log, std::int64_t attempt,
                          std::int64_t lines) {
  constexpr std::int64_t most = 256 << 20;
  for (std::int64_t back = 64 << 10;; back *= 8) {
    auto piece = ask_to_the_end(daemon, log, attempt, -back);
    if (!piece) return piece;
    const auto begin = begin_of_last(piece->bytes, lines);
    const bool all = static_cast<std::int64_t>(piece->bytes.size()) < back || back >= most;
    if (!begin && !all) continue;
    piece->offset += static_cast<std::int64_t>(begin.value_or(0));
    piece->bytes.erase(0, begin.value_or(0));
    return piece;
  }
}

OutputSink::OutputSink(int descriptor, bool raw, std::string prefix)
    : descriptor_(descriptor), prefix_(std::move(prefix)) {
  if (!raw && ::isatty(descriptor) == 1) filter_.emplace();
}

void OutputSink::write_filtered(std::string_view bytes) {
  if (filter_)
    write_all(filter_->pass(bytes));
  else
    write_all(bytes);
}

void OutputSink::write(std::string_view bytes) {
  if (prefix_.empty()) return write_filtered(bytes);
  std::string lines;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    lines.append(prefix_).append(std::exchange(begun_, {})).append(bytes.substr(0, end + 1));
    bytes.remove_prefix(end + 1);
  }
  begun_ += bytes;
  write_filtered(lines);
}

void OutputSink::finish() {
  if (!begun_.empty()) write_filtered(fmt::format("{}{}\n", prefix_, std::exchange(begun_, {})));
  if (filter_) write_all(filter_->rest());
}

void OutputSink::write_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t taken = ::write(descriptor_, bytes.data(), bytes.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0)
      throw std::system_error(errno, std::generic_category(),
                              "the output of the job could not be written");
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
}

namespace {

/// Between two questions whether another attempt has begun: a process of a job of several may be
/// over long before its job is.
constexpr auto first_pause = milliseconds(100), longest_pause = milliseconds(2000);

/// What is known of a log that is followed.
class LogFollower {
 public:
  LogFollower(ApiClient& daemon, const LogRequest& request)
      : daemon_(daemon), request_(request), offset_(request.offset) {}

  Result<void> run(const std::function<void(std::string_view)>& on_bytes,
                   const std::function<void(const std::string&)>& on_remark);

 private:
  /// Waits for the first attempt; false where there will be none.
  Result<bool> begins();
  /// After a piece that ended, or was empty: whether more may come, then `attempt_` is set.
  Result<bool> goes_on(bool attempt_over, const std::function<void(const std::string&)>& on_remark);
  Result<ApiJob> job();

  ApiClient& daemon_;
  const LogRequest& request_;
  std::int64_t attempt_ = 0, offset_ = 0, attempts_seen_ = 0;
  bool job_over_ = false;
  milliseconds pause_ = first_pause;
};

Result<ApiJob> LogFollower::job() {
  const auto document =
      patiently<Json>(daemon_, request_.patience, [&] { return ask_job(daemon_, request_.job); });
  if (!document) return std::unexpected(document.error());
  return read_job(*document, "the daemon's answer");
}

Result<bool> LogFollower::begins() {
  for (auto pause = milliseconds(20);; pause = std::min(2 * pause, milliseconds(500))) {
    const auto now = job();
    if (!now) return std::unexpected(now.error());
    job_over_ = now->is_over();
    attempts_seen_ = now->attempts;
    if (request_.attempt > 0 && now->attempts >= request_.attempt) attempt_ = request_.attempt;
    if (request_.attempt == 0 && now->attempts > 0) attempt_ = now->attempts;
    if (attempt_ > 0) return true;
    if (job_over_) return false;
    std::this_thread::sleep_for(pause);
  }
}

Result<bool> LogFollower::goes_on(bool attempt_over,
                                  const std::function<void(const std::string&)>& on_remark) {
  // What was so before the last piece was read, which was then all there will be.
  const bool was_over = job_over_;
  attempt_over = attempt_over || attempts_seen_ > attempt_;
  const auto now = job();
  if (!now) return std::unexpected(now.error());
  job_over_ = now->is_over();
  attempts_seen_ = now->attempts;
  if (request_.this_one_only && attempt_over) return false;
  if (now->attempts > attempt_ && attempt_over) {
    ++attempt_;
    offset_ = 0;
    pause_ = first_pause;
    on_remark(fmt::format("attempt {} of job {}", attempt_, request_.job));
    return true;
  }
  if (job_over_ && (attempt_over || was_over)) return false;
  if (attempt_over) {
    std::this_thread::sleep_for(pause_);  // the next attempt is not there yet
    pause_ = std::min(2 * pause_, longest_pause);
  }
  return true;
}

Result<void> LogFollower::run(const std::function<void(std::string_view)>& on_bytes,
                              const std::function<void(const std::string&)>& on_remark) {
  constexpr auto at_a_time = seconds(20);
  const auto begun = begins();
  if (!begun) return std::unexpected(begun.error());
  bool more = *begun;
  while (more) {
    const auto began = std::chrono::steady_clock::now();
    Result<LogPiece> piece;
    const auto answered = patiently<Json>(daemon_, request_.patience, [&]() -> Result<Json> {
      piece = ask_log(daemon_, {request_.job, request_.rank, request_.stream}, attempt_, offset_,
                      at_a_time);
      return piece ? Result<Json>(Json()) : Result<Json>(std::unexpected(piece.error()));
    });
    if (!answered) return std::unexpected(answered.error());
    if (offset_ >= 0 && piece->offset > offset_)
      on_remark(fmt::format("{} bytes of {} are gone", piece->offset - offset_, request_.stream));
    if (!piece->bytes.empty()) on_bytes(piece->bytes);
    offset_ = piece->next;
    if (!piece->bytes.empty() && !piece->over) continue;
    const auto onwards = goes_on(piece->over, on_remark);
    if (!onwards) return std::unexpected(onwards.error());
    more = *onwards;
    // A daemon that did not wait is not asked all the time.
    if (more && piece->bytes.empty() &&
        std::chrono::steady_clock::now() - began < milliseconds(100))
      std::this_thread::sleep_for(milliseconds(100));
  }
  return {};
}

}  // namespace

Result<void> follow_log(ApiClient& daemon, const LogRequest& request,
                        const std::function<void(std::string_view)>& on_bytes,
                        const std::function<void(const std::string&)>& on_remark) {
  return LogFollower(daemon, request).run(on_bytes, on_remark);
}

}  // namespace cleave::cli
