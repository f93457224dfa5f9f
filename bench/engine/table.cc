#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string_view>

namespace berth::bench {
namespace {

struct Column {
  std::string_view counter;
  std::string_view title;
  bool least;  // of the repetitions the least counts, otherwise the median
};
constexpr Column kColumns[] = {
    {"best_us", "best, us", true},
    {"median_us", "median, us", false},
    {"per_s", "per second", false},
    {"p50_us", "p50, us", false},
    {"p99_us", "p99, us", false},
    {"max_us", "max, us", false},
    {"allocs", "allocations", false},
    {"bytes_node", "bytes per node", false},
    {"bytes_workload", "bytes per workload", false},
    {"unplaced_pct", "found no place, %", false},
    {"blocked", "blocked", false},
};

// "Churn/nodes:1000/shapes:1/iterations:20000/repeats:3" -> "Churn", "nodes 1000, shapes 1"
std::pair<std::string, std::string> split(std::string_view name) {
  std::string size;
  const std::size_t end = name.find('/');
  std::string_view rest = end == std::string_view::npos ? "" : name.substr(end + 1);
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    std::string part(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
    if (part.rfind("iterations:", 0) == 0 || part.rfind("repeats:", 0) == 0) continue;
    std::replace(part.begin(), part.end(), ':', ' ');
    size += (size.empty() ? "" : ", ") + part;
  }
  return {std::string(name.substr(0, end)), size};
}

std::string number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

}  // namespace

bool TableReporter::ReportContext(const Context&) {
  return true;
}

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration) continue;
    const auto [name, size] = split(run.benchmark_name());
    auto table = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return t.name == name; });
    if (table == tables_.end()) {
      print_finished();
      table = tables_.insert(tables_.end(), Table{name, {}});
    }
    auto row =
        std::find_if(table->rows.begin(), table->rows.end(), [&](const Row& r) { return r.size == size; });
    if (row == table->rows.end()) row = table->rows.insert(table->rows.end(), Row{size, "", {}});
    row->label = run.error_occurred ? "failed: " + run.error_message : run.report_label;
    for (const auto& [counter, value] : run.counters) row->values[counter].push_back(value.value);
  }
}

void TableReporter::Finalize() {
  print_finished();
}

void TableReporter::print_finished() {
  for (; printed_ < tables_.size(); ++printed_) print(tables_[printed_]);
}

void TableReporter::print(const Table& table) {
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    const bool shown = std::any_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
      return row.values.count(std::string(column.counter)) > 0;
    });
    if (shown) columns.push_back(column);
  }
  std::ostream& out = GetOutputStream();
  out << fmt::format("\n{}\n\n|", table.name);
  std::string line = "\n|";
  for (const char* title : {"size", "of"}) {
    out << " " << title << " |";
    line += "---|";
  }
  for (const Column& column : columns) {
    out << " " << column.title << " |";
    line += "---:|";
  }
  out << line << "\n";
  for (const Row& row : table.rows) {
    out << fmt::format("| {} | {} |", row.size, row.label);
    for (const Column& column : columns) {
      const auto it = row.values.find(std::string(column.counter));
      if (it == row.values.end()) {
        out << " |";
        continue;
      }
      std::vector<double> values = it->second;
      std::sort(values.begin(), values.end());
      out << fmt::format(" {} |", number(column.least ? values.front() : values[values.size() / 2]));
    }
    out << "\n";
  }
  out.flush();
}

}  // namespace berth::bench
