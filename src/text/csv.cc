#include "text/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "text/fields.h"

namespace berth::text {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{128} << 10;

}  // namespace

CsvReader::CsvReader(ByteSource& source, const CsvOptions& options)
    : source_(&source), options_(options), buffer_(kReadAtOnce) {}

tl::unexpected<Error> CsvReader::fail_here(std::string message) const {
  return tl::unexpected<Error>(
      Error{ErrorCode::kInvalid, std::move(message), SourcePlace{source_->name(), record_line_, 0}});
}

tl::unexpected<Error> CsvReader::error(std::size_t column, std::string_view message) const {
  return fail_here(fmt::format("column '{}': {}", names_[column], message));
}

Result<bool> CsvReader::fill() {
  begin_ = end_ = 0;
  BERTH_ASSIGN(end_, source_->read({buffer_.data(), buffer_.size()}));
  return end_ > 0;
}

bool CsvReader::read_quoted() {
  const char* const at = buffer_.data() + begin_;
  const char* const end = buffer_.data() + end_;
  const char* stop = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
  const char* run_end = stop == nullptr ? end : stop;
  record_.append(at, run_end);
  next_line_ += static_cast<std::uint32_t>(std::count(at, run_end, '\n'));
  begin_ = static_cast<std::size_t>(run_end - buffer_.data()) + (stop == nullptr ? 0 : 1);
  return stop != nullptr;
}

// Reads one record into record_ and ends_; false at the end of the input.
Result<bool> CsvReader::read_record() {
  enum class State { kFieldStart, kPlain, kQuoted, kQuoteInQuoted };
  record_.clear();
  ends_.clear();
  State state = State::kFieldStart;
  record_line_ = next_line_;
  const char separator = options_.separator;
  const auto end_field = [&] {
    ends_.push_back(record_.size());
    state = State::kFieldStart;
  };
  for (;;) {
    if (begin_ == end_) {
      BERTH_ASSIGN(const bool more, fill());
      if (!more) {
        if (state == State::kQuoted)
          return fail_here("the file ends inside a quoted field; its closing quote is missing");
        if (state == State::kFieldStart && ends_.empty()) return false;
        end_field();
        return true;
      }
    }
    if (record_.size() > options_.max_record_bytes || ends_.size() > options_.max_columns) {
      auto failure = fail_here(fmt::format("the record has more than {} bytes or {} fields",
                                           options_.max_record_bytes, options_.max_columns));
      failure.value().code = ErrorCode::kExhausted;
      return failure;
    }
    const char* at = buffer_.data() + begin_;
    const char* const end = buffer_.data() + end_;
    if (state == State::kQuoted) {
      if (read_quoted()) state = State::kQuoteInQuoted;
      continue;
    }
    const char* run_end = at;
    if (state != State::kQuoteInQuoted) {
      while (run_end != end && *run_end != separator && *run_end != '\n' && *run_end != '"') ++run_end;
    }
    if (run_end != at) {
      record_.append(at, run_end);
      begin_ = static_cast<std::size_t>(run_end - buffer_.data());
      state = State::kPlain;
      continue;
    }
    ++begin_;
    const char c = *at;
    if (c == separator) {
      end_field();
      if (ends_.size() > options_.max_columns) continue;
    } else if (c == '\n') {
      ++next_line_;
      const bool plain = state == State::kPlain;
      const std::size_t field_start = ends_.empty() ? 0 : ends_.back();
      if (plain && record_.size() > field_start && record_.back() == '\r') record_.pop_back();
      if (ends_.empty() && record_.empty() && state != State::kQuoteInQuoted) {  // an empty line
        record_line_ = next_line_;
        state = State::kFieldStart;
        continue;
      }
      end_field();
      return true;
    } else if (c == '"') {
      if (state == State::kPlain)
        return fail_here(
            fmt::format("field {} has a quote inside; put the whole field in quotes and double the quote",
                        ends_.size() + 1));
      if (state == State::kQuoteInQuoted) record_.push_back('"');
      state = State::kQuoted;
    } else if (c != '\r') {  // only after a closing quote: a carriage return belongs to the end of the line
      return fail_here(fmt::format("field {} goes on after its closing quote", ends_.size() + 1));
    }
  }
}

Result<CsvReader> CsvReader::open(ByteSource& source, std::vector<std::string> required,
                                  std::vector<std::string> optional, const CsvOptions& options) {
  CsvReader reader(source, options);
  BERTH_ASSIGN(const bool some, reader.read_record());
  if (!some) {
    reader.record_line_ = 1;
    return reader.fail_here("the file is empty; its first line must name the columns");
  }
  std::size_t from = 0;
  for (const std::size_t to : reader.ends_) {
    std::string name = reader.record_.substr(from, to - from);
    if (from == 0 && name.starts_with("\xEF\xBB\xBF")) name.erase(0, 3);
    if (name.ends_with('\r')) name.pop_back();
    reader.header_.push_back(std::move(name));
    from = to;
  }
  const std::size_t needed = required.size();
  reader.names_ = std::move(required);
  for (std::string& name : optional) reader.names_.push_back(std::move(name));
  for (std::size_t i = 0; i < reader.names_.size(); ++i) {
    const std::string& name = reader.names_[i];
    const auto& header = reader.header_;
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      reader.where_.push_back(kAbsent);
      if (i >= needed) continue;
      const std::vector<std::string_view> names(header.begin(), header.end());
      const std::string_view near = nearest(name, names);
      return reader.fail_here(fmt::format(
          "column '{}' is missing{}; the columns are: {}", name,
          near.empty() ? "" : fmt::format(" (is it '{}'?)", near),
          fmt::join(names.begin(), names.begin() + std::min<std::ptrdiff_t>(50, std::ssize(names)), ", ")));
    }
    if (std::find(found + 1, header.end(), name) != header.end()) {
      return reader.fail_here(fmt::format("column '{}' stands in the header twice", name));
    }
    reader.where_.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return reader;
}

Result<bool> CsvReader::next() {
  BERTH_ASSIGN(const bool more, read_record());
  if (!more) return false;
  if (ends_.size() != header_.size()) {
    return fail_here(fmt::format("the record has {} fields, the header {}; last field read: column '{}'",
                                 ends_.size(), header_.size(),
                                 header_[std::min(ends_.size(), header_.size()) - 1]));
  }
  return true;
}

std::string_view CsvReader::field(std::size_t column) const {
  const std::size_t place = where_[column];
  if (place == kAbsent) return {};
  const std::size_t from = place == 0 ? 0 : ends_[place - 1];
  std::string_view text = std::string_view(record_).substr(from, ends_[place] - from);
  return text;
}

Result<std::int64_t> CsvReader::integer(std::size_t column, std::int64_t min, std::int64_t max) const {
  const std::string_view text = field(column);
  std::int64_t value = 0;
  const auto [at, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || at != text.data() + text.size()) {
    return error(column, fmt::format("'{}' is not a whole number", text.substr(0, 60)));
  }
  if (value < min || value > max)
    return error(column, fmt::format("{} is not from {} to {}", value, min, max));
  return value;
}

Result<std::int64_t> CsvReader::integer_or(std::size_t column, std::int64_t otherwise, std::int64_t min,
                                           std::int64_t max) const {
  if (field(column).empty()) return otherwise;
  return integer(column, min, max);
}

Result<double> CsvReader::number(std::size_t column) const {
  const std::string_view text = field(column);
  double value = 0;
  const auto [at, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || at != text.data() + text.size() || !std::isfinite(value)) {
    return error(column, fmt::format("'{}' is not a number", text.substr(0, 60)));
  }
  return value;
}

}  // namespace berth::text
