#include "e2e/api_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::e2e {
namespace {

void initialise_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

struct Sink {
  std::string* body = nullptr;
  const std::function<bool(std::string_view)>* line = nullptr;
  CURL* handle = nullptr;
};

std::size_t take(char* data, std::size_t, std::size_t size, void* user) {
  auto& sink = *static_cast<Sink*>(user);
  long status = 0;
  curl_easy_getinfo(sink.handle, CURLINFO_RESPONSE_CODE, &status);
  sink.body->append(data, size);
  if (sink.line == nullptr || status != 200) {
    return size;
  }
  std::size_t from = 0;
  const std::size_t known = sink.body->size() - size;
  std::size_t end = sink.body->find('\n', known);
  while (end != std::string::npos) {
    if (!(*sink.line)(std::string_view(*sink.body).substr(from, end - from))) {
      return 0;  // curl ends the transfer with CURLE_WRITE_ERROR
    }
    from = end + 1;
    end = sink.body->find('\n', from);
  }
  sink.body->erase(0, from);
  return size;
}

int stop_when_asked(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(user)->load() ? 1 : 0;
}

}  // namespace

std::string Reply::describe() const {
  if (status == 0) {
    return "no answer: " + error;
  }
  return "HTTP " + std::to_string(status) + ": " + body.substr(0, 400);
}

struct ApiClient::Impl {
  explicit Impl(Endpoint where) : endpoint(std::move(where)) {
    initialise_curl();
    handle = curl_easy_init();
  }
  ~Impl() { curl_easy_cleanup(handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Reply perform(std::string_view method, const std::string& path, std::string_view body,
                std::string_view content_type, long timeout_ms,
                const std::function<bool(std::string_view)>* line, const std::atomic<bool>* stop) {
    Reply reply;
    Sink sink{&reply.body, line, handle};
    const std::string url = endpoint.server + path;
    const std::string verb(method);
    curl_easy_reset(handle);
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, verb.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, 10'000L);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(handle, CURLOPT_CAINFO, endpoint.ca_file.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLCERT, endpoint.cert_file.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLKEY, endpoint.key_file.c_str());
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &sink);
    if (stop != nullptr) {
      curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
      curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &stop_when_asked);
      curl_easy_setopt(handle, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(stop));
    }
    curl_slist* headers = curl_slist_append(nullptr, "Accept: application/json");
    if (!body.empty()) {
      headers = curl_slist_append(headers, ("Content-Type: " + std::string(content_type)).c_str());
      headers = curl_slist_append(headers, "Expect:");
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    const CURLcode code = curl_easy_perform(handle);
    curl_slist_free_all(headers);
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK) {
      reply.status = static_cast<int>(status);
    } else {
      reply.error = std::string(method) + " " + url + ": " + curl_easy_strerror(code);
    }
    return reply;
  }

  Endpoint endpoint;
  CURL* handle = nullptr;
};

ApiClient::ApiClient(Endpoint endpoint) : impl_(std::make_unique<Impl>(std::move(endpoint))) {}
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&&) noexcept = default;
ApiClient::~ApiClient() = default;

Reply ApiClient::send(std::string_view method, const std::string& path, std::string_view body,
                      std::string_view content_type, long timeout_ms) {
  return impl_->perform(method, path, body, content_type, timeout_ms, nullptr, nullptr);
}

Reply ApiClient::stream(const std::string& path, const std::function<bool(std::string_view)>& line,
                        const std::atomic<bool>& stop) {
  return impl_->perform("GET", path, {}, {}, 0, &line, &stop);
}

const Endpoint& ApiClient::endpoint() const {
  return impl_->endpoint;
}

Status for_each_parallel(const Endpoint& endpoint, std::size_t count, unsigned concurrency,
                         const std::function<Status(ApiClient&, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status result;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::min<std::size_t>(concurrency, count); ++t) {
    threads.emplace_back([&] {
      ApiClient client(endpoint);
      for (std::size_t i = next++; i < count && !failed; i = next++) {
        if (auto status = work(client, i); !status) {
          failed = true;
          const std::lock_guard lock(mutex);
          result = std::move(status);
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return result;
}

Status expect_ok(const Reply& reply, std::string_view what) {
  if (reply.ok()) {
    return {};
  }
  return fail(reply.status == 404   ? ErrorCode::kNotFound
              : reply.status == 409 ? ErrorCode::kConflict
                                    : ErrorCode::kUnavailable,
              "{}: {}", what, reply.describe());
}

}  // namespace berth::e2e
