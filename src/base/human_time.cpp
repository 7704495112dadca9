#include "base/human_time.hpp"

#include "base/format.hpp"

namespace cleave {

std::string human(Duration duration) {
  using namespace std::chrono;
  const double exact = in_seconds(duration);
  if (exact < 10) return fmt::format("{:.1f} s", exact);
  const auto whole = round<seconds>(duration).count();
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const auto in_minutes = round<minutes>(duration).count();
  if (in_minutes < 48 * 60) return fmt::format("{} h {:02} min", in_minutes / 60, in_minutes % 60);
  const auto in_hours = round<hours>(duration).count();
  return fmt::format("{} d {} h", in_hours / 24, in_hours % 24);
}

}  // namespace cleave
