// The templates of pods: shared where they are equal, and as the API server takes their pods in (upstream/template_effects.h). Private to
// the intake.
//
// A template with claims also has what their volumes ask for at present (volumes/volume_book.h).
// Cost: O(size of a template), amortized; where LimitRanges or RuntimeClasses concern it, as in template_effects.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "dialect/base/pool.h"
#include "dialect/books/object_books.h"
#include "dialect/books/owner_book.h"
#include "dialect/upstream/template_effects.h"

namespace berth::dialect {

std::size_t hash_of(const PodTemplate& shape);
std::size_t hash_of(const PodNeeds& needs);

// Whether a pod may use a place that was found for `promised`. It asks for no more, and its constraints allow at least the same
// nodes. The API server adds tolerations to pods which their template does not have. Volumes aside: same_volumes().
bool suits(const PodTemplate& pod, const PodTemplate& promised);

// Whether both ask for the same volumes.
bool same_volumes(const PodTemplate& a, const PodTemplate& b);

// For a pod that is bound, or can never be placed: drops its constraints, to save memory.
void clear_constraints(PodTemplate& pod);

class TemplateBook {
 public:
  TemplateBook(const ObjectBooks& objects, const IntakeConfig& config)
      : objects_(objects), devices_(config.devices), by_quota_(config.quota_only) {}

  std::shared_ptr<const PodTemplate> share(PodTemplate&& shape) { return shapes_.share(std::move(shape)); }
  // A pod with this spec in the namespace of `meta`, which has its marks. `of_pods`: see TemplateRules.
  TakenTemplate taken(const PodSpec& spec, const PodNeeds* needs, const Meta& meta, bool of_pods) const;
  // Gives `out` what the volumes of such a pod ask for; a template is a pod without a name. Why it must wait for a claim; nullptr: it
  // need not.
  std::shared_ptr<const Reason> mount(const PodSpec& spec, const Meta& pod, PodTemplate& out) const;
  std::shared_ptr<const Reason> mount_in(const std::string& ns, const PodSpec& spec, PodTemplate& out) const;
  // The owner with the templates of its future pods, with these updates of them. `fixed`: its pods ask for what they asked `before`,
  // whatever the API server would make of them now, unless the owner itself has changed.
  OwnerRecord record_of(Ask&& ask, const OwnerRecord* before, bool fixed,
                        std::span<const PodSetUpdate> updates);

 private:
  void take(OwnerRecord& record);
  void take_rules(const std::string& ns, const AskedSet& set, OwnedTemplate& out);

  const ObjectBooks& objects_;
  DeviceNames devices_;
  bool by_quota_;  // no nodes are known, and volumes do not matter
  Pool<PodTemplate, hash_of> shapes_;
  Pool<PodNeeds, hash_of> needs_;
};

}  // namespace berth::dialect
