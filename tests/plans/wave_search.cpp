#include "wave_search.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace cleave::plans {

namespace {

/// A place by its number; the first means nowhere.
using Place = std::uint8_t;
constexpr Place nowhere = 0;
/// The place of each work, by its number.
using State = std::basic_string<Place>;

struct HashState {
  std::size_t operator()(const State& state) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(state.data()), state.size()});
  }
};

/// What is on one GPU: bits of its places.
using Stances = std::vector<std::uint64_t>;

/// All places, and which of them can be in use together.
class Places {
 public:
  explicit Places(const Scene& scene)
      : scene_(scene), on_(scene.gpus.size()), lawful_(scene.gpus.size()) {
    all_.push_back({});
  }

  Place number(const Position& position) {
    const auto found = std::ranges::find(all_.begin() + 1, all_.end(), position);
    if (found != all_.end()) return static_cast<Place>(found - all_.begin());
    bits_.resize(all_.size() + 1);
    bits_.back() = std::uint64_t{1} << on_[position.gpu].size();
    on_[position.gpu].push_back(position.instance);
    all_.push_back(position);
    return static_cast<Place>(all_.size() - 1);
  }

  /// If the place can be used beside those in use, takes it.
  bool add(Stances& standing, Place place) {
    std::uint64_t& here = standing[all_[place].gpu];
    if ((here & bits_[place]) != 0 || !lawful(all_[place].gpu, here | bits_[place])) return false;
    here |= bits_[place];
    return true;
  }
  void remove(Stances& standing, Place place) { standing[all_[place].gpu] &= ~bits_[place]; }
  [[nodiscard]] Stances none() const { return Stances(on_.size(), 0); }
  [[nodiscard]] bool can_number_more() const {
    return all_.size() < 250 &&
           std::ranges::all_of(on_, [](const auto& list) { return list.size() < 60; });
  }

 private:
  bool lawful(std::size_t gpu, std::uint64_t bits) {
    const auto [known, fresh] = lawful_[gpu].try_emplace(bits, false);
    if (fresh) {
      std::vector<Instance> instances = scene_.gpus[gpu].walls;
      for (std::size_t i = 0; i < on_[gpu].size(); ++i)
        if ((bits >> i & 1U) != 0) instances.push_back(on_[gpu][i]);
      known->second = unlawful(*scene_.gpus[gpu].model, instances).empty();
    }
    return known->second;
  }

  const Scene& scene_;
  std::vector<Position> all_;
  std::vector<std::uint64_t> bits_{0};
  std::vector<std::vector<Instance>> on_;
  std::vector<std::unordered_map<std::uint64_t, bool>> lawful_;
};

class WaveSearcher {
 public:
  WaveSearcher(const Scene& scene, const Seats& goal, std::size_t limit)
      : scene_(scene), limit_(limit), places_(scene) {
    for (std::size_t i = 0; i < goal.size() && !too_many_places_; ++i) {
      const Work& work = scene.works[i];
      too_many_places_ = !places_.can_number_more();
      // Works that keep waiting take no part. Works that end do so in the first wave: that is never
      // too early, and until it is over they are in the way.
      if (!work.now && !goal[i]) continue;
      if (!goal[i]) {
        ending_.push_back(places_.number(*work.now));
        continue;
      }
      who_.push_back(i);
      start_ += work.now ? places_.number(*work.now) : nowhere;
      goal_ += places_.number(*goal[i]);
    }
    for (std::size_t i = 0; i < who_.size() && !too_many_places_; ++i) add_choices(who_[i]);
  }

  FewestWaves run() {
    if (too_many_places_) return result(Outcome::beyond_limit, 0);
    if (start_ == goal_ && ending_.empty()) return {};
    try_last(start_, 0);
    if (best_) return result(Outcome::found, 1);
    std::unordered_map<State, std::size_t, HashState> layer{{start_, 0}};
    known_ = layer;
    for (std::size_t waves = 2; !layer.empty(); ++waves) {
      next_.clear();
      for (const auto& [state, temporary] : layer) {
        expand(state, temporary);
        if (looked_at_ > limit_) return result(Outcome::beyond_limit, 0);
      }
      if (best_) return result(Outcome::found, waves);
      layer = std::move(next_);
      first_ = false;
    }
    return result(Outcome::impossible, 0);
  }

 private:
  FewestWaves result(Outcome outcome, std::size_t waves) const {
    return {outcome, waves, best_.value_or(0), looked_at_};
  }

