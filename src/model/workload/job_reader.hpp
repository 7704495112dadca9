#pragma once
// Jobs of a workload, each from its document, in either form of the file.

#include <string>
#include <unordered_set>

#include "base/json.hpp"
#include "model/workload/asked_request.hpp"

namespace cleave {

/// Gathers jobs until something is wrong, which `error` then says; the readers of all documents
/// share it.
class JobReader {
 public:
  JobReader(std::optional<Error>& error, const JobSizers& sizers)
      : error_(&error), sizers_(sizers) {}

  /// `place` names the document in errors.
  void read(const Json& document, const std::string& place);

  Workload workload;

 private:
  std::optional<Error>* error_;
  JobSizers sizers_;
  std::unordered_set<std::string> ids_;
};

}  // namespace cleave
