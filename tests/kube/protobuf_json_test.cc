// The JSON of binary objects, from bytes made by hand. The table itself and the API server's own encoding: the last test, which scripts/api-forms runs.
#include "kube/protobuf_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

#include "kube/api_status.h"
#include "kube/forms_support.h"
#include "kube/protobuf.h"
#include "kube/protobuf_support.h"

namespace berth::kube {
namespace {

using nlohmann::json;
using testing::field;
using testing::number;

json json_of(std::string_view name, std::string_view bytes) {
  const Message* const message = message_named(name);
  if (message == nullptr) return "no such message";
  std::string out;
  const Status written = write_json(*message, bytes, {}, {}, out);
  if (!written) return written.error().message;
  return json::parse(out);
}

// Each mark and kind of the table, in the message that has it.

TEST(ProtobufJson, TextsNumbersAndBools) {
  EXPECT_EQ(json_of("ContainerPort", field(1, "web") + number(2, 80) + number(3, 8080) + field(5, "::")),
            json({{"name", "web"}, {"hostPort", 80}, {"containerPort", 8080}, {"hostIP", "::"}}));
  EXPECT_EQ(json_of("Toleration", field(1, "k") + number(5, -1)),
            json({{"key", "k"}, {"tolerationSeconds", -1}}));
  EXPECT_EQ(json_of("SleepAction", number(1, INT64_MIN)), json({{"seconds", INT64_MIN}}));
  EXPECT_EQ(json_of("OwnerReference", field(1, "Job") + number(6, 1) + number(7, 0)),
            json({{"kind", "Job"},
                  {"controller", true},
                  {"blockOwnerDeletion", false},
                  {"name", ""},
                  {"uid", ""},
                  {"apiVersion", ""}}));
}

TEST(ProtobufJson, AFieldIsWrittenAsGoWritesIt) {
  // Left out where it is empty, zero or false.
  EXPECT_EQ(json_of("Toleration", field(1, "") + field(2, "Exists")), json({{"operator", "Exists"}}));
  EXPECT_EQ(json_of("ContainerPort", number(2, 0) + number(3, 0)), json({{"containerPort", 0}}));
  EXPECT_EQ(json_of("VolumeMount", field(1, "v") + number(2, 0) + field(3, "/")),
            json({{"name", "v"}, {"mountPath", "/"}}));
  // Written where it is there, be it empty.
  EXPECT_EQ(json_of("PodSpec", field(2, field(1, "c")) + field(31, ""))["preemptionPolicy"], "");
  EXPECT_EQ(json_of("PodSpec", number(25, 0))["priority"], 0);
  EXPECT_EQ(json_of("PodSpec", number(37, 0))["hostUsers"], false);
  // Written also where it is not there.
  EXPECT_EQ(json_of("PodSpec", ""), json({{"containers", nullptr}}));
  EXPECT_EQ(
      json_of("Pod", ""),
      json({{"metadata", json::object()}, {"spec", {{"containers", nullptr}}}, {"status", json::object()}}));
  EXPECT_EQ(json_of("ContainerStateRunning", ""), json({{"startedAt", nullptr}}));
  EXPECT_EQ(json_of("ResourceFieldSelector", field(2, "limits.cpu")),
            json({{"resource", "limits.cpu"}, {"divisor", "0"}}));
  EXPECT_EQ(json_of("TCPSocketAction", ""), json({{"port", 0}}));
  EXPECT_EQ(json_of("ContainerStatus", "")["ready"], false);
}

TEST(ProtobufJson, ListsAndMaps) {
  EXPECT_EQ(json_of("ExecAction", field(1, "a") + field(1, "") + field(1, "b")),
            json({{"command", {"a", "", "b"}}}));
  EXPECT_EQ(json_of("ContainerRestartRuleOnExitCodes", number(2, 1) + number(2, -7)),
            json({{"values", {1, -7}}}));
  EXPECT_EQ(
      json_of("PodDNSConfig", field(3, field(1, "ndots") + field(2, "5")) + field(3, field(1, "rotate"))),
      json({{"options", {{{"name", "ndots"}, {"value", "5"}}, {{"name", "rotate"}}}}}));
  const auto entry = [](std::string_view key, std::string_view value) {
    return field(11, field(1, key) + field(2, value));
  };
  EXPECT_EQ(json_of("ObjectMeta", entry("a", "1") + entry("b", "") + field(11, field(2, "no key")) +
                                      field(11, field(1, "no value"))),
            json({{"labels", {{"a", "1"}, {"b", ""}, {"", "no key"}, {"no value", ""}}}}));
  EXPECT_EQ(json_of("ResourceRequirements",
                    field(2, field(1, "cpu") + field(2, field(1, "500m"))) + field(2, field(1, "memory"))),
            json({{"requests", {{"cpu", "500m"}, {"memory", "0"}}}}));
}

TEST(ProtobufJson, InlineMessagesStandInTheirHolder) {
  const std::string claim = field(10, field(1, "data") + number(2, 1));
  EXPECT_EQ(json_of("Volume", field(1, "v") + field(2, claim)),
            json({{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "data"}, {"readOnly", true}}}}));
  EXPECT_EQ(json_of("Volume", field(2, "")), json({{"name", ""}}));
  EXPECT_EQ(json_of("SecretKeySelector", field(1, field(1, "s")) + field(2, "k")),
            json({{"name", "s"}, {"key", "k"}}));
}

