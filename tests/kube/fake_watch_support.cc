// Watches of FakeApiServer: from a version, from the state of now, as a streaming list; with faults.
#include <array>
#include <chrono>
#include <cstdio>

#include "kube/fake_api_server_support.h"
#include "kube/fake_parts_support.h"
#include "kube/protobuf_support.h"

namespace berth::kube::testing {

bool FakeApiServer::watch(const HttpRequest& request, const Route& route, HttpResponse& response,
                          HttpConnection& connection) {
  Store& store = *store_;
  const auto query = [&](const char* name) {
    const auto it = request.query.find(name);
    return it == request.query.end() ? std::string() : it->second;
  };
  const bool bookmarks = query("allowWatchBookmarks") == "true";
  bool initial = options_.knows_streaming_lists && query("sendInitialEvents") == "true";
  const Selector selector(query("fieldSelector"), query("labelSelector"));
  const std::string from = query("resourceVersion");
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::seconds(query("timeoutSeconds").empty() ? 1800 : std::stol(query("timeoutSeconds")));

  std::unique_lock lock(store.mutex);
  if (initial && !store.streaming_lists) {
    refuse(response, 422, "Invalid",
           "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
    return true;
  }
  if (initial && (query("resourceVersionMatch") != "NotOlderThan" || !bookmarks)) {
    refuse(response, 422, "Invalid",
           "sendInitialEvents needs resourceVersionMatch=NotOlderThan and bookmarks");
    return true;
  }
  const std::int64_t wanted = from.empty() || from == "0" ? -1 : std::stoll(from);
  if (wanted > store.rv()) {
    refuse(response, 504, "Timeout", "Too large resource version", "ResourceVersionTooLarge");
    return true;
  }
  std::vector<std::string> out;
  const std::string kind = binary_kind(request, route);
  const auto line = [&](const std::string& type, const Json& object) {
    if (!kind.empty()) {
      std::string frame = binary_frame(type, object, type == "ERROR" ? "Status" : kind);
      if (options_.broken_binary) frame.back() = '\x7f';
      return frame;
    }
    return R"({"type":")" + type + R"(","object":)" + object.dump() + "}\n";
  };
  const auto bookmark = [&](bool end) {
    Json object{
        {"kind", "Bookmark"},
        {"apiVersion", route.api_version},
        {"metadata", {{"resourceVersion", std::to_string(store.rv())}, {"creationTimestamp", nullptr}}}};
    if (end) object["metadata"]["annotations"] = Json{{"k8s.io/initial-events-end", "true"}};
    return line("BOOKMARK", object);
  };
  bool expired = wanted >= 0 && wanted < store.oldest();
  std::uint64_t position = wanted >= 0 ? store.position_after(wanted) : store.position();
  if (wanted < 0) {
    for (const auto& object : store.list(route.table, route.ns)) {
      if (selector.matches(*object)) out.push_back(line("ADDED", *object));
    }
    if (initial) out.push_back(bookmark(true));
  }
  const int end_epoch = store.end_epoch;
  const int cut_epoch = store.cut_epoch;
  const int error_epoch = store.error_epoch;
  auto next_bookmark = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.bookmark_ms);
  store.open_watches.fetch_add(1);
  lock.unlock();
  const std::string content_type = kind.empty() ? "application/json" : kBinaryType + ";stream=watch";
  bool open = connection.send("HTTP/1.1 200 OK\r\nContent-Type: " + content_type +
                              "\r\nTransfer-Encoding: chunked\r\n\r\n");
  const auto send_chunk = [&](std::string_view bytes) {
    std::array<char, 24> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
    std::string frame = size.data();
    frame.append(bytes).append("\r\n");
    return connection.send(frame);
  };
  lock.lock();
  bool good_order = false;
  while (open && !connection.stopping()) {
    while (const StoreEvent* event = store.at(position)) {
      ++position;
      if (event->table != route.table || (!route.ns.empty() && event->ns != route.ns)) continue;
      const bool was = event->before != nullptr && selector.matches(*event->before);
      const bool is = event->type != "DELETED" && selector.matches(*event->after);
      if (is) {
        out.push_back(line(was ? "MODIFIED" : "ADDED", *event->after));
      } else if (was) {
        Json last = *event->before;
        last["metadata"]["resourceVersion"] = std::to_string(event->rv);
        out.push_back(line("DELETED", last));
      }
    }
    if (store.lost(position)) expired = true;
    if (out.empty() && bookmarks && std::chrono::steady_clock::now() >= next_bookmark) {
      out.push_back(bookmark(false));
      next_bookmark = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.bookmark_ms);
    }
    if (store.error_epoch != error_epoch) {
      out.push_back(line("ERROR", status_json(store.error_code, reason_of(store.error_code), "injected")));
      good_order = true;
    } else if (expired) {
      out.push_back(line("ERROR", status_json(410, "Expired", "too old resource version")));
      good_order = true;
    }
    const bool cut = store.cut_epoch != cut_epoch && !out.empty();
    const std::size_t piece = store.chunk;
    lock.unlock();
    for (const std::string& text : out) {
      if (!open) break;
      if (cut) {
        open = send_chunk(std::string_view(text).substr(0, text.size() / 2));
        open = false;
      } else if (piece == 0) {
        open = send_chunk(text);
      } else {
        for (std::size_t at = 0; at < text.size() && open; at += piece) {
          open = send_chunk(std::string_view(text).substr(at, piece));
        }
      }
    }
    out.clear();
    lock.lock();
    if (!open || good_order || connection.peer_gone()) break;
    if (store.end_epoch != end_epoch || std::chrono::steady_clock::now() >= deadline) {
      good_order = true;
      break;
    }
    if (store.at(position) == nullptr) {
      store.changed.wait_for(lock, std::chrono::milliseconds(std::min(options_.bookmark_ms, 20)));
    }
  }
  lock.unlock();
  if (good_order) connection.send("0\r\n\r\n");
  store.open_watches.fetch_sub(1);
  return false;
}

}  // namespace berth::kube::testing
