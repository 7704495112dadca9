// The promises of door.hpp and the facts about NVML, as checks of any door. The read-only ones run
// on a real GPU too; nothing here ever changes MIG mode or layout there.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/format.hpp"
#include "base/random.hpp"
#include "device/driver_geometry.hpp"
#include "device/live_instances.hpp"
#include "device/recording.hpp"
#include "stands.hpp"

namespace cleave::contract {
namespace {

using nvml::Return;
using std::chrono::milliseconds;

class OnEveryStand : public testing::TestWithParam<StandCase> {
 protected:
  static void check(const Check& check) {
    if (const auto why_not = run_on(GetParam(), check)) GTEST_SKIP() << *why_not;
  }
};
/// Read-only checks, and checks that create and destroy, which never run on a real GPU.
class ReadingContract : public OnEveryStand {};
class ChangingContract : public OnEveryStand {};

std::vector<StandCase> simulated_stands() {
  auto stands = all_stands();
  std::erase_if(stands, [](const StandCase& each) { return each.kind == DoorKind::real; });
  return stands;
}

INSTANTIATE_TEST_SUITE_P(Doors, ReadingContract, testing::ValuesIn(all_stands()),
                         [](const auto& each) { return name_of(each.param); });
INSTANTIATE_TEST_SUITE_P(Doors, ChangingContract, testing::ValuesIn(simulated_stands()),
                         [](const auto& each) { return name_of(each.param); });

/// The code of a refusal; success if there was none.
template <class T>
Return code_of(const DriverAnswer<T>& answer) {
  return answer ? Return::success : answer.error().code;
}

std::vector<DriverProfile> profiles_of(Stand& stand) {
  const auto profiles = stand.door.profiles(stand.gpu);
  EXPECT_TRUE(profiles) << text(profiles.error().code);
  return profiles.value_or(std::vector<DriverProfile>{});
}

/// The table's profile of the same number in NVML's header.
const Profile& in_table(const GpuModel& model, const DriverProfile& profile) {
  return *std::ranges::find(model.profiles, static_cast<int>(profile.number),
                            &Profile::nvml_profile);
}

std::vector<LiveGpuInstance> instances_of(Stand& stand) {
  const auto instances = stand.door.gpu_instances(stand.gpu);
  EXPECT_TRUE(instances) << text(instances.error().code);
  return instances.value_or(std::vector<LiveGpuInstance>{});
}

Patience no_patience() {
  Patience patience;
  patience.at_most = milliseconds{0};
  patience.holders = [](std::optional<std::uint32_t>) { return std::vector<DeviceHolder>{}; };
  return patience;
}

void clear(Stand& stand) {
  const auto live = live_instances(stand.door, stand.gpu);
  ASSERT_TRUE(live) << live.error().text();
  for (const LiveInstance& each : *live)
    ASSERT_TRUE(destroy_instance(stand.door, stand.gpu, each.id, no_patience()));
  ASSERT_TRUE(instances_of(stand).empty());
}

TEST_P(ReadingContract, DescribesDriverAndGpu) {
  check([](Stand& stand) {
    EXPECT_FALSE(stand.door.driver().driver_version.empty());
    const auto count = stand.door.gpu_count();
    ASSERT_TRUE(count);
    ASSERT_GE(*count, 1U);
    const auto facts = stand.door.gpu(stand.gpu);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->index, stand.gpu);
    EXPECT_TRUE(facts->uuid.starts_with("GPU-")) << facts->uuid;
    EXPECT_FALSE(facts->name.empty());
    if (stand.model != nullptr) {
      EXPECT_EQ(facts->name, stand.model->driver_names.front());
    }
    EXPECT_EQ(code_of(stand.door.gpu(GpuIndex{*count})), Return::invalid_argument);
  });
}

TEST_P(ReadingContract, ProfilesHaveANumberAndAnotherId) {
  check([](Stand& stand) {
    const auto profiles = profiles_of(stand);
    std::set<ProfileId> ids;
    std::set<ProfileNumber> numbers;
    for (const DriverProfile& each : profiles) {
      EXPECT_TRUE(ids.insert(each.id).second);
      EXPECT_TRUE(numbers.insert(each.number).second);
      EXPECT_GE(each.most, 1U);
      EXPECT_GE(each.slices, 1U);
    }
    EXPECT_TRUE(std::ranges::is_sorted(profiles, {}, &DriverProfile::number));
    if (stand.model == nullptr) return;
    EXPECT_EQ(profiles.size(), stand.model->profiles.size());
    bool differ = false;
    for (const DriverProfile& each : profiles) {
      const Profile& known = in_table(*stand.model, each);
      differ =
          differ || static_cast<std::uint32_t>(each.id) != static_cast<std::uint32_t>(each.number);
      EXPECT_EQ(known.id.value_or(static_cast<int>(each.id)), static_cast<int>(each.id));
      EXPECT_EQ(each.name.value_or(""), known.name);
      EXPECT_EQ(static_cast<int>(each.most), known.max_instances);
      EXPECT_EQ(static_cast<int>(each.slices), known.compute.value);
    }
    EXPECT_TRUE(differ);
  });
}

TEST_P(ReadingContract, PlacementsAreOfOneSizeAndWithinTheGpu) {
  check([](Stand& stand) {
    for (const DriverProfile& each : profiles_of(stand)) {
      const auto spans = stand.door.placements(stand.gpu, each.id);
      // Not every user may ask.
      if (!stand.may_change && code_of(spans) != Return::success) continue;
      ASSERT_TRUE(spans) << text(spans.error().code);
      EXPECT_GE(spans->size(), each.most);
      std::set<std::uint32_t> starts;
      for (const Span& span : *spans) {
        EXPECT_EQ(span.size, spans->front().size);
        EXPECT_TRUE(starts.insert(span.start).second);
      }
      if (stand.model == nullptr) continue;
      const Profile& known = in_table(*stand.model, each);
      const std::vector<int> expected = known.starts.ascending();
      EXPECT_TRUE(std::ranges::equal(starts, expected, {},
                                     [](std::uint32_t s) { return static_cast<int>(s); }));
      EXPECT_EQ(static_cast<int>(spans->front().size), known.memory.value);
    }
    EXPECT_NE(code_of(stand.door.placements(stand.gpu, ProfileId{12345})), Return::success);
  });
}

TEST_P(ReadingContract, GeometryComesFromTheDriver) {
  check([](Stand& stand) {
    const auto read = driver_geometry(stand.door, stand.gpu);
    if (stand.model == nullptr) {
      if (read)
        std::cout << fmt::format("{}: {} placements\n", read->model().key, read->geometry().size());
      return;
    }
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_FALSE(read->from_table());
    EXPECT_EQ(read->table(), stand.model);
    const Geometry table(*stand.model, ProfileChoice().on(*stand.model));
    ASSERT_EQ(read->geometry().size(), table.size());
    EXPECT_EQ(read->model().compute, stand.model->compute);
    EXPECT_EQ(read->model().memory_slices, stand.model->memory_slices);
    for (const PlacementId id : table.all()) {
      const Placement& mine = read->geometry()[id];
      const Profile& known = *table[id].profile;
      EXPECT_EQ(mine.profile->name, known.name);
      EXPECT_EQ(mine.start, table[id].start);
      EXPECT_EQ(mine.conflicts, table[id].conflicts);
      EXPECT_EQ(mine.profile->attribute, known.attribute);
      EXPECT_EQ(mine.profile->double_memory, known.double_memory);
      EXPECT_EQ(mine.profile->starts.preferred(), known.starts.preferred());
      EXPECT_EQ(mine.profile->preference_inferred, known.preference_inferred);
      EXPECT_EQ(known.sms.value_or(mine.profile->sms.value_or(Sms{})),
                mine.profile->sms.value_or(Sms{}));
      EXPECT_EQ(known.usable.value_or(mine.profile->usable.value_or(MiB{})),
                mine.profile->usable.value_or(MiB{}));
    }
  });
}

TEST_P(ChangingContract, EveryPlacementCanBeMadeAndIsSeenWithoutComputeInstance) {
  check([](Stand& stand) {
    for (const DriverProfile& profile : profiles_of(stand)) {
      const auto spans = stand.door.placements(stand.gpu, profile.id);
      ASSERT_TRUE(spans);
      const auto before = stand.door.remaining(stand.gpu, profile.id);
      EXPECT_EQ(before.value_or(0), profile.most);
      for (const Span& span : *spans) {
        const auto made = stand.door.create_gpu_instance(stand.gpu, profile.id, span);
        ASSERT_TRUE(made) << *profile.name << "@" << span.start << " " << text(made.error().code);
        EXPECT_EQ(made->placement, span);
        EXPECT_EQ(made->profile, profile.id);
        const auto seen = instances_of(stand);
        ASSERT_EQ(seen.size(), 1U);
        EXPECT_EQ(seen.front(), *made);
        EXPECT_LT(stand.door.remaining(stand.gpu, profile.id).value_or(99), profile.most);
        const auto computes = stand.door.compute_instances(stand.gpu, made->id);
        ASSERT_TRUE(computes);
        EXPECT_TRUE(computes->empty());
        EXPECT_EQ(live_instances(stand.door, stand.gpu)->front().profile,
                  profile.name.value_or(""));
        ASSERT_TRUE(stand.door.destroy_gpu_instance(stand.gpu, made->id));
        EXPECT_TRUE(instances_of(stand).empty());
      }
    }
  });
}

TEST_P(ChangingContract, TheDriverPlacesInItsOrderUntilThereIsNoRoom) {
  check([](Stand& stand) {
    for (const DriverProfile& profile : profiles_of(stand)) {
      const Profile& known = in_table(*stand.model, profile);
      std::vector<int> starts;
      for (std::uint32_t i = 0; i < profile.most; ++i) {
        const auto made = stand.door.create_gpu_instance(stand.gpu, profile.id, std::nullopt);
        ASSERT_TRUE(made) << known.name << " " << i;
        starts.push_back(static_cast<int>(made->placement.start));
      }
      auto expected = known.starts.preferred();
      expected.resize(starts.size());
      EXPECT_EQ(starts, expected) << known.name;
      const auto refused = stand.door.create_gpu_instance(stand.gpu, profile.id, std::nullopt);
      EXPECT_EQ(code_of(refused), Return::insufficient_resources);
      EXPECT_EQ(stand.door.remaining(stand.gpu, profile.id), 0U);
      clear(stand);
    }
  });
}

TEST_P(ChangingContract, RefusalsHaveTheirCodes) {
  check([](Stand& stand) {
    Door& door = stand.door;
    const auto profiles = profiles_of(stand);
    const DriverProfile& profile =
        *std::ranges::min_element(profiles, {}, [](const auto& each) { return each.memory.value; });
    const auto spans = door.placements(stand.gpu, profile.id);
    ASSERT_TRUE(spans);
    const Span span = spans->front();
    const auto create = [&](std::optional<Span> at) {
      return code_of(door.create_gpu_instance(stand.gpu, profile.id, at));
    };
    EXPECT_EQ(create(Span{span.start, span.size + 1}), Return::invalid_argument);
    EXPECT_EQ(create(Span{99, span.size}), Return::invalid_argument);
    EXPECT_NE(code_of(door.create_gpu_instance(stand.gpu, ProfileId{12345}, {})), Return::success);
    const auto made = create_instance(door, stand.gpu, profile, span, no_patience());
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(create(span), Return::insufficient_resources);
    EXPECT_EQ(code_of(door.destroy_gpu_instance(stand.gpu, made->id)), Return::in_use);
    const ComputeInstanceId compute = made->computes.front().id;
    const auto second = door.create_compute_instance(stand.gpu, made->id,
                                                     made->computes.front().profile, std::nullopt);
    EXPECT_EQ(code_of(second), Return::insufficient_resources);
    ASSERT_TRUE(door.destroy_compute_instance(stand.gpu, made->id, compute));
    EXPECT_EQ(code_of(door.destroy_compute_instance(stand.gpu, made->id, compute)),
              Return::not_found);
    EXPECT_EQ(code_of(door.memory(stand.gpu, made->id, compute)), Return::not_found);
    ASSERT_TRUE(door.destroy_gpu_instance(stand.gpu, made->id));
    EXPECT_EQ(code_of(door.destroy_gpu_instance(stand.gpu, made->id)), Return::not_found);
    EXPECT_EQ(code_of(door.compute_instances(stand.gpu, made->id)), Return::not_found);
    EXPECT_EQ(code_of(door.compute_profiles(stand.gpu, made->id)), Return::not_found);
    EXPECT_FALSE(destroy_instance(door, stand.gpu, made->id, no_patience()));
  });
}

TEST_P(ChangingContract, IdsAreUsedAgainAndUuidsAreNot) {
  check([](Stand& stand) {
    std::set<GpuInstanceId> ids;
    std::set<std::string> uuids;
    const auto profiles = profiles_of(stand);
    constexpr std::size_t rounds = 40;
    for (std::size_t i = 0; i < rounds; ++i) {
      const auto made =
          create_instance(stand.door, stand.gpu, profiles[i % profiles.size()], {}, no_patience());
      ASSERT_TRUE(made) << made.error().text();
      ids.insert(made->id);
      EXPECT_TRUE(made->computes.front().uuid.starts_with("MIG-"));
      EXPECT_TRUE(uuids.insert(made->computes.front().uuid).second);
      ASSERT_TRUE(destroy_instance(stand.door, stand.gpu, made->id, no_patience()));
    }
    EXPECT_LT(ids.size(), rounds);
  });
}

TEST_P(ChangingContract, AnInstanceHasAllItsSlicesAndItsMemory) {
  check([](Stand& stand) {
    for (const DriverProfile& profile : profiles_of(stand)) {
      const auto made = create_instance(stand.door, stand.gpu, profile, {}, no_patience());
      ASSERT_TRUE(made) << made.error().text();
      ASSERT_EQ(made->computes.size(), 1U);
      EXPECT_EQ(made->computes.front().placement, (Span{0, profile.slices})) << *profile.name;
      const auto inside = stand.door.compute_profiles(stand.gpu, made->id);
      ASSERT_TRUE(inside);
      // Among two compute profiles of one size the plain one is taken, which has the lower number.
      const auto first = std::ranges::find(*inside, profile.slices, &DriverComputeProfile::slices);
      ASSERT_NE(first, inside->end());
      EXPECT_EQ(made->computes.front().profile, first->id) << *profile.name;
      const auto memory = stand.door.memory(stand.gpu, made->id, made->computes.front().id);
      ASSERT_TRUE(memory);
      EXPECT_LE(memory->used_bytes, memory->total_bytes);
      if (profile.memory.value > 0) {
        EXPECT_EQ(memory->total_bytes >> 20, static_cast<std::uint64_t>(profile.memory.value));
      }
      const auto live = live_instances(stand.door, stand.gpu);
      ASSERT_TRUE(live);
      EXPECT_EQ(live->front().computes, made->computes);
      ASSERT_TRUE(destroy_instance(stand.door, stand.gpu, made->id, no_patience()));
    }
  });
}

TEST_P(ChangingContract, ComputeInstancesShareAGpuInstanceAndHoldIt) {
  check([](Stand& stand) {
    Door& door = stand.door;
    const auto profiles = profiles_of(stand);
    const DriverProfile& largest = *std::ranges::max_element(profiles, {}, &DriverProfile::slices);
    const auto made = door.create_gpu_instance(stand.gpu, largest.id, {});
    ASSERT_TRUE(made);
    const auto inside = door.compute_profiles(stand.gpu, made->id);
    ASSERT_TRUE(inside);
    const DriverComputeProfile* single = whole_instance_profile(*inside, 1);
    if (single != nullptr) {
      std::set<std::string> uuids;
      std::set<std::uint32_t> starts;
      std::vector<ComputeInstanceId> ids;
      for (std::uint32_t i = 0; i < single->most; ++i) {
        const auto compute = door.create_compute_instance(stand.gpu, made->id, single->id, {});
        ASSERT_TRUE(compute) << i;
        ids.push_back(compute->id);
        EXPECT_EQ(compute->placement.size, 1U);
        EXPECT_TRUE(starts.insert(compute->placement.start).second);
        EXPECT_TRUE(uuids.insert(compute->uuid).second);
      }
      EXPECT_EQ(code_of(door.create_compute_instance(stand.gpu, made->id, single->id, {})),
                Return::insufficient_resources);
      EXPECT_EQ(door.compute_instances(stand.gpu, made->id)->size(), ids.size());
      for (const ComputeInstanceId id : ids) {
        EXPECT_EQ(code_of(door.destroy_gpu_instance(stand.gpu, made->id)), Return::in_use);
        ASSERT_TRUE(door.destroy_compute_instance(stand.gpu, made->id, id));
      }
    }
    EXPECT_TRUE(door.destroy_gpu_instance(stand.gpu, made->id));
  });
}

TEST_P(ChangingContract, AProcessIsSeenAndKeepsItsInstance) {
  check([](Stand& stand) {
    const auto profiles = profiles_of(stand);
    const auto made = create_instance(stand.door, stand.gpu, profiles.front(), {}, no_patience());
    ASSERT_TRUE(made);
    const LiveComputeInstance& compute = made->computes.front();
    constexpr std::uint64_t held = 100;
    std::optional<SimProcess> process;
    if (stand.node) {
      auto started =
          SimProcess::start(*stand.node, compute.uuid, static_cast<std::uint32_t>(getpid()));
      ASSERT_TRUE(started) << started.error().text();
      process.emplace(std::move(*started));
      ASSERT_TRUE(process->hold(MiB{held}).value_or(false));
    }
    const auto seen = stand.door.processes(stand.gpu);
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->size(), 1U) << "told by the GPU and by its instance, it is one";
    EXPECT_EQ(seen->front().pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(seen->front().gpu_instance, made->id);
    EXPECT_EQ(seen->front().compute_instance, compute.id);
    EXPECT_GE(seen->front().memory_bytes.value_or(0), held << 20);
    EXPECT_GE(stand.door.memory(stand.gpu, made->id, compute.id)->used_bytes, held << 20);
    EXPECT_EQ(code_of(stand.door.destroy_compute_instance(stand.gpu, made->id, compute.id)),
              Return::in_use);
    const auto refused = destroy_instance(stand.door, stand.gpu, made->id, no_patience());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find(fmt::format("process {}", getpid())), std::string::npos)
        << refused.error().text();
    if (process) {
      ASSERT_TRUE(process->end());
    }
    EXPECT_TRUE(stand.door.processes(stand.gpu)->empty());
    EXPECT_TRUE(destroy_instance(stand.door, stand.gpu, made->id, no_patience()));
  });
}

