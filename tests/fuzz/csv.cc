// CSV: records have the columns of the header, and numbers are within what was asked.
#include "text/csv.h"

#include "fuzz/fuzz.h"
#include "text/source.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Gzip and zstd are told by the first bytes, so this reads them too; what they unpack to is bounded.
  auto source =
      text::ByteSource::memory(std::string(fuzz::text_of(data, size)), "input", {.max_bytes = 1 << 20});
  auto reader =
      text::CsvReader::open(source, {"id"}, {"gpus", "time"}, {.max_record_bytes = 4096, .max_columns = 64});
  if (!reader) return 0;
  for (;;) {
    const auto more = reader->next();
    if (!more || !*more) return 0;
    (void)reader->field(0);
    if (const auto gpus = reader->integer_or(1, 3, 0, 64))
      fuzz::require(*gpus >= 0 && *gpus <= 64, "a number in its range");
    (void)reader->number(2);
    fuzz::require(reader->line() > 0, "a record has a line");
  }
}
