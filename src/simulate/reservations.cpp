#include "simulate/reservations.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/gpu_times.hpp"

namespace cleave {

Result<GpuReservation> parse_reservation(std::string_view text, const FleetFile& fleet) {
  const std::string place = fmt::format("--reserve {}", shown(text));
  const std::size_t equals = text.find('=');
  const auto time = parse_gpu_time(text.substr(0, equals), fleet, place, "a reservation");
  if (!time) return std::unexpected(time.error());
  GpuReservation reservation{time->gpu, time->from, time->until, {}};
  if (equals == std::string_view::npos) return reservation;
  reservation.name = text.substr(equals + 1);
  if (!fit_for_a_name(reservation.name))
    return fail(ErrorKind::bad_usage, place, "what follows the '=' is not a name",
                "name a user or an account, or leave out the '=': then no job starts there");
  return reservation;
}

std::string text_of(const GpuReservation& reservation, const FleetFile& fleet) {
  const std::string time =
      text_of(GpuTime{reservation.gpu, reservation.from, reservation.until}, fleet);
  return reservation.name.empty() ? time : fmt::format("{}={}", time, reservation.name);
}

Result<void> check_reservations(const std::vector<GpuReservation>& reservations,
                                const FleetFile& fleet) {
  std::vector<GpuTime> times;
  for (const GpuReservation& each : reservations)
    times.push_back({each.gpu, each.from, each.until});
  const GpuEntry* both = overlapping(std::move(times), fleet, false);
  if (both == nullptr) return {};
  return fail(ErrorKind::bad_usage, "--reserve",
              fmt::format("two reservations of {} overlap", both->name), "let one end first");
}

}  // namespace cleave
