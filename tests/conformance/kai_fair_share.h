// One vector of KAI's fair-share division: a resource, and sibling queues with what they ask for. Berth divides nothing in advance. It
// starts the pods of the queue that is furthest below its part (engine/quota/fairness.h). So the vector becomes a node with that many
// devices and one pod for each unit that a queue asks for. The pods that start in each queue are compared with its fair share.
//
// Left out, where the policies differ by intent:
//   past use        KAI takes from the surplus what a queue has used before. Berth's DecayedUse orders the queues by it.
//   a part of a unit   KAI divides floating-point amounts and rounds some of them.
//   too much guaranteed   KAI's shares are then more than the cluster has. No pods can start by them.
//   weight 0        It gets no surplus in KAI. In Berth it gets what no other queue wants.
//   odd units       The exact parts are no whole units. KAI gives the rest to the largest remainders, Berth to the least share.
//   surplus alone   A step of KAI's arithmetic, on top of a share that comes from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/engine_run.h"
#include "conformance/peer_cases.h"
#include "dialect/objects/decode.h"
#include "text/document.h"

namespace berth::conformance {

class KaiFairShare : public PeerCase {
 public:
  // The document must outlive the case.
  explicit KaiFairShare(const text::Document& document);

  std::string suite() const override { return text_at(root_, {"suite"}); }
  std::string name() const override { return text_at(root_, {"name"}); }
  std::string_view left_out() const override;
  Result<Comparison> compare() override;
  std::vector<std::string> waiting() const override { return run_.waiting(); }

 private:
  struct Share {
    std::string name;
    double quota = 0, limit = 0, weight = 0, request = 0;  // of quota and limit -1: no bound
    std::int64_t priority = 0;
    double guaranteed = 0;  // at most what it asks for
    double most = 0;
    double exact = 0;  // of all
  };

  void divide();
  double unit() const;       // all amounts are multiples of it
  Status load(double size);  // of a pod
  Status add(dialect::Kind kind, const std::string& json);

  const text::Node& root_;
  double total_ = 0;
  std::vector<Share> shares_;
  EngineRun run_;
  dialect::JsonDecoder decoder_;
};

}  // namespace berth::conformance
