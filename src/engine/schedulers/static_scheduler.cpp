#include "engine/schedulers/static_scheduler.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/format.hpp"
#include "engine/offload_choice.hpp"
#include "engine/queue/served_queue.hpp"
#include "engine/schedulers/instance_seats.hpp"
#include "engine/schedulers/static_layout.hpp"

namespace cleave {

namespace {

constexpr OptionRow static_own_rows[] = {
    {"layout", "LAYOUT", "stacon",
     "stacon (half a GPU, two quarters), best (for the jobs to come), file (what the fleet shows), "
     "or "
     "[MODEL:]profile@start joined by '+'"},
    {"fit", "request|exact|any", "request",
     "the smallest free instance that holds the request, one of the size that it asks for alone, "
     "or "
     "the first free one, whatever its size"},
    {"goal", "turnaround|makespan", "turnaround", "with layout=best: what is minimised"},
    sharing_option,
    sharers_option,
    percent_option,
    offload_option,
    offload_alpha_option,
};
constexpr auto static_rows = with_queue_options(static_own_rows);

/// On which instances a job may start.
enum class Fit : std::uint8_t { request, exact, any };

class Static final : public Scheduler, private QueueHost {
 public:
  Static(const SchedulerSetup& setup, FleetLayout layout, Fit fit,
         const std::optional<SharingRule>& sharing, const OffloadRule& offload, QueueRules rules)
      : seats_(setup.fleet),
        requests_(&setup.requests),
        facts_(setup.facts),
        layout_(std::move(layout)),
        fit_(fit),
        offload_(offload),
        groups_(instance_groups(setup.fleet.graphs())),
        group_of_(setup.fleet.graphs().size()),
        free_(groups_.size()),
        count_(groups_.size(), 0),
        has_(setup.fleet.size()),
        queue_(sharing ? without_gangs(setup) : setup, std::move(rules)) {
    if (sharing) shared_.emplace(*sharing);
    no_room_for_.resize(groups_.size());
    for (const GpuState& gpu : setup.fleet.gpus()) own_.push_back(gpu.held);
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      auto& of_kind = group_of_[groups_[group].kind];
      of_kind.resize(PlacementSet::most, 0);
      for (const PlacementId id : groups_[group].placements) of_kind[id] = group;
    }
    // Known from the beginning: what can be rejected when it comes.
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      count(gpu);
    }
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& commands) override {
    now_ = now;
    std::visit([&](const auto& what) { hear(what, commands); }, event);
  }

  void resize(JobId lease, RequestId to, Instant now, std::vector<Command>& commands) override {
    const JobSeat seat = seats_[lease];
    const auto spot = queue_.resized(*this, {lease, to}, {seat.gpu, seat.placement}, now);
    if (!spot) return;
    queue_.moved(lease, *spot);
    no_longer_free(spot->gpu, PlacementSet::of(*spot->placement));
    seats_.migrate(seat.gpu, seat.placement, spot->gpu, *spot->placement, commands);
    now_free(seat.gpu, seat.placement);
  }

