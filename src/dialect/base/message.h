// Messages in conditions and events.
#pragma once

#include <string>

namespace berth::dialect {

// The text of conditions and events: at most 1 KiB (more the API server does not take of an event), cut between characters.
std::string bounded(std::string message);

}  // namespace berth::dialect
