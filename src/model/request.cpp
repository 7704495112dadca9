#include "model/request.hpp"

#include <cstdlib>

#include "base/format.hpp"
#include "base/overloads.hpp"

namespace cleave {

namespace {

std::string text_of_wanted(const Request& request) {
  const auto whole = [](const BySize& size) {
    if (size.compute.value == 0) return fmt::format("{} MiB", size.memory.value);
    return fmt::format("{} MiB with {} compute slices", size.memory.value, size.compute.value);
  };
  const auto of_size = [&](const BySize& size) {
    if (!request.offload) return whole(size);
    return fmt::format("{}, of which {} MiB may stay on the host", whole(size),
                       request.offload->value);
  };
  return std::visit(
      Overloads{of_size, [](const ByProfile& by_profile) { return by_profile.profile; },
                [](const ByShare& share) {
                  return share.thousandths == 1000
                             ? std::string("all of a GPU")
                             : fmt::format("{}/1000 of a GPU", share.thousandths);
                },
                [](const Unknown&) { return std::string("nothing"); },
                [](const WholeGpu&) { return std::string("a whole GPU"); }},
      request.wanted);
}

std::string text_of_places(const Request& request) {
  const std::string wanted = text_of_wanted(request);
  if (request.places == 1) return wanted;
  const std::string_view where = in_words(request.together);
  if (std::holds_alternative<WholeGpu>(request.wanted))
    return fmt::format("{} whole GPUs{}", request.places, where);
  return fmt::format("{} x {}{}", request.places, wanted, where);
}

}  // namespace

std::string_view in_words(Together together) {
  switch (together) {
    case Together::anywhere:
      return "";
    case Together::gpu:
      return " on one GPU";
    case Together::node:
      return " on one node";
    case Together::spread:
      return " on different GPUs";
  }
  return "";
}

std::string text(const Request& request) {
  const std::string wanted = text_of_places(request);
  if (!request.at_least) return wanted;
  if (std::holds_alternative<Unknown>(request.wanted) && request.places == 1)
    return fmt::format("{} MiB, found by running", request.at_least->value);
  return fmt::format("{}, found to need {} MiB", wanted, request.at_least->value);
}

const Profile* profile_of_share(const GpuModel& model, const std::vector<const Profile*>& profiles,
                                ByShare share) {
  // Everything is multiplied by 1000 x the model's compute slices, to compare whole numbers.
  const int wanted = share.thousandths * model.compute.value;
  const auto distance = [&](const Profile& p) { return std::abs(p.compute.value * 1000 - wanted); };
  const Profile* best = nullptr;
  for (const Profile* profile : profiles) {  // from large to small
    if (profile->attribute != Attribute::none || profile->double_memory) continue;
    const bool enough = profile->compute.value * 1000 >= wanted;
    if (share.rule == ShareRule::round_up && !enough) continue;
    // Not larger than the best so far: fewer compute slices, or as many with no more memory. For
    // `nearest` only a smaller distance may go down in compute, since ties go up.
    const bool better = best == nullptr || profile->compute == best->compute ||
                        (share.rule == ShareRule::round_up ? profile->compute < best->compute
                                                           : distance(*profile) < distance(*best));
    if (better) best = profile;
  }
  return best;
}

}  // namespace cleave
