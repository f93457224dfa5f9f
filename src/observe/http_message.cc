#include "observe/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <optional>
#include <utility>

namespace berth::observe {
namespace {

namespace http = boost::beast::http;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Percent-decoding; nullopt for a broken escape.
std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::optional<HttpRequest> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  const auto mark = target.find('?');
  HttpRequest request;
  auto path = decoded(target.substr(0, mark), false);
  if (!path) return std::nullopt;
  request.path = std::move(*path);
  std::string_view rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const auto pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    auto key = decoded(pair.substr(0, equals), true);
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) return std::nullopt;
    request.query.emplace(std::move(*key), std::move(*value));
  }
  return request;
}

HttpResponse text(int status, std::string words) {
  return {status, "text/plain; charset=utf-8", std::move(words) + "\n"};
}

std::string path_list(const HttpRoutes& routes) {
  std::string out;
  for (const auto& [path, unused] : routes.get) out += "\n" + path;
  for (const auto& [path, unused] : routes.under) out += "\n" + path + "...";
  for (const auto& [path, unused] : routes.post) out += "\n" + path + " (POST)";
  return out;
}

}  // namespace

std::string http_bytes(const HttpResponse& response, bool with_body, bool keep_open) {
  const auto phrase = http::obsolete_reason(static_cast<http::status>(response.status));
  const std::string length =
      response.stream ? std::string() : fmt::format("Content-Length: {}\r\n", response.body.size());
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}Cache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n{}Connection: {}\r\n\r\n",
      response.status, std::string_view(phrase.data(), phrase.size()), response.content_type, length,
      response.headers, keep_open && !response.stream ? "keep-alive" : "close");
  if (with_body) out += response.body;
  return out;
}

struct HttpReader::Impl {
  Impl(std::size_t most_head, std::size_t most_body) : most_body_bytes(most_body) {
    parser.header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(most_head, std::numeric_limits<std::int32_t>::max())));
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // bounded here, by its length
  }

  void refuse(int status, std::string words) { refused = text(status, std::move(words)); }

  // Parses bytes that were not parsed yet, and keeps those that need more behind them.
  void parse() {
    while (!unparsed.empty() && !is_done()) {
      boost::system::error_code error;
      const std::size_t used = parser.put(boost::asio::buffer(unparsed), error);
      unparsed.erase(0, used);
      if (error == http::error::need_more) return;
      if (error) return refuse_error(error);
      if (!head_seen && parser.is_header_done()) look_at_head();
    }
  }

  void refuse_error(const boost::system::error_code& error) {
    if (error == http::error::header_limit) {
      refuse(431, "the head of the request is too long");
    } else if (error == http::error::bad_content_length) {
      refuse(400, "Content-Length must be one number of bytes, and the only length");
    } else {
      refuse(400, fmt::format("this is no HTTP/1 request: {}", error.message()));
    }
  }

  void look_at_head() {
    head_seen = true;
    const auto& request = parser.get();
    if (request.version() == 11 && request.count(http::field::host) != 1)
      return refuse(400, "a request of HTTP/1.1 has exactly one Host line");
    takes_body = most_body_bytes > 0 && request.method() == http::verb::post;
    if (!takes_body) return;  // the handler's answer to a method that has no body here is 405
    if (request.count(http::field::expect) > 0)
      return refuse(417, "send the body without waiting: no Expect is served");
    const auto length = parser.content_length();
    if (parser.chunked() || !length)
      return refuse(411,
                    "say how long the body is (Content-Length): encodings of unknown length are not read");
    if (*length > most_body_bytes)
      refuse(413, fmt::format("the body must be at most {} bytes long", most_body_bytes));
  }

  bool is_done() const { return refused || (head_seen && !takes_body) || parser.is_done(); }

  http::request_parser<http::string_body> parser;
  const std::size_t most_body_bytes;
  std::string unparsed;
  std::optional<HttpResponse> refused;
  bool head_seen = false;
  bool takes_body = false;
  bool more = false;  // bytes came behind the request
};

HttpReader::HttpReader(std::size_t most_head_bytes, std::size_t most_body_bytes)
    : impl_(std::make_unique<Impl>(most_head_bytes, most_body_bytes)) {}
HttpReader::HttpReader(HttpReader&&) noexcept = default;
HttpReader& HttpReader::operator=(HttpReader&&) noexcept = default;
HttpReader::~HttpReader() = default;

void HttpReader::put(std::string_view bytes) {
  if (!is_done()) {
    impl_->unparsed.append(bytes);
    impl_->parse();
    if (!is_done()) return;
    bytes = impl_->unparsed;
  }
  impl_->more = impl_->more || !bytes.empty();
  impl_->unparsed.clear();
  impl_->unparsed.shrink_to_fit();
}

bool HttpReader::is_done() const {
  return impl_->is_done();
}

bool HttpReader::keeps_open() const {
  if (!is_done() || impl_->refused || impl_->more) return false;
  const auto& request = impl_->parser.get();
  const bool unread =
      !impl_->takes_body && (request.method() == http::verb::post || impl_->parser.chunked() ||
                             impl_->parser.content_length().has_value());
  return request.version() == 11 && request.keep_alive() && !unread;
}

std::size_t HttpReader::held_bytes() const {
  return is_done() ? 0 : impl_->unparsed.size() + impl_->parser.get().body().size();
}

std::string HttpReader::answer(const HttpRoutes& routes, bool keep_open,
                               std::shared_ptr<HttpStream>* stream) const {
  if (impl_->refused) return http_bytes(*impl_->refused, true);
  const auto& asked = impl_->parser.get();
  const auto method = asked.method();
  const bool with_body = method != http::verb::head;
  const auto say = [&](int status, std::string words) {
    return http_bytes(text(status, std::move(words)), with_body, keep_open);
  };
  const bool post = method == http::verb::post && !routes.post.empty();
  if (method != http::verb::get && method != http::verb::head && !post) {
    return say(405,
               routes.post.empty() ? "only GET and HEAD are served" : "only GET, HEAD and POST are served");
  }
  auto request = parse_target({asked.target().data(), asked.target().size()});
  if (!request) return say(400, "the address of the request is broken");
  const auto line = [&](http::field name) {
    const auto value = asked[name];
    return std::string_view(value.data(), value.size());
  };
  request->host = line(http::field::host);
  request->authorization = line(http::field::authorization);
  const auto bytes_of = [&](HttpResponse response) {
    if (!with_body) response.stream = nullptr;
    if (stream != nullptr) *stream = response.stream;
    return http_bytes(response, with_body, keep_open);
  };
  const auto& handlers = post ? routes.post : routes.get;
  const auto& others = post ? routes.get : routes.post;
  const auto handler = handlers.find(request->path);
  if (handler == handlers.end() && !post) {
    for (const auto& [start, of_all] : routes.under) {
      if (request->path.starts_with(start)) return bytes_of(of_all(*request));
    }
  }
  if (handler == handlers.end() && others.contains(request->path))
    return say(405, post ? "this page is for GET" : "this page is for POST");
  if (handler == handlers.end()) return say(404, "no such page; there are:" + path_list(routes));
  request->body = asked.body();
  return bytes_of(handler->second(*request));
}

}  // namespace berth::observe
