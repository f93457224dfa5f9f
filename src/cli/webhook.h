// `berth webhook`: the admission webhook for API servers without MutatingAdmissionPolicy (scheduler/serve/webhook.h).
#pragma once

#include <CLI/CLI.hpp>

namespace berth::cli {

// Adds the subcommand. When it is chosen, it runs within parse() and sets `exit_code`: 0 after SIGTERM or SIGINT, 1 when an
// address cannot be listened on, 2 for wrong options or a certificate that cannot be used.
void register_webhook(CLI::App& app, int& exit_code);

}  // namespace berth::cli
