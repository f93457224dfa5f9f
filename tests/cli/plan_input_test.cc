// Manifests of `berth plan` as objects: what is left out, named, and given a name.
#include "cli/plan_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlanInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              (std::string("berth-input-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  PlanInput read(const std::string& text) {
    const auto path = (folder_ / "a.yaml").string();
    std::ofstream(path) << text;
    PlanInput out;
    EXPECT_TRUE(read_manifests(path, {}, std::uint64_t{1} << 20, &spelling_, out).has_value());
    return out;
  }
  static std::vector<std::string> names(const PlanInput& input) {
    std::vector<std::string> out;
    for (const auto& object : input.objects) out.push_back(dialect::meta_of(object).name);
    return out;
  }

  fs::path folder_;
  dialect::Misspellings spelling_;
};

std::string pod(const std::string& meta) {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {" + meta + "}\nspec: {containers: [{name: c}]}\n";
}

TEST_F(PlanInputs, ABadObjectIsNamedAndTheOthersCount) {
  const auto input =
      read(pod("name: a") + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {priority: x}\n" +
           "---\n- 1\n---\nv: [\n" + pod("name: c"));
  EXPECT_THAT(names(input), ElementsAre("a", "c"));
  ASSERT_EQ(input.bad.size(), 3u);
  EXPECT_THAT(input.bad[0].str(),
              HasSubstr("a.yaml:10:18: Pod default/b: spec.priority: must be an integer"));
  EXPECT_THAT(input.bad[1].str(), HasSubstr("a.yaml:12:1: a Kubernetes object must be a mapping"));
  EXPECT_THAT(input.bad[2].str(), HasSubstr("a.yaml:15:"));
}

TEST_F(PlanInputs, AnItemOfAListIsLeftOutAlone) {
  const auto input = read(R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": []}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, "spec": {"container": []}}]})");
  EXPECT_THAT(names(input), ElementsAre("a", "b"));
  ASSERT_EQ(input.bad.size(), 1u);
  EXPECT_THAT(input.bad[0].str(), HasSubstr("metadata.name: is required (or generateName)"));
  ASSERT_EQ(input.misspelt.size(), 1u);
  EXPECT_EQ(input.misspelt[0].message,
            "Pod default/b: spec.container: unknown field; did you mean containers?");
}

TEST_F(PlanInputs, GeneratedNamesAreNew) {
  PlanInput first = read(pod("generateName: p-") + pod("name: p-2") + pod("generateName: p-") +
                         pod("generateName: p-, namespace: other") + pod("name: own, generateName: p-"));
  PlanInput later = read(pod("generateName: p-"));
  name_generated({&first, &later});
  EXPECT_THAT(names(first), ElementsAre("p-1", "p-2", "p-3", "p-1", "own"));
  EXPECT_THAT(names(later), ElementsAre("p-4"));
  EXPECT_EQ(dialect::meta_of(first.objects[0]).uid, "Pod/default/p-1");
}

TEST_F(PlanInputs, ABoundThatIsPassedIsAnError) {
  const auto path = (folder_ / "a.yaml").string();
  std::ofstream(path) << pod("name: a") << pod("name: b, labels: {x: " + std::string(5000, 'y') + "}");
  PlanInput out;
  EXPECT_FALSE(read_manifests(path, {}, 1024, nullptr, out).has_value());
  EXPECT_FALSE(read_manifests((folder_ / "none.yaml").string(), {}, 1024, nullptr, out).has_value());
}

}  // namespace
}  // namespace berth::cli
