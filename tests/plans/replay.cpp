#include "replay.hpp"

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave::plans {

namespace {

constexpr std::string_view op_names[] = {"destroy", "create", "start", "drain", "stop"};

bool contains(const std::vector<std::size_t>& list, std::size_t value) {
  return std::ranges::find(list, value) != list.end();
}

/// An instance, and what uses it.
struct Standing {
  Instance instance;
  bool wall = false;
  std::optional<std::size_t> work;  // the work that runs on it; empty: idle
};

class Replayer {
 public:
  Replayer(const Scene& scene, const End& end, const std::vector<std::size_t>& interruptible)
      : scene_(scene),
        end_(end),
        interruptible_(interruptible),
        gpus_(scene.gpus.size()),
        places_(scene.works.size()) {
    const auto idle = idle_now(scene);
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      for (const Instance& wall : scene.gpus[gpu].walls) gpus_[gpu].push_back({wall, true, {}});
      for (const Instance& each : idle[gpu]) gpus_[gpu].push_back({each, false, {}});
    }
    for (std::size_t i = 0; i < scene.works.size(); ++i)
      if (const auto& now = scene.works[i].now) {
        gpus_[now->gpu].push_back({now->instance, false, i});
        places_[i].push_back(*now);
      }
  }

  std::vector<std::string> run(const std::vector<Wave>& waves) {
    for (const Wave& wave : waves) {
      ++wave_;
      step_ = 0;
      begin_wave(wave);
      for (const Step& step : wave) {
        ++step_;
        check_order(step);
        carry_out(step);
      }
      step_ = 0;
      end_wave();
    }
    wave_ = 0;
    check_end();
    return std::move(found_);
  }

 private:
  void say(const std::string& what) {
    const std::string where = wave_ == 0   ? "in the end"
                              : step_ == 0 ? fmt::format("wave {}", wave_)
                                           : fmt::format("wave {}, step {}", wave_, step_);
    found_.push_back(fmt::format("{}: {}", where, what));
  }

  [[nodiscard]] std::string text(const Position& place) const {
    return fmt::format("{} at {} on {}", place.instance.profile->name, place.instance.start,
                       scene_.gpus[place.gpu].name);
  }
  [[nodiscard]] const std::string& who(std::size_t work) const { return scene_.works[work].name; }
  [[nodiscard]] bool ends(std::size_t work) const { return !end_.seats[work]; }

  /// The instance at a place; null: none of this kind.
  Standing* at(const Position& place) {
    auto& list = gpus_[place.gpu];
    const auto found = std::ranges::find(list, place.instance, &Standing::instance);
    return found == list.end() ? nullptr : &*found;
  }

  /// The new instances of a wave must fit beside everything in use when it begins, and beside each
  /// other.
  void begin_wave(const Wave& wave) {
    if (wave.empty()) say("nothing is done in it");
    phase_ = 0;
    started_.clear();
    in_motion_.clear();
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].empty() && was_interrupted(i)) in_motion_.insert(i);
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      std::vector<Instance> fresh;
      for (const Step& step : wave) {
        if (step.place.gpu != gpu || (step.op != Op::create && step.op != Op::start)) continue;
        if (std::ranges::find(fresh, step.place.instance) == fresh.end())
          fresh.push_back(step.place.instance);
      }
      if (fresh.empty()) continue;
      for (const Standing& each : gpus_[gpu])
        if (each.wall || each.work) fresh.push_back(each.instance);
      if (const std::string why = unlawful(*scene_.gpus[gpu].model, fresh); !why.empty())
        say(fmt::format(
            "what is new on {} is in the way of what is in use when the wave begins, or of "
            "itself: {}",
            scene_.gpus[gpu].name, why));
    }
  }

  [[nodiscard]] bool was_interrupted(std::size_t work) const {
    return interrupted_.contains(work) && !ends(work);
  }

  /// The order of steps: idle instances destroyed; created; started; drained or stopped; the left
  /// ones destroyed.
  void check_order(const Step& step) {
    int phase = 0;
    if (step.op == Op::create) phase = 1;
    if (step.op == Op::start) phase = 2;
    if (step.op == Op::drain || step.op == Op::stop) phase = 3;
    if (step.op == Op::destroy && phase_ > 0) phase = 4;
    if (phase < phase_) say(fmt::format("{} is out of order", name(step.op)));
    phase_ = std::max(phase_, phase);
  }

  void carry_out(const Step& step) {
    if (step.op == Op::create) return create(step);
    Standing* standing = at(step.place);
    if (standing == nullptr)
      return say(fmt::format("{}: there is no {}", name(step.op), text(step.place)));
    if (standing->wall)
      return say(fmt::format("{}: {} is not ours to touch", name(step.op), text(step.place)));
    if (step.op == Op::destroy) return destroy(step, *standing);
    if (!step.work) return say(fmt::format("{} of nobody", name(step.op)));
    if (scene_.works[*step.work].stays)
      return say(
          fmt::format("{} of '{}', which must stay as it is", name(step.op), who(*step.work)));
    if (step.op == Op::start) return start(step, *standing);
    if (standing->work != step.work)
      return say(fmt::format("{}: '{}' does not run on {}", name(step.op), who(*step.work),
                             text(step.place)));
    leave(step, *standing);
  }

  void create(const Step& step) {
    std::vector<Instance> together;
    for (const Standing& each : gpus_[step.place.gpu]) together.push_back(each.instance);
    together.push_back(step.place.instance);
    if (const std::string why = unlawful(*scene_.gpus[step.place.gpu].model, together);
        !why.empty())
      return say(fmt::format("{} cannot be created: {}", text(step.place), why));
    gpus_[step.place.gpu].push_back({step.place.instance, false, {}});
  }

  void destroy(const Step& step, const Standing& standing) {
    if (standing.work)
      return say(fmt::format("{} is destroyed while '{}' runs on it", text(step.place),
                             who(*standing.work)));
    std::erase_if(gpus_[step.place.gpu],
                  [&](const Standing& each) { return each.instance == step.place.instance; });
  }

  void start(const Step& step, Standing& standing) {
    const Work& work = scene_.works[*step.work];
    const auto& wanted = work.wanted[step.place.gpu];
    if (standing.work)
      return say(fmt::format("'{}' starts on {}, where '{}' runs", work.name, text(step.place),
                             who(*standing.work)));
    if (std::ranges::find(wanted, step.place.instance.profile) == wanted.end())
      say(fmt::format("'{}' did not ask for {}", work.name, step.place.instance.profile->name));
    if (!work.allowed[step.place.gpu])
      say(fmt::format("'{}' may not be on {}", work.name, scene_.gpus[step.place.gpu].name));
    auto& places = places_[*step.work];
    if (places.size() > 1) say(fmt::format("'{}' runs twice already", work.name));
    if (!places.empty()) in_motion_.insert(*step.work);
    standing.work = step.work;
    places.push_back(step.place);
    started_.push_back(step.place);
    interrupted_.erase(*step.work);
  }

  /// Drained or stopped.
  void leave(const Step& step, Standing& standing) {
    const std::size_t work = *step.work;
    const bool alone = places_[work].size() == 1;
    if (std::ranges::find(started_, step.place) != started_.end())
      say(fmt::format("'{}' leaves {} in the wave in which it started there", who(work),
                      text(step.place)));
    if (step.op == Op::drain) {
      in_motion_.insert(work);
      if (alone) say(fmt::format("'{}' is drained and runs nowhere else", who(work)));
    } else if (!alone) {
      say(fmt::format("'{}' is stopped while a replica of it runs; that is a drain", who(work)));
    } else if (!ends(work)) {
      in_motion_.insert(work);
      interrupted_.insert(work);
      if (!contains(interruptible_, work))
        say(fmt::format("'{}' is stopped and must not be interrupted", who(work)));
    }
    standing.work.reset();
    std::erase(places_[work], step.place);
  }

  void end_wave() {
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].size() > 1) say(fmt::format("'{}' runs twice when the wave ends", who(i)));
    for (std::size_t group = 0; group < scene_.groups.size(); ++group) {
      const auto moving = std::ranges::count_if(
          in_motion_, [&](std::size_t work) { return scene_.works[work].group == group; });
      if (const auto most = scene_.groups[group].max_moving; most && moving > *most)
        say(fmt::format("{} of group '{}' are in motion, {} may be", moving,
                        scene_.groups[group].name, *most));
    }
  }

  void check_end() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& wanted = end_.seats[i];
      if (!wanted && !places_[i].empty()) say(fmt::format("'{}' still runs", who(i)));
      if (wanted && (places_[i].size() != 1 || places_[i].front() != *wanted))
        say(fmt::format("'{}' is not on {}", who(i), text(*wanted)));
    }
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      std::size_t idle = 0;
      for (const Standing& each : gpus_[gpu]) {
        if (each.wall || each.work) continue;
        ++idle;
        if (std::ranges::find(end_.idle[gpu], each.instance) == end_.idle[gpu].end())
          say(fmt::format("{} stands idle", text({gpu, each.instance})));
      }
      if (idle < end_.idle[gpu].size())
        say(fmt::format("{} lacks idle instances that are wanted", scene_.gpus[gpu].name));
    }
  }

  const Scene& scene_;
  const End& end_;
  const std::vector<std::size_t>& interruptible_;
  std::vector<std::vector<Standing>> gpus_;
  std::vector<std::vector<Position>> places_;  // where each work runs
  std::set<std::size_t> interrupted_;          // stopped, and to run again
  std::vector<std::string> found_;
  std::size_t wave_ = 0, step_ = 0;  // from 1; 0: none
  int phase_ = 0;
  std::vector<Position> started_;    // in this wave
  std::set<std::size_t> in_motion_;  // in this wave
};

