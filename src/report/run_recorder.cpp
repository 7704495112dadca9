#include "report/run_recorder.hpp"

#include <algorithm>
#include <cmath>

#include "base/json.hpp"

namespace cleave::report {

namespace {

/// Of times in a document: whole milliseconds, since finer ones cannot be drawn.
std::int64_t milliseconds(Duration time) {
  return std::chrono::floor<std::chrono::milliseconds>(time).count();
}

/// Four digits are more than a line shows.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

Json rounded_list(const std::vector<double>& values, double factor) {
  Json list = Json::array();
  for (const double value : values) list.push_back(rounded(value * factor));
  return list;
}

bool is_wall(const InstanceEntry& entry) {
  return !entry.owned || (!entry.workload && !entry.movable);
}

}  // namespace

RunRecorder::RunRecorder(const FleetFile& fleet, const Workload& workload, const Bounds& bounds)
    : fleet_(&fleet),
      workload_(&workload),
      bounds_(bounds),
      spans_(fleet, *this),
      gpus_(fleet.gpus.size()),
      waiting_(bounds.parts),
      running_(bounds.parts),
      compute_(bounds.parts),
      memory_(bounds.parts),
      fragmentation_(bounds.parts),
      power_(bounds.parts),
      speed_(bounds.parts),
      rows_(std::min(bounds.rows, fleet.gpus.size()), StepMeans(bounds.parts)) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    for (const InstanceEntry& entry : fleet.gpus[i].instances)
      if (is_wall(entry)) gpus_[i].occupied.insert(entry.placement);
    gpus_[i].fragmentation.value = fragmentation_of(static_cast<GpuId>(i));
  }
}

const Geometry& RunRecorder::geometry(GpuId gpu) const {
  return fleet_->geometries[fleet_->gpus[index(gpu)].geometry];
}

Duration RunRecorder::since_begin(Instant at) const {
  return at - *spans_.began();
}

/// The value until now is added up; from `at` on there is another.
void RunRecorder::change(StepMeans& means, Constant& constant, double value, Instant at) {
  const Instant since = std::max(constant.since, *spans_.began());
  means.add(since_begin(since), since_begin(std::max(at, since)), constant.value);
  constant = {at, value};
}

double RunRecorder::fragmentation_of(GpuId gpu) {
  const PlacementSet occupied = gpus_[index(gpu)].occupied;
  const std::size_t model = fleet_->gpus[index(gpu)].geometry;
  const auto [known, is_new] = costs_.try_emplace({model, occupied.bits()}, 0);
  if (is_new)
    known->second = static_cast<double>(fragmentation_cost(geometry(gpu), occupied).units) /
                    FragmentationCost::denominator;
  return known->second;
}

void RunRecorder::on_rate(Instant, const RateChange& rate) {
  if (!spans_.began()) return;
  Rate& now = rates_[{rate.job, rate.rank.value_or(0)}];
  has_power_ = has_power_ || rate.power.value != 0;
  change(power_, now.power, in_watts(rate.power), rate.from);
  change(speed_, now.speed, rate.speed, rate.from);
}

void RunRecorder::span(const RunSpan& span) {
  too_many_ = too_many_ || drawn_.size() == bounds_.spans;
  if (!too_many_) drawn_.push_back(span);
}

void RunRecorder::mark(const RunEvent& event) {
  if (marks_.size() < bounds_.marks) marks_.push_back({event.kind, event.at, event.job, event.gpu});
}

void RunRecorder::moved(RunSeat from, Instant left, RunSeat to, Instant arrives) {
  if (moves_.size() < bounds_.marks) moves_.push_back({from, to, left, arrives});
}

void RunRecorder::held(GpuId gpu, int slices, Instant since, Instant until) {
  const Duration from = since_begin(since), to = since_begin(until);
  compute_.add(from, to, slices);
  rows_[index(gpu) * rows_.size() / gpus_.size()].add(from, to, slices);
}

void RunRecorder::waiting(int jobs, Instant since, Instant until) {
  waiting_.add(since_begin(since), since_begin(until), jobs);
}

