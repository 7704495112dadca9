// Who may read the metrics: addresses, files of passwords, and what clients send.

#include "daemon/metrics/metrics_access.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::metrics_users_target {
namespace {

bool read_input(const std::string& text) {
  static const MetricsUsers users = *MetricsUsers::parse("ada:secret\n", "fixed");
  if (users.admit(text) && text.find("YWRhOnNlY3JldA==") == std::string::npos) std::abort();
  static_cast<void>(parse_metrics_address(text));
  const auto read = MetricsUsers::parse(text, "input");
  if (read && read->anybody()) std::abort();  // an empty file must not open the door
  return read.has_value();
}

}  // namespace
}  // namespace cleave::fuzz::metrics_users_target

CLEAVE_FUZZ_TARGET(metrics_users, counted)
