// Objects of every kind: both feeds agree on what they take, and the intake makes events of it that an engine bears.
#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "engine/engine.h"
#include "fuzz/fuzz.h"
#include "text/json.h"

using namespace berth;

namespace {

void feed(dialect::Intake& intake, engine::Engine& engine) {
  std::vector<Event> events;
  for (int round = 0; round < 5; ++round) {
    events.clear();
    intake.drain(events);
    for (const auto& event : events) {
      if (const auto status = engine.apply(event); !status) intake.refused(event, status.error().message);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  text::Limits limits;
  limits.max_nodes = 20'000;
  limits.max_alias_nodes = 20'000;
  const auto documents = text::parse_documents(std::string(fuzz::text_of(data, size)), "input", limits);
  if (!documents) return 0;
  dialect::Intake intake;
  engine::Engine engine;
  dialect::JsonDecoder decoder;
  for (const auto& document : *documents) {
    const text::Node* version = document.root().find("apiVersion");
    const text::Node* name = document.root().find("kind");
    if (version == nullptr || name == nullptr) continue;
    const auto kind = dialect::kind_of(version->text(), name->text());
    if (!kind) continue;
    auto object = dialect::decode(document, document.root(), *kind, {});
    if (!object) fuzz::require(!object.error().message.empty(), "an error says what is wrong");
    auto watched = decoder.decode(text::to_json(document.root()), *kind);
    // A Job of a million pods is right, and too slow to try a thousand times a second.
    if (const auto* job = object ? std::get_if<dialect::Job>(&*object) : nullptr;
        job != nullptr && job->size() > 64)
      continue;
    if (object) intake.upsert(std::move(*object));
    if (watched) intake.upsert(std::move(*watched));
    feed(intake, engine);
  }
  (void)engine.decide(1000);
  const auto audit = engine.audit();
  fuzz::require(audit.has_value(), audit ? "" : audit.error().message);
  return 0;
}
