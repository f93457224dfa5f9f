// Decision logs on a fresh engine: any events and times that can be read are taken in or refused, and the engine's own audit holds
// after every decision.
#include "observe/replay.h"

#include "fuzz/fuzz.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = observe::LogReader::memory(std::string(fuzz::text_of(data, size)), "input");
  observe::ReplayOptions options;
  options.audit = true;
  const auto report = observe::replay(reader, options);
  fuzz::require(report.has_value() || report.error().code != ErrorCode::kInternal,
                "the audit holds: " + (report ? std::string() : report.error().str()));
  return 0;
}
