// Objects in, events for the engine out (Intake). IntakeView and IntakeQueues say what it knows, IntakePromises takes what the live loop
// decided. A caller takes the narrowest of them. Both doors use it: the live loop feeds it from watches, `berth plan` from manifests.
//
//   intake.upsert(object); intake.remove(Kind::kPod, ns, name, uid); ...
//   intake.drain(events);
//   for (const auto& event : events)
//     if (auto status = engine.apply(event); !status) intake.refused(event, status.error().message);
//
// Objects may come in any order (pods before their PodGroup, owner, queue or node). Work waits for a missing object, and goes on when
// it arrives. Pods map to workloads and slots:
//   - a gang (gangs.h) is one workload; a pod set per distinct template ("role"), in order of first appearance. A pod takes the
//     slot of its index where it has one, else the lowest free. With fewer pods than the gang's size, the last role lacks them;
//     with more, the surplus is elastic and reduces the least count of the largest role. A group of Kueue's with
//     kKueueFastAdmission starts before all of its pods exist: see IntakeView::expects().
//   - any other pod is a workload of one slot, whose uid is the pod's.
// With IntakeConfig::hold_owners a suspended owner (a Job) that names a queue is a workload without pods: its slots wait, made from its
// templates. The caller that starts it calls set_released(), unsuspends it, and keeps the places of its slots; each new pod takes a
// slot. Pods of a suspended owner only take room until they are gone.
//
// A bound pod of a known slot is `running`, so a restart adopts existing placements. Bound pods that are not ours (other
// schedulers', mirror pods) only take room (ForeignPod). Finished pods are gone.
//
// An owner without pods asks for the requests of its future pods. They include LimitRange defaults of its namespace and the overhead
// of its RuntimeClass (template_effects.h). A change of those counts at the next drain(), for waiting work only, never for work
// that has its places.
//
// Reasons that the engine cannot know (an unknown PodGroup, a namespace that the queue does not admit, members that disagree)
// make the workload inactive; blocked() gives them, and comes before the engine's verdict. So does a pod with a field that cannot
// be read (Pod::problem): its workload waits, and the reason names the field. If such a pod runs, the readable part takes its room.
//
// Deterministic: the same calls in the same order give the same events. Cost per change: O(1) (logarithmic look-ups) plus the
// workloads that depend on the changed object; a change of queue objects O(queues) at the next drain(), of LimitRanges and RuntimeClasses
// O(owners). Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/intake/intake_promises.h"

namespace berth::dialect {

class Intake : public IntakePromises {
 public:
  explicit Intake(IntakeConfig config = {}) : IntakePromises(std::move(config)) {}

  void upsert(Object object);
  // An owner of pods, taken apart already.
  void upsert(Ask ask);
  // Removing an unknown object is no error. A uid, if given, must match (a newer object of that name stays).
  void remove(Kind kind, std::string_view ns, std::string_view name, std::string_view uid = {});
  using IntakeView::unreadable;
  // This object, which is no pod, cannot be read: what was known of it before stays. Cleared by its next upsert() or remove().
  void unreadable(Kind kind, std::string_view ns, std::string_view name, std::string message);
  // Changes this pod as the API server would: sets its defaults, or the reason for refusing it (Pod::problem). No effect on a pod
  // without `needs`.
  void take_in(Pod& pod) const;

  // The events since the last call: nodes, then queues, then workloads and their slots.
  EventQueue take_events();
  // Appends them.
  void drain(std::vector<Event>& out);
  // The engine refused this event. Keeps the books consistent: a workload is blocked with this message; a running pod is charged as
  // a foreign pod. More events may follow at the next drain().
  void refused(const Event& event, std::string_view message);
  // The engine is told of this workload and its slots as if it had never heard of them (next drain()).
  void tell_anew(std::string_view workload);
  // Members of gangs that had nodes, and were removed since the last call. Whether they have ended matters, and a watch without ended pods
  // does not say. ended() is to be called for those that have.
  std::vector<PodName> take_left_members();
  // This pod has ended, and no watch tells of its end or of its deletion. It counts until its gang has neither pods nor an object with
  // a status, or until a pod of its name comes. No effect on what upsert() tells of.
  void ended(const Pod& pod);
  // Since the last call.
  std::vector<HandOver> take_hand_overs();
  // ns/name of the ones that are named by work with a different request. They are finished, and their places are freed.
  std::vector<std::string> take_out_of_sync();
  // Those of which other pods run, or have ended, since the last call; by workload.
  std::set<std::string> take_changed_gangs();

  // Owners that have not been seen and whose pods wait for them. Watches of owners and pods run apart: only the API can say whether such
  // an owner exists. Also, once each, owners of kinds that Berth does not read: their pods are scheduled one by one.
  std::vector<OwnerName> missing_owners();
  // There is no such owner: its pods are pods of their own from now on.
  void release_orphans(std::string_view owner_uid);

  // The way in which admission checks can be asked, from now on.
  void set_check_mode(CheckMode mode);
  // Whether the API server has ProvisioningRequests; and how a check that Berth answers itself asks for nodes (QueueBook).
  void set_provisioning_served(bool served);
  // All existing RuntimeClasses are known. An unknown one does not exist, and its pods would be refused.
  void set_all_runtimes_known();
};

}  // namespace berth::dialect
