#pragma once
// What one command found, as a page: a single HTML file that needs no network and opens from disk.
// The page's own part is built from page/ and is the same for every report; what it shows is a
// document in it (docs/formats.md, Report).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"

namespace cleave::report {

/// A word and what it stands for, for people: "fleet", "4 x A100-40GB".
using Line = std::pair<std::string, std::string>;

/// Times of jobs by the share of jobs that have at most that, and how many there are.
Json distributions(const std::vector<JobOutcome>& outcomes);

/// What each user held, or null where no job names one.
struct UserShare {
  std::string user;
  std::size_t jobs = 0;
  double share = 0;  // of the compute-slice seconds that jobs held
};

/// One run of a scheduler.
struct RunPart {
  std::string scheduler;
  std::uint64_t seed = 0;
  std::vector<Line> summary;  // in words, as on the terminal
  std::string figures;        // JSON: the figures of the run
  std::string recorded;       // JSON: see RunRecorder; empty where the run was not recorded
  std::string distributions;  // JSON
  std::vector<UserShare> users;
};

/// Everything that a report has.
struct Report {
  std::string title;                 // "cleave simulate"
  std::string version;               // of Cleave
  std::vector<std::string> command;  // to have it again
  std::vector<Line> asked;
  std::vector<std::string> assumed;  // what the answer rests on
  std::vector<RunPart> runs;
  std::string comparison;  // JSON of `cleave compare --json`; empty where there is none
  std::string plan;        // JSON of plan_part(); empty where there is none
  std::string advice;      // JSON of `cleave advise --json`; empty where there is none
};

/// The document that the page shows.
std::string document_of(const Report& report);

/// The whole file.
std::string page_of(const Report& report);

/// The page's own part, with two places to fill: its title and its document.
std::string_view page_text();

}  // namespace cleave::report
