#include "simulate/traces/sacct.hpp"

#include <map>
#include <unordered_set>

#include "base/clock_text.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "model/gpu_model.hpp"
#include "simulate/traces/gpu_samples.hpp"
#include "simulate/traces/trace_details.hpp"
#include "simulate/traces/trace_rows.hpp"
#include "simulate/traces/tres_usage.hpp"

namespace cleave {

namespace {

/// The columns of the listing; empty for a column that it lacks.
struct SacctColumns {
  std::size_t id = 0, submit = 0, start = 0, state = 0, allocated = 0, all = 0;
  std::optional<std::size_t> end, elapsed, elapsed_seconds, requested, raw_id, nodes;
  std::optional<std::size_t> used_on_average, used_at_most, user, account;
  NamingColumns program;
};

/// The allocation: GPUs by type (empty: any), and the rest of the machine.
struct Resources {
  std::int64_t gpus = 0;
  std::vector<std::string> gpu_types;
  std::optional<double> cpus;
  std::optional<MiB> memory;
  std::optional<std::int64_t> nodes;
};

struct SacctRecord {
  std::string id, raw_id, state, nodes, program, user, account;
  double submitted = 0, began = 0, seconds = 0;
  bool started = false, ended = false;
  Resources resources;
  SeenUse use;
};

constexpr std::string_view wanted_columns =
    "ask for them: sacct -a -X -P -o JobID,Submit,Start,End,ElapsedRaw,State,AllocTRES";

Result<SacctColumns> find_columns(std::string_view header, const std::string& place,
                                  const TraceOptions& options) {
  const auto names = split(header, '|');
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  };
  const bool for_people = names.size() == 1 && header.contains("JobID");
  const auto missing = [&](std::string_view name) {
    if (for_people)
      return fail(ErrorKind::bad_input, place,
                  "the columns are padded for people, and cells may be cut",
                  "print the list again with sacct -P");
    return fail(ErrorKind::bad_input, place, fmt::format("the column {} is missing", name),
                std::string(wanted_columns));
  };
  SacctColumns columns;
  columns.all = names.size();
  const auto id = find("JobID") ? find("JobID") : find("JobIDRaw");
  if (!id) return missing("JobID");
  columns.id = *id;
  const std::pair<std::string_view, std::size_t*> needed[] = {{"Submit", &columns.submit},
                                                              {"Start", &columns.start},
                                                              {"State", &columns.state},
                                                              {"AllocTRES", &columns.allocated}};
  for (const auto& [name, where] : needed) {
    const auto found = find(name);
    if (!found) return missing(name);
    *where = *found;
  }
  columns.end = find("End");
  columns.elapsed = find("Elapsed");
  columns.elapsed_seconds = find("ElapsedRaw");
  columns.requested = find("ReqTRES");
  columns.raw_id = find("JobIDRaw");
  columns.nodes = find("NodeList");
  columns.used_on_average = find("TRESUsageInAve");
  columns.used_at_most = find("TRESUsageInMax");
  columns.user = find("User");
  columns.account = find("Account");
  if (!columns.end && !columns.elapsed && !columns.elapsed_seconds) return missing("ElapsedRaw");
  constexpr std::string_view usual[] = {"User", "JobName"};
  auto program = NamingColumns::of(options, usual, find, place);
  if (!program) return std::unexpected(program.error());
  columns.program = *std::move(program);
  return columns;
}

/// Slurm's words for an unknown time.
bool no_time(std::string_view cell) {
  constexpr std::string_view words[] = {"", "Unknown", "None", "N/A", "NONE"};
  return std::ranges::find(words, cell) != std::end(words);
}

double read_time(Cells& cells, std::string_view cell, std::string_view name) {
  constexpr std::int64_t year_5000 = 95'617'584'000;
  const auto since_1970 = parse_integer(cell);
  if (since_1970 && *since_1970 >= 0 && *since_1970 <= year_5000)
    return static_cast<double>(*since_1970);
  if (const auto time = parse_clock(cell)) return time->seconds;
  cells.refuse(
      fmt::format("{} is '{}', expected a time like 2024-01-31T12:00:00 or seconds since 1970",
                  name, shown(cell)));
  return 0;
}

/// [days-]hours:minutes:seconds, also with fewer parts.
std::optional<double> elapsed_seconds(std::string_view text) {
  constexpr std::int64_t most = 100'000'000;
  double seconds = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto days = parse_integer(text.substr(0, dash));
    if (!days || *days < 0 || *days > 36500) return std::nullopt;
    seconds = 86400.0 * static_cast<double>(*days);
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double within = 0;
  for (const std::string_view part : parts) {
    const auto value = parse_integer(part);
    if (!value || *value < 0 || *value > most) return std::nullopt;
    within = within * 60 + static_cast<double>(*value);
  }
  return seconds + within;
}

/// "billing=8,cpu=8,gres/gpu:a100=1,gres/gpu=1,mem=64G,node=1"
Resources read_resources(Cells& cells, std::string_view text, std::string_view name) {
  Resources resources;
  std::int64_t typed = 0;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t equals = entry.find('=');
    if (trimmed(entry).empty()) continue;
    if (equals == std::string_view::npos) {
      cells.refuse(fmt::format("{} has '{}', expected NAME=NUMBER", name, shown(entry)));
      continue;
    }
    const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
    constexpr std::string_view gpu = "gres/gpu", typed_gpu = "gres/gpu:";
    if (key == gpu) {
      resources.gpus = cells.whole(value, key, 0, 1'000'000);
    } else if (key.starts_with(typed_gpu)) {
      const std::int64_t number = cells.whole(value, shown(key), 0, 1'000'000);
      if (number > 0) resources.gpu_types.emplace_back(key.substr(typed_gpu.size()));
      typed += number;
    } else if (key == "cpu") {
      resources.cpus = static_cast<double>(cells.whole(value, key, 0, 1'000'000));
    } else if (key == "node") {
      resources.nodes = cells.whole(value, key, 0, 1'000'000);
    } else if (key == "mem") {
      resources.memory = slurm_memory(value);
      if (!resources.memory)
        cells.refuse(fmt::format("mem is '{}', expected a size such as 64G", shown(value)));
    }
  }
  // The plain entry is the sum of the typed ones; sites track either or both.
  resources.gpus = std::max(resources.gpus, typed);
  return resources;
}

