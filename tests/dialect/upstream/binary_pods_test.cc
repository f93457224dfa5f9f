// A pod is the same whether it is read from the API server's binary form or from its JSON.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <map>

#include "base/random.h"
#include "dialect/objects/decode.h"
#include "kube/forms_support.h"
#include "kube/protobuf_json.h"
#include "kube/protobuf_support.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

using kube::FieldKind;
using kube::testing::field;
using kube::testing::number;

bool same(const Pod& a, const Pod& b) {
  const auto rest = [](const Pod& pod) {
    return std::tie(pod.meta, pod.spec, pod.phase, pod.devices, pod.eviction, pod.nominated, pod.problem,
                    pod.ready, pod.started, pod.ended);
  };
  return rest(a) == rest(b) && (a.needs == nullptr) == (b.needs == nullptr) &&
         (a.needs == nullptr || *a.needs == *b.needs);
}

enum class Outcome { kAlike, kByJson };

// Compares both readings. kByJson: the binary form leaves it to the JSON.
Outcome compare(std::string_view binary, const std::string& json, std::string_view what) {
  JsonDecoder decoder;
  const auto from_json = decoder.decode(json, Kind::kPod);
  const auto from_binary = decode_pod(binary, {});
  if (!from_binary) return Outcome::kByJson;
  EXPECT_TRUE(from_json) << what << ": " << from_json.error().str() << "\n" << json;
  if (from_json) {
    EXPECT_TRUE(same(*from_binary, std::get<Pod>(*from_json))) << what << "\n" << json;
  }
  return Outcome::kAlike;
}

// Random objects of the table of messages, many of whose texts are words of the field.
class RandomPods {
 public:
  explicit RandomPods(std::uint64_t seed) : random_(seed) {}
  std::string make() { return message(*kube::message_named("Pod"), 0); }

