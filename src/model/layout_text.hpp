#pragma once
// Layout notation and its picture. A layout is written profile@start, joined by commas, and drawn
// with one character a memory slice: 4g.20gb@0,2g.10gb@4,1g.5gb@6 is AAAABBC. on an A100-40GB.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// Reads the notation for `model`; an empty text is the empty layout. Starts may be any number from
/// 0 to 99; Geometry::judge says whether they are allowed. Unknown profiles and broken notation
/// are errors.
[[nodiscard]] Result<std::vector<Geometry::Written>> parse_layout(std::string_view text,
                                                                  const Geometry& geometry);

/// How the picture shows an instance.
enum class Standing { held, idle, foreign };

/// One GPU as letters, one letter for each instance in the order of starts: a capital where a
/// workload holds it, a small letter where it is idle, '#' where it is not ours, '.' where memory
/// is free. The three sets must be disjoint.
std::string draw(const Geometry& geometry, PlacementSet held, PlacementSet idle = {},
                 PlacementSet foreign = {});

/// The profiles behind the letters: "A 4g.20gb, b 2g.10gb (idle)".
std::string legend(const Geometry& geometry, PlacementSet held, PlacementSet idle = {},
                   PlacementSet foreign = {});

}  // namespace cleave
