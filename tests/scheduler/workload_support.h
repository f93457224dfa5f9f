// A core, and around it an API server that keeps Kueue's Workloads and Jobs, and the Job controller.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "dialect/kueue/workload_object.h"
#include "scheduler/job_support.h"
#include "scheduler/world_support.h"
#include "text/time.h"

namespace berth::scheduler::testing {

using kube::Outcome;
using nlohmann::json;

inline std::string object_name(const std::string& job) {
  return dialect::workload_name("Job", "batch", job, uid_of(job));
}

inline CoreOptions default_options() {
  CoreOptions out = World::defaults();
  out.intake.hold_owners = true;
  return out;
}

// A core, an API server that keeps Workloads, and the Job controller of one queue with room for `gpus`.
class WorkloadObjectsTest : public ::testing::Test {
 protected:
  WorkloadObjectsTest() { start(default_options(), 2); }
  void start(CoreOptions options, int gpus) {
    const TimeMs now = w_ ? w_->now : TimeMs{1'700'000'000'000};
    const int version = w_ ? w_->version : 100;
    w_ = std::make_unique<World>(std::move(options), follower_.get());
    w_->now = now;
    w_->version = version;
    w_->object(dialect::Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
    write_quota(gpus);
    w_->object(dialect::Kind::kLocalQueue, "team",
               R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"cq"}})");
    w_->node("n1", 8);
    for (const auto& [name, object] : objects_) show(name);
    for (auto& [name, job] : jobs_) w_->object(dialect::Kind::kJob, name, job.dump());
    for (auto& [name, pod] : pods_) w_->object(dialect::Kind::kPod, name, pod.dump());
    w_->core->set_kueue_version("v1beta2", w_->now);
    w_->recover();
  }
  // The watch says that the object that a test has made is gone; its uid is "object-<name>".
  void remove_object(const std::string& name) {
    objects_.erase(name);
    Inbox inbox;
    inbox.push(dialect::Kind::kWorkload,
               {kube::ChangeType::kDeleted, "default", name, "object-" + name, "999999", ""});
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
    w_->turn();
  }
  void show(const std::string& name) {
    json& object = objects_.at(name);
    object["metadata"]["resourceVersion"] = std::to_string(w_->version + 1);  // what the watch will say
    w_->object(dialect::Kind::kWorkload, name, object.dump());
  }
  // Takes what was sent, as the API server would; the number of writes.
  int serve() {
    int writes = 0;
    for (const Sent& sent : w_->take(Step::kWorkload)) {
      if (sent.body.empty()) {  // a read
        const auto known = objects_.find(sent.path.substr(sent.path.rfind('/') + 1));
        answer(sent.uid, known == objects_.end() ? Outcome::kNotFound : Outcome::kOk,
               known == objects_.end() ? "" : known->second.dump());
        continue;
      }
      ++writes;
      EXPECT_EQ(sent.write_class, kube::WriteClass::kStatus);
      const json body = json::parse(sent.body);
      std::string name = sent.path.substr(sent.path.find("/workloads") + 10);
      json* object = nullptr;
      if (name.empty()) {
        name = body["metadata"]["name"];
        EXPECT_FALSE(objects_.contains(name)) << "made twice";
        object = &(objects_[name] = body);
        (*object)["metadata"]["uid"] = "object-" + name;
        (*object)["metadata"]["creationTimestamp"] = clock();
      } else {
        name = name.substr(1, name.find('/', 1) == std::string::npos ? name.npos : name.find('/', 1) - 1);
        if (!objects_.contains(name)) {
          answer(sent.uid, Outcome::kNotFound, "");
          continue;
        }
        object = &objects_.at(name);
        const bool status = sent.path.ends_with("/status");
        EXPECT_EQ(body.contains("status"), status);
        EXPECT_EQ(body["metadata"]["uid"], (*object)["metadata"]["uid"]);
        EXPECT_EQ(body["metadata"].contains("resourceVersion"),
                  status && body["status"].contains("admissionChecks"));
        const json version =
            body["metadata"].value("resourceVersion", (*object)["metadata"]["resourceVersion"]);
        if (version != (*object)["metadata"]["resourceVersion"]) {
          answer(sent.uid, Outcome::kConflict, "");
          continue;
        }
        object->merge_patch(body);
      }
      (*object)["metadata"]["resourceVersion"] = std::to_string(++w_->version);
      answer(sent.uid, Outcome::kOk, object->dump());
      show(name);
    }
    for (const Sent& sent : w_->take(Step::kOwner)) {
      const std::string name = sent.uid.substr(4);
      json& job = jobs_.at(name);
      const bool suspend = sent.body.find("\"op\"") == std::string::npos;
      if (sent.path.ends_with("/status")) {
        job.merge_patch(json::parse(sent.body));
        w_->answer(Step::kOwner, name, Outcome::kOk, "", job.dump());
        continue;
      }
      const bool changes_template = sent.body.find("/spec/template") != std::string::npos;
      if (templates_stay_ && changes_template && job.contains("status") &&
          job["status"].contains("startTime")) {
        w_->answer(Step::kOwner, name, Outcome::kInvalid, "spec.template: field is immutable");
        continue;
      }
      if (!suspend) job["status"]["startTime"] = "2026-01-01T00:00:00Z";
      if (suspend) {
        job.merge_patch(json::parse(sent.body));
      } else {
        EXPECT_NO_THROW(job = job.patch(json::parse(sent.body))) << sent.body << " on " << job.dump();
      }
      job["metadata"]["generation"] = job["metadata"]["generation"].get<int>() + 1;
      job["metadata"]["resourceVersion"] = std::to_string(++w_->version);
      w_->answer(Step::kOwner, name, Outcome::kOk, "", job.dump());
      w_->object(dialect::Kind::kJob, name, job.dump());
      for (int i = 0; i < job["spec"]["parallelism"].get<int>(); ++i) {
        const std::string pod = fmt::format("{}-{}", name, i);
        if (suspend) {
          if (pods_.erase(pod) > 0) w_->pod_gone(pod);
        } else {
          JobText text{.name = name, .priority = job["spec"]["template"]["spec"].value("priority", 0)};
          text.gpus = std::stoi(job.value(
              json::json_pointer("/spec/template/spec/containers/0/resources/requests/nvidia.com~1gpu"),
              std::string("1")));
          pods_[pod] = json::parse(job_pod(text, i));
          const json& spec = job["spec"]["template"]["spec"];
          if (spec.contains("nodeSelector")) pods_[pod]["spec"]["nodeSelector"] = spec["nodeSelector"];
          for (const json& t : spec.value("tolerations", json::array()))
            pods_[pod]["spec"]["tolerations"].push_back(t);
          w_->object(dialect::Kind::kPod, pod, pods_[pod].dump());
        }
      }
      w_->turn();
    }
    for (const Sent& sent : w_->take(Step::kBind)) {
      const std::string name = sent.uid.substr(4);
      w_->answer(Step::kBind, name, Outcome::kOk);
      if (!pods_.contains(name)) continue;
      pods_[name]["spec"]["nodeName"] = node_of(sent);
      w_->object(dialect::Kind::kPod, name, pods_[name].dump());
      w_->turn();
    }
    std::erase_if(w_->outbox.sent, [](const Sent& sent) {  // events and conditions of pods
      return sent.step != Step::kOwner && sent.step != Step::kBind && sent.step != Step::kWorkload &&
             sent.step != Step::kProvision;
    });
    return writes;
  }
  void answer(const std::string& uid, Outcome outcome, const std::string& body, Step step = Step::kWorkload) {
    Inbox inbox;
    Answer answer;
    answer.step = step;
    answer.uid = uid;
    answer.result.outcome = outcome;
    answer.result.body = body;
    inbox.push(std::move(answer));
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
    w_->turn();
  }
  // Some time goes by, step by step; the number of writes of Workloads.
  int settle(DurationMs time = 3 * kSecond) {
    int writes = 0;
    for (DurationMs t = 0; t < time; t += 100) {
      w_->pass(100);
      w_->report();
      writes += serve();
    }
    return writes;
  }
  void job(JobText text, const json& labels = json::object()) {
    json object = json::parse(job_json(text));
    object["metadata"]["labels"].update(labels);
    object["metadata"]["creationTimestamp"] = clock();
    jobs_[text.name] = object;
    w_->object(dialect::Kind::kJob, text.name, object.dump());
    w_->turn();
  }
  std::string clock() const { return text::format_time_seconds(w_->now); }
  void update_job(const std::string& name) {
    w_->object(dialect::Kind::kJob, name, jobs_.at(name).dump());
    w_->turn();
  }
  // All its pods end well, and are gone.
  // Its pods are gone, and it is Complete.
  void finish(const std::string& name) {
    for (auto it = pods_.begin(); it != pods_.end();) {
      if (!it->first.starts_with(name + "-")) {
        ++it;
        continue;
      }
      w_->pod_gone(it->first);
      it = pods_.erase(it);
    }
    jobs_[name]["status"]["conditions"] = json::array({{{"type", "Complete"}, {"status", "True"}}});
    update_job(name);
  }
  // The quota of the ClusterQueue of start().
  void write_quota(int gpus) {
    w_->object(dialect::Kind::kClusterQueue, "cq",
               fmt::format(R"({{"metadata":{{"name":"cq"}},"spec":{{
      "namespaceSelector":{{}},"preemption":{{"withinClusterQueue":"LowerPriority"}},"cohortName":"all",
      "resourceGroups":[{{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{{"name":"any","resources":[
      {{"name":"cpu","nominalQuota":"100"}},{{"name":"nvidia.com/gpu","nominalQuota":"{}"}}]}}]}}]}}}})",
                           gpus));
  }
  void complete(const std::string& name, int pods) {
    for (int i = 0; i < pods; ++i) {
      pods_.erase(fmt::format("{}-{}", name, i));
      w_->pod_gone(fmt::format("{}-{}", name, i));
    }
    jobs_.at(name)["status"] = {
        {"succeeded", pods},
        {"conditions", json::array({{{"type", "Complete"}, {"status", "True"}, {"message", "done"}}})}};
    update_job(name);
  }
  json& object_of(const std::string& job) { return objects_.at(object_name(job)); }
  json condition(const std::string& job, const std::string& type) {
    if (!objects_.contains(object_name(job))) return {};
    for (const json& c : object_of(job)["status"].value("conditions", json::array())) {
      if (c["type"] == type) return c;
    }
    return {};
  }
  bool is(const std::string& job, const std::string& type) {
    return condition(job, type).value("status", "") == "True";
  }
  bool is_suspended(const std::string& job) { return jobs_.at(job)["spec"]["suspend"]; }

  std::unique_ptr<observe::Follower> follower_;  // of the next start(); may be none
  std::unique_ptr<World> w_;
  bool templates_stay_ = false;  // of Jobs that have run, as before Kubernetes 1.35
  std::map<std::string, json> objects_, jobs_, pods_;
};

}  // namespace berth::scheduler::testing
