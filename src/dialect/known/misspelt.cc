#include "dialect/known/misspelt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dialect/base/foreign_marks.h"
#include "dialect/base/kind.h"
#include "dialect/known/known.h"
#include "text/fields.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kKeys = "Keys";
constexpr std::size_t kMostFound = 1000;  // in one object

struct Type;

struct Field {
  std::string_view name;
  std::string_view type_name;  // "" = anything goes
  const Type* type = nullptr;
};

struct Type {
  std::vector<Field> fields;
  bool is_keys = false;

  const Field* find(std::string_view name) const {
    const auto it =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    return it == fields.end() ? nullptr : &*it;
  }
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \n", begin), text.size());
    out.push_back(text.substr(begin, at - begin));
  }
  return out;
}

// The known name that was probably meant: one of almost the same letters, or the shortest that goes on where it ends, or one of similar
// letters, or one that it goes on from.
std::string_view meant(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t kTelling = 4;  // letters: less of a name says little
  const std::string_view near = text::nearest(name, known);
  if (!near.empty() && text::distance(name, near) <= 2) return near;
  const auto shortest = [&](auto&& suits) {
    std::string_view best;
    for (const std::string_view other : known) {
      if (suits(other) && (best.empty() || other.size() < best.size())) best = other;
    }
    return best;
  };
  if (name.size() >= kTelling) {
    const auto longer = shortest([&](std::string_view other) { return other.starts_with(name); });
    if (!longer.empty()) return longer;
  }
  if (!near.empty()) return near;
  return shortest([&](std::string_view other) {
    const bool part =
        name.find(other) != std::string_view::npos || other.find(name) != std::string_view::npos;
    return part && std::min(name.size(), other.size()) >= kTelling;
  });
}

std::string_view group_of(std::string_view version) {
  const auto slash = version.find('/');
  return slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
}

