#include "kube/transport.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/curl_handles.h"
#include "kube/url.h"

namespace berth::kube {

namespace {

constexpr std::size_t kMaxErrorBody = 64 * 1024;
constexpr DurationMs kPauseCheck = 5;
constexpr std::size_t kMany = 8;  // requests on the wire, from which on TransportOptions::gather applies

class CurlTransport;

struct Transfer {
  StreamId id = 0;
  CurlTransport* owner = nullptr;
  Request request;
  ResponseHandler done;
  std::shared_ptr<StreamHandler> stream;
  CurlHandle handle;
  std::shared_ptr<const Identity> identity;
  std::shared_ptr<const HeaderList> headers;
  std::string url;
  Response response;
  Nanos sent_at = 0;
  int sends = 0;
  bool asked_again = false;  // sent a second time after a 401
  bool too_large = false;
  bool stopped = false;  // by the stream's handler
  bool ended = false;
  bool told = false;  // TransportOptions::answered of its beginning
  std::array<char, CURL_ERROR_SIZE> error{};
};
using TransferPtr = std::shared_ptr<Transfer>;

class CurlTransport final : public Transport {
 public:
  CurlTransport(ClusterConfig config, TransportOptions options, std::shared_ptr<IdentitySource> source);
  ~CurlTransport() override;

  Status open();

  void submit(Request request, ResponseHandler done) override;
  StreamId open_stream(Request request, std::shared_ptr<StreamHandler> handler) override;
  void close_stream(StreamId id) override;
  IoLoop& loop() override { return loop_; }
  const TransportStats& stats() const override { return stats_; }
  const ClusterConfig& config() const override { return config_; }

 private:
  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known);
  static int on_timer(CURLM*, long timeout_ms, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* transfer);
  static int on_before_send(void* transfer, char*, char*, int, int);
  static int on_new_socket(void* self, curl_socket_t fd, curlsocktype);

  void enqueue(TransferPtr transfer);
  void turn();
  void start_waiting();
  void start(const TransferPtr& transfer);
  void collect();
  void finish(const TransferPtr& transfer, CURLcode code);
  void deliver(const TransferPtr& transfer);
  void deliver_unsent(const TransferPtr& transfer, const char* error);
  void release(const TransferPtr& transfer);
  void close_now(StreamId id);
  void pause(Transfer& transfer);
  void tell(const Transfer& transfer) const {
    if (options_.answered && transfer.response.status != 0)
      options_.answered(transfer.request, transfer.response);
  }
  void resume_paused();
  void identity_refreshed();
  void shut_down();

  ClusterConfig config_;
  TransportOptions options_;
  std::shared_ptr<IdentitySource> source_;
  TransportStats stats_;

