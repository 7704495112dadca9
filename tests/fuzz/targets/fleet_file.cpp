// Fleet files; jobs then run on the fleet.

#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::fleet_file_target {
namespace {

const Workload& jobs() {
  static const Workload some =
      *parse_workload(R"({"id": "a", "arrival_s": 1, "profile": "1g.5gb", "duration_s": 30})"
                      "\n"
                      R"({"id": "b", "memory_mib": "9GiB", "compute_slices": 2, "duration_s": 60})"
                      "\n",
                      "jobs");
  return some;
}

std::optional<Error> read_input(const std::string& text) {
  const auto read = parse_fleet(text, "fleet.json", {});
  if (read && read->gpus.size() < 100) run(*read, jobs());
  return error_of(read);
}

}  // namespace
}  // namespace cleave::fuzz::fleet_file_target

CLEAVE_FUZZ_TARGET(fleet_file, judged)
