#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "dialect/owners/declared/declaration.h"
#include "text/fields.h"
#include "text/json.h"

namespace berth::dialect {

std::string FieldPath::text() const {
  return fmt::format("{}{}", of_set ? "." : "", fmt::join(keys, "."));
}

std::string FieldPath::pointer_text() const {
  std::string out;
  for (const std::string& key : keys) out += "/" + pointer(key);
  return out;
}

namespace {

constexpr std::string_view kListVersion = "berth.dev/v1alpha1";
constexpr std::string_view kListKind = "OwnerKinds";
constexpr std::size_t kMostKeys = 16;
constexpr std::int64_t kMostOfNumber = 1'000'000;

bool is_path_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// nullopt: it is no path.
std::optional<FieldPath> parse_path(std::string_view text) {
  FieldPath out;
  if (text.starts_with('.')) {
    out.of_set = true;
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const auto end = std::min(text.find('.'), text.size());
    const std::string_view key = text.substr(0, end);
    if (key.empty() || !std::all_of(key.begin(), key.end(), is_path_letter)) return std::nullopt;
    out.keys.emplace_back(key);
    text.remove_prefix(end);
    if (text == ".") return std::nullopt;
    if (!text.empty()) text.remove_prefix(1);
  }
  if (out.keys.empty() || out.keys.size() > kMostKeys) return std::nullopt;
  return out;
}

// `in_set`: the path may start at the pod set.
FieldPath path_at(text::Fields& f, std::string_view key, bool in_set) {
  const std::string text = f.string_or(key);
  if (text.empty()) return {};
  const auto path = parse_path(text);
  if (!path) {
    f.error(key, "\"{}\" is no path: write names of fields with dots between them, such as spec.suspend",
            text);
    return {};
  }
  if (path->of_set && !in_set)
    f.error(key, "\"{}\" begins with a dot, but starts at the object: write {}", text, text.substr(1));
  return *path;
}

StateRule read_rule_of(text::Fields& f, bool in_set) {
  StateRule out;
  out.conditions = f.strings("conditions");
  out.at = path_at(f, "at", in_set);
  if (std::string annotation = f.string_or("annotation"); !annotation.empty()) {
    if (!out.at.empty()) f.error("annotation", "at says where: leave out one of them");
    out.at = {{"metadata", "annotations", std::move(annotation)}, false};
  }
  out.words = f.strings("words");
  out.absent = f.boolean_or("absent", false);
  out.present = f.boolean_or("present", false);
  if (out.empty()) {
    f.error("at",
            "is required: the path of a field, with the words that count; or conditions: types in "
            "status.conditions");
  } else if (out.at.empty() != (out.words.empty() && !out.absent && !out.present)) {
    f.error(out.at.empty() ? "at" : "words",
            "is required: at says where, and words what must stand there; or absent: true, or present: true");
  } else if (out.present && (out.absent || !out.words.empty())) {
    f.error("present", "says that anything may stand there: leave out words and absent");
  }
  return out;
}

StateRule read_rule(text::Fields& parent, std::string_view key) {
  text::Fields f = parent.optional_child(key);
  if (!f) return {};
  StateRule out = read_rule_of(f, false);
  (void)f.done();
  return out;
}

// A rule, or a list of them.
std::vector<StateRule> read_rules(text::Fields& parent, std::string_view key, bool in_set) {
  std::vector<StateRule> out;
  const text::Node* node = parent.find(key);
  if (node == nullptr) return out;
  if (node->is_sequence()) {
    parent.each(key, [&](text::Fields& item) { out.push_back(read_rule_of(item, in_set)); });
  } else {
    text::Fields f = parent.child(key);
    out.push_back(read_rule_of(f, in_set));
    (void)f.done();
  }
  return out;
}

DeclaredNumber read_number_of(text::Fields& f) {
  DeclaredNumber out;
  out.at = path_at(f, "at", true);
  if (out.at.empty()) f.error("at", "is required: the path of the number, such as .replicas");
  out.otherwise = f.integer_or("otherwise", 1, 0, kMostOfNumber);
  out.least = path_at(f, "least", true);
  out.most = path_at(f, "most", true);
  return out;
}

// An integer, a path, or a mapping of both.
DeclaredNumber read_number(text::Fields& f, std::string_view key, std::int64_t otherwise) {
  const text::Node* node = f.find(key);
  if (node == nullptr) return {{}, otherwise, {}, {}};
  if (node->is_mapping()) {
    text::Fields child = f.child(key);
    DeclaredNumber out = read_number_of(child);
    (void)child.done();
    return out;
  }
  if (node->as_int()) return {{}, f.integer(key, 0, kMostOfNumber), {}, {}};
  return {path_at(f, key, true), 1, {}, {}};
}

void read_set_numbers(text::Fields& f, DeclaredSet& out) {
  out.count = read_number(f, "count", 1);
  f.each("times", [&](text::Fields& item) { out.times.push_back(read_number_of(item)); });
  out.less = f.integer_or("less", 0, 0, kMostOfNumber);
  out.minimum = path_at(f, "minimum", true);
  out.minimum_when = read_rule(f, "minimumWhen");
  if (out.minimum.empty() && !out.minimum_when.empty())
    f.error("minimumWhen", "says when minimum counts, and there is no minimum");
  out.when = read_rules(f, "when", true);
  out.later = f.boolean_or("later", false);
  out.later_when = read_rules(f, "laterWhen", false);
}

DeclaredContainer read_added(text::Fields& f, const std::shared_ptr<const text::Document>& document) {
  DeclaredContainer out;
  out.name = f.string("name");
  out.init = f.boolean_or("init", false);
  out.when = read_rule(f, "when");
  out.resources_at = path_at(f, "resourcesAt", false);
  out.document = document;
  out.own = &f.node();
  if (f.find("resources") == nullptr) f.error("resources", "is required: what the container asks for");
  return out;
}

DeclaredAvoidance read_avoidance(text::Fields& f) {
  DeclaredAvoidance out;
  out.resource = f.string("resource");
  out.nodes.key = f.string("label");
  out.nodes.op = SelectorOp::kNotIn;
  out.nodes.values = f.strings("values");
  if (out.nodes.values.empty()) f.error("values", "is required: the label's values on nodes that it avoids");
  out.weight = f.integer_or("weight", 0, 1, 100);
  return out;
}

DeclaredSet read_set(text::Fields& f, const std::shared_ptr<const text::Document>& document) {
  static constexpr text::Choice<PodForm> kForms[] = {{"template", PodForm::kTemplate},
                                                     {"spark", PodForm::kSpark}};
  DeclaredSet out;
  out.name = f.string_or("name");
  out.name_at = path_at(f, "nameAt", true);
  out.each = f.has("each");
  out.at = path_at(f, out.each ? "each" : "at", false);
  if (out.each && f.has("at")) f.error("at", "each says where the list stands: leave out at");
  if (out.each && out.name_at.empty())
    f.error("nameAt", "is required: the path of an entry's name, such as .name");
  if (!out.each && out.name.empty()) f.error("name", "is required: of the pod set");
  out.optional = f.boolean_or("optional", out.each);
  out.form = f.choice_or("form", kForms, PodForm::kTemplate);
  out.pod_template = path_at(f, "template", true);
  if (out.pod_template.empty()) {
    out.pod_template.keys = {"template"};
    out.pod_template.of_set = true;
  } else if (out.form != PodForm::kTemplate) {
    f.error("template", "its place is all that a set of another form has: leave out template");
  }
  out.template_or = path_at(f, "templateOr", true);
  if (f.find("defaultTemplate") != nullptr) out.default_template = DefaultTemplate{document, &f.node()};
  f.each("adds", [&](text::Fields& item) { out.adds.push_back(read_added(item, document)); });
  read_set_numbers(f, out);
  out.labels = f.string_map("labels");
  out.index = f.string_or("index");
  return out;
}

void read_sets(text::Fields& f, const std::shared_ptr<const text::Document>& document, Declaration& out) {
  out.sets_below = f.boolean_or("podsOfOwned", false);
  f.each("pods", [&](text::Fields& item) { out.sets.push_back(read_set(item, document)); });
  if (text::Fields objects = f.optional_child("podsOfObjects")) {
    out.objects.each = path_at(objects, "each", false);
    out.objects.at = path_at(objects, "at", true);
    if (out.objects.each.empty()) objects.error("each", "is required: the path of the list");
    if (out.objects.at.empty() || !out.objects.at.of_set)
      objects.error("at", "is required: where the object stands in an entry, such as .template");
    objects.each("avoids", [&](text::Fields& item) { out.objects.avoids.push_back(read_avoidance(item)); });
    (void)objects.done();
  }
  const bool of_others = out.sets_below || out.objects.any();
  if (of_others != out.sets.empty() || (out.sets_below && out.objects.any())) {
    f.error("pods", "{}",
            of_others ? "podsOfOwned and podsOfObjects say that others have its pods: leave out pods, and "
                        "write one of them"
                      : "is required: where the pod templates stand");
  }
  for (std::size_t s = 0; s + 1 < out.sets.size(); ++s) {
    if (out.sets[s].labels.empty())
      f.error(
          "pods",
          "[{}].labels: is required: labels by which a pod is of {}. Only the last of several may lack them",
          s, out.sets[s].name.empty() ? "this list" : out.sets[s].name);
  }
}

void read_identity(text::Fields& f, Declaration& out) {
  const std::string version = f.string("apiVersion");
  const auto slash = version.find('/');
  if (!version.empty() && (slash == std::string::npos || slash == 0 || slash + 1 == version.size())) {
    f.error("apiVersion", "\"{}\": write group and version, such as ray.io/v1", version);
  } else if (!version.empty()) {
    out.group = version.substr(0, slash);
    out.version = version.substr(slash + 1);
  }
  out.word = f.string("kind");
  out.resource = f.string("resource");
  if (std::any_of(out.resource.begin(), out.resource.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    f.error("resource", "\"{}\": write its plural in small letters, as in the URL, such as rayclusters",
            out.resource);
  out.description = f.string_or("description");
}

Declaration read_kind(text::Fields& f, const std::shared_ptr<const text::Document>& document) {
  static constexpr text::Choice<WorkloadKind> kWorks[] = {{"batch", WorkloadKind::kBatch},
                                                          {"training", WorkloadKind::kTraining},
                                                          {"interactive", WorkloadKind::kInteractive},
                                                          {"service", WorkloadKind::kService}};
  static constexpr text::Choice<bool> kGangs[] = {{"queued", true}, {"named", false}};
  Declaration out;
  out.source = text::to_json(f.node());
  read_identity(f, out);
  out.work = f.choice_or("work", kWorks, WorkloadKind::kBatch);
  out.gang = f.choice_or("gang", kGangs, true);
  out.further_are_gangs = f.boolean_or("furtherAreGangs", false);
  out.suspend = path_at(f, "suspend", false);
  out.suspend_when = read_rules(f, "suspendWhen", false);
  if (out.suspend.empty() && !out.suspend_when.empty())
    f.error("suspendWhen", "says when suspend may be set, and there is no suspend");
  out.suspends_below = f.boolean_or("suspendOwned", false);
  if (out.suspend.empty() && out.suspends_below)
    f.error("suspendOwned", "says that what it makes is suspended with it, and there is no suspend");
  out.pods_within = f.duration_or("podsWithin", 0, kSecond, kHour);
  if (out.suspend.empty() && out.pods_within != 0)
    f.error("podsWithin", "is the time after its release, and there is no suspend");
  if (text::Fields managed = f.optional_child("managedBy")) {
    out.managed_by = path_at(managed, "at", false);
    out.own_controllers = managed.strings("own");
    if (out.managed_by.empty()) managed.error("at", "is required: a path, such as spec.managedBy");
    (void)managed.done();
  }
  out.minimum = path_at(f, "minimum", false);
  out.queue = path_at(f, "queue", false);
  out.priority_class = path_at(f, "priorityClass", false);
  out.completed = read_rule(f, "completed");
  out.failed = read_rule(f, "failed");
  out.ready = read_rule(f, "ready");
  if (text::Fields groups = f.optional_child("groups")) {
    out.groups.owner = groups.string("owner");
    out.groups.group = groups.string("group");
    out.groups.count = read_number(groups, "count", 1);
    if (text::Fields exclusive = groups.optional_child("exclusive")) {
      out.groups.exclusive.mark = exclusive.string("annotation");
      out.groups.exclusive.key = exclusive.string("key");
      out.groups.exclusive.unsupported = exclusive.strings("unsupported");
      (void)exclusive.done();
    }
    if (!out.suspend.empty())
      groups.error("owner", "a kind with groups cannot have suspend: its groups start and end one by one");
    (void)groups.done();
  }
  out.named_by = f.string_or("podsOfPods");
  read_sets(f, document, out);
  return out;
}

}  // namespace

Result<std::vector<Declaration>> read_declarations(const std::shared_ptr<const text::Document>& document) {
  std::vector<Declaration> out;
  text::Fields f(*document, document->root());
  const std::string version = f.string("apiVersion");
  const std::string kind = f.string("kind");
  if (f.ok() && (version != kListVersion || kind != kListKind)) {
    f.error(version == kListVersion ? "kind" : "apiVersion",
            "a file of kinds has apiVersion: {} and kind: {}", kListVersion, kListKind);
  }
  f.each("kinds", [&](text::Fields& item) { out.push_back(read_kind(item, document)); });
  if (f.ok() && out.empty()) f.error("kinds", "is required: a list of kinds");
  BERTH_TRY(f.done());
  return out;
}

}  // namespace berth::dialect
