// A list of a resource, kept up to date by a watch, delivered as changes. Nothing is lost: a connection may break
// anywhere, a resourceVersion may expire, the server may throttle; after each the changes go on from where they were.
//
//   Reflector pods(transport, {.path = kPods.collection(), .field_selector = "status.phase!=Succeeded"},
//                  [&](const Change& c) { queue.push(copy(c)); });
//
// How: a streaming list (sendInitialEvents) where the server serves it, else a list in pages; then a watch with bookmarks
// that is resumed at the last resourceVersion seen. 410 (as an answer or as an ERROR event): list again; what differs
// from what was delivered is delivered, with deletes for what is gone (without an object). 429, 5xx, lost connections:
// back-off 0.8 s, doubled up to 30 s, with jitter; Retry-After is honoured.
//
// For each object the consumer sees: kAdded, then any number of kModified, then kDeleted, then perhaps kAdded again (with
// another uid). kSynced comes once after each complete list: all that came before it is what the server had.
// Repeats of the same resourceVersion are not delivered.
//
// The object is JSON, as the server sent it, or made of its binary form (protobuf_json.h). Items of a paged list lack apiVersion and kind.
// ReflectorOptions::take_binary gets objects that are there in their binary form instead. Where an answer in binary form cannot be read, JSON is asked
// for from then on.
// The sink runs on the I/O thread: copy and leave. Memory: per object its key, uid and resourceVersion (about 150
// bytes), and the longest line. Cost per event: one pass over its bytes, two in binary form.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/transport.h"

namespace berth::kube {

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted, kSynced };

struct Change {
  ChangeType type = ChangeType::kSynced;
  std::string_view ns;  // empty for cluster-scoped objects
  std::string_view name;
  std::string_view uid;
  std::string_view
      resource_version;  // of the object; for kSynced of the list; for a delete found by listing: last known
  // JSON, followed by at least kJsonPadding readable bytes. Empty for kSynced and for deletes that a new list showed.
  std::string_view object;
};
inline constexpr std::size_t kJsonPadding = 64;  // simdjson may read this far behind the end

using ChangeSink = std::function<void(const Change&)>;
struct BinaryObject;
// The change has no `object`. An error: the object cannot be read.
using BinarySink = std::function<Status(const Change&, const BinaryObject&)>;

enum class ListMode : std::uint8_t {
  kAuto,   // streaming list, falling back to pages for good once the server refuses it
  kPages,  // always list in pages
};

struct ReflectorOptions {
  std::string path;  // collection, without a query
  std::string field_selector;
  std::string label_selector;
  ListMode mode = ListMode::kAuto;
  bool binary = false;  // asks for the API server's binary form: pods, nodes and Jobs only (protobuf_types.h)
  // Takes what is added or modified, where it comes in binary form. Empty: the sink gets its JSON.
  BinarySink take_binary;
  std::uint32_t page = 500;
  std::size_t max_line = std::size_t{16}
                         << 20;  // one event of a watch; a longer one ends the watch and lists in pages
  // Bytes of one page: of objects so large that a page is longer fewer are asked for.
  std::size_t max_page = std::size_t{32} << 20;
  DurationMs watch_timeout_min = 5 * kMinute;  // asked of the server, random in [min, 2 x min]
  DurationMs initial_silence =
      30 * kSecond;  // no byte for so long in a streaming list: list in pages instead
  DurationMs first_backoff = 800;
  DurationMs max_backoff = 30 * kSecond;
  DurationMs healthy_after = 2 * kMinute;  // a watch that lived so long resets the back-off
  std::uint64_t seed = 1;
  // Asked before bytes are taken; false: the stream is held back (the consumer's queue is full). Empty: always.
  std::function<bool()> ready;
};

// Read from any thread.
struct ReflectorStats {
  std::atomic<std::uint64_t> lists{0};     // complete lists, streamed or paged
  std::atomic<std::uint64_t> watches{0};   // started
  std::atomic<std::uint64_t> expired{0};   // 410
  std::atomic<std::uint64_t> failures{0};  // any other failed list or watch
  std::atomic<std::uint64_t> events{0};    // lines of watches, bookmarks included
  std::atomic<std::uint64_t> bookmarks{0};
  std::atomic<std::uint64_t> repeats{0};       // not delivered, since nothing had changed
  std::atomic<std::uint64_t> lost_deletes{0};  // deletes found by listing again
  std::atomic<std::uint64_t> objects{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> last_contact_ms{0};  // boottime of the last byte or good answer; 0: none yet
  std::atomic<bool> synced{false};               // the first complete list was delivered
};

class Reflector {
 public:
  // Starts at once. The transport must outlive the reflector.
  Reflector(Transport& transport, ReflectorOptions options, ChangeSink sink);
  ~Reflector();  // no call of the sink is running or follows
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  const ReflectorStats& stats() const;
  // Why the last list or watch failed; empty while all is well.
  std::string last_problem() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::kube
