#include "kube/reflector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "kube/fake_api_server_support.h"
#include "kube/known_objects.h"
#include "kube/paths.h"
#include "kube/protobuf_json.h"
#include "kube/wait_support.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;
using testing::FakeOptions;
using testing::FaultKind;
using testing::Json;
using testing::wait_for;

// Plays the consumer: keeps what it was told and checks that the order of changes per object makes sense.
class Mirror {
 public:
  void operator()(const Change& change) {
    const std::lock_guard lock(mutex_);
    if (change.type == ChangeType::kSynced) {
      ++synced_;
      return;
    }
    const std::string key = std::string(change.ns) + "/" + std::string(change.name);
    const auto it = objects_.find(key);
    switch (change.type) {
      case ChangeType::kAdded:
        if (it != objects_.end()) problem("added twice: " + key);
        ++added_;
        break;
      case ChangeType::kModified:
        if (it == objects_.end() || it->second.first != change.uid) problem("modified unknown: " + key);
        break;
      case ChangeType::kDeleted:
        if (it == objects_.end() || it->second.first != change.uid) problem("deleted unknown: " + key);
        objects_.erase(key);
        ++deleted_;
        if (change.object.empty()) ++synthetic_;
        return;
      case ChangeType::kSynced:
        return;
    }
    const Json object = Json::parse(change.object);
    if (object["metadata"]["name"] != std::string(change.name)) problem("wrong object for " + key);
    if (object["metadata"]["resourceVersion"] != std::string(change.resource_version))
      problem("wrong rv: " + key);
    objects_[key] = {std::string(change.uid), std::string(change.resource_version)};
  }

  std::map<std::string, std::pair<std::string, std::string>> objects() const { return with(objects_); }
  int synced() const { return with(synced_); }
  int deleted() const { return with(deleted_); }
  int synthetic() const { return with(synthetic_); }
  int added() const { return with(added_); }
  std::vector<std::string> problems() const { return with(problems_); }

 private:
  template <class T>
  T with(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  mutable std::mutex mutex_;
  std::map<std::string, std::pair<std::string, std::string>> objects_;
  std::vector<std::string> problems_;
  int synced_ = 0;
  int deleted_ = 0;
  int synthetic_ = 0;
  int added_ = 0;
};

enum class Way { kJson, kBinary, kLeftBinary };

// Everything in both forms of the API server; the binary one is read as JSON, or left as it is.
class ReflectorTest : public ::testing::TestWithParam<Way> {
 protected:
  bool is_binary() const { return GetParam() != Way::kJson; }
  void serve(FakeOptions options = {}) {
    options.binary = is_binary();
    api = std::make_unique<FakeApiServer>(std::move(options));
    transport = *Transport::create(api->config());
  }
  void start(ReflectorOptions options = {}) {
    if (options.path.empty()) options.path = kPods.collection();
    options.first_backoff = 20;
    options.max_backoff = 200;
    options.binary = is_binary();
    if (GetParam() == Way::kLeftBinary) {
      options.take_binary = [this](const Change& change, const BinaryObject& object) -> Status {
        EXPECT_TRUE(change.object.empty());
        if (refuse-- == 0) return fail(ErrorCode::kInvalid, "this one cannot be read");
        std::string text;
        BERTH_TRY(write_json(object, text));
        Change with_json = change;
        with_json.object = text;
        mirror(with_json);
        return {};
      };
    }
    reflector =
        std::make_unique<Reflector>(*transport, std::move(options), [this](const Change& c) { mirror(c); });
  }
  void add(const std::string& name, const std::string& node = {}) {
    Json pod{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}, {"spec", Json::object()}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    api->create("/api/v1/namespaces/a/pods", std::move(pod));
  }
  void touch(const std::string& name) {
    api->change(path(name), [](Json& pod) { pod["metadata"]["labels"]["n"] = std::to_string(std::rand()); });
  }
  static std::string path(const std::string& name) { return "/api/v1/namespaces/a/pods/" + name; }
  // The mirror holds exactly what the server holds.
  bool same() {
    std::map<std::string, std::pair<std::string, std::string>> truth;
    for (const Json& pod : api->list("/api/v1/pods")) {
      const Json& meta = pod["metadata"];
      truth["a/" + meta["name"].get<std::string>()] = {meta["uid"], meta["resourceVersion"]};
    }
    return mirror.objects() == truth;
  }
  void TearDown() override {
    reflector.reset();
    EXPECT_EQ(mirror.problems(), std::vector<std::string>{});
  }

