#pragma once
// A bundle: a certification as one JSON document, with everything that was asked and answered, of
// the GPU and of the simulated GPU of its model, so that the report can be made again anywhere.

#include <optional>
#include <string>

#include "base/result.hpp"
#include "certify/compare.hpp"

namespace cleave::certify {

/// The GPU and where it was.
struct Facts {
  std::string at;                    // "2026-11-26T14:05:00Z"
  std::string system;                // "Linux 6.18.0 x86_64"
  std::string library;               // the file that was asked
  bool root = false;                 // whether the answers are those that root gets
  bool simulated = false;            // it was itself a simulated GPU
  bool instant = false;              // whose instances are made without delay
  bool everybody = false;            // and by every user
  std::string name, uuid;            // the driver's
  std::string model;                 // the key of the simulated GPU's model
  std::string driver, nvml;          // versions
  std::optional<std::int64_t> cuda;  // 13000
  bool mig = false;                  // whether MIG is on
};

/// A certification.
struct Bundle {
  Facts facts;
  Answers gpu, simulated;
  std::string recording;  // of the door to GPUs (device/recording.hpp), for this GPU
};

/// One answer as JSON and back.
Json to_json(const Answer& answer);
[[nodiscard]] Result<Answer> answer_from(const Json& json, const std::string& place);

/// The document, with the differences that `checks` has.
std::string text_of(const Bundle& bundle, const std::vector<Check>& checks);
/// Refuses damaged bundles with the place. The list of differences is not read: it follows from the
/// answers.
[[nodiscard]] Result<Bundle> parse_bundle(std::string_view text, const std::string& place);

}  // namespace cleave::certify
