// Typed reads of one field of a value, shared by the decoders of all kinds. A field that is absent or null
// gives its default; a field of the wrong type records an error and gives its default. Fields that Berth does not read are ignored.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/base/bounds.h"
#include "dialect/base/value.h"
#include "model/labels.h"
#include "model/resources.h"
#include "text/fields.h"
#include "text/quantity.h"
#include "text/time.h"

namespace berth::dialect {

// Which resources are devices: names that end in "/gpu", and the ones listed.
struct DeviceNames {
  std::vector<std::string> more;

  bool is_device(std::string_view resource) const {
    return resource.ends_with("/gpu") || std::find(more.begin(), more.end(), resource) != more.end();
  }
};

template <class V>
class FieldReader {
 public:
  FieldReader(Problems& problems, const DeviceNames& devices) : problems_(&problems), devices_(&devices) {}

  const DeviceNames& devices() const { return *devices_; }
  // The namespace of an object that names none.
  const std::string& home() const { return home_; }
  void set_home(std::string ns) { home_ = std::move(ns); }
  Problems& problems() { return *problems_; }
  void error(const V& value, std::string_view key, std::string message) {
    problems_->at(value, key, std::move(message));
  }

  // Counts `more` entries at `key` of `value`; an error, and false, beyond their bound (bounds.h).
  bool takes(Entry entry, const V& value, std::string_view key, std::size_t more = 1) {
    if (counts_.add(entry, more)) return true;
    const EntryBound& bound = bound_of(entry);
    error(value, key, fmt::format("Berth reads no more than {} {}", bound.most, bound.what));
    return false;
  }
  void begin_pod() { counts_.begin_pod(); }

