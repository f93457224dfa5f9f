#include "kube/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "kube/clock.h"
#include "kube/secrets.h"
#include "text/document.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::kube {

namespace {

constexpr std::size_t kMaxOutput = 1 << 20;

std::string exec_info(const ExecPlugin& plugin, const ClusterConfig& config) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", plugin.api_version).field("kind", "ExecCredential");
  json.key("spec").begin_object().field("interactive", false);
  if (plugin.provide_cluster_info) {
    json.key("cluster").begin_object().field("server", config.server);
    if (!config.tls_server_name.empty()) json.field("tls-server-name", config.tls_server_name);
    if (config.insecure) json.field("insecure-skip-tls-verify", true);
    if (!config.proxy_url.empty()) json.field("proxy-url", config.proxy_url);
    json.end_object();
  }
  json.end_object().end_object();
  return json.take();
}

struct Ended {
  std::string output;
  int status = 0;
};

// The plugin gets the environment of this process with its own variables, which come last.
std::vector<std::string> environment_of(const ExecPlugin& plugin, const std::string& info) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("KUBERNETES_EXEC_INFO=")) out.emplace_back(*entry);
  }
  for (const auto& [name, value] : plugin.env) {
    std::erase_if(out, [&](const std::string& e) { return e.starts_with(name + "="); });
    out.push_back(name + "=" + value);
  }
  out.push_back("KUBERNETES_EXEC_INFO=" + info);
  return out;
}

struct Started {
  pid_t pid = 0;
  int out = -1;  // the end of the pipe that its output comes from
};

Result<Started> start_plugin(const ExecPlugin& plugin, const std::string& info) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::kExhausted, "exec plugin: no pipe: {}", std::generic_category().message(errno));
  }
  std::vector<std::string> environment = environment_of(plugin, info);
  std::vector<std::string> arguments = plugin.args;
  arguments.insert(arguments.begin(), plugin.command);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (auto& variable : environment) envp.push_back(variable.data());
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);  // so that its children can be ended with it
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  Started started;
  started.out = pipe_ends[0];
  const int spawned =
      posix_spawnp(&started.pid, plugin.command.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pipe_ends[1]);
  if (spawned != 0) {
    close(started.out);
    return fail(ErrorCode::kUnauthorized, "exec plugin {}: cannot be started: {}{}{}", plugin.command,
                std::generic_category().message(spawned), plugin.install_hint.empty() ? "" : "; ",
                plugin.install_hint);
  }
  return started;
}

// Reads the output until the plugin closes it. Why it must be killed; "": it need not.
std::string read_output(int out, std::int64_t due, DurationMs timeout, std::string& output) {
  std::array<char, 8192> buffer;
  for (;;) {
    const std::int64_t left = due - boottime_ms();
    pollfd readable{out, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&readable, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fmt::format("did not end within {} ms and was killed", timeout);
    const ssize_t n = read(out, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    output.append(buffer.data(), static_cast<std::size_t>(n));
    if (output.size() > kMaxOutput)
      return fmt::format("printed more than {} bytes and was killed", kMaxOutput);
  }
}

Result<Ended> run(const ExecPlugin& plugin, const std::string& info, DurationMs timeout) {
  BERTH_ASSIGN(const Started started, start_plugin(plugin, info));
  Ended outcome;
  const std::int64_t due = boottime_ms() + timeout;
  std::string problem = read_output(started.out, due, timeout, outcome.output);
  close(started.out);
  if (problem.empty()) {
    // It closed its output; it has until the deadline to end.
    while (waitpid(started.pid, &outcome.status, WNOHANG) == 0) {
      if (boottime_ms() >= due) {
        problem = fmt::format("did not end within {} ms and was killed", timeout);
        break;
      }
      poll(nullptr, 0, 2);
    }
  }
  if (!problem.empty()) {
    kill(-started.pid, SIGKILL);
    waitpid(started.pid, &outcome.status, 0);
    return fail(ErrorCode::kUnauthorized, "exec plugin {}: {}", plugin.command, problem);
  }
  return outcome;
}

std::string string_at(const text::Node& root, std::initializer_list<std::string_view> path) {
  const text::Node* node = root.at(path);
  return node != nullptr && node->is_scalar() ? std::string(node->text()) : std::string();
}

}  // namespace

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterConfig& config,
                                       DurationMs timeout) {
  BERTH_ASSIGN(Ended outcome, run(plugin, exec_info(plugin, config), timeout));
  if (!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != 0) {
    const std::string how = WIFEXITED(outcome.status)
                                ? fmt::format("exit code {}", WEXITSTATUS(outcome.status))
                                : fmt::format("signal {}", WTERMSIG(outcome.status));
    return fail(ErrorCode::kUnauthorized,
                "exec plugin {}: failed with {}; its own message is on standard error", plugin.command, how);
  }
  // The parser's own messages could quote the output, which is secret.
  const auto document = text::parse_document(std::move(outcome.output), plugin.command);
  if (!document) {
    return fail(ErrorCode::kUnauthorized, "exec plugin {}: did not print one ExecCredential as JSON",
                plugin.command);
  }
  const text::Node& root = document->root();
  if (string_at(root, {"kind"}) != "ExecCredential" ||
      string_at(root, {"apiVersion"}) != plugin.api_version) {
    return fail(ErrorCode::kUnauthorized,
                "exec plugin {}: printed kind or apiVersion other than ExecCredential {}", plugin.command,
                plugin.api_version);
  }
  ExecCredential credential;
  credential.token = string_at(root, {"status", "token"});
  credential.cert_pem = string_at(root, {"status", "clientCertificateData"});
  credential.key_pem = string_at(root, {"status", "clientKeyData"});
  if (credential.token.empty() && credential.cert_pem.empty()) {
    return fail(ErrorCode::kUnauthorized,
                "exec plugin {}: status has neither token nor clientCertificateData", plugin.command);
  }
  if (credential.cert_pem.empty() != credential.key_pem.empty()) {
    return fail(ErrorCode::kUnauthorized,
                "exec plugin {}: status.clientCertificateData and status.clientKeyData belong together",
                plugin.command);
  }
  if (const std::string end = string_at(root, {"status", "expirationTimestamp"}); !end.empty()) {
    const auto ms = text::parse_time_ms(end);
    if (!ms) {
      return fail(ErrorCode::kUnauthorized, "exec plugin {}: status.expirationTimestamp is no RFC 3339 time",
                  plugin.command);
    }
    credential.expires_ms = *ms;
  }
  return credential;
}

}  // namespace berth::kube
