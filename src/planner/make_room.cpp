#include "planner/make_room.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace cleave {

namespace {

constexpr std::uint8_t nobody = 0xff;

/// A GPU while the search tries moves on it.
struct Board {
  PlacementSet fixed;    // walls, what may not move, and what has got its place in this try
  PlacementSet movable;  // of work that has not been moved in this try
  bool closed = false;   // wholly taken
  std::array<std::uint8_t, PlacementSet::most> owner;  // by placement: the work that may move
  std::uint64_t alike = 0;  // equal for GPUs that are the same to the search

  [[nodiscard]] PlacementSet occupied() const { return fixed | movable; }
};

Board board_of(const RoomGpu& gpu) {
  Board board;
  board.owner.fill(nobody);
  board.fixed = gpu.walls;
  const auto mix = [&](std::uint64_t value) {
    board.alike = (board.alike ^ value) * 0x9e3779b97f4a7c15ULL;
    board.alike ^= board.alike >> 29;
  };
  mix(gpu.kind + 1);
  for (std::size_t i = 0; i < gpu.works.size(); ++i) {
    const RoomWork& work = gpu.works[i];
    if (!work.movable || i >= nobody) {
      board.fixed.insert(work.placement);
      continue;
    }
    board.movable.insert(work.placement);
    board.owner[work.placement] = static_cast<std::uint8_t>(i);
    mix(work.placement);
    mix(static_cast<std::uint64_t>(work.interrupted.count()));
    mix(static_cast<std::uint64_t>(work.takes.count()));
  }
  mix(board.fixed.bits());
  mix(board.movable.bits());
  return board;
}

class Search {
 public:
  Search(std::span<const Geometry* const> geometries, std::span<const RoomGpu> gpus,
         const RoomAsk& ask, const RoomLimits& limits)
      : geometries_(geometries), gpus_(gpus), ask_(ask), limits_(limits) {
    std::map<std::uint64_t, std::size_t> classes;
    for (const RoomGpu& gpu : gpus) {
      boards_.push_back(board_of(gpu));
      class_of_.push_back(classes.emplace(boards_.back().alike, classes.size()).first->second);
    }
    touched_.resize(gpus.size());
    listed_.resize(classes.size());
  }

  RoomFound run() {
    RoomFound found;
    drop_hopeless();
    for (most_ = 1; most_ <= limits_.moves; ++most_) {
      found.fewest = most_;
      cut_ = false;
      seat_asked();
      if (best_ || spent()) break;
      // No try was ended by the number of moves: more of them lead to nothing else.
      if (!cut_) break;
    }
    found.all_seen = !spent();
    found.plan = std::move(best_);
    return found;
  }

 private:
  [[nodiscard]] const Geometry& geometry(std::size_t gpu) const {
    return *geometries_[gpus_[gpu].kind];
  }
  [[nodiscard]] bool spent() const { return effort_ >= limits_.effort; }

  /// Moves are among GPUs of one model, and change nothing of how many slices are free there.
  void drop_hopeless() {
    for (std::size_t kind = 0; kind < ask_.candidates.size(); ++kind) {
      int compute = 0, memory = 0;
      for (const RoomGpu& gpu : gpus_) {
        if (gpu.kind != kind) continue;
        const Geometry& rules = *geometries_[kind];
        const PlacementSet occupied =
            boards_[static_cast<std::size_t>(&gpu - gpus_.data())].occupied();
        compute += rules.model().compute.value - rules.compute(occupied).value;
        memory += rules.model().memory_slices.value - rules.memory(occupied).value;
      }
      for (const PlacementId placement : PlacementSet(ask_.candidates[kind])) {
        const Profile& profile = *(*geometries_[kind])[placement].profile;
        if (profile.compute.value > compute || profile.memory.value > memory)
          ask_.candidates[kind].erase(placement);
      }
    }
  }

  /// The GPUs on which to try something: of those that are alike and untouched, the first.
  std::vector<std::size_t> worth_trying(std::size_t kind) {
    std::vector<std::size_t> list;
    ++lists_;
    for (std::size_t gpu = 0; gpu < boards_.size(); ++gpu) {
      ++effort_;
      if (boards_[gpu].closed || gpus_[gpu].kind != kind) continue;
      if (touched_[gpu] == 0 && std::exchange(listed_[class_of_[gpu]], lists_) == lists_) continue;
      list.push_back(gpu);
    }
    return list;
  }

  void seat_asked() {
    for (std::size_t kind = 0; kind < ask_.candidates.size(); ++kind) {
      if (ask_.candidates[kind].empty()) continue;
      for (const std::size_t gpu : worth_trying(kind)) {
        if (ask_.whole) {
          empty_gpu(gpu, ask_.candidates[kind].first());
          continue;
        }
        for (const PlacementId placement : ask_.candidates[kind]) {
          if (spent()) return;
          place_ = {gpu, placement};
          take(place_, [&] { seat_next(0); });
        }
      }
    }
  }

  void empty_gpu(std::size_t gpu, PlacementId placement) {
    Board& board = boards_[gpu];
    ++effort_;
    if (!board.fixed.empty() || spent()) return;
    if (board.movable.size() > static_cast<int>(most_)) {
      cut_ = true;
      return;
    }
    const Board before = board;
    place_ = {gpu, placement};
    for (const PlacementId each : board.movable) evict(gpu, each);
    board.movable = {};
    board.closed = true;
    ++touched_[gpu];
    seat_next(0);
    --touched_[gpu];
    moves_.clear();
    board = before;
  }

