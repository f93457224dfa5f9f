// Manifests of `berth plan`: files, folders and streams to objects. A List is its items; kinds that Berth does not read are counted.
// An object that cannot be read is left out and named (PlanInput::bad); the others count. An object with a generateName gets a name.
// A decision log in their place is recognised by its first line and left to plan_log.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/intake/kueue_config.h"
#include "dialect/known/misspelt.h"
#include "dialect/objects/decode.h"
#include "text/source.h"

namespace berth::cli {

// An object that was left out, as far as it says which one it is.
struct Unreadable {
  dialect::Kind kind;
  std::string ns, name;
  std::string message;
};

struct PlanInput {
  std::vector<dialect::Object> objects;       // in the order of the text
  std::map<std::string, SourcePlace> queues;  // where those with parents stand: "Cohort east"
  std::optional<TimeMs> now;                  // when a cluster was read
  std::vector<std::string> notes;             // what was read, and what was not
  std::vector<Error> bad;                     // objects that were left out, each with its place and field
  std::vector<Unreadable> unreadable;         // of these, so that what names them says so
  std::vector<dialect::Misspelt>
      misspelt;  // names that are probably mistakes; the objects count all the same
  std::map<std::string, std::int64_t> unread;  // "Deployment (apps/v1)" -> how many
  std::optional<dialect::KueueConfig> kueue;   // Kueue's Configuration, where one is among them
  std::optional<text::ByteSource> log;  // a decision log, not read yet (the last one where there are several)
};

// Adds the objects of `path` (a file, a folder, or "-"). In a folder, `except` (canonical paths) and every expect.yaml are left
// out. A document of more than `max_document` bytes is an error. `spelling`: looks for misspelt names; nullptr: they are not looked
// for. Errors: a file that is not there, a bound that is passed. Errors of a file are in `input.bad`.
Status read_manifests(const std::string& path, const std::vector<std::string>& except,
                      std::uint64_t max_document, const dialect::Misspellings* spelling, PlanInput& input);

// Gives the objects of `inputs` that have a generateName alone the name that no other object of their kind has: with 1, 2 and so on
// behind it, in the order of the text.
void name_generated(std::vector<PlanInput*> inputs);

}  // namespace berth::cli
