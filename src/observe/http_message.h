// HTTP/1.1 as text: the head of a request to an answer's bytes. No sockets here (http_server.h); what comes in is whatever
// somebody sends, bounded in length by the server.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace berth::observe {

struct HttpRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; the first of several equal keys counts
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// The answer to the request whose head (without the empty line) is `head`: of the handler of its path, or 400, 404, 405. GET and
// HEAD only. O(length).
std::string http_answer(std::string_view head, const std::map<std::string, HttpHandler>& handlers);
std::string http_bytes(const HttpResponse& response, bool with_body);

}  // namespace berth::observe
