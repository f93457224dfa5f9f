// Kubernetes quantities ("100m", "1.5", "2Gi", "1e3"), exact.
//
// Grammar (as in apimachinery's resource.Quantity): an optional sign, digits with an optional point, then one
// of the suffixes n u m (none) k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent e3 / E-3. No spaces. A
// value is carried as an integer in units of 1/scale: scale 1000 for CPU in millicores, 1 for bytes or
// devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::text {

struct Quantity {
  std::int64_t value =
      0;              // ceil(quantity * scale): away from zero for positive, as Kubernetes rounds requests up
  bool exact = true;  // whether quantity * scale was whole
};

// Parses, multiplies by `scale` (a power of ten, 1 to 10^9), rounds up. Negative quantities are parsed;
// whether they are allowed is the caller's matter. Errors: kInvalid for a wrong text, kExhausted where the
// result does not fit. Cost: linear in the text, at most 64 characters.
Result<Quantity> parse_quantity_exact(std::string_view text, std::int64_t scale);
// The value of parse_quantity_exact.
Result<std::int64_t> parse_quantity(std::string_view text, std::int64_t scale);

// The same, with the nearest number that fits where the result does not: Kubernetes caps quantities at 2^63-1.
Result<std::int64_t> parse_quantity_capped(std::string_view text, std::int64_t scale);

enum class QuantityForm : std::uint8_t {
  kDecimal,  // 1500m, 2, 4k
  kBinary,   // 512Mi, 2Gi; falls back to decimal digits where no power of 1024 divides
};
// The shortest canonical text of value/scale, in the sense of Kubernetes: parsing it gives the same value
// back.
std::string format_quantity(std::int64_t value, std::int64_t scale,
                            QuantityForm form = QuantityForm::kDecimal);

}  // namespace berth::text
