#include "kube/writes.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/binding_support.h"

namespace berth::kube {
namespace {

std::string of_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// This Binding in the form of Kubernetes' own encoder (apimachinery v0.36.3, runtime/serializer/protobuf).
TEST(Writes, ABindSaysWhatKubernetesOwnEncoderSays) {
  std::string value;
  for (int i = 0; i < 200; ++i) value += "78";
  const std::string golden = of_hex(
      "6b3873000a0d0a027631120742696e64696e6712ff010ae6010a017012001a016122002a03752d3132003800420062ce010a01"
      "6b12c801" +
      value + "12140a044e6f646512001a026e3122002a0032003a001a002200");
  const Write write = bind_pod("a", "p", "u-1", "n1", {{"k", std::string(200, 'x')}});
  EXPECT_EQ(write.path, "/api/v1/namespaces/a/pods/p/binding");
  EXPECT_EQ(write.body_type, BodyType::kProtobuf);
  EXPECT_EQ(testing::binding_of(write.body), testing::binding_of(golden));
  EXPECT_EQ(testing::binding_of(write.body),
            (nlohmann::json{{"apiVersion", "v1"},
                            {"kind", "Binding"},
                            {"metadata",
                             {{"namespace", "a"},
                              {"name", "p"},
                              {"uid", "u-1"},
                              {"annotations", {{"k", std::string(200, 'x')}}}}},
                            {"target", {{"kind", "Node"}, {"name", "n1"}}}}));
}

// A length of more than seven bits and one of more than fourteen.
TEST(Writes, ABindMayBeLong) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16'383u, 16'384u, 250'000u}) {
    const std::string text(size, 'y');
    const auto binding = testing::binding_of(bind_pod("a", "p", "u", "n", {{"a/b", text}, {"c", "d"}}).body);
    EXPECT_EQ(binding["metadata"]["annotations"]["a/b"], text);
    EXPECT_EQ(binding["metadata"]["annotations"]["c"], "d");
    EXPECT_EQ(binding["target"]["name"], "n");
  }
}

}  // namespace
}  // namespace berth::kube
