// A core (src/scheduler/loop/core.h) with a scripted API around it: objects are told as a watch would, writes are recorded, and each
// answer is given by the test. Time stands still until the test moves it.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/loop/core.h"

namespace berth::scheduler::testing {

struct PodSpecText {
  std::string name;
  std::string gang;   // berth.dev/gang
  int size = 0;       // berth.dev/gang-size
  std::string owner;  // kind of a controller, for example "ReplicaSet"; empty: a bare pod
  std::string queue;  // berth.dev/queue
  std::string node;   // bound
  int priority = 0;
  int gpus = 1;
  bool deleting = false;
  bool gated = false;
  std::string devices;   // berth.dev/devices
  std::string eviction;  // message of its condition DisruptionTarget
};
std::string pod_json(const PodSpecText& pod, int version);
inline std::string uid_of(std::string_view name) {
  return "uid-" + std::string(name);
}

struct Sent {
  Step step;
  std::string uid;
  std::string path;
  std::string body;
  kube::WriteClass write_class = kube::WriteClass::kBind;
};

class ScriptedOutbox : public Outbox {
 public:
  void write(kube::Write write, Step step, std::string uid) override {
    sent.push_back({step, std::move(uid), write.path, write.body, write.write_class});
  }
  void read(std::string path, std::string uid, Step step) override {
    sent.push_back({step, std::move(uid), std::move(path), {}});
  }
  std::vector<Sent> sent;  // not yet taken by the test
};

class World {
 public:
  explicit World(CoreOptions options = defaults(), observe::Follower* follower = nullptr);
  static CoreOptions defaults();

  // The object of a watch. Nothing is decided before turn().
  void node(const std::string& name, int gpus = 8);
  void pod(const PodSpecText& pod);
  void pod_gone(const std::string& name);
  void gone(dialect::Kind kind, const std::string& name);
  void object(dialect::Kind kind, const std::string& name, const std::string& json);

  void recover();
  void turn();
  void pass(DurationMs time) {
    now += time;
    turn();
  }
  // Statuses and events that are due.
  void report();

  // All that was sent since the last call, of one step (statuses and events are left for their own calls).
  std::vector<Sent> take(Step step);
  std::vector<Sent> peek() const { return outbox.sent; }
  // Expects exactly one write of the step and gives its pod's name.
  std::string only(Step step);
  void answer(Step step, const std::string& name, kube::Outcome outcome, const std::string& message = {},
              const std::string& body = {}, bool maybe_done = false);
  void answer_about(Step step, const std::string& uid, kube::Outcome outcome, const std::string& message = {},
                    const std::string& body = {}, bool maybe_done = false);
  // Answers every bind that was sent with success, and shows the pods on their nodes.
  void bind_all();

  SlotState slot(const std::string& workload, int index = 0) const;

  ScriptedOutbox outbox;
  observe::Metrics metrics;
  std::unique_ptr<Core> core;
  TimeMs now = 1'700'000'000'000;
  int version = 100;

 private:
  void give(Inbox& inbox);
  std::vector<PodSpecText> pods_;
};

// Node of a bind's body, and the devices that it writes on the pod.
std::string node_of(const Sent& bind);
std::string devices_of(const Sent& bind);
// One field of the first condition in a status patch.
std::string condition_field(const Sent& status, const std::string& field);

}  // namespace berth::scheduler::testing
