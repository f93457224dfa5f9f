// The part of VolumeBook (volume_book.h) for volumes that exist: where a claim finds one, and which one it gets.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "dialect/volumes/volume_book.h"
#include "dialect/volumes/volume_nodes.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kNoClass = "\n";  // of claims that name none

std::string key_in(const PersistentVolumeClaim& claim) {
  return fmt::format("{}/{}", claim.meta.ns, claim.meta.name);
}

// A claim that is to get one of these volumes.
struct Choice {
  std::string claim;
  VolumeWish wish;
  std::vector<const VolumeBook::Placed*> pods;
  std::vector<const PersistentVolume*> volumes;
};

// Gives each claim a volume of its own, as far as they go. Claims come from the smallest, and take the smallest volume. One that finds none
// makes others take another, where that helps (augmenting paths).
class Matching {
 public:
  explicit Matching(const std::vector<Choice>& choices) : choices_(choices) {}

  std::map<std::string, std::size_t> solve() {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (!place(i)) dead_.merge(tried_);  // no later claim can free one of them
      tried_.clear();
    }
    return taken_;
  }

 private:
  bool place(std::size_t choice) {
    for (const PersistentVolume* volume : choices_[choice].volumes) {
      if (taken_.try_emplace(volume->meta.name, choice).second) return true;
    }
    for (const PersistentVolume* volume : choices_[choice].volumes) {
      const std::string& name = volume->meta.name;
      if (dead_.contains(name) || !tried_.insert(name).second) continue;
      if (!place(taken_.at(name))) continue;
      taken_[name] = choice;
      return true;
    }
    return false;
  }

  const std::vector<Choice>& choices_;
  std::map<std::string, std::size_t> taken_;  // by volume
  std::set<std::string> tried_;
  std::set<std::string> dead_;
};

}  // namespace

VolumeWish VolumeBook::wish_of(const PersistentVolumeClaim& claim) const {
  const StorageClass* klass = classes_.of(claim);
  return {klass == nullptr ? std::string() : klass->meta.name, claim.size, &claim.needs};
}

const PersistentVolume* VolumeBook::volume_for(const PersistentVolumeClaim& claim) const {
  const std::string key = key_in(claim);
  if (const auto of = reserved_.find(key); of != reserved_.end()) {
    const VolumeWish wish = wish_of(claim);
    for (const std::string& name : of->second) {
      const PersistentVolume& volume = volumes_.find(name)->second;
      const bool is_meant = volume.claim_uid.empty() || volume.claim_uid == claim.meta.uid;
      if (is_meant && can_be_bound(volume, wish)) return &volume;
    }
  }
  return available_.kept_for(key);
}

bool VolumeBook::is_to_choose(const PersistentVolumeClaim& claim) const {
  const StorageClass* klass = classes_.of(claim);
  return klass != nullptr && klass->waits && !claim.bound && !claim.lost && !claim.meta.deleting &&
         claim.volume.empty() && claim.selected_node.empty();
}

bool VolumeBook::is_free_now(const PersistentVolume& volume) const {
  if (!volume.available || volume.meta.deleting || !volume.claim.empty()) return false;
  if (!available_.claim_of(volume).empty()) return false;
  const auto users = claims_of_.find(volume.meta.name);
  return users == claims_of_.end() ||
         std::none_of(users->second.begin(), users->second.end(), [&](const std::string& key) {
           const auto claim = claims_.find(key);
           return claim != claims_.end() && claim->second.bound;
         });
}

void VolumeBook::renew_free(const PersistentVolume& volume, std::set<std::string>& keys) {
  const bool free = is_free_now(volume);
  if (free == available_.is_free(volume)) return;
  available_.set_free(volume, free);
  note_free(volume.storage_class, true, keys);
}

void VolumeBook::give_up(const std::string& claim, std::set<std::string>& keys) {
  const PersistentVolume* volume = available_.release(claim);
  if (volume == nullptr) return;
  keys.insert(claim);
  renew_free(*volume, keys);
}

// A volume of the class has come or gone, or is free or not any longer. `keys`: the claims that learn something else of its volumes than
// before, and all that are shared. `free`: it was free before, or is now. Others concern no claim if they are made for one.
void VolumeBook::note_free(const std::string& name, bool free, std::set<std::string>& keys) {
  const StorageClass* klass = classes_.named(name);
  if (klass == nullptr || !klass->waits || !(is_by_hand(*klass) || free)) return;
  keys.emplace(kMadeClaims);
  const auto visit = [&](std::string_view of_class) {
    const auto of = open_.find(of_class);
    if (of == open_.end()) return;
    for (auto& [wish, group] : of->second) {
      auto now = available_.found(wish_of(claims_.find(*group.claims.begin())->second), false);
      const bool same = group.told != nullptr && *group.told == *now;
      group.told = std::move(now);
      for (const std::string& key : group.claims) {
        if (!same || shared_.contains(key)) keys.insert(key);
      }
    }
  };
  visit(name);
  if (classes_.is_default(name)) visit(kNoClass);
}

