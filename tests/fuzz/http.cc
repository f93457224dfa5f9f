// Requests: whatever the head says, there is one whole answer, and no body is taken that is longer than the bound.
#include "fuzz/fuzz.h"
#include "observe/http_message.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostHead = 8192, kMostBody = 100;
  observe::HttpRoutes routes;
  routes.get["/explain"] = [](const observe::HttpRequest& request) {
    const auto it = request.query.find("workload");
    return observe::HttpResponse{200, "text/plain", it == request.query.end() ? "" : it->second};
  };
  routes.post["/mutate"] = [](const observe::HttpRequest& request) {
    return observe::HttpResponse{200, "text/plain", std::string(request.body)};
  };
  const auto text = fuzz::text_of(data, size);
  // In two pieces, and as one: the same request.
  const auto read = [&](std::size_t first) {
    observe::HttpReader reader(kMostHead, kMostBody);
    reader.put(text.substr(0, first));
    reader.put(text.substr(first));
    fuzz::require(reader.held_bytes() <= kMostHead + kMostBody + text.size(), "bounded bytes");
    fuzz::require(!reader.is_done() || reader.held_bytes() == 0, "a request that is done holds nothing");
    return reader;
  };
  const auto whole = read(0);
  const auto pieces = read(text.size() / 2);
  fuzz::require(whole.is_done() == pieces.is_done(), "done in pieces as well");
  if (!whole.is_done()) return 0;
  const std::string answer = whole.answer(routes, whole.keeps_open());
  fuzz::require(answer == pieces.answer(routes, whole.keeps_open()), "the same answer in pieces: " + answer);
  fuzz::require(answer.starts_with("HTTP/1.1 "), "an answer: " + answer);
  const auto head = answer.find("\r\n\r\n");
  fuzz::require(head != std::string::npos, "with a whole head: " + answer);
  return 0;
}