  Outlook outlook(JobId job) const override { return queue_.outlook(job); }
  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { seats_.frees_soon(gpu); }

  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    if (!(shared_ ? seats_.adopt_shared(adopted) : seats_.adopt(adopted))) return false;
    queue_.runs({adopted.job, adopted.request}, {adopted.gpu, adopted.placement}, now);
    no_longer_free(adopted.gpu, PlacementSet::of(*adopted.placement));
    if (shared_) enter({adopted.job, adopted.request}, adopted.gpu, *adopted.placement);
    return true;
  }

  bool seats_all(RequestId request) override { return queue_.could_seat(*this, request); }
  bool exceeds_limits(RequestId request) override { return queue_.exceeds_limits(*this, request); }
  bool serves(RequestId request) override {
    const Request& asked = (*requests_)[request].request;
    if (asks_for_whole(asked) || (shared_ && asked.places > 1)) return false;
    return are_some(groups_for(request)) || are_some(groups_with_offload(request));
  }

  std::string_view why_not(RequestId request) override {
    std::string& known = reasons_[index(request)];
    const Request& asked = (*requests_)[request].request;
    if (asks_for_whole(asked))
      known = "its instances are fixed: no GPU has MIG off";
    else if (shared_ && asked.places > 1)
      known = "where instances are shared, a job has one place";
    else if (known.empty())
      known =
          fmt::format("no instance of the fixed layout {} {}{}",
                      fit_ == Fit::exact ? "is of the size of" : "holds", text(asked),
                      shared_ && asked.offload ? "; jobs that share instances do not offload" : "");
    return known;
  }

  /// Jobs start when all that happens at one instant is known: an instance that is free a moment
  /// later in the same instant may be the smaller one.
  void settle(Instant now, std::vector<Command>& commands) override {
    now_ = now;
    if (!made_) make_all(commands);
    for (const GpuId gpu : std::exchange(restore_, {}))
      if (!seats_.fleet()[gpu].absent) make(gpu, commands);
    queue_.serve(*this, now, commands);
  }

 private:
  static SchedulerSetup without_gangs(SchedulerSetup setup) {
    setup.gangs = false;
    return setup;
  }

  /// An instance that takes a job; the order is the order of choice within a group.
  struct Place {
    int jobs;  // that share it already
    GpuId gpu;
    int start;
    PlacementId placement;
    friend bool operator<(const Place& a, const Place& b) {
      return std::tuple(a.jobs, index(a.gpu), a.start, a.placement) <
             std::tuple(b.jobs, index(b.gpu), b.start, b.placement);
    }
  };

  [[nodiscard]] const Geometry& geometry(GpuId gpu) const {
    return seats_.fleet().geometry(seats_.fleet()[gpu]);
  }
  [[nodiscard]] std::size_t group_of(GpuId gpu, PlacementId placement) const {
    return group_of_[seats_.fleet()[gpu].kind][placement];
  }
  [[nodiscard]] Place place(GpuId gpu, PlacementId placement) const {
    const int jobs = shared_ ? shared_->jobs_on(gpu, placement) : 0;
    return {jobs, gpu, geometry(gpu)[placement].start, placement};
  }

  // What is heard.

  void hear(const Submitted& job, std::vector<Command>& /*commands*/) {
    queue_.insert({job.job, job.request}, now_);
  }
  void hear(const Finished& job, std::vector<Command>& /*commands*/) {
    leave(job.job);
    queue_.left(job.job, now_);
  }
  void hear(const Requeued& job, std::vector<Command>& /*commands*/) {
    leave(job.job);
    queue_.insert({job.job, job.request}, now_);
  }
  void hear(const Cancelled& job, std::vector<Command>& /*commands*/) { queue_.erase(job.job); }
  void hear(const GpuLost& lost, std::vector<Command>& /*commands*/) {
    no_longer_free(lost.gpu, has_[index(lost.gpu)]);
    own_[index(lost.gpu)] = {};
    queue_.room_changed(lost.gpu);
    if (shared_)
      for (const PlacementId id : geometry(lost.gpu).all()) shared_->clear(lost.gpu, id);
    for (const Waiting job : seats_.hear(lost)) queue_.insert(job, now_);
  }
  void hear(const GpuReturned& returned, std::vector<Command>& commands) {
    seats_.hear(returned);
    queue_.room_changed(returned.gpu);
    if (made_) make(returned.gpu, commands);
  }
  void hear(const InstanceGone& gone, std::vector<Command>& /*commands*/) {
    for (const Waiting job : seats_.hear(gone)) queue_.insert(job, now_);
    if (gone.placement) {
      no_longer_free(gone.gpu, PlacementSet::of(*gone.placement));
      if (shared_) shared_->clear(gone.gpu, *gone.placement);
    }
    restore_.insert(gone.gpu);
  }
  void hear(const GpuWithdrawn& withdrawn, std::vector<Command>& /*commands*/) {
    seats_.hear(withdrawn);
    queue_.room_changed(withdrawn.gpu);
    no_longer_free(withdrawn.gpu, has_[index(withdrawn.gpu)]);
  }
  void hear(const GpuRestored& restored, std::vector<Command>& /*commands*/) {
    seats_.hear(restored);
    queue_.room_changed(restored.gpu);
    restore_.insert(restored.gpu);
  }
  void hear(const Woken& /*woken*/, std::vector<Command>& /*commands*/) {}

  // The layout.

  /// The GPU's part of the layout is this, whether it is there or will be when the GPU returns.
  void count(GpuId gpu) {
    GpuState state = seats_.fleet()[gpu];
    state.held = own_[index(gpu)];  // adopted jobs end
    const PlacementSet has = beside_others(geometry(gpu), state, layout_[index(gpu)]);
    for (const PlacementId id : has_[index(gpu)]) --count_[group_of(gpu, id)];
    for (const PlacementId id : has) ++count_[group_of(gpu, id)];
    has_[index(gpu)] = has;
    queue_.room_changed(gpu);
  }

  void make(GpuId gpu, std::vector<Command>& commands) {
    no_longer_free(gpu, has_[index(gpu)]);
    const PlacementSet made = make_layout(seats_, gpu, layout_[index(gpu)], commands);
    count(gpu);
    for (const PlacementId id : made) free_[group_of(gpu, id)].insert(place(gpu, id));
    if (!shared_) return;
    std::ranges::fill(no_room_for_, std::nullopt);
    for (const PlacementId id : has_[index(gpu)])
      if (shared_->jobs_on(gpu, id) > 0) offer(gpu, id);
  }

  /// The shared instance takes a job if it has a seat.
  void offer(GpuId gpu, PlacementId id) {
    if (shared_->has_seat(gpu, id, *geometry(gpu)[id].profile))
      free_[group_of(gpu, id)].insert(place(gpu, id));
  }

  void no_longer_free(GpuId gpu, PlacementSet placements) {
    for (const PlacementId id : placements) free_[group_of(gpu, id)].erase(place(gpu, id));
  }

  void make_all(std::vector<Command>& commands) {
    made_ = true;
    for (std::size_t i = 0; i < layout_.size(); ++i)
      if (const auto gpu = static_cast<GpuId>(i); !seats_.fleet()[gpu].absent) make(gpu, commands);
  }

  // Jobs.

  /// Whether the layout has an instance of some of these groups.
  [[nodiscard]] bool are_some(const std::vector<std::uint16_t>& groups) const {
    return std::ranges::any_of(groups, [&](std::uint16_t group) { return count_[group] > 0; });
  }

  /// The groups that are too small for the request but for what the job offloads, largest first.
  const std::vector<std::uint16_t>& groups_with_offload(RequestId request) {
    if (groups_with_offload_.size() <= index(request))
      groups_with_offload_.resize(index(request) + 1);
    auto& known = groups_with_offload_[index(request)];
    if (known) return *known;
    known.emplace();
    const std::vector<PlacementSet>& enough = (*requests_)[request].with_offload;
    for (std::size_t i = groups_.size(); i-- > 0 && fit_ == Fit::request && !shared_;)
      if (enough[groups_[i].kind].meets(groups_[i].placements))
        known->push_back(static_cast<std::uint16_t>(i));
    return *known;
  }

  /// The groups on which a job with this request may be put, smallest first.
  const std::vector<std::uint16_t>& groups_for(RequestId request) {
    if (groups_for_.size() <= index(request)) groups_for_.resize(index(request) + 1);
    auto& known = groups_for_[index(request)];
    if (!known) known = suitable_groups(request);
    return *known;
  }

  [[nodiscard]] std::vector<std::uint16_t> suitable_groups(RequestId request) const {
    const ResolvedRequest& asked = (*requests_)[request];
    switch (fit_) {
      case Fit::request:
        return groups_among(asked.holds, groups_);
      case Fit::exact:
        return groups_among(asked.candidates, groups_);
      case Fit::any:
        return large_enough(request);
    }
    return {};
  }

  /// Whatever the job asked for; only what it has shown to be too small is left out.
  [[nodiscard]] std::vector<std::uint16_t> large_enough(RequestId request) const {
    const std::optional<MiB> at_least = (*requests_)[request].request.at_least;
    std::vector<std::uint16_t> groups;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const GpuModel& model = seats_.fleet().graphs()[groups_[i].kind]->geometry().model();
      const auto& usable = model.profiles[static_cast<std::size_t>(groups_[i].profile)].usable;
      if (!at_least || (usable && *usable >= *at_least))
        groups.push_back(static_cast<std::uint16_t>(i));
    }
    return groups;
  }

  [[nodiscard]] MiB needed(RequestId request, GpuId gpu) const {
    return InstanceSeats::needed((*requests_)[request], seats_.fleet()[gpu].kind, geometry(gpu));
  }

  void enter(Waiting job, GpuId gpu, PlacementId placement) {
    shared_->enter(gpu, placement, needed(job.request, gpu));
    if (made_ && has_[index(gpu)].contains(placement)) offer(gpu, placement);
  }

  /// An instance that holds it beside the jobs that are there: of the smallest size that has one,
  /// where fewest are.
  std::optional<Spot> find_shared(Waiting job) {
    std::optional<Place> chosen;
    for (const std::uint16_t group : groups_for(job.request)) {
      const auto place = place_with_room(group, job.request);
      if (place && (!chosen || *place < *chosen)) chosen = place;
      if (chosen && fit_ != Fit::any) break;
    }
    if (!chosen) return std::nullopt;
    return Spot{chosen->gpu, chosen->placement};
  }

  std::optional<Place> place_with_room(std::uint16_t group, RequestId request) {
    if (free_[group].empty()) return std::nullopt;
    // All of a group are of one GPU model and profile.
    const GpuId first = free_[group].begin()->gpu;
    const Profile& profile = *geometry(first)[free_[group].begin()->placement].profile;
    const MiB need = needed(request, first);
    // Until a job leaves the group, or an instance is made, there is no room for as much as found
    // none before.
    if (no_room_for_[group] && need >= *no_room_for_[group]) return std::nullopt;
    const auto place = std::ranges::find_if(free_[group], [&](const Place& each) {
      return shared_->has_room(each.gpu, each.placement, profile, need);
    });
    if (place != free_[group].end()) return *place;
    no_room_for_[group] = need;
    return std::nullopt;
  }

  // As the queue's host.

  std::optional<Spot> find(Waiting job) override {
    if (shared_) return find_shared(job);
    const std::set<Place>* from = nullptr;
    for (const std::uint16_t group : groups_for(job.request)) {
      if (free_[group].empty()) continue;
      if (from == nullptr || *free_[group].begin() < *from->begin()) from = &free_[group];
      if (fit_ != Fit::any) break;
    }
    if (from == nullptr) from = free_with_offload(job);
    if (from == nullptr) return std::nullopt;
    return Spot{from->begin()->gpu, from->begin()->placement};
  }

  std::optional<Spot> find_on(Waiting job, GpuId gpu, const Room& among) override {
    const GpuState& state = seats_.fleet()[gpu];
    for (const std::uint16_t group : groups_for(job.request)) {
      if (groups_[group].kind != state.kind) continue;
      const PlacementSet free = among.placements & groups_[group].placements & state.idle;
      if (free.empty()) continue;
      std::optional<Place> first;
      for (const PlacementId id : free)
        if (!first || place(gpu, id) < *first) first = place(gpu, id);
      return Spot{gpu, first->placement};
    }
    return std::nullopt;
  }

  void start(Waiting job, Spot spot, std::vector<Command>& commands) override {
    const PlacementId placement = *spot.placement;
    std::set<Place>& free = free_[group_of(spot.gpu, placement)];
    const Place chosen = place(spot.gpu, placement);
    const auto found =
        !free.empty() && free.begin()->gpu == spot.gpu && free.begin()->placement == placement
            ? free.begin()
            : free.find(chosen);
    if (found != free.end()) free.erase(found);
    if (!shared_) {
      seats_.start(job, spot.gpu, placement, commands);
      return;
    }
    seats_.start_shared(job, spot.gpu, placement,
                        shared_->share_of(*geometry(spot.gpu)[placement].profile), commands);
    enter(job, spot.gpu, placement);
  }

  Waiting vacate(JobId job) override {
    const RequestId request = seats_[job].request;
    leave(job);
    return {job, request};
  }

  /// The layout's own, when they are all that is there.
  Room room(GpuId gpu, RequestId request) override {
    const GpuState& state = seats_.fleet()[gpu];
    PlacementSet holds;
    for (const std::uint16_t group : groups_for(request))
      if (groups_[group].kind == state.kind) holds = holds | groups_[group].placements;
    return {false, holds & has_[index(gpu)], own_[index(gpu)] | state.walls};
  }

  bool takes_work(GpuId gpu) const override {
    return !seats_.fleet()[gpu].absent || aside_.contains(gpu);
  }

  void set_aside(GpuId gpu, bool aside) override {
    seats_.set_aside(gpu, aside);
    if (aside) {
      aside_.insert(gpu);
      no_longer_free(gpu, has_[index(gpu)]);
    } else {
      aside_.erase(gpu);
      for (const PlacementId id : has_[index(gpu)] & seats_.fleet()[gpu].idle)
        free_[group_of(gpu, id)].insert(place(gpu, id));
      if (!shared_) return;
      std::ranges::fill(no_room_for_, std::nullopt);
      for (const PlacementId id : has_[index(gpu)])
        if (shared_->jobs_on(gpu, id) > 0) offer(gpu, id);
    }
  }

  /// The largest free instance on which the job has to offload; null where there is none, or where
  /// it should rather wait for one that holds it.
  std::set<Place>* free_with_offload(Waiting job) {
    for (const std::uint16_t group : groups_with_offload(job.request)) {
      if (free_[group].empty()) continue;
      const bool waits =
          are_some(groups_for(job.request)) &&
          !worth_offloading(offload_, facts_, seats_.fleet(), (*requests_)[job.request], job.job,
                            groups_[group].kind, free_[group].begin()->placement);
      return waits ? nullptr : &free_[group];
    }
    return nullptr;
  }

  void leave(JobId job) {
    const JobSeat seat = seats_.leave(job);
    if (shared_) {
      free_[group_of(seat.gpu, seat.placement)].erase(place(seat.gpu, seat.placement));
      no_room_for_[group_of(seat.gpu, seat.placement)].reset();
      shared_->leave(seat.gpu, seat.placement, needed(seat.request, seat.gpu));
    }
    now_free(seat.gpu, seat.placement);
  }

  /// The instance, which a job has left.
  void now_free(GpuId gpu, PlacementId placement) {
    if (!made_ || seats_.fleet()[gpu].absent) return;
    if (has_[index(gpu)].contains(placement)) {
      free_[group_of(gpu, placement)].insert(place(gpu, placement));
    } else {
      restore_.insert(gpu);  // what was adopted was in the way
    }
  }

  Seats seats_;
  const RequestTable* requests_;
  const JobFacts* facts_;
  std::optional<InstanceSeats> shared_;  // empty: each job has an instance to itself
  FleetLayout layout_;
  Fit fit_;
  OffloadRule offload_;
  bool made_ = false;
  std::vector<InstanceGroup> groups_;
  std::vector<std::vector<std::size_t>> group_of_;  // by kind and placement
  std::vector<std::set<Place>> free_;               // by group
  std::vector<std::optional<MiB>> no_room_for_;     // by group; where instances are shared
  std::vector<std::size_t> count_;                  // by group: instances of the layout
  std::vector<PlacementSet> has_;                   // by GPU: its part of the layout
  std::vector<PlacementSet> own_;                   // by GPU: held by the fleet's own work
  std::set<GpuId> restore_;                         // where some of the layout may be missing
  std::vector<std::optional<std::vector<std::uint16_t>>> groups_for_,
      groups_with_offload_;                               // by request
  std::unordered_map<std::size_t, std::string> reasons_;  // by request; only looked up
  std::set<GpuId> aside_;
  ServedQueue queue_;
  Instant now_{};
};

}  // namespace