/// The words in `State` while a job waits, and while it runs.
bool waits(std::string_view state) {
  return state == "PENDING" || state == "CONFIGURING";
}
bool runs(std::string_view state) {
  constexpr std::string_view words[] = {"RUNNING", "SUSPENDED", "COMPLETING", "RESIZING",
                                        "STOPPED", "SIGNALING", "STAGE_OUT"};
  return std::ranges::find(words, state) != std::end(words);
}

/// The first word of "CANCELLED by 1000".
std::string read_state(Cells& cells, std::string_view cell) {
  std::string_view word = cell.substr(0, cell.find(' '));
  if (word.ends_with('+')) word.remove_suffix(1);  // cut to the column's width
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  if (word.empty() || word.size() > 32 || !std::ranges::all_of(word, fits))
    cells.refuse(fmt::format("State is '{}', expected a word such as COMPLETED", shown(cell)));
  return std::string(word);
}

double read_duration(Cells& cells, const std::vector<std::string_view>& row,
                     const SacctColumns& columns, double started) {
  if (columns.elapsed_seconds)
    return cells.seconds(row[*columns.elapsed_seconds], "ElapsedRaw", "seconds");
  if (columns.elapsed) {
    const auto seconds = elapsed_seconds(row[*columns.elapsed]);
    if (!seconds || *seconds > in_seconds(longest_duration))
      cells.refuse(fmt::format("Elapsed is '{}', expected [days-]hours:minutes:seconds",
                               shown(row[*columns.elapsed])));
    return seconds.value_or(0);
  }
  const double ended = read_time(cells, row[*columns.end], "End");
  if (ended < started)
    cells.refuse("the job ends before it starts",
                 "clocks may have been put back; ask sacct for ElapsedRaw as well");
  return ended - started;
}

