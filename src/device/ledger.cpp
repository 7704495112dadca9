#include "device/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "device/file_handle.hpp"

namespace cleave {

namespace {

/// No link is followed: the folder may be another user's than that of the program, who is root. And
/// opening waits for no other end of a pipe.
constexpr int plainly = O_NOFOLLOW | O_NONBLOCK;

/// What a line has besides number, time and writer, by its act.
struct ActRow {
  LedgerAct act;
  std::string_view name;
  bool place, instance;  // GPU, profile and start; number of the GPU instance and UUIDs
};

constexpr auto acts = std::to_array<ActRow>({
    {LedgerAct::create, "create", true, false},
    {LedgerAct::created, "created", false, true},
    {LedgerAct::not_created, "not-created", false, false},
    {LedgerAct::destroy, "destroy", true, true},
    {LedgerAct::destroyed, "destroyed", false, false},
    {LedgerAct::not_destroyed, "not-destroyed", false, false},
    {LedgerAct::adopt, "adopt", true, true},
});

const ActRow& row_of(LedgerAct act) {
  return *std::ranges::find(acts, act, &ActRow::act);
}

constexpr std::int64_t most_number = std::int64_t{1} << 53;

constexpr const char* damaged_remedy =
    "repair the line, or move the file away: what Cleave made is then foreign to it and needs "
    "--adopt";

std::string time_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace

std::string_view name(Ownership ownership) {
  switch (ownership) {
    case Ownership::ours:
      return "ours";
    case Ownership::half_made:
      return "half-made";
    case Ownership::foreign:
      return "foreign";
    case Ownership::unknown:
      break;
  }
  return "unknown";
}

std::string ledger_text(const LedgerLine& line) {
  const ActRow& row = row_of(line.act);
  Json json = {{"act", row.name}, {"number", line.number}, {"at", line.at}, {"by", line.by}};
  if (row.place) {
    json["gpu"] = line.place.gpu;
    json["profile"] = line.place.profile;
    json["profile_id"] = static_cast<std::uint32_t>(line.place.profile_id);
    json["start"] = line.place.start;
  }
  if (row.instance) {
    json["gpu_instance"] = static_cast<std::uint32_t>(line.id);
    json["uuids"] = line.uuids;
  }
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<LedgerLine> parse_ledger_line(std::string_view text, const std::string& place) {
  const auto json = parse_json(text, place);
  if (!json)
    return fail(ErrorKind::bad_input, json.error().place, json.error().message, damaged_remedy);
  std::optional<Error> error;
  JsonReader in(*json, place, error);
  LedgerLine line;
  const std::string act = in.text("act");
  const auto* row = std::ranges::find(acts, act, &ActRow::name);
  if (row == acts.end()) {
    in.refuse("act",
              fmt::format("'{}' is not an action that this version of Cleave knows", shown(act)));
  } else {
    line.act = row->act;
  }
  line.number = static_cast<std::uint64_t>(in.integer("number", 1, most_number));
  line.at = in.text("at");
  line.by = in.text("by");
  if (row != acts.end() && row->place) {
    line.place.gpu = in.text("gpu");
    line.place.profile = in.text("profile");
    line.place.profile_id =
        ProfileId{static_cast<std::uint32_t>(in.integer("profile_id", 0, UINT32_MAX))};
    line.place.start = static_cast<std::uint32_t>(in.integer("start", 0, UINT32_MAX));
  }
  if (row != acts.end() && row->instance) {
    line.id = GpuInstanceId{static_cast<std::uint32_t>(in.integer("gpu_instance", 0, UINT32_MAX))};
    line.uuids = in.texts("uuids");
  }
  in.done();
  if (error) return fail(ErrorKind::bad_input, error->place, error->message, damaged_remedy);
  return line;
}

Result<void> LedgerState::take(const LedgerLine& line, const std::string& place) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorKind::bad_input, place, fmt::format("number {} {}", line.number, what),
                damaged_remedy);
  };
  const bool intent = line.act == LedgerAct::create || line.act == LedgerAct::destroy ||
                      line.act == LedgerAct::adopt;
  if (intent && (creating_.contains(line.number) || destroying_.contains(line.number) ||
                 made_.contains(line.number) || superseded_.contains(line.number)))
    return wrong("is used twice");
  switch (line.act) {
    case LedgerAct::create:
      creating_.emplace(line.number, line);
      break;
    case LedgerAct::destroy:
      destroying_.emplace(line.number, line);
      break;
    case LedgerAct::adopt:
      made(line);
      break;
    case LedgerAct::created:
    case LedgerAct::not_created: {
      const auto intended = closed(creating_, line.number, LedgerAct::create);
      if (!intended) return wrong("was never meant to be created");
      if (line.act == LedgerAct::not_created) break;
      LedgerLine whole = line;
      whole.place = intended->line.place;
      made(whole);
      break;
    }
    case LedgerAct::destroyed:
    case LedgerAct::not_destroyed: {
      const auto intended = closed(destroying_, line.number, LedgerAct::destroy);
      if (!intended) return wrong("was never meant to be destroyed");
      // A late fact is not news: what superseded the intent has removed the instance already, and
      // another may be in its place by now.
      if (line.act == LedgerAct::destroyed && !intended->late) forget(intended->line);
      break;
    }
  }
  next_ = std::max(next_, line.number + 1);
  ++lines_;
  return {};
}

