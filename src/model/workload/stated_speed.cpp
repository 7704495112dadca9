#include "model/workload/stated_speed.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/gpu_use.hpp"
#include "model/speed_table.hpp"
#include "model/workload/known_profiles.hpp"

namespace cleave {

namespace {

/// A relative speed above this is a mistake, such as a time or a percentage.
constexpr double fastest = 1000;
constexpr double most_power_factor = 10;
/// Of the two parts of a job's law; together they stay below the longest time.
constexpr double longest_part_s = 1e9;
constexpr double most_overlap = 100;

SliceLaw read_law(JsonReader& in) {
  const auto part = [&](std::string_view key) {
    const auto given = in.number_if(key);
    if (!given) in.refuse("", fmt::format("the key '{}' is missing", key), "either may be 0");
    if (given && !(*given >= 0 && *given <= longest_part_s))
      in.refuse(key, fmt::format("a part of {} s is not possible", *given),
                "give the seconds of the two parts on the whole GPU");
    return given.value_or(0);
  };
  const SliceLaw law{part("a_s"), part("w_s"), in.number_if("p").value_or(job_overlap)};
  if (!(law.overlap >= 1 && law.overlap <= most_overlap))
    in.refuse("p", fmt::format("an exponent of {} is not possible", law.overlap),
              fmt::format("1 adds the parts up; without p it is {}", job_overlap));
  if (law.fixed == 0 && law.bound == 0)
    in.refuse("", "a_s and w_s are both 0", "at least one part takes time");
  in.done();
  return law;
}

void read_table(JsonReader& in, JsonReader& table, SpeedModel& speed) {
  speed.table.emplace();
  speed.complete = table.flag("complete", false);
  for (const auto& [profile, relative] : table.numbers()) {
    if (!(relative > 0 && relative <= fastest))
      table.refuse(profile, fmt::format("a speed of {} is not possible", relative),
                   "speeds are relative to the largest profile, which has 1");
    const auto known = known_column(profile);
    if (!known)
      table.refuse(profile, "no known GPU has this profile",
                   "`cleave gpu MODEL` lists a model's profiles; none is MIG off");
    if (known && !speed.table->emplace(*known, relative).second)
      table.refuse(profile, "this profile occurs twice in the table", "keep one of the two");
  }
  if (speed.table->empty()) in.refuse("speed", "the table of speeds is empty");
  if (speed.complete && profiles_of(*speed.table, true) == profiles_of(*speed.table, false))
    table.refuse("complete", "nothing can be completed from these profiles",
                 "list two profiles of a GPU model that differ in compute slices");
}

/// What it takes from what the instances of a GPU share.
void read_demands(JsonReader& in, SpeedModel& speed) {
  if (const auto share = in.number_if("transfer_share")) {
    speed.transfer_share = *share;
    if (!(*share >= 0 && *share <= 1))
      in.refuse("transfer_share", "this is a share of the job's time on the whole GPU",
                "give a number from 0 to 1");
    if (speed.phases)
      in.refuse("transfer_share", "phases say how long the job transfers", "leave it out");
    for (const auto& [profile, relative] : speed.table.value_or(SpeedTable{}))
      if (relative * *share > 1)
        in.refuse("transfer_share",
                  fmt::format("on {} the job is faster than its transfers alone", shown(profile)),
                  "lower the share or correct the speed");
  }
  if (const auto factor = in.number_if("power_factor")) {
    speed.kappa = *factor;
    if (!(*factor >= 0 && *factor <= most_power_factor))
      in.refuse("power_factor",
                "this is what the job draws relative to work that keeps a GPU at its cap",
                fmt::format("give a number from 0 to {}", most_power_factor));
  }
}

void read_use(JsonReader& in, SpeedModel& speed) {
  const auto busy = in.number_if("gpu_util");
  if (!busy) return;
  if (!(*busy >= 0 && *busy <= 100))
    in.refuse("gpu_util", fmt::format("{} is not a percentage", *busy),
              "give the percent of the job's time in which its GPU was busy, 0 to 100");
  if (speed.table || speed.phases || speed.law || speed.flat)
    in.refuse("gpu_util", "the job's speeds are given beside it", "leave one of them out");
  speed.law = law_of_use(*busy);
}

}  // namespace

SpeedModel read_speed(JsonReader& in) {
  SpeedModel speed;
  if (auto table = in.object_if("speed")) read_table(in, *table, speed);
  if (auto law = in.object_if("law")) speed.law = read_law(*law);
  if (auto phases = in.object_if("phases")) {
    // At most a quarter of the longest time each, so that the sum stays below it.
    const auto time = [&](std::string_view key) {
      const Duration each = phases->seconds_if(key).value_or(Duration::zero());
      if (each > longest_duration / 4)
        phases->refuse(key, "a phase must be at most 25 years",
                       "give seconds, not milliseconds or a date");
      return std::min(each, longest_duration / 4);
    };
    speed.phases =
        Phases{time("cpu_s"), time("transfer_s"), time("compute_s"), time("bandwidth_s")};
    phases->done();
    if (speed.phases->cpu + speed.phases->transfer + speed.phases->compute +
            speed.phases->bandwidth ==
        Duration::zero())
      phases->refuse("", "the phases take no time", "give at least one of them");
  }
  if (speed.table && speed.phases) in.refuse("", "a job has a table of speeds or phases, not both");
  if (speed.law && (speed.table || speed.phases))
    in.refuse("law", "a job has a law or a table of speeds or phases, not both");
  speed.flat = in.flag("flat", false);
  if (speed.flat && (speed.table || speed.phases || speed.law))
    in.refuse("flat", "a job is as fast everywhere, or has speeds, phases or a law, not both");
  read_use(in, speed);
  read_demands(in, speed);
  if (const auto reference = in.text_if("reference_model")) {
    const auto model = find_gpu_model(*reference);
    if (!model) in.refuse("reference_model", model.error().message, model.error().remedy);
    if (model) speed.reference = *model;
  }
  return speed;
}

}  // namespace cleave
