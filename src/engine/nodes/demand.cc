#include "engine/nodes/demand.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/digest.h"
#include "base/fixed_point.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kHalveAt = 32'768;
constexpr std::int64_t kFirstLook = 8;
constexpr std::size_t kMostCounted = 4096;
constexpr std::size_t kMostFrozen = 256;
// The weight of future demand, in arrivals.
constexpr std::int64_t kUnseen = 64;

// By what a kind is kept in the frozen mix.
Int128 asked(std::int64_t count, const Kind& kind) {
  std::int64_t devices = 1;
  for (const ShapeDevices& d : kind.devices)
    devices = saturating_add(devices, saturating_mul(d.count, d.milli));
  return static_cast<Int128>(count) *
         static_cast<Int128>(detail::floor_sqrt(static_cast<std::uint64_t>(devices)));
}

}  // namespace

Kind make_kind(std::span<const Shape* const> choices, ResourceId cpu) {
  Kind kind;
  if (choices.empty()) return kind;
  for (const ShapeAmount& a : choices.front()->amounts) {
    if (a.resource == cpu) kind.cpu = a.amount;
  }
  kind.devices = choices.front()->devices;
  for (const Shape* choice : choices) {
    Shape where = *choice;
    where.amounts.clear();
    where.devices.clear();
    where.tokens.clear();
    where.mounts.clear();
    where.preferred.clear();
    where.flavors.clear();
    where.placement = Placement::kDefault;
    where.counted = CountedId();
    const std::string key = shape_key(where);
    kind.where.is_long = kind.where.is_long || is_digest(key);
    put_part(kind.where.key, key);
    kind.where.any.push_back(std::move(where));
  }
  put_all(kind.key, kind.cpu, '/');
  for (const ShapeDevices& d : kind.devices)
    put_all(kind.key, d.resource.value, '=', d.count, 'x', d.milli, ',');
  kind.key += kind.where.key;
  return kind;
}

void Demand::saw(const Kind& kind, std::int64_t slots) {
  if (slots <= 0 || kind.where.is_long) return;
  auto it = counts_.find(kind.key);
  if (it == counts_.end()) {
    if (counts_.size() >= kMostCounted) {
      const auto rarest = std::min_element(counts_.begin(), counts_.end(), [](const auto& a, const auto& b) {
        return a.second.count < b.second.count;
      });
      total_ -= rarest->second.count;
      counts_.erase(rarest);
    }
    it = counts_.emplace(kind.key, Counted{kind, 0}).first;
  }
  // One arrival never outweighs everything that was seen before it together with what may follow.
  slots = std::min(slots, kHalveAt / 2);
  it->second.count += slots;
  total_ += slots;
  arrived_since_look_ += slots;
  if (total_ >= kHalveAt) halve();
}

void Demand::ended(std::int64_t slots) {
  ended_ = std::min(saturating_add(ended_, slots), kHalveAt);
}

std::int64_t Demand::turnover() const {
  if (total_ == 0) return 0;
  return std::min((ended_ * Mix::kMostTurnover + total_ / 2) / total_, Mix::kMostTurnover);
}

void Demand::halve() {
  total_ = 0;
  ended_ /= 2;
  for (auto it = counts_.begin(); it != counts_.end();) {
    it->second.count /= 2;
    total_ += it->second.count;
    it = it->second.count == 0 ? counts_.erase(it) : std::next(it);
  }
}

void Demand::give(std::span<const FrozenKind> kinds) {
  given_.clear();
  for (const FrozenKind& kind : kinds) {
    if (kind.weight <= 0) continue;
    Counted& counted = given_.try_emplace(kind.kind.key, Counted{kind.kind, 0}).first->second;
    counted.count = saturating_add(counted.count, kind.weight);
  }
  given_changed_ = true;
}

Mix Demand::freeze(const Counts& counts) {
  std::vector<std::pair<Int128, const Counted*>> order;
  for (const auto& [key, counted] : counts) order.emplace_back(asked(counted.count, counted.kind), &counted);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Mix out;
  Int128 covered = 0;
  for (const auto& [by, counted] : order) {
    if (out.kinds.size() >= kMostFrozen) break;
    covered += counted->count;
    out.kinds.push_back({counted->kind, counted->count});
  }
  for (FrozenKind& kind : out.kinds) {
    kind.weight = clamp_to_int64((static_cast<Int128>(kind.weight) * Mix::kTotal + covered / 2) / covered);
  }
  if (covered > 0) out.unseen = clamp_to_int64(Int128{kUnseen} * Mix::kTotal / covered);
  std::erase_if(out.kinds, [](const FrozenKind& kind) { return kind.weight == 0; });
  return out;
}

// Sum of the differences of shares, at most 2 x 2^20. Future demand has its share.
static std::int64_t distance(const Mix& a, const Mix& b) {
  std::map<std::string_view, std::int64_t> shares;
  const auto add = [&](const Mix& mix, std::int64_t sign) {
    const auto share = [&](std::int64_t weight) {
      return sign * clamp_to_int64(static_cast<Int128>(weight) * Mix::kTotal / (Mix::kTotal + mix.unseen));
    };
    for (const FrozenKind& kind : mix.kinds) shares[kind.kind.key] += share(kind.weight);
    shares[""] += mix.kinds.empty() ? sign * Mix::kTotal : share(mix.unseen);
  };
  add(a, 1);
  add(b, -1);
  std::int64_t sum = 0;
  for (const auto& [key, difference] : shares) sum += difference < 0 ? -difference : difference;
  return sum;
}

void Demand::adopt(Mix mix) {
  mix.version = mix_.version + 1;
  mix_ = std::move(mix);
}

bool Demand::look() {
  if (given_changed_) {
    given_changed_ = false;
    Mix next = freeze(given_.empty() ? counts_ : given_);
    next.given = !given_.empty();
    if (next.given) next.unseen = 0;
    next.turnover = turnover();
    adopt(std::move(next));
    return true;
  }
  if (arrived_since_look_ < look_after_) return false;
  arrived_since_look_ = 0;
  look_after_ = std::max(kFirstLook, total_ / 4);
  Mix next = mix_.given ? mix_ : freeze(counts_);
  next.turnover = turnover();
  if (next.turnover == mix_.turnover && distance(next, mix_) < Mix::kTotal / 64) return false;
  adopt(std::move(next));
  return true;
}

}  // namespace berth::engine
