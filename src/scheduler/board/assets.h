// The files of the dashboard's pages, put in when the program was built (cmake/board.cmake). scripts/web makes them in web/dist; without
// them there is one page that says so.
#pragma once

#include <span>
#include <string_view>

namespace berth::scheduler {

struct BoardAsset {
  std::string_view path;  // "/app.js"; "/" is the page
  std::string_view type;
  std::string_view body;
};

std::span<const BoardAsset> board_assets();

}  // namespace berth::scheduler
