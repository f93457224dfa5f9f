#include "kube/access_review.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "text/document.h"

namespace berth::kube {

std::vector<Response> call_all(Transport& transport, std::vector<Request> requests) {
  // Outlives this call with the last request.
  struct Answers {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Response> all;
    std::size_t left = 0;
  };
  const auto answers = std::make_shared<Answers>();
  answers->all.resize(requests.size());
  answers->left = requests.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    transport.submit(std::move(requests[i]), [answers, i](Response&& response) {
      const std::lock_guard lock(answers->mutex);
      answers->all[i] = std::move(response);
      --answers->left;
      answers->changed.notify_all();
    });
  }
  std::unique_lock lock(answers->mutex);
  answers->changed.wait(lock, [&] { return answers->left == 0; });
  return std::move(answers->all);
}

Result<bool> review_allows(std::string answer) {
  constexpr text::Limits kLimits{
      .max_depth = 16, .max_nodes = 10'000, .max_document_bytes = kMostReviewBytes};
  BERTH_ASSIGN(const auto document, text::parse_json(std::move(answer), "SubjectAccessReview", kLimits));
  const text::Node* allowed = document.root().at({"status", "allowed"});
  return allowed != nullptr && allowed->as_bool().value_or(false);
}

}  // namespace berth::kube