Result<SacctRecord> read_record(const std::vector<std::string_view>& row,
                                const SacctColumns& columns, const std::string& place) {
  Cells cells(place);
  SacctRecord record;
  record.id = row[columns.id];
  if (!fit_for_a_name(record.id))
    cells.refuse("the job has no JobID, or one with control characters");
  record.state = read_state(cells, row[columns.state]);
  record.submitted = read_time(cells, row[columns.submit], "Submit");
  record.started = !no_time(row[columns.start]) && !waits(record.state);
  record.ended =
      record.started && !runs(record.state) && !(columns.end && no_time(row[*columns.end]));
  const double started = record.started ? read_time(cells, row[columns.start], "Start") : 0;
  record.began = started;
  if (columns.raw_id) record.raw_id = row[*columns.raw_id];
  if (columns.nodes) record.nodes = row[*columns.nodes];
  const auto name = [&](std::optional<std::size_t> column) {
    return column && fit_for_a_name(row[*column]) ? std::string(row[*column]) : "";
  };
  record.user = name(columns.user);
  record.account = name(columns.account);
  record.program = columns.program.name_in(row);
  // Of a job that still runs, what has elapsed so far.
  const bool elapsed = columns.elapsed_seconds || columns.elapsed;
  if (record.ended || (record.started && elapsed))
    record.seconds = read_duration(cells, row, columns, started);
  const bool allocated = !trimmed(row[columns.allocated]).empty();
  if (allocated || !columns.requested) {
    record.resources = read_resources(cells, row[columns.allocated], "AllocTRES");
  } else {
    record.resources = read_resources(cells, row[*columns.requested], "ReqTRES");
  }
  if (cells.error) return std::unexpected(*cells.error);
  return record;
}

/// The longest name of a profile of any GPU with which `type` ends, unless it is the tail of a
/// longer word such as that of a compute instance ("1c.3g.20gb").
std::optional<std::string> profile_at_end(std::string_view type) {
  const std::string word = lowercase(type);
  std::string_view best;
  for (const GpuModel& model : gpu_models())
    for (const Profile& profile : model.profiles) {
      if (!word.ends_with(profile.name) || profile.name.size() <= best.size()) continue;
      const std::size_t at = word.size() - profile.name.size();
      const char before = at == 0 ? '_' : word[at - 1];
      if (before != '.' && !(before >= '0' && before <= '9')) best = profile.name;
    }
  if (best.empty()) return std::nullopt;
  return std::string(best);
}

/// Whether a type that is not a profile's name refers to MIG: by the word itself, or by a separate
/// digit and 'g' ("a100_3g.39gb", "a100_3g", but not "a100_40g").
bool speaks_of_mig(std::string_view type) {
  const std::string word = lowercase(type);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (word.find("mig") != std::string::npos) return true;
  for (std::size_t i = 0; i + 1 < word.size(); ++i)
    if (digit(word[i]) && word[i + 1] == 'g' && (i == 0 || !digit(word[i - 1])) &&
        (i + 2 == word.size() || (!letter(word[i + 2]) && !digit(word[i + 2]))))
      return true;
  return false;
}

/// What a job asks for that had one of this type; nullopt if the type refers to MIG but names no
/// profile.
std::optional<Request> request_of_type(std::string_view type, ShareRule rule) {
  if (auto profile = profile_at_end(type)) return Request{ByProfile{std::move(*profile)}, {}};
  if (speaks_of_mig(type)) return std::nullopt;
  return Request{ByShare{whole_gpu_share, rule}, {}};
}

/// A request, or why the job is left out.
struct Asked {
  Request request{Unknown{}, {}};
  std::optional<std::string> left_out;
};

/// What each GPU or instance of the job is. Whole GPUs of different types are alike.
Asked each_of(const Resources& resources, ShareRule rule) {
  Asked asked{Request{ByShare{whole_gpu_share, rule}, {}}, {}};
  for (std::size_t i = 0; i < resources.gpu_types.size(); ++i) {
    auto request = request_of_type(resources.gpu_types[i], rule);
    if (!request) return {{}, "unknown type of MIG"};
    if (i > 0 && *request != asked.request) return {{}, "instances of several sizes"};
    asked.request = std::move(*request);
  }
  return asked;
}

