// The queue of a workload: the mark that names it, and the settings that come of it. Private to the intake.
//
// Cost: O(1) look-ups per workload.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/books/draft_book.h"
#include "dialect/books/object_books.h"

namespace berth::dialect {

// The first of these that has the mark with a value.
std::string_view mark_of(const std::vector<const Meta*>& sources, std::string_view key);

// By the annotation that Berth writes with the bind: the queue that a bound pod is charged to.
void note_charged_queue(Draft& draft, const Pod& pod);
// By the first of these that names a queue. It stays as it is while the draft holds places.
void choose_queue(Draft& draft, const std::vector<const Meta*>& sources);

class QueueChoice {
 public:
  // `is_admitted`: the work was started before, and that was not revoked.
  QueueChoice(const ObjectBooks& objects, const Draft& draft, bool is_admitted, Settings& out,
              std::vector<std::string>& depends)
      : objects_(objects),
        book_(objects.queues()),
        draft_(draft),
        is_admitted_(is_admitted),
        out_(out),
        depends_(depends) {}

  // By a mark and its value.
  void by_mark(std::string_view key, const std::string& name);
  // By the name of a LocalQueue.
  void by_local_queue(const std::string& local_queue);

 private:
  // False: there is no such LocalQueue.
  bool use_local_queue(std::string_view name);
  void use_any_queue(const std::string& name);
  void use_cluster_queue(const std::string& name, std::string_view shown);
  void use_tree_queue(Kind kind, std::string_view name);

  const ObjectBooks& objects_;
  const QueueBook& book_;
  const Draft& draft_;
  const bool is_admitted_;
  Settings& out_;
  std::vector<std::string>& depends_;
};

}  // namespace berth::dialect
