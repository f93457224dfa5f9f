// The objects that work depends on, by name: nodes, classes, queues, PodGroups, and what the API server decides by. They know no
// work: a change gives the keys of the work that it concerns (Load::depends), which is then to be looked at again. Private to the
// intake.
//
// Cost: O(log n) per object and look-up; queue objects as in queues.h.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/books/gang_book.h"
#include "dialect/books/hyper_book.h"
#include "dialect/books/queues.h"
#include "dialect/books/storage_book.h"
#include "dialect/books/words.h"
#include "dialect/kueue/queue_status.h"
#include "dialect/upstream/template_effects.h"

namespace berth::dialect {

// The dependencies on claims are this with namespace/name behind it.
inline constexpr std::string_view kOnClaim = "pvc:";

// The dependency of a load whose priority is capped by the highest class of the cluster (Load::depends).
inline constexpr std::string_view kAllClasses = "classes:";

// The dependency on HyperNodes.
inline constexpr std::string_view kOnHyperNodes = "hypernodes:";

struct PriorityKey {
  std::optional<std::int64_t> value;
  std::string klass;
  bool never = false;
  auto operator<=>(const PriorityKey&) const = default;
};

class ObjectBooks {
 public:
  using Keys = std::vector<std::string>;
  explicit ObjectBooks(const IntakeConfig& config);

  // An object that is neither a pod, an owner of pods nor a Workload came, changed, or went.
  Keys put(Object&& object);
  Keys remove(Kind kind, std::string_view ns, std::string_view name);
  // Why an object of any kind (`key`: namespace/name) cannot be read; "": it can, or is gone.
  Keys note_problem(Kind kind, const std::string& key, const std::string& problem);
  const std::string* unreadable(Kind kind, const std::string& key) const;
  const auto& all_unreadable() const { return unreadable_; }
  std::uint64_t unreadable_changes() const { return unreadable_changes_; }

  // Appends the events since the last call: nodes, attachments, then queues. True: queues or flavors have changed.
  bool drain(std::vector<Event>& out);
  // Objects that are misconfigured.
  std::vector<Problem> problems() const;

  QueueBook& queues() { return queues_; }
  const QueueBook& queues() const { return queues_; }
  const LocalQueue* local_queue(std::string_view key) const;  // namespace/name
  const ResourceFlavor* flavor(std::string_view name) const;
  const Node* node(std::string_view name) const;
  const VolumeBook& volumes() const { return storage_.volumes(); }
  AttachBook& attachments() { return storage_.attachments(); }
  // A change of what is promised of claims and volumes; gives their keys, as put() does.
  template <class F>
  Keys change_volumes(const F& change) {
    return settle_storage(change(storage_.volumes()), Kind::kPersistentVolumeClaim);
  }
  const GangBook& gangs() const { return gangs_; }
  const HyperBook& hyper_nodes() const { return hyper_nodes_; }
  // Why the pods of such an object need not be made yet, by its own fields and by its queue. Nothing: they may come.
  std::optional<Reason> why_not_queued(const GangSystem& system, const GangObject& object) const;
  // A ClusterQueue, or Berth's own, that admits nothing new.
  bool is_held(const std::string& queue) const;
  // "/cohort/queue", as Kueue names the way from the root.
  std::string queue_path(std::string_view cluster_queue) const;
  std::vector<QueueState> queue_states() const;
  // The work of queues with admission checks.
  Keys keys_of_checked() const;

  // With the label of its name.
  Labels labels_of_namespace(const std::string& ns) const;
  // Why a queue does not admit a namespace by its namespaceSelector. The label with a namespace's name is known of any.
  std::string not_admitted(std::string_view queue, const LabelSelector& selector,
                           const std::string& ns) const;

  std::int64_t priority_of(const PriorityKey& key, bool& may_preempt) const;
  std::optional<std::int64_t> workload_priority(std::string_view klass) const;
  // The highest priority that a class of users gives.
  std::int64_t highest_priority() const;
  // Why there is no such class; "": there is.
  std::string missing_class(const PriorityKey& key) const;
  std::string missing_workload_class(std::string_view name) const;

  // The rules by which the API server takes in a pod of this namespace. `of_pods`: see TemplateRules.
  TemplateRules rules_for(std::string_view ns, const PodNeeds& needs, bool of_pods) const;
  void set_all_runtimes_known();
  // Whether some of these rules have changed since settle_rules(), and whether that concerns a template.
  bool rules_changed() const { return changed_runtimes_ || !changed_namespaces_.empty(); }
  bool rules_changed_for(const std::string& ns, const PodNeeds* needs) const;
  void settle_rules();

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  Keys take(NodeObject&& object);
  Keys take(HyperNode&& object);
  Keys take(Namespace&& object);
  Keys take(PriorityClass&& object);
  Keys take(ClusterQueue&& object);
  Keys take(Cohort&& object);
  Keys take(LocalQueue&& object);
  Keys take(ResourceFlavor&& object);
  Keys take(TopologyObject&& object);
  Keys take(KaiTopology&& object);
  Keys take(UpstreamWorkload&& object);
  Keys take(WorkloadPriorityClass&& object);
  Keys take(AdmissionCheck&& object);
  Keys take(ProvisioningRequestConfig&& object);
  Keys take(LimitRange&& object);
  Keys take(RuntimeClass&& object);
  Keys take(Kind kind, const TreeQueue& object);
  Keys remove_node(std::string_view name);
  // `claims`: that are others after a change of an object of this kind. Nodes follow.
  Keys settle_storage(VolumeBook::Keys claims, Kind kind);

  DeviceNames devices_;
  QueueBook queues_;
  std::vector<Event> node_events_;
  ByName<Node> nodes_;
  ByName<std::string> node_problems_;
  ByName<Labels> namespaces_;
  ByName<PriorityClass> priority_classes_;
  ByName<std::int64_t> workload_priorities_;
  StorageBook storage_;
  GangBook gangs_;
  HyperBook hyper_nodes_;
  ByName<ByName<LimitRange>> limit_ranges_;  // by namespace and name
  ByName<RuntimeClass> runtime_classes_;
  bool all_runtimes_ = false;                              // the map has all that there are
  std::set<std::string, std::less<>> changed_namespaces_;  // whose LimitRanges are others
  bool changed_runtimes_ = false;
  ByName<LocalQueue> local_queues_;  // ns/name
  ByName<ResourceFlavor> flavors_;
  ByName<std::string> cohort_parents_;
  ByName<StopPolicy> own_queues_;  // Berth's
  std::map<std::pair<Kind, std::string>, std::string> unreadable_;
  std::uint64_t unreadable_changes_ = 0;
};

// Why the gang of this key has no object, in words: it cannot be read, or is not there.
std::string why_no_gang(const ObjectBooks& books, Kind kind, std::string_view key);
// Which of the gangs that start with this one has no object because it cannot be read, in words; "": none.
std::string unreadable_beside(const ObjectBooks& books, Kind kind, const GangObject& object);

}  // namespace berth::dialect
