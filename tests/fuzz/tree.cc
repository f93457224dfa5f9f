// Documents: what is read, written as JSON, is read as the same tree.
#include "fuzz/fuzz.h"
#include "text/document.h"
#include "text/json.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  text::Limits limits;
  limits.max_nodes = 100'000;
  limits.max_alias_nodes = 100'000;
  const auto documents = text::parse_documents(std::string(fuzz::text_of(data, size)), "input", limits);
  if (!documents) {
    fuzz::require(!documents.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  for (const auto& document : *documents) {
    const std::string json = text::to_json(document.root());
    const auto again = text::parse_json(json, "again");
    fuzz::require(again.has_value(), "what was written is JSON: " + json);
    fuzz::require(text::to_json(again->root()) == json, "it is read as it was written: " + json);
  }
  return 0;
}
