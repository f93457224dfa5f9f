#include "dialect/volumes/available_volumes.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/volumes/volume_nodes.h"

namespace berth::dialect {

std::string text_of(const VolumeNeeds& needs, std::int64_t size) {
  return fmt::format("{} {} {} {}", size, needs.modes, needs.block, needs.attributes);
}

bool can_be_bound(const PersistentVolume& volume, const VolumeWish& wish) {
  return volume.size >= wish.size && volume.storage_class == wish.klass &&
         volume.block == wish.needs->block && volume.attributes == wish.needs->attributes &&
         !volume.meta.deleting;
}

bool suits(const PersistentVolume& volume, const VolumeWish& wish) {
  const VolumeNeeds& needs = *wish.needs;
  return can_be_bound(volume, wish) && (needs.modes & ~volume.modes) == 0 &&
         (!needs.selector || needs.selector->matches(volume.labels));
}

const AvailableVolumes::Shelf* AvailableVolumes::shelf(std::string_view klass) const {
  const auto it = shelves_.find(klass);
  return it == shelves_.end() ? nullptr : &it->second;
}

void AvailableVolumes::note(const Shelf& shelf) {
  for (const auto& [place, volumes] : shelf.places) changed_.insert(place);
}

void AvailableVolumes::count(const PersistentVolume& volume, int delta) {
  Shelf& shelf = shelves_[volume.storage_class];
  ++shelf.version;
  Stock& stock = shelf.stocks[volume.block ? 1 : 0];
  const auto add = [&](std::size_t& to) { to += static_cast<std::size_t>(delta); };
  add(stock.all);
  add(stock.modes[volume.modes]);
  if (!volume.attributes.empty()) add(stock.with_attributes);
  std::size_t& of_size = stock.sizes[volume.size];
  add(of_size);
  const bool is_another_step = of_size == 0 || (delta > 0 && of_size == 1);
  if (of_size == 0) stock.sizes.erase(volume.size);
  const std::string place = place_of(volume);
  const std::size_t before = shelf.elsewhere;
  if (place.empty()) {
    add(shelf.elsewhere);
  } else if (delta > 0) {
    shelf.places[place].insert(&volume);
  } else {
    Volumes& there = shelf.places.at(place);
    there.erase(&volume);
    if (there.empty()) shelf.places.erase(place);
  }
  if (!shelf.by_hand) return;
  if (!place.empty()) changed_.insert(place);
  if (is_another_step || (before == 0) != (shelf.elsewhere == 0)) note(shelf);
}

void AvailableVolumes::add(const PersistentVolume& volume) {
  count(volume, +1);
}

void AvailableVolumes::remove(const PersistentVolume& volume) {
  set_free(volume, false);
  count(volume, -1);
}

void AvailableVolumes::set_free(const PersistentVolume& volume, bool free) {
  Shelf& shelf = shelves_[volume.storage_class];
  const bool changes = free ? shelf.free.insert(&volume).second : shelf.free.erase(&volume) > 0;
  if (changes) ++shelf.version;
  if (!changes || !shelf.by_hand) return;
  if (std::string place = place_of(volume); !place.empty()) changed_.insert(std::move(place));
}

bool AvailableVolumes::is_free(const PersistentVolume& volume) const {
  const Shelf* of = shelf(volume.storage_class);
  return of != nullptr && of->free.contains(&volume);
}

void AvailableVolumes::set_by_hand(const std::string& klass, bool by_hand) {
  Shelf& shelf = shelves_[klass];
  if (shelf.by_hand == by_hand) return;
  shelf.by_hand = by_hand;
  ++shelf.version;
  note(shelf);
}

void AvailableVolumes::keep(const PersistentVolume& volume, const std::string& claim) {
  kept_.insert_or_assign(claim, &volume);
  claims_.insert_or_assign(volume.meta.name, claim);
  set_free(volume, false);
}

const PersistentVolume* AvailableVolumes::kept_for(std::string_view claim) const {
  const auto it = kept_.find(claim);
  return it == kept_.end() ? nullptr : it->second;
}

std::string AvailableVolumes::claim_of(const PersistentVolume& volume) const {
  const auto it = claims_.find(volume.meta.name);
  return it == claims_.end() ? std::string() : it->second;
}

const PersistentVolume* AvailableVolumes::release(std::string_view claim) {
  const auto it = kept_.find(claim);
  if (it == kept_.end()) return nullptr;
  const PersistentVolume* const out = it->second;
  claims_.erase(out->meta.name);
  kept_.erase(it);
  return out;
}

std::vector<const PersistentVolume*> AvailableVolumes::free_for(const VolumeWish& wish) const {
  std::vector<const PersistentVolume*> out;
  const Shelf* of = shelf(wish.klass);
  if (of == nullptr) return out;
  for (const PersistentVolume* volume : of->free) {
    if (suits(*volume, wish)) out.push_back(volume);
  }
  return out;
}

std::int64_t AvailableVolumes::largest_free(const std::string& klass, bool block) const {
  const Shelf* of = shelf(klass);
  if (of == nullptr) return -1;
  for (auto it = of->free.rbegin(); it != of->free.rend(); ++it) {
    if ((*it)->block == block) return (*it)->size;
  }
  return -1;
}

bool AvailableVolumes::is_counted(const std::string& klass) const {
  const Shelf* of = shelf(klass);
  return of != nullptr && of->by_hand && of->elsewhere == 0;
}

FreeVolumes AvailableVolumes::look(const VolumeWish& wish, bool shared) const {
  FreeVolumes out;
  const bool counts = is_counted(wish.klass) && !shared;
  if (counts) out.counts = counts_of(wish);
  if (!counts || !is_told_by_count(wish)) {
    const auto volumes = free_for(wish);
    out.some = !volumes.empty();
    out.nodes = nodes_of(volumes);
  } else if (largest_free(wish.klass, wish.needs->block) >= wish.size) {
    out.nodes = nodes_with_local(wish);
  } else {
    out.nodes.emplace();
  }
  return out;
}

std::shared_ptr<const FreeVolumes> AvailableVolumes::found(const VolumeWish& wish, bool shared) const {
  if (wish.needs->selector) return std::make_shared<const FreeVolumes>(look(wish, shared));
  constexpr std::size_t kMostWishes = 256;  // kept; each has a list of nodes
  if (found_.size() > kMostWishes) found_.clear();
  const Shelf* of = shelf(wish.klass);
  Found& found = found_[fmt::format("{}\n{}\n{}", wish.klass, text_of(*wish.needs, wish.size), shared)];
  if (const std::uint64_t version = of == nullptr ? 0 : of->version;
      found.free == nullptr || found.version != version)
    found = {version, std::make_shared<const FreeVolumes>(look(wish, shared))};
  return found.free;
}

bool AvailableVolumes::is_told_by_count(const VolumeWish& wish) const {
  if (!is_counted(wish.klass)) return false;
  const Stock& stock = shelf(wish.klass)->stocks[wish.needs->block ? 1 : 0];
  const auto has_modes = [&](const auto& one) {
    return (wish.needs->modes & ~one.first) == 0 || one.second == 0;
  };
  return wish.needs->attributes.empty() && stock.with_attributes == 0 && !wish.needs->selector &&
         std::all_of(stock.modes.begin(), stock.modes.end(), has_modes);
}

// The sizes that are counted: all, or every so many-th from the smallest.
std::vector<std::int64_t> AvailableVolumes::steps(const Stock& stock) {
  std::vector<std::int64_t> out;
  const std::size_t every = (stock.sizes.size() + kMostSteps - 1) / kMostSteps;
  std::size_t i = 0;
  for (const auto& [size, volumes] : stock.sizes) {
    if (i++ % every == 0) out.push_back(size);
  }
  return out;
}

std::string AvailableVolumes::name_of(const std::string& klass, bool block, std::int64_t step, bool first) {
  std::string out = fmt::format("StorageClass {}", klass);
  if (block) out += ", Block";
  if (!first) out += fmt::format(", of {} or more", format_amount("memory", step));
  return out;
}

std::vector<std::string> AvailableVolumes::counts_of(const VolumeWish& wish) const {
  std::vector<std::string> out;
  const bool block = wish.needs->block;
  const Stock& stock = shelf(wish.klass)->stocks[block ? 1 : 0];
  const auto least = stock.sizes.lower_bound(wish.size);
  if (least == stock.sizes.end()) return out;  // no volume is as large
  for (const std::int64_t step : steps(stock)) {
    if (step <= least->first) out.push_back(name_of(wish.klass, block, step, out.empty()));
  }
  return out;
}

std::vector<SelectorTerm> AvailableVolumes::nodes_with_local(const VolumeWish& wish) const {
  std::vector<std::string> places;
  for (const auto& [place, volumes] : shelf(wish.klass)->places) {
    const bool has_one = std::any_of(volumes.begin(), volumes.end(), [&](const PersistentVolume* volume) {
      return volume->block == wish.needs->block && volume->size >= wish.size;
    });
    if (has_one) places.push_back(place);
  }
  return nodes_of_places(places);
}

ResourceList AvailableVolumes::counts_at(const std::vector<std::string>& places) const {
  ResourceList out;
  for (const auto& [klass, shelf] : shelves_) {
    if (!shelf.by_hand || shelf.elsewhere > 0) continue;
    for (const std::string& place : places) {
      const auto there = shelf.places.find(place);
      if (there == shelf.places.end()) continue;
      for (const bool block : {false, true}) {
        bool first = true;
        for (const std::int64_t step : steps(shelf.stocks[block ? 1 : 0])) {
          const auto free =
              std::count_if(there->second.begin(), there->second.end(), [&](const PersistentVolume* volume) {
                return volume->block == block && volume->size >= step && shelf.free.contains(volume);
              });
          const std::string name = name_of(klass, block, step, std::exchange(first, false));
          out.set(name, out.get(name) + free);
        }
      }
    }
  }
  return out;
}

}  // namespace berth::dialect
