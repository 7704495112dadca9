#include "placement/index.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cleave {

PlacementIndex::PlacementIndex(const Fleet& fleet, const RequestTable& requests,
                               ChosenPolicy policy, Method method)
    : fleet_(&fleet),
      requests_(&requests),
      policy_(policy),
      wanted_method_(method),
      method_(method) {
  rebuild();
}

std::size_t PlacementIndex::bytes() const {
  std::size_t sum = row_.size() * sizeof(ClassId) + present_.size() * sizeof(std::uint64_t);
  for (const auto& levels : bytes_) sum += levels.size();
  return sum;
}

/// Requests that may go to the same placements are one kind; there are few kinds however many
/// requests there are.
void PlacementIndex::learn_kinds() {
  for (std::size_t i = kind_of_request_.size(); i < requests_->size(); ++i) {
    const auto& candidates = (*requests_)[static_cast<RequestId>(i)].candidates;
    std::vector<std::uint32_t> bits;
    for (const PlacementSet set : candidates) bits.push_back(set.bits());
    const auto [entry, fresh] =
        known_kinds_.try_emplace(std::move(bits), static_cast<KindId>(kinds_.size()));
    if (fresh) kinds_.push_back(candidates);
    kind_of_request_.push_back(entry->second);
  }
}

void PlacementIndex::rebuild() {
  learn_kinds();
  class_of_state_.clear();
  choice_.clear();
  destroys_.clear();
  known_classes_.clear();
  ranks_of_class_.clear();
  class_count_ = 0;
  too_many_classes_ = false;
  present_.clear();
  first_.clear();
  gpus_ = fleet_->size();
  const std::size_t blocks = std::max<std::size_t>(1, (gpus_ + block - 1) / block);
  row_.assign(blocks * block, no_class);
  // Layer 0 has a bit a block, each layer above a bit a word of the one below, up to a single word.
  layers_ = 0;
  words_per_class_ = 0;
  for (std::size_t bits = blocks;; bits = (bits + 63) / 64) {
    layer_[layers_++] = words_per_class_;
    words_per_class_ += (bits + 63) / 64;
    if (bits <= 64) break;
  }
  orders_stale_ = true;
  for (std::size_t i = 0; i < gpus_; ++i) row_[i] = class_of(fleet_->number(static_cast<GpuId>(i)));
  listed_ = false;
  order_classes();
}

PlacementIndex::ClassId PlacementIndex::learn(StateNumber number) {
  const std::size_t kinds = kinds_.size();
  if (class_of_state_.size() <= number) {
    class_of_state_.resize(fleet_->states().size(), no_class);
    choice_.resize(class_of_state_.size() * kinds);
    destroys_.resize(choice_.size());
  }
  const GpuState& state = fleet_->states()[number];
  const GpuView gpu{fleet_->graph(state), state};
  std::vector<AcrossRank> ranks(kinds);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto best = best_on(gpu, kinds_[kind][state.kind], policy_);
    if (!best) continue;
    const std::size_t cell = number * kinds + kind;
    choice_[cell] = best->placement;
    if (state.idle.contains(best->placement)) choice_[cell] |= reuses;
    destroys_[cell] = fleet_->destroys(state, best->placement);
    ranks[kind] = best->rank.across;
  }
  if (class_count_ == no_class && !known_classes_.contains(ranks)) {
    too_many_classes_ = true;
    return 0;
  }
  const auto [entry, fresh] =
      known_classes_.try_emplace(std::move(ranks), static_cast<ClassId>(class_count_));
  if (fresh) {
    ++class_count_;
    ranks_of_class_.push_back(&entry->first);
    present_.resize(class_count_ * words_per_class_, 0);
    first_.push_back(no_gpu);
    if (!orders_stale_) insert_class(entry->second);
  }
  return class_of_state_[number] = entry->second;
}

/// Sorts the classes for each kind. Needed when a class has been learned, which ends as the fleet
/// settles.
void PlacementIndex::order_classes() {
  orders_stale_ = false;
  orders_.assign(kinds_.size(), {});
  place_.assign(class_count_ * kinds_.size(), no_place);
  level_.assign(class_count_ * kinds_.size(), no_place);
  most_levels_ = 0;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) order_for(static_cast<KindId>(kind));
  choose_method();
}

