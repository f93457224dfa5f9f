// Reviews of the admission webhook: whatever comes, there is an answer that is JSON of the right kind, and a patch only where
// the object was read.
#include "dialect/write/admission_review.h"
#include "fuzz/fuzz.h"
#include "text/document.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto answer = dialect::answer_review(std::string(fuzz::text_of(data, size)));
  const bool review = answer.outcome != dialect::ReviewOutcome::kUnreadable;
  fuzz::require(answer.http_status == (review ? 200 : 400),
                "a status that goes with the outcome: " + answer.body);
  const auto document = text::parse_json(answer.body, "answer");
  fuzz::require(document.has_value(), "JSON: " + answer.body);
  const auto& root = document->root();
  const auto* kind = root.find("kind");
  fuzz::require(kind != nullptr && kind->text() == (review ? "AdmissionReview" : "Status"),
                "its kind: " + answer.body);
  if (!review) return 0;
  const auto* allowed = root.at({"response", "allowed"});
  const bool refused = answer.outcome == dialect::ReviewOutcome::kRefused;
  fuzz::require(allowed != nullptr && allowed->as_bool() == !refused, "allowed or refused: " + answer.body);
  fuzz::require(
      (root.at({"response", "patch"}) != nullptr) == (answer.outcome == dialect::ReviewOutcome::kChanged),
      "a patch where something changes: " + answer.body);
  return 0;
}