  std::unique_ptr<FakeApiServer> api;
  std::atomic<int> refuse{-1};  // after so many objects in binary form one
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Reflector> reflector;
  Mirror mirror;
};

TEST_P(ReflectorTest, StreamingList) {
  serve();
  add("p1");
  add("p2");
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_TRUE(same());
  add("p3");
  touch("p1");
  api->remove(path("p2"));
  EXPECT_TRUE(wait_for([&] { return same(); }));
  EXPECT_EQ(api->count("GET"), 0);  // no list, one watch
  EXPECT_EQ(api->count("WATCH"), 1);
  EXPECT_EQ(mirror.synthetic(), 0);
}

TEST_P(ReflectorTest, FallsBackToPagesWhereStreamingListsAreRefused) {
  serve({.streaming_lists = false});
  for (int i = 0; i < 25; ++i) add("p" + std::to_string(i));
  start({.page = 10});
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_TRUE(same());
  EXPECT_EQ(api->count("GET", "limit=10"), 3);
  add("q");
  EXPECT_TRUE(wait_for([&] { return same(); }));
}

TEST_P(ReflectorTest, FallsBackWhereStreamingListsAreNotKnown) {
  serve({.knows_streaming_lists = false});
  add("p1");
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_GE(api->count("GET", "limit="), 1);
  EXPECT_TRUE(same());
}

TEST_P(ReflectorTest, FallsBackAfterSilence) {
  serve({.knows_streaming_lists = false, .bookmark_ms = 60'000});
  add("p1");
  start({.initial_silence = 100});
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_GE(api->count("GET", "limit="), 1);
}

TEST_P(ReflectorTest, ExpiredContinueTokenStartsTheListAgain) {
  serve();
  for (int i = 0; i < 20; ++i) add("p" + std::to_string(i));
  api->on_request([&](const testing::Seen& seen) {
    if (seen.target.find("continue=") != std::string::npos &&
        seen.target.find("limit=5&") != std::string::npos) {
      api->expire_continue_tokens();
    }
  });
  start({.mode = ListMode::kPages, .page = 5});
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_TRUE(same());
  EXPECT_EQ(mirror.added(), 20);
  EXPECT_GE(reflector->stats().expired.load(), 1u);
  api->on_request({});
}

TEST_P(ReflectorTest, SelectorsAreSentAndLeavingOneIsADelete) {
  serve();
  add("free");
  add("bound", "n1");
  start({.field_selector = "spec.nodeName=", .label_selector = "!skip"});
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_EQ(mirror.objects().size(), 1u);
  api->change(path("free"), [](Json& pod) { pod["spec"]["nodeName"] = "n2"; });
  EXPECT_TRUE(wait_for([&] { return mirror.deleted() == 1; }));
  EXPECT_EQ(mirror.synthetic(), 0);
}

TEST_P(ReflectorTest, ResumesWhereItWas) {
  serve();
  add("p1");
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  for (int round = 0; round < 5; ++round) {
    api->drop_connections();
    add("q" + std::to_string(round));
    api->remove(path(round == 0 ? "p1" : "q" + std::to_string(round - 1)));
    ASSERT_TRUE(wait_for([&] { return same(); })) << round;
  }
  EXPECT_EQ(mirror.synthetic(), 0);  // each delete was seen as an event
  EXPECT_EQ(mirror.synced(), 1);     // and nothing was listed again
  EXPECT_EQ(reflector->stats().lists.load(), 1u);
}

TEST_P(ReflectorTest, LineCutInTheMiddleIsReadAgain) {
  serve();
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  for (int round = 0; round < 5; ++round) {
    api->cut_watches_mid_line();
    add("p" + std::to_string(round));
    ASSERT_TRUE(wait_for([&] { return same(); })) << round;
  }
  EXPECT_EQ(mirror.synced(), 1);
}

TEST_P(ReflectorTest, TinyPieces) {
  serve();
  api->set_watch_chunk(3);
  for (int i = 0; i < 20; ++i) add("p" + std::to_string(i));
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  touch("p3");
  EXPECT_TRUE(wait_for([&] { return same(); }));
}

TEST_P(ReflectorTest, ExpiredWatchListsAgainAndFindsDeletes) {
  for (const bool streaming : {true, false}) {
    reflector.reset();
    mirror.~Mirror();
    new (&mirror) Mirror();
    serve({.streaming_lists = streaming});
    add("stays");
    add("goes");
    add("reborn");
    start();
    ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1 && api->watches() == 1; }));
    // While we are not looking, history goes away.
    api->add_fault({.kind = FaultKind::kStatus, .method = "WATCH", .times = -1, .status = 503});
    api->end_watches();
    ASSERT_TRUE(wait_for([&] { return api->watches() == 0; }));
    api->remove(path("goes"));
    api->remove(path("reborn"));
    add("reborn");
    add("new");
    api->compact();
    api->clear_faults();
    ASSERT_TRUE(wait_for([&] { return mirror.synced() == 2; }));
    EXPECT_TRUE(same());
    EXPECT_EQ(mirror.synthetic(), 2);
    EXPECT_GE(reflector->stats().expired.load(), 1u);
    EXPECT_EQ(reflector->stats().lost_deletes.load(), 2u);
    add("later");
    EXPECT_TRUE(wait_for([&] { return same(); }));
  }
}

