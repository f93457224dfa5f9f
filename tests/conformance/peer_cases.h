// Cases of a peer's own suites against Berth: the verdict about each, the list of deviations that are meant, and the counts. Shared by
// the peers whose cases Berth decides with nodes (Volcano, KAI).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/document.h"

namespace berth::conformance {

enum class Verdict : std::uint8_t { kExact, kAsGood, kDiffers };

struct Comparison {
  Verdict verdict = Verdict::kExact;
  std::vector<std::string> differences;  // one line each
};

// One case, taken apart by its peer's reader.
class PeerCase {
 public:
  PeerCase() = default;
  PeerCase(const PeerCase&) = delete;
  PeerCase& operator=(const PeerCase&) = delete;
  virtual ~PeerCase() = default;

  virtual std::string suite() const = 0;
  virtual std::string name() const = 0;
  // Words for something in it that Berth does not read at all; "": it reads all.
  virtual std::string_view left_out() const = 0;
  // kInvalid where the case cannot be read.
  virtual Result<Comparison> compare() = 0;
  // One line for each work that waits after compare().
  virtual std::vector<std::string> waiting() const = 0;
};

struct PeerTally {
  int cases = 0;
  int exact = 0;
  int as_good = 0;
  int left_out = 0;
  int differ = 0;  // all of them listed, or the test fails

  void add(const PeerTally& other);
  int share_of(int of) const { return of == 0 ? 0 : 100 * (exact + as_good) / of; }
  int share() const { return share_of(cases); }
  int share_of_read() const { return share_of(cases - left_out); }
};

// Fails the running test for each case that differs without being listed, and for each line of the list that is about none.
class PeerCases {
 public:
  // `list`: of deviations_in().
  explicit PeerCases(std::string_view list);

  void look_at(PeerCase& the_case, const std::string& where);
  // The sum over the files that `of` takes, by name without the path.
  PeerTally tally(const std::function<bool(std::string_view file)>& of) const;
  PeerTally all() const;
  // The counts of each file, of each of `groups` and of all.
  void print(const std::map<std::string, PeerTally>& groups) const;
  // To be called when all cases have been looked at.
  void check_list() const;

 private:
  std::map<std::string, std::string> meant_;
  std::map<std::string, std::string> seen_;
  std::map<std::string, PeerTally> tallies_;  // by file
  std::map<std::string, int> features_;
};

// ------------------------------------------------------------------------------------------------- reading cases

// The text at a path; "" where there is none.
std::string text_at(const text::Node& node, std::initializer_list<std::string_view> path);
// Whether the list `key` has this text.
bool list_has(const text::Node& node, std::string_view key, std::string_view text);

}  // namespace berth::conformance
