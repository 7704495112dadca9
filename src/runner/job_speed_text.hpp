#pragma once
// Reads the speed of a job from a command line, for physics/speed.hpp.

#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// "1g.5gb=0.36,7g.40gb=1,none=1.1": speeds relative to the whole GPU under MIG. The job does not
/// fit on profiles that are not listed.
[[nodiscard]] Result<SpeedModel> parse_speeds(std::string_view text);

/// "cpu=1,transfer=0.5,compute=8,bandwidth=2": seconds on the whole GPU; others are 0.
[[nodiscard]] Result<SpeedModel> parse_phases(std::string_view text);

/// "miso:resnet:64", "parvagpu:bert:8", "rodinia:gaussian": a measured job's speeds.
[[nodiscard]] Result<SpeedModel> speeds_like(std::string_view text);

/// The time of all phases together.
[[nodiscard]] Duration whole(const Phases& phases);

}  // namespace cleave
