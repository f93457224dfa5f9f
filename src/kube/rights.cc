#include "kube/rights.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/api_status.h"

namespace berth::kube {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) out.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return out;
}

// "User "x" cannot list resource "pods" in API group "" ...", as the API server words the lack of a right.
bool is_of_rights(std::string_view message) {
  return message.find(" cannot ") != std::string_view::npos &&
         message.find(" in API group ") != std::string_view::npos;
}

}  // namespace

std::string Right::full_resource() const {
  if (group.empty()) return resource;
  const auto slash = std::min(resource.find('/'), resource.size());
  return fmt::format("{}.{}{}", resource.substr(0, slash), group, resource.substr(slash));
}

std::optional<Right> right_of(Method method, std::string_view path) {
  const auto question = std::min(path.find('?'), path.size());
  const std::string_view query = path.substr(question);
  const auto parts = parts_of(path.substr(0, question));
  Right out;
  std::size_t at = 0;
  if (parts.size() >= 2 && parts[0] == "api") {
    at = 2;
  } else if (parts.size() >= 3 && parts[0] == "apis") {
    out.group = parts[1];
    at = 3;
  } else {
    return std::nullopt;
  }
  // /namespaces/NAME alone is the namespace.
  if (parts.size() > at + 2 && parts[at] == "namespaces") at += 2;
  if (parts.size() <= at) return std::nullopt;
  out.resource = parts[at];
  const bool named = parts.size() > at + 1;
  if (parts.size() > at + 2) out.resource += fmt::format("/{}", parts[at + 2]);
  switch (method) {
    case Method::kGet:
      out.verb = query.find("watch=1") != std::string_view::npos ? "watch" : named ? "get" : "list";
      break;
    case Method::kPost:
      out.verb = "create";
      break;
    case Method::kPut:
      out.verb = "update";
      break;
    case Method::kPatch:
      out.verb = "patch";
      break;
    case Method::kDelete:
      out.verb = "delete";
      break;
  }
  return out;
}

void MissingRights::note(const Request& request, const Response& answer, TimeMs now) {
  if (answer.ok()) {
    if (!any_.load(std::memory_order_relaxed)) return;
    const auto right = right_of(request.method, request.path);
    if (!right) return;
    const std::lock_guard lock(mutex_);
    entries_.erase(*right);
    any_.store(!entries_.empty(), std::memory_order_relaxed);
    return;
  }
  if (answer.status != 403) return;
  ApiStatus status;
  if (!parse_api_status(answer.body, status) || !is_of_rights(status.message)) return;
  auto right = right_of(request.method, request.path);
  if (!right) return;
  const std::lock_guard lock(mutex_);
  forget_old(now);
  auto it = entries_.find(*right);
  if (it == entries_.end()) {
    if (entries_.size() >= kMost) return;
    it = entries_.emplace(*right, Entry{*right, {}, now, now, 0}).first;
  }
  it->second.message = std::move(status.message);
  it->second.last = now;
  ++it->second.refusals;
  any_.store(true, std::memory_order_relaxed);
}

void MissingRights::forget_old(TimeMs now) {
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.last > kForgetAfter; });
  any_.store(!entries_.empty(), std::memory_order_relaxed);
}

std::vector<MissingRights::Entry> MissingRights::list(TimeMs now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  std::vector<Entry> out;
  for (const auto& [right, entry] : entries_) out.push_back(entry);
  return out;
}

std::vector<MissingRights::Entry> MissingRights::to_log(TimeMs now) {
  const std::lock_guard lock(mutex_);
  forget_old(now);
  std::vector<Entry> out;
  for (auto& [right, entry] : entries_) {
    if (now - entry.logged < kLogEvery) continue;
    entry.logged = now;
    out.push_back(entry);
  }
  return out;
}

}  // namespace berth::kube
