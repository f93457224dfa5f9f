#include "model/leading.h"

namespace berth {

ReasonCode leading_code(const Reason& reason) {
  ReasonCode second = ReasonCode::kNone;
  if (reason.code != ReasonCode::kNone) {
    if (reason.code != ReasonCode::kNoVictims) return reason.code;
    second = reason.code;
  }
  for (const Reason& child : reason.children) {
    const ReasonCode code = leading_code(child);
    if (code != ReasonCode::kNone && code != ReasonCode::kNoVictims) return code;
    if (second == ReasonCode::kNone) second = code;
  }
  return second;
}

}  // namespace berth
