// Opens a report in a real browser (Chromium, where it is installed; skipped otherwise), uses it as a reader would, and
// reads back what the page says. The page's own policy forbids every network request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "report/sample_support.h"
#include "sim/page/report.h"

namespace berth::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  for (std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe); n > 0;
       n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    out.append(buffer.data(), n);
  }
  pclose(pipe);
  return out;
}

std::string browser() {
  std::string path =
      output_of("command -v chromium || command -v chromium-browser || command -v google-chrome");
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return path;
}

// Acts on the page, then leaves a list of what it saw in <pre id="seen">.
constexpr const char* kReader = R"js(
<script>
const seen = [];
addEventListener('error', (event) => seen.push('ERROR ' + event.message));
addEventListener('securitypolicyviolation', (event) => seen.push('REQUEST ' + event.blockedURI));
// A browser without a screen draws no frames, so drawing is driven by a timer here.
window.requestAnimationFrame = (draw) => setTimeout(draw, 5);
const pause = () => new Promise((done) => setTimeout(done, 80));
const tip = () => document.getElementById('tip');
const key = (target, name, more) => target.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true, ...more }));
addEventListener('load', async () => {
  try {
    const waits = (plot) => plot.inert && plot.clientWidth > 0;
    for (let i = 0; i < 50 && [...document.querySelectorAll('.plot')].some(waits); ++i) await pause();
    await pause();
    const time = document.querySelector('figure.time'), plot = time.querySelector('.plot');
    seen.push('areas ' + plot.querySelectorAll('path').length);
    const box = plot.getBoundingClientRect();
    plot.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + 50, bubbles: true, pointerType: 'mouse' }));
    seen.push('tip over a chart ' + !tip().hidden + ' rows ' + tip().querySelectorAll('tr').length);
    plot.dispatchEvent(new PointerEvent('pointerleave'));
    const shape = () => plot.querySelector('path').getAttribute('d'), before = shape();
    key(plot, '+');
    await pause();
    seen.push('zoomed ' + (shape() !== before) + ' track ' + !time.querySelector('.track').hidden);
    key(plot, '0');
    await pause();
    seen.push('whole again ' + (shape() === before));
    key(plot, 'ArrowRight');
    seen.push('said ' + /research-vision/.test(document.getElementById('live').textContent));
    const first = time.querySelector('.legend tr[data-i] button');
    first.click();
    seen.push('alone ' + first.getAttribute('aria-pressed') + ' ' + plot.querySelectorAll('path').length);
    first.click();
    seen.push('strips ' + document.querySelectorAll('td.strip rect').length);
    const curves = document.querySelector('figure.dist .plot'), area = curves.getBoundingClientRect();
    curves.dispatchEvent(new PointerEvent('pointermove', { clientX: area.left + area.width * 0.6, clientY: area.top + 50 }));
    seen.push('tip over curves ' + tip().textContent.includes('more than'));
    const gantt = document.querySelector('figure.gantt .plot');
    key(gantt, 'ArrowDown');
    seen.push('tip over a bar ' + tip().textContent.includes('GPUs here'));
    const find = document.querySelector('figure.gantt input');
    find.value = 'vision';
    find.dispatchEvent(new Event('input'));
    seen.push('search ' + /^[1-9]\d* found$/.test(document.querySelector('.found').textContent));
    const beside = time.querySelector('details.numbers');
    beside.open = true;
    await pause();
    seen.push('numbers of a chart ' + (beside.querySelectorAll('tbody tr').length > 10));
    const sweep = document.querySelector('figure.xy .plot');
    seen.push('points ' + sweep.querySelectorAll('circle').length);
    key(sweep, 'ArrowRight');
    seen.push('tip over a curve ' + /nodes: 80/.test(tip().textContent) + ' ' + /2 h 30 min \(2 h 13 min to 3 h 3 min\)/.test(tip().textContent));
    seen.push('better ' + document.querySelectorAll('td.better').length + ' worse ' + document.querySelectorAll('td.worse').length);
    seen.push('copy buttons ' + document.querySelectorAll('.card.table > .copy').length);
    const table = document.querySelector('table.sortable'), head = table.tHead.rows[0].cells[2];
    head.querySelector('button').click();
    head.querySelector('button').click();
    const numbers = [...table.tBodies[0].rows].map((row) => Number(row.cells[2].dataset.v));
    seen.push('sorted ' + head.getAttribute('aria-sort') + ' ' + numbers.every((n, i) => i === 0 || numbers[i - 1] <= n));
    seen.push('direct labels ' + document.querySelectorAll('figure.time text.direct').length + ' ' + document.querySelectorAll('figure.dist text.direct').length);
    seen.push('hatched ' + document.querySelectorAll('[style="fill:url(#hatch)"]').length);
    const ticks = [...sweep.querySelectorAll('text[text-anchor="middle"]')].map((text) => text.textContent);
    seen.push('ticks of a sweep ' + ticks.join(' '));
    seen.push('tails ' + [...document.querySelectorAll('figure.dist .plot')].every((plot) => /100 %.*10 %.*1 %/.test(plot.textContent)));
    const wide = (which) => [...document.querySelectorAll(which)].filter((card) => card.scrollWidth > card.clientWidth + 1).length;
    seen.push('cards too wide ' + wide('.figure, .card'));
    document.querySelector('.figure .value').textContent = 'x'.repeat(200);
    document.body.style.width = '360px';
    await pause();
    seen.push('figures too wide on a phone ' + wide('.figure'));
    document.body.style.width = '';
    const button = document.getElementById('theme');
    const themes = [];
    for (let i = 0; i < 3; ++i) { button.click(); themes.push(document.documentElement.dataset.theme); }
    seen.push('themes ' + themes.slice(0, 2).join(' '));
    dispatchEvent(new Event('beforeprint'));
    dispatchEvent(new Event('afterprint'));
    await pause();
    seen.push('overflow ' + (document.documentElement.scrollWidth > innerWidth));
    seen.push('requests ' + performance.getEntriesByType('resource').filter((entry) => !entry.name.startsWith('data:')).length);
  } catch (error) { seen.push('ERROR ' + error.stack); }
  const list = document.createElement('pre');
  list.id = 'seen';
  list.textContent = seen.join('\n') + '\nEND';
  document.body.append(list);
});
</script></head>)js";