TEST_P(ReadingContract, PowerIsWithinItsLimitAndEnergyGrows) {
  check([](Stand& stand) {
    const auto power = stand.door.power_milliwatts(stand.gpu);
    const auto limit = stand.door.power_limit_milliwatts(stand.gpu);
    if (!stand.may_change && !(power && limit)) return;  // some boards do not report it
    ASSERT_TRUE(power && limit);
    EXPECT_GT(*power, 0U);
    EXPECT_LE(*power, *limit + *limit / 5);
    std::uint64_t before = 0;
    for (int i = 0; i < 5; ++i) {
      const auto energy = stand.door.energy_millijoules(stand.gpu);
      if (!stand.may_change && !energy) return;
      ASSERT_TRUE(energy);
      EXPECT_GE(*energy, before);
      before = *energy;
    }
    const auto memory = stand.door.memory(stand.gpu);
    if (memory) {
      EXPECT_LE(memory->used_bytes, memory->total_bytes);
    }
  });
}

TEST_P(ChangingContract, ALostGpuIsAnEventAndARefusal) {
  check([](Stand& stand) {
    Door& door = stand.door;
    const auto none = door.wait_event(milliseconds{0});
    ASSERT_TRUE(none) << text(none.error().code);
    EXPECT_FALSE(none->has_value());
    if (stand.node) {
      ASSERT_TRUE(set_sim_fault(*stand.node, 0, "lost"));
    }
    const auto event = door.wait_event(milliseconds{2000});
    ASSERT_TRUE(event) << text(event.error().code);
    ASSERT_TRUE(event->has_value());
    EXPECT_EQ((*event)->gpu, stand.gpu);
    EXPECT_NE((*event)->kind, GpuEvent::Kind::other);
    EXPECT_EQ(code_of(door.profiles(stand.gpu)), Return::gpu_is_lost);
    EXPECT_EQ(code_of(door.gpu_instances(stand.gpu)), Return::gpu_is_lost);
    EXPECT_EQ(code_of(door.processes(stand.gpu)), Return::gpu_is_lost);
    EXPECT_EQ(code_of(door.create_gpu_instance(stand.gpu, ProfileId{0}, {})), Return::gpu_is_lost);
    if (stand.node) {
      ASSERT_TRUE(set_sim_fault(*stand.node, 0, "none"));
    }
    EXPECT_EQ(code_of(door.gpu_instances(stand.gpu)), Return::success);
  });
}

