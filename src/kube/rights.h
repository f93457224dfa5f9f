// Rights that the API server says this client lacks: what each request needs, by its method and path, and which of them were
// answered with 403.
//
//   MissingRights missing;
//   options.answered = [&](const Request& r, const Response& a) { missing.note(r, a, boottime_ms()); };
//   for (const auto& right : missing.list(boottime_ms())) ...
//
// A right is missing from its first 403 until a request that needs it succeeds, or none was refused for kForgetAfter. Refusals
// for another reason (quotas, policies) are none of rights. Thread-safe. Cost where nothing is missing: a look at one flag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/transport.h"

namespace berth::kube {

// As a role names it.
struct Right {
  std::string verb;      // get, list, watch, create, update, patch, delete
  std::string group;     // "" = the core group
  std::string resource;  // with its subresource: "pods/binding"
  auto operator<=>(const Right&) const = default;

  // "jobs.batch", "pods/binding"
  std::string full_resource() const;
};

// The right that a request needs; nullopt where its path is that of no resource (/version, discovery).
std::optional<Right> right_of(Method method, std::string_view path);

class MissingRights {
 public:
  static constexpr DurationMs kForgetAfter = 20 * kMinute;
  static constexpr DurationMs kLogEvery = 10 * kMinute;
  static constexpr std::size_t kMost = 200;

  struct Entry {
    Right right;
    std::string message;  // of the last refusal
    TimeMs since = 0;
    TimeMs last = 0;
    std::uint64_t refusals = 0;
    TimeMs logged = -kLogEvery;
  };

  void note(const Request& request, const Response& answer, TimeMs now);
  // In the order of their verbs and names.
  std::vector<Entry> list(TimeMs now);
  // Those of which the log has said nothing for kLogEvery; they count as said.
  std::vector<Entry> to_log(TimeMs now);

 private:
  void forget_old(TimeMs now);

  std::mutex mutex_;
  std::map<Right, Entry> entries_;
  std::atomic<bool> any_{false};
};

}  // namespace berth::kube
