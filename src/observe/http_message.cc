#include "observe/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 417:
      return "Expectation Failed";
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

HttpResponse text(int status, std::string words) {
  return {status, "text/plain; charset=utf-8", std::move(words) + "\n"};
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(x) == lower(y);
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_line(std::string_view& rest) {
  const auto end = std::min(rest.find("\r\n"), rest.size());
  const auto line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 2, rest.size()));
  return line;
}

// Header lines that decide about the rest of the request.
struct Headers {
  std::optional<std::string_view> length;
  bool lengths_differ = false;
  bool encoded = false;  // Transfer-Encoding: its length is not known
  bool expects = false;
  int hosts = 0;
  std::string_view connection;
};

Headers read_headers(std::string_view lines) {
  Headers out;
  while (!lines.empty()) {
    const auto line = take_line(lines);
    const auto colon = std::min(line.find(':'), line.size());
    const auto name = line.substr(0, colon);
    const auto value = trimmed(line.substr(std::min(colon + 1, line.size())));
    if (same_word(name, "content-length")) {
      out.lengths_differ = out.lengths_differ || (out.length && *out.length != value);
      out.length = value;
    } else if (same_word(name, "transfer-encoding")) {
      out.encoded = true;
    } else if (same_word(name, "host")) {
      ++out.hosts;
    } else if (same_word(name, "expect")) {
      out.expects = true;
    } else if (same_word(name, "connection")) {
      out.connection = value;
    }
  }
  return out;
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
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: {}\r\n\r\n",
      response.status, phrase(response.status), response.content_type, response.body.size(),
      keep_open ? "keep-alive" : "close");
  if (with_body) out += response.body;
  return out;
}

HttpFrame http_frame(std::string_view head, std::size_t most_body_bytes) {
  HttpFrame out;
  std::string_view lines = head;
  const auto first = take_line(lines);
  const auto headers = read_headers(lines);
  const bool post = first.starts_with("POST ");
  out.keeps_open = first.ends_with("HTTP/1.1") && !same_word(headers.connection, "close");
  const auto refuse = [&](int status, std::string words) {
    out.keeps_open = false;
    out.refused = http_bytes(text(status, std::move(words)), true);
    return out;
  };
  if (first.ends_with("HTTP/1.1") && headers.hosts != 1) {
    return refuse(400, "a request of HTTP/1.1 has exactly one Host line");
  }
  std::size_t length = 0;
  bool too_long = false;
  if (headers.length) {
    const char* end = headers.length->data() + headers.length->size();
    const auto [at, error] = std::from_chars(headers.length->data(), end, length);
    if (headers.lengths_differ || headers.length->empty() || at != end ||
        error == std::errc::invalid_argument) {
      return refuse(400, "Content-Length must be one number of bytes");
    }
    too_long = error != std::errc() || length > most_body_bytes;
  }
  // The handler's answer to a method that has no body here is 405.
  if (most_body_bytes == 0 || !post) {
    out.keeps_open = out.keeps_open && !post && !headers.length && !headers.encoded;
    return out;
  }
  if (headers.expects) return refuse(417, "send the body without waiting: no Expect is served");
  if (headers.encoded || !headers.length) {
    return refuse(411, "say how long the body is (Content-Length): encodings of unknown length are not read");
  }
  if (too_long) return refuse(413, fmt::format("the body must be at most {} bytes long", most_body_bytes));
  out.body_bytes = length;
  return out;
}

std::string http_answer(std::string_view head, const HttpRoutes& routes, std::string_view body,
                        bool keep_open) {
  const auto line = head.substr(0, std::min(head.find("\r\n"), head.size()));
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first || !line.substr(last + 1).starts_with("HTTP/1.")) {
    return http_bytes(text(400, "this is no HTTP/1 request"), true, keep_open);
  }
  const auto method = line.substr(0, first);
  const bool with_body = method != "HEAD";
  const bool post = method == "POST" && !routes.post.empty();
  if (method != "GET" && method != "HEAD" && !post) {
    return http_bytes(text(405, routes.post.empty() ? "only GET and HEAD are served"
                                                    : "only GET, HEAD and POST are served"),
                      true, keep_open);
  }
  auto request = parse_target(line.substr(first + 1, last - first - 1));
  if (!request) return http_bytes(text(400, "the address of the request is broken"), with_body, keep_open);
  const auto& handlers = post ? routes.post : routes.get;
  const auto& others = post ? routes.get : routes.post;
  const auto handler = handlers.find(request->path);
  if (handler == handlers.end() && !post) {
    for (const auto& [start, answer] : routes.under) {
      if (request->path.starts_with(start)) return http_bytes(answer(*request), with_body, keep_open);
    }
  }
  if (handler == handlers.end() && others.contains(request->path)) {
    return http_bytes(text(405, post ? "this page is for GET" : "this page is for POST"), with_body,
                      keep_open);
  }
  if (handler == handlers.end()) {
    return http_bytes(text(404, "no such page; there are:" + path_list(routes)), with_body, keep_open);
  }
  request->body = body;
  return http_bytes(handler->second(*request), with_body, keep_open);
}

}  // namespace berth::observe
