#include "api/job_file.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"
#include "model/dependency.hpp"
#include "model/instances_text.hpp"
#include "model/job_fields.hpp"
#include "model/job_spec.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_jobs = 10'000;

std::vector<std::string> shell(const std::string& command) {
  return {"/bin/sh", "-c", command};
}

/// What says in a workload how large a job's instance is, and in submissions nothing.
constexpr std::string_view sizes_of_workloads[] = {"shape", "gpu_share", "speed"};

const FieldInfo* row_named(std::string_view key) {
  const auto& rows = field_infos<Submission>;
  const auto* const found = std::ranges::find(rows, key, &FieldInfo::key);
  return found == rows.end() ? nullptr : found;
}

const JobField* workload_field(std::string_view key) {
  const auto rows = job_fields();
  const auto found = std::ranges::find(rows, key, &JobField::workload);
  return found == rows.end() ? nullptr : &*found;
}

/// One line of JSON on its way to a submission.
class Line {
 public:
  explicit Line(std::string place) : place_(std::move(place)) {}

  Result<Json> read(const Json& said) {
    for (const auto& [key, value] : said.items())
      if (const auto put = this->put(key, value); !put) return std::unexpected(put.error());
    return std::move(keys_);
  }

 private:
  [[nodiscard]] std::unexpected<Error> wrong(const std::string& key, std::string message,
                                             std::string remedy) const {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", place_, shown(key)), std::move(message),
                std::move(remedy));
  }

  /// Keys of both forms mean the submission's, but for a few of workloads that are called
  /// otherwise.
  Result<void> put(const std::string& key, const Json& value) {
    if (key.starts_with("x-")) return {};
    if (const FieldInfo* row = row_named(key)) return put_row(key, *row, value);
    const JobField* field = workload_field(key);
    if (field == nullptr) {
      std::vector<std::string> known;
      for (const FieldInfo& each : field_infos<Submission>) known.emplace_back(each.key);
      return wrong(key, "unknown key", suggestion(key, known));
    }
    if (std::ranges::find(sizes_of_workloads, key) != std::end(sizes_of_workloads))
      return wrong(key, "it is for workload files only",
                   "say memory_mib or profile, and expected_s or times, instead");
    // What only a simulation needs is passed over, as workload files pass over the rest.
    if (field->submission.empty()) return {};
    // Daemons know jobs by their numbers.
    if (key == "id" && (value.is_number_integer() ||
                        (value.is_string() && parse_integer(value.get<std::string>()))))
      return {};
    return put_row(std::string(field->submission), *row_named(field->submission), value);
  }

  Result<void> put_row(const std::string& key, const FieldInfo& row, const Json& value) {
    if (value.is_null()) return {};
    if (!value.is_string()) {
      keys_[key] = value;
      return {};
    }
    const auto text = value.get<std::string>();
    if (key == "command") {
      keys_[key] = shell(text);
    } else if (key == "instances") {
      return put_instances(text);
    } else if (row.kind == FieldKind::integer && key.ends_with("_mib")) {
      const auto size = parse_size(text);
      if (!size) return wrong(key, size.error().message, size.error().remedy);
      keys_[key] = size->value;
    } else if (row.kind == FieldKind::seconds) {
      const auto time = parse_human(text);
      if (!time) return wrong(key, time.error().message, time.error().remedy);
      keys_[key] = in_seconds(*time);
    } else {
      keys_[key] = value;
    }
    return {};
  }

  /// "4x1g.5gb"
  Result<void> put_instances(const std::string& text) {
    const auto several = parse_instances(text, fmt::format("{}: instances", place_));
    if (!several) return std::unexpected(several.error());
    keys_["instances"] = several->places;
    keys_["profile"] = several->profile;
    return {};
  }

  std::string place_;
  Json keys_ = Json::object();
};

Result<Json> read_line(std::string_view text, const std::string& place) {
  auto said = parse_json(text, place);
  if (!said) {
    // Line 1 of this text is a line of the file.
    if (said.error().place.starts_with(place)) said.error().place = place;
    return said;
  }
  if (!said->is_object())
    return fail(ErrorKind::bad_input, place, "expected a JSON object",
                "write a job a line, such as {\"command\": \"./train 1\"}");
  return Line(place).read(*said);
}

