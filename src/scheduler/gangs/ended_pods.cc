#include "scheduler/gangs/ended_pods.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "dialect/base/kind.h"
#include "kube/paths.h"

namespace berth::scheduler {
namespace {

constexpr DurationMs kRest = kSecond;

bool is_gone(const kube::WriteResult& result) {
  return result.outcome == kube::Outcome::kNotFound || result.outcome == kube::Outcome::kGone;
}

}  // namespace

bool EndedPods::are_known(TimeMs now) {
  if (!began_) {
    began_ = true;
    const auto with = intake_.namespaces_with_ended();
    if (with.size() > kMostLists) {
      namespaces_.emplace_back();
    } else {
      namespaces_.assign(with.begin(), with.end());
    }
  }
  if (!namespaces_.empty() && !listing_ && now >= rest_until_) ask_page();
  return namespaces_.empty();
}

void EndedPods::ask_page() {
  listing_ = true;
  std::string path = fmt::format("{}?limit={}&fieldSelector={}", kube::kPods.collection(namespaces_.front()),
                                 page_, kube::escape(dialect::kEndedPods));
  if (!next_page_.empty()) path += "&continue=" + kube::escape(next_page_);
  outbox_.read(std::move(path), {}, Step::kEnded);
}

void EndedPods::work(TimeMs now) {
  for (auto& pod : intake_.take_left_members()) waiting_.push_back(std::move(pod));
  if (now < rest_until_) return;
  while (!waiting_.empty() && asked_.size() < kMostAsked) {
    dialect::PodName pod = std::move(waiting_.front());
    waiting_.pop_front();
    std::string uid = pod.uid;
    std::string path = kube::kPods.object(pod.ns, pod.name);
    if (asked_.emplace(uid, std::move(pod)).second)
      outbox_.read(std::move(path), std::move(uid), Step::kEnded);
  }
}

void EndedPods::answered(Answer&& answer, TimeMs now) {
  if (answer.uid.empty()) return take_page(std::move(answer), now);
  const auto it = asked_.find(answer.uid);
  if (it == asked_.end()) return;
  if (answer.result.outcome == kube::Outcome::kOk) {
    take_pod(answer.result.body, answer.uid);
  } else if (!is_gone(answer.result)) {
    waiting_.push_back(std::move(it->second));
    rest_until_ = now + kRest;
  }
  asked_.erase(it);
}

void EndedPods::take_page(Answer&& answer, TimeMs now) {
  listing_ = false;
  if (namespaces_.empty()) return;
  if (answer.result.outcome == kube::Outcome::kOk) {
    const auto page =
        reader_.page(kube::Form::kJson, answer.result.body, [&](const kube::ListItem& pod) -> Status {
          take_pod(pod.object, {});
          return {};
        });
    reader_.let_go();
    if (page) {
      next_page_ = page->next;
      if (next_page_.empty()) namespaces_.pop_front();
      return;
    }
    answer.result.message = page.error().message;
  }
  spdlog::warn("the pods of gangs that have ended cannot be listed: {} {}", answer.result.status,
               answer.result.message);
  next_page_.clear();                             // it may have expired
  page_ = std::max<std::uint32_t>(1, page_ / 2);  // or be too large
  rest_until_ = now + kRest;
}

void EndedPods::take_pod(std::string_view json, std::string_view uid) {
  const auto object = decoder_.decode(json, dialect::Kind::kPod);
  if (!object) return;
  const auto& pod = std::get<dialect::Pod>(*object);
  const bool has_ended =
      pod.phase == dialect::PodPhase::kSucceeded || pod.phase == dialect::PodPhase::kFailed;
  // One that is being deleted is gone in a moment. Another of its name is told by the watch.
  if (has_ended && !pod.meta.deleting && (uid.empty() || pod.meta.uid == uid)) intake_.ended(pod);
}

}  // namespace berth::scheduler
