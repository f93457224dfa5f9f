// Text of a report: escaping for HTML and the pieces that markup is made of. Used by report.cc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::sim {

// `text` safe in HTML content and in quoted attributes. Bytes that are not UTF-8, and control characters
// other than tab and line feed, become U+FFFD.
std::string escape_html(std::string_view text);
// The mark of a colour, given as the name of its variable in report.css: --s7 to --s12 are hatched.
std::string swatch(std::string_view color);

// `json` safe within a <script> element: no "<" stays in it.
std::string escape_script(std::string_view json);

// Replaces each "{{name}}" of a page template by its value, in one pass, so that a value that looks like a
// mark stays as it is. Marks that `values` does not have stay too.
std::string fill_template(std::string_view page,
                          const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace berth::sim