  CURLM* multi_ = nullptr;
  CURLSH* share_ = nullptr;
  Nanos curl_due_ = 0;  // 0: curl waits for sockets only
  bool closing_ = false;
  std::atomic<StreamId> next_id_{1};
  std::vector<TransferPtr> arrived_;
  std::vector<TransferPtr> arriving_;
  std::deque<TransferPtr> waiting_;
  std::unordered_map<StreamId, TransferPtr> active_;
  std::vector<TransferPtr> parked_;  // answered 401, wait for a new identity
  std::vector<StreamId> paused_;
  std::vector<StreamId> to_close_;
  bool pause_timer_ = false;
  std::size_t in_flight_ = 0;  // without streams
  std::unique_ptr<CurlHandles> handles_;
  IoLoop loop_;  // last: its thread ends before anything above goes
};

CurlTransport::CurlTransport(ClusterConfig config, TransportOptions options,
                             std::shared_ptr<IdentitySource> source)
    : config_(std::move(config)), options_(std::move(options)), source_(std::move(source)) {}

Status CurlTransport::open() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);  // thread-safe, once per process
  if (once != CURLE_OK)
    return fail(ErrorCode::kInternal, "libcurl cannot start: {}", curl_easy_strerror(once));
  BERTH_ASSIGN(const Url url, parse_url(config_.server));
  handles_ = std::make_unique<CurlHandles>(config_, options_, url, [this](CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_SHARE, share_);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlTransport::on_body);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &CurlTransport::on_before_send);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &CurlTransport::on_new_socket);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, this);
  });
  share_ = curl_share_init();
  multi_ = curl_multi_init();
  if (share_ == nullptr || multi_ == nullptr) return fail(ErrorCode::kExhausted, "libcurl: out of memory");
  curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlTransport::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlTransport::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.max_in_flight) + 64);
  loop_.on_ready([this](int fd, std::uint32_t events) {
    int bits = 0;
    if ((events & (EPOLLIN | EPOLLHUP)) != 0) bits |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0) bits |= CURL_CSELECT_OUT;
    if ((events & EPOLLERR) != 0) bits |= CURL_CSELECT_ERR;
    int running = 0;
    curl_multi_socket_action(multi_, fd, bits, &running);
  });
  loop_.start([this] { turn(); }, [this] { shut_down(); });
  source_->on_refresh([this] { loop_.post([this] { identity_refreshed(); }); });
  return {};
}

CurlTransport::~CurlTransport() {
  source_->on_refresh({});
  loop_.stop();
  handles_.reset();
  if (multi_ != nullptr) curl_multi_cleanup(multi_);
  if (share_ != nullptr) curl_share_cleanup(share_);
}

Form form_of(CURL* easy) {
  const char* type = nullptr;
  curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
  return type != nullptr && std::string_view(type).starts_with(kBinaryType) ? Form::kBinary : Form::kJson;
}

// --- what curl calls -----------------------------------------------------------------------------------

int CurlTransport::on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
  auto& transport = *static_cast<CurlTransport*>(self);
  if (what == CURL_POLL_REMOVE) {
    transport.loop_.unwatch(fd);
    return 0;
  }
  std::uint32_t events = 0;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) events |= EPOLLOUT;
  transport.loop_.watch(fd, events, known != nullptr);
  if (known == nullptr) curl_multi_assign(transport.multi_, fd, self);
  return 0;
}

int CurlTransport::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& transport = *static_cast<CurlTransport*>(self);
  transport.curl_due_ = timeout_ms < 0 ? 0 : boottime_ns() + timeout_ms * kNanosPerMs;
  return 0;
}

int CurlTransport::on_new_socket(void* self, curl_socket_t fd, curlsocktype) {
  static_cast<CurlTransport*>(self)->stats_.connections.fetch_add(1, std::memory_order_relaxed);
  // A peer that vanished is noticed in half a minute, also while we only write.
  const unsigned int ms = 30'000;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
  return CURL_SOCKOPT_OK;
}

int CurlTransport::on_before_send(void* data, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(data);
  if (transfer.request.before_send && !transfer.request.before_send()) {
    transfer.response.fenced = true;
    return CURL_PREREQFUNC_ABORT;
  }
  ++transfer.sends;
  transfer.sent_at = boottime_ns();
  return CURL_PREREQFUNC_OK;
}

std::size_t CurlTransport::on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view bytes(data, size * count);
  bool streaming = false;
  if (transfer.stream != nullptr) {
    if (transfer.response.status == 0) {
      long status = 0;
      curl_easy_getinfo(transfer.handle.easy, CURLINFO_RESPONSE_CODE, &status);
      transfer.response.status = static_cast<int>(status);
    }
    streaming = transfer.response.ok();
    if (streaming && !std::exchange(transfer.told, true)) {
      transfer.response.form = form_of(transfer.handle.easy);
      transfer.stream->on_begin(transfer.response);
      transfer.owner->tell(transfer);
    }
  }
  if (streaming) {
    switch (transfer.stream->on_data(bytes)) {
      case Flow::kMore:
        return bytes.size();
      case Flow::kPause:
        transfer.owner->pause(transfer);
        return CURL_WRITEFUNC_PAUSE;
      case Flow::kStop:
        transfer.stopped = true;
        return 0;
    }
  }
  std::string& body = transfer.response.body;
  const std::size_t most =
      transfer.stream != nullptr ? kMaxErrorBody : std::max(transfer.request.max_response, std::size_t{1});
  if (body.size() + bytes.size() > most) {
    transfer.too_large = true;
    return 0;
  }
  body.append(bytes);
  return bytes.size();
}

