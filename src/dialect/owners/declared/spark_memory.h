// Amounts as Spark's configuration writes them. Cost: linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::dialect {

// Whole MiB of "1g", "1536m", "2048" (MiB where no unit is named), rounded down as Spark does. Nothing: it is no such text, or too large.
std::optional<std::int64_t> spark_mebibytes(std::string_view text);

// The memory that Spark asks for beyond that of a JVM: a part of it, and 384 MiB at least. `factor`: "0.1". Nothing: that is no number.
std::optional<std::int64_t> spark_overhead(std::int64_t mebibytes, std::string_view factor);

}  // namespace berth::dialect
