#include "dashboards.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

#include "e2e/api_client.h"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A question of a page. "{}" stands for the number under `then` of the answer before, from 0.
struct Question {
  std::string_view path;
  milliseconds every;
  std::string_view then;
};
using Page = std::array<Question, 2>;  // an empty path: none

constexpr std::array<Page, 4> kPages = {{
    {{{"queues?since={}", milliseconds(250), "revision"}}},
    {{{"workloads?state=pending&sort=age&offset=0&limit=100", milliseconds(1000), ""}}},
    {{{"nodes?since={}&offset=0&limit=2500", milliseconds(1000), "revision"}}},
    {{{"decisions?limit=200&after={}", milliseconds(100), "last"},
      {"timeline?minutes=60", milliseconds(5000), ""}}},
}};

// The number of the first field with this name; 0 where there is none.
std::uint64_t number_of(std::string_view json, std::string_view name) {
  const std::string field = fmt::format("\"{}\":", name);
  const auto at = json.find(field);
  std::uint64_t out = 0;
  if (at != std::string_view::npos)
    std::from_chars(json.data() + at + field.size(), json.data() + json.size(), out);
  return out;
}

}  // namespace

Dashboards::Dashboards(std::size_t count, int port) : server_(fmt::format("http://127.0.0.1:{}", port)) {
  for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { show(i % kPages.size()); });
}

Dashboards::~Dashboards() {
  stop_ = true;
  for (auto& thread : threads_) thread.join();
}

Dashboards::Seen Dashboards::seen() const {
  return {messages_, answers_, failed_, bytes_};
}

void Dashboards::show(std::size_t page) {
  const e2e::Endpoint where{.server = server_};
  e2e::ApiClient stream(where), questions(where);
  std::array<Clock::time_point, 2> asked{};
  std::array<std::uint64_t, 2> last{};
  const auto ask = [&](std::size_t i) {
    const Question& question = kPages[page][i];
    if (question.path.empty() || Clock::now() - asked[i] < question.every) return;
    asked[i] = Clock::now();
    const auto reply = questions.get("/api/v1/" + fmt::format(fmt::runtime(question.path), last[i]));
    if (!reply.ok()) {
      ++failed_;
      return;
    }
    ++answers_;
    bytes_ += reply.body.size();
    if (!question.then.empty()) last[i] = number_of(reply.body, question.then);
  };
  const auto line = [&](std::string_view text) {
    if (!text.starts_with("data:")) return true;
    ++messages_;
    for (std::size_t i = 0; i < asked.size() && !stop_; ++i) ask(i);
    return true;
  };
  while (!stop_) {
    (void)stream.stream("/api/v1/changes", line, stop_);
    if (!stop_) std::this_thread::sleep_for(milliseconds(200));
  }
}

}  // namespace berth::bench
