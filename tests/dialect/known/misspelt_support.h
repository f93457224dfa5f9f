// Misspellings of a text of manifests.
#pragma once

#include <string>
#include <vector>

#include "dialect/known/misspelt.h"
#include "text/document.h"

namespace berth::dialect::testing {

// The errors in it, as a file f.yaml.
inline std::vector<Error> misspellings(const std::string& text) {
  static const Misspellings spelling;
  std::vector<Error> out;
  auto documents = text::parse_documents(text, "f.yaml");
  if (!documents) return {documents.error()};
  for (const auto& document : *documents) {
    for (const auto& one : spelling.find(document, document.root()))
      out.push_back(Error{ErrorCode::kInvalid, one.message, one.place});
  }
  return out;
}

// With their places.
inline std::vector<std::string> found(const std::string& text) {
  std::vector<std::string> out;
  for (const Error& one : misspellings(text)) out.push_back(one.str());
  return out;
}

// Without.
inline std::vector<std::string> messages(const std::string& text) {
  std::vector<std::string> out;
  for (const Error& one : misspellings(text)) out.push_back(one.message);
  return out;
}

}  // namespace berth::dialect::testing