std::string version_in(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

// The apiVersion to write for a kind.
std::string version_of(const KnownKind& kind) {
  const auto versions = words_of(kind.versions);
  return version_in(kind.group, versions.empty() ? "v1" : versions.front());
}

// The tables of all systems, read.
struct Book {
  struct System {
    KnownSystem known;
    std::map<std::string_view, Type> types;
  };
  struct KindOf {
    KnownKind kind;
    const Type* type = nullptr;
  };
  std::vector<System> systems;
  std::vector<KindOf> kinds;
  std::vector<std::string_view> groups;
  std::vector<std::string_view> prefixes;
  std::vector<std::string_view> keys;  // sorted
  Type key_map;

  Book() {
    key_map.is_keys = true;
    for (const KnownSystem& known :
         {known_upstream(), known_kueue(), known_volcano(), known_kai(), known_coscheduling(),
          known_koordinator(), known_yunikorn(), known_autoscaler(), known_jobset(), known_ray(),
          known_kubeflow(), known_spark(), known_leader_worker(), known_app_wrapper(), known_berth()}) {
      System& system = systems.emplace_back(System{known, {}});
      read(known.fields, system.types);
      prefixes.insert(prefixes.end(), known.prefixes.begin(), known.prefixes.end());
      keys.insert(keys.end(), known.keys.begin(), known.keys.end());
    }
    std::sort(keys.begin(), keys.end());
    for (System& system : systems) {
      for (auto& [name, type] : system.types) {
        for (Field& field : type.fields) field.type = type_of(system, field.type_name);
      }
      for (const KnownKind& kind : system.known.kinds) {
        kinds.push_back({kind, type_of(system, kind.type)});
        if (std::find(groups.begin(), groups.end(), kind.group) == groups.end()) groups.push_back(kind.group);
      }
    }
  }
  Book(const Book&) = delete;  // types point to each other
  Book& operator=(const Book&) = delete;

  static void read(std::string_view text, std::map<std::string_view, Type>& types) {
    Type* type = nullptr;
    for (const std::string_view word : words_of(text)) {
      if (word.ends_with(':')) {
        type = &types[word.substr(0, word.size() - 1)];
        continue;
      }
      const auto equals = std::min(word.find('='), word.size());
      const std::string_view of = word.substr(std::min(equals + 1, word.size()));
      type->fields.push_back({word.substr(0, equals), of, nullptr});
    }
  }

  const Type* type_of(const System& system, std::string_view name) const {
    if (name.empty()) return nullptr;
    if (name == kKeys) return &key_map;
    for (const System* in : {&system, &systems.front()}) {
      if (const auto it = in->types.find(name); it != in->types.end()) return &it->second;
    }
    return nullptr;
  }

  const KindOf* find_kind(std::string_view group, std::string_view kind) const {
    const auto it = std::find_if(kinds.begin(), kinds.end(), [&](const KindOf& known) {
      return known.kind.group == group && known.kind.kind == kind;
    });
    return it == kinds.end() ? nullptr : &*it;
  }
};

// One object, looked through.
class Search {
 public:
  Search(const Book& book, const text::Document& document, const text::Node& object,
         std::vector<Misspelt>& out)
      : book_(book), document_(document), out_(out) {
    const text::Node* const meta = object.find("metadata");
    const auto text_of = [&](const text::Node* node, std::string_view key) {
      const text::Node* const value = node == nullptr ? nullptr : node->find(key);
      return value == nullptr ? std::string_view() : value->text();
    };
    version_ = text_of(&object, "apiVersion");
    kind_ = text_of(&object, "kind");
    given_out_ = !text_of(meta, "resourceVersion").empty();
    std::string_view name = text_of(meta, "name");
    if (name.empty()) name = text_of(meta, "generateName");
    std::string_view ns = text_of(meta, "namespace");
    const auto read = kind_of(version_, kind_);
    if (ns.empty() && read && is_namespaced(*read)) ns = "default";
    object_ =
        fmt::format("{} {}{}{}", kind_, ns, ns.empty() ? "" : "/", name.empty() ? "without a name" : name);
  }

  void run(const text::Node& object) {
    if (version_.empty() || kind_.empty() || kind_.ends_with("List")) return;
    const Book::KindOf* const known = book_.find_kind(group_of(version_), kind_);
    if (known == nullptr) return name_kind(object);
    const std::string_view group = group_of(version_);
    const std::string_view version = version_.substr(group.empty() ? 0 : group.size() + 1);
    const auto versions = words_of(known->kind.versions);
    if (!versions.empty() && std::find(versions.begin(), versions.end(), version) == versions.end()) {
      const std::string_view near = text::nearest(version, versions);
      report(
          *object.find("apiVersion"), "apiVersion",
          fmt::format("{} has no such version of {}; did you mean {}?", group.empty() ? "Kubernetes" : group,
                      kind_, version_in(group, near.empty() ? versions.front() : near)));
    }
    if (known->type != nullptr) look(object, *known->type);
  }

 private:
  // One step from the object to where the search is: a field of a mapping, or an item of a list.
  struct Step {
    const Type* within = nullptr;  // the mapping's; nullptr: a list
    std::string_view key;
    std::int64_t index = 0;
  };

  void report(const text::Node& at, std::string_view path, std::string_view what) {
    if (out_.size() >= kMostFound) return;
    out_.push_back({document_.place(at), fmt::format("{}: {}: {}", object_, path, what)});
  }

  // A kind that is not known in its group: one of another group, or almost one.
  void name_kind(const text::Node& object) {
    const std::string_view group = group_of(version_);
    const bool group_known = std::find(book_.groups.begin(), book_.groups.end(), group) != book_.groups.end();
    const auto is_near = [&](std::string_view other, std::size_t most) {
      return text::distance(group, other) <= most;
    };
    for (const auto& [kind, type] : book_.kinds) {
      if (kind.kind != kind_) continue;
      constexpr std::size_t kTelling = 8;  // letters of a name that few others give their kinds
      if (!group_known && !is_near(kind.group, kind_.size() >= kTelling ? 5 : 2)) continue;
      return report(*object.find("apiVersion"), "apiVersion",
                    fmt::format("{} has no kind {}; did you mean {}?", version_, kind_, version_of(kind)));
    }
    for (const std::string_view other : book_.groups) {
      if (group_known ? other != group : other.empty() || !is_near(other, 2)) continue;
      std::vector<std::string_view> names;
      for (const auto& [kind, type] : book_.kinds) {
        if (kind.group == other) names.push_back(kind.kind);
      }
      const std::string_view near = text::nearest(kind_, names);
      if (near.empty()) continue;
      return report(*object.find("kind"), "kind",
                    fmt::format("{} has no kind {}; did you mean {}{}?", version_, kind_, near,
                                group_known ? "" : fmt::format(" of {}", other)));
    }
  }

  void look(const text::Node& node, const Type& type) {
    std::int64_t index = 0;
    for (const text::Node& item : node.items()) {
      way_.push_back({nullptr, {}, index++});
      look(item, type);
      way_.pop_back();
    }
    for (const text::Entry& entry : node.entries()) {
      if (type.is_keys) {
        look_at_key(entry);
        continue;
      }
      const Field* const field = type.find(entry.name());
      if (field == nullptr) {
        name_field(entry, type);
      } else if (field->type != nullptr) {
        way_.push_back({&type, entry.name(), 0});
        look(entry.value, *field->type);
        way_.pop_back();
      }
    }
  }

  // The first steps of the path.
  std::string path_of(std::size_t steps) const {
    std::string out;
    for (std::size_t i = 0; i < steps; ++i)
      out = way_[i].within == nullptr ? fmt::format("{}[{}]", out, way_[i].index)
                                      : text::path_with(out, way_[i].key);
    return out;
  }

  void name_field(const text::Entry& entry, const Type& type) {
    std::vector<std::string_view> known;
    for (const Field& field : type.fields) known.push_back(field.name);
    std::string hint(text::nearest(entry.name(), known));
    if (hint.empty() && given_out_) return;
    if (hint.empty()) hint = place_of(entry.name(), type);
    if (hint.empty()) hint = meant(entry.name(), known);
    report(entry.key, text::path_with(path_of(way_.size()), entry.name()),
           hint.empty() ? "unknown field" : fmt::format("unknown field; did you mean {}?", hint));
  }

  // Where a field of this name belongs: in a mapping around this one, or in one of those within it.
  std::string place_of(std::string_view name, const Type& type) const {
    for (std::size_t i = way_.size(); i-- > 0;) {
      const Type* const around = way_[i].within;
      if (around != nullptr && around != &type && around->find(name) != nullptr)
        return text::path_with(path_of(i), name);
    }
    struct Inner {
      std::string path;
      const Type* type;
    };
    std::vector<Inner> found{{path_of(way_.size()), &type}};
    constexpr std::size_t kMostSteps = 200;
    for (std::size_t i = 0; i < found.size() && i < kMostSteps; ++i) {
      const Inner here = found[i];
      for (const Field& field : here.type->fields) {
        if (field.type == nullptr || field.type->is_keys || field.name == "status") continue;
        const std::string path = text::path_with(here.path, field.name);
        if (field.type->find(name) != nullptr) return text::path_with(path, name);
        const bool seen =
            std::any_of(found.begin(), found.end(), [&](const Inner& s) { return s.type == field.type; });
        if (!seen) found.push_back({path, field.type});
      }
    }
    return {};
  }

  // The known prefix that this one is, or almost is; "" = it is of no system that Berth knows.
  std::string_view known_prefix(std::string_view prefix) const {
    constexpr std::size_t kMostEdits = 2;
    std::string_view almost;
    std::size_t least = kMostEdits + 1;
    for (const std::string_view known : book_.prefixes) {
      if (known == prefix) return known;
      const std::size_t longer = std::max(known.size(), prefix.size());
      if (longer - std::min(known.size(), prefix.size()) > kMostEdits || known.front() != prefix.front())
        continue;
      if (const std::size_t far = text::distance(prefix, known); far < least) {
        least = far;
        almost = known;
      }
    }
    return almost;
  }

  void look_at_key(const text::Entry& entry) {
    const std::string_view key = entry.name();
    const auto slash = key.find('/');
    if (slash == std::string_view::npos || slash == 0) return;
    if (std::binary_search(book_.keys.begin(), book_.keys.end(), key)) return;
    const std::string_view prefix = known_prefix(key.substr(0, slash + 1));
    if (prefix.empty() || find_foreign(MarkPlace::kKey, key) != nullptr) return;
    std::vector<std::string_view> known;
    for (const std::string_view other : book_.keys) {
      if (other.starts_with(prefix)) known.push_back(other.substr(prefix.size()));
    }
    const std::string_view near = meant(key.substr(slash + 1), known);
    if (near.empty()) return;
    report(entry.key, text::path_with(path_of(way_.size()), key),
           fmt::format("unknown name; did you mean {}{}?", prefix, near));
  }

  const Book& book_;
  const text::Document& document_;
  std::vector<Misspelt>& out_;
  std::string_view version_;
  std::string_view kind_;
  std::string object_;
  bool given_out_ = false;
  std::vector<Step> way_;
};

}  // namespace

struct Misspellings::Tables {
  Book book;
};

Misspellings::Misspellings() : tables_(std::make_unique<const Tables>()) {}
Misspellings::Misspellings(Misspellings&&) noexcept = default;
Misspellings& Misspellings::operator=(Misspellings&&) noexcept = default;
Misspellings::~Misspellings() = default;

std::vector<Misspelt> Misspellings::find(const text::Document& document, const text::Node& object) const {
  std::vector<Misspelt> out;
  if (object.is_mapping()) Search(tables_->book, document, object, out).run(object);
  return out;
}

bool Misspellings::has_field(std::string_view system, std::string_view type, std::string_view field) const {
  for (const auto& known : tables_->book.systems) {
    if (known.known.name != system) continue;
    const Type* const found = tables_->book.type_of(known, type);
    return found != nullptr && found->find(field) != nullptr;
  }
  return false;
}

}  // namespace berth::dialect