TEST(ReportInABrowser, IsUsable) {
  const std::string chromium = browser();
  if (chromium.empty()) GTEST_SKIP() << "no Chromium here (package chromium)";
  const auto folder = std::filesystem::temp_directory_path() / ("berth_browser_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string page = render_report(sample_report({24, 3000, 8, 6}));
  page.replace(page.find("</head>"), 7, kReader);
  std::ofstream(folder / "report.html", std::ios::binary) << page;
  const std::string dom =
      output_of("timeout 120 '" + chromium +
                "' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr" +
                " --window-size=1280,1000 --virtual-time-budget=10000 --user-data-dir='" +
                (folder / "profile").string() + "' --dump-dom 'file://" + (folder / "report.html").string() +
                "' 2>'" + (folder / "log").string() + "'");
  std::ifstream log_file(folder / "log");
  const std::string log{std::istreambuf_iterator<char>(log_file), std::istreambuf_iterator<char>()};
  std::filesystem::remove_all(folder);

  const std::size_t from = dom.rfind("<pre id=\"seen\">");
  ASSERT_NE(from, std::string::npos) << log;
  const std::string seen = dom.substr(from, dom.find("</pre>", from) - from);
  EXPECT_THAT(log, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(seen, Not(HasSubstr("ERROR")));
  EXPECT_THAT(seen, Not(HasSubstr("REQUEST")));
  for (const char* line : {"tip over a chart true",
                           "zoomed true track true",
                           "whole again true",
                           "said true",
                           "alone true 2",
                           "tip over curves true",
                           "tip over a bar true",
                           "search true",
                           "numbers of a chart true",
                           "points 5",
                           "tip over a curve true true",
                           "better 1 worse 1",
                           "sorted ascending true",
                           "themes light dark",
                           "overflow false",
                           "requests 0",
                           "tails true",
                           "cards too wide 0",
                           "figures too wide on a phone 0",
                           "ticks of a sweep 80 96 112\n",
                           "END"}) {
    EXPECT_THAT(seen, HasSubstr(line));
  }
  EXPECT_THAT(seen, Not(HasSubstr("copy buttons 0")));
  EXPECT_THAT(seen, Not(HasSubstr("areas 0")));
  EXPECT_THAT(seen, Not(HasSubstr("direct labels 0")));
  EXPECT_THAT(seen, Not(HasSubstr("hatched 0")));
  EXPECT_THAT(seen, Not(HasSubstr("strips 0\n")));
}

}  // namespace
}  // namespace berth::sim
