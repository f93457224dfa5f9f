#include "cli/ask/board.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/base/show.h"
#include "kube/api_status.h"
#include "kube/paths.h"
#include "kube/transport.h"
#include "kube/url.h"
#include "text/document.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostWords = 300;  // of an answer that is none
constexpr text::Limits kStoryLimits{.max_depth = 64, .max_nodes = 200'000, .max_document_bytes = 16 << 20};

ReasonTree read_tree(const text::Node& node) {
  ReasonTree out;
  if (const text::Node* code = node.find("code")) out.code = code->text();
  if (const text::Node* text = node.find("text")) out.text = printable(text->text());
  if (const text::Node* children = node.find("children")) {
    for (const text::Node& child : children->items()) out.children.push_back(read_tree(child));
  }
  return out;
}

}  // namespace

void add_board_flags(CLI::App& command, BoardFlags& flags) {
  command.add_option("--server", flags.server,
                     "Address of the dashboard, asked for the tree of reasons: https://HOST:PORT with your "
                     "token, or http://127.0.0.1:PORT of a forwarded port");
  command.add_option("--server-ca", flags.authority, "File with the authority of its certificate, in PEM");
}

Result<kube::ClusterConfig> board_config(const BoardFlags& flags, const kube::ClusterConfig& user) {
  const auto url = kube::parse_url(flags.server);
  if (!url) return fail(ErrorCode::kInvalid, "--server: {}", url.error().message);
  kube::ClusterConfig out;
  out.source = "--server";
  out.server = flags.server;
  while (out.server.ends_with('/')) out.server.pop_back();
  if (flags.server.starts_with("http://")) {
    if (!url->loopback()) {
      return fail(ErrorCode::kInvalid,
                  "--server {}: your token is sent over https:// only; http:// is for a forwarded port of "
                  "this machine",
                  flags.server);
    }
    return out;
  }
  out.ca.file = flags.authority;
  out.token = user.token;
  out.exec = user.exec;
  if (out.token.empty() && !out.exec) {
    return fail(ErrorCode::kInvalid,
                "--server {}: context {} has no token, and the dashboard knows users by tokens. Make one: "
                "kubectl create token",
                flags.server, user.context);
  }
  return out;
}

Result<ReasonTree> ask_board_why(const BoardFlags& flags, const kube::ClusterConfig& user,
                                 const std::string& name) {
  BERTH_ASSIGN(const auto config, board_config(flags, user));
  BERTH_ASSIGN(const auto transport, kube::Transport::create(config));
  kube::Request request;
  request.path = "/api/v1/workloads/" + kube::escape(name);
  request.timeout = 10 * kSecond;
  request.max_response = kStoryLimits.max_document_bytes;
  kube::Response response = transport->call(std::move(request));
  if (!response.ok()) {
    Error error = kube::response_error(flags.server, response);
    error.message += ": " + cut(printable(response.body), kMostWords);
    return tl::unexpected<Error>(std::move(error));
  }
  BERTH_ASSIGN(const auto document, text::parse_json(std::move(response.body), flags.server, kStoryLimits));
  const text::Node* reason = document.root().at({"verdict", "reason"});
  if (reason == nullptr)
    return fail(ErrorCode::kUnsupported, "{} is no dashboard of this version: its answer has no verdict",
                flags.server);
  return read_tree(*reason);
}

}  // namespace berth::cli