/// The most instances of a profile that can be added to a state, by trying all sets of its
/// placements.
std::uint32_t most_addable(const Geometry& geometry, PlacementSet state, int profile) {
  const PlacementSet candidates = geometry.of_profile(profile);
  int most = 0;
  for (std::uint32_t bits = candidates.bits();; bits = (bits - 1) & candidates.bits()) {
    const PlacementSet chosen(bits);
    if (!chosen.meets(state) && geometry.legal(state | chosen))
      most = std::max(most, chosen.size());
    if (bits == 0) return static_cast<std::uint32_t>(most);
  }
}

/// Many random steps compared with the table's geometry: the driver accepts exactly what is legal
/// there.
TEST_P(ChangingContract, RandomStepsFollowTheGeometry) {
  check([](Stand& stand) {
    const Geometry geometry(*stand.model, ProfileChoice().on(*stand.model));
    const auto profiles = profiles_of(stand);
    const auto driver_profile = [&](const Profile& known) {
      return *std::ranges::find_if(profiles, [&](const DriverProfile& each) {
        return static_cast<int>(each.number) == known.nvml_profile;
      });
    };
    std::vector<std::pair<PlacementId, GpuInstanceId>> made;
    PlacementSet state;
    Random random(7);
    for (int step = 0; step < 200; ++step) {
      if (!made.empty() && random.below(3) == 0) {
        const auto at = made.begin() + static_cast<std::ptrdiff_t>(random.below(made.size()));
        ASSERT_TRUE(stand.door.destroy_gpu_instance(stand.gpu, at->second));
        state.erase(at->first);
        made.erase(at);
        continue;
      }
      const auto id =
          static_cast<PlacementId>(random.below(static_cast<std::uint64_t>(geometry.size())));
      const Placement& placement = geometry[id];
      const DriverProfile profile = driver_profile(*placement.profile);
      EXPECT_EQ(stand.door.remaining(stand.gpu, profile.id),
                most_addable(geometry, state, placement.profile_index))
          << layout_text(geometry, state) << " " << placement.profile->name;
      const Span span{static_cast<std::uint32_t>(placement.start),
                      static_cast<std::uint32_t>(placement.profile->memory.value)};
      const auto answer = stand.door.create_gpu_instance(stand.gpu, profile.id, span);
      const bool legal = geometry.free(state).contains(id);
      ASSERT_EQ(code_of(answer), legal ? Return::success : Return::insufficient_resources)
          << layout_text(geometry, state) << " and " << placement.profile->name << "@"
          << placement.start;
      if (!legal) continue;
      state.insert(id);
      made.emplace_back(id, answer->id);
      ASSERT_EQ(instances_of(stand).size(), made.size());
    }
    if (stand.node) {
      EXPECT_EQ(sim_node_flaw(*stand.node).value_or("unreadable"), "");
    }
  });
}

