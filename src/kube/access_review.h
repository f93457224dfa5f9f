// Questions about rights: (Self)SubjectAccessReviews of authorization.k8s.io, many at once. Each caller writes its own requests and its
// own words for an API server that does not answer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/transport.h"

namespace berth::kube {

// Sends all requests at once and waits for all answers, which stand in the order of the requests. Never on the I/O thread. A request
// ends at its timeout at the latest, and so does this call.
std::vector<Response> call_all(Transport& transport, std::vector<Request> requests);

// status.allowed of such a review; false where it does not say. Invalid: an answer that is no JSON, or beyond kMostReviewBytes.
inline constexpr std::size_t kMostReviewBytes = 1 << 20;
Result<bool> review_allows(std::string answer);

}  // namespace berth::kube
