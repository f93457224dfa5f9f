// The files of src/sim/page/report_assets/, put into the program at build time by cmake/embed_report.cmake.
#pragma once

#include <string_view>

namespace berth::sim {

std::string_view report_template_html();
std::string_view report_css();
std::string_view report_js();

}  // namespace berth::sim
