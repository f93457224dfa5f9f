#include "text/quantity.h"

#include <array>
#include <limits>
#include <optional>

#include "text/decimal.h"

namespace berth::text {
namespace {

constexpr std::size_t kMaxText = 64;
constexpr std::int64_t kMaxScale = 1'000'000'000;

struct Suffix {
  std::string_view text;
  int ten = 0;  // power of ten
  int two = 0;  // power of two
};

constexpr std::array<Suffix, 16> kSuffixes{{{"", 0, 0},
                                            {"n", -9, 0},
                                            {"u", -6, 0},
                                            {"m", -3, 0},
                                            {"k", 3, 0},
                                            {"M", 6, 0},
                                            {"G", 9, 0},
                                            {"T", 12, 0},
                                            {"P", 15, 0},
                                            {"E", 18, 0},
                                            {"Ki", 0, 10},
                                            {"Mi", 0, 20},
                                            {"Gi", 0, 30},
                                            {"Ti", 0, 40},
                                            {"Pi", 0, 50},
                                            {"Ei", 0, 60}}};

// A natural number of up to 640 bits: enough for 64 digits, a power of two and a scale, so nothing is lost.
class Natural {
 public:
  // False where it no longer fits.
  bool times_plus(std::uint32_t factor, std::uint32_t addend) {
    std::uint64_t carry = addend;
    for (std::uint32_t& limb : limbs_) {
      carry += std::uint64_t{limb} * factor;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return carry == 0;
  }
  // Divides, returns the remainder.
  std::uint32_t divide(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      rest = (rest << 32) | limbs_[i];
      limbs_[i] = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
    return static_cast<std::uint32_t>(rest);
  }
  bool zero() const {
    for (const std::uint32_t limb : limbs_) {
      if (limb != 0) return false;
    }
    return true;
  }
  std::optional<std::uint64_t> value() const {
    for (std::size_t i = 2; i < limbs_.size(); ++i) {
      if (limbs_[i] != 0) return std::nullopt;
    }
    return (std::uint64_t{limbs_[1]} << 32) | limbs_[0];
  }

 private:
  std::array<std::uint32_t, 20> limbs_{};
};

struct Rounded {
  std::uint64_t magnitude;  // rounded up
  bool exact;
};

// digits * 10^ten * 2^two, for up to 18 digits and small powers, which is nearly every quantity.
std::optional<Rounded> multiply_small(const Decimal& number, std::int64_t ten, int two) {
  if (number.whole.size() + number.fraction.size() > 18 || ten > 18 || ten < -30 || (ten > 0 && two > 0)) {
    return std::nullopt;
  }
  Uint128 value = 0;
  for (const std::string_view part : {number.whole, number.fraction}) {
    for (const char c : part) value = value * 10 + static_cast<unsigned>(c - '0');
  }
  value <<= two;  // below 2^60 * 2^60
  Uint128 power = 1;
  for (std::int64_t i = ten < 0 ? -ten : ten; i > 0; --i) power *= 10;
  const bool exact = ten >= 0 || value % power == 0;
  value = ten >= 0 ? value * power : value / power + (exact ? 0 : 1);  // below 10^36
  if (value > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return Rounded{static_cast<std::uint64_t>(value), exact};
}

// The same for anything; nullopt where the result has more than 64 bits.
std::optional<Rounded> multiply_large(const Decimal& number, std::int64_t ten, int two) {
  Natural value;
  for (const std::string_view part : {number.whole, number.fraction}) {
    for (const char c : part) {
      if (!value.times_plus(10, static_cast<std::uint32_t>(c - '0'))) return std::nullopt;
    }
  }
  if (value.zero()) return Rounded{0, true};
  for (int i = 0; i < two; ++i) {
    if (!value.times_plus(2, 0)) return std::nullopt;
  }
  for (; ten > 0; --ten) {
    if (!value.times_plus(10, 0)) return std::nullopt;
  }
  bool exact = true;
  for (; ten < 0; ++ten) {
    if (value.divide(10) != 0) exact = false;
    if (value.zero()) {
      exact = false;
      break;
    }
  }
  if (!exact && !value.times_plus(1, 1)) return std::nullopt;
  const auto magnitude = value.value();
  if (!magnitude) return std::nullopt;
  return Rounded{*magnitude, exact};
}

// The suffix that was probably meant by one that is almost right: "2 Gi", "16GB", "8gi", "4K".
std::string meant(std::string_view text) {
  const auto number = scan_decimal(text);
  if (!number || number->length == 0 || text.size() > kMaxText) return {};
  std::string suffix;
  for (const char c : text.substr(number->length)) {
    if (c == ' ') continue;
    suffix += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (suffix.size() > 1 && suffix.back() == 'b') suffix.pop_back();
  const std::string_view digits = text.substr(0, number->length);
  static constexpr std::string_view kBinary[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  for (const std::string_view unit : kBinary) {
    const char first = static_cast<char>(unit[0] - 'A' + 'a');
    if (suffix == std::string{first, 'i'}) return fmt::format("{}{}", digits, unit);
    if (suffix == std::string{first})
      return fmt::format("{}{} or {}{}", digits, unit == "Ki" ? std::string_view("k") : unit.substr(0, 1),
                         digits, unit);
  }
  return {};
}

std::optional<int> power_of_ten(std::int64_t scale) {
  int power = 0;
  for (; scale > 1 && scale % 10 == 0; scale /= 10) ++power;
  return scale == 1 ? std::optional(power) : std::nullopt;
}

}  // namespace

Result<Quantity> parse_quantity_exact(std::string_view text, std::int64_t scale) {
  const auto scale_power = power_of_ten(scale);
  if (!scale_power || scale > kMaxScale)
    return fail(ErrorCode::kInternal, "scale {} is no power of ten up to 10^9", scale);
  const auto wrong = [&] {
    const std::string near = meant(text);
    if (!near.empty())
      return fail(ErrorCode::kInvalid, "'{}' is not a quantity; did you mean {}?", text.substr(0, kMaxText),
                  near);
    return fail(ErrorCode::kInvalid, "'{}' is not a quantity; write for example 2, 500m, 1.5, 2Gi or 1e3",
                text.substr(0, kMaxText));
  };
  if (text.size() > kMaxText) return wrong();
  const auto number = scan_decimal(text);
  if (!number) return wrong();
  const std::string_view rest = text.substr(number->length);
  const Suffix* suffix = nullptr;
  for (const Suffix& candidate : kSuffixes) {
    if (candidate.text == rest) suffix = &candidate;
  }
  const bool has_exponent =
      number->exponent != 0 || text.substr(0, number->length).find_first_of("eE") != std::string_view::npos;
  if (suffix == nullptr || (has_exponent && !rest.empty())) return wrong();

  const std::int64_t ten =
      number->exponent + suffix->ten + *scale_power - static_cast<std::int64_t>(number->fraction.size());
  std::optional<Rounded> rounded = multiply_small(*number, ten, suffix->two);
  if (!rounded) rounded = multiply_large(*number, ten, suffix->two);
  const std::uint64_t limit =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (number->negative ? 1 : 0);
  if (!rounded || rounded->magnitude > limit) {
    return fail(ErrorCode::kExhausted, "quantity '{}' is too large; the most is {}", text,
                format_quantity(std::numeric_limits<std::int64_t>::max(), scale));
  }
  const std::uint64_t bits = number->negative ? ~rounded->magnitude + 1 : rounded->magnitude;
  return Quantity{static_cast<std::int64_t>(bits), rounded->exact};
}

Result<std::int64_t> parse_quantity(std::string_view text, std::int64_t scale) {
  BERTH_ASSIGN(const Quantity quantity, parse_quantity_exact(text, scale));
  return quantity.value;
}

Result<std::int64_t> parse_quantity_capped(std::string_view text, std::int64_t scale) {
  const auto quantity = parse_quantity_exact(text, scale);
  if (quantity) return quantity->value;
  if (quantity.error().code != ErrorCode::kExhausted) return tl::unexpected<Error>(quantity.error());
  return text.starts_with('-') ? std::numeric_limits<std::int64_t>::min()
                               : std::numeric_limits<std::int64_t>::max();
}

std::string format_quantity(std::int64_t value, std::int64_t scale, QuantityForm form) {
  if (value == 0) return "0";
  const std::string sign = value < 0 ? "-" : "";
  const std::uint64_t magnitude =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  const auto unit = static_cast<std::uint64_t>(scale);
  if (form == QuantityForm::kBinary && magnitude % unit == 0) {
    static constexpr std::array<std::string_view, 7> kBinary{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    std::uint64_t whole = magnitude / unit;
    std::size_t power = 0;
    for (; whole % 1024 == 0; whole /= 1024) ++power;
    return fmt::format("{}{}{}", sign, whole, kBinary[power]);
  }
  // In nanos first, then the largest power of 1000 that divides.
  static constexpr std::array<std::string_view, 10> kDecimal{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  Uint128 nanos = magnitude;
  for (std::int64_t s = scale; s < kMaxScale; s *= 10) nanos *= 10;
  std::size_t power = 0;
  for (; nanos % 1000 == 0 && power + 1 < kDecimal.size(); nanos /= 1000) ++power;
  std::string digits;
  for (Uint128 rest = nanos; rest > 0; rest /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return fmt::format("{}{}{}", sign, digits, kDecimal[power]);
}

}  // namespace berth::text
