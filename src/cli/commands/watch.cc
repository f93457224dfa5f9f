#include "cli/commands/watch.h"

#include <map>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/shown.h"
#include "kube/clock.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostWidth = 159;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

// The words of a row without those that change by themselves.
std::vector<std::string> lasting(const Listing& listing, const Listing::Row& row) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    const std::string& head = listing.columns[i].head;
    if (head != "AGE" && head != "SINCE") out.push_back(row.words[i]);
  }
  return out;
}

}  // namespace

std::string changes_of(const Listing& before, const Listing& now, ListFormat format, std::size_t most) {
  std::map<std::string, const Listing::Row*> known;
  for (const auto& row : before.rows) known.emplace(row.name, &row);
  Listing all = now;  // with those that are gone, so that columns stay as wide
  std::vector<bool> shown;
  for (const auto& row : now.rows) {
    const auto it = known.find(row.name);
    shown.push_back(it == known.end() || lasting(before, *it->second) != lasting(now, row));
    if (it != known.end()) known.erase(it);
  }
  for (const auto& [name, row] : known) {
    Listing::Row gone = *row;
    for (std::size_t i = 0; i < gone.words.size(); ++i) {
      if (now.columns[i].head == "STATE") gone.words[i] = "Gone";
      if (now.columns[i].head == "WHY") gone.words[i].clear();
    }
    constexpr std::string_view kState = R"("state":")";
    if (const auto at = gone.json.find(kState); at != std::string::npos) {
      const auto begin = at + kState.size();
      gone.json.replace(begin, gone.json.find('"', begin) - begin, "Gone");
    }
    all.rows.push_back(std::move(gone));
    shown.push_back(true);
  }
  std::string out;
  if (format == ListFormat::kTable || format == ListFormat::kWide) {
    const std::string table = to_text(all, format, most);
    const auto lines = lines_of(table);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (shown[i]) out.append(lines[i + 1]).append("\n");
    }
    return out;
  }
  // One object a line: a stream has no end at which a list could be closed.
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i]) out += (format == ListFormat::kName ? all.rows[i].name : all.rows[i].json) + "\n";
  }
  return out;
}

int watch_workloads(const GetOptions& options, const Cluster& cluster, std::ostream& out, std::ostream& err) {
  World world({cluster.ns, options.scheduler_names});
  const auto list = [&] {
    return workload_listing(chosen(world.lines(), options), cluster.ns.empty(), kube::wall_us() / 1000);
  };
  auto status = read_shown(world, *cluster.transport, err);
  if (status) {
    world.ask_for_places(*cluster.transport);
    Listing before = list();
    const bool table = options.format == ListFormat::kTable || options.format == ListFormat::kWide;
    Listing none = before;
    none.rows.clear();
    out << (table ? to_text(before, options.format, kMostWidth)
                  : changes_of(none, before, options.format, kMostWidth))
        << std::flush;
    for (const auto& note : world.notes()) err << "note: " << note << "\n";
    status = follow(world, cluster, [&] {
      Listing now = list();
      out << changes_of(before, now, options.format, kMostWidth) << std::flush;
      before = std::move(now);
    });
  }
  if (status) return 0;
  err << "berth get: " << status.error().str() << "\n";
  return 1;
}

}  // namespace berth::cli
