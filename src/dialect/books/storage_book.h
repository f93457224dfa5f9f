// All that is known of storage: claims and volumes (volumes/volume_book.h), and the attachments of each node (attach_book.h). Beside that it
// says of each node how many volumes it can attach, and how many free local volumes it has. Private to the intake.
//
// Cost: as of these books. O(volumes of the node) for a node of which a local volume changes.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dialect/books/attach_book.h"
#include "dialect/volumes/volume_book.h"
#include "model/node.h"

namespace berth::dialect {

class StorageBook {
 public:
  using Keys = VolumeBook::Keys;  // of claims

  template <class T>
    requires requires(VolumeBook& book, T&& object) { book.put(std::move(object)); }
  Keys put(T&& object) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, PersistentVolume>) {
      const std::string name = object.meta.name;
      Keys out = volumes_.put(std::move(object));
      attachments_.rename(name, volumes_.name_of(name));
      return out;
    } else if constexpr (std::is_same_v<std::remove_cvref_t<T>, CsiDriver>) {
      note_driver(object.meta.name, object.must_be_there);
      return volumes_.put(std::move(object));
    } else {
      return volumes_.put(std::move(object));
    }
  }
  Keys put(CsiNode&& object);
  Keys put(VolumeAttachment&& object);
  Keys remove(Kind kind, std::string_view ns, std::string_view name);

  VolumeBook& volumes() { return volumes_; }
  const VolumeBook& volumes() const { return volumes_; }
  AttachBook& attachments() { return attachments_; }

  // A node as it is from now on; `in` false: it is gone, or has other labels.
  void set_node(const Node& node, bool in);
  // As Node::attachable.
  ResourceList attachable_of(std::string_view node, const Labels& labels) const;
  // Nodes for which that may be another than at the last call.
  std::set<std::string> take_changed_nodes();

 private:
  void note_driver(const std::string& name, bool must_be_there);

  VolumeBook volumes_;
  AttachBook attachments_;
  std::map<std::string, std::set<std::string>, std::less<>> nodes_at_;  // by place (volumes/volume_nodes.h)
  std::set<std::string> nodes_;                                         // all of them
  std::set<std::string> changed_;                                       // of them
};

}  // namespace berth::dialect
