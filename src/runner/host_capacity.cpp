#include "runner/host_capacity.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "runner/control_groups.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace {

template <class Number>
void lower(std::optional<Number>& limit, Number value) {
  limit = limit ? std::min(*limit, value) : value;
}

std::optional<std::int64_t> number_in(const std::string& file) {
  return parse_integer(trimmed(read_system_file(file)));
}

/// "150000 100000", or "max 100000": of so much time the first part.
std::optional<std::int64_t> millicpus_of(std::string_view text) {
  const auto parts = split(trimmed(text), ' ');
  if (parts.size() != 2) return std::nullopt;
  const auto quota = parse_integer(parts[0]), period = parse_integer(parts[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota * 1000 / *period;
}

/// Of this group alone.
void limit_by(const std::string& cpu, const std::string& memory, HostAsk& least) {
  if (!cpu.empty()) {
    if (const auto limit = millicpus_of(read_system_file(cpu + "/cpu.max"))) {
      lower(least.millicpus, *limit);
    } else {
      const auto quota = number_in(cpu + "/cpu.cfs_quota_us"),
                 period = number_in(cpu + "/cpu.cfs_period_us");
      if (quota && period && *quota > 0 && *period > 0)
        lower(least.millicpus, *quota * 1000 / *period);
    }
  }
  if (memory.empty()) return;
  for (const char* file : {"/memory.max", "/memory.limit_in_bytes"})
    if (const auto bytes = number_in(memory + file); bytes && *bytes > 0)
      lower(least.memory, MiB{*bytes / bytes_per_mib});
}

std::string parent_of(const std::string& folder) {
  const std::size_t slash = folder.rfind('/');
  return slash == std::string::npos ? std::string() : folder.substr(0, slash);
}

}  // namespace

HostAsk limits_of_groups(std::string_view mounts, std::string_view groups) {
  const GroupPlaces own = groups_of_process(mounts, groups);
  HostAsk least;
  std::string cpu = own.cpu, memory = own.memory;
  while (!cpu.empty() || !memory.empty()) {
    limit_by(cpu, memory, least);
    cpu = parent_of(cpu);
    memory = parent_of(memory);
  }
  return least;
}

HostAsk host_capacity() {
  HostAsk all = limits_of_groups(read_system_file("/proc/self/mountinfo"),
                                 read_system_file("/proc/self/cgroup"));
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0)
    lower(all.millicpus, std::int64_t{1000} * CPU_COUNT(&mine));
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && bytes > 0) lower(all.memory, MiB{pages / (bytes_per_mib / bytes)});
  return all;
}

}  // namespace cleave
