// cleave-describe-api DOCS: writes what of DOCS/openapi.json and DOCS/api.md follows from the
// tables of the records.

#include <fstream>
#include <iostream>
#include <sstream>

#include "api_description.hpp"

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::cerr << "cleave-describe-api: " << path << " cannot be written\n";
  return static_cast<bool>(file);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: cleave-describe-api DOCS\n";
    return 2;
  }
  const std::string docs = words[1], openapi = docs + "/openapi.json", page = docs + "/api.md";
  const bool written = write(openapi, cleave::trial::with_schemas(text_of(openapi))) &&
                       write(page, cleave::trial::with_fields(text_of(page)));
  return written ? 0 : 1;
}
