#include "control/control.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "control/inside.hpp"
#include "model/layout_text.hpp"

namespace cleave {

namespace {

constexpr Duration clock_slack = std::chrono::seconds(2);
constexpr int most_rounds = 16;

}  // namespace

Control::Inside::Inside(Doors doors, ControlSettings settings, Moment now)
    : store_(&doors.store),
      executor_(&doors.executor),
      runner_(&doors.runner),
      look_up_owner_(std::move(doors.look_up_owner)),
      settings_(std::move(settings)),
      began_(now),
      now_(now) {}

void Control::Inside::see_clock(Moment now) {
  const Duration before = now_.wall.time_since_epoch() - now_.steady;
  now.steady = std::max(now.steady, now_.steady);
  const Duration after = now.wall.time_since_epoch() - now.steady;
  now_ = now;
  const Duration set = after - before;
  if (std::chrono::abs(set) <= clock_slack) return;
  event("clock-set",
        fmt::format("the clock was set {} by {:.0f} s; nothing that runs is timed by it",
                    set > Duration{} ? "forward" : "back", in_seconds(std::chrono::abs(set))));
  // Jobs must not look old because of a slip: nothing is forgotten before somebody could have set
  // it right.
  if (set > std::chrono::hours(1)) keep_all_until_ = steady() + std::chrono::hours(24);
}

void Control::Inside::step(Moment now) {
  ++round_;
  see_clock(now);
  write_wanted();
  for (int round = 0; round < most_rounds; ++round) {
    hear_jobs();
    hear_gpus();
    settle_doubts();
    take_timers();
    tidy_engine();
    if (anew_ && can_make_engine()) make_engine();
    settle_engine();
    destroy_idle_ones();
    take_steps();
    const bool more = !effects_.empty();
    commit();
    drop_over();
    if (!more || !store_trouble_.empty()) break;
  }
  forget_old_jobs();
}

/// An engine knows every job it ever had; now and then one begins with those that are there.
void Control::Inside::tidy_engine() {
  constexpr std::size_t many = 50'000;
  if (numbers_.size() > many + 4 * jobs_.size()) begin_anew("it knew many jobs that are over");
}

/// Jobs that are over and written, with nothing of them left.
void Control::Inside::drop_over() {
  if (!store_trouble_.empty()) return;
  std::erase_if(over_, [&](JobNumber number) {
    const LiveJob* job = find(number);
    if (job != nullptr && (!job->attempts.empty() || changed_jobs_.contains(number))) return false;
    jobs_.erase(number);
    return true;
  });
}

Duration Control::Inside::wake_at() const {
  const bool unwritten = !effects_.empty() || !changed_jobs_.empty() || !events_.empty();
  if (unwritten && store_trouble_.empty()) return steady();
  if (!wanted_.empty()) return steady();
  Duration at = store_trouble_.empty() ? next_tidy_ : store_again_;
  if (!wakes_.empty()) at = std::min(at, *wakes_.begin());
  if (!timers_.empty()) at = std::min(at, timers_.begin()->first);
  for (const Doubt& each : doubts_) at = std::min(at, each.until);
  for (const ManagedGpu& each : gpus_) {
    if (each.asked.empty() && store_trouble_.empty()) at = std::min(at, each.next_look);
    if (!each.hung) at = std::min(at, each.answer_due(settings_.gpu_patience));
    if (each.rests_until > steady()) at = std::min(at, each.rests_until);
    if (!settings_.keep_idle) continue;
    for (const auto& [placement, slot] : each.slots)
      if (slot.state == ManagedInstance::State::ready &&
          slot.idle_since + *settings_.keep_idle > steady())
        at = std::min(at, slot.idle_since + *settings_.keep_idle);
  }
  return std::max(at, steady());
}

LiveJob* Control::Inside::find(JobNumber number) {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}
const LiveJob* Control::Inside::find(JobNumber number) const {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}
LiveJob* Control::Inside::find(JobId id) {
  LiveJob* job = find(numbers_[index(id)]);
  return job != nullptr && job->id == id ? job : nullptr;
}

std::vector<GpuId> Control::Inside::all_gpus() const {
  std::vector<GpuId> all;
  for (std::size_t i = 0; i < gpus_.size(); ++i) all.push_back(static_cast<GpuId>(i));
  return all;
}

std::optional<std::pair<GpuId, PlacementId>> Control::Inside::slot_of(
    const std::string& device) const {
  for (const GpuId gpu : all_gpus())
    for (const auto& [placement, slot] : managed(gpu).slots)
      if (slot.device == device && slot.state != ManagedInstance::State::making)
        return std::pair(gpu, placement);
  return std::nullopt;
}

std::string Control::Inside::gpu_in_words(GpuId gpu) const {
  return fmt::format("GPU {}", managed(gpu).identity->index);
}

std::string Control::Inside::place_in_words(const JobPlace& place) const {
  if (!place.placement) return fmt::format("the whole of {}", gpu_in_words(place.gpu));
  return fmt::format("{} of {}",
                     layout_text(managed(place.gpu).geometry(), PlacementSet::of(*place.placement)),
                     gpu_in_words(place.gpu));
}

// What there is to see.

const JobRecord* Control::Inside::job(JobNumber number) const {
  const LiveJob* job = find(number);
  return job == nullptr || is_final(job->record.state) ? nullptr : &job->record;
}

std::vector<const JobRecord*> Control::Inside::jobs() const {
  std::vector<const JobRecord*> all;
  all.reserve(jobs_.size());
  for (const auto& [number, job] : jobs_)
    if (!is_final(job.record.state)) all.push_back(&job.record);
  return all;
}

const AttemptRecord* Control::Inside::attempt_of(JobNumber number) const {
  const LiveJob* job = find(number);
  if (job == nullptr || job->attempts.empty()) return nullptr;
  return &job->attempts.at(job->main.value_or(job->attempts.rbegin()->first)).record;
}

std::optional<MiB> Control::Inside::memory_of(JobNumber number) const {
  const LiveJob* job = find(number);
  if (job == nullptr || !job->main) return std::nullopt;
  return job->attempts.at(*job->main).last_reported;
}

std::string Control::Inside::why_waits(JobNumber number) const {
  const LiveJob* job = find(number);
  if (job == nullptr ||
      (job->record.state != JobState::queued && job->record.state != JobState::starting))
    return {};
  if (!store_trouble_.empty()) return store_trouble_;
  if (!scheduler_trouble_.empty()) return scheduler_trouble_;
  if (paused_) return "the daemon is paused";
  if (job->not_before) return job->record.reason;
  if (job->place) return fmt::format("it is about to start on {}", place_in_words(*job->place));
  if (engine_ == nullptr || anew_)
    return fmt::format("the scheduler begins anew when the GPUs have answered: {}", anew_because_);
  if (!job->never.empty()) return job->never + closed_gpus();
  if (!places_in_line().contains(number)) return job->record.reason;
  std::string why =
      has_room(job->record.request)
          ? fmt::format("there is room for it, which {} does not give it yet", scheduler_)
          : "no GPU has room for it now";
  const std::size_t before = places_in_line().at(number);
  if (before > 0)
    why += fmt::format("; {} job{} before it", before, before == 1 ? " waits" : "s wait");
  return why + closed_gpus();
}

/// How many wait before each, as of this round.
const std::map<JobNumber, std::size_t>& Control::Inside::places_in_line() const {
  if (seen_in_round_ != round_) {
    seen_in_round_ = round_;
    line_.clear();
    rooms_.clear();
    std::size_t place = 0;
    for (const JobNumber number : line())
      line_[number] = place += jobs_.at(number).place || !jobs_.at(number).never.empty() ? 0 : 1;
    for (auto& [number, before] : line_)
      if (before > 0) --before;
  }
  return line_;
}

/// "; GPU 1 is drained"
std::string Control::Inside::closed_gpus() const {
  std::string closed;
  for (const GpuId gpu : all_gpus()) {
    const ManagedGpu& at = managed(gpu);
    if (takes_work(gpu) && !at.lost) {
      if (!at.walls.empty())
        closed += fmt::format("; {} has instances that are not ours", gpu_in_words(gpu));
      continue;
    }
    closed += fmt::format("; {} {}", gpu_in_words(gpu),
                          at.lost      ? "is lost"
                          : at.drained ? "is drained"
                          : at.hung    ? "does not answer"
                                       : "cannot be changed now");
  }
  return closed;
}

/// Whether some GPU has, as of this round, a place for the request beside what is in use.
bool Control::Inside::has_room(const Request& request) const {
  static_cast<void>(places_in_line());
  const auto known = rooms_.find(request);
  if (known != rooms_.end()) return known->second;
  const bool room = std::ranges::any_of(all_gpus(), [&](GpuId gpu) {
    const ManagedGpu& at = managed(gpu);
    if (!takes_work(gpu) || at.lost || occupied(gpu, std::nullopt)) return false;
    PlacementSet taken = at.walls;
    for (const auto& [placement, slot] : at.slots)
      if (occupied(gpu, placement)) taken.insert(placement);
    return resolve(request, {at.geometry()}).candidates.front().meets(at.geometry().free(taken));
  });
  rooms_.emplace(request, room);
  return room;
}

std::vector<GpuStatus> Control::Inside::gpus() const {
  std::vector<GpuStatus> all;
  for (const GpuId gpu : all_gpus()) {
    const ManagedGpu& at = managed(gpu);
    GpuStatus standing{at.identity, at.observation, at.drained, at.lost, at.trouble, {}};
    for (const auto& [place, keys] : occupants_) {
      if (place.gpu != gpu) continue;
      for (const JobKey& key : keys)
        if (const LiveJob* job = find(key.job))
          standing.jobs.push_back({job->attempts.at(key.attempt).record.device, key});
    }
    all.push_back(std::move(standing));
  }
  return all;
}

std::vector<std::string> Control::Inside::troubles() const {
  std::vector<std::string> all;
  if (!store_trouble_.empty()) all.push_back(store_trouble_);
  if (!scheduler_trouble_.empty()) all.push_back(scheduler_trouble_);
  for (const GpuId gpu : all_gpus()) {
    const ManagedGpu& at = managed(gpu);
    if (at.lost) all.push_back(fmt::format("{} is lost", gpu_in_words(gpu)));
    if (at.observation && !at.lost && !right_mig(at))
      all.push_back(
          fmt::format("{}: MIG mode is {}; switch it with `cleave mig`, or set may_switch_mig",
                      gpu_in_words(gpu), at.observation->mig ? "on" : "off"));
    if (!at.trouble.empty()) all.push_back(fmt::format("{}: {}", gpu_in_words(gpu), at.trouble));
  }
  return all;
}

// The face.

Result<std::unique_ptr<Control>> Control::begin(Doors doors, ControlSettings settings, Moment now) {
  auto inside = std::make_unique<Inside>(std::move(doors), std::move(settings), now);
  if (const auto begun = inside->begin(); !begun) return std::unexpected(begun.error());
  return std::unique_ptr<Control>(std::move(inside));
}

}  // namespace cleave
