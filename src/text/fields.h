// Reads the fields of a mapping with checks, and with errors that the author of the file can act on.
//
//   text::Fields f(document, document.root());
//   Queue queue;
//   queue.name = f.string("name");                              // required
//   queue.weight = f.integer_or("weight", 1, 0, 1'000'000);     // optional, default 1, range
//   queue.wait_ms = f.duration_or("maxWait", 0);
//   queue.order = f.choice_or("order", kOrders, Order::kFifo);  // one of a list
//   f.each("children", [&](text::Fields& child) { ... });       // a list of mappings; done() is called for
//   each BERTH_TRY(f.done());
//
// The first error is kept and returned by done(); until then every accessor returns its default (zero,
// empty), so values must not be used for anything that could fail before done() said that all is well. done()
// also refuses unknown keys and names the nearest known key (Unknown::kRefuse), or ignores them (Unknown::kIgnore, which is for
// Kubernetes objects). A value of null counts as absent, as in Kubernetes.
//
// Messages: "file:line:column: spec.queues[2].weight: must be an integer from 0 to 10, not \"abc\"".
// Strings: a plain number or boolean is refused for a string with the advice to quote it, as Kubernetes
// would. With kIgnore, what Kubernetes' YAML reader (1.1) accepts is accepted too: yes/no/on/off as booleans,
// 0644 as octal. Keys and paths are views: pass literals or strings that outlive the Fields. Not movable;
// children point to parents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/document.h"

namespace berth::text {

enum class Unknown : std::uint8_t { kRefuse, kIgnore };

// One admissible word of an enumeration.
template <class E>
struct Choice {
  std::string_view name;
  E value;
};

class Fields {
 public:
  static constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

  // `node` should be a mapping of `document` (otherwise that is the first error). `path` names it in
  // messages.
  Fields(const Document& document, const Node& node, Unknown unknown = Unknown::kRefuse,
         std::string_view path = {});
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  // Whether the mapping is there at all (false for an absent optional_child).
  explicit operator bool() const { return present_; }
  const Node& node() const { return *node_; }
  const Document& document() const { return *document_; }
  // Whether `key` is there with a value other than null. Counts as asking for the key.
  bool has(std::string_view key);
  // The value of `key`, or nullptr where it is absent or null. Counts as asking for the key.
  const Node* find(std::string_view key);
  // Marks `key` as known without reading it.
  void ignore(std::string_view key);

  std::string string(std::string_view key);  // required, not empty
  std::string string_or(std::string_view key, std::string_view otherwise = {});
  std::int64_t integer(std::string_view key, std::int64_t min = kMin, std::int64_t max = kMax);
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise, std::int64_t min = kMin,
                          std::int64_t max = kMax);
  double number(std::string_view key, double min, double max);  // finite
  double number_or(std::string_view key, double otherwise, double min, double max);
  bool boolean(std::string_view key);
  bool boolean_or(std::string_view key, bool otherwise);
  // Milliseconds; text as in text/time.h parse_duration ("1h30m", "250ms").
  std::int64_t duration(std::string_view key, std::int64_t min_ms = 0, std::int64_t max_ms = kMax);
  std::int64_t duration_or(std::string_view key, std::int64_t otherwise_ms, std::int64_t min_ms = 0,
                           std::int64_t max_ms = kMax);
  // RFC 3339, milliseconds since the epoch.
  std::int64_t time_or(std::string_view key, std::int64_t otherwise_ms);
  // A Kubernetes quantity, not negative, times `scale`, rounded up (text/quantity.h).
  std::int64_t quantity(std::string_view key, std::int64_t scale);
  std::int64_t quantity_or(std::string_view key, std::int64_t scale, std::int64_t otherwise);

  // One of `choices`; the error lists them and names the nearest.
  template <class E, std::size_t N>
  E choice(std::string_view key, const Choice<E> (&choices)[N]) {
    return pick(key, choices, true, choices[0].value);
  }
  template <class E, std::size_t N>
  E choice_or(std::string_view key, const Choice<E> (&choices)[N], std::type_identity_t<E> otherwise) {
    return pick(key, choices, false, otherwise);
  }

