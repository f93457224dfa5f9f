// Manifests of `berth plan`: files, folders and streams to objects. A List is its items; kinds that Berth does not read are counted.
// A decision log in their place is recognised by its first line and left to whoever replays it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/decode.h"
#include "dialect/kueue_config.h"
#include "text/source.h"

namespace berth::cli {

struct PlanInput {
  std::vector<dialect::Object> objects;        // in the order of the text
  std::map<std::string, SourcePlace> queues;   // where those with parents stand: "Cohort east"
  std::optional<TimeMs> now;                   // when a cluster was read
  std::vector<std::string> notes;              // what was read, and what was not
  std::map<std::string, std::int64_t> unread;  // "Deployment (apps/v1)" -> how many
  std::optional<dialect::KueueConfig> kueue;   // Kueue's Configuration, where one is among them
  std::optional<text::ByteSource> log;  // a decision log, not read yet (the last one where there are several)
};

// Adds the objects of `path` (a file, a folder, or "-"). Of a folder, `except` (canonical paths) and every expect.yaml are left out.
// A document of more than `max_document` bytes is an error.
Status read_manifests(const std::string& path, const std::vector<std::string>& except,
                      std::uint64_t max_document, PlanInput& input);

}  // namespace berth::cli
