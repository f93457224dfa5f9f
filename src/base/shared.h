// A value that its copies share until one of them is edited: a large value that many holders have is held once.
//
//   Shared<Labels> a = Labels{{"k", "v"}};
//   Shared<Labels> b = a;      // no copy
//   b.edit()["k"] = "w";       // b has its own now; a is as it was
//
// It reads as the value: *a, a->size(), a == b, for (x : a). The empty value costs nothing. Copying is O(1); edit() copies the
// value where others share it. Equality is O(1) where both share, else that of the values.
// Threads: different holders may be used from different threads, one holder as any value.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace berth {

template <class T>
class Shared {
 public:
  Shared() = default;
  template <class U>
    requires std::same_as<std::remove_cvref_t<U>, T>
  Shared(U&& value) {
    *this = T(std::forward<U>(value));
  }
  Shared& operator=(T value) {
    held_ = value == T() ? nullptr : std::shared_ptr<T>(new T(std::move(value)));
    return *this;
  }

  const T& operator*() const { return held_ == nullptr ? nothing() : *held_; }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }

  // The value, for this holder alone.
  T& edit() {
    if (held_ == nullptr) {
      held_ = std::make_shared<T>();
    } else if (held_.use_count() == 1) {
      std::atomic_thread_fence(
          std::memory_order_acquire);  // with the holder on another thread that let go last
    } else {
      held_ = std::make_shared<T>(*held_);
    }
    return *held_;
  }
  void clear() { held_.reset(); }
  // Whether both hold the same value in the same place.
  bool same(const Shared& other) const { return held_ == other.held_; }

  auto begin() const { return (**this).begin(); }
  auto end() const { return (**this).end(); }
  bool empty() const { return (**this).empty(); }
  std::size_t size() const { return (**this).size(); }
  decltype(auto) operator[](std::size_t i) const
    requires requires(const T& value) { value[std::size_t{0}]; }
  {
    return (**this)[i];
  }

  friend bool operator==(const Shared& a, const Shared& b) { return a.held_ == b.held_ || *a == *b; }
  friend bool operator==(const Shared& a, const T& b) { return *a == b; }

 private:
  static const T& nothing() {
    static const T kNothing{};
    return kNothing;
  }
  std::shared_ptr<T> held_;
};

}  // namespace berth
