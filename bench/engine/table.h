// Results as Markdown tables, one per benchmark: a row per size, the columns that the benchmark reports (meter.h), best and
// median over all repetitions.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace berth::bench {

class TableReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  struct Row {
    std::string size;   // "nodes 1000, shapes 151"
    std::string label;  // or what went wrong
    std::map<std::string, std::vector<double>> values;
  };
  struct Table {
    std::string name;
    std::vector<Row> rows;
  };
  void print_finished();  // benchmarks run one after the other, with all their sizes and repetitions
  void print(const Table& table);

  std::vector<Table> tables_;
  std::size_t printed_ = 0;
};

}  // namespace berth::bench