  void evict(std::size_t gpu, PlacementId placement) {
    moves_.push_back({1, boards_[gpu].owner[placement], {gpu, placement}, {}});
  }

  /// Tries this place, with what is there moved away, and goes on with `then`.
  void take(RoomPlace place, const auto& then) {
    ++effort_;
    Board& board = boards_[place.gpu];
    const Geometry& rules = geometry(place.gpu);
    const PlacementSet there = rules[place.placement].conflicts | PlacementSet::of(place.placement);
    if (there.meets(board.fixed)) return;
    const PlacementSet moved = there & board.movable;
    if (!rules.within_limits((board.occupied() - moved) | PlacementSet::of(place.placement)))
      return;
    if (moves_.size() + static_cast<std::size_t>(moved.size()) > most_) {
      cut_ = true;
      return;
    }
    const Board before = board;
    const std::size_t moves = moves_.size();
    for (const PlacementId each : moved) evict(place.gpu, each);
    board.movable = board.movable - moved;
    board.fixed.insert(place.placement);
    ++touched_[place.gpu];
    then();
    --touched_[place.gpu];
    moves_.resize(moves);
    boards_[place.gpu] = before;
  }

  /// A place for the work of this move and of those behind it.
  void seat_next(std::size_t move) {
    if (spent()) return;
    if (move == moves_.size()) return consider();
    const RoomPlace from = moves_[move].from;
    const int profile = geometry(from.gpu)[from.placement].profile_index;
    for (const std::size_t gpu : worth_trying(gpus_[from.gpu].kind))
      for (const PlacementId placement : geometry(gpu).of_profile(profile)) {
        if (RoomPlace{gpu, placement} == from) continue;
        if (spent()) return;
        moves_[move].to = {gpu, placement};
        take({gpu, placement}, [&] { seat_next(move + 1); });
      }
  }

  /// All have a place: the plan counts if its moves can follow one another.
  void consider() {
    RoomPlan plan{place_, moves_, {}, {}};
    for (const RoomMove& move : plan.moves) plan.interrupted += work_of(move).interrupted;
    if (best_ && best_->interrupted <= plan.interrupted) return;
    if (order(plan)) best_ = std::move(plan);
  }

  [[nodiscard]] const RoomWork& work_of(const RoomMove& move) const {
    return gpus_[move.from.gpu].works[move.work];
  }

  /// Puts moves into waves, each with free places. False: they wait for one another.
  bool order(RoomPlan& plan) const {
    std::vector<PlacementSet> occupied(gpus_.size());
    for (const RoomMove& move : plan.moves)
      for (const std::size_t gpu : {move.from.gpu, move.to.gpu}) {
        occupied[gpu] = gpus_[gpu].walls;
        for (const RoomWork& work : gpus_[gpu].works) occupied[gpu].insert(work.placement);
      }
    std::size_t ordered = 0;
    for (std::int64_t wave = 1; ordered < plan.moves.size(); ++wave) {
      Duration longest{};
      std::vector<RoomPlace> left;
      for (std::size_t i = ordered; i < plan.moves.size(); ++i) {
        RoomMove& move = plan.moves[i];
        PlacementSet& there = occupied[move.to.gpu];
        if (!geometry(move.to.gpu).free(there).contains(move.to.placement)) continue;
        there.insert(move.to.placement);
        left.push_back(move.from);
        move.wave = wave;
        longest = std::max(longest, work_of(move).takes);
        std::swap(move, plan.moves[ordered++]);
      }
      if (left.empty()) return false;
      for (const RoomPlace& place : left) occupied[place.gpu].erase(place.placement);
      plan.takes += longest;
    }
    return true;
  }

  std::span<const Geometry* const> geometries_;
  std::span<const RoomGpu> gpus_;
  RoomAsk ask_;
  RoomLimits limits_;
  std::vector<Board> boards_;
  std::vector<std::uint32_t> touched_;  // by GPU: how often in this try
  std::vector<std::size_t> class_of_;   // by GPU
  std::vector<std::size_t> listed_;     // by class: the last list that has a GPU of it untouched
  std::size_t lists_ = 0;
  RoomPlace place_;
  std::vector<RoomMove> moves_;  // of this try
  std::size_t most_ = 0, effort_ = 0;
  bool cut_ = false;
  std::optional<RoomPlan> best_;
};

}  // namespace

bool has_room(std::span<const Geometry* const> geometries, std::span<const RoomGpu> gpus,
              const RoomAsk& ask) {
  return std::ranges::any_of(gpus, [&](const RoomGpu& gpu) {
    const PlacementSet candidates = ask.candidates[gpu.kind];
    PlacementSet occupied = gpu.walls;
    for (const RoomWork& work : gpu.works) occupied.insert(work.placement);
    if (ask.whole) return occupied.empty() && !candidates.empty();
    return geometries[gpu.kind]->free(occupied).meets(candidates);
  });
}

RoomFound make_room(std::span<const Geometry* const> geometries, std::span<const RoomGpu> gpus,
                    const RoomAsk& ask, const RoomLimits& limits) {
  return Search(geometries, gpus, ask, limits).run();
}

}  // namespace cleave
