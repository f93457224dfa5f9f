// A small session of an engine, and a folder that goes away.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/event.h"
#include "observe/recorded_engine.h"

namespace berth::observe::testing {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);

Event gpu_node(const std::string& name, std::int64_t gpus);
Event gpu_queue(const std::string& name, std::int64_t gpus);
// `count` pods of one GPU each, all or none.
Event gpu_gang(const std::string& uid, const std::string& queue, std::int64_t count,
               std::int64_t priority = 0);

// Two nodes of four GPUs, a queue with six, gangs that fit, that wait and that end, and an event that is refused.
void run_session(RecordedEngine& engine);
// The log of run_session().
std::string session_log(const engine::EngineConfig& config = {});

}  // namespace berth::observe::testing
