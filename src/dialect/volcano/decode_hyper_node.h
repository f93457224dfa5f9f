// Decoder of Volcano's HyperNode. Included by decode.cc only.
#pragma once

#include <string_view>
#include <utility>

#include "dialect/base/decode_meta.h"
#include "dialect/volcano/hyper_node.h"

namespace berth::dialect {

template <class V>
HyperNode read_hyper_node(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, bool> kTypes[] = {{"Node", true}, {"HyperNode", false}};
  HyperNode out;
  out.meta = read_meta(f, object, Kind::kHyperNode, false);
  const V spec = f.map(object, "spec");
  out.tier = f.integer(spec, "tier", 0, 0, kMostTier);
  out.tier_name = f.string(spec, "tierName");
  f.list(spec, "members", [&](const V& item) {
    HyperNode::Member member;
    if (!item.find("type").present()) f.error(item, "type", "is required: Node or HyperNode");
    member.is_node = f.choice(item, "type", kTypes, true);
    const V selector = f.map(item, "selector");
    member.name = f.string(f.map(selector, "exactMatch"), "name");
    member.pattern = f.string(f.map(selector, "regexMatch"), "pattern");
    if (selector.find("labelMatch").present()) {
      if (member.is_node) {
        member.labels = read_label_selector(f, selector, "labelMatch");
      } else {
        f.error(selector, "labelMatch", "chooses nodes only, not HyperNodes");
      }
    }
    out.members.push_back(std::move(member));
  });
  return out;
}

}  // namespace berth::dialect
