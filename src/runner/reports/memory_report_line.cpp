#include "runner/reports/memory_report_line.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

// More than any memory, and far from where sums overflow.
constexpr std::int64_t most_bytes = std::int64_t{1} << 53;
constexpr std::int64_t most_iterations = 1'000'000'000'000;

std::string key_of(const ReportPart& part) {
  return fmt::format("{}_bytes", part.name);
}

MiB rounded_up(std::int64_t bytes) {
  return {(bytes + bytes_per_mib - 1) / bytes_per_mib};
}

}  // namespace

std::string report_line(const MemoryReport& report) {
  Json line;
  line["iteration"] = report.iteration;
  if (report.iterations) line["iterations"] = *report.iterations;
  line["requested_bytes"] = report.requested.value * bytes_per_mib;
  line["allocated_bytes"] = report.allocated.value * bytes_per_mib;
  for (const ReportPart& part : report_parts)
    if (const auto size = report.*part.size) line[key_of(part)] = size->value * bytes_per_mib;
  return line.dump();
}

Result<MemoryReport> parse_report_line(std::string_view line, const std::string& place) {
  if (line.size() > longest_report_line)
    return fail(ErrorKind::bad_input, place,
                fmt::format("a report of {} bytes is too long", line.size()),
                fmt::format("a line has at most {}", longest_report_line));
  const auto document = parse_json(line, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  MemoryReport report;
  report.iteration = in.integer("iteration", 1, most_iterations);
  report.iterations = in.integer_if("iterations", 1, most_iterations);
  report.requested = rounded_up(in.integer("requested_bytes", 0, most_bytes));
  report.allocated = rounded_up(in.integer("allocated_bytes", 0, most_bytes));
  for (const ReportPart& part : report_parts)
    if (const auto bytes = in.integer_if(key_of(part), 0, most_bytes))
      report.*part.size = rounded_up(*bytes);
  if (!error && report.iterations && *report.iterations < report.iteration)
    in.refuse("iteration", fmt::format("iteration {} of {}", report.iteration, *report.iterations));
  if (error) return std::unexpected(*error);
  return report;
}

ReportSender::ReportSender(const std::string& path) : path_(path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

ReportSender::~ReportSender() {
  if (socket_ >= 0) ::close(socket_);
}

void ReportSender::send(const MemoryReport& report) {
  if (path_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_ >= 0) std::memcpy(address.sun_path, path_.data(), path_.size());
  const std::string line = report_line(report);
  // By name each time, so that a restarted reader is found.
  const bool arrived =
      socket_ >= 0 && ::sendto(socket_, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                               reinterpret_cast<const sockaddr*>(&address),
                               sizeof(address)) == static_cast<ssize_t>(line.size());
  ++(arrived ? sent_ : lost_);
}

}  // namespace cleave