void RunRecorder::running(int jobs, Instant since, Instant until) {
  running_.add(since_begin(since), since_begin(until), jobs);
}

void RunRecorder::occupied(RunSeat seat, bool now, Instant at) {
  Gpu& gpu = gpus_[index(seat.gpu)];
  const Geometry& of = geometry(seat.gpu);
  const int slices = static_cast<int>(
      (seat.placement ? of[*seat.placement].profile->memory : of.model().memory_slices).value);
  change(memory_, gpu.memory, gpu.memory.value + (now ? slices : -slices), at);
  if (!seat.placement) return;  // nothing is left that could be cut badly
  now ? gpu.occupied.insert(*seat.placement) : gpu.occupied.erase(*seat.placement);
  change(fragmentation_, gpu.fragmentation, fragmentation_of(seat.gpu), at);
}

Json RunRecorder::finish() {
  spans_.finish();
  if (!spans_.began()) return {{"length_ms", 0}};
  const Instant last = spans_.last();
  for (Gpu& gpu : gpus_) {
    change(memory_, gpu.memory, 0, last);
    change(fragmentation_, gpu.fragmentation, 0, last);
  }
  for (auto& [process, rate] : rates_) {
    change(power_, rate.power, 0, last);
    change(speed_, rate.speed, 0, last);
  }
  const Duration end = since_begin(last);
  Json timeline = too_many_ ? rows_json(end) : spans_json();
  timeline["gpus"] = fleet_json();
  timeline["marks"] = marks_json();
  timeline["moves"] = moves_json();
  return {{"length_ms", milliseconds(end)},
          {"series", series_json(end)},
          {"timeline", std::move(timeline)}};
}

Json RunRecorder::series_json(Duration end) const {
  Duration width{};
  for (const StepMeans* each :
       {&waiting_, &running_, &compute_, &memory_, &fragmentation_, &power_, &speed_})
    width = std::max(width, each->width());
  double compute = 0, memory = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const GpuModel& model = geometry(static_cast<GpuId>(i)).model();
    compute += model.compute.value;
    memory += model.memory_slices.value;
  }
  const auto gpus = static_cast<double>(gpus_.size());
  Json series = {{"step_ms", milliseconds(width)},
                 {"waiting", rounded_list(waiting_.means(width, end), 1)},
                 {"running", rounded_list(running_.means(width, end), 1)},
                 {"compute", rounded_list(compute_.means(width, end), 1 / compute)},
                 {"memory", rounded_list(memory_.means(width, end), 1 / memory)},
                 {"fragmentation", rounded_list(fragmentation_.means(width, end), 1 / gpus)},
                 {"speed", rounded_list(speed_.means(width, end), 1 / gpus)}};
  if (has_power_) series["power_w"] = rounded_list(power_.means(width, end), 1);
  return series;
}

