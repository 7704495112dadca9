#include "simulate/advice/candidates.hpp"

namespace cleave {

namespace {

struct CandidateRow {
  std::string_view spec;
  CandidateRole role;
};

constexpr CandidateRow table[] = {
    {"full-gpu", CandidateRole::whole_gpus},
    {"full-gpu:backfill=easy", CandidateRole::whole_gpus},
    {"adaptive", CandidateRole::changing},
    {"scheme-a", CandidateRole::changing},
    {"scheme-b", CandidateRole::changing},
    {"scheme-b:backfill=easy", CandidateRole::changing},
    {"online", CandidateRole::changing},
    {"online:migration=off", CandidateRole::changing},
    {"online:migration=off;backfill=easy", CandidateRole::changing},
    {"dyna-p", CandidateRole::changing},
    {"miso:checkpoint=moved", CandidateRole::changing},
    {"static:layout=best", CandidateRole::hindsight},
    {"oracle", CandidateRole::hindsight},
};

}  // namespace

std::string_view name(CandidateRole role) {
  switch (role) {
    case CandidateRole::whole_gpus:
      return "whole GPUs";
    case CandidateRole::fixed_layout:
      return "fixed layout";
    case CandidateRole::changing:
      return "MIG";
    case CandidateRole::hindsight:
      break;
  }
  return "hindsight";
}

std::vector<AdviceCandidate> advice_candidates() {
  std::vector<AdviceCandidate> all;
  for (const CandidateRow& row : table) all.push_back({*parse_scheduler(row.spec), row.role});
  return all;
}

}  // namespace cleave
