#include "dialect/write/admission_review.h"

#include <openssl/evp.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "dialect/base/names.h"
#include "text/document.h"
#include "text/fields.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kReview = "AdmissionReview";
constexpr std::string_view kScheduler = "berth";
constexpr text::Limits kLimits{
    .max_depth = 64, .max_nodes = 1'000'000, .max_document_bytes = kMostReviewBytes};

// The patch of the object; nothing if it stays as it is.
struct Change {
  bool suspend = false;
  std::string_view
      scheduler_name_at;  // JSON pointer of spec.schedulerName of the pod or the template; "" = leave
  bool any() const { return suspend || !scheduler_name_at.empty(); }
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Labels only, as in the policy: annotations name queues too, but such work says itself whose it is.
bool names_a_queue(text::Fields& object) {
  auto meta = object.optional_child("metadata");
  const auto labels = meta.mapping("labels");
  return std::any_of(labels.begin(), labels.end(), [](const text::Entry& label) {
    return label.name() == kKueueQueue || label.name() == kBerthQueue;
  });
}

// By another controller than a CronJob.
bool is_made_by_a_controller(text::Fields& object) {
  auto meta = object.optional_child("metadata");
  bool made = false;
  meta.each("ownerReferences", [&](text::Fields& owner) {
    const bool controller = owner.boolean_or("controller", false);
    if (owner.string_or("kind") != "CronJob") made = made || controller;
  });
  return made;
}

Change change_of_job(text::Fields& object) {
  Change out;
  if (!names_a_queue(object)) return out;
  auto spec = object.child("spec");
  auto pod_template = spec.child("template");
  auto pod = pod_template.child("spec");
  const auto managed_by = spec.string_or("managedBy");
  const bool suspended = spec.boolean_or("suspend", false);
  const auto scheduler = pod.string_or("schedulerName");
  const bool made = is_made_by_a_controller(object);
  const bool ours = (!spec.has("managedBy") || managed_by == kJobController) && !made &&
                    is_one_of(scheduler, {"", "default-scheduler", kScheduler});
  if (!ours) return out;
  out.suspend = !suspended;
  if (scheduler != kScheduler) out.scheduler_name_at = "/spec/template/spec/schedulerName";
  return out;
}

Change change_of_pod(text::Fields& object) {
  Change out;
  if (!names_a_queue(object)) return out;
  auto spec = object.child("spec");
  if (is_one_of(spec.string_or("schedulerName"), {"", "default-scheduler"})) {
    out.scheduler_name_at = "/spec/schedulerName";
  }
  return out;
}

std::string patch_of(const Change& change) {
  text::JsonWriter json;
  json.begin_array();
  // "add" also replaces what stands there.
  if (change.suspend) {
    json.begin_object().field("op", "add").field("path", "/spec/suspend").field("value", true).end_object();
  }
  if (!change.scheduler_name_at.empty()) {
    json.begin_object().field("op", "add").field("path", change.scheduler_name_at);
    json.field("value", kScheduler).end_object();
  }
  json.end_array();
  return json.take();
}

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and the end that OpenSSL writes
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

ReviewAnswer allowed(std::string_view uid, const Change& change) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", kApiVersion).field("kind", kReview).key("response").begin_object();
  json.field("uid", uid).field("allowed", true);
  if (change.any()) json.field("patchType", "JSONPatch").field("patch", base64(patch_of(change)));
  json.end_object().end_object();
  return {change.any() ? ReviewOutcome::kChanged : ReviewOutcome::kUnchanged, 200, json.take()};
}

ReviewAnswer refused(std::string_view uid, std::string_view message) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", kApiVersion).field("kind", kReview).key("response").begin_object();
  json.field("uid", uid).field("allowed", false).key("status").begin_object();
  json.field("status", "Failure").field("reason", "Invalid").field("code", 422).field("message", message);
  json.end_object().end_object().end_object();
  return {ReviewOutcome::kRefused, 200, json.take()};
}

ReviewAnswer unreadable(std::string_view message) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", "v1").field("kind", "Status").field("status", "Failure");
  json.field("reason", "BadRequest").field("code", 400).field("message", message).end_object();
  return {ReviewOutcome::kUnreadable, 400, json.take()};
}

}  // namespace

ReviewAnswer answer_review(std::string review) {
  const auto document = text::parse_json(std::move(review), "AdmissionReview", kLimits);
  if (!document) return unreadable(document.error().str());
  text::Fields root(*document, document->root(), text::Unknown::kIgnore);
  const auto version = root.string_or("apiVersion");
  const auto kind = root.string_or("kind");
  if (root.ok() && (version != kApiVersion || kind != kReview)) {
    return unreadable(fmt::format(
        "expected a {} of {}, not kind \"{}\" of apiVersion \"{}\": list v1 in admissionReviewVersions",
        kReview, kApiVersion, kind, version));
  }
  auto request = root.child("request");
  const auto uid = request.string("uid");
  const auto operation = request.string("operation");
  auto resource = request.child("resource");
  const auto group = resource.string_or("group");
  const auto api = resource.string("version");
  const auto name = resource.string("resource");
  const bool whole = request.string_or("subResource").empty();
  if (!root.ok()) return unreadable(root.done().error().message);

  const bool job = group == "batch" && api == "v1" && name == "jobs";
  const bool pod = group.empty() && api == "v1" && name == "pods";
  if (operation != "CREATE" || !whole || (!job && !pod)) return allowed(uid, {});
  auto object = request.child("object");
  const Change change = job ? change_of_job(object) : change_of_pod(object);
  if (!root.ok()) return refused(uid, root.done().error().message);
  return allowed(uid, change);
}

}  // namespace berth::dialect
