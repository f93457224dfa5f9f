#include "kube/url.h"

#include <curl/curl.h>

#include <charconv>
#include <memory>
#include <string>

namespace berth::kube {

bool Url::loopback() const {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

Result<Url> parse_url(std::string_view text) {
  if (!text.starts_with("https://") && !text.starts_with("http://")) {
    return fail(ErrorCode::kInvalid, "'{}' must start with https:// (or http://), like https://10.0.0.1:6443",
                text);
  }
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parts(curl_url(), curl_url_cleanup);
  if (parts == nullptr) return fail(ErrorCode::kInternal, "there is no memory for a URL");
  const CURLUcode error = curl_url_set(parts.get(), CURLUPART_URL, std::string(text).c_str(), 0);
  const auto part = [&](CURLUPart which, unsigned flags = 0) {
    char* value = nullptr;
    std::string out;
    if (curl_url_get(parts.get(), which, &value, flags) == CURLUE_OK) out = value;
    curl_free(value);
    return out;
  };
  if (text.substr(0, text.find('/', text.find("//") + 2)).find('@') != std::string_view::npos) {
    return fail(ErrorCode::kInvalid,
                "a server's URL must not hold user and password; put them into the user entry");
  }
  if (error == CURLUE_BAD_PORT_NUMBER)
    return fail(ErrorCode::kInvalid, "'{}' has no valid port (1 to 65535)", text);
  if (error == CURLUE_NO_HOST) return fail(ErrorCode::kInvalid, "'{}' names no host", text);
  if (error != CURLUE_OK)
    return fail(ErrorCode::kInvalid, "'{}' is no URL: {}", text, curl_url_strerror(error));
  if (text.find_first_of("?#") != std::string_view::npos) {
    return fail(ErrorCode::kInvalid, "'{}' must not have a query or fragment", text);
  }
  Url url;
  url.scheme = part(CURLUPART_SCHEME);
  url.host = part(CURLUPART_HOST);
  url.prefix = part(CURLUPART_PATH);
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  const std::string port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (url.port == 0) return fail(ErrorCode::kInvalid, "'{}' has no valid port (1 to 65535)", text);
  return url;
}

}  // namespace berth::kube
