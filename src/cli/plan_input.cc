#include "cli/plan_input.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <variant>

#include "observe/decision_log.h"
#include "text/document.h"
#include "text/fields.h"
#include "text/source.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;  // of one file
constexpr std::size_t kMostObjects = 1'000'000;
constexpr std::size_t kMostMisspelt = 10'000;

// An error in one object or document does not prevent the plan of the others; an exceeded bound does.
Status leave_out(Error error, PlanInput& input) {
  constexpr std::size_t kMostBad = 10'000;
  if (error.code == ErrorCode::kExhausted || input.bad.size() >= kMostBad)
    return tl::unexpected<Error>(std::move(error));
  input.bad.push_back(std::move(error));
  return {};
}

// " (not apiversion)" where a key is almost the one that is missing.
std::string almost(const text::Node& node, std::string_view key) {
  const std::string_view wanted[] = {key};
  for (const text::Entry& entry : node.entries()) {
    if (!text::nearest(entry.name(), wanted).empty()) return fmt::format(" (not {})", entry.name());
  }
  return {};
}

void note_unreadable(const text::Node& node, dialect::Kind kind, const std::string& message,
                     PlanInput& input) {
  const text::Node* name = node.at({"metadata", "name"});
  const text::Node* ns = node.at({"metadata", "namespace"});
  if (name == nullptr) return;
  const std::string otherwise = dialect::is_namespaced(kind) ? "default" : "";
  input.unreadable.push_back(
      {kind, ns == nullptr ? otherwise : std::string(ns->text()), std::string(name->text()), message});
}

Status add_object(const text::Document& document, const text::Node& node,
                  const dialect::Misspellings* spelling, PlanInput& input, int depth) {
  const auto bad = [&](const text::Node& at, std::string_view what) {
    return fail_at(document.place(at), "{}", what);
  };
  if (!node.is_mapping()) return bad(node, "a Kubernetes object must be a mapping with apiVersion and kind");
  const text::Node* version = node.find("apiVersion");
  const text::Node* name = node.find("kind");
  if (version == nullptr || !version->is_scalar())
    return bad(node,
               fmt::format("apiVersion: is required, for example \"v1\"{}", almost(node, "apiVersion")));
  if (name == nullptr || !name->is_scalar())
    return bad(node, fmt::format("kind: is required, for example \"Pod\"{}", almost(node, "kind")));
  if (name->text().ends_with("List") && node.find("items") != nullptr) {
    if (depth > 3) return bad(node, "lists inside lists inside lists");
    if (!node.find("items")->is_sequence()) return bad(*node.find("items"), "items: must be a list");
    for (const auto& item : node.find("items")->items()) {
      if (auto added = add_object(document, item, spelling, input, depth + 1); !added)
        BERTH_TRY(leave_out(std::move(added).error(), input));
    }
    return {};
  }
  if (spelling != nullptr && input.misspelt.size() < kMostMisspelt) {
    auto found = spelling->find(document, node);
    input.misspelt.insert(input.misspelt.end(), std::move_iterator(found.begin()),
                          std::move_iterator(found.end()));
  }
  if (dialect::is_kueue_config(version->text(), name->text())) {
    if (input.kueue) return bad(node, "a second Configuration of Kueue");
    BERTH_ASSIGN(input.kueue, dialect::read_kueue_config(document, node));
    return {};
  }
  const auto kind = dialect::kind_of(version->text(), name->text());
  if (!kind) {
    ++input.unread[fmt::format("{} ({})", name->text(), version->text())];
    return {};
  }
  if (input.objects.size() >= kMostObjects) {
    return fail(ErrorCode::kExhausted, "more than {} objects", kMostObjects);
  }
  auto decoded = dialect::decode(document, node, *kind, {});
  if (!decoded) {
    note_unreadable(node, *kind, decoded.error().message, input);
    return tl::unexpected<Error>(std::move(decoded).error());
  }
  dialect::Object object = std::move(*decoded);
  using dialect::Kind;
  if (*kind == Kind::kCohort || *kind == Kind::kQueue || *kind == Kind::kVolcanoQueue ||
      *kind == Kind::kKaiQueue)
    input.queues.insert_or_assign(dialect::describe(*kind, "", dialect::meta_of(object).name),
                                  document.place(node));
  input.objects.push_back(std::move(object));
  return {};
}

