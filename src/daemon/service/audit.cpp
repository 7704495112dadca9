#include "daemon/service/audit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_result = 500;

std::string_view decision_of(int status) {
  if (status < 400) return "allowed";
  return status == 400 || status == 405 || status == 413 ? "not understood" : "refused";
}

}  // namespace

std::string audit_text(const AuditLine& line, Instant at) {
  const bool known = line.peer.uid != unknown_user;
  Json json{{"at", utc_text(at)},
            {"uid", known ? Json(line.peer.uid) : Json()},
            {"pid", line.peer.pid},
            {"method", line.method},
            {"path", line.path.substr(0, longest_result)},
            {"decision", decision_of(line.status)},
            {"status", line.status},
            {"result", line.result.substr(0, longest_result)}};
  if (line.token != 0) json["page_token"] = line.token;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AuditFile::AuditFile(std::string directory, std::int64_t most_bytes)
    : directory_(std::move(directory)), most_bytes_(most_bytes) {
  open();
}

void AuditFile::open() {
  const std::string path = fmt::format("{}/audit.jsonl", directory_);
  file_ = Descriptor(::open(
      path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat facts {};
  if (!file_ || ::fstat(file_.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    file_.close();
    return;
  }
  size_ = facts.st_size;
}

bool AuditFile::is_there() const {
  struct stat had {
  }, there{};
  return ::fstat(file_.number(), &had) == 0 &&
         ::lstat(fmt::format("{}/audit.jsonl", directory_).c_str(), &there) == 0 &&
         had.st_ino == there.st_ino && had.st_dev == there.st_dev;
}

void AuditFile::rotate() {
  file_.close();
  (void)::rename(fmt::format("{}/audit.jsonl", directory_).c_str(),
                 fmt::format("{}/audit.old.jsonl", directory_).c_str());
  open();
}

bool RefusalBudget::take(std::uint32_t uid, Instant at) {
  User& user = users_.try_emplace(uid, User{.since = at}).first->second;
  // A clock that was set back gives nothing.
  const auto passed = std::chrono::duration_cast<std::chrono::seconds>(at - user.since).count();
  if (passed != 0) user.since = at;
  user.left = std::min(user.left + std::max<std::int64_t>(passed, 0), at_once);
  if (user.left == 0) {
    ++user.counted;
    return false;
  }
  --user.left;
  return true;
}

std::int64_t RefusalBudget::counted(std::uint32_t uid) {
  const auto found = users_.find(uid);
  return found == users_.end() ? 0 : std::exchange(found->second.counted, 0);
}

void AuditFile::write(const AuditLine& line, Instant at) {
  const std::uint32_t uid = line.peer.uid;
  if (line.status >= 400 && !refusals_.take(uid, at)) return;
  std::string text = audit_text(line, at) + "\n";
  if (const std::int64_t counted = refusals_.counted(uid); counted > 0)
    text = Json{{"at", utc_text(at)},
                {"uid", uid != unknown_user ? Json(uid) : Json()},
                {"refusals_not_written", counted}}
               .dump() +
           "\n" + text;
  append(std::move(text), at);
}

void AuditFile::append(std::string text, Instant at) {
  if (!file_ || !is_there()) open();
  if (file_ && size_ >= most_bytes_) rotate();
  if (lost_ > 0) text = Json{{"at", utc_text(at)}, {"lost_lines", lost_}}.dump() + "\n" + text;
  // One write, so that lines of several programs do not mix. A partial line on a full disk is cut
  // off below.
  ssize_t written = -1;
  do {
    written = file_ ? ::write(file_.number(), text.data(), text.size()) : -1;
  } while (written < 0 && file_ && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) {
    size_ += written;
    lost_ = 0;
    return;
  }
  ++lost_;
  if (written > 0) (void)!::ftruncate(file_.number(), size_);
}

}  // namespace cleave
