// Whole files that the controllers beside a test cluster read and write.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "base/result.h"

namespace berth::e2e {

inline Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(ErrorCode::kNotFound, "cannot read {}", path);
  return text.str();
}

inline Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return fail(ErrorCode::kUnavailable, "cannot write {}", path);
  return {};
}

}  // namespace berth::e2e
