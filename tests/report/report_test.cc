#include "sim/page/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "report/sample_support.h"
#include "sim/page/report_format.h"

namespace berth::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

TEST(Report, EqualDataGivesEqualBytes) {
  const std::string once = render_report(sample_report({24, 800, 6, 6}));
  EXPECT_EQ(once, render_report(sample_report({24, 800, 6, 6})));
  EXPECT_NE(once, render_report(sample_report({24, 800, 6, 6}, 2)));
}

TEST(Report, NothingIsLoadedFromAnywhere) {
  std::string page = render_report(sample_report({24, 800, 6, 6}));
  const std::string own = "url(#hatch)";  // a pattern within the page
  ASSERT_THAT(page, HasSubstr(own));
  for (std::size_t at = page.find(own); at != std::string::npos; at = page.find(own))
    page.erase(at, own.size());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* mark :
       {"src=\"http", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "<link rel=\"style"}) {
    EXPECT_THAT(page, Not(HasSubstr(mark)));
  }
  EXPECT_EQ(count_of(page, "{{"), 0u);
}

TEST(Report, HostileNamesStayText) {
  const std::string evil = "</script><script>alert(1)</script> \"quoted\" 'single' & <b>ü{{script}} \xff\x01";
  ReportData data;
  data.title = evil;
  data.subtitle = evil;
  data.generated_by = evil;
  data.scenario = evil;
  data.color_order = {evil};
  data.key_figures = {{evil, evil, evil, evil}};
  data.notes = {{NoteKind::kWarning, evil}};
  TimeChart time{evil,
                 evil,
                 evil,
                 1,
                 SeriesStyle::kStacked,
                 Palette::kChoice,
                 {{evil, {{0, 1}}}},
                 Series{evil, {{0, 2}}},
                 0,
                 10};
  Distribution waits{
      evil, evil, evil, SampleKind::kAmount, evil, 1, Palette::kChoice, evil, {{evil, {1, 2}}, {evil, {3}}}};
  XyChart xy{evil, evil, evil, 1, evil, SampleKind::kAmount, 1, true, true, {{evil, {{1, 2, 1, 3}}, false}}};
  Gantt gantt{evil, evil, {{evil, evil, 1, {{evil, evil, 0, 5, 1000, BarEnd::kCompleted, {}}}}}, 0, 10};
  Table table{
      evil,
      evil,
      {{evil, ColumnKind::kText, evil}, {evil, ColumnKind::kNumber, evil}, {evil, ColumnKind::kDurationMs}},
      {{evil, evil, evil}}};
  data.sections = {
      {evil,
       evil,
       {time, waits, gantt, table, xy, TextBlock{evil, true, evil}, TextBlock{evil, false, evil}}}};
  const std::string page = render_report(data);

  ReportData plain;
  plain.scenario = "x";
  const std::size_t scripts = count_of(render_report(plain), "</script>");
  EXPECT_EQ(count_of(page, "</script>"), scripts);
  EXPECT_EQ(count_of(page, "<script>alert"), 0u);
  EXPECT_EQ(count_of(page, "<b>ü"), 0u);
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("{{script}}"));  // a name that looks like a mark of the template is a name
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
}

TEST(Report, TheFootHasProgramSeedsAndFiles) {
  ReportData data;
  data.program = "berth 0.1.0";
  data.generated_by = "berth simulate a.yaml";
  data.seeds = "seed 7";
  data.files = {"metrics.csv", "a&b.csv"};
  const std::string page = render_report(data);
  const std::string foot = page.substr(page.find("<footer>"));
  EXPECT_THAT(foot,
              HasSubstr("<span>berth 0.1.0</span>\n<span>berth simulate a.yaml</span>\n<span>seed 7</span>"));
  EXPECT_THAT(foot,
              HasSubstr("<a href=\"metrics.csv\">metrics.csv</a> <a href=\"a&amp;b.csv\">a&amp;b.csv</a>"));
}

