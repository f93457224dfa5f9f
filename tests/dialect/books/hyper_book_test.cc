// Volcano's HyperNodes as labels of nodes.
#include "dialect/books/hyper_book.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::objects_of;
using testing::objects_of_json;

class HyperBookTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& spec) {
    auto objects = objects_of_json(
        "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: " + name +
        "}\nspec: " + spec + "\n");
    (void)book_.put(std::move(std::get<HyperNode>(objects.at(0))));
  }
  void node(const std::string& name, Labels labels = {}) {
    Node out;
    out.name = name;
    out.labels = std::move(labels);
    nodes_.insert_or_assign(name, std::move(out));
  }
  void settle() {
    std::map<std::string, Node, std::less<>> nodes = nodes_;
    book_.settle(nodes, [](Node& node, Node&& now) { node = std::move(now); });
  }
  // "s2/s0": its HyperNodes, the widest first; "-" where it has none of a tier.
  std::string path(const std::string& name) {
    settle();
    Node out = nodes_.at(name);
    book_.label(out, nullptr);
    std::string text;
    for (const std::string& level : book_.levels()) {
      const auto it = out.labels.find(level);
      text += (text.empty() ? "" : "/") + (it == out.labels.end() ? "-" : it->second);
    }
    return text;
  }
  std::vector<std::string> problems() {
    settle();
    std::vector<std::string> out;
    for (const auto& problem : book_.problems()) out.push_back(problem.object + ": " + problem.message);
    return out;
  }
  // "required hypernode-tier-2", "preferred ..." or why there is none.
  std::string asks(TierRequest asked) {
    std::string why_not;
    const TopologyRequest out = book_.request_of(asked, why_not);
    if (!why_not.empty()) return why_not;
    const auto short_of = [](const std::string& label) { return label.substr(label.rfind('-') + 1); };
    if (!out.required.empty()) return "required " + short_of(out.required);
    return out.preferred.empty() ? "nothing" : "preferred " + short_of(out.preferred);
  }

  HyperBook book_;
  std::map<std::string, Node, std::less<>> nodes_;
};

constexpr const char* kNodes01 =
    "{tier: 1, tierName: rack, members: [{type: Node, selector: {exactMatch: {name: n0}}}, {type: Node, "
    "selector: "
    "{exactMatch: {name: n1}}}]}";

TEST_F(HyperBookTest, EachTierIsALevel) {
  for (const char* name : {"n0", "n1", "n2", "n3", "n4"}) node(name);
  EXPECT_THAT(book_.levels(), IsEmpty());
  put("s0", kNodes01);
  put("s1", "{tier: 1, members: [{type: Node, selector: {exactMatch: {name: n2}}}]}");
  put("s2",
      "{tier: 3, members: [{type: HyperNode, selector: {exactMatch: {name: s0}}}, {type: HyperNode, "
      "selector: "
      "{exactMatch: {name: s1}}}, {type: Node, selector: {exactMatch: {name: n3}}}]}");
  EXPECT_THAT(book_.levels(), ElementsAre("volcano.sh/hypernode-tier-3", "volcano.sh/hypernode-tier-1"));
  EXPECT_EQ(path("n0"), "s2/s0");
  EXPECT_EQ(path("n2"), "s2/s1");
  EXPECT_EQ(path("n3"), "s2/-") << "it is in no HyperNode of the lowest tier";
  EXPECT_EQ(path("n4"), "-/-");
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HyperBookTest, OneWithoutAParentIsItsOwnOfEachTierAbove) {
  node("n0");
  node("n9");
  put("s0", kNodes01);
  put("s9", "{tier: 2, members: [{type: Node, selector: {exactMatch: {name: n9}}}]}");
  EXPECT_EQ(path("n0"), "s0/s0");
  EXPECT_EQ(path("n9"), "s9/-");
}