void PlacementIndex::order_for(KindId kind) {
  Order& order = orders_[kind];
  const auto rank = [&](ClassId row) -> const AcrossRank& { return (*ranks_of_class_[row])[kind]; };
  for (std::size_t row = 0; row < class_count_; ++row)
    if (rank(static_cast<ClassId>(row))) order.classes.push_back(static_cast<ClassId>(row));
  std::ranges::stable_sort(order.classes,
                           [&](ClassId a, ClassId b) { return *rank(a) < *rank(b); });
  order.level_end.resize(order.classes.size());
  order.occupied.assign(order.classes.size() / 64 + 1, 0);
  std::size_t level = 0;
  for (std::size_t begin = 0, end = 0; begin < order.classes.size(); begin = end, ++level) {
    while (end < order.classes.size() && rank(order.classes[end]) == rank(order.classes[begin]))
      ++end;
    for (std::size_t place = begin; place < end; ++place) {
      const std::size_t cell = order.classes[place] * kinds_.size() + kind;
      order.level_end[place] = static_cast<std::uint16_t>(end);
      place_[cell] = static_cast<std::uint16_t>(place);
      level_[cell] = static_cast<std::uint16_t>(level);
    }
  }
  most_levels_ = std::max(most_levels_, level);
}

/// A class that is learned on the way takes its place in each order; it has no GPU yet.
void PlacementIndex::insert_class(ClassId row) {
  place_.resize(class_count_ * kinds_.size(), no_place);
  level_.resize(class_count_ * kinds_.size(), no_place);
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    if ((*ranks_of_class_[row])[kind]) insert_for(static_cast<KindId>(kind), row);
  if (method_ == Method::vector_scan && most_levels_ >= no_level) choose_method();
}

void PlacementIndex::insert_for(KindId kind, ClassId row) {
  Order& order = orders_[kind];
  const auto rank = [&](ClassId other) -> const AcrossRank& {
    return (*ranks_of_class_[other])[kind];
  };
  const auto level = [&](ClassId other) -> std::uint16_t& {
    return level_[other * kinds_.size() + kind];
  };
  // Behind those that are as good, so that a level stays together.
  const auto at = std::ranges::upper_bound(order.classes, *rank(row), {},
                                           [&](ClassId other) { return *rank(other); });
  const auto begin = static_cast<std::size_t>(at - order.classes.begin());
  const bool joins = begin > 0 && rank(order.classes[begin - 1]) == rank(row);
  const std::uint16_t own =
      begin == 0 ? std::uint16_t{0}
                 : static_cast<std::uint16_t>(level(order.classes[begin - 1]) + (joins ? 0 : 1));
  order.classes.insert(at, row);
  order.level_end.insert(order.level_end.begin() + static_cast<std::ptrdiff_t>(begin),
                         static_cast<std::uint16_t>(begin));
  order.occupied.assign(order.classes.size() / 64 + 1, 0);
  for (std::size_t place = 0; place < order.classes.size(); ++place) {
    const ClassId other = order.classes[place];
    if (place >= begin) {
      place_[other * kinds_.size() + kind] = static_cast<std::uint16_t>(place);
      ++order.level_end[place];
      if (place > begin && !joins) ++level(other);
    } else if (joins && level(other) == own) {
      ++order.level_end[place];
    }
    if (first_[other] != no_gpu) order.occupied[place / 64] |= std::uint64_t{1} << place % 64;
  }
  level(row) = own;
  if (joins) order.level_end[begin] = order.level_end[begin - 1];
  if (!order.classes.empty())
    most_levels_ =
        std::max<std::size_t>(most_levels_, std::size_t{level(order.classes.back())} + 1);
  if (joins || method_ != Method::vector_scan || bytes_.empty()) return;
  // A new level moves those behind it: their bytes change.
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    const std::uint16_t now = row_[gpu] == no_class ? no_place : level(row_[gpu]);
    bytes_[kind][gpu] = static_cast<std::uint8_t>(std::min<std::uint16_t>(now, no_level));
  }
}

