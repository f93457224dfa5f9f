#include "dialect/upstream/template_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "dialect/base/names.h"
#include "dialect/upstream/core.h"

namespace berth::dialect {
namespace {

// The subject of bounds: a container, or a pod.
struct Subject {
  std::string name;  // "container main", "its pods"
  const ResourceList& requests;
  const ResourceList& limits;
};

std::string check_bounds(const Subject& who, const LimitRange::Limit& limit, std::string_view range) {
  for (const auto& [resource, least] : limit.least) {
    const auto text = [&](std::string_view what) {
      return fmt::format("{}: LimitRange {} wants at least {} of {}, and {}", who.name, range,
                         format_amount(resource, least), resource, what);
    };
    if (!who.requests.has(resource)) return text("nothing is requested");
    if (who.requests.get(resource) < least)
      return text(fmt::format("{} is requested", format_amount(resource, who.requests.get(resource))));
    if (who.limits.has(resource) && who.limits.get(resource) < least)
      return text(fmt::format("the limit is {}", format_amount(resource, who.limits.get(resource))));
  }
  for (const auto& [resource, most] : limit.most) {
    const auto text = [&](std::string_view what) {
      return fmt::format("{}: LimitRange {} allows {} of {}, and {}", who.name, range,
                         format_amount(resource, most), resource, what);
    };
    if (!who.limits.has(resource)) return text("there is no limit");
    if (who.limits.get(resource) > most)
      return text(fmt::format("the limit is {}", format_amount(resource, who.limits.get(resource))));
    if (who.requests.get(resource) > most)
      return text(fmt::format("{} is requested", format_amount(resource, who.requests.get(resource))));
  }
  for (const auto& [resource, ratio] : limit.most_ratio) {
    const std::int64_t request = who.requests.get(resource);
    const std::int64_t most = who.limits.get(resource);
    if (request != 0 && most != 0 && Int128{most} * 1000 <= Int128{ratio} * request) continue;
    return fmt::format(
        "{}: LimitRange {} allows a limit of {} times the request of {}, and they are {} and {}", who.name,
        range, format_amount("cpu", ratio), resource, format_amount(resource, most),
        format_amount(resource, request));
  }
  return {};
}

void give_defaults(const LimitRange& range, std::vector<ContainerNeeds>& containers) {
  for (const auto& limit : range.limits) {
    for (auto& c : containers) {
      for (const auto& [resource, amount] : limit.default_requests) {
        if (!c.requests.has(resource)) c.requests.set(resource, amount);
      }
      for (const auto& [resource, amount] : limit.default_limits) {
        if (!c.limits.has(resource)) c.limits.set(resource, amount);
      }
    }
  }
}

std::string check_range(const LimitRange& range, const PodNeeds& needs) {
  for (const auto& limit : range.limits) {
    if (!limit.of_pods) {
      for (const auto& c : needs.containers) {
        auto wrong = check_bounds({"container " + c.name, c.requests, c.limits}, limit, range.meta.name);
        if (!wrong.empty()) return wrong;
      }
      continue;
    }
    auto requests = aggregate(needs.containers,
                              [](const ContainerNeeds& c) -> const ResourceList& { return c.requests; });
    auto limits =
        aggregate(needs.containers, [](const ContainerNeeds& c) -> const ResourceList& { return c.limits; });
    override_by_pod(needs, requests);
    for (const auto& [resource, amount] : needs.limits) {
      if (counts_for_pod(resource)) limits.set(resource, amount);
    }
    auto wrong = check_bounds({"its pods", requests, limits}, limit, range.meta.name);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// The RuntimeClass' part; gives why the API server would refuse the pods.
std::string apply_runtime(const TemplateRules& rules, PodNeeds& needs, PodTemplate& pod) {
  if (needs.runtime_class.empty()) {
    return needs.overhead.empty() || !rules.all_runtimes ? "" : "it has overhead, and names no RuntimeClass";
  }
  if (rules.runtime == nullptr) {
    return rules.all_runtimes ? fmt::format("RuntimeClass {} does not exist", needs.runtime_class) : "";
  }
  const RuntimeClass& runtime = *rules.runtime;
  if (!needs.overhead.empty() && (!runtime.overhead || !(*runtime.overhead == needs.overhead)))
    return fmt::format("its overhead is not that of RuntimeClass {}", needs.runtime_class);
  if (runtime.overhead) needs.overhead = *runtime.overhead;
  for (const auto& [key, value] : runtime.node_selector) {
    const auto [it, fresh] = pod.node_selector.edit().emplace(key, value);
    if (!fresh && it->second != value)
      return fmt::format("RuntimeClass {} wants nodes with {}: {}, and its nodeSelector {}",
                         needs.runtime_class, key, value, it->second);
  }
  for (const auto& toleration : runtime.tolerations) {
    if (std::find(pod.tolerations.begin(), pod.tolerations.end(), toleration) == pod.tolerations.end())
      pod.tolerations.edit().push_back(toleration);
  }
  return {};
}

// Why one resource of a container is refused; "" = it is not.
std::string check_resource(const ContainerNeeds& c, const std::string& resource) {
  const bool standard = resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
                        resource.starts_with("hugepages-");
  if (!standard && resource.find('/') == std::string::npos)
    return fmt::format("{0} is no resource of Kubernetes: other ones have a domain, such as example.com/{0}",
                       resource);
  if (!is_extended(resource) && !resource.starts_with("hugepages-")) return {};
  if (!c.limits.has(resource))
    return fmt::format("Limit must be set for {}, which is requested: it cannot be overcommitted", resource);
  if (c.requests.get(resource) == c.limits.get(resource)) return {};
  return fmt::format("the request of {} is {}, and must be equal to its limit of {}", resource,
                     format_amount(resource, c.requests.get(resource)),
                     format_amount(resource, c.limits.get(resource)));
}

}  // namespace

std::string check_containers(const PodNeeds& needs) {
  std::size_t inits = 0;
  for (std::size_t i = 0; i < needs.containers.size(); ++i) {
    const ContainerNeeds& c = needs.containers[i];
    inits += c.init ? 1 : 0;
    for (const auto& [resource, amount] : c.requests) {
      const std::string wrong = check_resource(c, resource);
      if (wrong.empty()) continue;
      return fmt::format("{}[{}].resources: {}", c.init ? "initContainers" : "containers",
                         c.init ? i : i - inits, wrong);
    }
  }
  return {};
}

TakenTemplate as_taken(const PodSpec& spec, const PodNeeds& written, const Meta& meta,
                       const TemplateRules& rules, const DeviceNames& devices) {
  TakenTemplate out{*spec.pod, spec.zero_requests, {}};
  PodNeeds needs = written;
  for (const LimitRange* range : rules.ranges) give_defaults(*range, needs.containers);
  for (const LimitRange* range : rules.ranges) {
    if (out.refused.empty()) out.refused = check_range(*range, needs);
  }
  for (const auto& c : needs.containers) {
    for (const auto& [resource, limit] : c.limits) {
      if (c.requests.get(resource) <= limit || !out.refused.empty()) continue;
      out.refused = fmt::format("container {}: {} of {} is requested, above its limit of {}", c.name,
                                format_amount(resource, c.requests.get(resource)), resource,
                                format_amount(resource, limit));
    }
  }
  if (rules.of_pods && out.refused.empty()) out.refused = check_containers(needs);
  const std::string by_runtime = apply_runtime(rules, needs, out.pod);
  if (out.refused.empty()) out.refused = by_runtime;
  if (needs == written) return out;

  auto total =
      aggregate(needs.containers, [](const ContainerNeeds& c) -> const ResourceList& { return c.requests; });
  override_by_pod(needs, total);
  add_capped(total, needs.overhead);
  const std::string broken = set_requests(needs, devices, std::move(total), out.pod, out.zero_requests);
  if (!broken.empty() && out.refused.empty())
    out.refused = fmt::format("a number of {} must be whole", broken);
  // Its words are said again for the claim as it is now.
  std::erase_if(out.pod.unsupported, [](const std::string& words) { return words.starts_with(kGpuMilli); });
  apply_share(meta, out.pod);
  return out;
}

}  // namespace berth::dialect