std::span<const OptionRow> static_options() {
  return static_rows;
}

Result<std::unique_ptr<Scheduler>> make_static(const SchedulerSetup& setup,
                                               const OptionTexts& options) {
  const std::string& fit_text = options.at("fit");
  const Fit fit = fit_text == "any" ? Fit::any : fit_text == "exact" ? Fit::exact : Fit::request;
  const std::string& text = options.at("layout");
  if (fit != Fit::request && text == "best")
    return fail(ErrorKind::bad_usage, "fit", "layout=best is chosen for fit=request",
                "leave out fit, or name a layout");
  const LayoutGoal goal =
      options.at("goal") == "makespan" ? LayoutGoal::makespan : LayoutGoal::turnaround;
  const auto sharing = sharing_rule(options);
  if (!sharing) return std::unexpected(sharing.error());
  if (*sharing && text == "best")
    return fail(ErrorKind::bad_usage, "sharing",
                "layout=best is chosen for jobs with an instance each",
                "leave out sharing, or name a layout");
  if (*sharing && setup.live)
    return fail(ErrorKind::bad_usage, "sharing", "jobs share instances in simulations only",
                "leave it out");
  auto rules = queue_rules(options, setup.reservations, setup.user_limits);
  if (!rules) return std::unexpected(rules.error());
  if (*sharing && !rules->plain())
    return fail(ErrorKind::bad_usage, "sharing",
                "where jobs share instances, nothing is kept for one that waits, and no user's "
                "part of an instance is counted",
                "leave out sharing, or order, backfill, the limit of users and reservations");
  if (!rules->plain() && text == "best")
    return fail(ErrorKind::bad_usage, "layout",
                "layout=best is chosen for a queue in which no job overtakes another",
                "leave out order, backfill, the limit of users and reservations, or name a layout");
  if (setup.kinds && (*sharing || text == "best"))
    return fail(ErrorKind::bad_usage, *sharing ? "sharing" : "layout",
                "this is for batches, and there are services or leases",
                "leave out sharing, and name a layout");
  auto layout = choose_layout(text, goal, setup);
  if (!layout) return std::unexpected(layout.error());
  OptionReader in(options);
  const OffloadRule offload = read_offload_rule(in);
  if (in.error()) return std::unexpected(*in.error());
  return std::make_unique<Static>(setup, std::move(*layout), fit, *sharing, offload,
                                  std::move(*rules));
}

}  // namespace cleave