  // The elements of a list; none where it is absent or null.
  std::span<const Node> list(std::string_view key);
  std::vector<std::string> strings(std::string_view key);  // a list of strings, possibly absent
  // A mapping of strings to strings (labels, selectors), in the order of the text; possibly absent.
  std::vector<std::pair<std::string, std::string>> string_map(std::string_view key);

  // A nested mapping. It reports to the same first error; call its done() (or leave unknown keys unchecked).
  // This Fields must outlive it.
  Fields child(std::string_view key);           // required
  Fields optional_child(std::string_view key);  // absent: one that is false and empty
  // Calls visit(Fields&) for each element of a list of mappings, then done() on it. Absent: no calls.
  template <class Visit>
  void each(std::string_view key, Visit&& visit) {
    std::size_t index = 0;
    for (const Node& item : list(key)) {
      Fields fields(*this, item, key, index++);
      visit(fields);
      (void)fields.done();
    }
  }
  // Calls visit(std::string_view name, Fields&) for each entry of a mapping of mappings, then done() on it.
  template <class Visit>
  void each_entry(std::string_view key, Visit&& visit) {
    for (const Entry& entry : mapping(key)) {
      Fields between(*this, *find(key), key, kNoIndex);
      Fields fields(between, entry.value, entry.name(), kNoIndex);
      visit(entry.name(), fields);
      (void)fields.done();
    }
  }
  // The entries of a nested mapping; none where it is absent or null.
  std::span<const Entry> mapping(std::string_view key);

  // Records an error at the value of `key` (or at the mapping, where the key is absent); only the first one
  // stays.
  template <class... Args>
  void error(std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
    record(key, fmt::format(format, std::forward<Args>(args)...));
  }
  bool ok() const { return !sink_->has_value(); }
  // The first error of this mapping and all that share it; unknown keys are errors unless they are ignored.
  Status done();

 private:
  static constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

  // `index` numbers the element where `key` is a list.
  Fields(Fields& parent, const Node& node, std::string_view key, std::size_t index);

  const Node* require(std::string_view key);
  std::optional<std::string> string_of(std::string_view key, const Node& node);
  void record(std::string_view key, std::string message);
  void record_at(const Node& node, std::string_view key, std::string_view message, bool missing = false);
  void check_kind();
  std::string path() const;
  std::string path_to(std::string_view key) const;
  void choice_error(std::string_view key, const Node& node, std::span<const std::string_view> names);

  template <class E, std::size_t N>
  E pick(std::string_view key, const Choice<E> (&choices)[N], bool required, E otherwise) {
    const Node* value = required ? require(key) : find(key);
    if (value == nullptr) return otherwise;
    if (value->is_scalar()) {
      for (const Choice<E>& choice : choices) {
        if (choice.name == value->text()) return choice.value;
      }
    }
    std::string_view names[N];
    for (std::size_t i = 0; i < N; ++i) names[i] = choices[i].name;
    choice_error(key, *value, names);
    return otherwise;
  }

  const Document* document_;
  const Node* node_;
  const Fields* parent_ = nullptr;
  std::string_view key_;  // in the parent; for a root, the path that the caller gave
  std::size_t index_ = kNoIndex;
  Unknown unknown_;
  bool present_ = true;
  bool missing_first_ = false;  // the first error is a missing key of this mapping
  std::optional<Error> own_error_;
  std::optional<Error>* sink_;  // of the root
  std::vector<std::string_view> asked_;
};

// The path of a key below `path`: "spec.count", or spec["nvidia.com/gpu"] where the key is no plain word (its first 100 bytes).
std::string path_with(std::string path, std::string_view key);

// Edits that make one word the other; case does not count, and a swap of neighbours is one. The longer length where one has more than
// 64 letters.
std::size_t distance(std::string_view a, std::string_view b);

// The candidate nearest to `word` by that distance, or empty where none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace berth::text