/// What the line calls its job: a text, or a number as in workload files.
std::string id_of(std::string_view line) {
  const auto said = parse_json(line, "");
  if (!said || !said->contains("id")) return {};
  const Json& id = (*said)["id"];
  if (id.is_string()) return id.get<std::string>();
  return id.is_number_integer() ? id.dump() : std::string();
}

/// Lines by what others call them.
using LinesByName = std::map<std::string, std::vector<std::size_t>, std::less<>>;

LinesByName lines_by_name(const std::vector<FileJob>& jobs) {
  LinesByName lines;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].id.empty()) lines[jobs[i].id].push_back(i);
    if (const std::string name = jobs[i].name(); !name.empty() && name != jobs[i].id)
      lines[name].push_back(i);
  }
  return lines;
}

/// The line that "ok:ID" means; nothing where it means none of this file.
Result<std::optional<std::size_t>> line_meant(const LinesByName& lines, const std::string& word,
                                              const std::vector<FileJob>& jobs) {
  const std::size_t colon = word.find(':');
  if (colon == word.npos || !parse_dependency(word.substr(0, colon) + ":1")) return std::nullopt;
  const auto found = lines.find(word.substr(colon + 1));
  if (found == lines.end()) return std::nullopt;
  const std::vector<std::size_t>& meant = found->second;
  if (meant.size() > 1)
    return fail(ErrorKind::bad_input, "",
                fmt::format("'{}' is what lines {} and {} are called", shown(found->first),
                            jobs[meant[0]].line, jobs[meant[1]].line),
                "give each line an id of its own");
  return meant.front();
}

Result<void> refuse_circle(const std::vector<std::vector<std::size_t>>& awaited,
                           const std::vector<FileJob>& jobs, const std::string& file) {
  const std::vector<std::size_t> circle = waiting_circle(awaited);
  if (circle.empty()) return {};
  std::vector<std::string> others;
  for (std::size_t i = 1; i < circle.size(); ++i)
    others.push_back(fmt::format("line {}", jobs[circle[i]].line));
  others.emplace_back(circle.size() == 1 ? "itself" : "it again");
  return fail(ErrorKind::bad_input, fmt::format("{}:{}: after", file, jobs[circle.front()].line),
              fmt::format("it waits for {}", fmt::join(others, ", which waits for ")),
              "leave out one of them");
}

}  // namespace

std::string FileJob::name() const {
  const auto name = keys.find("name");
  return name != keys.end() && name->is_string() ? name->get<std::string>() : std::string();
}

Result<void> link_lines(std::vector<FileJob>& jobs, const std::string& file) {
  const LinesByName lines = lines_by_name(jobs);
  std::vector<std::vector<std::size_t>> awaited(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto after = jobs[i].keys.find("after");
    if (after == jobs[i].keys.end() || !after->is_array()) continue;
    for (Json& each : *after) {
      if (!each.is_string()) continue;
      const std::string word = each.get<std::string>();
      const auto meant = line_meant(lines, word, jobs);
      if (!meant) return fail_at(fmt::format("{}:{}: after", file, jobs[i].line), meant.error());
      if (!*meant) continue;
      awaited[i].push_back(**meant);
      each = fmt::format("{}:#{}", word.substr(0, word.find(':')), **meant + 1);
    }
  }
  return refuse_circle(awaited, jobs, file);
}

Result<std::vector<FileJob>> parse_job_file(std::string_view text, const std::string& file) {
  std::vector<FileJob> jobs;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && text[first] == '{';
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.empty() || (!json && line.starts_with('#'))) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    if (jobs.size() == most_jobs)
      return fail(ErrorKind::bad_input, place,
                  fmt::format("the file has more than {} jobs", most_jobs),
                  "submit it in several parts");
    FileJob job{number, {}};
    if (json) {
      auto keys = read_line(line, place);
      if (!keys) return std::unexpected(keys.error());
      job.keys = std::move(*keys);
      job.id = id_of(line);
    } else {
      if (!valid_utf8(line))
        return fail(ErrorKind::bad_input, place, "it is not UTF-8", "convert the file with iconv");
      job.keys = Json{{"command", shell(std::string(line))}};
    }
    jobs.push_back(std::move(job));
  }
  if (jobs.empty())
    return fail(ErrorKind::bad_input, file, "it has no jobs",
                "write one a line: a command of the shell, or a JSON object");
  return jobs;
}

}  // namespace cleave