TEST(ProtobufJson, TimesQuantitiesAndPorts) {
  const auto created = [](std::int64_t seconds) {
    return json_of("ObjectMeta", field(9, number(1, seconds) + number(2, 5)))["deletionTimestamp"];
  };
  EXPECT_EQ(created(1'795'736'367), "2026-11-26T23:39:27Z");
  EXPECT_EQ(created(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(created(253'402'300'799), "9999-12-31T23:59:59Z");
  EXPECT_EQ(created(-62'135'596'800), nullptr);  // Go's zero
  EXPECT_EQ(json_of("ObjectMeta", field(9, "")), json({{"deletionTimestamp", nullptr}}));
  EXPECT_EQ(json_of("ObjectMeta", field(8, "")),
            json::object());  // creationTimestamp is left out where it is zero
  EXPECT_EQ(json_of("EmptyDirVolumeSource", field(2, field(1, "1Gi"))), json({{"sizeLimit", "1Gi"}}));
  EXPECT_EQ(json_of("TCPSocketAction", field(1, number(1, 0) + number(2, 8080) + field(3, ""))),
            json({{"port", 8080}}));
  EXPECT_EQ(json_of("TCPSocketAction", field(1, number(1, 1) + number(2, 0) + field(3, "web"))),
            json({{"port", "web"}}));
}

TEST(ProtobufJson, TextsAreEscapedAndAlwaysUtf8) {
  const std::string hard("\"\\/\n\t\r\b\x00\x1f\x7f \xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\xa8", 25);
  EXPECT_EQ(json_of("NodeSelectorRequirement", field(1, hard))["key"], hard);
  // Each byte that is not UTF-8 is replaced, as Go does.
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98"}) {
    std::string replaced;
    for (std::size_t i = 0; i < std::string_view(bad).size(); ++i) replaced += "\xef\xbf\xbd";
    EXPECT_EQ(json_of("NodeSelectorRequirement", field(1, std::string("a") + bad + "b"))["key"],
              "a" + replaced + "b");
  }
}

TEST(ProtobufJson, UnknownFieldsOfEveryWireTypeAreLeftOut) {
  const std::string fixed64 = "\x91\x07" + std::string(8, 'x');  // field 114
  const std::string fixed32 = "\x95\x07" + std::string(4, 'x');
  EXPECT_EQ(json_of("ObjectMeta", fixed64 + field(1, "n") + field(200, "x") + number(1'000'000, 7) + fixed32 +
                                      field(5, "u")),
            json({{"name", "n"}, {"uid", "u"}}));
  // managedFields are not in the table.
  EXPECT_EQ(json_of("ObjectMeta", field(1, "n") + field(17, field(1, "kubectl"))), json({{"name", "n"}}));
}

TEST(ProtobufJson, FaultsNameTheMessageAndThePlace) {
  EXPECT_EQ(json_of("Pod", field(1, "\x0a\x05n")),
            "ObjectMeta in binary form: a field is longer than what holds it, at byte 2");
  EXPECT_EQ(json_of("ObjectMeta", field(1, "n") + number(3, 1)),
            "ObjectMeta in binary form: a field has another wire type than is known, at byte 3");
  EXPECT_EQ(json_of("ContainerPort", field(3, "1")),
            "ContainerPort in binary form: a field has another wire type than is known, at byte 0");
  EXPECT_EQ(json_of("ObjectMeta", field(1, "n") + field(5, "u") + field(1, "m")),
            "ObjectMeta in binary form: a field stands in two places, at byte 6");
  EXPECT_EQ(json_of("ObjectMeta", std::string(1, '\x0b')),
            "ObjectMeta in binary form: a field has no known wire type, at byte 0");
  EXPECT_EQ(json_of("ObjectMeta", std::string(1, '\0')),
            "ObjectMeta in binary form: a field has no possible number, at byte 0");
  EXPECT_EQ(json_of("ObjectMeta", std::string(11, '\xff')),
            "ObjectMeta in binary form: a field's number is cut off, at byte 0");
  EXPECT_EQ(json_of("ObjectMeta", field(9, number(1, 300'000'000'000))),
            "ObjectMeta in binary form: a time has no year of four digits, at byte 2");
  // A length near the end of the numbers.
  EXPECT_EQ(json_of("ObjectMeta", std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01n")),
            "ObjectMeta in binary form: a field is longer than what holds it, at byte 0");
}

std::string rich_pod() {
  const std::string meta = field(1, "p") + field(3, "ns") + field(5, "u") + field(6, "7") +
                           field(8, number(1, 1'795'736'367)) + field(11, field(1, "a") + field(2, "b"));
  const std::string container = field(1, "c") + field(2, "image") + field(7, field(1, "E") + field(2, "v")) +
                                field(8, field(2, field(1, "cpu") + field(2, field(1, "2"))));
  const std::string volume = field(1, "v") + field(2, field(10, field(1, "data")));
  const std::string spec =
      field(1, volume) + field(2, container) + number(4, 30) + field(10, "node-1") + number(25, -5);
  return field(1, meta) + field(2, spec) + field(3, field(1, "Running"));
}

// Wherever an object ends too soon, it is no other object: it is refused, or ends between two fields of the outermost message.
TEST(ProtobufJson, TruncatedAtEveryByte) {
  const std::string whole = rich_pod();
  std::string out;
  int fine = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // A buffer of its own, so that a sanitizer sees each byte too many.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const Status written = write_json(*message_of("v1", "Pod"), {cut.data(), cut.size()}, {}, {}, out);
    if (!written) continue;
    ++fine;
    EXPECT_TRUE(json::accept(out)) << out;
  }
  EXPECT_EQ(fine, 3);  // nothing; metadata; and the spec
}

TEST(ProtobufJson, RandomBytesGiveJsonOrAFault) {
  std::mt19937_64 random(1);
  const std::string whole = rich_pod();
  std::string out;
  int fine = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes = whole;
    if (round % 4 == 0) {
      bytes.resize(random() % 64);
      for (char& c : bytes) c = static_cast<char>(random());
    } else {
      for (std::uint64_t n = random() % 4 + 1; n > 0; --n)
        bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const std::vector<char> exact(bytes.begin(), bytes.end());
    if (!write_json(*message_of("v1", "Pod"), {exact.data(), exact.size()}, "v1", "Pod", out)) continue;
    ++fine;
    ASSERT_TRUE(json::accept(out)) << out;
  }
  EXPECT_GT(fine, 1'000);
  EXPECT_LT(fine, 199'000);
}

// Fields that are not known are not looked into, however deep they are; known ones are as deep as the table.
TEST(ProtobufJson, DeepNesting) {
  std::string deep = "x";
  while (deep.size() < 40'000) deep = field(200, deep);
  EXPECT_EQ(json_of("Pod", field(200, deep)), json_of("Pod", ""));
}

// Two bytes are a whole ContainerStatus, which has 120 in JSON.
TEST(ProtobufJson, TheJsonIsBounded) {
  std::string bytes;
  while (bytes.size() < (std::size_t{2} << 20)) bytes += field(8, "");
  EXPECT_EQ(json_of("PodStatus", bytes), "PodStatus in binary form: its JSON is longer than 67108864 bytes");
}

TEST(ProtobufJson, Envelopes) {
  const std::string text = protobuf_object("v1", "Pod", rich_pod());
  EXPECT_TRUE(is_binary(text));
  EXPECT_FALSE(is_binary("{}"));
  const auto pod = json_of_envelope(text);
  ASSERT_TRUE(pod) << pod.error().str();
  EXPECT_TRUE(pod->starts_with(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p",)")) << *pod;
  EXPECT_EQ(json::parse(*pod)["spec"]["containers"][0]["resources"]["requests"]["cpu"], "2");
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(open_envelope(std::string_view(text).substr(0, length)).has_value() && length != 4)
        << length;
  const std::string mark(kEnvelopeMark);
  for (const std::string& bad :
       {std::string("k8s"), mark, mark + field(1, field(1, "v1")), mark + number(1, 3),
        mark + field(2, "") + field(3, "gzip"), mark + field(2, "") + field(4, "application/json")})
    EXPECT_FALSE(open_envelope(bad));
  for (const auto& [version, kind] :
       {std::pair("v1", "Secret"), std::pair("v2", "Pod"), std::pair("v1", "Container")})
    EXPECT_FALSE(json_of_envelope(protobuf_object(version, kind, "")));
}

TEST(ProtobufJson, StatusesAreReadInBothForms) {
  const std::string details = field(4, field(1, "DisruptionBudget")) + number(5, 3);
  const std::string text = protobuf_object(
      "v1", "Status",
      field(2, "Failure") + field(3, "m") + field(4, "TooManyRequests") + field(5, details) + number(6, 429));
  ApiStatus status;
  ASSERT_TRUE(parse_api_status(text, status));
  EXPECT_EQ(status.code, 429);
  EXPECT_EQ(status.reason, "TooManyRequests");
  EXPECT_EQ(status.message, "m");
  EXPECT_EQ(status.cause, "DisruptionBudget");
  EXPECT_EQ(status.retry_after, 3 * kSecond);
  EXPECT_FALSE(parse_api_status(text.substr(0, text.size() - 1), status));
  EXPECT_FALSE(parse_api_status(protobuf_object("v1", "Pod", rich_pod()), status));
}

// --- the table ---------------------------------------------------------------------------------------

void check(const Message& message, std::set<std::string_view>& above, std::set<std::string_view>& seen) {
  ASSERT_TRUE(above.insert(message.name).second) << message.name << " holds itself";
  seen.insert(message.name);
  EXPECT_LE(message.fields.size(), 64u) << message.name;
  std::uint32_t last = 0;
  for (const Field& one : message.fields) {
    EXPECT_GT(one.number, last) << message.name << " " << one.name;
    last = one.number;
    EXPECT_EQ(one.name.empty(), one.kind == FieldKind::kInline) << message.name << " " << one.number;
    EXPECT_EQ(one.message != nullptr, one.kind == FieldKind::kInline || one.kind == FieldKind::kMessage);
    if (one.message != nullptr) check(*one.message, above, seen);
  }
  above.erase(message.name);
}

TEST(ProtobufTypes, TheTableIsWholeAndNoMessageHoldsItself) {
  std::set<std::string_view> seen;
  using Kind = std::pair<const char*, const char*>;
  for (const auto& [version, kind] :
       {Kind("v1", "Pod"), {"v1", "Node"}, {"batch/v1", "Job"}, {"v1", "Status"}}) {
    ASSERT_NE(message_of(version, kind), nullptr);
    std::set<std::string_view> above;
    check(*message_of(version, kind), above, seen);
  }
  std::size_t listed = 0;
  for (std::string_view rest = kMessageTable; !rest.empty();
       rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1))) {
    if (const auto line = rest.substr(0, rest.find('\n')); !line.empty() && line[0] != ' ') ++listed;
  }
  EXPECT_EQ(seen.size(), listed);
  EXPECT_EQ(message_of("v1", "Container"), nullptr);
  EXPECT_EQ(message_of("v1", "Job"), nullptr);
  EXPECT_EQ(message_named("Contain"), nullptr);
}

// BERTH_TEST_FORMS: a file with the two forms of random objects, by the API server's own code (scripts/api-forms).
TEST(ProtobufForms, TheJsonHasTheValuesOfTheApiServers) {
  if (!testing::Forms::given()) GTEST_SKIP() << "BERTH_TEST_FORMS is not set";
  testing::Forms forms;
  ASSERT_TRUE(forms);
  std::string binary, wanted, out;
  int count = 0;
  for (; forms.next(binary, wanted); ++count) {
    const auto object = open_envelope(binary);
    ASSERT_TRUE(object) << object.error().str();
    const Status written = write_json(*object, out);
    ASSERT_TRUE(written) << count << ": " << written.error().str();
    const json ours = json::parse(out), theirs = json::parse(wanted);
    ASSERT_TRUE(ours == theirs) << "object " << count
                                << ", as a patch: " << json::diff(theirs, ours).dump(1).substr(0, 2'000);
  }
  std::printf("%d objects\n", count);
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace berth::kube