/// For a job that ran.
Asked request_of(const Resources& resources, const TraceOptions& options) {
  Asked asked = each_of(resources, options.rule);
  if (asked.left_out) return asked;
  asked.left_out = left_out_for_places(resources.gpus, options);
  if (asked.left_out) return asked;
  asked.request =
      request_of_several(std::move(asked.request), resources.gpus,
                         resources.nodes == 1 ? Together::node : Together::anywhere, options);
  return asked;
}

std::optional<std::string> left_out_because(const SacctRecord& record, const Asked& asked) {
  if (!record.started) return "never started";
  if (!record.ended) return "still running";
  if (asked.left_out) return asked.left_out;
  if (record.seconds <= 0) return "no run time";
  return std::nullopt;
}

/// Whether the job is known to have had or requested no GPU; a waiting job has nothing allocated
/// yet.
bool without_gpu(const SacctRecord& record) {
  const bool anything = record.resources.cpus || record.resources.memory;
  return record.resources.gpus == 0 && (anything || record.started);
}

/// Adds what a row says of the use of GPUs to the job's, which may be one of its steps.
Result<void> read_use(const std::vector<std::string_view>& row, const SacctColumns& columns,
                      const std::string& place, StepsUse& use) {
  Cells cells(place);
  const auto read = [&](std::optional<std::size_t> column, std::string_view name) {
    return column ? read_tres_usage(cells, row[*column], name) : SeenUse{};
  };
  const SeenUse average = read(columns.used_on_average, "TRESUsageInAve");
  const SeenUse peak = read(columns.used_at_most, "TRESUsageInMax");
  const bool known = average.busy_percent || average.memory || peak.busy_percent || peak.memory;
  if (!known && !cells.error) return {};
  const std::string_view id = row[columns.id];
  const double began = columns.elapsed_seconds || columns.elapsed
                           ? 0
                           : read_time(cells, row[columns.start], "Start");
  const double seconds = read_duration(cells, row, columns, began);
  if (cells.error) return std::unexpected(*cells.error);
  use.add(std::string(id.substr(0, id.find('.'))), average, peak, seconds);
  return {};
}

/// Of a node of its own, which is how DCGM names it; empty where it is a list.
std::string_view single_node(const SacctRecord& record) {
  return record.nodes.find_first_of("[,") == std::string::npos ? record.nodes : std::string_view();
}

/// What monitoring sampled takes the place of what Slurm accounted.
Result<void> join_use(std::vector<SacctRecord>& records, const TraceOptions& options,
                      std::map<std::string, std::size_t>& notes) {
  if (options.samples == nullptr) return {};
  std::vector<SampledJob> jobs;
  for (const SacctRecord& record : records)
    jobs.push_back({record.id, record.raw_id, single_node(record), record.began,
                    record.began + record.seconds,
                    static_cast<std::size_t>(record.resources.gpus)});
  const auto joined =
      join_samples(options.samples->text, options.samples->place, jobs, options.bad_lines);
  if (!joined) return std::unexpected(joined.error());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (joined->by_job[i].busy_percent)
      records[i].use.busy_percent = joined->by_job[i].busy_percent;
    if (joined->by_job[i].memory) records[i].use.memory = joined->by_job[i].memory;
  }
  notes["samples"] = joined->read;
  notes["samples_of_no_job"] = joined->of_no_job;
  notes["samples_ambiguous"] = joined->ambiguous;
  return {};
}

/// A job that had one whole GPU, with the size of what it used there and the speed that follows;
/// all else stays as it was asked for.
SpeedModel size_by_use(const SacctRecord& record, const TraceOptions& options, Request& request,
                       std::map<std::string, std::size_t>& notes) {
  const auto* const share = std::get_if<ByShare>(&request.wanted);
  const bool whole = share != nullptr && share->thousandths == whole_gpu_share;
  if (!options.by_use || !whole || request.places > 1 || !record.use.memory) return as_recorded();
  request.wanted = BySize{size_of_use(*record.use.memory), {}};
  ++notes["sized_by_use"];
  if (*record.use.memory == MiB{0}) ++notes["gpu_unused"];
  SpeedModel speed;
  if (record.use.busy_percent) speed.law = law_of_use(*record.use.busy_percent);
  return speed;
}

