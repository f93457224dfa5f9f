// Work that names a Workload which another client made for it (kKueuePrebuilt): whether that is its own. It is where the queue is the same,
// no other work has it, and the work asks for what its spec says. Then its places are the work's, too. Private to the intake.
//
// A manager of Kueue's MultiKueue makes the slices of an elastic Job itself: a Workload that says which one it replaces (kKueueSliceFor).
// While that one is the Workload of a Job that runs, the new one waits alone, and asks for what is more. When the Job names it, and asks
// for as much, the Job gets the places for the pods that it lacks (HandOver).
// Cost: O(pod sets) per call, beside look-ups of O(log n).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/books/prebuilt_book.h"
#include "dialect/books/template_book.h"
#include "dialect/intake/draft_rules.h"

namespace berth::dialect {

// Another state of the same Workload, or none that matters here.
bool same(const KueueWorkload& a, const KueueWorkload& b);
bool same_sets(const KueueWorkload& a, const KueueWorkload& b);

// The value of kKueueMaxSeconds; nothing if it is invalid.
std::optional<std::int64_t> seconds_of(std::string_view text);

class PrebuiltClaims {
 public:
  PrebuiltClaims(const IntakeBooks& books, const DraftRules& rules, const TemplateBook& templates,
                 PrebuiltBook& book)
      : books_(books), rules_(rules), templates_(templates), book_(book) {}

  // Checks the Workload that the work names (""; none), and whether it may own it; otherwise the work waits.
  void use(Draft& draft, std::string_view name, Settings& settings, std::vector<std::string>& depends);
  // The places that work gets from the Workload that it has come for.
  HandOver hand_over(const Draft& from, const Draft& to) const;
  // The slice that this Workload is to replace, where that is the one of an elastic owner that runs; else nullptr.
  std::shared_ptr<const KueueWorkload> slice_before(const KueueWorkload& object) const;

 private:
  // The difference between the work and the spec of its Workload; "": none, and `sets` has the pod set of each of its roles.
  std::string difference(const Draft& draft, const KueueWorkload& object,
                         std::vector<std::size_t>& sets) const;
  void claim(Draft& draft, std::shared_ptr<const KueueWorkload> object, std::vector<std::size_t> sets);
  void unclaim(Draft& draft, std::string why);

  const IntakeBooks& books_;
  const DraftRules& rules_;
  const TemplateBook& templates_;
  PrebuiltBook& book_;
};

}  // namespace berth::dialect
