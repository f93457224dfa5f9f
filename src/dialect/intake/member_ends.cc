#include "dialect/intake/member_ends.h"

#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

bool is_gang(const Membership& membership) {
  return membership.kind == GangKind::kPodGroup || membership.kind == GangKind::kSized;
}

bool has_status(const GangSystem* system) {
  return system != nullptr && system->status != nullptr;
}

}  // namespace

std::string MemberEnds::note(const Pod& pod, const PodRecord* record) {
  const std::string name = key_of(pod.meta.ns, pod.meta.name);
  const bool last_try = pod.phase == PodPhase::kSucceeded || pod.meta.annotation(kKueueRetriable) == "false";
  if (pod.spec.node_name.empty() || !rules_.is_ours(pod)) return forget(name);
  const Membership gang = record != nullptr ? *record->membership : membership_of(pod);
  if (!is_gang(gang)) return {};
  if (!last_try && !has_status(gang.system)) return forget(name);
  books_.ended_members.note(name, gang.uid, {pod.ended, pod.phase == PodPhase::kSucceeded, last_try});
  changed(gang.uid);
  return gang.uid;
}

std::string MemberEnds::forget(const std::string& pod) {
  std::string gang = books_.ended_members.forget(pod).value_or(std::string());
  if (!gang.empty()) changed(gang);
  return gang;
}

Membership MemberEnds::membership_of(const Pod& pod) const {
  return books_.objects.gangs().with_part(books_.owners.membership_of(pod, true), pod.meta);
}

bool MemberEnds::is_there(const Membership& gang, std::string_view ns) const {
  return books_.drafts.find(gang.uid) != kNoIx ||
         (has_status(gang.system) &&
          books_.objects.gangs().find(gang.system->kind, key_of(ns, gang.name)) != nullptr);
}

std::optional<MemberEnds::Member> MemberEnds::member_of(const PodRecord& record) {
  if (!is_gang(record.membership)) return std::nullopt;
  const Meta& meta = record.pod.meta;
  // One that is being deleted will be gone.
  const bool may_have_ended = !record.pod.spec.node_name.empty() && !meta.deleting;
  return Member{{meta.ns, meta.name, meta.uid}, record.membership, may_have_ended};
}

void MemberEnds::left(const Member& member) {
  if (!is_there(member.gang, member.pod.ns)) return books_.ended_members.forget_gang(member.gang.uid);
  if (member.may_have_ended) left_.push_back(member);
}

std::vector<PodName> MemberEnds::take_left() {
  std::vector<PodName> out;
  for (Member& member : std::exchange(left_, {})) {
    if (is_there(member.gang, member.pod.ns)) out.push_back(std::move(member.pod));
  }
  return out;
}

void MemberEnds::gone(Kind kind, std::string_view object) {
  if (gang_system(kind) == nullptr) return;
  const std::string gang = gang_uid(kind, object);
  if (books_.drafts.find(gang) == kNoIx) books_.ended_members.forget_gang(gang);
}

bool MemberEnds::counts(const Pod& pod) const {
  // Where there is a pod of its name, that one is newer.
  return books_.pods.find_named(key_of(pod.meta.ns, pod.meta.name)) == kNoIx &&
         is_there(membership_of(pod), pod.meta.ns);
}

std::set<std::string> MemberEnds::with_ended() const {
  std::set<std::string> out;
  const auto lacks = [](const Draft& draft) {
    return (draft.kind == GangKind::kPodGroup || draft.kind == GangKind::kSized) && draft.pods < draft.size;
  };
  for (const auto ix : books_.drafts.where(lacks)) out.insert(books_.drafts[ix].ns);
  books_.objects.gangs().each([&](Kind kind, const GangObject& object) {
    if (has_status(gang_system(kind)) && !object.stage.empty()) out.insert(object.meta.ns);
  });
  return out;
}

}  // namespace berth::dialect
