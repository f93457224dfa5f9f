#include "conformance/kai_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "text/json.h"

namespace berth::conformance {
namespace {

using text::Node;

// An expectation about one task; a part that is absent is not looked at.
struct Expected {
  std::string state;
  std::optional<std::string> node;
};

class KaiComparer {
 public:
  KaiComparer(const Node& the_case, const KaiOutcome& outcome)
      : case_(the_case), expect_(*the_case.find("expect")), outcome_(outcome) {}

  Comparison run() {
    read();
    Comparison out;
    if (!outcome_.rests) out.differences.emplace_back("it does not come to rest");
    const auto& kind = case_.find("kind")->text();
    const std::int64_t most = case_.at({"measured", "evictionsOfRunning"})->as_int().value_or(0);
    if (kind == "rounds" && outcome_.evictions > most)
      out.differences.push_back(
          fmt::format("evicts {} pods that ran, instead of {}", outcome_.evictions, most));
    std::vector<std::string> differences;
    for (const auto& [group, tasks] : alike_) compare_alike(group, tasks, differences);
    if (!differences.empty() && is_as_good(differences)) {
      out.verdict = Verdict::kAsGood;
      differences.clear();
    }
    out.differences.insert(out.differences.end(), differences.begin(), differences.end());
    if (!out.differences.empty()) out.verdict = Verdict::kDiffers;
    return out;
  }

 private:
  void read() {
    const Node* jobs = expect_.find("jobs");
    const Node* tasks = expect_.find("tasks");
    const bool says =
        (jobs != nullptr && !jobs->entries().empty()) || (tasks != nullptr && !tasks->entries().empty());
    for (const Node& job : case_.find("jobs")->items()) {
      const std::string job_name = text_at(job, {"name"});
      const Node* of_job = jobs == nullptr ? nullptr : jobs->find(job_name);
      for (const Node& task : job.find("tasks")->items()) {
        const std::string name = text_at(task, {"name"});
        const Node* wanted = tasks == nullptr ? nullptr : tasks->find(name);
        if (wanted == nullptr) wanted = of_job;
        if (wanted == nullptr && !says) wanted = case_.at({"measured", "tasks", name});
        if (wanted != nullptr && wanted->find("state") != nullptr) expected_[name] = expected_of(*wanted);
        const std::string set = job_name + "/" + text_at(task, {"podSet"});
        sets_[set].push_back(name);
        alike_[fmt::format("{} {} {} {}", set, text_at(task, {"state"}), text_at(task, {"node"}),
                           text::to_json(*task.find("requests")))]
            .push_back(name);
      }
    }
  }

  static Expected expected_of(const Node& wanted) {
    Expected out{text_at(wanted, {"state"}), std::nullopt};
    if (const std::string node = text_at(wanted, {"node"}); !node.empty()) out.node = node;
    return out;
  }

  // Expectations with a node choose first, then those without one.
  void compare_alike(const std::string& group, const std::vector<std::string>& tasks,
                     std::vector<std::string>& out) const {
    std::vector<KaiTask> left;
    for (const auto& name : tasks) left.push_back(outcome_.tasks.at(name));
    std::vector<std::string> missing;
    for (const bool with_node : {true, false}) {
      for (const auto& name : tasks) {
        const auto it = expected_.find(name);
        if (it == expected_.end() || it->second.node.has_value() != with_node) continue;
        const Expected& want = it->second;
        const auto found = std::find_if(left.begin(), left.end(), [&](const KaiTask& task) {
          return task.state == want.state && (!want.node || task.node == *want.node);
        });
        if (found == left.end()) {
          missing.push_back(fmt::format("{} on {}", want.state, want.node.value_or("any node")));
        } else {
          left.erase(found);
        }
      }
    }
    if (missing.empty()) return;
    std::vector<std::string> got;
    for (const auto& task : left) got.push_back(fmt::format("{} on [{}]", task.state, task.node));
    out.push_back(fmt::format("{}: {} instead of {}", group, fmt::join(got, ", "), fmt::join(missing, ", ")));
  }

  using States = std::map<std::string, std::multiset<std::string>>;  // by pod set

  States states_of(const std::function<std::string(const std::string& task)>& state) const {
    States out;
    for (const auto& [set, tasks] : sets_) {
      for (const auto& name : tasks) out[set].insert(state(name));
    }
    return out;
  }

  bool is_as_good(const std::vector<std::string>& differences) const {
    if (differences.empty() || case_.find("ties")->items().empty()) return false;
    const States got = states_of([&](const std::string& name) { return outcome_.tasks.at(name).state; });
    const Node& measured = *case_.at({"measured", "tasks"});
    const auto measured_state = [&](const std::string& name) { return text_at(measured, {name, "state"}); };
    bool found = got == states_of([&](const std::string& name) {
                   const auto it = expected_.find(name);
                   return it == expected_.end() ? outcome_.tasks.at(name).state : it->second.state;
                 });
    if (const Node* others = case_.find("alternatives"); others != nullptr && !found) {
      for (const Node& other : others->items()) {
        found = found || got == states_of([&](const std::string& name) {
                           const Node* task = other.find(name);
                           return task == nullptr ? measured_state(name) : text_at(*task, {"state"});
                         });
      }
    }
    std::set<std::string> mine, theirs;
    for (const auto& [name, task] : outcome_.tasks) {
      mine.insert(task.node);
      theirs.insert(text_at(measured, {name, "node"}));
    }
    return found && mine.size() <= theirs.size();
  }

  const Node& case_;
  const Node& expect_;
  const KaiOutcome& outcome_;
  std::map<std::string, Expected> expected_;               // by task
  std::map<std::string, std::vector<std::string>> sets_;   // tasks by pod set
  std::map<std::string, std::vector<std::string>> alike_;  // tasks that are alike
};

}  // namespace

Comparison compare(const Node& the_case, const KaiOutcome& outcome) {
  return KaiComparer(the_case, outcome).run();
}

}  // namespace berth::conformance
