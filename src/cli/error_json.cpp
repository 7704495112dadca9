#include "cli/error_json.hpp"

namespace cleave::cli {

Json error_json(const Error& error) {
  return {{"kind", name(error.kind)},
          {"place", error.place},
          {"message", error.message},
          {"remedy", error.remedy}};
}

}  // namespace cleave::cli
