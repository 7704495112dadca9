// An engine from the world as it is: after a beginning, for another scheduler, and whenever
// something went otherwise than commanded. engine/engine.hpp says what it must be told.

#include <algorithm>
#include <ranges>
#include <tuple>

#include "base/format.hpp"
#include "control/inside.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

namespace {

/// Whether two GPUs follow the same rules, so that the engine may take them for one kind.
bool same_rules(const Geometry& a, const Geometry& b) {
  if (a.model().key != b.model().key || a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i) {
    const Placement &x = a[static_cast<PlacementId>(i)], &y = b[static_cast<PlacementId>(i)];
    if (x.profile->name != y.profile->name || x.start != y.start || x.conflicts != y.conflicts ||
        x.profile->usable != y.profile->usable)
      return false;
  }
  return true;
}

}  // namespace

void Control::Inside::begin_anew(const std::string& why) {
  if (anew_) return;
  anew_ = true;
  anew_because_ = why;
  wakes_.clear();
  for (ManagedGpu& at : gpus_) at.steps.clear();
  for (auto& [number, job] : jobs_) {
    job.id.reset();
    job.never.clear();
    if (!job.place) continue;
    job.place.reset();
    if (job.attempts.empty() && !is_final(job.record.state)) {
      job.record.state = JobState::queued;
      note(job);
    }
  }
}

/// GPUs were all seen, and what was begun on them is done, as far as their drivers answer.
bool Control::Inside::can_make_engine() const {
  return std::ranges::all_of(gpus_, [](const ManagedGpu& at) {
    if (at.hung) return true;
    if (!at.observation && at.trouble.empty()) return false;
    return std::ranges::all_of(at.asked, [](const auto& entry) {
      return std::holds_alternative<LookAtGpu>(entry.second.operation);
    });
  });
}

bool Control::Inside::takes_work(GpuId gpu) const {
  const ManagedGpu& at = managed(gpu);
  return at.observation && !at.hung && !at.drained && at.trouble.empty() &&
         at.rests_until <= steady() && (at.lost || right_mig(at));
}

/// Instances of ours that are there.
PlacementSet Control::Inside::standing(GpuId gpu) const {
  PlacementSet there;
  for (const auto& [placement, slot] : managed(gpu).slots)
    if (slot.state == ManagedInstance::State::ready) there.insert(placement);
  return there;
}

FleetFile Control::Inside::fleet_now() const {
  FleetFile file;
  for (const GpuId gpu : all_gpus()) {
    const ManagedGpu& at = managed(gpu);
    GpuEntry entry;
    entry.name = fmt::format("gpu/{}", at.identity->index);
    entry.geometry = file.geometries.size();
    for (std::size_t i = 0; i < file.geometries.size(); ++i)
      if (same_rules(file.geometries[i], at.geometry())) entry.geometry = i;
    if (entry.geometry == file.geometries.size()) file.geometries.push_back(at.geometry());
    PlacementSet walls = at.lost ? PlacementSet{} : at.walls,
                 ours = at.lost ? PlacementSet{} : standing(gpu);
    walls = walls - ours;
    if (!at.geometry().legal(walls | ours))
      ours = walls = {};  // it takes no work then; see make_engine
    const auto add = [&](PlacementSet which, bool owned) {
      for (const PlacementId placement : which) {
        InstanceEntry instance;
        instance.placement = placement;
        instance.owned = owned;
        entry.instances.push_back(std::move(instance));
      }
    };
    add(walls, false);
    add(ours, true);
    file.gpus.push_back(std::move(entry));
  }
  return file;
}

Result<void> Control::Inside::try_scheduler(const std::string& text) const {
  const auto spec = parse_scheduler(text);
  if (!spec) return std::unexpected(spec.error());
  if (spec->row->interrupts)
    for (const auto& [number, job] : jobs_)
      if (!job.record.spec.restartable && !is_final(job.record.state))
        return fail(
            ErrorKind::infeasible, text,
            fmt::format("it stops jobs and starts them again, and job {} may not be", number),
            "wait until it has ended");
  const FleetFile file = fleet_now();
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  const KnownFacts nothing;
  const auto made = make_scheduler(*spec, {fleet, requests, true, &nothing});
  if (!made) return std::unexpected(made.error());
  return {};
}

void Control::Inside::make_engine() {
  place_running_ones();
  const FleetFile file = fleet_now();
  engine_.reset();
  fleet_ = std::make_unique<Fleet>(file);
  requests_ = std::make_unique<RequestTable>(file.geometries);
  facts_.begin(fleet_.get());
  numbers_.clear();
  commands_.clear();
  wakes_.clear();
  lowest_priority_ = INT64_MAX;
  const auto spec = parse_scheduler(scheduler_);
  if (!spec) return;  // it was checked when it was chosen
  // Jobs get other numbers now, so that what it was told of them counts no more.
  forecaster_ = *make_forecaster(settings_.forecaster);
  auto engine =
      Engine::make(*spec, {*fleet_, *requests_, true, &facts_}, *requests_, forecaster_.get());
  if (!engine) {
    scheduler_trouble_ =
        fmt::format("no job is started: the scheduler {}: {}", scheduler_, engine.error().text());
    return;
  }
  scheduler_trouble_.clear();
  furnishes_ = spec->row->furnishes;
  whole_gpus_ = spec->row->whole_gpus;
  engine_ = std::make_unique<Engine>(std::move(*engine));
  anew_ = false;
  tell_what_there_is();
}

