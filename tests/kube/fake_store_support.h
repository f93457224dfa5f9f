// The store behind FakeApiServer: objects, their history, selectors. Internal to it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::kube::testing {

using Json = nlohmann::json;

struct StoreEvent {
  std::int64_t rv = 0;
  std::string table;
  std::string ns;
  std::string type;  // ADDED, MODIFIED, DELETED
  std::shared_ptr<const Json> before;
  std::shared_ptr<const Json> after;  // for DELETED: the last state with the rv of the delete
};

// "spec.nodeName=x,status.phase!=Failed" or labels "a=b,c,!d".
class Selector {
 public:
  Selector(const std::string& fields, const std::string& labels);
  bool matches(const Json& object) const;

 private:
  struct Term {
    std::vector<std::string> path;
    std::string value;
    enum class Op { kEquals, kNot, kExists, kMissing } op = Op::kEquals;
  };
  std::vector<Term> terms_;
};

// All members need the mutex held, except where said otherwise.
class ObjectStore {
 public:
  std::mutex mutex;
  std::condition_variable changed;

  std::int64_t rv() const { return rv_; }
  std::int64_t oldest() const { return oldest_; }  // watches may start at this version or later
  void compact() {
    history_.clear();
    first_ = next_;
    oldest_ = rv_;
  }

  std::shared_ptr<const Json> find(const std::string& table, const std::string& key) const;
  // In order of key; ns empty: all.
  std::vector<std::shared_ptr<const Json>> list(const std::string& table, const std::string& ns) const;
  // Writes the object with a new resourceVersion and tells the watches.
  std::shared_ptr<const Json> put(const std::string& table, const std::string& key, Json object);
  void erase(const std::string& table, const std::string& key);
  // Objects of all tables that `match`es, as (table, key).
  template <class Match>
  std::vector<std::pair<std::string, std::string>> where(Match match) const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& [table, objects] : tables_) {
      for (const auto& [key, object] : objects) {
        if (match(*object)) out.emplace_back(table, key);
      }
    }
    return out;
  }

  // History by position, so that a watch never looks at an event twice.
  std::uint64_t position() const { return next_; }
  std::uint64_t position_after(std::int64_t version) const;
  bool lost(std::uint64_t position) const { return position < first_; }
  const StoreEvent* at(std::uint64_t position) const {
    return position < first_ || position >= next_ ? nullptr : &history_[position - first_];
  }
  std::string new_uid();

 private:
  std::int64_t rv_ = 1000;
  std::int64_t oldest_ = 1000;
  std::uint64_t uids_ = 0;
  std::map<std::string, std::map<std::string, std::shared_ptr<const Json>>> tables_;
  std::deque<StoreEvent> history_;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
};

// RFC 7386, and the strategic form: lists of objects with a "type" are merged by it.
void merge_patch(Json& into, const Json& patch, bool strategic);

}  // namespace berth::kube::testing