TEST(Report, PicturesAreDescribedInWords) {
  ReportData data;
  TimeChart time;
  time.unit = "GPU";
  time.end_ms = kHour;
  time.series = {{"research", {{0, 4}, {kHour / 2, 8}}}, {"product", {{0, 2}}}};
  XyChart xy;
  xy.x_title = "nodes";
  xy.y_title = "jobs";
  xy.series = {{"pack", {{1, 5, 5, 5}, {2, 3, 3, 3}, {4, 9, 9, 9}}, false}};
  Distribution waits;
  waits.subject = "jobs";
  waits.groups = {{"all", {0, kMinute, kHour}}};
  Gantt gantt{"", "", {{"n1", "", 2, {{"w", "q", 0, 5, 1000, BarEnd::kCompleted, {}}}}}, 0, kHour};
  data.sections = {{"s", "", {time, xy, waits, gantt}}};
  const std::string page = render_report(data);
  for (const char* words :
       {"id=\"words-0\">Lines over 1 h. research: mean 6 GPU, peak 8 GPU. product: mean 2 GPU, peak 2 "
        "GPU.</p>",
        "id=\"words-1\">Curves of jobs over nodes. pack: from 5 at 1 to 9 at 4, least 3 at 2, greatest 9 at "
        "4.</p>",
        "id=\"words-2\">Quantiles and tails of jobs. all: Half of the 3 jobs: at most 1 min. Nine in ten: at "
        "most 1 h. "
        "None at all: 33.3 %. The longest: 1 h.</p>",
        "id=\"words-3\">1 bars of work on 1 nodes over 1 h. n1: 2 devices, 1 bars.</p>"}) {
    EXPECT_THAT(page, HasSubstr(words));
  }
  EXPECT_EQ(count_of(page, "aria-describedby=\"words-"), 4u);
}

TEST(Report, SixColoursThenTheSameHatched) {
  ReportData data;
  XyChart chart;
  for (int s = 0; s < 8; ++s) chart.series.push_back({"s" + std::to_string(s), {{1, 1, 1, 1}}, false});
  data.sections = {{"s", "", {chart}}};
  const std::string page = render_report(data);
  EXPECT_THAT(page, HasSubstr("<i class=\"swatch\" style=\"--c:var(--s6)\">"));
  EXPECT_THAT(page, HasSubstr("<i class=\"swatch hatch\" style=\"--c:var(--s7)\">"));
  EXPECT_THAT(page, HasSubstr("--s7: var(--s1);"));
}

TEST(Report, SaysWhenThereIsNothing) {
  ReportData data;
  data.title = "Empty";
  TimeChart time;
  Distribution waits;
  waits.groups = {{"a", {}}, {"b", {}}};
  data.sections = {{"All", "", {time, waits, Gantt{}, Table{}, XyChart{}}}};
  const std::string page = render_report(data);
  EXPECT_THAT(page, HasSubstr("No data in this span of time."));
  EXPECT_THAT(page, HasSubstr("No samples."));
  EXPECT_THAT(page, HasSubstr("No points."));
  EXPECT_THAT(page, HasSubstr("Nothing ran on these nodes"));
}

TEST(Report, TablesShowDurationsAndSortByTheirNumbers) {
  ReportData data;
  Table table{"t", "", {{"job"}, {"waited", ColumnKind::kDurationMs}, {"GPUs", ColumnKind::kNumber}}, {}};
  for (int i = 0; i < 600; ++i) table.rows.push_back({"j", "5400000", "12,345"});
  table.rows[1] = {"", "", ""};
  table.rows[2] = {"short row"};
  data.sections = {{"s", "", {table}}};
  const std::string page = render_report(data);
  EXPECT_THAT(page, HasSubstr("<td class=\"n\" data-v=\"5400000\">1 h 30 min</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\" data-v=\"12345\">12,345</td>"));
  EXPECT_THAT(page, HasSubstr("The first 500 of 600 rows."));
  EXPECT_EQ(count_of(page, "<th scope=\"row\""), kMaxTableRows);
}

TEST(Report, CurvesHaveTheirNumbersBelow) {
  ReportData data;
  XyChart chart;
  chart.title = "c";
  chart.x_title = "nodes";
  chart.y_divisor = 1000;
  for (int s = 0; s < 20; ++s)
    chart.series.push_back({"s" + std::to_string(s), {{s, 1500, 1000, 2000}, {100, 7, 7, 7}}, false});
  data.sections = {{"s", "", {chart}}};
  const std::string page = render_report(data);
  EXPECT_THAT(page, HasSubstr("<td class=\"n\" data-v=\"1500\">1.5 (1 to 2)</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\" data-v=\"7\">0.007</td>"));
  EXPECT_THAT(page, HasSubstr("8 more curves are not drawn."));
}

TEST(Report, DifferencesSayWhatIsBetter) {
  ReportData data;
  Table table{"t",
              "",
              {{"v"},
               {"less", ColumnKind::kDifference, "", -1},
               {"more", ColumnKind::kDifference, "", 1},
               {"neither", ColumnKind::kDifference}},
              {{"a", "-5 %", "-5 %", "-5 %"}, {"b", "+5 %", "+5 %", "+5 %"}, {"c", "0 %", "", "0 %"}}};
  data.sections = {{"s", "", {table}}};
  const std::string page = render_report(data);
  EXPECT_EQ(count_of(page, "<td class=\"n better\""), 2u);
  EXPECT_EQ(count_of(page, "<td class=\"n worse\""), 2u);
  EXPECT_THAT(page, HasSubstr("<td class=\"n better\" data-v=\"-5 %\">-5 %</td>"));
}