/// Levels of a byte leave 255 for "does not fit"; a policy with more levels than that goes by
/// blocks.
void PlacementIndex::choose_method() {
  method_ = wanted_method_;
  if (method_ == Method::automatic)
    method_ = gpus_ <= scan_up_to ? Method::vector_scan : Method::blocks;
  if (method_ == Method::vector_scan && most_levels_ >= no_level) method_ = Method::blocks;
  bytes_.clear();
  if (method_ == Method::vector_scan) {
    bytes_.assign(kinds_.size(), std::vector<std::uint8_t>(gpus_, no_level));
    for (std::size_t i = 0; i < gpus_; ++i) write_levels(static_cast<std::uint32_t>(i), row_[i]);
  }
  if (method_ != Method::blocks) return;
  if (!listed_) return list_gpus();
  for (std::size_t row = 0; row < class_count_; ++row)
    set_occupied(static_cast<ClassId>(row), first_[row] != no_gpu);
}

void PlacementIndex::list_gpus() {
  std::ranges::fill(present_, 0);
  std::ranges::fill(first_, no_gpu);
  for (std::size_t i = 0; i < gpus_; ++i) enter(row_[i], static_cast<std::uint32_t>(i));
  listed_ = true;
}

void PlacementIndex::write_levels(std::uint32_t gpu, ClassId row) {
  const std::uint16_t* levels = level_.data() + row * kinds_.size();
  for (std::size_t kind = 0; kind < bytes_.size(); ++kind)
    bytes_[kind][gpu] =
        static_cast<std::uint8_t>(levels[kind] == no_place ? no_level : levels[kind]);
}

void PlacementIndex::catch_up() {
  for (const GpuId gpu : pending_) follow(gpu);
  pending_.clear();
}

/// Moves the GPU to the class that its state has now.
void PlacementIndex::follow(GpuId id) {
  const auto gpu = static_cast<std::uint32_t>(id);
  if (gpu >= gpus_) return rebuild();
  const ClassId before = row_[gpu];
  const ClassId after = class_of(fleet_->number(id));
  if (before == after) return;
  row_[gpu] = after;
  if (method_ == Method::blocks) {
    enter(after, gpu);
    leave(before, gpu);
    return;
  }
  // The scans need no lists. A class that has just been learned has no levels yet: all are written
  // before the next decision.
  listed_ = false;
  if (method_ == Method::vector_scan && !orders_stale_) write_levels(gpu, after);
}

// What follows is done for each change, and what a GPU's class comes to is as good as random: a
// branch would be guessed wrong every other time. So bits are set and cleared by arithmetic.

void PlacementIndex::set_occupied(ClassId row, bool occupied) {
  if (orders_stale_) return;
  const std::uint16_t* places = place_.data() + row * kinds_.size();
  std::uint64_t nowhere = 0;  // for kinds that do not fit
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const bool fits = places[kind] != no_place;
    const std::size_t at = fits ? places[kind] : 0;
    std::uint64_t* const word = fits ? &orders_[kind].occupied[at / 64] : &nowhere;
    *word = (*word & ~(std::uint64_t{1} << at % 64)) | std::uint64_t{occupied} << at % 64;
  }
}

void PlacementIndex::enter(ClassId row, std::uint32_t gpu) {
  std::uint64_t* bits = words(row);
  std::size_t at = gpu / block;
  for (std::size_t layer = 0; layer < layers_; ++layer, at /= 64)
    bits[layer_[layer] + at / 64] |= std::uint64_t{1} << at % 64;
  if (first_[row] == no_gpu) set_occupied(row, true);
  first_[row] = std::min(first_[row], gpu);
}

void PlacementIndex::leave(ClassId row, std::uint32_t gpu) {
  std::size_t at = gpu / block;
  const std::uint32_t other = first_in_block(row, at);
  std::uint64_t* bits = words(row);
  std::uint64_t gone = std::uint64_t{other == no_gpu};  // the block's bit, then its word's
  for (std::size_t layer = 0; layer < layers_; ++layer, at /= 64) {
    std::uint64_t& word = bits[layer_[layer] + at / 64];
    word &= ~(gone << at % 64);
    gone &= std::uint64_t{word == 0};
  }
  if (first_[row] != gpu) return;
  first_[row] = other != no_gpu ? other : next_after(row, gpu);
  if (first_[row] == no_gpu) set_occupied(row, false);
}

namespace {

/// A bit for each of 32 GPUs of a block whose class is `row`. Every x86-64 has the vector
/// instructions; elsewhere the compiler makes what it can of the loop.
std::uint32_t matches_in(const std::uint16_t* rows, std::uint16_t row) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(row));
  const auto equal = [&](int part) {
    return _mm_cmpeq_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows) + part), wanted);
  };
  const auto low =
      static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(equal(0), equal(1))));
  const auto high =
      static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(equal(2), equal(3))));
  return low | high << 16;