/// In columns; jobs and profiles by number. A number of jobs below zero is that of several.
Json RunRecorder::spans_json() const {
  std::map<JobId, std::size_t> numbers;
  Json gpus = Json::array(), starts = Json::array(), sizes = Json::array(),
       computes = Json::array(), doing = Json::array(), jobs = Json::array(),
       begins = Json::array(), lengths = Json::array(), profiles = Json::array();
  std::map<std::string_view, std::size_t> known_profiles;
  Json names = Json::array(), profile_names = Json::array();
  std::int64_t before = 0;
  for (const RunSpan& span : drawn_) {
    const Geometry& of = geometry(span.seat.gpu);
    const Placement* at = span.seat.placement ? &of[*span.seat.placement] : nullptr;
    const std::string_view profile = at != nullptr ? at->profile->name : "whole GPU";
    const auto [known, is_new] = known_profiles.try_emplace(profile, known_profiles.size());
    if (is_new) profile_names.push_back(profile);
    Json job = nullptr;
    if (span.jobs.size() == 1) {
      const auto [number, first] = numbers.try_emplace(span.jobs.front(), numbers.size());
      if (first) names.push_back(workload_->jobs[index(span.jobs.front())].id);
      job = number->second;
    } else if (!span.jobs.empty()) {
      job = -static_cast<std::int64_t>(span.jobs.size());
    }
    const std::int64_t begin = milliseconds(since_begin(span.begin));
    gpus.push_back(index(span.seat.gpu));
    starts.push_back(at != nullptr ? at->start : 0);
    sizes.push_back((at != nullptr ? at->profile->memory : of.model().memory_slices).value);
    computes.push_back((at != nullptr ? at->profile->compute : of.model().compute).value);
    profiles.push_back(known->second);
    doing.push_back(static_cast<int>(span.doing));
    jobs.push_back(job);
    begins.push_back(begin - before);
    lengths.push_back(milliseconds(since_begin(span.end)) - begin);
    before = begin;
  }
  Json doings = Json::array();
  for (int i = 0; i <= static_cast<int>(Doing::lost); ++i)
    doings.push_back(name(static_cast<Doing>(i)));
  return {{"spans",
           {{"gpu", gpus},
            {"start", starts},
            {"slices", sizes},
            {"compute", computes},
            {"profile", profiles},
            {"doing", doing},
            {"job", jobs},
            {"after_ms", begins},
            {"length_ms", lengths}}},
          {"profiles", profile_names},
          {"doings", doings},
          {"jobs", names}};
}

/// What groups of GPUs hold of their compute slices, over time.
Json RunRecorder::rows_json(Duration end) const {
  Duration width{};
  for (const StepMeans& row : rows_) width = std::max(width, row.width());
  std::vector<double> slices(rows_.size());
  std::vector<std::size_t> first(rows_.size(), gpus_.size()), last(rows_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const std::size_t row = i * rows_.size() / gpus_.size();
    slices[row] += geometry(static_cast<GpuId>(i)).model().compute.value;
    first[row] = std::min(first[row], i);
    last[row] = i;
  }
  Json rows = Json::array();
  for (std::size_t row = 0; row < rows_.size(); ++row)
    rows.push_back({{"first", first[row]},
                    {"last", last[row]},
                    {"held", rounded_list(rows_[row].means(width, end), 1 / slices[row])}});
  return {{"rows", rows}, {"step_ms", milliseconds(width)}};
}

Json RunRecorder::marks_json() const {
  Json marks = Json::array();
  for (const Mark& each : marks_) {
    Json mark = {{"what", name(each.kind)}, {"at_ms", milliseconds(since_begin(each.at))}};
    if (each.job) mark["job"] = workload_->jobs[index(*each.job)].id;
    if (each.gpu) mark["gpu"] = index(*each.gpu);
    marks.push_back(mark);
  }
  return marks;
}

Json RunRecorder::moves_json() const {
  const auto place = [&](RunSeat seat) {
    const Geometry& of = geometry(seat.gpu);
    const Placement* at = seat.placement ? &of[*seat.placement] : nullptr;
    return Json{index(seat.gpu), at != nullptr ? at->start : 0,
                (at != nullptr ? at->profile->memory : of.model().memory_slices).value};
  };
  Json moves = Json::array();
  for (const Move& each : moves_)
    moves.push_back({{"from", place(each.from)},
                     {"left_ms", milliseconds(since_begin(each.left))},
                     {"to", place(each.to)},
                     {"arrives_ms", milliseconds(since_begin(each.arrives))}});
  return moves;
}

/// Names are left out where the timeline has no row for each GPU.
Json RunRecorder::fleet_json() const {
  Json models = Json::array(), gpus = Json::array();
  for (const Geometry& each : fleet_->geometries)
    models.push_back({{"name", each.model().key},
                      {"compute", each.model().compute.value},
                      {"slices", each.model().memory_slices.value}});
  for (const GpuEntry& each : fleet_->gpus)
    gpus.push_back(too_many_ ? Json(each.geometry)
                             : Json({{"name", each.name}, {"model", each.geometry}}));
  return {{"models", models}, {"all", gpus}};
}

}  // namespace cleave::report
