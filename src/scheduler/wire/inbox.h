// The queue from the I/O thread to the decision thread: changes of objects and answers to writes, in the order in which they
// happened. The decision thread takes all entries at once. So batches grow with the load, and a single pod never waits for a batch
// to fill.
//
// Texts are copied once, into one buffer per batch; buffers are reused. A pod may come decoded, without its text. The I/O
// thread does that: pods are most of what a start reads, and the decision thread has enough to do meanwhile. Bounded: accepts() is false above a number of bytes,
// which makes the reflectors hold their streams back. Two buffers are in use at most, each of up to twice that size.
//
// Threads: push_*() and ask() from any, take() from one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/objects/object.h"
#include "dialect/upstream/objects.h"
#include "kube/reflector.h"
#include "kube/writer.h"

namespace berth::scheduler {

// The subject of a write or read: a pod; (kOwner) of an owner that is released or suspended; (kWorkload, kLook) for a workload's
// Workload object, (kProvision) its ProvisioningRequest or what goes with that, (kQueue) of a queue's status, (kMissing) an owner that
// pods name and no watch has shown; (kAudit) what the self-audit deletes, by its uid; (kGang) the status of
// an object that a gang's pods name, by its workload. (kClaim): of the node on a volume claim, or of the claim on its volume, by the claim's namespace/name.
// (kNodePools) Karpenter's NodePools. (kEnded) a pod of a gang that may have ended; without a uid a list of such pods.
enum class Step : std::uint8_t {
  kBind,
  kRead,
  kMark,
  kDelete,
  kStatus,
  kEvent,
  kOwner,
  kWorkload,
  kLook,
  kQueue,
  kMissing,
  kProvision,
  kAudit,
  kGang,
  kClaim,
  kNodePools,
  kEnded
};

// Whether the body of an answer is read: of the object that was read or written, its version at least. Most bytes are answers to binds.
constexpr bool reads_body(Step step) {
  switch (step) {
    case Step::kRead:
    case Step::kLook:
    case Step::kMissing:
    case Step::kNodePools:
    case Step::kEnded:
    case Step::kOwner:
    case Step::kWorkload:
    case Step::kQueue:
    case Step::kClaim:
      return true;
    case Step::kBind:
    case Step::kMark:
    case Step::kDelete:
    case Step::kStatus:
    case Step::kEvent:
    case Step::kProvision:
    case Step::kAudit:
    case Step::kGang:
      return false;
  }
  return true;
}

struct Answer {
  Step step = Step::kBind;
  std::string uid;  // of the pod, owner or workload; of a queue its kind and name
  kube::WriteResult result;
};

class Batch {
 public:
  struct Item {
    enum class What : std::uint8_t { kChange, kAnswer, kQuestion };
    What what = What::kChange;
    kube::ChangeType type = kube::ChangeType::kSynced;
    dialect::Kind kind = dialect::Kind::kPod;
    std::uint32_t ns = 0, name = 0, uid = 0, version = 0;  // lengths; the texts lie one behind the other
    std::size_t at = 0;                // of the first text, or the index of the answer or question
    std::size_t length = 0;            // of the object, which lies behind the texts
    std::optional<std::uint32_t> pod;  // decoded, instead of that
  };

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  const std::vector<Item>& items() const { return items_; }
  std::string_view ns(const Item& item) const { return text(item.at, item.ns); }
  std::string_view name(const Item& item) const { return text(item.at + item.ns, item.name); }
  std::string_view uid(const Item& item) const { return text(item.at + item.ns + item.name, item.uid); }
  std::string_view version(const Item& item) const {
    return text(item.at + item.ns + item.name + item.uid, item.version);
  }
  // Followed by kube::kJsonPadding readable bytes.
  std::string_view object(const Item& item) const {
    return text(item.at + item.ns + item.name + item.uid + item.version, item.length);
  }
  // The pod of an item that has one. Once.
  dialect::Pod take_pod(const Item& item) { return std::move(pods_[*item.pod]); }
  Answer& answer(const Item& item) { return answers_[item.at]; }
  const std::function<void()>& question(const Item& item) const { return questions_[item.at]; }
  void clear();

 private:
  friend class Inbox;
  std::string_view text(std::size_t at, std::size_t length) const {
    return std::string_view(bytes_).substr(at, length);
  }

  std::vector<Item> items_;
  std::string bytes_;
  std::deque<dialect::Pod> pods_;
  std::size_t pod_bytes_ = 0;
  std::vector<Answer> answers_;
  std::vector<std::function<void()>> questions_;
};

class Inbox {
 public:
  explicit Inbox(std::size_t most_bytes = std::size_t{32} << 20) : most_bytes_(most_bytes) {}

  void push(dialect::Kind kind, const kube::Change& change);
  // The same, of a pod that was decoded from the object of the change.
  void push(const kube::Change& change, dialect::Pod pod);
  void push(Answer answer);
  // Runs on the decision thread, between two batches. Dropped when the inbox is destroyed first.
  void ask(std::function<void()> question);
  bool accepts() const { return bytes_.load(std::memory_order_relaxed) < most_bytes_; }
  std::size_t depth() const { return depth_.load(std::memory_order_relaxed); }

  // Replaces `batch` by everything that is there; waits at most `wait_ms` for the first. Empty after wake() or the time.
  void take(Batch& batch, DurationMs wait_ms);
  void wake();

 private:
  // Without the object.
  Batch::Item& add_change(dialect::Kind kind, const kube::Change& change);
  void added(std::unique_lock<std::mutex>& lock);

  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable filled_;
  Batch batch_;
  bool waiting_ = false;
  bool woken_ = false;
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> depth_{0};
};

}  // namespace berth::scheduler