TEST_P(ChangingContract, MigModeChangesWhenNothingIsThere) {
  check([](Stand& stand) {
    const auto mode = stand.door.mig_mode(stand.gpu);
    ASSERT_TRUE(mode && mode->current);
    const auto off = stand.door.set_mig_mode(stand.gpu, false);
    ASSERT_TRUE(off);
    EXPECT_EQ(*off, Return::success);
    EXPECT_FALSE(stand.door.mig_mode(stand.gpu)->current);
    EXPECT_TRUE(instances_of(stand).empty());
    EXPECT_EQ(code_of(stand.door.create_gpu_instance(stand.gpu, ProfileId{0}, {})),
              Return::not_supported);
    const auto read = driver_geometry(stand.door, stand.gpu);
    ASSERT_TRUE(read) << "with MIG off the driver's list or the table serves: "
                      << read.error().text();
    EXPECT_EQ(read->table(), stand.model);
    ASSERT_TRUE(stand.door.set_mig_mode(stand.gpu, true));
    EXPECT_TRUE(stand.door.mig_mode(stand.gpu)->current);
  });
}

TEST_P(ReadingContract, AReadingCanBeRecordedAndPlayed) {
  check([](Stand& stand) {
    std::ostringstream first, again;
    record_reading(stand.door, first);
    const auto replay = ReplayDoor::parse(first.str(), "reading");
    ASSERT_TRUE(replay) << replay.error().text();
    record_reading(**replay, again);
    EXPECT_FALSE((*replay)->divergence());
    EXPECT_EQ(first.str(), again.str());
  });
}

}  // namespace
}  // namespace cleave::contract
