// Quantities, times and durations: the canonical text of a value is read as the value.
#include "fuzz/fuzz.h"
#include "text/quantity.h"
#include "text/time.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  for (const std::int64_t scale : {1, 1000}) {
    const auto value = text::parse_quantity(text, scale);
    if (!value) continue;
    for (const auto form : {text::QuantityForm::kDecimal, text::QuantityForm::kBinary}) {
      const std::string canonical = text::format_quantity(*value, scale, form);
      const auto again = text::parse_quantity_exact(canonical, scale);
      fuzz::require(again && again->exact && again->value == *value, "quantity " + canonical);
    }
  }
  if (const auto time = text::parse_time_ms(text)) {
    const std::string canonical = text::format_time_ms(*time);
    const auto again = text::parse_time_ms(canonical);
    fuzz::require(again && *again == *time, "time " + canonical);
  }
  if (const auto duration = text::parse_duration_ms(text)) {
    const std::string canonical = text::format_duration_ms(*duration);
    const auto again = text::parse_duration_ms(canonical);
    fuzz::require(again && *again == *duration, "duration " + canonical);
  }
  return 0;
}
