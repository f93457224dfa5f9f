#include "sim/page/report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "sim/page/report_assets.h"
#include "sim/page/report_format.h"
#include "sim/page/report_page.h"

namespace berth::sim {

std::string render_report(const ReportData& data) {
  const ReportPage page(data);
  const std::string by = data.generated_by.empty() ? std::string() : escape_html(data.generated_by);
  return fill_template(report_template_html(), {
                                                   {"title", escape_html(data.title)},
                                                   {"subtitle", escape_html(data.subtitle)},
                                                   {"generated_by", by},
                                                   {"style", std::string(report_css())},
                                                   {"navigation", page.navigation()},
                                                   {"body", page.body()},
                                                   {"data", escape_script(page.json())},
                                                   {"script", std::string(report_js())},
                                               });
}

Status write_report(const ReportData& data, const std::string& path) {
  const std::string page = render_report(data);
  const std::string beside = path + ".part";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  if (!file) {
    return fail(ErrorCode::kInvalid, "{}: cannot write the report here: {}", path, std::strerror(errno));
  }
  file.write(page.data(), static_cast<std::streamsize>(page.size()));
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    std::remove(beside.c_str());
    return fail(ErrorCode::kInvalid, "{}: cannot write the report here: {}", path, std::strerror(reason));
  }
  return {};
}

}  // namespace berth::sim
