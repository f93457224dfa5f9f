// HTTP/1.1 as text: the head of a request and its body to an answer's bytes. No sockets here (http_server.h); input is arbitrary,
// bounded in length by the server.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace berth::observe {

struct HttpRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; the first of several equal keys counts
  std::string_view body;                     // of a POST; lives as long as the handler runs
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// By path. `get` is for GET and HEAD, and so is `under`, of all paths that begin so and are not in `get`.
struct HttpRoutes {
  std::map<std::string, HttpHandler> get;
  std::map<std::string, HttpHandler> post;
  std::map<std::string, HttpHandler> under;
};

// The rest of the request, as its head tells it. `refused` is the whole answer to one that is not read on: HTTP/1.1 without exactly
// one Host or with a wrong length (400), a body without a length (411), one above `most_body_bytes` (413), one that waits to be
// asked for (417). Bodies of other methods than POST are not read; their connection is not kept.
struct HttpFrame {
  std::size_t body_bytes = 0;
  bool keeps_open = false;  // the client may send another request on this connection
  std::string refused;      // empty: none
};
// `head` is without the empty line. O(length).
HttpFrame http_frame(std::string_view head, std::size_t most_body_bytes);

// The answer to the request with this head (without the empty line) and body: of the handler of its path, or 400, 404, 405.
// O(length), and the handler.
std::string http_answer(std::string_view head, const HttpRoutes& routes, std::string_view body = {},
                        bool keep_open = false);
std::string http_bytes(const HttpResponse& response, bool with_body, bool keep_open = false);

}  // namespace berth::observe
