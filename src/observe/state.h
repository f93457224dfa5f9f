// The state of an engine, as values that own their text and can be written as JSON: for answers that leave the thread of the
// engine, and for debug pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"

namespace berth::observe {

struct QuotaState {
  std::string flavor;
  std::string resource;
  std::int64_t nominal = 0;
  std::int64_t usage = 0;
  std::int64_t available = 0;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("flavor", s.flavor);
    v("resource", s.resource);
    v("nominal", s.nominal);
    v("usage", s.usage);
    v("available", s.available);
  }
  bool operator==(const QuotaState&) const = default;
};

struct QueueState {
  std::string name;
  std::int64_t pending = 0;
  std::int64_t started = 0;
  std::vector<QuotaState> quotas;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("pending", s.pending);
    v("started", s.started);
    v("quotas", s.quotas);
  }
  bool operator==(const QueueState&) const = default;
};

// Owned copies of Engine::queues(). O(queues x quotas).
std::vector<QueueState> queue_states(const engine::Engine& engine);

// The whole state as one JSON object: counters, queues, nodes, workloads and holds, at most `most_items` of
// each kind (the numbers of all are told: {"nodes":{"count":5000,"shown":200,"items":[...]}}). O(everything).
std::string state_json(const engine::Engine& engine, std::size_t most_items);

}  // namespace berth::observe
