// Decisions of the live loop that the API does not show yet: releases, granted sizes, reserved places, changed templates, stops, nodes and
// volumes for claims. The intake keeps to each until the loop takes it back. An unknown workload is no error.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/intake/intake_view.h"
#include "dialect/volumes/claim_step.h"

namespace berth::dialect {

class IntakePromises : public IntakeView {
 public:
  // The suspended owner `workload` is being unsuspended: its slots keep their places until pods come. false: not, or no longer;
  // renew() then reports its slots. No effect unless the workload is an owner that is held suspended.
  void set_released(std::string_view workload, bool released);
  bool is_released(std::string_view workload) const;
  // The suspended owner `workload` has quota and places, and waits for admission: its request stays fixed, whatever becomes of
  // LimitRanges and RuntimeClasses. false: it waits as others do.
  void set_reserved(std::string_view workload, bool reserved);
  // Reports every slot that is not bound to the engine again, at the next drain().
  void renew(std::string_view workload);
  // The write for this pod failed: its slot waits again (next drain()), or is absent where its owner is suspended. Nothing when the
  // pod is bound or gone.
  void retry(std::string_view pod_uid);

  // A suspended owner, or a Workload without its work, that the engine may start with fewer pods (Workload::whole_first): its start
  // is to be told with grant().
  bool may_start_smaller(std::string_view workload) const;
  // The engine has started so many of its pods: that is its size until it is neither released nor reserved. In a plan, for a Workload
  // with starts_once(): its size until a call with more than it asks for.
  void grant(std::string_view workload, std::int64_t pods);
  // Its first start fixes its size: a suspended owner, or a Workload that waits alone, and may start with fewer pods than it asks
  // for.
  bool starts_once(std::string_view workload) const;
  // 0: all of its pods.
  std::int64_t granted(std::string_view workload) const;
  // After a restart: the bound pods of an elastic owner are its former size, and the missing ones are growth. No effect on other
  // work.
  void accept_size(std::string_view workload);

  // The pods of the suspended owner `workload` will get these updates too, so they decide about places, instead of former updates in
  // the templates (kPodSetUpdates). True: the owner is decided anew, and loses its places.
  bool amend(std::string_view workload, std::span<const PodSetUpdate> updates);
  // `came`: its provisioned nodes exist, so from now on it is placed. Otherwise it gets quota alone in the flavors of such a check
  // (PodTemplate::awaited_flavors). True: something changed.
  bool set_nodes_came(std::string_view workload, bool came);
  // `asks`: it lacks nodes alone, so it gets quota first in the flavors whose nodes come on demand, until set_nodes_came(). True:
  // something changed.
  bool set_asks_nodes(std::string_view workload, bool asks);
  // The owner `workload` rests, for this reason, until a call without a reason.
  void set_rest(std::string_view workload, std::optional<Reason> why);
  // In force until a call with an empty Standing. The workload need not be known yet. If it is stopped while it runs, the engine
  // gets a Withdraw to end it.
  void set_standing(std::string_view workload, Standing standing);
  bool is_stopped(std::string_view workload) const;

  // It is `now`, from now on, for gangs that are one for a time alone (SaidGang::patience): drain() tells which are none any more. Never
  // goes back. Cost: O(gangs whose time has ended).
  void pass(TimeMs now);
  // When the next one is none any more; the largest time: none.
  TimeMs next_time() const;

  // The claims of this pod that need something before it is bound to the node (volumes/claim_step.h). Nothing: it may be bound.
  std::vector<ClaimStep> claim_steps(std::string_view pod_uid, const std::string& node) const;
  // Whether pods that this owner makes will have claims that are not bound yet, as far as its templates say.
  bool has_open_claims(std::string_view workload) const;
  // The volume of the claim (namespace/name) was not made for these nodes: no pod that mounts it goes there, until a call without them.
  void refuse_claim(const std::string& claim, std::set<std::string> nodes);
  // A pod and the node of its place.
  using Placed = std::pair<std::string, std::string>;
  // Chooses existing volumes on their nodes for the claims of these pods that have none (VolumeBook::keep()). They stay chosen until a call
  // of release_volumes().
  void keep_volumes(const std::vector<Placed>& pods);
  void release_volumes(const std::set<std::string>& claims);
  // Claims that are others than before, or what they depend on, since the last call.
  std::set<std::string> take_changed_claims();

 protected:
  using IntakeView::IntakeView;
};

}  // namespace berth::dialect
