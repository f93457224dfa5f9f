#include "scheduler/read/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "dialect/base/kind.h"
#include "dialect/gangs/gangs.h"
#include "dialect/objects/decode.h"
#include "dialect/objects/gang_systems.h"
#include "kube/api_status.h"
#include "kube/discovery.h"
#include "kube/object_reader.h"
#include "kube/paths.h"

namespace berth::scheduler {
namespace {

constexpr int kMostBeginnings = 3;  // of one list whose pages expire
constexpr DurationMs kLongestPause = 30 * kSecond;

class Reader {
 public:
  Reader(kube::Transport& transport, const SnapshotOptions& options)
      : transport_(transport), options_(options) {}

  Status list(const dialect::KindInfo& source, std::string_view version) {
    const std::string_view ns = source.namespaced ? std::string_view(options_.ns) : std::string_view();
    return list_all({source, kube::ResourcePath{source.group, version, source.resource}.collection(ns),
                     source.field_selector});
  }

  // The pods that have ended and are members of gangs.
  Status list_ended() {
    std::set<std::string> namespaces;
    for (const dialect::Object& object : out_.objects) {
      const auto* pod = std::get_if<dialect::Pod>(&object);
      if (pod != nullptr && is_member(*pod)) namespaces.insert(pod->meta.ns);
    }
    if (namespaces.size() > kMostEndedLists) namespaces = {options_.ns};
    const dialect::KindInfo& pods = dialect::info_of(dialect::Kind::kPod);
    for (const std::string& ns : namespaces)
      BERTH_TRY(list_all({pods, kube::kPods.collection(ns), dialect::kEndedPods, true}));
    return {};
  }

  void note_unserved(dialect::Kind kind) { out_.unserved.push_back(kind); }
  Snapshot take() { return std::move(out_); }
  bool has_nodes() const { return has_nodes_; }

 private:
  struct List {
    const dialect::KindInfo& source;
    std::string path;
    std::string_view selector;  // of fields
    bool members = false;       // of gangs alone
  };

  static bool is_member(const dialect::Pod& pod) {
    const auto gang = dialect::membership_of(pod, dialect::gang_named_by(pod.meta), nullptr).kind;
    return gang == dialect::GangKind::kPodGroup || gang == dialect::GangKind::kSized;
  }

  Status list_all(const List& what) {
    std::uint32_t page = options_.page;
    for (int beginning = 1;; ++beginning, page *= 4) {  // larger pages end sooner
      const std::size_t objects = out_.objects.size();
      const std::size_t unread = out_.unread.size();
      BERTH_ASSIGN(const bool whole, list_pages(what, page));
      if (whole) return {};
      if (beginning == kMostBeginnings)
        return fail(ErrorCode::kUnavailable,
                    "LIST {}: its pages expired {} times before the last one was read", what.path,
                    kMostBeginnings);
      out_.objects.erase(out_.objects.begin() + static_cast<std::ptrdiff_t>(objects), out_.objects.end());
      out_.unread.resize(unread);
    }
  }

  // False: what its pages are of is forgotten by the server, or is to be read in JSON.
  Result<bool> list_pages(const List& what, std::uint32_t page) {
    const auto& [source, path, selector, members] = what;
    std::string token;
    do {
      kube::Request request;
      request.path = fmt::format("{}?limit={}", path, page);
      if (!selector.empty()) request.path += "&fieldSelector=" + kube::escape(selector);
      if (!token.empty()) request.path += "&continue=" + kube::escape(token);
      if (source.binary && binary_) request.accept = kube::Accept::kBinary;
      request.timeout = 2 * kMinute;
      request.max_response = options_.max_page;
      kube::Response response = call(request);
      if (response.status == 410 && !token.empty()) return false;
      if (response.status == 403 && options_.partial) {
        out_.refused.push_back(source.kind);
        return true;
      }
      if (!response.ok()) return tl::unexpected<Error>(refused(source, path, response));
      const auto item = [&](const kube::ListItem& one) { return add(what, one.object); };
      auto read = reader_.page(response.form, response.body, item);
      if (!read) {
        if (read.error().code == ErrorCode::kExhausted) return tl::unexpected<Error>(read.error());
        if (response.form == kube::Form::kBinary) {
          binary_ = false;
          return false;
        }
        return fail(ErrorCode::kUnavailable, "LIST {}: {}", path, read.error().message);
      }
      if (options_.progress) options_.progress(source.kind, out_.objects.size());
      token = std::move(read->next);
    } while (!token.empty());
    return true;
  }

