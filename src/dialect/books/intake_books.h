// All that the intake knows: objects, pods, owners, drafts (workloads in the making), members that have ended, and promises of the live
// loop. Each book keeps its own data and knows no other. DraftRules and DraftSettings (draft_rules.h, draft_settings.h) say what follows
// from them, and only read. Private to the intake.
#pragma once

#include <utility>

#include "dialect/books/budget_book.h"
#include "dialect/books/claim_book.h"
#include "dialect/books/draft_book.h"
#include "dialect/books/object_books.h"
#include "dialect/books/owner_book.h"
#include "dialect/books/pod_book.h"
#include "dialect/books/promises.h"
#include "dialect/books/words.h"
#include "dialect/gangs/ended_members.h"

namespace berth::dialect {

struct IntakeBooks {
  explicit IntakeBooks(IntakeConfig intake_config) : config(std::move(intake_config)), objects(config) {}

  IntakeConfig config;
  ObjectBooks objects;
  PodBook pods;
  DraftBook drafts;
  OwnerBook owners;
  ClaimBook claims;
  BudgetBook budgets;
  EndedMembers ended_members;
  Promises promises;

  // Workload objects are kept for work, and those of other clients are read.
  bool is_live() const { return !config.quota_only && objects.queues().check_mode() == CheckMode::kLive; }
  // Workloads of other clients are work, or belong to the work that names them.
  bool reads_prebuilt() const {
    return !config.quota_only && objects.queues().check_mode() != CheckMode::kNone;
  }
  // The owner whose gang the draft is; nullptr: there is none, or it is not known.
  const OwnerRecord* owner_of(const Draft& draft) const {
    return draft.kind == GangKind::kOwner ? owners.find(draft.uid) : nullptr;
  }
  // The same; or its group of an owner, where that asks for pods of its own.
  const OwnerRecord* asker_of(const Draft& draft) const {
    return draft.kind == GangKind::kSized ? owners.group(draft.uid) : owner_of(draft);
  }
  // The pod for which its owner was made; nullptr: that was made for none.
  const Owner* made_for(const Meta& pod) const {
    const OwnerRecord* owner = owners.of(pod);
    if (owner == nullptr) return nullptr;
    const Owner& of = owner->ask.meta->controller;
    return of.kind == "Pod" ? &of : nullptr;
  }
  // Its owner was made for a pod that is gone, since another has its name. So both are about to be deleted.
  bool is_stray(const Meta& pod) const {
    const Owner* of = made_for(pod);
    const auto ix = of == nullptr ? kNoIx : pods.find_named(key_of(pod.ns, of->name));
    return ix != kNoIx && pods[ix].pod.meta.uid != of->uid;
  }
};

}  // namespace berth::dialect
