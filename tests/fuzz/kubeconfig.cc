// Kubeconfig files: read, or refused with the place.
#include "fuzz/fuzz.h"
#include "kube/config.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = kube::parse_kubeconfig(std::string(fuzz::text_of(data, size)), "/nowhere/config");
  if (config) {
    fuzz::require(!config->server.empty(), "a configuration says where the server is");
    fuzz::require(!config->server.ends_with('/'), "without a slash at its end: " + config->server);
  } else {
    fuzz::require(!config.error().message.empty(), "an error says what is wrong");
  }
  return 0;
}
