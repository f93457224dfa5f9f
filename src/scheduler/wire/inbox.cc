#include "scheduler/wire/inbox.h"

#include <chrono>
#include <utility>

namespace berth::scheduler {
namespace {
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;  // of a buffer that is reused, whatever comes
}

void Batch::clear() {
  // Under load one batch is as large as the last, and its buffer is kept. A batch that is much smaller ends the load.
  const bool oversized = bytes_.capacity() > kKeptBytes && bytes_.size() < bytes_.capacity() / 4;
  items_.clear();
  bytes_.clear();
  if (oversized) bytes_.shrink_to_fit();
  pods_.clear();
  pod_bytes_ = 0;
  answers_.clear();
  questions_.clear();
}

Batch::Item& Inbox::add_change(dialect::Kind kind, const kube::Change& change) {
  Batch::Item item;
  item.type = change.type;
  item.kind = kind;
  item.ns = static_cast<std::uint32_t>(change.ns.size());
  item.name = static_cast<std::uint32_t>(change.name.size());
  item.uid = static_cast<std::uint32_t>(change.uid.size());
  item.version = static_cast<std::uint32_t>(change.resource_version.size());
  item.at = batch_.bytes_.size();
  batch_.bytes_.append(change.ns).append(change.name).append(change.uid).append(change.resource_version);
  return batch_.items_.emplace_back(item);
}

void Inbox::push(dialect::Kind kind, const kube::Change& change) {
  std::unique_lock lock(mutex_);
  add_change(kind, change).length = change.object.size();
  batch_.bytes_.append(change.object);
  added(lock);
}

void Inbox::push(const kube::Change& change, dialect::Pod pod) {
  std::unique_lock lock(mutex_);
  add_change(dialect::Kind::kPod, change).pod = static_cast<std::uint32_t>(batch_.pods_.size());
  batch_.pods_.push_back(std::move(pod));
  batch_.pod_bytes_ += sizeof(dialect::Pod) + change.object.size();  // with the texts in it, about
  added(lock);
}

void Inbox::push(Answer answer) {
  if (!reads_body(answer.step)) answer.result.body = {};
  std::unique_lock lock(mutex_);
  Batch::Item item;
  item.what = Batch::Item::What::kAnswer;
  item.at = batch_.answers_.size();
  batch_.answers_.push_back(std::move(answer));
  batch_.items_.push_back(item);
  added(lock);
}

void Inbox::ask(std::function<void()> question) {
  std::unique_lock lock(mutex_);
  Batch::Item item;
  item.what = Batch::Item::What::kQuestion;
  item.at = batch_.questions_.size();
  batch_.questions_.push_back(std::move(question));
  batch_.items_.push_back(item);
  added(lock);
}

void Inbox::added(std::unique_lock<std::mutex>& lock) {
  depth_.store(batch_.items_.size(), std::memory_order_relaxed);
  bytes_.store(batch_.bytes_.size() + batch_.pod_bytes_, std::memory_order_relaxed);
  const bool notify = std::exchange(waiting_, false);
  lock.unlock();
  if (notify) filled_.notify_one();
}

void Inbox::take(Batch& batch, DurationMs wait_ms) {
  batch.clear();
  std::unique_lock lock(mutex_);
  if (batch_.empty() && !woken_ && wait_ms > 0) {
    waiting_ = true;
    filled_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return !batch_.empty() || woken_; });
    waiting_ = false;
  }
  woken_ = false;
  std::swap(batch, batch_);
  bytes_.store(0, std::memory_order_relaxed);
  depth_.store(0, std::memory_order_relaxed);
  lock.unlock();
  batch.bytes_.append(kube::kJsonPadding, '\0');
}

void Inbox::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  filled_.notify_one();
}

}  // namespace berth::scheduler