std::optional<LedgerState::Intended> LedgerState::closed(Intents& intents, std::uint64_t number,
                                                         LedgerAct act) {
  if (const auto open = intents.extract(number); !open.empty())
    return Intended{.line = open.mapped(), .late = false};
  const auto before = superseded_.find(number);
  if (before == superseded_.end() || before->second.act != act) return {};
  Intended late{.line = before->second, .late = true};
  superseded_.erase(before);
  return late;
}

template <class Which>
void LedgerState::supersede(Intents& intents, Which which) {
  std::erase_if(intents, [&](const auto& each) {
    if (!which(each)) return false;
    superseded_.emplace(each.first, each.second);
    return true;
  });
}

void LedgerState::made(const LedgerLine& line) {
  // An older intent for this placement without an outcome cannot have succeeded.
  supersede(creating_, [&](const auto& each) { return each.second.place.same_as(line.place); });
  for (const std::string& uuid : line.uuids) by_uuid_[uuid] = line.number;
  made_[line.number] = line;
}

void LedgerState::forget(const LedgerLine& gone) {
  for (const std::string& uuid : gone.uuids) {
    const auto found = by_uuid_.find(uuid);
    if (found == by_uuid_.end()) continue;
    made_.erase(found->second);
    by_uuid_.erase(found);
  }
  // One whose compute instances were destroyed before, and intents that can only have meant it.
  const auto here = [&](const auto& each) {
    return each.second.place.same_as(gone.place) && each.second.id == gone.id;
  };
  std::erase_if(made_, here);
  supersede(destroying_, here);
  supersede(creating_, [&](const auto& each) { return each.second.place.same_as(gone.place); });
}

Ownership LedgerState::owner(const InstanceSeen& seen) const {
  const auto known = [&](const std::string& uuid) {
    const auto found = by_uuid_.find(uuid);
    if (found == by_uuid_.end()) return false;
    const auto line = made_.find(found->second);
    return line != made_.end() && line->second.place.same_as(seen.place);
  };
  if (std::ranges::any_of(seen.uuids, known)) return Ownership::ours;
  const auto same = [&](const auto& each) {
    return each.second.id == seen.id && each.second.place.same_as(seen.place);
  };
  const bool bare = seen.uuids.empty();
  if (bare && std::ranges::any_of(destroying_, same)) return Ownership::ours;
  const auto there = [&](const auto& each) { return each.second.place.same_as(seen.place); };
  if (std::ranges::any_of(creating_, there)) return Ownership::half_made;
  if (bare && std::ranges::any_of(made_, same)) return Ownership::half_made;
  return Ownership::foreign;
}

