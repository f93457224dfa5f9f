// YuniKorn: its marks of pods, namespaces and priority classes.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kYuniKornPrefixes[] = {"yunikorn.apache.org/", "internal.yunikorn.apache.org/"};

constexpr std::string_view kYuniKornKeys[] = {
    "internal.yunikorn.apache.org/placeholder",
    "yunikorn.apache.org/allow-preemption",
    "yunikorn.apache.org/app-id",
    "yunikorn.apache.org/ignore-application",
    "yunikorn.apache.org/namespace.enableYuniKorn",
    "yunikorn.apache.org/namespace.generateAppId",
    "yunikorn.apache.org/namespace.guaranteed",
    "yunikorn.apache.org/namespace.max.cpu",
    "yunikorn.apache.org/namespace.max.memory",
    "yunikorn.apache.org/namespace.maxApps",
    "yunikorn.apache.org/namespace.quota",
    "yunikorn.apache.org/parentqueue",
    "yunikorn.apache.org/placeholder",
    "yunikorn.apache.org/queue",
    "yunikorn.apache.org/schedulingPolicyParameters",
    "yunikorn.apache.org/task-group-name",
    "yunikorn.apache.org/task-groups",
    "yunikorn.apache.org/user.info",
    "yunikorn.apache.org/username",
};

}  // namespace

KnownSystem known_yunikorn() {
  return {"YuniKorn", {}, {}, kYuniKornPrefixes, kYuniKornKeys};
}

}  // namespace berth::dialect
