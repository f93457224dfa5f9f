#include "dialect/objects/object.h"

#include <array>
#include <memory>
#include <type_traits>
#include <utility>

namespace berth::dialect {
namespace {

template <class T>
const OwnerKind* owner_row() {
  if constexpr (requires { T::kOwner; }) {
    return &T::kOwner;
  } else {
    return nullptr;
  }
}

// By Kind.
template <std::size_t... I>
auto rows_of(std::index_sequence<I...>) {
  std::array<const OwnerKind*, sizeof...(I)> out{};
  const auto add = [&]<class T>(std::type_identity<T>) {
    if constexpr (requires { T::kKind; }) out[static_cast<std::size_t>(T::kKind)] = owner_row<T>();
  };
  (add(std::type_identity<std::variant_alternative_t<I, Object>>()), ...);
  return out;
}

const auto& owner_rows() {
  static_assert(std::variant_size_v<Object> == kKinds.size() + 1,
                "each kind has a struct, and declared ones share one");
  static const auto kRows = rows_of(std::make_index_sequence<std::variant_size_v<Object>>());
  return kRows;
}

}  // namespace

Kind kind_of(const Object& object) {
  return std::visit(
      [](const auto& o) {
        if constexpr (requires { o.kind(); }) {
          return o.kind();
        } else {
          return std::decay_t<decltype(o)>::kKind;
        }
      },
      object);
}

const Meta& meta_of(const Object& object) {
  return std::visit([](const auto& o) -> const Meta& { return o.meta; }, object);
}

std::string_view problem_of(const Object& object) {
  return std::visit(
      [](const auto& o) -> std::string_view {
        if constexpr (requires { o.problem; }) return o.problem;
        return {};
      },
      object);
}

const OwnerKind* owner_kind(Kind kind) {
  if (!is_declared(kind)) return owner_rows()[static_cast<std::size_t>(kind)];
  const Declaration* declared = declaration_of(kind);
  return declared == nullptr ? nullptr : &declared->row;
}

const OwnerKind* owner_kind_of_word(std::string_view word) {
  for (const OwnerKind* row : owner_rows()) {
    if (row != nullptr && row->word() == word) return row;
  }
  for (const Declaration* declared : declarations()) {
    if (declared->word == word) return &declared->row;
  }
  return nullptr;
}

const OwnerKind* owner_kind(const Owner& controller) {
  if (controller.kind.empty()) return nullptr;
  const OwnerKind* row = owner_kind_of_word(controller.kind);
  return row != nullptr && (controller.group.empty() || controller.group == row->info().group) ? row
                                                                                               : nullptr;
}

Ask ask_of(Object object) {
  return std::visit(
      [](auto&& value) -> Ask {
        using T = std::decay_t<decltype(value)>;
        if constexpr (requires { T::kOwner; }) {
          return T::kOwner.ask(std::make_shared<T>(std::move(value)));
        } else if constexpr (std::is_same_v<T, Declared>) {
          const OwnerKind& row = value.declared->row;
          return row.ask(std::make_shared<T>(std::move(value)));
        } else {
          return {};
        }
      },
      std::move(object));
}

}  // namespace berth::dialect
