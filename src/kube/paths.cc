#include "kube/paths.h"

namespace berth::kube {

namespace {

void append_escaped(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

std::string ResourcePath::collection(std::string_view ns) const {
  std::string out;
  out.reserve(64 + group.size() + ns.size());
  if (group.empty()) {
    out += "/api/";
  } else {
    out += "/apis/";
    out += group;
    out += '/';
  }
  out += version;
  if (!ns.empty()) {
    out += "/namespaces/";
    append_escaped(out, ns);
  }
  out += '/';
  out += resource;
  return out;
}

std::string ResourcePath::object(std::string_view ns, std::string_view name,
                                 std::string_view subresource) const {
  std::string out = collection(ns);
  out += '/';
  append_escaped(out, name);
  if (!subresource.empty()) {
    out += '/';
    out += subresource;
  }
  return out;
}

}  // namespace berth::kube
