// The rules of deploy/admission-policy.yaml as the answer of a webhook, for API servers without MutatingAdmissionPolicy. Work that
// names a queue gets the scheduler name `berth`, and a Job is suspended when it is made. A change of one of the two is a change of
// both: a test gives the same objects to both and compares.
//
// In: AdmissionReview of admission.k8s.io/v1 as JSON, on creation of Jobs (batch/v1) and pods. Out: the same kind, with a JSON patch
// (RFC 6902). Everything else is allowed as it is. No clock, no state, no I/O: what is needed stands in the review.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/enums.h"

namespace berth::dialect {

// An API server takes objects of up to 3 MiB, in a denser form than JSON.
inline constexpr std::size_t kMostReviewBytes = std::size_t{8} << 20;

enum class ReviewOutcome : std::uint8_t {
  kChanged,     // allowed, with a patch
  kUnchanged,   // allowed as it is
  kRefused,     // an object that cannot be read: refused, and the message names the field
  kUnreadable,  // no review at all
};

struct ReviewAnswer {
  ReviewOutcome outcome = ReviewOutcome::kUnreadable;
  int http_status = 200;  // 400 for kUnreadable
  std::string body;       // an AdmissionReview; for kUnreadable a v1 Status
};

// O(length).
ReviewAnswer answer_review(std::string review);

}  // namespace berth::dialect

template <>
struct berth::EnumNames<berth::dialect::ReviewOutcome> {
  static constexpr std::array names{"changed"sv, "unchanged"sv, "refused"sv, "unreadable"sv};
};
