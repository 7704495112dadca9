#include "daemon/store_commands.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/store/store_backup.hpp"
#include "daemon/store/store_check.hpp"

namespace cleave {

namespace {

void say_error(const Error& error) {
  fmt::print(stderr, "cleaved: {}\n", shown(error.text(), 4000));
}

std::string contents(const StoreFindings& found) {
  return fmt::format(
      "{} jobs in {} rows, all as they were written; the latest job has the number "
      "{}",
      found.jobs, found.rows, found.progress.job);
}

/// Each fault in a line, and once what helps against those of its kind.
void print_faults(const std::vector<Error>& faults) {
  std::vector<std::string> remedies;
  for (const Error& each : faults) {
    fmt::print("{}\n", shown(fmt::format("{}: {}", each.place, each.message), 1000));
    if (!each.remedy.empty() && std::ranges::find(remedies, each.remedy) == remedies.end())
      remedies.push_back(each.remedy);
  }
  fmt::print("{}\n", faults.size() == 1
                         ? std::string("One thing is wrong. What helps:")
                         : fmt::format("{} things are wrong. What helps:", faults.size()));
  for (const std::string& each : remedies) fmt::print("- {}\n", shown(each, 1000));
}

}  // namespace

int run_check(const DaemonArguments& arguments) {
  const auto state = state_place(arguments);
  const auto found = state ? check_store(*state) : std::unexpected(state.error());
  if (!found) {
    say_error(found.error());
    return found.error().kind == ErrorKind::bad_input ? 1 : 2;
  }
  if (!found->faults.empty()) {
    print_faults(found->faults);
    return 1;
  }
  fmt::print("{}: {}; {} folders of attempts\n", shown(state->string(), 200), contents(*found),
             found->folders);
  return 0;
}

int run_backup(const DaemonArguments& arguments, const std::string& file) {
  const auto state = state_place(arguments);
  const auto found = state ? back_up_store(*state, file) : std::unexpected(state.error());
  if (!found) {
    say_error(found.error());
    return found.error().kind == ErrorKind::bad_usage ? 2 : 1;
  }
  fmt::print("{}: {}\n", shown(file, 200), contents(*found));
  return 0;
}

}  // namespace cleave
