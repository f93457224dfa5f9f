// Clients of the dashboard that ask as its pages do (web/src): each holds the stream of changes open. At each message it asks what its page
// asks, no more often than that page. The answers are read and thrown away. A browser's own work is left out: it is done on other machines.
//
// The clients show the pages in turn: queues, waiting workloads, nodes, the timeline.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace berth::bench {

class Dashboards {
 public:
  struct Seen {
    std::uint64_t messages = 0;  // of streams
    std::uint64_t answers = 0;
    std::uint64_t failed = 0;  // questions without an answer, once the stream stood
    std::uint64_t bytes = 0;   // of answers
  };

  // `count` clients of http://127.0.0.1:`port`; they try until it listens.
  Dashboards(std::size_t count, int port);
  ~Dashboards();  // waits for their ends, a second at most
  Dashboards(const Dashboards&) = delete;
  Dashboards& operator=(const Dashboards&) = delete;

  // Of all clients so far.
  Seen seen() const;

 private:
  void show(std::size_t page);

  std::string server_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> messages_{0}, answers_{0}, failed_{0}, bytes_{0};
  std::vector<std::thread> threads_;
};

}  // namespace berth::bench