TEST_P(ReflectorTest, ErrorEventsAndRefusals) {
  serve();
  add("p");
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  api->send_watch_error(410);
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 2; }));
  api->send_watch_error(500);
  add("q");
  ASSERT_TRUE(wait_for([&] { return same(); }));
  api->add_fault({.method = "WATCH", .status = 410});
  api->end_watches();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 3; }));
  api->add_fault({.method = "WATCH", .status = 504, .cause = "ResourceVersionTooLarge"});
  api->end_watches();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 4; }));
  EXPECT_TRUE(same());
  EXPECT_EQ(mirror.added(), 2);  // nothing was told twice
}

TEST_P(ReflectorTest, ThrottledListWaitsAsToldAndSaysWhy) {
  serve({.streaming_lists = false});
  add("p");
  api->add_fault({.method = "GET", .status = 429, .retry_after_s = 1});
  start();
  const std::string throttled = "LIST /api/v1/pods: 429 Too Many Requests: injected";
  ASSERT_TRUE(wait_for([&] { return reflector->last_problem() == throttled; })) << reflector->last_problem();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_EQ(reflector->last_problem(), "");
}

TEST_P(ReflectorTest, BookmarksMoveTheResumePoint) {
  serve({.bookmark_ms = 20});
  add("p");
  start();
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  // Other resources move the version on; bookmarks tell us.
  for (int i = 0; i < 50; ++i)
    api->create("/api/v1/nodes", Json{{"metadata", {{"name", "n" + std::to_string(i)}}}});
  const std::string now = std::to_string(api->resource_version());
  const auto seen = reflector->stats().bookmarks.load();
  ASSERT_TRUE(wait_for([&] { return reflector->stats().bookmarks.load() >= seen + 3; }));
  api->compact();  // what was before `now` is gone, but we need nothing of it
  api->end_watches();
  ASSERT_TRUE(wait_for([&] { return api->count("WATCH", "resourceVersion=" + now) >= 1; }));
  add("q");
  EXPECT_TRUE(wait_for([&] { return same(); }));
  EXPECT_EQ(mirror.synced(), 1);
}

