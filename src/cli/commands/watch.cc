#include "cli/commands/watch.h"

#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/shown.h"
#include "kube/clock.h"
#include "text/json.h"

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

const std::string& key_of(const Listing::Row& row) {
  return row.key.empty() ? row.name : row.key;
}

Listing::Row gone_row(const Listing& listing, const Listing::Row& row) {
  Listing::Row gone = row;
  for (std::size_t i = 0; i < gone.words.size(); ++i) {
    if (listing.columns[i].head == "STATE") gone.words[i] = "Gone";
    if (listing.columns[i].head == "WHY") gone.words[i].clear();
  }
  constexpr std::string_view kState = R"("state":")";
  if (const auto at = gone.json.find(kState); at != std::string::npos) {
    const auto begin = at + kState.size();
    gone.json.replace(begin, gone.json.find('"', begin) - begin, "Gone");
  }
  return gone;
}

// The lines with a row in either of the two.
std::vector<WorkLine> shown_of(std::vector<WorkLine> lines, const Listing& before, const Listing& now) {
  std::set<std::string> keys;
  for (const Listing* listing : {&before, &now}) {
    for (const auto& row : listing->rows) keys.insert(key_of(row));
  }
  std::erase_if(lines, [&](const WorkLine& line) { return !keys.contains(line.uid); });
  return lines;
}

}  // namespace

std::string changes_of(const Listing& before, const Listing& now, ListFormat format, std::size_t most) {
  std::map<std::string, const Listing::Row*> known;
  for (const auto& row : before.rows) known.emplace(key_of(row), &row);
  std::vector<const Listing::Row*> news;
  for (const auto& row : now.rows) {
    const auto it = known.find(key_of(row));
    if (it == known.end() || lasting(before, *it->second) != lasting(now, row)) news.push_back(&row);
    if (it != known.end()) known.erase(it);
  }
  // Those that are gone first: one of the same name may have come. Those that stay as they are make the columns as wide.
  Listing all = now;
  all.rows.clear();
  for (const auto& [key, row] : known) all.rows.push_back(gone_row(now, *row));
  for (const Listing::Row* row : news) all.rows.push_back(*row);
  const std::size_t shown = all.rows.size();
  if (shown == 0) return {};
  std::string out;
  if (format == ListFormat::kTable || format == ListFormat::kWide) {
    all.rows.insert(all.rows.end(), now.rows.begin(), now.rows.end());
    const std::string table = to_text(all, format, most);
    const auto lines = lines_of(table);
    for (std::size_t i = 0; i < shown; ++i) out.append(lines[i + 1]).append("\n");
    return out;
  }
  // One object a line, or a document each: a stream has no end at which a list could be closed.
  for (const auto& row : all.rows) {
    if (format == ListFormat::kName) {
      out += row.name + "\n";
    } else if (format == ListFormat::kJson) {
      out += row.json + "\n";
    } else if (const auto document = text::parse_json(row.json, now.format)) {
      out += "---\n" + to_yaml(document->root());
    }
  }
  return out;
}

int watch_workloads(const GetOptions& options, const Cluster& cluster, std::ostream& out, std::ostream& err) {
  World world({.ns = cluster.ns, .scheduler_names = options.scheduler_names, .live = true});
  const bool table = options.format == ListFormat::kTable || options.format == ListFormat::kWide;
  const auto listing = [&](const std::vector<WorkLine>& lines) {
    return workload_listing(lines, cluster.ns.empty(), kube::wall_us() / 1000);
  };
  auto status = read_shown(world, *cluster.transport, err);
  if (status) {
    (void)world.ask_for_places(*cluster.transport);
    Listing before = listing(chosen(world.lines(), options));
    bool headed = !before.rows.empty();
    out << (table ? to_text(before, options.format, kMostWidth)
                  : changes_of(listing({}), before, options.format, kMostWidth))
        << std::flush;
    for (const auto& note : world.notes()) err << "note: " << note << "\n";
    status = follow(world, cluster, err, [&] {
      const auto lines = world.lines();
      Listing now = listing(chosen(lines, options));
      // Those that were shown and are chosen no more are not gone: their new state once.
      Listing shown = listing(shown_of(lines, before, now));
      const bool head = table && !headed && !shown.rows.empty();
      out << (head ? to_text(shown, options.format, kMostWidth)
                   : changes_of(before, shown, options.format, kMostWidth))
          << std::flush;
      headed = headed || head;
      before = std::move(now);
    });
  }
  if (status) return 0;
  err << "berth get: " << status.error().str() << "\n";
  return 1;
}

}  // namespace berth::cli