std::optional<Position> read_place(const Scene& scene, const Json& entry) {
  const auto gpu = std::ranges::find(scene.gpus, entry.value("gpu", std::string()), &Gpu::name);
  if (gpu == scene.gpus.end()) return std::nullopt;
  const Profile* profile = gpu->model->find(entry.value("profile", std::string()));
  if (profile == nullptr || !entry.contains("start") || !entry["start"].is_number_integer())
    return std::nullopt;
  return Position{static_cast<std::size_t>(gpu - scene.gpus.begin()),
                  {profile, entry["start"].get<int>()}};
}

/// Reports the fault and returns nothing, if it is not a step of this scene.
std::optional<Step> read_step(const Scene& scene, const Json& entry,
                              std::vector<std::string>& found) {
  const auto wrong = [&] {
    found.push_back(fmt::format("no step: {}", entry.dump()));
    return std::nullopt;
  };
  if (!entry.is_object()) return wrong();
  const auto* op = std::ranges::find(op_names, entry.value("op", std::string()));
  const auto place = read_place(scene, entry);
  if (op == std::end(op_names) || !place) return wrong();
  Step step{static_cast<Op>(op - std::begin(op_names)), *place, {}};
  if (entry.contains("workload") && entry["workload"].is_string()) {
    const auto work =
        std::ranges::find(scene.works, entry["workload"].get<std::string>(), &Work::name);
    if (work == scene.works.end()) return wrong();
    step.work = static_cast<std::size_t>(work - scene.works.begin());
  }
  return step;
}

}  // namespace

