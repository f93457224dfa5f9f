// The `services` of a scenario (their keys: sim/scenario/scenario_keys.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "sim/service/service.h"
#include "sim/service/service_load.h"
#include "text/fields.h"

namespace berth::sim {

struct ServiceSource {
  Service spec;  // without load and plan
  LoadSource load;
  std::string image;  // of spec.costs; "" = one of its own
  TimeMs from = 0;
  SourcePlace place;
};

// `path` reads the key of a path (variables expanded, relative to the scenario).
ServiceSource read_service(text::Fields& f,
                           const std::function<std::string(text::Fields&, std::string_view)>& path);

// The service with its load and its targets over time.
Result<Service> make_service(const ServiceSource& source, std::uint64_t seed);

}  // namespace berth::sim
