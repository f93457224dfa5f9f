#include "e2e/bind_tape.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "e2e/files.h"
#include "e2e/process.h"
#include "e2e/tape_player.h"

namespace berth::e2e {

using nlohmann::json;

namespace {

// As it was when it was of use. A status would make a pod one that a kubelet knows already.
void trim(json& object) {
  if (object["kind"] == "Pod") object.erase("status");
  for (const char* field : {"managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"})
    object["metadata"].erase(field);
}

}  // namespace

std::string TapeVerdict::str() const {
  std::string out =
      fmt::format("{} binds, {} judged in {} states, {} decided places without a bind: {} wrong", binds,
                  judged, states, no_bind, wrong.size());
  for (const auto& [what, lines] : {std::pair{"wrong", &wrong}, {"untold", &untold}, {"error", &errors}}) {
    for (const std::string& line : *lines) out += fmt::format("\n  {}: {}", what, line);
  }
  return out;
}

Status BindTape::start() {
  const auto add = [&](const char* path, const char* kind) {
    streams_.push_back(std::make_unique<Stream>(Stream{path, "v1", kind, {}, {}, {}}));
  };
  add("/api/v1/pods", "Pod");
  add("/api/v1/nodes", "Node");
  add("/api/v1/persistentvolumes", "PersistentVolume");
  add("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim");
  for (const auto& stream : streams_) {
    BERTH_TRY(list(*stream));
    stream->thread = std::thread([this, one = stream.get()] { follow(*one); });
  }
  return {};
}

void BindTape::stop() {
  stop_ = true;
  for (const auto& stream : streams_) {
    if (stream->thread.joinable()) stream->thread.join();
  }
}

Status BindTape::list(Stream& stream) {
  ApiClient api(endpoint_);
  const Reply reply = api.get(stream.path);
  BERTH_TRY(expect_ok(reply, "GET " + stream.path));
  json all = json::parse(reply.body, nullptr, false);
  if (!all.is_object()) return fail(ErrorCode::kInvalid, "GET {}: not JSON", stream.path);
  stream.from = all["metadata"]["resourceVersion"];
  for (json& object : all["items"]) take(stream, std::move(object));
  return {};
}

void BindTape::take(Stream& stream, json object) {
  const std::string uid = object["metadata"]["uid"];
  object["apiVersion"] = stream.version;
  object["kind"] = stream.kind;
  trim(object);
  const std::lock_guard lock(mutex_);
  stream.seen[uid] = std::move(object);
}

void BindTape::give_up(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = std::move(problem);
}

void BindTape::follow(Stream& stream) {
  ApiClient api(endpoint_);
  while (!stop_) {
    const std::string path =
        fmt::format("{}?watch=1&allowWatchBookmarks=true&resourceVersion={}", stream.path, stream.from);
    bool lost = false;
    (void)api.stream(
        path,
        [&](std::string_view line) {
          json event = json::parse(line, nullptr, false);
          if (!event.is_object() || event.value("type", "") == "ERROR") {
            give_up(fmt::format("{}: {}", stream.path, line.substr(0, 200)));
            lost = true;
            return false;
          }
          json& object = event["object"];
          stream.from = object["metadata"]["resourceVersion"];
          if (event["type"] != "BOOKMARK") take(stream, std::move(object));
          return true;
        },
        stop_);
    if (lost) return;
  }
}

Result<TapeVerdict> BindTape::judge(const std::string& decision_log, const std::string& folder,
                                    const std::string& oracle, const std::string& scheduler) {
  stop();
  if (!problem_.empty()) return fail(ErrorCode::kUnavailable, "the tape lacks events: {}", problem_);
  TapeObjects objects;
  for (const auto& stream : streams_) {
    auto& to = stream->kind == "Pod" ? objects.pods : stream->kind == "Node" ? objects.nodes : objects.fixed;
    for (auto& [uid, object] : stream->seen) to.push_back(std::move(object));
  }
  ApiClient api(endpoint_);
  for (const auto& [path, version, kind] :
       {std::tuple{"/api/v1/namespaces", "v1", "Namespace"},
        {"/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1", "StorageClass"},
        {"/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1", "CSIDriver"},
        {"/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1", "CSINode"}}) {
    const Reply reply = api.get(path);
    BERTH_TRY(expect_ok(reply, fmt::format("GET {}", path)));
    json all = json::parse(reply.body);
    for (json& object : all["items"]) {
      object["apiVersion"] = version;
      object["kind"] = kind;
      objects.fixed.push_back(std::move(object));
    }
  }
  return TapePlayer(std::move(objects), scheduler).judge(decision_log, folder, oracle);
}

Result<std::string> built_oracle(const std::string& folder) {
  constexpr int kBuildMs = 900'000;
  const std::string script = BERTH_SOURCE_DIR "/scripts/kube-oracle";
  for (const auto& [command, log] : {std::pair{"build", "oracle-build.log"}, {"path", "oracle-path"}}) {
    BERTH_ASSIGN(auto run, Process::start({.argv = {script, command}, .log = folder + "/" + log}));
    if (!run.wait(kBuildMs) || run.exit_status() != 0) {
      return fail(ErrorCode::kUnavailable, "{} {}: {}", script, command, tail(folder + "/" + log, 10));
    }
  }
  BERTH_ASSIGN(const std::string path, text_of(folder + "/oracle-path"));
  return path.substr(0, path.find('\n'));
}

}  // namespace berth::e2e