std::string_view name(Op op) {
  return op_names[static_cast<std::size_t>(op)];
}

std::vector<std::vector<Instance>> idle_now(const Scene& scene) {
  std::vector<std::vector<Instance>> idle;
  for (const Gpu& gpu : scene.gpus) idle.push_back(gpu.ours);
  for (const Work& work : scene.works)
    if (work.now) std::erase(idle[work.now->gpu], work.now->instance);
  return idle;
}

End read_end(const Scene& scene, std::string_view goal_fleet) {
  // Waiting work of it is not part of the end.
  const Scene goal = *read_scene({std::string(goal_fleet), Task::compact, {}, {}, true});
  End end{Seats(scene.works.size()), idle_now(goal)};
  for (const Work& work : goal.works) {
    const auto at = std::ranges::find(scene.works, work.name, &Work::name);
    end.seats[static_cast<std::size_t>(at - scene.works.begin())] = work.now;
  }
  return end;
}

std::vector<Wave> read_waves(const Scene& scene, std::string_view plan,
                             std::vector<std::string>& found) {
  const auto document = parse_json(plan, "plan");
  if (!document || !document->is_object() || !document->contains("waves") ||
      !(*document)["waves"].is_array()) {
    found.push_back(document ? "no list 'waves'" : document.error().text());
    return {};
  }
  std::vector<Wave> waves;
  for (const Json& entries : (*document)["waves"]) {
    Wave wave;
    if (!entries.is_array()) found.push_back("a wave that is no list");
    for (const Json& entry : entries)
      if (const auto step = read_step(scene, entry, found)) wave.push_back(*step);
    waves.push_back(std::move(wave));
  }
  return waves;
}

std::string waves_text(const Scene& scene, const std::vector<Wave>& waves) {
  std::string text = "{\"waves\": [";
  for (std::size_t i = 0; i < waves.size(); ++i) {
    text += i == 0 ? "[" : ",\n [";
    for (std::size_t k = 0; k < waves[i].size(); ++k) {
      const Step& step = waves[i][k];
      Json entry = {{"op", std::string(name(step.op))},
                    {"gpu", scene.gpus[step.place.gpu].name},
                    {"profile", std::string(step.place.instance.profile->name)},
                    {"start", step.place.instance.start}};
      if (step.work) entry["workload"] = scene.works[*step.work].name;
      text += fmt::format("{}{}", k == 0 ? "" : ",\n  ", entry.dump());
    }
    text += "]";
  }
  return text + "]}";
}

std::vector<std::string> replay(const Scene& scene, const std::vector<Wave>& waves, const End& end,
                                const std::vector<std::size_t>& interruptible) {
  return Replayer(scene, end, interruptible).run(waves);
}

std::size_t temporary_moves(const std::vector<Wave>& waves, const Seats& goal) {
  std::size_t count = 0;
  for (const Wave& wave : waves)
    for (const Step& step : wave)
      if (step.op == Op::start && step.work && goal[*step.work] != step.place) ++count;
  return count;
}

}  // namespace cleave::plans