  // A nested mapping; one that is not present where it is absent.
  V map(const V& object, std::string_view key) {
    const V value = object.find(key);
    if (value.present() && !value.is_map()) wrong(value, key, "a mapping");
    return value;
  }
  template <class F>
  void list(const V& object, std::string_view key, F&& f) {
    const V value = object.find(key);
    if (!value.present()) return;
    if (!value.is_list()) return wrong(value, key, "a list");
    value.each_item(f);
  }
  std::string_view string(const V& object, std::string_view key) {
    const V value = object.find(key);
    return value.present() ? string_of(value, key) : std::string_view();
  }
  std::string_view string_of(const V& value, std::string_view key) {
    if (!value.present()) return {};
    if (const auto text = value.text()) return *text;
    wrong(value, key, "a string (a number or boolean needs quotes)");
    return {};
  }
  std::int64_t integer(const V& object, std::string_view key, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most) {
    const V value = object.find(key);
    if (!value.present()) return otherwise;
    const auto number = value.integer();
    if (!number || *number < least || *number > most) {
      wrong(value, key, fmt::format("an integer from {} to {}", least, most));
      return otherwise;
    }
    return *number;
  }
  bool boolean(const V& object, std::string_view key, bool otherwise) {
    const V value = object.find(key);
    if (!value.present()) return otherwise;
    if (const auto truth = value.boolean()) return *truth;
    wrong(value, key, "true or false");
    return otherwise;
  }
  // A label map, all of it.
  Labels labels(const V& object, std::string_view key) {
    Labels out;
    const V value = map(object, key);
    value.each_entry([&](std::string_view name, const V& text) { out.emplace(name, string_of(text, name)); });
    return out;
  }
  // Labels of which each counts as an entry, and its text too.
  Labels labels(const V& object, std::string_view key, Entry entry) {
    Labels out;
    map(object, key).each_entry([&](std::string_view name, const V& value) {
      if (!takes(entry, object, key)) return;
      const std::string_view text = string_of(value, name);
      if (takes(Entry::kText, object, key, name.size() + text.size())) out.emplace(name, text);
    });
    return out;
  }
  std::vector<std::string> strings(const V& object, std::string_view key) {
    std::vector<std::string> out;
    list(object, key, [&](const V& item) { out.emplace_back(string_of(item, key)); });
    return out;
  }
  // Values of terms, counted.
  std::vector<std::string> values(const V& object, std::string_view key) {
    std::vector<std::string> out;
    list(object, key, [&](const V& item) {
      if (!takes(Entry::kValue, object, key)) return;
      const std::string_view text = string_of(item, key);
      if (takes(Entry::kText, object, key, text.size())) out.emplace_back(text);
    });
    return out;
  }
  // A quantity in base units of `resource`; one that is larger than Berth counts is as large as it counts.
  std::int64_t amount_of(const V& value, std::string_view resource) {
    return amount_of(value, resource, units_per_one(resource));
  }
  std::int64_t amount_of(const V& value, std::string_view resource, std::int64_t units) {
    std::string buffer;
    const auto text = value.present() ? value.scalar(buffer) : std::nullopt;
    if (!text) {
      wrong(value, resource, "a quantity such as \"2\", \"500m\" or \"16Gi\"");
      return 0;
    }
    if (const auto quick = small_integer(*text, units)) return *quick;
    const auto amount = text::parse_quantity_capped(*text, units);
    if (!amount) {
      error(value, resource, amount.error().message);
      return 0;
    }
    if (*amount < 0) {
      error(value, resource, fmt::format("is {}, but an amount must not be negative", *text));
      return 0;
    }
    return *amount;
  }
  ResourceList amounts(const V& object, std::string_view key) {
    ResourceList out;
    map(object, key).each_entry([&](std::string_view resource, const V& value) {
      out.set(resource, amount_of(value, resource));
    });
    return out;
  }
  // Each counts as an entry.
  ResourceList amounts(const V& object, std::string_view key, Entry entry) {
    ResourceList out;
    map(object, key).each_entry([&](std::string_view resource, const V& value) {
      if (takes(entry, object, key)) out.set(resource, amount_of(value, resource));
    });
    return out;
  }
  TimeMs time(const V& object, std::string_view key) {
    if constexpr (requires(const V& value) { value.time(); }) {
      if (const auto known = object.find(key).time()) return *known;
    }
    const std::string_view text = string(object, key);
    if (text.empty()) return 0;
    const auto time = text::parse_time_ms(text);
    if (!time) {
      error(object.find(key), key, time.error().message);
      return 0;
    }
    return *time;
  }
  // One of an enum's Kubernetes names.
  template <class E, std::size_t N>
  E choice(const V& object, std::string_view key, const std::pair<std::string_view, E> (&names)[N],
           E otherwise) {
    return choice(object, key, std::span<const std::pair<std::string_view, E>>(names), otherwise);
  }
  template <class E>
  E choice(const V& object, std::string_view key, std::span<const std::pair<std::string_view, E>> names,
           E otherwise) {
    const V value = object.find(key);
    if (!value.present()) return otherwise;
    const std::string_view word = string_of(value, key);
    for (const auto& [name, e] : names) {
      if (name == word) return e;
    }
    std::string known;
    std::vector<std::string_view> candidates;
    for (const auto& [name, e] : names) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
      candidates.push_back(name);
    }
    const std::string_view near = text::nearest(word, candidates);
    error(value, key,
          fmt::format("must be one of {}, not {}{}", known, value.describe(),
                      near.empty() ? std::string() : fmt::format("; did you mean {}?", near)));
    return otherwise;
  }
  void wrong(const V& value, std::string_view key, std::string_view wanted) {
    error(value, key,
          fmt::format("must be {}, not {}", wanted, value.present() ? value.describe() : "nothing"));
  }

 private:
  // Plain digits, which most amounts are, without the general parser.
  static std::optional<std::int64_t> small_integer(std::string_view text, std::int64_t scale) {
    if (text.empty() || text.size() > 12) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    return value * scale;
  }

  Problems* problems_;
  const DeviceNames* devices_;
  std::string home_ = "default";
  EntryCounts counts_;
};

// Conditions on labels and taints, which several kinds share.

inline constexpr std::pair<std::string_view, TaintEffect> kTaintEffects[] = {
    {"NoSchedule", TaintEffect::kNoSchedule},
    {"PreferNoSchedule", TaintEffect::kPreferNoSchedule},
    {"NoExecute", TaintEffect::kNoExecute}};

