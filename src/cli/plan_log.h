// A decision log as the input of `berth plan -f LOG`: it is replayed on a fresh engine, every decision is compared with the
// recorded one, and a table shows the events, decisions and reasons, and at the end the running and waiting work. This is how a
// failing random history (test_property), a log of the live scheduler and one of a simulation are looked at.
#pragma once

#include <iosfwd>
#include <string>

#include "text/source.h"

namespace berth::cli {

// 0: the same decisions. 1: a difference; the first is shown with what was recorded and what this engine decides, and nothing
// after it. 2: the log cannot be read; `err` names file, line and column.
// Memory: the engine, and ten thousand rows of the table, which is written in parts of that size.
int plan_log(text::ByteSource source, std::ostream& out, std::ostream& err);

}  // namespace berth::cli