TEST_F(HyperBookTest, MembersMayBeChosenByPatternAndLabels) {
  node("a-1");
  node("b-1", {{"rack", "r7"}});
  put("s0", "{tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: '^a-[0-9]+$'}}}]}");
  put("s1", "{tier: 1, members: [{type: Node, selector: {labelMatch: {matchLabels: {rack: r7}}}}]}");
  put("top", "{tier: 2, members: [{type: HyperNode, selector: {regexMatch: {pattern: '^s[01]$'}}}]}");
  EXPECT_EQ(path("a-1"), "top/s0");
  EXPECT_EQ(path("b-1"), "top/s1");
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HyperBookTest, WhatContradictsIsTold) {
  node("n0");
  put("s0", kNodes01);
  put("s1", kNodes01);
  put("s2", "{tier: 2, members: [{type: HyperNode, selector: {exactMatch: {name: s0}}}]}");
  put("s3",
      "{tier: 2, members: [{type: HyperNode, selector: {exactMatch: {name: s0}}}, {type: HyperNode, "
      "selector: "
      "{exactMatch: {name: s2}}}, {type: HyperNode, selector: {exactMatch: {name: gone}}}, {type: Node, "
      "selector: "
      "{regexMatch: {pattern: '(a'}}}, {type: Node, selector: {regexMatch: {pattern: 'a\\d'}}}]}");
  EXPECT_EQ(path("n0"), "s2/s0");
  EXPECT_THAT(problems(),
              ElementsAre("HyperNode s3: its member s0 is also one of s2, and counts there",
                          "HyperNode s3: its member s2 has tier 2, which is not below its own, 2",
                          "HyperNode s3: its member gone does not exist",
                          HasSubstr("(a is no regular expression"), HasSubstr("has a backslash"),
                          "HyperNode s1: node n0 is in HyperNode s0 of the same tier, and counts there"));
}

TEST_F(HyperBookTest, ARequestIsALevel) {
  EXPECT_EQ(asks({.strict = true, .most = 1, .most_name = ""}), "there are no HyperNodes");
  EXPECT_EQ(asks({.strict = false, .most = {}, .most_name = ""}), "nothing");
  put("s0", kNodes01);
  put("s2", "{tier: 3, tierName: spine, members: [{type: HyperNode, selector: {exactMatch: {name: s0}}}]}");
  EXPECT_EQ(asks({.strict = true, .most = 1, .most_name = ""}), "required 1");
  EXPECT_EQ(asks({.strict = true, .most = 2, .most_name = ""}), "required 1") << "there is no tier 2";
  EXPECT_EQ(asks({.strict = true, .most = 3, .most_name = ""}), "required 3");
  EXPECT_EQ(asks({.strict = true, .most = 4, .most_name = ""}), "preferred 1") << "the whole cluster";
  EXPECT_EQ(asks({.strict = true, .most = 0, .most_name = ""}), "no HyperNode has a tier of 0 or below");
  EXPECT_EQ(asks({.strict = true, .most = {}, .most_name = "spine"}), "required 3");
  EXPECT_EQ(asks({.strict = true, .most = {}, .most_name = "row"}), "no HyperNode has the tierName row");
  EXPECT_EQ(asks({.strict = true, .most = {}, .most_name = ""}), "preferred 1") << "no bound is no bound";
  EXPECT_EQ(asks({.strict = false, .most = 1, .most_name = ""}), "preferred 1");
  EXPECT_TRUE(book_.remove("s2"));
  EXPECT_FALSE(book_.remove("s2"));
  EXPECT_EQ(asks({.strict = true, .most = 3, .most_name = ""}), "preferred 1");
}

TEST_F(HyperBookTest, ANodeKeepsItsLabelsUntilAllAreKnown) {
  node("n0", {{"volcano.sh/hypernode-tier-1", "forged"}, {"zone", "a"}});
  put("s0", kNodes01);
  settle();
  Node now = nodes_.at("n0");
  book_.label(now, nullptr);
  EXPECT_EQ(now.labels, (Labels{{"volcano.sh/hypernode-tier-1", "s0"}, {"zone", "a"}}));
  (void)book_.remove("s0");
  Node again = nodes_.at("n0");
  book_.label(again, &now);
  EXPECT_EQ(again.labels, now.labels) << "until settle()";
  settle();
  book_.label(again, &now);
  EXPECT_EQ(again.labels, (Labels{{"zone", "a"}}));
}

}  // namespace
}  // namespace berth::dialect
