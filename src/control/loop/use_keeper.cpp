#include "control/loop/use_keeper.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "control/verdicts/use_verdicts.hpp"

namespace cleave {

namespace {

/// A counter that cannot be read for longer than this is taken for one that does not count.
constexpr Duration longest_silence = std::chrono::minutes(1);

}  // namespace

void UseKeeper::recall(const StoredSettings& stored, bool rebooted) {
  for (ManagedGpu& gpu : node_.gpus)
    if (const auto known = stored.meters.find(gpu.identity->uuid);
        known != stored.meters.end() && !rebooted)
      gpu.meter.last = known->second;
}

void UseKeeper::read(GpuId id) {
  ManagedGpu& gpu = node_.gpu(id);
  GpuMeter& meter = gpu.meter;
  if (!gpu.observation || gpu.observation->lost) return;
  const MeterReading now{gpu.observation->energy_mj, clock_.wall(), clock_.steady()};
  const bool first = !meter.last, recalled = !first && !meter.last->steady;
  // One that failed is left out: the next tells as much.
  if (!first && !recalled && meter.last->millijoules && !now.millijoules &&
      *now.steady - *meter.last->steady < longest_silence)
    return;
  bool noted_now = first || recalled;
  if (!first) {
    const GpuModel& model = gpu.geometry().model();
    const MeterStep step = step_of(*meter.last, now, model);
    tell_doubt(id, step.doubt);
    const Duration time = recalled ? now.at - meter.last->at : *now.steady - *meter.last->steady;
    // Where the clock was set back while no daemon ran, nobody knows how long that was.
    if (time > Duration::zero() && time <= longest_split) {
      std::vector<Tenancy> tenancies = tenancies_of(node_, id, recalled);
      std::vector<ForeignUse> foreign = foreign_on(gpu, tenancies);
      MeteredTime metered{gpu.identity->uuid, &model,     now.at - time,        now.at,
                          step.energy,        meter.idle, std::move(tenancies), std::move(foreign)};
      if (const auto idle = idle_power(metered); idle && !recalled)
        meter.idle = metered.idle = std::min(*idle, meter.idle.value_or(*idle));
      const GpuUse use = divide_use(metered);
      for (const auto& [key, row] : use.rows)
        node_.tally.energy[key.gpu][static_cast<std::size_t>(key.kind)] += row.sums.millijoules;
      meter.unnoted.add(use);
      noted_now = noted_now || !meter.ended.empty();
    } else if (time <= Duration::zero() && !recalled) {
      return;  // the same moment: what was used since counts with the next
    }
  }
  meter.ended.clear();
  meter.last = now;
  if (noted_now || clock_.steady() >= meter.note_at) note(id);
}

void UseKeeper::tell_doubt(GpuId id, const std::string& doubt) {
  ManagedGpu& gpu = node_.gpu(id);
  const bool news = !doubt.empty() && gpu.meter.doubt.empty();
  gpu.meter.doubt = doubt;
  if (news)
    book_.event(
        "energy-unknown",
        fmt::format("{}: {}; what was used meanwhile is not known", node_.in_words(id), doubt),
        nullptr, gpu.identity->uuid);
}

void UseKeeper::note_job(JobNumber number, const JobEnergy& energy) {
  LiveJob* job = node_.find(number);
  if (job == nullptr) return book_.add_energy(number, energy);
  job->record.energy.add(energy);
  book_.note(*job);
}

void UseKeeper::note(GpuId id) {
  ManagedGpu& gpu = node_.gpu(id);
  const GpuUse use = std::exchange(gpu.meter.unnoted, {});
  for (const auto& [key, row] : use.rows) book_.add_usage(row);
  for (const auto& [job, energy] : use.jobs) note_job(job, energy);
  for (const auto& [device, energy] : use.devices)
    if (const auto known = node_.instances.find(device); known != node_.instances.end()) {
      known->second.energy_mj = known->second.energy_mj.value_or(0) + energy;
      book_.note(known->second);
    }
  book_.note_setting(meter_key(gpu.identity->uuid), meter_text(*gpu.meter.last));
  gpu.meter.note_at = clock_.steady() + use_noted_every;
}

}  // namespace cleave