// --- starting ------------------------------------------------------------------------------------------

void CurlTransport::submit(Request request, ResponseHandler done) {
  auto transfer = std::make_shared<Transfer>();
  transfer->id = next_id_.fetch_add(1, std::memory_order_relaxed);
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  enqueue(std::move(transfer));
}

StreamId CurlTransport::open_stream(Request request, std::shared_ptr<StreamHandler> handler) {
  auto transfer = std::make_shared<Transfer>();
  const StreamId id = next_id_.fetch_add(1, std::memory_order_relaxed);
  transfer->id = id;
  transfer->request = std::move(request);
  transfer->stream = std::move(handler);
  enqueue(std::move(transfer));
  return id;
}

void CurlTransport::enqueue(TransferPtr transfer) {
  transfer->owner = this;
  stats_.queued.fetch_add(1, std::memory_order_relaxed);
  if (loop_.on_loop_thread()) {
    arrived_.push_back(std::move(transfer));
  } else {
    loop_.post([this, transfer = std::move(transfer)] { arrived_.push_back(transfer); });
  }
}

void CurlTransport::close_stream(StreamId id) {
  // Never from inside one of curl's callbacks: the handle may be the one that is calling.
  if (loop_.on_loop_thread()) {
    to_close_.push_back(id);
  } else {
    loop_.post([this, id] { to_close_.push_back(id); });
  }
}

void CurlTransport::turn() {
  for (;;) {
    start_waiting();
    if (!to_close_.empty()) {
      const std::vector<StreamId> ids = std::exchange(to_close_, {});
      for (const StreamId id : ids) close_now(id);
    }
    if (curl_due_ != 0 && boottime_ns() >= curl_due_) {
      curl_due_ = 0;
      int running = 0;
      curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    collect();
    const bool due = curl_due_ != 0 && boottime_ns() >= curl_due_;
    const bool room = !waiting_.empty() && in_flight_ < options_.max_in_flight;
    if (arrived_.empty() && to_close_.empty() && !due && !room) break;
  }
  loop_.wake_at(curl_due_);
  loop_.pace(in_flight_ >= kMany ? options_.gather * kNanosPerMs : 0);
}

void CurlTransport::start_waiting() {
  arriving_.swap(arrived_);
  for (TransferPtr& transfer : arriving_) {
    if (transfer->stream != nullptr) {
      start(transfer);
    } else {
      waiting_.push_back(std::move(transfer));
    }
  }
  arriving_.clear();
  while (!waiting_.empty() && in_flight_ < options_.max_in_flight) {
    const TransferPtr transfer = std::move(waiting_.front());
    waiting_.pop_front();
    start(transfer);
  }
}

void CurlTransport::start(const TransferPtr& transfer) {
  if (closing_) return deliver_unsent(transfer, "the client is shutting down");
  transfer->identity = source_->current();
  transfer->handle = handles_->take(transfer->identity);
  CURL* easy = transfer->handle.easy;
  if (easy == nullptr) return deliver_unsent(transfer, "libcurl: out of memory");
  const Request& request = transfer->request;
  transfer->headers = handles_->headers(request, *transfer->identity);
  transfer->url.reserve(handles_->base().size() + request.path.size());
  transfer->url.assign(handles_->base()).append(request.path);

  curl_easy_setopt(easy, CURLOPT_URL, transfer->url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers->get());
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error.data());
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout));
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, request.method == Method::kGet ? 256L * 1024L : 16L * 1024L);
  const char* verb = nullptr;
  switch (request.method) {
    case Method::kGet:
      break;
    case Method::kPost:
      verb = "POST";
      break;
    case Method::kPut:
      verb = "PUT";
      break;
    case Method::kPatch:
      verb = "PATCH";
      break;
    case Method::kDelete:
      verb = "DELETE";
      break;
  }
  if (request.body.empty() && request.method != Method::kPost) {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method == Method::kPost ? nullptr : verb);

  stats_.queued.fetch_sub(1, std::memory_order_relaxed);
  if (transfer->stream == nullptr) {
    ++in_flight_;
    stats_.in_flight.store(in_flight_, std::memory_order_relaxed);
  }
  active_.emplace(transfer->id, transfer);
  if (const CURLMcode code = curl_multi_add_handle(multi_, easy); code != CURLM_OK) {
    transfer->response.error = curl_multi_strerror(code);
    release(transfer);
    deliver(transfer);
  }
}

