// `cleave usage`: what was used of the daemon's GPUs, by whom, for what and when.

#include <algorithm>

#include "api/usage_documents.hpp"
#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

struct UsageCommandOptions : DaemonOptions {
  std::string by = "user", since, until, user;
  bool csv = false;
};

using U = ApiUsage;

std::string word_of(const std::optional<std::string>& text) {
  return text && !text->empty() ? visible(*text) : "-";
}

/// The GPU by its index where it has one now.
std::string gpu_text(const U& usage) {
  return usage.gpu_index.value_or(-1) >= 0 ? fmt::format("{}", *usage.gpu_index)
                                           : word_of(usage.gpu);
}

Column<U> column_of(UsageBy by) {
  switch (by) {
    case UsageBy::user:
      return {"user", "user", &U::user, [](const U& of) { return word_of(of.user); }};
    case UsageBy::account:
      return {"account", "account", &U::account, [](const U& of) { return word_of(of.account); }};
    case UsageBy::application:
      return {"application", "application", &U::application,
              [](const U& of) { return word_of(of.application); }};
    case UsageBy::gpu:
      return {"gpu", "GPU", &U::gpu, gpu_text};
    case UsageBy::day:
      return {"day", "day", &U::day, [](const U& of) { return word_of(of.day); }};
  }
  return {"", "", &U::whose};
}

/// `every`: as for programs, which get whose use it was also where all is of jobs.
Columns<U> columns_of(const std::vector<UsageBy>& by, bool every) {
  Columns<U> columns;
  for (const UsageBy each : by) columns.push_back(column_of(each));
  if (every) columns.push_back({"whose", "whose", &U::whose, plain_text});
  const Columns<U> sums = {{"jobs", "jobs", &U::jobs},
                           {"attempts", "attempts", &U::attempts},
                           {"lost", "lost", &U::lost},
                           {"moves", "moves", &U::moves},
                           {"slice_hours", "slice-hours", &U::slice_hours, decimals(2)},
                           {"gpu_hours", "GPU-hours", &U::gpu_hours, decimals(2)},
                           {"energy_kwh", "kWh", &U::energy_kwh, decimals(3)}};
  columns.insert(columns.end(), sums.begin(), sums.end());
  return columns;
}

std::string csv_text(const std::vector<UsageBy>& by, const std::vector<U>& rows) {
  Columns<U> columns = columns_of(by, true);
  columns.push_back({"energy_j", "", &U::energy_j});
  columns.push_back({"unmetered_gpu_hours", "", &U::unmetered});
  std::vector<std::string> cells;
  for (const Column<U>& each : columns) cells.push_back(each.key);
  std::string text = fmt::format("{}\n", fmt::join(cells, ","));
  for (const U& row : rows) {
    cells.clear();
    for (const Column<U>& each : columns) {
      const Json value = each.value(row);
      cells.push_back(value.is_null()     ? ""
                      : value.is_string() ? csv_cell(value.get<std::string>())
                                          : value.dump());
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

/// What the sums do not say.
void tell_unmetered(const std::vector<U>& rows) {
  double unmetered = 0, all = 0;
  for (const U& each : rows) {
    unmetered += each.unmetered;
    all += each.gpu_hours;
  }
  if (unmetered > 0)
    tell("the energy of {:.2f} of {:.2f} GPU-hours is not known: no counter was read\n", unmetered,
         all);
}

std::string target_of(const UsageCommandOptions& options) {
  std::string target = fmt::format("/v1/usage?by={}", percent_encoded(options.by));
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) target += fmt::format("&{}={}", key, percent_encoded(value));
  };
  add("since", options.since);
  add("until", options.until);
  add("user", options.user);
  return target;
}

Result<int> usage(const UsageCommandOptions& options) {
  const auto by = parse_usage_by(options.by, "--by");
  if (!by) return std::unexpected(by.error());
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("GET", target_of(options));
  if (!document) return std::unexpected(document.error());
  const auto rows = read_usage(*document, "the daemon's answer");
  if (!rows) return std::unexpected(rows.error());
  if (options.json) {
    print(*document);
  } else if (options.csv) {
    fmt::print("{}", csv_text(*by, *rows));
  } else if (rows->empty()) {
    tell("nothing was used in this time\n");
  } else {
    const bool others =
        std::ranges::any_of(*rows, [](const U& each) { return each.whose != "jobs"; });
    fmt::print("{}", text_rows(columns_of(*by, others), *rows));
    tell_unmetered(*rows);
  }
  return 0;
}

std::string wrong_day(const std::string& text) {
  if (parse_day(text)) return {};
  return fmt::format("'{}' is not a day such as 2026-05-04", shown(text));
}

}  // namespace

void add_usage(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "usage",
                  "Show what you used of the GPUs: slice-hours, GPU-hours, energy, jobs and moves",
                  "cleave usage --by application,day --since 2026-05-01", usage);
  command
      ->add_option("--by", options.by,
                   "What to tell apart, with commas between: user, account, application, gpu, day")
      ->default_str("user");
  command->add_option("--since", options.since, "From this day on, by UTC; 30 days by default")
      ->check(Check(wrong_day));
  command->add_option("--until", options.until, "Up to and with this day; today by default")
      ->check(Check(wrong_day));
  command
      ->add_option("--user", options.user,
                   "Of this user, by name or number, or of all, and then also what was idle or not "
                   "Cleave's; only operators see others")
      ->check(not_empty());
  Option* csv = command->add_flag("--csv", options.csv, "Print CSV with a header");
  add_daemon(*command, options);
  csv->excludes("--json");
}

}  // namespace cleave::cli
