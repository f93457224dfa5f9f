#include "dialect/base/foreign_marks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace berth::dialect {
namespace {

TEST(ForeignMarks, EveryRowIsFound) {
  for (const auto& mark : foreign_marks()) {
    std::string name(mark.name);
    if (name.ends_with('*')) name.back() = 'x';
    EXPECT_EQ(find_foreign(mark.place, name), &mark) << mark.name;
    EXPECT_FALSE(mark.system.empty() || mark.meaning.empty() || mark.dialect.empty()) << mark.name;
  }
}

TEST(ForeignMarks, MarksThatBerthReadsAndOthersAreNone) {
  for (const std::string_view key :
       {"kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name", "kai.scheduler/queue", "runai/queue",
        "scheduling.x-k8s.io/pod-group", "app", "volcano.sh/preemptable",
        "gang.scheduling.koordinator.sh/name", "quota.scheduling.koordinator.sh/name", "queue",
        "applicationId", "yunikorn.apache.org/task-groups"})
    EXPECT_EQ(find_foreign(MarkPlace::kKey, key), nullptr) << key;
  for (const std::string_view resource : {"cpu", "nvidia.com/gpu", "koordinator.sh/batch-cpu", "rdma/hca"})
    EXPECT_EQ(find_foreign(MarkPlace::kResource, resource), nullptr) << resource;
}

TEST(ForeignMarks, TheDocsListTheSameRows) {
  std::ifstream file(BERTH_SOURCE_DIR "/docs/labels.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const auto& mark : foreign_marks())
    EXPECT_NE(text.str().find("`" + std::string(mark.name) + "`"), std::string::npos) << mark.name;
}

}  // namespace
}  // namespace berth::dialect
