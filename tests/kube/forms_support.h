// The objects of BERTH_TEST_FORMS: a file with the two forms of random objects, by the API server's own code (scripts/api-forms).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace berth::kube::testing {

class Forms {
 public:
  // Whether there is such a file.
  static bool given() { return std::getenv("BERTH_TEST_FORMS") != nullptr; }
  Forms() : in_(std::getenv("BERTH_TEST_FORMS"), std::ios::binary) {}
  explicit operator bool() const { return static_cast<bool>(in_); }
  // The next object; false behind the last one.
  bool next(std::string& binary, std::string& json) { return text(binary) && text(json); }

 private:
  bool text(std::string& out) {
    unsigned char head[4];
    if (!in_.read(reinterpret_cast<char*>(head), sizeof head)) return false;
    out.resize(std::size_t{head[0]} << 24 | std::size_t{head[1]} << 16 | std::size_t{head[2]} << 8 | head[3]);
    return static_cast<bool>(in_.read(out.data(), static_cast<std::streamsize>(out.size())));
  }

  std::ifstream in_;
};

}  // namespace berth::kube::testing