// --- ending --------------------------------------------------------------------------------------------

void CurlTransport::collect() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    void* user = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &user);
    const auto it = active_.find(static_cast<Transfer*>(user)->id);
    if (it != active_.end()) finish(TransferPtr(it->second), code);
  }
}

void CurlTransport::pause(Transfer& transfer) {
  paused_.push_back(transfer.id);
  if (std::exchange(pause_timer_, true)) return;
  loop_.after(kPauseCheck, [this] { resume_paused(); });
}

void CurlTransport::resume_paused() {
  pause_timer_ = false;
  // The chunk that was held back is offered again inside curl_easy_pause(), and may be refused again.
  for (const StreamId id : std::exchange(paused_, {})) {
    if (const auto it = active_.find(id); it != active_.end()) {
      curl_easy_pause(it->second->handle.easy, CURLPAUSE_CONT);
    }
  }
}

void CurlTransport::finish(const TransferPtr& transfer, CURLcode code) {
  CURL* easy = transfer->handle.easy;
  Response& response = transfer->response;
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_off_t retry_after = 0;
  if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after) == CURLE_OK) {
    response.retry_after = std::min<DurationMs>(retry_after, 3600) * kSecond;
  }
  curl_off_t received = 0;
  curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
  stats_.bytes_in.fetch_add(static_cast<std::uint64_t>(received), std::memory_order_relaxed);
  response.sent = transfer->sends > 0;
  response.resent = transfer->sends > 1;
  response.latency = transfer->sent_at == 0 ? 0 : boottime_ns() - transfer->sent_at;
  response.status = static_cast<int>(status);
  response.form = form_of(easy);
  if (code != CURLE_OK) {
    response.timed_out = code == CURLE_OPERATION_TIMEDOUT;
    if (response.fenced) {
      response.error = "fenced";
      response.sent = transfer->sends > 0;
    } else if (transfer->stopped) {
      response.error = "stopped by the reader";
    } else if (transfer->too_large) {
      response.too_large = true;
      response.error =
          fmt::format("the answer is larger than {} bytes",
                      transfer->stream != nullptr ? kMaxErrorBody : transfer->request.max_response);
    } else {
      response.error = transfer->error[0] != '\0' ? transfer->error.data() : curl_easy_strerror(code);
    }
    // A broken transfer is no answer, except the refusal of a stream, whose status says enough.
    if (transfer->stream == nullptr || response.ok()) response.status = 0;
  }
  release(transfer);

  if (response.status == 401) {
    stats_.unauthorized.fetch_add(1, std::memory_order_relaxed);
    if (!transfer->asked_again && !closing_) {
      const bool newer = source_->current()->generation > transfer->identity->generation;
      if (newer || source_->refresh(transfer->identity->generation)) {
        transfer->asked_again = true;
        transfer->sends = 0;  // a refused request was not executed
        if (newer || source_->current()->generation > transfer->identity->generation) {
          transfer->response = {};
          stats_.queued.fetch_add(1, std::memory_order_relaxed);
          arrived_.push_back(transfer);
        } else {
          parked_.push_back(transfer);
        }
        return;
      }
    }
  }
  deliver(transfer);
}

