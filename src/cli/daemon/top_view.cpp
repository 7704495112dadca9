#include "cli/daemon/top_view.hpp"

#include <algorithm>
#include <cctype>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/job_columns.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/daemon/top_gpus.hpp"

namespace cleave::cli {

namespace {

using Lines = std::vector<std::string>;

bool matches(const ApiJob& job, const std::string& filter) {
  const std::string all = fmt::format("{} {} {} {} {} {}", job.id, job.name, job.user, job.state,
                                      where_text(job), job.reason);
  return lowercase(all).contains(lowercase(filter));
}

Duration time_of(const ApiJob& job, Instant now) {
  const auto since = job.state == "queued" ? job.submitted_at : job.started_at;
  return since ? job.ended_at.value_or(now) - *since : Duration{};
}

std::vector<ApiJob> chosen_jobs(const TopState& state, const TopData& data) {
  std::vector<ApiJob> jobs;
  std::ranges::copy_if(data.jobs, std::back_inserter(jobs),
                       [&](const ApiJob& job) { return matches(job, state.filter); });
  sort_for_people(jobs);
  const std::string_view order = job_orders[state.order];
  if (order == "time")
    std::ranges::stable_sort(jobs, std::greater(),
                             [&](const ApiJob& job) { return time_of(job, data.now); });
  if (order == "memory")
    std::ranges::stable_sort(jobs, std::greater(),
                             [](const ApiJob& job) { return job.memory.value_or(MiB{}).value; });
  if (order == "name") std::ranges::stable_sort(jobs, {}, &ApiJob::name);
  if (order == "user") std::ranges::stable_sort(jobs, {}, &ApiJob::user);
  if (order == "newest") std::ranges::stable_sort(jobs, std::greater(), &ApiJob::id);
  return jobs;
}

Lines lines_in(const std::string& text) {
  Lines lines;
  const std::string_view all(text);
  for (const std::string_view line : split(all.substr(0, all.find_last_not_of('\n') + 1), '\n'))
    lines.emplace_back(line);
  return lines;
}

Lines help_lines() {
  return {"cleave top: GPUs and jobs, refreshed",
          "",
          "  up, down, j, k       a line up or down",
          "  page up, page down   a screen up or down; space is page down",
          "  home, end            the first lines, the last lines",
          "  /                    show only jobs with this text; Esc shows all again",
          "  s                    sort the jobs by something else",
          "  g                    only GPUs, only jobs, or both",
          "  t                    a line for each waiting job of an array, or one for all",
          "  ?                    this page; any key leaves it",
          "  q                    quit",
          "",
          "In the picture of a GPU a letter is an instance, a character for each memory slice:",
          "A in use, a idle; # is not Cleave's, . is free. ! behind it: it is drained, or",
          "something is wrong with it; R: it is reserved. `cleave top --once` shows it in full."};
}

/// What stands above, what scrolls, and what stands below.
struct Frame {
  Lines fixed, head, scrolling;  // head: the header of what scrolls
  std::size_t rows = 0;          // of what scrolls, on the screen
  bool jobs = false;             // what scrolls is a line for each job
};

/// Heading and troubles, in few lines.
Lines heading_lines(const TopData& data, ScreenSize size) {
  Lines lines = lines_in(top_heading(data.status, data.now));
  if (!data.trouble.empty()) lines.insert(lines.begin(), visible(data.trouble));
  const std::size_t most = std::max<std::size_t>(2, size.height / 5);
  if (lines.size() > most) {
    const std::size_t more = lines.size() - most + 1;
    lines.resize(most - 1);
    lines.push_back(
        fmt::format("... and {}; `cleave top --once` shows them", counted(more, "more line")));
  }
  return lines;
}

Frame frame_of(const TopState& state, const TopData& data, ScreenSize size) {
  using Shows = TopState::Shows;
  Frame frame;
  frame.fixed = heading_lines(data, size);
  frame.fixed.emplace_back();
  const std::size_t footer = 1;
  const std::size_t room = size.height - std::min(size.height, frame.fixed.size() + footer);
  if (state.shows == Shows::gpus) {
    frame.scrolling = gpu_lines(data.gpus, data.jobs, size.width, data.gpus.size() * 1000);
    frame.rows = room;
    return frame;
  }
  const std::vector<ApiJob> chosen = chosen_jobs(state, data);
  Lines jobs =
      lines_in(jobs_table(chosen, {data.now, size.width, data.with_user, {}, !state.tasks}));
  frame.jobs = jobs.size() == chosen.size() + 1;
  if (state.shows == Shows::both) {
    // A third for the jobs, or as many lines as they need.
    const std::size_t of_jobs = std::min(jobs.size(), std::max<std::size_t>(5, size.height / 3));
    const std::size_t most = room - std::min(room, of_jobs + 1);
    Lines gpus = gpu_lines(data.gpus, data.jobs, size.width, most);
    if (gpus.size() > most && most > 0) {
      gpus.resize(most);
      gpus.back() = "... more GPUs: g shows all";
    }
    frame.fixed.insert(frame.fixed.end(), gpus.begin(), gpus.end());
    frame.fixed.emplace_back();
  }
  frame.head = {jobs.front()};
  frame.scrolling.assign(jobs.begin() + 1, jobs.end());
  const std::size_t above = frame.fixed.size() + frame.head.size() + footer;
  frame.rows = size.height - std::min(size.height, above);
  return frame;
}

/// The largest sensible number of the first line.
std::size_t last_first(const Frame& frame) {
  return frame.scrolling.size() - std::min(frame.scrolling.size(), frame.rows);
}

std::string footer_text(const TopState& state, const Frame& frame, std::size_t width) {
  if (state.typing) return fmt::format("/{}_   Enter: done, Esc: all jobs", visible(state.filter));
  const std::size_t first = std::min(state.first, last_first(frame));
  const std::size_t last = std::min(frame.scrolling.size(), first + frame.rows);
  std::string text =
      fmt::format("{} {} to {} of {}", frame.jobs ? "jobs" : "lines",
                  std::min(first + 1, frame.scrolling.size()), last, frame.scrolling.size());
  if (!state.filter.empty()) text += fmt::format(" with '{}'", visible(state.filter));
  if (state.order > 0) text += fmt::format(", by {}", job_orders[state.order]);
  const std::string keys = "q quit  ? help  / filter  s sort  g GPUs";
  const std::size_t used = columns_of(text) + columns_of(keys);
  return used + 2 <= width ? text + std::string(width - used, ' ') + keys : text + "  ? help";
}

TopState typed(TopState state, Key key) {
  using Kind = Key::Kind;
  constexpr std::size_t longest = 60;
  if (key.kind == Kind::enter) state.typing = false;
  if (key.kind == Kind::escape) {
    state.typing = false;
    state.filter.clear();
  }
  if (key.kind == Kind::backspace && !state.filter.empty()) state.filter.pop_back();
  if (key.kind == Kind::character && state.filter.size() < longest) state.filter += key.character;
  state.first = 0;
  return state;
}

/// Keys that scroll, and what they do to the first line.
std::size_t scrolled(std::size_t first, Key key, std::size_t rows, std::size_t last) {
  using Kind = Key::Kind;
  const std::size_t page = std::max<std::size_t>(1, rows > 1 ? rows - 1 : 1);
  const auto is = [&](Kind kind, char c) {
    return key.kind == kind || (key.kind == Kind::character && key.character == c);
  };
  if (is(Kind::up, 'k')) return first - std::min<std::size_t>(first, 1);
  if (is(Kind::down, 'j')) return std::min(last, first + 1);
  if (is(Kind::page_up, 'b')) return first - std::min(first, page);
  if (is(Kind::page_down, ' ')) return std::min(last, first + page);
  if (key.kind == Kind::home) return 0;
  return key.kind == Kind::end ? last : first;
}

}  // namespace

std::vector<Key> take_keys(std::string& bytes, bool complete) {
  using Kind = Key::Kind;
  static constexpr std::pair<std::string_view, Kind> sequences[] = {
      {"[A", Kind::up},       {"OA", Kind::up},         {"[B", Kind::down}, {"OB", Kind::down},
      {"[5~", Kind::page_up}, {"[6~", Kind::page_down}, {"[H", Kind::home}, {"OH", Kind::home},
      {"[1~", Kind::home},    {"[F", Kind::end},        {"OF", Kind::end},  {"[4~", Kind::end}};
  std::vector<Key> keys;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const char c = bytes[at];
    if (c != '\x1b') {
      const bool plain = static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
      if (plain) keys.push_back({Kind::character, c});
      if (c == '\r' || c == '\n') keys.push_back({Kind::enter, 0});
      if (c == '\x7f' || c == '\b') keys.push_back({Kind::backspace, 0});
      ++at;
      continue;
    }
    const std::string_view rest = std::string_view(bytes).substr(at + 1);
    if (rest.empty() || (rest.front() != '[' && rest.front() != 'O')) {
      if (rest.empty() && !complete) break;
      keys.push_back({Kind::escape, 0});
      ++at;
      continue;
    }
    // Up to the letter or ~ that ends it; keys that mean nothing here are taken off too.
    std::size_t end = 1;
    while (end < rest.size() && !std::isalpha(static_cast<unsigned char>(rest[end])) &&
           rest[end] != '~')
      ++end;
    if (end >= rest.size() && !complete) break;
    const std::string_view sequence = rest.substr(0, end + 1);
    for (const auto& [text, kind] : sequences)
      if (text == sequence) keys.push_back({kind, 0});
    at += 1 + sequence.size();
  }
  bytes.erase(0, at);
  return keys;
}

