#include "observe/log_support.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace berth::observe::testing {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "berth-observe-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}
ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

Event gpu_node(const std::string& name, std::int64_t gpus) {
  Node node;
  node.name = name;
  node.allocatable = {{"cpu", 64'000}, {"pods", 110}};
  node.devices.emplace_back().count = gpus;
  return NodeUpsert{node};
}

Event gpu_queue(const std::string& name, std::int64_t gpus) {
  Queue queue;
  queue.name = name;
  queue.groups.push_back({{"nvidia.com/gpu"}, {"default"}});
  queue.quotas.push_back({"default", "nvidia.com/gpu", gpus * 1000, {}, {}});
  return QueueUpsert{queue};
}

Event gpu_gang(const std::string& uid, const std::string& queue, std::int64_t count, std::int64_t priority) {
  Workload workload;
  workload.uid = uid;
  workload.name = "team/" + uid;
  workload.queue = queue;
  workload.priority = priority;
  PodSet& set = workload.root.pod_sets.emplace_back();
  set.name = "workers";
  set.count = count;
  set.pod.claim.requests.push_back({"nvidia.com/gpu", 1, 1000});
  return WorkloadUpsert{workload};
}

void run_session(RecordedEngine& engine) {
  (void)engine.apply(FlavorUpsert{Flavor{"default", {}, {}, {}, {}}});
  (void)engine.apply(gpu_queue("q", 6));
  (void)engine.apply(gpu_node("n1", 4));
  (void)engine.apply(gpu_node("n2", 4));
  (void)engine.apply(gpu_gang("a", "q", 4));
  (void)engine.apply(gpu_gang("b", "q", 4));
  (void)engine.apply(gpu_gang("bad", "q", -1));
  (void)engine.decide(1000);
  for (std::int64_t i = 0; i < 4; ++i) {
    (void)engine.apply(SlotUpdate{"a", 0, i, SlotState::kRunning, "n1"});
  }
  (void)engine.decide(2000);
  (void)engine.apply(WorkloadRemove{"a"});
  (void)engine.decide(3000);
}

std::string session_log(const engine::EngineConfig& config) {
  std::string log;
  RecordedEngine engine(config, [&](std::string_view line) {
    log.append(line).append("\n");
    return Status();
  });
  run_session(engine);
  return log;
}

}  // namespace berth::observe::testing
