#include "observe/state.h"

#include <algorithm>

#include "observe/codec.h"

namespace berth::observe {
namespace {

using text::JsonWriter;

// {"count":N,"shown":M,"items":[...]} of the first items.
template <class Items, class WriteItem>
void write_items(JsonWriter& json, std::string_view name, const Items& items, std::size_t most,
                 WriteItem&& write_item) {
  const std::size_t shown = std::min(items.size(), most);
  json.key(name).begin_object();
  json.field("count", items.size()).field("shown", shown);
  json.key("items").begin_array();
  for (std::size_t i = 0; i < shown; ++i) write_item(items[i]);
  json.end_array().end_object();
}

void write_stats(JsonWriter& json, const engine::EngineStats& stats) {
  json.key("stats").begin_object();
  json.field("events", stats.events)
      .field("decide_calls", stats.decide_calls)
      .field("attempts", stats.attempts);
  json.field("starts", stats.starts)
      .field("slots_started", stats.slots_started)
      .field("evictions", stats.evictions);
  json.field("reclaims", stats.reclaims)
      .field("holds", stats.holds)
      .field("holds_released", stats.holds_released);
  json.field("searches_ended", stats.searches_ended).field("victim_searches", stats.victim_searches);
  json.field("empty_searches", stats.empty_searches).field("reservations", stats.reservations);
  json.end_object();
}

void write_node(JsonWriter& json, const engine::NodeView& node) {
  json.begin_object().field("name", node.name);
  json.key("amounts").begin_array();
  for (const auto& amount : node.amounts) {
    json.begin_object().field("resource", amount.resource).field("capacity", amount.capacity);
    json.field("used", amount.used).field("promised", amount.promised).end_object();
  }
  json.end_array().key("devices").begin_array();
  for (const auto& device : node.devices) {
    json.begin_object().field("resource", device.resource).field("used", device.used);
    json.field("promised", device.promised).field("healthy", device.healthy).end_object();
  }
  json.end_array().end_object();
}

void write_workload(JsonWriter& json, const engine::WorkloadView& workload) {
  json.begin_object()
      .field("uid", workload.uid)
      .field("queue", workload.queue)
      .field("priority", workload.priority);
  json.field("started", workload.started).field("running", workload.slots_running);
  json.field("held", workload.slots_held).field("releasing", workload.slots_releasing);
  json.field("waiting", workload.slots_waiting).end_object();
}

}  // namespace

std::vector<QueueState> queue_states(const engine::Engine& engine) {
  std::vector<QueueState> out;
  for (const auto& queue : engine.queues()) {
    QueueState& state = out.emplace_back();
    state.name = queue.name;
    state.pending = queue.pending;
    state.started = queue.started;
    for (const auto& quota : queue.quotas) {
      state.quotas.push_back({std::string(quota.flavor), std::string(quota.resource), quota.nominal,
                              quota.usage, quota.available});
    }
  }
  return out;
}

std::string state_json(const engine::Engine& engine, std::size_t most_items) {
  JsonWriter json;
  json.begin_object();
  write_stats(json, engine.stats());
  json.field("pending", engine.pending_count());
  write_items(json, "queues", queue_states(engine), most_items,
              [&](const QueueState& queue) { json.raw(encode(queue)); });
  write_items(json, "nodes", engine.nodes(), most_items, [&](const auto& node) { write_node(json, node); });
  write_items(json, "workloads", engine.workloads(), most_items,
              [&](const auto& w) { write_workload(json, w); });
  write_items(json, "holds", engine.holds(), most_items, [&](const Hold& hold) {
    json.begin_object().field("holder", hold.holder).field("from", hold.from);
    json.key("slots").raw(encode(hold.slots)).key("cause").raw(encode(hold.cause)).end_object();
  });
  json.end_object();
  return json.take();
}

}  // namespace berth::observe