template <class V>
std::vector<Taint> read_taints(FieldReader<V>& f, const V& object, std::string_view key) {
  std::vector<Taint> out;
  f.list(object, key, [&](const V& item) {
    out.push_back(Taint{std::string(f.string(item, "key")), std::string(f.string(item, "value")),
                        f.choice(item, "effect", kTaintEffects, TaintEffect::kNoSchedule)});
  });
  return out;
}

// Words for what is not supported: each once, and no more than a reader takes in.
inline void add_once(std::vector<std::string>& words, std::string text) {
  static constexpr std::size_t kMostWords = 16;
  if (words.size() < kMostWords && std::find(words.begin(), words.end(), text) == words.end())
    words.push_back(std::move(text));
}

// Tolerations; those with an operator that Berth does not know are left out and named in `unsupported`.
template <class V>
std::vector<Toleration> read_tolerations(FieldReader<V>& f, const V& object, std::string_view key) {
  static constexpr std::pair<std::string_view, TolerationEffect> kEffects[] = {
      {"", TolerationEffect::kAll},
      {"NoSchedule", TolerationEffect::kNoSchedule},
      {"PreferNoSchedule", TolerationEffect::kPreferNoSchedule},
      {"NoExecute", TolerationEffect::kNoExecute}};
  std::vector<Toleration> out;
  f.list(object, key, [&](const V& item) {
    Toleration t;
    if (!f.takes(Entry::kToleration, object, key)) return;
    const std::string_view name = f.string(item, "key");
    const std::string_view value = f.string(item, "value");
    if (!f.takes(Entry::kText, object, key, name.size() + value.size())) return;
    t.key = name;
    t.value = value;
    t.effect = f.choice(item, "effect", kEffects, TolerationEffect::kAll);
    const std::string_view op = f.string(item, "operator");
    if (op == "Exists") {
      t.exists = true;
    } else if (op == "Lt" || op == "Gt") {
      t.bound = *enum_parse<TolerationBound>(op);
    } else if (!op.empty() && op != "Equal") {
      f.error(item.find("operator"), "operator",
              fmt::format("must be Equal, Exists, Gt or Lt, not \"{}\"", op));
      return;
    }
    out.push_back(std::move(t));
  });
  return out;
}

// matchExpressions of node selector terms and of label selectors.
template <class V>
std::vector<Requirement> read_requirements(FieldReader<V>& f, const V& object, std::string_view key) {
  static constexpr std::pair<std::string_view, SelectorOp> kOps[] = {
      {"In", SelectorOp::kIn},         {"NotIn", SelectorOp::kNotIn},
      {"Exists", SelectorOp::kExists}, {"DoesNotExist", SelectorOp::kDoesNotExist},
      {"Gt", SelectorOp::kGt},         {"Lt", SelectorOp::kLt}};
  std::vector<Requirement> out;
  f.list(object, key, [&](const V& item) {
    Requirement r;
    const std::string_view name = f.string(item, "key");
    if (!f.takes(Entry::kRequirement, object, key) || !f.takes(Entry::kText, object, key, name.size()))
      return;
    r.key = name;
    if (!item.find("operator").present()) f.wrong(item, "operator", "there");
    r.op = f.choice(item, "operator", kOps, SelectorOp::kIn);
    r.values = f.values(item, "values");
    const bool takes_none = r.op == SelectorOp::kExists || r.op == SelectorOp::kDoesNotExist;
    const bool takes_one = r.op == SelectorOp::kGt || r.op == SelectorOp::kLt;
    if (takes_none ? !r.values.empty() : takes_one ? r.values.size() != 1 : r.values.empty()) {
      f.error(item, "values",
              fmt::format("operator {} takes {}", enum_name(r.op),
                          takes_none  ? "no values"
                          : takes_one ? "exactly one value"
                                      : "at least one value"));
    }
    out.push_back(std::move(r));
  });
  return out;
}

}  // namespace berth::dialect