/// Attempts that were found when the loop began belong to instances that were seen since.
void Control::Inside::place_running_ones() {
  for (auto& [number, job] : jobs_) {
    std::vector<std::int64_t> gone;
    for (auto& [attempt, live] : job.attempts) {
      if (live.placed) continue;
      const auto owner = std::ranges::find_if(
          gpus_, [&](const ManagedGpu& at) { return at.identity->uuid == live.record.gpu; });
      if (owner == gpus_.end()) continue;  // not managed any more: it runs to its end
      const auto gpu = static_cast<GpuId>(owner - gpus_.begin());
      const auto slot = slot_of(live.record.device);
      if (slot) {
        live.place = {slot->first, slot->second};
        live.capacity = managed(slot->first).slots.at(slot->second).capacity;
      } else if (live.record.device == live.record.gpu && owner->observation && !owner->lost) {
        live.place = {gpu, std::nullopt};
      } else {
        if (owner->observation) gone.push_back(attempt);
        continue;
      }
      live.placed = true;
      occupants_[live.place].insert(live.record.key);
      if (!live.record.end)
        event("job-adopted", fmt::format("job {} runs on {}", number, place_in_words(live.place)),
              &job, live.record.gpu);
    }
    for (const std::int64_t attempt : gone)
      stop_attempt(job, attempt, AttemptEnd::lost, "its instance is gone");
  }
}

/// By priority, then by number.
std::vector<JobNumber> Control::Inside::line() const {
  std::vector<JobNumber> all;
  for (const auto& [number, job] : jobs_)
    if (waits(job)) all.push_back(number);
  std::ranges::stable_sort(all, std::greater<>{},
                           [&](JobNumber number) { return jobs_.at(number).record.spec.priority; });
  return all;
}

void Control::Inside::tell_what_there_is() {
  std::vector<Event> events;
  for (const GpuId gpu : all_gpus()) {
    const PlacementSet there = managed(gpu).walls | standing(gpu);
    if (managed(gpu).lost) {
      events.emplace_back(GpuLost{gpu});
    } else if (!takes_work(gpu) || !managed(gpu).geometry().legal(there)) {
      events.emplace_back(GpuDrained{gpu});
    }
  }
  if (paused_) events.emplace_back(Paused{});
  for (auto& [number, job] : jobs_) {
    if (!job.main || is_final(job.record.state) || job.record.cancelled) continue;
    const LiveAttempt& live = job.attempts.at(*job.main);
    if (live.record.end || !live.placed) continue;
    job.id = static_cast<JobId>(numbers_.size());
    numbers_.push_back(number);
    job.place = live.place;
    keep_facts(job);
    events.emplace_back(Adopted{*job.id, requests_->intern(job.record.request), live.place.gpu,
                                live.place.placement});
  }
  for (const Event& event : events) engine_->on(event, engine_time(), commands_);
  for (const JobNumber number : line()) {
    LiveJob& job = jobs_.at(number);
    job.id = static_cast<JobId>(numbers_.size());
    numbers_.push_back(number);
    keep_facts(job);
    lowest_priority_ = std::min(lowest_priority_, job.record.spec.priority);
    engine_->on(Submitted{*job.id, requests_->intern(job.record.request)}, engine_time(),
                commands_);
  }
  tell_reports_again();
  unsettled_ = true;
  carry_out();
}

void Control::Inside::tell_reports_again() {
  for (auto& [number, job] : jobs_) {
    if (!job.main || !job.id || !may_restart_early(job)) continue;
    const LiveAttempt& live = job.attempts.at(*job.main);
    if (live.record.end) continue;
    const std::size_t before = commands_.size();
    for (const NumberedReport& each : live.reports.after(0)) {
      engine_->on(MemoryReported{*job.id, each.report, live.capacity}, engine_time(), commands_);
      const bool restarted = std::ranges::any_of(
          commands_ | std::views::drop(before),
          [](const Command& command) { return std::holds_alternative<StopJob>(command); });
      if (restarted) break;  // the rest is of a run that is over
    }
  }
}

void Control::Inside::keep_facts(LiveJob& job) {
  KnownFacts::Of facts;
  const JobSpec& spec = job.record.spec;
  // Records are of the wall clock; the engine's differs from it by what the wall clock was set
  // since.
  const Duration set = wall() - engine_time();
  if (spec.deadline) facts.deadline = job.record.submitted + *spec.deadline - set;
  if (job.main) facts.running_since = job.attempts.at(*job.main).record.started - set;
  facts.movable = spec.movable;
  facts.restartable = spec.restartable;
  facts.expected = spec.expected;
  facts.application = spec.application;
  facts.batch = spec.batch;
  facts_.set(*job.id, std::move(facts));
}

}  // namespace cleave
