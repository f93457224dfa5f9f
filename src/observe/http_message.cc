#include "observe/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::observe {
namespace {

std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

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

}  // namespace

std::string http_bytes(const HttpResponse& response, bool with_body) {
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
      response.status, phrase(response.status), response.content_type, response.body.size());
  if (with_body) out += response.body;
  return out;
}

std::string http_answer(std::string_view head, const std::map<std::string, HttpHandler>& handlers) {
  const auto line = head.substr(0, std::min(head.find("\r\n"), head.size()));
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first || !line.substr(last + 1).starts_with("HTTP/1.")) {
    return http_bytes({400, "text/plain; charset=utf-8", "this is no HTTP/1 request\n"}, true);
  }
  const auto method = line.substr(0, first);
  const bool with_body = method != "HEAD";
  if (method != "GET" && method != "HEAD") {
    return http_bytes({405, "text/plain; charset=utf-8", "only GET and HEAD are served\n"}, true);
  }
  const auto request = parse_target(line.substr(first + 1, last - first - 1));
  if (!request)
    return http_bytes({400, "text/plain; charset=utf-8", "the address of the request is broken\n"},
                      with_body);
  const auto handler = handlers.find(request->path);
  if (handler == handlers.end()) {
    HttpResponse missing{404, "text/plain; charset=utf-8", "no such page; there are:\n"};
    for (const auto& [path, unused] : handlers) missing.body += path + "\n";
    return http_bytes(missing, with_body);
  }
  return http_bytes(handler->second(*request), with_body);
}

}  // namespace berth::observe
