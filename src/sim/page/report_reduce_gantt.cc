#include <algorithm>
#include <tuple>
#include <utility>

#include "model/resources.h"
#include "sim/page/report.h"
#include "sim/page/report_reduce.h"

namespace berth::sim {
namespace {

// The present users of a device: pieces of it, by position, each until its end.
struct Piece {
  std::int64_t from;
  std::int64_t height;
  TimeMs end;
};

class Lane {
 public:
  explicit Lane(int devices) : pieces_(static_cast<std::size_t>(std::clamp(devices, 0, kMostDevices))) {
    own_ = pieces_.size();
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(pieces_.size()); }

  // (row, height) of each rectangle of a bar; empty where even the spare rows are full.
  std::vector<std::pair<std::int64_t, std::int64_t>> place(const GanttBar& bar) {
    for (auto& device : pieces_) {
      std::erase_if(device, [&](const Piece& piece) { return piece.end <= bar.start_ms; });
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> boxes;
    std::int64_t left = bar.gpu_milli;
    for (const int number : bar.devices) {
      const auto device = static_cast<std::size_t>(number);
      if (left <= 0 || number < 0 || device >= own_) continue;
      left -= take(device, std::min(left, kWholeDevice), bar.end_ms, boxes);
    }
    for (std::size_t device = 0; left > 0; ++device) {
      if (device == pieces_.size()) {
        // More than the devices hold: show it on rows of its own instead of hiding it.
        if (pieces_.size() >= own_ * 2 + 8) return boxes;
        pieces_.emplace_back();
      }
      left -= take(device, std::min(left, kWholeDevice), bar.end_ms, boxes);
    }
    return boxes;
  }

 private:
  static constexpr int kMostDevices = 256;

  // Takes `height` of a device where a gap is large enough; returns what it took.
  std::int64_t take(std::size_t device, std::int64_t height, TimeMs end,
                    std::vector<std::pair<std::int64_t, std::int64_t>>& boxes) {
    auto& pieces = pieces_[device];
    std::int64_t from = 0;
    auto at = pieces.begin();
    while (at != pieces.end() && at->from - from < height) {
      from = at->from + at->height;
      ++at;
    }
    if (kWholeDevice - from < height) return 0;
    pieces.insert(at, {from, height, end});
    const std::int64_t row = static_cast<std::int64_t>(device) * kWholeDevice + from;
    if (!boxes.empty() && boxes.back().first + boxes.back().second == row) {
      boxes.back().second += height;
    } else {
      boxes.emplace_back(row, height);
    }
    return height;
  }

  std::vector<std::vector<Piece>> pieces_;
  std::size_t own_ = 0;
};

bool in_reading_order(const GanttBox& a, const GanttBox& b) {
  return std::tie(a.lane, a.start_ms, a.row_milli, a.end_ms) <
         std::tie(b.lane, b.start_ms, b.row_milli, b.end_ms);
}

}  // namespace

ReducedGantt reduce(const Gantt& gantt) {
  ReducedGantt out;
  const std::size_t lanes = std::min(gantt.lanes.size(), kMaxGanttLanes);
  out.left_out_lanes = gantt.lanes.size() - lanes;
  std::size_t bars = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    const GanttLane& lane = gantt.lanes[l];
    std::vector<const GanttBar*> order;
    for (const GanttBar& bar : lane.bars) {
      if (bar.end_ms <= gantt.begin_ms || bar.start_ms >= gantt.end_ms || bar.end_ms <= bar.start_ms)
        continue;
      if (bar.gpu_milli <= 0) {
        ++out.without_gpu;
      } else {
        order.push_back(&bar);
      }
    }
    std::stable_sort(order.begin(), order.end(), [](const GanttBar* a, const GanttBar* b) {
      return std::tie(a->start_ms, b->gpu_milli, a->workload) <
             std::tie(b->start_ms, a->gpu_milli, b->workload);
    });
    Lane layout(lane.devices);
    for (const GanttBar* bar : order) {
      const auto boxes = layout.place(*bar);
      if (boxes.empty()) ++out.left_out_bars;
      bars += boxes.empty() ? 0 : 1;
      for (const auto& [row, height] : boxes) {
        out.boxes.push_back({l, bar, row, height, std::max(bar->start_ms, gantt.begin_ms),
                             std::min(bar->end_ms, gantt.end_ms)});
      }
    }
    out.lanes.push_back({&lane, layout.rows()});
  }
  if (out.boxes.size() > kMaxGanttBars) {
    std::stable_sort(out.boxes.begin(), out.boxes.end(), [](const GanttBox& a, const GanttBox& b) {
      return std::forward_as_tuple(b.end_ms - b.start_ms, a.lane, a.start_ms, a.row_milli) <
             std::forward_as_tuple(a.end_ms - a.start_ms, b.lane, b.start_ms, b.row_milli);
    });
    out.boxes.resize(kMaxGanttBars);
    std::vector<const GanttBar*> kept;
    for (const GanttBox& box : out.boxes) kept.push_back(box.bar);
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    out.left_out_bars += bars - kept.size();
  }
  std::stable_sort(out.boxes.begin(), out.boxes.end(), in_reading_order);
  return out;
}

}  // namespace berth::sim