#else
  std::uint32_t matches = 0;
  for (std::size_t i = 0; i < 32; ++i) matches |= static_cast<std::uint32_t>(rows[i] == row) << i;
  return matches;
#endif
}

}  // namespace

std::uint32_t PlacementIndex::first_in_block(ClassId row, std::size_t number) const {
  static_assert(block == 32);
  const std::uint32_t matches = matches_in(&row_[number * block], row);
  return matches == 0 ? no_gpu
                      : static_cast<std::uint32_t>(number * block) +
                            static_cast<std::uint32_t>(std::countr_zero(matches));
}

/// The lowest GPU of a class in a block after that of `gpu`: up the summaries to the first word
/// with a later bit, and down again.
std::uint32_t PlacementIndex::next_after(ClassId row, std::uint32_t gpu) const {
  const std::uint64_t* bits = words(row);
  std::size_t at = gpu / block;
  for (std::size_t layer = 0; layer < layers_; ++layer) {
    const std::uint64_t later =
        at % 64 == 63 ? 0 : bits[layer_[layer] + at / 64] & ~std::uint64_t{0} << (at % 64 + 1);
    if (later != 0) {
      at = at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(later));
      while (layer-- > 0)
        at = at * 64 + static_cast<std::size_t>(std::countr_zero(bits[layer_[layer] + at]));
      return first_in_block(row, at);
    }
    at /= 64;
  }
  return no_gpu;
}

std::uint32_t PlacementIndex::find_by_blocks(KindId kind) const {
  const Order& order = orders_[kind];
  for (std::size_t w = 0; w < order.occupied.size(); ++w) {
    if (order.occupied[w] == 0) continue;
    const std::size_t begin =
        w * 64 + static_cast<std::size_t>(std::countr_zero(order.occupied[w]));
    const std::size_t end = order.level_end[begin];
    std::uint32_t lowest = first_[order.classes[begin]];
    for (std::uint64_t rest = order.occupied[w] & (order.occupied[w] - 1);;) {
      for (; rest != 0; rest &= rest - 1) {
        const std::size_t place = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
        if (place >= end) return lowest;
        lowest = std::min(lowest, first_[order.classes[place]]);
      }
      if (++w * 64 >= end) return lowest;
      rest = order.occupied[w];
    }
  }
  return no_gpu;
}

std::uint32_t PlacementIndex::find_by_vector_scan(KindId kind) const {
  const std::vector<std::uint8_t>& levels = bytes_[kind];
  std::uint8_t least = no_level;
  for (const std::uint8_t level : levels) least = std::min(least, level);
  if (least == no_level) return no_gpu;
  const void* found = std::memchr(levels.data(), least, levels.size());
  return static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(found) - levels.data());
}

std::uint32_t PlacementIndex::find_by_scalar_scan(KindId kind) const {
  std::uint32_t best = no_gpu;
  std::uint16_t best_level = no_place;
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
    const std::uint16_t level = level_[row_[gpu] * kinds_.size() + kind];
    if (level >= best_level) continue;
    best_level = level;
    best = gpu;
  }
  return best;
}

std::optional<Decision> PlacementIndex::decide(RequestId request) {
  catch_up();
  if (index(request) >= kind_of_request_.size()) {
    const std::size_t kinds = kinds_.size();
    learn_kinds();
    if (kinds_.size() != kinds) rebuild();
  }
  if (too_many_classes_) return decide_by_scan(*fleet_, (*requests_)[request], policy_);
  if (orders_stale_) order_classes();
  const KindId kind = kind_of_request_[index(request)];
  const std::uint32_t gpu = method_ == Method::blocks        ? find_by_blocks(kind)
                            : method_ == Method::vector_scan ? find_by_vector_scan(kind)
                                                             : find_by_scalar_scan(kind);
  if (gpu == no_gpu) return std::nullopt;
  const std::size_t cell = fleet_->number(static_cast<GpuId>(gpu)) * kinds_.size() + kind;
  const Choice choice = choice_[cell];
  const bool reuse = (choice & reuses) != 0;
  return Decision{static_cast<GpuId>(gpu), static_cast<PlacementId>(choice & ~reuses), reuse,
                  reuse ? PlacementSet() : destroys_[cell]};
}

}  // namespace cleave
