// Requests: whatever the head says, there is one whole answer.
#include "fuzz/fuzz.h"
#include "observe/http_message.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::map<std::string, observe::HttpHandler> handlers = {
      {"/explain", [](const observe::HttpRequest& request) {
         const auto it = request.query.find("workload");
         return observe::HttpResponse{200, "text/plain", it == request.query.end() ? "" : it->second};
       }}};
  const std::string answer = observe::http_answer(fuzz::text_of(data, size), handlers);
  fuzz::require(answer.starts_with("HTTP/1.1 "), "an answer: " + answer);
  const auto head = answer.find("\r\n\r\n");
  fuzz::require(head != std::string::npos, "with a whole head: " + answer);
  return 0;
}
