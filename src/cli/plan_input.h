// Manifests of `berth plan`: files, folders and streams to objects. A List is its items; kinds that Berth does not read are counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/decode.h"

namespace berth::cli {

struct PlanInput {
  std::vector<dialect::Object> objects;        // in the order of the text
  std::map<std::string, std::int64_t> unread;  // "Deployment (apps/v1)" -> how many
};

// Adds the objects of `path` (a file, a folder, or "-"). Of a folder, `except` (canonical paths) and every expect.yaml are left out.
Status read_manifests(const std::string& path, const std::vector<std::string>& except, PlanInput& input);

}  // namespace berth::cli
