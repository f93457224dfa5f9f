#include "kinds.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "text/csv.h"
#include "text/source.h"

namespace berth::bench {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

}  // namespace

Kinds::Kinds(std::int64_t count) {
  if (count == 1) {
    kinds_.push_back({});
  } else {
    const char* traces = std::getenv("BERTH_TRACES");
    const std::string list = count == 151 ? "default" : "gpuspec33";
    from_trace_ =
        traces != nullptr && read(std::string(traces) + "/openb_2023/openb_pod_list_" + list + ".csv");
    if (!from_trace_) generate(static_cast<std::size_t>(count));
  }
  sum_weights();
}

bool Kinds::read(const std::string& path) {
  auto source = text::ByteSource::open(path);
  if (!source) return false;
  auto csv =
      text::CsvReader::open(*source, {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, {"gpu_spec"});
  if (!csv) return false;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string>, std::uint64_t>
      seen;
  while (true) {
    const auto more = csv->next();
    if (!more) return false;
    if (!*more) break;
    const auto cpu = csv->integer(0);
    const auto memory = csv->integer(1);
    const auto gpus = csv->integer(2);
    const auto milli = csv->integer(3);
    if (!cpu || !memory || !gpus || !milli) return false;
    ++seen[{*cpu, *memory, *gpus, *gpus > 0 ? *milli : 0, std::string(csv->field(4))}];
  }
  for (const auto& [key, weight] : seen) {
    Kind kind;
    kind.cpu = std::get<0>(key);
    kind.memory = std::get<1>(key) * kMi;
    kind.gpus = std::get<2>(key);
    kind.milli = std::get<3>(key);
    std::string model;
    for (const char c : std::get<4>(key) + "|") {
      if (c != '|') {
        model += c;
      } else if (!model.empty()) {
        kind.models.push_back(std::exchange(model, ""));
      }
    }
    kind.weight = weight;
    kinds_.push_back(std::move(kind));
  }
  return !kinds_.empty();
}

void Kinds::generate(std::size_t count) {
  Random random(151);
  for (std::size_t i = 0; i < count; ++i) {
    Kind kind;
    const std::uint64_t dice = random.below(100);
    kind.gpus = dice < 13 ? 0 : dice < 99 ? 1 : std::int64_t{2} << random.below(3);
    kind.milli = dice < 13 ? 0 : dice < 51 ? 10 * random.between(10, 99) : 1000;
    kind.cpu =
        1000 * random.between(1, 14) * std::max<std::int64_t>(1, kind.gpus) + 10 * random.between(0, 99);
    kind.memory = 512 * kMi * random.between(4, 96);
    // gpuspec33: a third of the kinds want certain models.
    static constexpr const char* kModels[] = {"G2", "T4", "G3", "P100", "V100M32", "V100M16"};
    if (count > 200 && kind.gpus > 0 && random.chance(1, 3)) {
      kind.models.push_back(kModels[random.below(6)]);
      if (random.chance(1, 2)) kind.models.push_back("G2");
    }
    kind.weight = 1 + random.below(20);
    kinds_.push_back(std::move(kind));
  }
}

void Kinds::sum_weights() {
  std::uint64_t sum = 0;
  for (const Kind& kind : kinds_) up_to_.push_back(sum += kind.weight);
}

const Kind& Kinds::draw(Random& random) const {
  const std::uint64_t at = random.below(up_to_.back());
  const auto it = std::upper_bound(up_to_.begin(), up_to_.end(), at);
  return kinds_[static_cast<std::size_t>(it - up_to_.begin())];
}

}  // namespace berth::bench