TopState after_key(TopState state, Key key, const TopData& data, ScreenSize size) {
  if (state.typing) return typed(std::move(state), key);
  const char c = key.kind == Key::Kind::character ? key.character : '\0';
  if (c == 'q') {
    state.ends = true;
    return state;
  }
  if (state.help || c == '?' || c == 'h') {
    state.help = !state.help;
    return state;
  }
  if (c == '/') {
    state.typing = true;
    state.filter.clear();
    if (state.shows == TopState::Shows::gpus) state.shows = TopState::Shows::both;
  } else if (c == 's') {
    state.order = (state.order + 1) % std::size(job_orders);
  } else if (c == 't') {
    state.tasks = !state.tasks;
  } else if (c == 'g') {
    state.shows = static_cast<TopState::Shows>((static_cast<int>(state.shows) + 1) % 3);
  } else if (key.kind == Key::Kind::escape) {
    state.filter.clear();
  } else {
    const Frame frame = frame_of(state, data, size);
    const std::size_t last = last_first(frame);
    state.first = scrolled(std::min(state.first, last), key, frame.rows, last);
    return state;
  }
  state.first = 0;
  return state;
}

std::vector<std::string> top_screen(const TopState& state, const TopData& data, ScreenSize size) {
  if (size.height == 0 || size.width == 0) return {};
  Lines lines;
  if (state.help) {
    lines = help_lines();
  } else {
    const Frame frame = frame_of(state, data, size);
    lines = frame.fixed;
    lines.insert(lines.end(), frame.head.begin(), frame.head.end());
    const std::size_t first = std::min(state.first, last_first(frame));
    for (std::size_t i = first; i < std::min(frame.scrolling.size(), first + frame.rows); ++i)
      lines.push_back(frame.scrolling[i]);
    const std::string footer = footer_text(state, frame, size.width);
    lines.resize(size.height - 1);
    lines.push_back(footer);
  }
  if (lines.size() > size.height) lines.resize(size.height);
  for (std::string& line : lines) line = cut_to(line, size.width);
  return lines;
}

std::string top_heading(const ApiStatus& status, Instant now) {
  std::string text =
      fmt::format("cleaved {}{}", visible(status.version), status.simulated ? ", simulated" : "");
  if (!status.scheduler.empty()) text += fmt::format(", scheduler {}", visible(status.scheduler));
  if (status.started_at)
    text += fmt::format(", up {}", human(std::max(now - *status.started_at, Duration{})));
  text += fmt::format("\n{} running, {} starting, {} stopping, {} waiting{}\n", status.jobs.running,
                      status.jobs.starting, status.jobs.stopping, status.jobs.queued,
                      status.paused ? "; PAUSED, no jobs are started" : "");
  for (const ApiPredictionErrors& each : status.predictions)
    if (!each.by)
      text += fmt::format("predicted times of {}: median error {:.1f} %, 90 % within {:.1f} %\n",
                          counted(static_cast<std::size_t>(each.count), "finished job"),
                          100 * each.median, 100 * each.p90);
  for (const std::string& trouble : status.troubles)
    text += fmt::format("trouble: {}\n", visible(trouble));
  return text;
}

}  // namespace cleave::cli
