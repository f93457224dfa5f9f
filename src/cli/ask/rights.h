// Whether an identity may do something, asked of the API server: SelfSubjectAccessReview for the user of the kubeconfig,
// SubjectAccessReview for a service account. Bounds: kMostAnswerBytes for each answer; all questions are under way at once, as many as the transport
// lets through.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/rights.h"
#include "kube/transport.h"

namespace berth::cli {

struct Wish {
  kube::Right right;
  std::string ns;    // "": in all namespaces, or of the cluster
  std::string name;  // "": of any name
};

// The identity that is asked about: "system:serviceaccount:berth-system:berth"; empty: the user's own.
struct Identity {
  std::string user;
  std::vector<std::string> groups;
};
// "berth-system/berth". Invalid: it is no such name.
Result<Identity> service_account(const std::string& name);

// In the order of the wishes. Unauthorized: the API server does not answer this user.
Result<std::vector<bool>> ask_rights(kube::Transport& transport, const Identity& identity,
                                     const std::vector<Wish>& wishes);

}  // namespace berth::cli