Status read_file(const std::string& path, std::uint64_t max_document, const dialect::Misspellings* spelling,
                 PlanInput& input) {
  text::SourceLimits limits;
  limits.max_bytes = kMostBytes;
  BERTH_ASSIGN(auto source, text::ByteSource::open(path, limits));
  constexpr std::size_t kBeginning = 1024;
  BERTH_ASSIGN(const auto beginning, source.peek(kBeginning));
  if (observe::begins_decision_log(beginning)) {
    input.log = std::move(source);
    return {};
  }
  text::Limits bounds;
  bounds.max_bytes = kMostBytes;
  bounds.max_document_bytes = max_document;
  bounds.max_nodes = std::max<std::uint64_t>(bounds.max_nodes, max_document / 16);
  text::DocumentReader reader(source, bounds);
  for (;;) {
    auto document = reader.next();
    if (!document) {
      BERTH_TRY(leave_out(document.error(), input));
      if (!reader.resume()) return {};
      continue;
    }
    if (!*document) return {};
    if (auto added = add_object(**document, (*document)->root(), spelling, input, 0); !added)
      BERTH_TRY(leave_out(std::move(added).error(), input));
  }
}

bool is_manifest(const fs::path& path) {
  const auto ext = path.extension();
  return (ext == ".yaml" || ext == ".yml" || ext == ".json") && path.filename() != "expect.yaml";
}

}  // namespace

Status read_manifests(const std::string& path, const std::vector<std::string>& except,
                      std::uint64_t max_document, const dialect::Misspellings* spelling, PlanInput& input) {
  std::error_code error;
  if (path == "-" || !fs::is_directory(path, error)) return read_file(path, max_document, spelling, input);
  std::vector<std::string> files;
  for (auto it = fs::recursive_directory_iterator(path, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error) && is_manifest(it->path())) files.push_back(it->path().string());
  }
  if (error) return fail(ErrorCode::kNotFound, "{}: {}", path, error.message());
  if (files.empty())
    return fail(ErrorCode::kNotFound, "{}: no *.yaml, *.yml or *.json file in this folder", path);
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string canonical = fs::weakly_canonical(file, error).string();
    if (std::find(except.begin(), except.end(), canonical) != except.end()) continue;
    BERTH_TRY(read_file(file, max_document, spelling, input));
  }
  return {};
}

void name_generated(std::vector<PlanInput*> inputs) {
  std::set<std::tuple<dialect::Kind, std::string, std::string>> taken;
  for (const PlanInput* input : inputs) {
    for (const auto& object : input->objects) {
      const auto& meta = dialect::meta_of(object);
      taken.emplace(dialect::kind_of(object), meta.ns, meta.name);
    }
  }
  std::map<std::tuple<dialect::Kind, std::string, std::string>, std::int64_t> numbers;
  for (PlanInput* input : inputs) {
    for (auto& object : input->objects) {
      const auto kind = dialect::kind_of(object);
      std::visit(
          [&](auto& value) {
            dialect::Meta& meta = value.meta;
            if (!meta.name.empty() || meta.generate_name->empty()) return;
            std::int64_t& number = numbers[{kind, meta.ns, *meta.generate_name}];
            do {
              meta.name = fmt::format("{}{}", *meta.generate_name, ++number);
            } while (!taken.emplace(kind, meta.ns, meta.name).second);
            if (meta.uid.empty()) meta.uid = dialect::manifest_uid(kind, meta.ns, meta.name);
          },
          object);
    }
  }
}

}  // namespace berth::cli