TEST_P(ReflectorTest, TooLongLineIsBounded) {
  serve();
  add("p");
  start({.max_line = 4000});
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  Json large{{"metadata", {{"name", "large"}, {"annotations", {{"x", std::string(20'000, 'x')}}}}}};
  api->create("/api/v1/namespaces/a/pods", large);
  EXPECT_TRUE(wait_for([&] { return same(); }));  // by a list in pages
  EXPECT_GE(api->count("GET", "limit="), 1);
}

TEST_P(ReflectorTest, PagesOfLargeObjectsAreShorter) {
  serve();
  for (int i = 0; i < 40; ++i) {
    Json large{
        {"metadata", {{"name", fmt::format("p{}", i)}, {"annotations", {{"x", std::string(20'000, 'x')}}}}}};
    api->create("/api/v1/namespaces/a/pods", std::move(large));
  }
  start({.mode = ListMode::kPages, .max_page = 100'000});  // four of them
  ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_TRUE(same());
  EXPECT_EQ(api->count("GET", "limit=500"), 1);
  EXPECT_EQ(api->count("GET", "limit=62"), 1);
  EXPECT_EQ(api->count("GET", "limit=7"), 1);
  EXPECT_EQ(api->count("GET", "limit=1&"), 39);  // and the first
  EXPECT_EQ(reflector->last_problem(), "");
}

TEST_P(ReflectorTest, ConsumerThatIsNotReadyHoldsTheStreamBack) {
  serve();
  std::atomic<bool> ready{false};
  add("p");
  start({.ready = [&] { return ready.load(); }});
  ASSERT_TRUE(wait_for([&] { return api->watches() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(mirror.added(), 0);
  ready.store(true);
  EXPECT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
  EXPECT_TRUE(same());
  reflector.reset();
}

// Whatever breaks, the mirror ends equal to the server.
TEST_P(ReflectorTest, RandomFaultsLoseNothing) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    reflector.reset();
    mirror.~Mirror();
    new (&mirror) Mirror();
    serve({.streaming_lists = seed != 2, .bookmark_ms = 10});
    Random random(seed);
    start({.page = 3, .seed = seed});
    std::vector<std::string> names;
    int next = 0;
    for (int step = 0; step < 400; ++step) {
      const auto pick = [&] { return random.below(names.size()); };
      switch (random.below(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
          names.push_back("p" + std::to_string(next++));
          add(names.back());
          break;
        case 4:
        case 5:
        case 6:
          if (!names.empty()) touch(names[pick()]);
          break;
        case 7:
          if (!names.empty()) {
            const auto at = pick();
            api->remove(path(names[at]));
            if (random.chance(1, 2)) {
              add(names[at]);
            } else {
              names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
            }
          }
          break;
        case 8:
          api->cut_watches_mid_line();
          break;
        case 9:
          api->drop_connections();
          break;
        case 10:
          if (random.chance(1, 4)) api->compact();
          if (random.chance(1, 3)) api->expire_continue_tokens();
          break;
        case 11:
          api->add_fault({.status = random.chance(1, 2) ? 500 : 429});
          break;
        default:
          break;
      }
      if (random.chance(1, 4)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    api->clear_faults();
    EXPECT_TRUE(wait_for([&] { return mirror.synced() >= 1 && same(); })) << "seed " << seed;
  }
}

// How many requests asked for the binary form.
int asked_for_binary(const FakeApiServer& api) {
  int out = 0;
  for (const testing::Seen& seen : api.seen())
    out += seen.accept.starts_with("application/vnd.kubernetes.protobuf") ? 1 : 0;
  return out;
}

// An answer is read by its own form, not by the one that was asked for.
TEST_P(ReflectorTest, AServerThatAnswersInJsonIsReadAllTheSame) {
  for (const bool streaming : {true, false}) {
    reflector.reset();
    mirror.~Mirror();
    new (&mirror) Mirror();
    api = std::make_unique<FakeApiServer>(FakeOptions{.streaming_lists = streaming, .binary = false});
    transport = *Transport::create(api->config());
    for (int i = 0; i < 25; ++i) add("p" + std::to_string(i));
    start({.page = 10});
    ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; }));
    add("q");
    EXPECT_TRUE(wait_for([&] { return same(); }));
    EXPECT_EQ(asked_for_binary(*api) > 0, is_binary());
  }
}

// Bytes that cannot be read are no reason to see nothing: JSON is asked for instead.
TEST_P(ReflectorTest, WhereTheBinaryFormCannotBeReadJsonIs) {
  for (const bool streaming : {true, false}) {
    reflector.reset();
    mirror.~Mirror();
    new (&mirror) Mirror();
    serve({.streaming_lists = streaming, .broken_binary = true});
    for (int i = 0; i < 25; ++i) add("p" + std::to_string(i));
    start({.page = 10});
    ASSERT_TRUE(wait_for([&] { return mirror.synced() == 1; })) << reflector->last_problem();
    EXPECT_TRUE(same());
    const int before = asked_for_binary(*api);
    EXPECT_EQ(before, !is_binary() ? 0 : streaming ? 1 : 2);
    add("q");
    api->end_watches();
    add("r");
    EXPECT_TRUE(wait_for([&] { return same(); }));
    EXPECT_EQ(asked_for_binary(*api), before);
    EXPECT_EQ(mirror.synced(), 1);
  }
}

// An object that its reader cannot read comes again in JSON, be it new or changed.
TEST_P(ReflectorTest, AnObjectThatItsReaderRefusesComesInJson) {
  if (GetParam() != Way::kLeftBinary) GTEST_SKIP() << "only where objects are left in binary form";
  for (const bool streaming : {true, false}) {
    for (const int number : {0, 3, 7}) {
      reflector.reset();
      mirror.~Mirror();
      new (&mirror) Mirror();
      serve({.streaming_lists = streaming});
      for (int i = 0; i < 5; ++i) add("p" + std::to_string(i));
      refuse = number;
      start({.page = 2});
      ASSERT_TRUE(wait_for([&] { return mirror.synced() >= 1 && same(); })) << reflector->last_problem();
      for (int i = 0; i < 3; ++i) touch("p1");
      EXPECT_TRUE(wait_for([&] { return refuse < 0 && same(); })) << number;
      EXPECT_EQ(mirror.added(), 5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ReflectorTest, ::testing::Values(Way::kJson, Way::kBinary, Way::kLeftBinary),
                         [](const auto& which) {
                           return which.param == Way::kJson     ? "json"
                                  : which.param == Way::kBinary ? "binary"
                                                                : "left_binary";
                         });

TEST(KnownObjects, HasKeyUidAndVersionOfEach) {
  KnownObjects known;
  const auto a = known.add("default/a", "uid-a");
  const auto b = known.add("/b", "");  // of no namespace, and a server that gives no uid
  EXPECT_EQ(known.version(a), "");
  EXPECT_EQ(known.pass(a), 0U);
  known.set_version(a, "1234567890123");
  known.set_version(b, "7");
  known.set_version(a, "9");
  known.set_pass(a, 3);
  EXPECT_EQ(known.find("default/a"), a);
  EXPECT_EQ(known.find("/b"), b);
  EXPECT_EQ(known.find("default/auid-a"), KnownObjects::kNone);
  EXPECT_EQ(known.key(a), "default/a");
  EXPECT_EQ(known.uid(a), "uid-a");
  EXPECT_EQ(known.version(a), "9");
  EXPECT_EQ(known.pass(a), 3U);
  EXPECT_EQ(known.uid(b), "");
  EXPECT_EQ(known.version(b), "7");
}

TEST(KnownObjects, ForgetsWhatIsErased) {
  KnownObjects known;
  const auto first = known.add("default/a", "1");
  known.set_version(first, "5");
  known.set_pass(first, 8);
  known.erase(first);
  EXPECT_EQ(known.find("default/a"), KnownObjects::kNone);
  EXPECT_EQ(known.size(), 0U);
  known.each([](KnownObjects::Number) { ADD_FAILURE() << "nothing is known"; });
  const auto again = known.add("default/a", "2");
  EXPECT_EQ(known.uid(again), "2");
  EXPECT_EQ(known.version(again), "");
  EXPECT_EQ(known.pass(again), 0U);
}

TEST(KnownObjects, IsAMap) {
  KnownObjects known;
  std::map<std::string, std::pair<std::string, std::string>> expected;  // uid and version
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "ns/" + std::to_string(random.between(0, 300));
    const auto at = known.find(key);
    ASSERT_EQ(at != KnownObjects::kNone, expected.contains(key));
    if (at == KnownObjects::kNone) {
      const std::string uid = std::to_string(i);
      known.set_version(known.add(key, uid), "v" + uid);
      expected[key] = {uid, "v" + uid};
    } else if (random.between(0, 1) == 0) {
      known.set_version(at, std::string(static_cast<std::size_t>(random.between(0, 40)), 'x'));
      expected[key].second = known.version(at);
    } else {
      known.erase(at);
      expected.erase(key);
    }
  }
  ASSERT_EQ(known.size(), expected.size());
  std::map<std::string, std::pair<std::string, std::string>> all;
  known.each([&](KnownObjects::Number at) {
    all[std::string(known.key(at))] = {std::string(known.uid(at)), std::string(known.version(at))};
  });
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace berth::kube
