// HTTP/1.1 as bytes: those of a request to those of its answer. No sockets here (http_server.h). Input is arbitrary.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::observe {

struct HttpRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; the first of several equal keys counts
  std::string_view body;                     // of a POST; lives as long as the handler runs
  std::string_view host;                     // the Host line, and so does this
  std::string_view authorization;            // the Authorization line; "" where it has none
};

// An answer without a known end: its bytes are asked for as long as the connection lasts. A client that reads slowly is asked for less
// often, and nothing is kept for it.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // The next bytes; "": there are none yet; none: it ends here. On the server's thread, when all former bytes are written, and again
  // within kHttpStreamTick. Must be cheap.
  virtual std::optional<std::string> next() = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string headers = {};                      // more lines of the head, each with its "\r\n"
  std::shared_ptr<HttpStream> stream = nullptr;  // goes on behind `body`, and the connection ends with it
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// By path. `get` is for GET and HEAD, and so is `under`, of all paths that begin so and are not in `get`.
struct HttpRoutes {
  std::map<std::string, HttpHandler> get;
  std::map<std::string, HttpHandler> post;
  std::map<std::string, HttpHandler> under;
};

// Reads one request from the bytes of a connection, in whatever pieces they come (Boost.Beast's parser). O(bytes), and the bytes that
// it holds are bounded: a request above the bounds is refused before more of it is read.
class HttpReader {
 public:
  HttpReader(std::size_t most_head_bytes, std::size_t most_body_bytes);
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  // Bytes behind the request are dropped.
  void put(std::string_view bytes);
  // The request is whole, or it is refused.
  bool is_done() const;
  // The client may send another request on this connection: it is HTTP/1.1, whole, not refused, and no byte came behind it.
  bool keeps_open() const;
  // Bytes of a request that is not done.
  std::size_t held_bytes() const;
  // The answer of the handler of its path, or 400, 404, 405. Refused are: no HTTP/1, HTTP/1.1 without exactly one Host, a wrong
  // length (400); a body without a length (411), one above the bound (413), one that waits to be asked for (417); a head above the
  // bound (431). Bodies of other methods than POST are not read, and their connection is not kept. O(length), and the handler.
  // `stream`: set to that of the answer.
  std::string answer(const HttpRoutes& routes, bool keep_open,
                     std::shared_ptr<HttpStream>* stream = nullptr) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string http_bytes(const HttpResponse& response, bool with_body, bool keep_open = false);

}  // namespace berth::observe
