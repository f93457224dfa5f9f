// Lists, watches and objects in the API server's binary form: what can be read becomes JSON, and frames do not depend on where chunks end.
#include <simdjson.h>

#include <vector>

#include "dialect/objects/decode.h"
#include "fuzz/fuzz.h"
#include "kube/api_status.h"
#include "kube/object_reader.h"
#include "kube/protobuf_json.h"

using namespace berth;

namespace {

std::vector<std::string> frames_of(std::string_view text, std::size_t chunk) {
  std::vector<std::string> out;
  kube::FrameSplitter splitter(4096);
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    const bool fine = splitter.feed(text.substr(at, chunk), [&](std::string_view frame) {
      out.emplace_back(frame);
      return true;
    });
    if (!fine) return {};
  }
  return out;
}

void require_json(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  fuzz::require(parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS && root.is_object(),
                "an object that was read is JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const auto whole = frames_of(text, text.size() + 1);
  const auto cut = frames_of(text, 1 + data[0] % 64);
  if (!whole.empty() && !cut.empty()) fuzz::require(whole == cut, "the same frames, however they come");
  kube::ObjectReader reader(4096);
  reader.begin(kube::Form::kBinary);
  for (const std::string& frame : whole) {
    if (const auto event = reader.event(frame)) require_json(event->object);
  }
  std::string out;
  using Kind = std::pair<const char*, const char*>;
  for (const auto& [version, kind] :
       {Kind("v1", "Pod"), {"v1", "Node"}, {"batch/v1", "Job"}, {"v1", "Status"}}) {
    if (kube::write_json(*kube::message_of(version, kind), text, version, kind, out)) require_json(out);
  }
  // A pod is read from its binary form only where its JSON gives one.
  const auto pod = dialect::decode_pod(text, {});
  if (pod && kube::write_json(*kube::message_of("v1", "Pod"), text, "v1", "Pod", out)) {
    dialect::JsonDecoder decoder;
    const auto from_json = decoder.decode(out, dialect::Kind::kPod);
    fuzz::require(from_json && std::get<dialect::Pod>(*from_json).spec == pod->spec,
                  "the same pod, read from both forms");
  }
  kube::ApiStatus status;
  (void)kube::parse_api_status(text, status);
  std::string body(text);
  (void)reader.page(kube::Form::kBinary, body, [&](const kube::ListItem& item) -> Status {
    require_json(item.object);
    (void)reader.item_meta(item);
    return {};
  });
  return 0;
}
