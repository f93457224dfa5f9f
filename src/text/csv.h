// Comma-separated tables with a header, streamed (RFC 4180: quotes, doubled quotes, line breaks inside
// quotes).
//
//   BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(source, {"submit_time", "gpus"}));
//   for (;;) {
//     BERTH_ASSIGN(bool more, csv.next());
//     if (!more) break;
//     BERTH_ASSIGN(std::int64_t gpus, csv.integer(1));          // by place in the list of required columns
//   }
//
// Columns may stand in any order; further ones are ignored. Errors name file, line and column name: a missing
// column, a record with another number of fields than the header, a number that is none, a stray quote, a
// record beyond the bound. Memory: one record. Empty lines are skipped; a byte-order mark is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/source.h"

namespace berth::text {

struct CsvOptions {
  char separator = ',';
  std::size_t max_record_bytes = std::size_t{1} << 20;
  std::size_t max_columns = 10'000;
};

class CsvReader {
 public:
  // Reads the header. The columns are then numbered as in `required` followed by `optional`; an optional
  // column that the file lacks reads as empty. `source` must outlive the reader.
  static Result<CsvReader> open(ByteSource& source, std::vector<std::string> required,
                                std::vector<std::string> optional = {}, const CsvOptions& options = {});

  // Goes to the next record; false at the end.
  Result<bool> next();

  // Whether the file has the column.
  bool has(std::size_t column) const { return where_[column] != kAbsent; }
  // Fields of the current record; views are valid until next().
  std::string_view field(std::size_t column) const;
  Result<std::int64_t> integer(std::size_t column,
                               std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                               std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  // As integer(), with `otherwise` where the field is empty.
  Result<std::int64_t> integer_or(std::size_t column, std::int64_t otherwise,
                                  std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                                  std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  Result<double> number(std::size_t column) const;  // finite

  // Line where the current record starts, from 1.
  std::uint32_t line() const { return record_line_; }
  // All column names of the file, in its order.
  const std::vector<std::string>& header() const { return header_; }
  // An error at a field of the current record: "file:line: column 'gpus': message".
  tl::unexpected<Error> error(std::size_t column, std::string_view message) const;

 private:
  static constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

  CsvReader(ByteSource& source, const CsvOptions& options);
  Result<bool> read_record();
  // Takes what is left of a quoted field, as far as the buffer has it. True: its closing quote came, or one of a pair.
  bool read_quoted();
  Result<bool> fill();
  tl::unexpected<Error> fail_here(std::string message) const;

  ByteSource* source_;
  CsvOptions options_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint32_t next_line_ = 1;
  std::uint32_t record_line_ = 0;
  std::string record_;              // the fields of the record, one after the other
  std::vector<std::size_t> ends_;   // where each field ends in record_
  std::vector<std::string> names_;  // required, then optional
  std::vector<std::size_t> where_;  // place in the file of each of names_
  std::vector<std::string> header_;
};

}  // namespace berth::text
