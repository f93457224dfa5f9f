#include "sim/page/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "sim/page/report_assets.h"
#include "sim/page/report_format.h"
#include "sim/page/report_page.h"

namespace berth::sim {

namespace {

// The program, its command and seeds, and links to the files beside the page.
std::string foot_of(const ReportData& data) {
  std::string out;
  for (const std::string* part : {&data.program, &data.generated_by, &data.seeds}) {
    if (!part->empty()) out += fmt::format("<span>{}</span>\n", escape_html(*part));
  }
  if (data.files.empty()) return out;
  out += "<span>Files:";
  for (const std::string& file : data.files)
    out += fmt::format(" <a href=\"{0}\">{0}</a>", escape_html(file));
  return out + "</span>\n";
}

}  // namespace

std::string render_report(const ReportData& data) {
  const ReportPage page(data);
  return fill_template(report_template_html(), {
                                                   {"title", escape_html(data.title)},
                                                   {"subtitle", escape_html(data.subtitle)},
                                                   {"foot", foot_of(data)},
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