  kube::Response call(const kube::Request& request) {
    DurationMs pause = options_.first_pause;
    for (int retry = 0;; ++retry) {
      kube::Response response = transport_.call(request);
      const bool passing = response.status == 0 || response.status == 429 || response.status >= 500;
      if (!passing || retry >= options_.retries) return response;
      const DurationMs wait = std::min(std::max(pause, response.retry_after), kLongestPause);
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  Error refused(const dialect::KindInfo& source, const std::string& path,
                const kube::Response& response) const {
    Error error = kube::response_error("LIST " + path, response);
    if (response.status == 403) {
      error.message += fmt::format(
          " (what is needed: the verb list on {}{}{} in {}, as in the ClusterRole of "
          "deploy/plan.yaml)",
          source.resource, source.group.empty() ? "" : " of ", source.group,
          options_.ns.empty() || !source.namespaced ? "all namespaces" : options_.ns);
    }
    return error;
  }

  Status add(const List& what, std::string_view object) {
    const dialect::Kind kind = what.source.kind;
    if (out_.objects.size() >= options_.max_objects)
      return fail(ErrorCode::kExhausted, "the cluster has more than {} objects", options_.max_objects);
    auto decoded = decoder_.decode(object, kind, true);
    if (!decoded) {
      out_.unread.push_back(decoded.error().str());
      return {};
    }
    if (what.members && !is_member(std::get<dialect::Pod>(*decoded))) return {};
    const std::string_view problem = dialect::problem_of(*decoded);
    if (dialect::owner_kind(kind) != nullptr && !problem.empty()) {
      const dialect::Meta& meta = dialect::meta_of(*decoded);
      out_.unread.push_back(fmt::format("{}: {}", dialect::describe(kind, meta.ns, meta.name), problem));
      return {};
    }
    has_nodes_ = has_nodes_ || kind == dialect::Kind::kNode;
    if (options_.seen) options_.seen(*decoded, object);
    out_.objects.push_back(std::move(*decoded));
    return {};
  }

  kube::Transport& transport_;
  const SnapshotOptions& options_;
  kube::ObjectReader reader_{0};  // of lists only
  dialect::JsonDecoder decoder_;
  Snapshot out_;
  bool has_nodes_ = false;
  bool binary_ = true;  // asked for, where a kind has it
};

}  // namespace

Result<Snapshot> take_snapshot(kube::Transport& transport, const SnapshotOptions& options) {
  kube::Discovery discovery(transport);
  BERTH_TRY(discovery.refresh());
  const auto served = discovery.served();
  Reader reader(transport, options);
  const auto wanted = [&](dialect::Kind kind) {
    return options.kinds.empty() ||
           std::find(options.kinds.begin(), options.kinds.end(), kind) != options.kinds.end();
  };
  for (const dialect::KindInfo& source : dialect::kinds()) {
    if (!wanted(source.kind)) continue;
    // With nodes, requests for more nodes are no part of a plan.
    if (source.kind != dialect::Kind::kWorkload && source.of_workloads && reader.has_nodes()) continue;
    const std::string_view version = served->version_of(source.group, source.resource);
    if (!version.empty()) {
      BERTH_TRY(reader.list(source, version));
    } else if (source.vital) {
      return fail(ErrorCode::kUnsupported, "{} does not serve {}, without which nothing can be planned",
                  transport.config().server, source.resource);
    } else {
      reader.note_unserved(source.kind);
    }
  }
  if (options.kinds.empty()) BERTH_TRY(reader.list_ended());
  return reader.take();
}

}  // namespace berth::scheduler
