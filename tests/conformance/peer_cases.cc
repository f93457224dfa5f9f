#include "conformance/peer_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "conformance/case_files.h"

namespace berth::conformance {
namespace {

std::string row(std::string_view name, const PeerTally& tally) {
  return fmt::format("{:<36} {:>6} {:>6} {:>8} {:>9} {:>7} {:>6} % {:>6} %\n", name, tally.cases, tally.exact,
                     tally.as_good, tally.left_out, tally.differ, tally.share(), tally.share_of_read());
}

}  // namespace

void PeerTally::add(const PeerTally& other) {
  cases += other.cases;
  exact += other.exact;
  as_good += other.as_good;
  left_out += other.left_out;
  differ += other.differ;
}

PeerCases::PeerCases(std::string_view list) : meant_(deviations_in(list)) {}

void PeerCases::look_at(PeerCase& the_case, const std::string& where) {
  PeerTally& tally = tallies_[where.substr(0, where.find(':'))];
  ++tally.cases;
  const std::string title = the_case.suite() + ": " + the_case.name();
  EXPECT_TRUE(seen_.emplace(title, where).second) << title << " is there twice";
  if (const auto feature = the_case.left_out(); !feature.empty()) {
    ++tally.left_out;
    ++features_[std::string(feature)];
    return;
  }
  auto compared = the_case.compare();
  ASSERT_TRUE(compared) << title << " (" << where << "): " << compared.error().str();
  if (compared->verdict != Verdict::kDiffers) {
    ++(compared->verdict == Verdict::kExact ? tally.exact : tally.as_good);
    EXPECT_FALSE(meant_.contains(title)) << title << " is decided alike, but listed as a deviation";
    return;
  }
  ++tally.differ;
  if (meant_.contains(title)) return;
  ADD_FAILURE() << title << " (" << where << ")" << listed(compared->differences)
                << listed(the_case.waiting());
}

PeerTally PeerCases::tally(const std::function<bool(std::string_view file)>& of) const {
  PeerTally out;
  for (const auto& [file, tally] : tallies_) {
    if (of(file)) out.add(tally);
  }
  return out;
}

PeerTally PeerCases::all() const {
  return tally([](std::string_view) { return true; });
}

void PeerCases::print(const std::map<std::string, PeerTally>& groups) const {
  std::cout << fmt::format("{:<36} {:>6} {:>6} {:>8} {:>9} {:>7} {:>8} {:>8}\n", "", "cases", "exact",
                           "as good", "left out", "differ", "alike", "of read");
  for (const auto& [file, tally] : tallies_) std::cout << row(file, tally);
  for (const auto& [group, tally] : groups) std::cout << row(group, tally);
  std::cout << row("all", all());
  for (const auto& [feature, cases] : features_)
    std::cout << fmt::format("left out: {} cases need {}\n", cases, feature);
}

void PeerCases::check_list() const {
  for (const auto& [title, reason] : meant_) {
    EXPECT_TRUE(seen_.contains(title)) << title << " is listed, and there is no such case";
    EXPECT_FALSE(reason.empty()) << title << " is listed without a reason";
  }
}

std::string text_at(const text::Node& node, std::initializer_list<std::string_view> path) {
  const text::Node* found = node.at(path);
  return found == nullptr ? std::string() : std::string(found->text());
}

bool list_has(const text::Node& node, std::string_view key, std::string_view text) {
  const text::Node* list = node.find(key);
  if (list == nullptr) return false;
  const auto items = list->items();
  return std::any_of(items.begin(), items.end(), [&](const text::Node& item) { return item.text() == text; });
}

}  // namespace berth::conformance
