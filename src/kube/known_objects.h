// The objects that a reflector has shown: the key, uid and resourceVersion of each. There may be hundreds of thousands, so each is one text.
//
// A number is that of one object until erase(), and is used again after that. Cost: O(length) per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/reused.h"
#include "base/text_index.h"

namespace berth::kube {

class KnownObjects {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNone = TextIndex::kNone;

  // `key`: namespace/name.
  Number find(std::string_view key) const {
    return by_key_.find(key, [&](Number at) { return this->key(at) == key; });
  }
  // There is none of this key. It has no version yet, and no list has shown it.
  Number add(std::string_view key, std::string_view uid) {
    const Number at = objects_.take();
    Object& object = objects_[at];
    object.key = static_cast<std::uint32_t>(key.size());
    object.uid = static_cast<std::uint32_t>(uid.size());
    object.texts.reserve(key.size() + uid.size() + kUsualVersion);
    object.texts.append(key).append(uid);
    by_key_.add(key, at);
    return at;
  }
  void erase(Number at) {
    by_key_.erase(key(at), [&](Number other) { return other == at; });
    objects_.give_back(at);
  }

  std::string_view key(Number at) const { return text(at).substr(0, objects_[at].key); }
  std::string_view uid(Number at) const { return text(at).substr(objects_[at].key, objects_[at].uid); }
  std::string_view version(Number at) const { return text(at).substr(objects_[at].key + objects_[at].uid); }
  void set_version(Number at, std::string_view version) {
    objects_[at].texts.resize(objects_[at].key + objects_[at].uid);
    objects_[at].texts.append(version);
  }
  // The list that showed it last.
  std::uint32_t pass(Number at) const { return objects_[at].pass; }
  void set_pass(Number at, std::uint32_t pass) { objects_[at].pass = pass; }

  std::size_t size() const { return by_key_.size(); }
  template <class F>
  void each(F&& f) const {
    for (Number at = 0; at < objects_.size(); ++at) {
      if (!objects_[at].texts.empty()) f(at);
    }
  }

 private:
  static constexpr std::size_t kUsualVersion = 10;  // digits

  struct Object {
    std::string texts;               // key, uid and version, one behind the other
    std::uint32_t key = 0, uid = 0;  // lengths
    std::uint32_t pass = 0;
  };
  std::string_view text(Number at) const { return objects_[at].texts; }

  Reused<Object, std::deque<Object>> objects_;
  TextIndex by_key_;
};

}  // namespace berth::kube
