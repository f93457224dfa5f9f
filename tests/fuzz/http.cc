// Requests: whatever the head says, there is one whole answer, and no body is taken that is longer than the bound.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "observe/http_message.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBody = 100;
  observe::HttpRoutes routes;
  routes.get["/explain"] = [](const observe::HttpRequest& request) {
    const auto it = request.query.find("workload");
    return observe::HttpResponse{200, "text/plain", it == request.query.end() ? "" : it->second};
  };
  routes.post["/mutate"] = [](const observe::HttpRequest& request) {
    return observe::HttpResponse{200, "text/plain", std::string(request.body)};
  };
  const auto text = fuzz::text_of(data, size);
  const auto head_end = std::min(text.find("\r\n\r\n"), text.size());
  const auto frame = observe::http_frame(text.substr(0, head_end), kMostBody);
  fuzz::require(frame.body_bytes <= kMostBody, "a bounded body");
  fuzz::require(frame.refused.empty() || (frame.refused.starts_with("HTTP/1.1 4") && !frame.keeps_open),
                "a refusal is an answer: " + frame.refused);
  const auto body = text.substr(head_end).substr(0, frame.body_bytes);
  const std::string answer = observe::http_answer(text.substr(0, head_end), routes, body, frame.keeps_open);
  fuzz::require(answer.starts_with("HTTP/1.1 "), "an answer: " + answer);
  const auto head = answer.find("\r\n\r\n");
  fuzz::require(head != std::string::npos, "with a whole head: " + answer);
  return 0;
}