 private:
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + random_.below(words.size()));
  }
  std::string text(std::string_view name) {
    static const std::map<std::string_view, std::vector<const char*>> words = {
        {"phase", {"Pending", "Running", "Succeeded", "Failed"}},
        {"type", {"Ready", "PodScheduled", "DisruptionTarget"}},
        {"status", {"True", "False"}},
        {"operator", {"Exists", "In", "Gt", "Equal"}},
        {"effect", {"NoSchedule", "NoExecute", "PreferNoSchedule"}},
        {"whenUnsatisfiable", {"DoNotSchedule", "ScheduleAnyway"}},
        {"nodeAffinityPolicy", {"Honor", "Ignore"}},
        {"nodeTaintsPolicy", {"Honor", "Ignore"}},
        {"protocol", {"TCP", "UDP", "SCTP"}},
        {"preemptionPolicy", {"Never", "PreemptLowerPriority"}},
        {"restartPolicy", {"Always", "Never"}},
        {"reason", {"PreemptionByScheduler", "Other"}},
        {"kind", {"Job", "ReplicaSet"}},
        {"apiVersion", {"batch/v1", "apps/v1", "x.io/v1"}}};
    if (const auto known = words.find(name); known != words.end() && random_.below(20) > 0)
      return known->second[random_.below(known->second.size())];
    if (random_.below(300) == 0) return "no \xff UTF-8";
    return pick({"", "a", "team", "kueue.x-k8s.io/queue-name", "metadata.name", "\"quoted\" and \xc3\xa9"});
  }
  std::string quantity() {
    if (random_.below(100) == 0) return field(1, "odd");
    return field(1, pick({"", "0", "1", "2", "8", "500m", "2Gi", "1e3"}));
  }
  std::string map(const kube::Field& f) {
    std::string out;
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      const bool quantities = f.kind == FieldKind::kQuantities;
      const std::string key =
          quantities
              ? pick({"cpu", "memory", "nvidia.com/gpu", "pods", "x/y"})
              : pick({"berth.dev/gpu-milli", "kueue.x-k8s.io/queue-name", "scheduling.x-k8s.io/pod-group",
                      "app", "berth.dev/devices", "berth.dev/placement", "berth.dev/expected-duration"});
      out +=
          field(f.number, field(1, key) + field(2, quantities ? quantity() : pick({"1", "500", "a", "10m"})));
    }
    return out;
  }
  std::string value(const kube::Field& f, int depth) {
    switch (f.kind) {
      case FieldKind::kInt:
        return number(f.number,
                      static_cast<std::int64_t>(random_.below(50) == 0 ? random_.next() : random_.below(3)));
      case FieldKind::kBool:
        return number(f.number, static_cast<std::int64_t>(random_.below(2)));
      case FieldKind::kText:
        return field(f.number, text(f.name));
      case FieldKind::kMessage:
      case FieldKind::kInline:
        return field(f.number, message(*f.message, depth + 1));
      case FieldKind::kTime:
        return field(
            f.number,
            random_.below(10) == 0
                ? ""
                : number(1, 1'700'000'000 + static_cast<std::int64_t>(random_.below(1000))) + number(2, 5));
      case FieldKind::kQuantity:
        return field(f.number, quantity());
      case FieldKind::kIntOrText:
        return field(f.number, number(1, 0) + number(2, 8080) + field(3, ""));
      case FieldKind::kTexts:
      case FieldKind::kQuantities:
        return map(f);
    }
    return "";
  }
  std::string message(const kube::Message& type, int depth) {
    std::string out;
    for (const kube::Field& f : type.fields) {
      const bool leads =
          f.name == "metadata" || f.name == "spec" || f.name == "name" || f.name == "topologyKey";
      if (!leads && random_.below(static_cast<std::uint64_t>(depth < 3 ? 3 : 2)) == 0) continue;
      if (type.fields.size() > 20 && !leads && random_.below(3) > 0) continue;
      for (std::uint64_t i = f.list ? random_.below(3) : 1; i > 0; --i) out += value(f, depth);
      if (random_.below(40) == 0) out += field(900, "of a later version");
    }
    return out;
  }

  Random random_;
};

TEST(BinaryPods, RandomPodsAreReadAlike) {
  constexpr int kPods = 4000;
  int alike = 0;
  std::string json;
  for (int seed = 1; seed <= kPods; ++seed) {
    const std::string binary = RandomPods(static_cast<std::uint64_t>(seed)).make();
    const Status written = kube::write_json(*kube::message_of("v1", "Pod"), binary, "v1", "Pod", json);
    ASSERT_TRUE(written) << seed << ": " << written.error().str();
    const Outcome outcome = compare(binary, json, std::to_string(seed));
    if (outcome == Outcome::kAlike) ++alike;
    // All that JSON gives without a fault is read from the binary form, too; but for texts that are no UTF-8.
    JsonDecoder decoder;
    const auto from_json = decoder.decode(json, Kind::kPod);
    const bool replaced = json.find("\xEF\xBF\xBD") != std::string::npos;
    if (outcome == Outcome::kByJson && from_json && !replaced) {
      EXPECT_NE(std::get<Pod>(*from_json).problem, "") << seed << "\n" << json;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(alike, kPods / 10);
  std::printf("%d of %d were read from the binary form\n", alike, kPods);
}

TEST(BinaryPods, AnOddOneIsLeftToTheJson) {
  const std::string meta = field(1, field(1, "p") + field(3, "a"));
  ASSERT_TRUE(decode_pod(meta + field(2, ""), {}));
  EXPECT_FALSE(decode_pod(meta + field(2, "\x08"), {})) << "cut off";
  EXPECT_FALSE(decode_pod(field(1, number(1, 5)) + field(2, ""), {})) << "a name that is a number";
  EXPECT_FALSE(decode_pod(field(1, field(1, "\xff")) + field(2, ""), {})) << "no UTF-8";
  EXPECT_FALSE(decode_pod(meta + field(2, "") + field(3, field(1, "Gone")), {})) << "an unknown phase";
  const std::string created = field(8, number(1, std::int64_t{1} << 60));
  EXPECT_FALSE(decode_pod(field(1, field(1, "p") + created) + field(2, ""), {})) << "a year of five digits";
}

TEST(BinaryPods, TruncatedAtEveryByte) {
  const std::string whole = RandomPods(7).make();
  for (std::size_t length = 0; length < whole.size(); ++length)
    (void)decode_pod(std::string_view(whole).substr(0, length), {});
}

// Bytes that are no UTF-8 are this in JSON; then the pod is left to the JSON.
bool is_replaced(std::string_view text) {
  return text.find("\xEF\xBF\xBD") != std::string_view::npos;
}

// The first key below which the two differ, but for replaced texts; "": nowhere.
std::string difference(const JsonValue& json, const BinaryValue& binary, const std::string& at) {
  const auto text = json.present() ? json.text() : std::nullopt;
  if (text && text->starts_with("0000-") && !binary.present()) return "";  // such a year is left to the JSON
  if (json.present() != binary.present() || json.is_map() != binary.is_map() ||
      json.is_list() != binary.is_list())
    return at + " is of another kind";
  std::string out;
  if (json.is_map()) {
    json.each_entry([&](std::string_view key, const JsonValue& value) {
      const bool of_envelope = at.empty() && (key == "kind" || key == "apiVersion");
      if (out.empty() && !of_envelope && !is_replaced(key))
        out = difference(value, binary.find(key), fmt::format("{}.{}", at, key));
    });
    binary.each_entry([&](std::string_view key, const BinaryValue&) {
      const bool is_whole = simdjson::validate_utf8(key.data(), key.size());
      if (out.empty() && is_whole && !json.find(key).present())
        out = fmt::format("{}.{} is not in the JSON", at, key);
    });
    return out;
  }
  if (json.is_list()) {
    std::vector<BinaryValue> items;
    binary.each_item([&](const BinaryValue& item) { items.push_back(item); });
    std::size_t i = 0;
    json.each_item([&](const JsonValue& item) {
      if (out.empty() && i < items.size()) out = difference(item, items[i], fmt::format("{}[{}]", at, i));
      ++i;
    });
    return out.empty() && i != items.size() ? at + " has another length" : out;
  }
  if (!json.present()) return "";
  if (const auto time = binary.time()) {
    const auto wanted = text ? text::parse_time_ms(*text) : Result<TimeMs>(0);
    return wanted && *wanted == *time ? "" : fmt::format("{} is another time: {}, not {}", at, *time, *text);
  }
  if (text && is_replaced(*text)) return binary.text() ? "" : at + " is no text";
  const bool same =
      text == binary.text() && json.integer() == binary.integer() && json.boolean() == binary.boolean();
  return same ? "" : at + " has another value";
}

TEST(BinaryPodForms, ValuesAreThoseOfTheApiServersJson) {
  if (!kube::testing::Forms::given()) GTEST_SKIP() << "BERTH_TEST_FORMS is not set";
  kube::testing::Forms forms;
  ASSERT_TRUE(forms);
  std::string binary, json;
  int objects = 0;
  simdjson::dom::parser parser;
  for (; forms.next(binary, json); ++objects) {
    const auto object = kube::open_envelope(binary);
    ASSERT_TRUE(object) << object.error().str();
    simdjson::dom::element root;
    ASSERT_EQ(parser.parse(json).get(root), simdjson::SUCCESS);
    BinaryReading reading;
    const BinaryValue value(reading, *kube::message_of(object->api_version, object->kind), object->bytes);
    const std::string found = difference(JsonValue(root), value, "");
    ASSERT_EQ(found, "") << "object " << objects << "\n" << json;
  }
  std::printf("%d objects\n", objects);
  EXPECT_GT(objects, 0);
}

}  // namespace
}  // namespace berth::dialect
