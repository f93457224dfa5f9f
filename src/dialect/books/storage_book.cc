#include "dialect/books/storage_book.h"

#include "dialect/volumes/volume_nodes.h"

namespace berth::dialect {

StorageBook::Keys StorageBook::put(CsiNode&& object) {
  attachments_.set_limits(object.meta.name, object.limits, std::move(object.drivers));
  return {};
}

StorageBook::Keys StorageBook::put(VolumeAttachment&& object) {
  const std::string volume = object.volume.empty() ? std::string() : volumes_.name_of(object.volume);
  attachments_.put(std::move(object), volume);
  return {};
}

StorageBook::Keys StorageBook::remove(Kind kind, std::string_view ns, std::string_view name) {
  if (kind == Kind::kCsiNode) {
    attachments_.set_limits(std::string(name), {}, {});
    return {};
  }
  if (kind == Kind::kCsiDriver) note_driver(std::string(name), false);
  if (kind == Kind::kVolumeAttachment) {
    attachments_.remove(name);
    return {};
  }
  Keys out = volumes_.remove(kind, ns, name);
  if (kind == Kind::kPersistentVolume) attachments_.rename(name, volumes_.name_of(name));
  return out;
}

void StorageBook::note_driver(const std::string& name, bool must_be_there) {
  if (attachments_.set_must_be_there(name, must_be_there)) changed_.insert(nodes_.begin(), nodes_.end());
}

void StorageBook::set_node(const Node& node, bool in) {
  in ? (void)nodes_.insert(node.name) : (void)nodes_.erase(node.name);
  for (const std::string& place : places_of(node.name, node.labels)) {
    if (in) {
      nodes_at_[place].insert(node.name);
      continue;
    }
    const auto there = nodes_at_.find(place);
    if (there == nodes_at_.end()) continue;
    there->second.erase(node.name);
    if (there->second.empty()) nodes_at_.erase(there);
  }
}

ResourceList StorageBook::attachable_of(std::string_view node, const Labels& labels) const {
  ResourceList out = attachments_.limits(node);
  for (const auto& [count, volumes] : volumes_.available().counts_at(places_of(node, labels)))
    out.set(count, volumes);
  return out;
}

std::set<std::string> StorageBook::take_changed_nodes() {
  for (const std::string& place : volumes_.take_changed_places()) {
    if (const auto there = nodes_at_.find(place); there != nodes_at_.end())
      changed_.insert(there->second.begin(), there->second.end());
  }
  changed_.merge(attachments_.take_changed_nodes());
  return std::exchange(changed_, {});
}

}  // namespace berth::dialect