  /// The places of a work on its way: new works start at their goal, or are not there yet, since
  /// earlier they would only be in the way.
  void add_choices(std::size_t work) {
    std::vector<Place> choices;
    const Work& each = scene_.works[work];
    const Place goal = goal_[choices_.size()];
    for (std::size_t gpu = 0; gpu < scene_.gpus.size() && each.now && !each.stays; ++gpu)
      for (const Profile* profile : each.wanted[gpu])
        for (const int start : profile->starts.ascending())
          if (each.allowed[gpu] && !(too_many_places_ = !places_.can_number_more()))
            choices.push_back(places_.number({gpu, {profile, start}}));
    // The goal first: a good answer is found early, and cuts off the rest.
    std::erase(choices, goal);
    if (!each.stays) choices.insert(choices.begin(), goal);
    choices_.push_back(std::move(choices));
  }

  Stances standing_in(const State& state) {
    Stances standing = places_.none();
    for (const Place place : state)
      if (place != nowhere) places_.add(standing, place);
    if (first_)
      for (const Place place : ending_) places_.add(standing, place);
    return standing;
  }

  /// If the group, if any, allows one more in motion, counts it.
  bool move(std::size_t number, std::vector<std::int64_t>& moving) {
    const auto group = scene_.works[who_[number]].group;
    if (!group || !scene_.works[who_[number]].now) return true;
    if (const auto most = scene_.groups[*group].max_moving; most && moving[*group] >= *most)
      return false;
    ++moving[*group];
    return true;
  }
  void unmove(std::size_t number, std::vector<std::int64_t>& moving) {
    const auto group = scene_.works[who_[number]].group;
    if (group && scene_.works[who_[number]].now) --moving[*group];
  }

  /// Whether the goal is one wave away.
  void try_last(const State& state, std::size_t temporary) {
    if (best_ && *best_ <= temporary) return;
    Stances standing = standing_in(state);
    std::vector<std::int64_t> moving(scene_.groups.size(), 0);
    for (std::size_t i = 0; i < state.size(); ++i) {
      ++looked_at_;
      if (state[i] != goal_[i] && (!places_.add(standing, goal_[i]) || !move(i, moving))) return;
    }
    best_ = temporary;
  }

  /// Every wave from here.
  void expand(const State& state, std::size_t temporary) {
    Stances standing = standing_in(state);
    std::vector<std::int64_t> moving(scene_.groups.size(), 0);
    State then = state;
    choose(state, then, 0, standing, moving, temporary);
  }

  void choose(const State& state, State& then, std::size_t number, Stances& standing,
              std::vector<std::int64_t>& moving, std::size_t temporary) {
    if (looked_at_ > limit_ || (best_ && *best_ <= temporary)) return;
    if (number == state.size()) return arrive(then, temporary);
    ++looked_at_;
    choose(state, then, number + 1, standing, moving, temporary);
    for (const Place place : choices_[number]) {
      if (place == state[number] || !places_.add(standing, place)) continue;
      ++looked_at_;
      if (move(number, moving)) {
        then[number] = place;
        choose(state, then, number + 1, standing, moving,
               temporary + (place == goal_[number] ? 0 : 1));
        then[number] = state[number];
        unmove(number, moving);
      }
      places_.remove(standing, place);
    }
  }

  /// A state that was reached before counts again only with fewer temporary moves. If nothing
  /// changes in the first wave except that some work ends, that is a wave too. A state one wave
  /// away from the goal is the answer; other states at this depth then no longer matter.
  void arrive(const State& then, std::size_t temporary) {
    const auto [known, fresh] = known_.try_emplace(then, temporary);
    const bool ended = first_ && !ending_.empty() && then == start_;
    if (!fresh && !ended && known->second <= temporary) return;
    known->second = std::min(known->second, temporary);
    const bool first = first_;
    first_ = false;
    try_last(then, temporary);
    first_ = first;
    if (best_) return;
    const auto [there, added] = next_.try_emplace(then, temporary);
    if (!added) there->second = std::min(there->second, temporary);
  }

  const Scene& scene_;
  std::size_t limit_;
  Places places_;
  std::vector<std::size_t> who_;  // works with a seat in the goal; below by their number here
  State start_, goal_;
  std::vector<Place> ending_;
  std::vector<std::vector<Place>> choices_;
  bool too_many_places_ = false;
  bool first_ = true;                // the next wave is the first
  std::optional<std::size_t> best_;  // the fewest temporary moves at the present number of waves
  std::unordered_map<State, std::size_t, HashState> known_, next_;
  std::size_t looked_at_ = 0;
};

}  // namespace

std::string_view name(Outcome outcome) {
  constexpr std::string_view names[] = {"found", "impossible", "beyond the limit"};
  return names[static_cast<std::size_t>(outcome)];
}

FewestWaves fewest_waves(const Scene& scene, const Seats& goal, std::size_t limit) {
  return WaveSearcher(scene, goal, limit).run();
}

}  // namespace cleave::plans
