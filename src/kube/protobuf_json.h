// An object in the API server's binary form, as the JSON that the API server would have written: the same values, without managedFields. Readers of
// objects know one form alone. Fields come in the order of their numbers; those that the table (protobuf_types.h) does not know are left out.
//
// Cost: one pass over the bytes, and one copy of its texts. Errors (kInvalid) name the message and the place in the object, in bytes; kExhausted:
// the JSON would be longer than kMostText. The API server's own objects have at most some megabytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/protobuf_types.h"

namespace berth::kube {

inline constexpr std::size_t kMostText = std::size_t{64} << 20;

// The contents of an envelope. Views of it.
struct BinaryObject {
  std::string_view api_version;
  std::string_view kind;
  std::string_view bytes;
};

// Whether a text is an envelope. No JSON is.
bool is_binary(std::string_view text);
Result<BinaryObject> open_envelope(std::string_view text);

// Replaces `out` by the JSON of `bytes`, which are a `message`. kind and api_version are its first fields, where they are not empty.
Status write_json(const Message& message, std::string_view bytes, std::string_view api_version,
                  std::string_view kind, std::string& out);
// The same for what stands in an envelope; kInvalid where its kind is not known.
Status write_json(const BinaryObject& object, std::string& out);
Result<std::string> json_of_envelope(std::string_view text);

}  // namespace berth::kube