void CurlTransport::release(const TransferPtr& transfer) {
  curl_multi_remove_handle(multi_, transfer->handle.easy);
  handles_->give_back(std::move(transfer->handle));
  transfer->handle = {};
  active_.erase(transfer->id);
  if (transfer->stream == nullptr) {
    --in_flight_;
    stats_.in_flight.store(in_flight_, std::memory_order_relaxed);
  }
}

void CurlTransport::deliver(const TransferPtr& transfer) {
  if (std::exchange(transfer->ended, true)) return;
  tell(*transfer);
  stats_.requests.fetch_add(1, std::memory_order_relaxed);
  if (transfer->response.status == 0) stats_.failed.fetch_add(1, std::memory_order_relaxed);
  if (transfer->stream != nullptr) {
    transfer->stream->on_end(transfer->response);
  } else {
    transfer->done(std::move(transfer->response));
  }
}

void CurlTransport::deliver_unsent(const TransferPtr& transfer, const char* error) {
  stats_.queued.fetch_sub(1, std::memory_order_relaxed);
  transfer->response = {};
  transfer->response.error = error;
  deliver(transfer);
}

void CurlTransport::close_now(StreamId id) {
  TransferPtr transfer;
  if (const auto it = active_.find(id); it != active_.end()) {
    transfer = it->second;
    release(transfer);
  } else {
    const auto parked =
        std::find_if(parked_.begin(), parked_.end(), [&](const auto& t) { return t->id == id; });
    if (parked == parked_.end()) return;  // ended already
    transfer = *parked;
    parked_.erase(parked);
  }
  transfer->response.status = 0;
  transfer->response.error = "closed";
  deliver(transfer);
}

void CurlTransport::identity_refreshed() {
  const std::uint64_t generation = source_->current()->generation;
  const std::vector<TransferPtr> parked = std::exchange(parked_, {});
  for (const TransferPtr& transfer : parked) {
    if (generation > transfer->identity->generation) {
      transfer->response = {};
      stats_.queued.fetch_add(1, std::memory_order_relaxed);
      arrived_.push_back(transfer);
    } else {
      deliver(transfer);
    }
  }
}

void CurlTransport::shut_down() {
  closing_ = true;
  while (!active_.empty()) {
    const TransferPtr transfer = active_.begin()->second;
    transfer->response.status = 0;
    transfer->response.sent = transfer->sends > 0;
    transfer->response.error = "the client is shutting down";
    release(transfer);
    deliver(transfer);
  }
  for (const TransferPtr& transfer : std::exchange(parked_, {})) deliver(transfer);
  while (!arrived_.empty() || !waiting_.empty()) {
    for (const TransferPtr& transfer : std::exchange(arrived_, {})) {
      deliver_unsent(transfer, "the client is shutting down");
    }
    for (const TransferPtr& transfer : std::exchange(waiting_, {})) {
      deliver_unsent(transfer, "the client is shutting down");
    }
  }
}

}  // namespace

Result<std::unique_ptr<Transport>> Transport::create(const ClusterConfig& config,
                                                     const TransportOptions& options) {
  BERTH_ASSIGN(auto source, IdentitySource::create(config, options.identity));
  auto transport = std::make_unique<CurlTransport>(config, options, std::move(source));
  BERTH_TRY(transport->open());
  return transport;
}

Response Transport::call(Request request) {
  std::promise<Response> promise;
  auto future = promise.get_future();
  submit(std::move(request), [&promise](Response&& response) { promise.set_value(std::move(response)); });
  return future.get();
}

}  // namespace berth::kube
