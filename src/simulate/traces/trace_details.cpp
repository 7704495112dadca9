#include "simulate/traces/trace_details.hpp"

#include <set>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// The name without the numbers at its end and what separates them from it; empty where nothing
/// else is in it.
std::string without_number(const std::string& name) {
  const std::size_t last = name.find_last_not_of("0123456789-_.,:;#=[]() ");
  const std::size_t end = last == std::string::npos ? 0 : last + 1;
  const bool number = name.find_first_of("0123456789", end) != std::string::npos;
  return number ? name.substr(0, end) : name;
}

}  // namespace

Result<NamingColumns> NamingColumns::of(const TraceOptions& options,
                                        std::span<const std::string_view> usual, const Find& find,
                                        const std::string& place) {
  NamingColumns result;
  std::vector<std::string> names;
  const auto take = [&](std::string_view name) {
    const auto column = find(name);
    if (!column) return false;
    result.columns_.push_back(*column);
    names.emplace_back(name);
    return true;
  };
  if (options.application) {
    for (const std::string& name : *options.application)
      if (!take(name))
        return fail(ErrorKind::bad_input, place,
                    fmt::format("there is no column {}, which --application names", shown(name)),
                    "name columns of the file, or none");
  } else if (!usual.empty() && find(usual.back())) {
    for (const std::string_view name : usual) take(name);
  }
  result.text_ = fmt::format("{}", fmt::join(names, "/"));
  return result;
}

bool NamingColumns::append(std::string& name, std::string_view cell) {
  constexpr std::size_t longest = 200;
  const std::string_view word = trimmed(cell);
  if (!fit_for_a_name(word) || name.size() + word.size() > longest) {
    name.clear();
    return false;
  }
  if (!name.empty()) name += '/';
  name += word;
  return true;
}

NamingColumns::Find column_finder(const CsvReader& csv) {
  return [&csv](std::string_view name) -> std::optional<std::size_t> {
    const auto column = csv.column(name);
    return column ? std::optional(*column) : std::nullopt;
  };
}

void FoldedNames::count(const std::string& name) {
  std::size_t& jobs = ++jobs_[name];
  if (jobs == 1) ++names_[without_number(name)];
  if (jobs == jobs_of_a_known_name) --names_[without_number(name)];
}

std::string FoldedNames::of(const std::string& name) const {
  const auto jobs = jobs_.find(name);
  if (jobs != jobs_.end() && jobs->second >= jobs_of_a_known_name) return name;
  const std::string stem = without_number(name);
  const auto names = names_.find(stem);
  const bool alone = names == names_.end() || names->second < 2;
  // Of numbers alone nothing is left that would be a name.
  return alone || stem.empty() || stem.ends_with('/') ? name : stem;
}

std::uint32_t TraceDetails::of(const Said& said) {
  JobDetails details;
  const double processes = said.processes;
  if (!said.application.empty()) details.application = said.application;
  if (!said.user.empty()) details.user = said.user;
  if (!said.account.empty()) details.account = said.account;
  if (said.cpus) details.cpus = *said.cpus / processes;
  if (said.memory) details.host_memory = MiB{said.memory->value / said.processes};
  if (details == JobDetails()) return Job::none;
  const auto next = static_cast<std::uint32_t>(workload_->details.size());
  const auto [entry, fresh] = numbers_.try_emplace(
      Key{said.application, said.user, said.account, said.cpus, said.memory, said.processes}, next);
  if (fresh) workload_->details.push_back(std::move(details));
  return entry->second;
}

void TraceDetails::note(const NamingColumns& columns) const {
  if (columns.text().empty()) return;
  std::set<std::string> names;
  for (const auto& [key, number] : numbers_)
    if (const std::string& name = std::get<0>(key); !name.empty()) names.insert(name);
  if (names.empty()) return;
  workload_->options["application"] = columns.text();
  workload_->notes["applications"] = names.size();
}

}  // namespace cleave