TEST(Report, AMillionJobsStaySmall) {
  ReportData data;
  TimeChart time;
  time.style = SeriesStyle::kStacked;
  time.end_ms = 2'000'000'000;
  Distribution waits;
  Gantt gantt;
  gantt.end_ms = time.end_ms;
  for (int q = 0; q < 1000; ++q) {
    Series series{"queue " + std::to_string(q), {}};
    SampleGroup group{series.name, {}};
    for (int i = 0; i < 1000; ++i) {
      series.points.push_back({TimeMs{i} * 2'000'000 + q, (i * 7 + q) % 90});
      group.samples.push_back((i * 7919 + q * 104729) % 90'000'000);
    }
    time.series.push_back(std::move(series));
    waits.groups.push_back(std::move(group));
    GanttLane lane{"node " + std::to_string(q), "", 8, {}};
    for (int i = 0; i < 100; ++i)
      lane.bars.push_back({"w", "q", i * 1000, i * 1000 + 900 + q, 1000, BarEnd::kCompleted, {}});
    gantt.lanes.push_back(std::move(lane));
  }
  data.sections = {{"s", "", {time, waits, gantt}}};
  const std::string page = render_report(data);
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_THAT(page, HasSubstr("other (989)"));
  EXPECT_THAT(page, HasSubstr("936 more nodes are not drawn."));
}

TEST(Report, WritesWholePagesOrNone) {
  const auto folder = std::filesystem::temp_directory_path() / ("berth_report_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "report.html").string();
  const ReportData data = sample_report({8, 60, 2, 2});
  ASSERT_TRUE(write_report(data, path).has_value());
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), render_report(data));
  const Status missing = write_report(data, (folder / "no" / "report.html").string());
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(missing.error().str(), HasSubstr("no/report.html"));
  // The name is taken by a folder: the half-way file must not stay behind.
  std::filesystem::create_directories(folder / "taken" / "inside");
  EXPECT_FALSE(write_report(data, (folder / "taken").string()).has_value());
  EXPECT_FALSE(std::filesystem::exists(folder / "taken.part"));
  std::filesystem::remove_all(folder);
}

TEST(ReportWords, Durations) {
  EXPECT_EQ(human_duration(0), "0 s");
  EXPECT_EQ(human_duration(250), "250 ms");
  EXPECT_EQ(human_duration(1500), "1.5 s");
  EXPECT_EQ(human_duration(9960), "10 s");
  EXPECT_EQ(human_duration(59'900), "1 min");
  EXPECT_EQ(human_duration(200'000), "3 min 20 s");
  EXPECT_EQ(human_duration(3'599'900), "1 h");
  EXPECT_EQ(human_duration(5 * kHour + 12 * kMinute), "5 h 12 min");
  EXPECT_EQ(human_duration(51 * kHour), "2 d 3 h");
  EXPECT_EQ(human_duration(std::int64_t{24} * 1234 * kHour), "1,234 d");
  EXPECT_EQ(human_duration(-kMinute), "-1 min");
  EXPECT_EQ(human_duration(INT64_MIN).front(), '-');
  EXPECT_THAT(human_duration(INT64_MAX), HasSubstr(" d"));
}

TEST(ReportWords, Amounts) {
  EXPECT_EQ(human_amount(0), "0");
  EXPECT_EQ(human_amount(1'234'567), "1,234,567");
  EXPECT_EQ(human_amount(12'345'649, 1000, 1), "12,345.6");
  EXPECT_EQ(human_amount(1'999'960, 1000, 1), "2,000");
  EXPECT_EQ(human_amount(-1500, 1000, 2), "-1.5");
  EXPECT_EQ(human_amount(-4, 1000, 1), "0");
  EXPECT_EQ(human_amount(1'005, 1000, 3), "1.005");
  EXPECT_EQ(human_amount(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(ReportWords, TemplatesAreFilledOnce) {
  EXPECT_EQ(fill_template("a {{x}} {{y}} {{z", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} 2 {{z");
  EXPECT_EQ(fill_template("{{unknown}}", {{"x", "1"}}), "{{unknown}}");
}

}  // namespace
}  // namespace berth::sim