/// The jobs that had a GPU, in the order of the file.
struct SacctListing {
  std::vector<SacctRecord> records;
  NamingColumns program;
};

/// Ignored jobs are counted in the notes.
Result<SacctListing> read_listing(std::string_view text, const std::string& place,
                                  const TraceOptions& options,
                                  std::map<std::string, std::size_t>& notes) {
  Lines lines(text, place);
  std::string_view line;
  const auto header = lines.next(line);
  if (!header) return std::unexpected(header.error());
  if (!*header)
    return fail(ErrorKind::bad_input, place, "the file is empty", std::string(wanted_columns));
  const auto columns = find_columns(line, lines.place(), options);
  if (!columns) return std::unexpected(columns.error());
  std::vector<SacctRecord> records;
  StepsUse use;
  const auto read = each_row(
      options, [&] { return lines.next(line); },
      [&]() -> Result<void> {
        const auto row = split(line, '|');
        if (row.size() != columns->all)
          return fail(ErrorKind::bad_input, lines.place(),
                      fmt::format("the line has {} cells, the header {}", row.size(), columns->all),
                      "the line may be torn, or a cell such as JobName has a '|' in it: leave that "
                      "column out");
        if (auto used = read_use(row, *columns, lines.place(), use); !used) return used;
        if (row[columns->id].find('.') != std::string_view::npos) {
          ++notes["steps"];
          return {};
        }
        auto record = read_record(row, *columns, lines.place());
        if (!record) return std::unexpected(record.error());
        if (without_gpu(*record)) {
          ++notes["no_gpu"];
        } else {
          records.push_back(std::move(*record));
        }
        return {};
      });
  if (!read) return std::unexpected(read.error());
  for (SacctRecord& record : records)
    record.use = use.of(record.id, record.seconds, static_cast<double>(record.resources.gpus));
  return SacctListing{std::move(records), columns->program};
}

}  // namespace

Result<Workload> read_sacct(std::string_view text, const std::string& place,
                            const TraceOptions& options) {
  Workload workload;
  workload.notes = {{"steps", 0}, {"no_gpu", 0}};
  auto listing = read_listing(text, place, options, workload.notes);
  if (!listing) return std::unexpected(listing.error());
  std::vector<SacctRecord>& records = listing->records;
  if (records.empty())
    return fail(
        ErrorKind::bad_input, place, "the trace has no job with a GPU",
        "AllocTRES shows GPUs as gres/gpu where AccountingStorageTRES in slurm.conf tracks them");
  order(records, &SacctRecord::submitted, options);
  if (const auto joined = join_use(records, options, workload.notes); !joined)
    return std::unexpected(joined.error());

  Intake intake(workload, options, place);
  TraceDetails details(workload);
  FoldedNames names;
  for (const SacctRecord& record : records) names.count(record.program);
  std::unordered_set<std::string_view> ids;
  for (const SacctRecord& record : records) {
    const auto gpus = static_cast<double>(record.resources.gpus);
    Asked asked = request_of(record.resources, options);
    auto reason = left_out_because(record, asked);
    if (!reason && !ids.insert(record.id).second) reason = "the same job again";
    if (reason) {
      intake.leave_out(*reason, gpus, record.seconds);
      continue;
    }
    if (record.state != "COMPLETED")
      ++workload.notes[fmt::format("state_{}", lowercase(record.state))];
    SpeedModel speed = size_by_use(record, options, asked.request, workload.notes);
    const std::uint32_t number =
        details.of({names.of(record.program), record.user, record.account, record.resources.cpus,
                    record.resources.memory, std::max<std::uint32_t>(1, asked.request.places)});
    const auto taken = intake.take({.id = record.id,
                                    .after = record.submitted - records.front().submitted,
                                    .seconds = record.seconds,
                                    .gpus = gpus,
                                    .request = std::move(asked.request),
                                    .speed = std::move(speed),
                                    .details = number});
    if (!taken) return std::unexpected(taken.error());
  }
  note_options(workload, "sacct", options, {{"rule", std::string(name(options.rule))}});
  details.note(listing->program);
  if (!options.by_use) workload.options["sizes"] = "asked";
  return workload;
}

}  // namespace cleave