std::vector<LedgerLine> LedgerState::open() const {
  std::vector<LedgerLine> lines;
  for (const auto* intents : {&creating_, &destroying_})
    for (const auto& [number, line] : *intents) lines.push_back(line);
  std::ranges::sort(lines, {}, &LedgerLine::number);
  return lines;
}

namespace {

/// Whether all compute instances in it now were in it when the line was written.
bool meant_by(const LedgerLine& line, const InstanceSeen& seen) {
  return std::ranges::all_of(seen.uuids, [&](const std::string& uuid) {
    return std::ranges::find(line.uuids, uuid) != line.uuids.end();
  });
}

}  // namespace

std::optional<std::uint64_t> LedgerState::destroying(const InstanceSeen& seen) const {
  for (const auto& [number, line] : destroying_)
    if (line.id == seen.id && line.place.same_as(seen.place) && meant_by(line, seen)) return number;
  return {};
}

std::vector<LedgerLine> LedgerState::answered(const std::string& gpu,
                                              const std::vector<InstanceSeen>& live) const {
  std::vector<LedgerLine> facts;
  for (const LedgerLine& line : open()) {
    if (line.place.gpu != gpu) continue;
    const bool create = line.act == LedgerAct::create;
    bool as_it_was = false;
    const bool there = std::ranges::any_of(live, [&](const InstanceSeen& seen) {
      if (!seen.place.same_as(line.place)) return false;
      if (create) return owner(seen) != Ownership::ours;
      if (seen.id != line.id) return false;
      // One that is not ours and still complete stays as it was.
      as_it_was = owner(seen) != Ownership::ours && meant_by(line, seen);
      // The one to be destroyed: with a compute instance that is known, or without any.
      return seen.uuids.empty() || owner(seen) == Ownership::ours;
    });
    if (there) continue;
    LedgerLine fact;
    fact.act = create      ? LedgerAct::not_created
               : as_it_was ? LedgerAct::not_destroyed
                           : LedgerAct::destroyed;
    fact.number = line.number;
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<LedgerLine> LedgerState::compact(
    const std::function<bool(const std::string&)>& known,
    const std::function<bool(const std::string&)>& exists) const {
  std::vector<LedgerLine> lines = open();
  for (const auto& [number, made] : made_) {
    if (known(made.place.gpu) && std::ranges::none_of(made.uuids, exists)) continue;
    LedgerLine line = made;
    line.act = LedgerAct::adopt;  // a fact without an intent
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines, {}, &LedgerLine::number);
  return lines;
}

Ledger::Ledger(std::filesystem::path directory, std::string program)
    : directory_(std::move(directory)),
      file_(directory_ / "ledger.jsonl"),
      by_(fmt::format("{} {}", program, ::getpid())) {}

Result<Ledger> Ledger::open(const std::filesystem::path& state_directory, std::string program) {
  Ledger ledger(state_directory, std::move(program));
  if (const auto read = ledger.refresh(); !read) return std::unexpected(read.error());
  return ledger;
}

Result<void> Ledger::refresh() {
  auto file = FileHandle::open_if_there(file_, O_RDONLY | plainly);
  if (!file) return std::unexpected(file.error());
  if (!*file && inode_ != 0 && state_.lines() > 0) {
    if (const auto written = rewrite(); !written) return written;
    file = FileHandle::open_if_there(file_, O_RDONLY | plainly);
    if (!file) return std::unexpected(file.error());
  }
  if (!*file) {
    state_ = {};
    opened_ = {};
    inode_ = 0;
    read_ = 0;
    remark_.clear();
    return {};
  }
  struct stat facts = {};
  if (::fstat(file->descriptor(), &facts) != 0) return system_failure(file_, "cannot be read");
  if (facts.st_ino != inode_ || facts.st_size < read_) {
    state_ = {};
    read_ = 0;
    inode_ = facts.st_ino;
    opened_ = std::move(*file);
  }
  const auto text = opened_.read_from(read_, file_);
  if (!text) return std::unexpected(text.error());
  return take_text(*text);
}

Result<void> Ledger::take_text(std::string_view text) {
  remark_.clear();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string place = fmt::format("{}:{}", shown(file_.string(), 200), state_.lines() + 1);
    if (end == std::string_view::npos) {
      remark_ = fmt::format("{}: the last line is not complete, as after a crash, and was dropped",
                            place);
      return {};
    }
    const auto line = parse_ledger_line(text.substr(0, end), place);
    if (!line) return std::unexpected(line.error());
    if (const auto taken = state_.take(*line, place); !taken) return taken;
    text.remove_prefix(end + 1);
    read_ += static_cast<std::int64_t>(end) + 1;
  }
  return {};
}

namespace {

/// The lock of the file itself, held during an append: changes of two GPUs may be written at the
/// same time, and replacing the file must not lose one.
Result<FileHandle> lock_ledger(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "ledger.lock";
  auto lock = FileHandle::open(path, O_RDWR | O_CREAT | plainly);
  if (!lock) return lock;
  while (::flock(lock->descriptor(), LOCK_EX) != 0)
    if (errno != EINTR) return system_failure(path, "cannot be locked");
  return lock;
}

}  // namespace

Result<void> Ledger::append_locked(LedgerLine line) {
  line.at = time_now();
  line.by = by_;
  const bool made_now = inode_ == 0;
  const auto file = FileHandle::open(file_, O_RDWR | O_CREAT | O_APPEND | plainly);
  if (!file) return std::unexpected(file.error());
  // An incomplete line left by a crash must not become the beginning of this one.
  if (!remark_.empty() && ::ftruncate(file->descriptor(), read_) != 0)
    return system_failure(file_, "cannot be written");
  const std::string text = ledger_text(line);
  if (const auto written = file->write_whole(text, file_); !written) return written;
  if (const auto synced = file->sync(file_); !synced) return synced;
  if (made_now)
    if (const auto synced = sync_directory(directory_); !synced) return synced;
  return refresh();
}

Result<void> Ledger::append(LedgerLine line) {
  const auto lock = lock_ledger(directory_);
  if (!lock) return std::unexpected(lock.error());
  if (const auto read = refresh(); !read) return read;
  return append_locked(std::move(line));
}

Result<std::uint64_t> Ledger::append_intent(LedgerLine line) {
  const auto lock = lock_ledger(directory_);
  if (!lock) return std::unexpected(lock.error());
  if (const auto read = refresh(); !read) return std::unexpected(read.error());
  const std::uint64_t number = state_.next_number();
  line.number = number;
  if (const auto written = append_locked(std::move(line)); !written)
    return std::unexpected(written.error());
  return number;
}

Result<std::uint64_t> Ledger::will_create(const InstancePlace& place) {
  LedgerLine line;
  line.act = LedgerAct::create;
  line.place = place;
  return append_intent(std::move(line));
}

Result<void> Ledger::created(std::uint64_t number, GpuInstanceId id,
                             std::vector<std::string> uuids) {
  LedgerLine line;
  line.act = LedgerAct::created;
  line.number = number;
  line.id = id;
  line.uuids = std::move(uuids);
  return append(std::move(line));
}

Result<void> Ledger::append_plain(LedgerAct act, std::uint64_t number) {
  LedgerLine line;
  line.act = act;
  line.number = number;
  return append(std::move(line));
}

Result<void> Ledger::not_created(std::uint64_t number) {
  return append_plain(LedgerAct::not_created, number);
}

Result<void> Ledger::destroyed(std::uint64_t number) {
  return append_plain(LedgerAct::destroyed, number);
}

Result<void> Ledger::not_destroyed(std::uint64_t number) {
  return append_plain(LedgerAct::not_destroyed, number);
}

Result<std::uint64_t> Ledger::append_seen(LedgerAct act, const InstanceSeen& instance) {
  LedgerLine line;
  line.act = act;
  line.place = instance.place;
  line.id = instance.id;
  line.uuids = instance.uuids;
  return append_intent(std::move(line));
}

Result<std::uint64_t> Ledger::will_destroy(const InstanceSeen& instance) {
  if (const auto read = refresh(); !read) return std::unexpected(read.error());
  if (const auto open = state_.destroying(instance)) return *open;
  return append_seen(LedgerAct::destroy, instance);
}

Result<void> Ledger::adopt(const InstanceSeen& instance) {
  if (const auto number = append_seen(LedgerAct::adopt, instance); !number)
    return std::unexpected(number.error());
  return {};
}

Result<void> Ledger::settle(const std::string& gpu, const std::vector<InstanceSeen>& live) {
  if (const auto read = refresh(); !read) return read;
  if (state_.answered(gpu, live).empty()) return {};
  const auto lock = lock_ledger(directory_);
  if (!lock) return std::unexpected(lock.error());
  if (const auto read = refresh(); !read) return read;
  // One at a time: a fact may close other intents too, and closes at least its own.
  for (auto facts = state_.answered(gpu, live); !facts.empty(); facts = state_.answered(gpu, live))
    if (const auto written = append_locked(std::move(facts.front())); !written) return written;
  return {};
}

std::vector<LedgerLine> Ledger::what_matters(const std::vector<std::string>& known,
                                             const std::vector<InstanceSeen>& live) const {
  return state_.compact(
      [&](const std::string& gpu) { return std::ranges::find(known, gpu) != known.end(); },
      [&](const std::string& uuid) {
        return std::ranges::any_of(live, [&](const InstanceSeen& seen) {
          return std::ranges::find(seen.uuids, uuid) != seen.uuids.end();
        });
      });
}

std::size_t Ledger::lines_that_matter(const std::vector<std::string>& known,
                                      const std::vector<InstanceSeen>& live) const {
  return what_matters(known, live).size();
}

Result<void> Ledger::write_anew(const std::vector<LedgerLine>& lines,
                                const std::filesystem::path& path) const {
  const auto file = FileHandle::open(path, O_WRONLY | O_CREAT | O_TRUNC | plainly);
  if (!file) return std::unexpected(file.error());
  std::string text;
  for (const LedgerLine& line : lines) text += ledger_text(line);
  if (const auto written = file->write_whole(text, path); !written) return written;
  return file->sync(path);
}

/// A file that went under a program that uses it was removed by mistake: what this program knows of
/// it is still true, and would be foreign after the next start. Nothing is put in the place of a
/// file that another program has made meanwhile.
Result<void> Ledger::rewrite() {
  const auto none = [](const std::string&) { return false; };
  const std::filesystem::path part =
      directory_ / fmt::format("ledger.jsonl.anew-{}-{}", ::getpid(), ::gettid());
  const auto written = write_anew(state_.compact(none, none), part);
  const bool placed = written && ::link(part.c_str(), file_.c_str()) == 0;
  const int why = errno;
  static_cast<void>(::unlink(part.c_str()));
  errno = why;
  if (!written) return written;
  if (!placed && why != EEXIST) return system_failure(file_, "cannot be made anew");
  rewritten_ = placed;
  return sync_directory(directory_);
}

Result<void> Ledger::compact(const std::vector<std::string>& known,
                             const std::vector<InstanceSeen>& live) {
  const auto lock = lock_ledger(directory_);
  if (!lock) return std::unexpected(lock.error());
  if (const auto read = refresh(); !read) return read;
  const auto lines = what_matters(known, live);
  const std::filesystem::path part = directory_ / "ledger.jsonl.part";
  if (const auto written = write_anew(lines, part); !written) return written;
  if (::rename(part.c_str(), file_.c_str()) != 0)
    return system_failure(file_, "cannot be replaced");
  if (const auto synced = sync_directory(directory_); !synced) return synced;
  return refresh();
}

}  // namespace cleave
