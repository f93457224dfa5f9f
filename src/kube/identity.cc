#include "kube/identity.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kube/clock.h"
#include "kube/exec_plugin.h"
#include "kube/secrets.h"

namespace berth::kube {

namespace {

constexpr std::uint64_t kMaxPem = 4 << 20;
constexpr std::uint64_t kMaxToken = 1 << 20;

struct Loaded {
  Identity identity;
  std::int64_t expires_ms = 0;  // wall clock; 0: no end
};

Status load_pem(const DataOrFile& from, const char* what, std::string& out) {
  if (from.file.empty()) {
    out = from.data;
    return {};
  }
  auto text = read_text_file(from.file, kMaxPem);
  if (!text) return fail(text.error().code, "{}: {}", what, text.error().message);
  if (text->find("-----BEGIN") == std::string::npos) {
    return fail(ErrorCode::kInvalid, "{}: {}: holds no PEM (no '-----BEGIN')", what, from.file);
  }
  out = std::move(*text);
  return {};
}

Result<Loaded> load(const ClusterConfig& config, const IdentityOptions& options) {
  Loaded loaded;
  Identity& identity = loaded.identity;
  BERTH_TRY(load_pem(config.ca, "certificate-authority", identity.ca_pem));
  BERTH_TRY(load_pem(config.cert, "client-certificate", identity.cert_pem));
  BERTH_TRY(load_pem(config.key, "client-key", identity.key_pem));
  if (!config.token.file.empty()) {
    auto token = read_text_file(config.token.file, kMaxToken);
    if (!token) return fail(token.error().code, "tokenFile: {}", token.error().message);
    identity.token = trimmed(*token);
    if (identity.token.empty())
      return fail(ErrorCode::kInvalid, "tokenFile: {}: is empty", config.token.file);
  } else {
    identity.token = trimmed(config.token.data);
  }
  identity.user = config.username;
  identity.password = config.password;
  if (config.exec.has_value()) {
    BERTH_ASSIGN(ExecCredential credential, run_exec_plugin(*config.exec, config, options.exec_timeout));
    if (!credential.token.empty()) identity.token = std::move(credential.token);
    if (!credential.cert_pem.empty()) {
      identity.cert_pem = std::move(credential.cert_pem);
      identity.key_pem = std::move(credential.key_pem);
    }
    loaded.expires_ms = credential.expires_ms;
  }
  // A line break in a token would end the header that carries it.
  if (identity.token.find_first_of("\r\n") != std::string::npos) {
    return fail(ErrorCode::kInvalid, "{}: the token has several lines",
                config.token.file.empty() ? config.source : config.token.file);
  }
  return loaded;
}

bool same(const Identity& a, const Identity& b) {
  return a.token == b.token && a.cert_pem == b.cert_pem && a.key_pem == b.key_pem && a.ca_pem == b.ca_pem;
}

class Source final : public IdentitySource {
 public:
  Source(ClusterConfig config, const IdentityOptions& options, Loaded loaded)
      : config_(std::move(config)),
        options_(options),
        current_(std::make_shared<Identity>(std::move(loaded.identity))),
        expires_ms_(loaded.expires_ms) {
    from_files_ = !config_.token.file.empty() || !config_.ca.file.empty() || !config_.cert.file.empty() ||
                  !config_.key.file.empty();
    if (from_files_ || config_.exec.has_value()) thread_ = std::thread([this] { run(); });
  }

  ~Source() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  std::shared_ptr<const Identity> current() const override {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  bool refresh(std::uint64_t seen) override {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable() || current_->generation > seen) return false;
    asked_ = true;
    wake_.notify_all();
    return true;
  }

  void on_refresh(std::function<void()> callback) override {
    const std::lock_guard lock(callback_mutex_);
    callback_ = std::move(callback);
  }

  std::string last_problem() const override {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    std::int64_t last = boottime_ms();
    while (!stopping_) {
      std::int64_t wait = options_.reread_every;
      if (config_.exec.has_value()) {
        wait = from_files_ ? wait : kHour;
        if (expires_ms_ != 0) {
          wait = std::min(wait, expires_ms_ - options_.exec_expiry_leeway - wall_us() / 1000);
          // A plugin that hands out what has expired already is not run in a tight loop.
          wait = std::max(wait, last + options_.least_between_refreshes - boottime_ms());
        }
      }
      if (wait > 0)
        wake_.wait_for(lock, std::chrono::milliseconds(wait), [&] { return asked_ || stopping_; });
      if (stopping_) break;
      if (asked_) {
        const std::int64_t early = last + options_.least_between_refreshes - boottime_ms();
        if (early > 0) wake_.wait_for(lock, std::chrono::milliseconds(early), [&] { return stopping_; });
        if (stopping_) break;
      }
      asked_ = false;
      lock.unlock();
      auto loaded = load(config_, options_);
      lock.lock();
      last = boottime_ms();
      if (loaded) {
        problem_.clear();
        expires_ms_ = loaded->expires_ms;
        if (!same(loaded->identity, *current_)) {
          loaded->identity.generation = current_->generation + 1;
          current_ = std::make_shared<Identity>(std::move(loaded->identity));
        }
      } else {
        // The old credentials stay in use: the next refresh may succeed, and the server decides meanwhile.
        problem_ = loaded.error().str();
      }
      lock.unlock();
      {
        const std::lock_guard callback_lock(callback_mutex_);
        if (callback_) callback_();
      }
      lock.lock();
    }
  }

  const ClusterConfig config_;
  const IdentityOptions options_;
  bool from_files_ = false;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<const Identity> current_;
  std::int64_t expires_ms_ = 0;
  std::string problem_;
  bool asked_ = false;
  bool stopping_ = false;
  std::mutex callback_mutex_;
  std::function<void()> callback_;
  std::thread thread_;
};

}  // namespace

Result<std::shared_ptr<IdentitySource>> IdentitySource::create(const ClusterConfig& config,
                                                               const IdentityOptions& options) {
  auto loaded = load(config, options);
  if (!loaded) {
    return fail(loaded.error().code, "{}, context \"{}\": {}", config.source, config.context,
                loaded.error().message);
  }
  return std::make_shared<Source>(config, options, std::move(*loaded));
}

}  // namespace berth::kube
