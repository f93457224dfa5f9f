#include "kube/fake_store_support.h"

#include <array>
#include <cstdio>

namespace berth::kube::testing {

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

const Json* walk(const Json& object, const std::vector<std::string>& path) {
  const Json* at = &object;
  for (const std::string& step : path) {
    if (!at->is_object()) return nullptr;
    const auto it = at->find(step);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

}  // namespace

Selector::Selector(const std::string& fields, const std::string& labels) {
  const auto parse = [&](const std::string& text, bool label) {
    for (std::string part : split(text, ',')) {
      Term term;
      std::string name;
      if (const std::size_t no = part.find("!="); no != std::string::npos) {
        term.op = Term::Op::kNot;
        name = part.substr(0, no);
        term.value = part.substr(no + 2);
      } else if (const std::size_t yes = part.find('='); yes != std::string::npos) {
        name = part.substr(0, yes);
        term.value = part.substr(yes + (part.substr(yes).starts_with("==") ? 2 : 1));
      } else if (part.starts_with("!")) {
        term.op = Term::Op::kMissing;
        name = part.substr(1);
      } else {
        term.op = Term::Op::kExists;
        name = part;
      }
      term.path = label ? std::vector<std::string>{"metadata", "labels", name} : split(name, '.');
      terms_.push_back(std::move(term));
    }
  };
  parse(fields, false);
  parse(labels, true);
}

bool Selector::matches(const Json& object) const {
  for (const Term& term : terms_) {
    const Json* found = walk(object, term.path);
    const std::string value =
        found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
    switch (term.op) {
      case Term::Op::kEquals:
        if (value != term.value) return false;
        break;
      case Term::Op::kNot:
        if (value == term.value) return false;
        break;
      case Term::Op::kExists:
        if (found == nullptr) return false;
        break;
      case Term::Op::kMissing:
        if (found != nullptr) return false;
        break;
    }
  }
  return true;
}

std::shared_ptr<const Json> ObjectStore::find(const std::string& table, const std::string& key) const {
  const auto objects = tables_.find(table);
  if (objects == tables_.end()) return nullptr;
  const auto it = objects->second.find(key);
  return it == objects->second.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<const Json>> ObjectStore::list(const std::string& table,
                                                           const std::string& ns) const {
  std::vector<std::shared_ptr<const Json>> out;
  const auto objects = tables_.find(table);
  if (objects == tables_.end()) return out;
  for (const auto& [key, object] : objects->second) {
    if (ns.empty() || key.starts_with(ns + "/")) out.push_back(object);
  }
  return out;
}

std::shared_ptr<const Json> ObjectStore::put(const std::string& table, const std::string& key, Json object) {
  object["metadata"]["resourceVersion"] = std::to_string(++rv_);
  auto& slot = tables_[table][key];
  StoreEvent event{rv_,  table,  key.substr(0, key.find('/')), slot == nullptr ? "ADDED" : "MODIFIED",
                   slot, nullptr};
  slot = std::make_shared<const Json>(std::move(object));
  event.after = slot;
  history_.push_back(std::move(event));
  ++next_;
  changed.notify_all();
  return slot;
}

void ObjectStore::erase(const std::string& table, const std::string& key) {
  const auto before = find(table, key);
  if (before == nullptr) return;
  tables_[table].erase(key);
  Json last = *before;
  last["metadata"]["resourceVersion"] = std::to_string(++rv_);
  history_.push_back(StoreEvent{rv_, table, key.substr(0, key.find('/')), "DELETED", before,
                                std::make_shared<const Json>(std::move(last))});
  ++next_;
  changed.notify_all();
}

std::uint64_t ObjectStore::position_after(std::int64_t version) const {
  std::uint64_t position = next_;
  while (position > first_ && history_[position - 1 - first_].rv > version) --position;
  return position;
}

std::string ObjectStore::new_uid() {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "00000000-0000-4000-8000-%012llx",
                static_cast<unsigned long long>(++uids_));
  return text.data();
}

void merge_patch(Json& into, const Json& patch, bool strategic) {
  if (!patch.is_object()) {
    into = patch;
    return;
  }
  if (!into.is_object()) into = Json::object();
  for (const auto& [name, value] : patch.items()) {
    if (value.is_null()) {
      into.erase(name);
    } else if (strategic && value.is_array() && !value.empty() && value[0].is_object() &&
               value[0].contains("type") && into.contains(name) && into[name].is_array()) {
      for (const Json& item : value) {
        Json* same = nullptr;
        for (Json& old : into[name]) {
          if (old.value("type", "") == item.value("type", "")) same = &old;
        }
        if (same == nullptr) {
          into[name].push_back(item);
        } else {
          merge_patch(*same, item, strategic);
        }
      }
    } else {
      merge_patch(into[name], value, strategic);
    }
  }
}

}  // namespace berth::kube::testing
