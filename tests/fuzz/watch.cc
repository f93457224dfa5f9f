// A list and a watch stream, in chunks as they come: the lines do not depend on where the chunks end.
#include <vector>

#include "fuzz/fuzz.h"
#include "kube/watch_json.h"

using namespace berth;

namespace {

constexpr std::size_t kPadding = 64;

std::vector<std::string> lines_of(std::string_view text, std::size_t chunk) {
  std::vector<std::string> out;
  kube::LineSplitter splitter(4096);
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    std::string piece(text.substr(at, chunk));
    const std::size_t length = piece.size();
    piece.resize(length + kPadding, '\0');
    const bool fine = splitter.feed(std::string_view(piece).substr(0, length), [&](std::string_view line) {
      out.emplace_back(line);
      return true;
    });
    if (!fine) return {};
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const auto whole = lines_of(text, text.size() + 1);
  const auto cut = lines_of(text, 1 + data[0] % 64);
  if (!whole.empty() && !cut.empty()) fuzz::require(whole == cut, "the same lines, however they come");
  kube::WatchJson json;
  for (std::string line : whole) {
    line.resize(line.size() + kPadding, '\0');
    const std::string_view view = std::string_view(line).substr(0, line.size() - kPadding);
    const auto watch = json.line(view);
    if (!watch) continue;
    const std::string object(watch->object);
    (void)kube::WatchJson::ends_initial_events(object);
    (void)json.meta(watch->object);
  }
  std::string body(text);
  (void)json.page(body, [&](std::string_view object) -> Status {
    (void)json.meta(object);
    return {};
  });
  return 0;
}
