// Folders of cases of other systems, and the lists of deviations that are meant. The data is not part of the project: it is read from
// $BERTH_SHARED/conformance, or from a folder shared/ beside the tree.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/document.h"

namespace berth::conformance {

// The cases of a system: "kueue", "volcano". It need not be there.
std::filesystem::path folder_of(std::string_view system);

// tests/conformance/LIST: "suite: name" -> reason. A line that begins with # is a comment; the reason stands in the indented lines after.
std::map<std::string, std::string> deviations_in(std::string_view list);

// A case for each line of each *.jsonl in the folder, in the order of the files. `where`: "file.jsonl:12".
void each_document(const std::filesystem::path& folder,
                   const std::function<void(const text::Document& document, const std::string& where)>& f);

// "\n    difference" for each.
std::string listed(const std::vector<std::string>& differences);

}  // namespace berth::conformance