void VolumeBook::forget_told() {
  for (auto& [klass, groups] : open_) {
    for (auto& [wish, group] : groups) group.told = nullptr;
  }
}

void VolumeBook::index_open(const std::string& key, const PersistentVolumeClaim& claim, bool in) {
  if (claim.bound) return;
  const std::string klass = claim.storage_class ? *claim.storage_class : std::string(kNoClass);
  const std::string wish =
      fmt::format("{}\n{}", text_of(claim.needs, claim.size), claim.needs.selector ? key : "");
  if (in) {
    open_[klass][wish].claims.insert(key);
    return;
  }
  const auto of = open_.find(klass);
  if (of == open_.end()) return;
  const auto group = of->second.find(wish);
  if (group == of->second.end()) return;
  group->second.claims.erase(key);
  if (group->second.claims.empty()) of->second.erase(group);
  if (of->second.empty()) open_.erase(of);
}

void VolumeBook::index_reserved(const PersistentVolume& volume, bool in) {
  if (volume.claim.empty()) return;
  if (in) {
    reserved_[volume.claim].insert(volume.meta.name);
    return;
  }
  const auto of = reserved_.find(volume.claim);
  if (of == reserved_.end()) return;
  of->second.erase(volume.meta.name);
  if (of->second.empty()) reserved_.erase(of);
}

void VolumeBook::add_nodes_by_hand(const PersistentVolumeClaim& claim, const StorageClass& klass,
                                   const std::string& what, ClaimsFound& out) const {
  const std::string& name = klass.meta.name;
  const bool is_shared = shared_.contains(key_in(claim));
  if (available_.is_counted(name) && is_shared) out.together.push_back(key_in(claim));
  const auto found = available_.found(wish_of(claim), is_shared);
  out.counted.insert(out.counted.end(), found->counts.begin(), found->counts.end());
  if (!found->nodes) return;
  out.nodes.push_back({words_of(fmt::format("{}, by the PersistentVolumes of {}", what, name), *found->nodes),
                       *found->nodes});
}

void VolumeBook::add_nodes_made_or_free(const PersistentVolumeClaim& claim, const StorageClass& klass,
                                        const std::string& what, ClaimsFound& out) const {
  std::vector<VolumeNodes> made = classes_.nodes_for(klass, claim, what);
  if (made.empty()) return;
  const auto found = available_.found(wish_of(claim), false);
  if (!found->nodes) return;
  for (VolumeNodes& one : made) {
    if (found->some) one.words += fmt::format(", or with a free PersistentVolume of {}", klass.meta.name);
    one.nodes.insert(one.nodes.end(), found->nodes->begin(), found->nodes->end());
    out.nodes.push_back(std::move(one));
  }
}

VolumeBook::Keys VolumeBook::keep(const std::vector<Placed>& pods) {
  std::map<std::string, Choice> open;
  for (const Placed& pod : pods) {
    for (const ClaimUse& use : *pod.uses) {
      const std::string key = fmt::format("{}/{}", pod.pod->ns, dialect::claim_of(use, pod.pod->name));
      const auto claim = claims_.find(key);
      if (claim == claims_.end() || !is_to_choose(claim->second) || volume_for(claim->second) != nullptr)
        continue;
      Choice& choice = open[key];
      choice.claim = key;
      choice.wish = wish_of(claim->second);
      choice.pods.push_back(&pod);
    }
  }
  std::vector<Choice> choices;
  for (auto& [key, choice] : open) {
    choice.volumes = available_.free_for(choice.wish);
    std::erase_if(choice.volumes, [&, &of = choice](const PersistentVolume* volume) {
      return !std::all_of(of.pods.begin(), of.pods.end(), [&](const Placed* pod) {
        return pod->labels != nullptr && can_use(*volume, *pod->labels, pod->node);
      });
    });
    if (!choice.volumes.empty()) choices.push_back(std::move(choice));
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.wish.size < b.wish.size; });
  std::set<std::string> keys;
  for (const auto& [name, index] : Matching(choices).solve()) {
    const PersistentVolume& volume = volumes_.find(name)->second;
    available_.keep(volume, choices[index].claim);
    keys.insert(choices[index].claim);
    note_free(volume.storage_class, true, keys);
  }
  return {keys.begin(), keys.end()};
}

VolumeBook::Keys VolumeBook::release(const std::set<std::string>& claims) {
  std::set<std::string> keys;
  for (const std::string& claim : claims) give_up(claim, keys);
  return {keys.begin(), keys.end()};
}

VolumeBook::Keys VolumeBook::set_shared(const std::string& claim, bool shared) {
  if (shared ? !shared_.insert(claim).second : shared_.erase(claim) == 0) return {};
  const auto known = claims_.find(claim);
  if (known == claims_.end()) return {};
  const auto volume = volumes_.find(known->second.volume);
  const bool attaches = volume == volumes_.end() || !volume->second.driver.empty();
  return attaches || is_to_choose(known->second) ? Keys{claim} : Keys();
}

}  // namespace berth::dialect
