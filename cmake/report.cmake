# The report's style sheet, script and template are files in src/sim/page/report_assets/; they are put into berth_sim as
# strings, so that the program needs no file beside it. And the report's tests, which are a program of their own.
set(assets template.html report.css page.js numbers.js time.js xy.js distribution.js gantt.js start.js)
list(TRANSFORM assets PREPEND ${CMAKE_SOURCE_DIR}/src/sim/page/report_assets/)
set(embedded ${CMAKE_BINARY_DIR}/generated/report_assets.cc)
add_custom_command(
  OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embedded} "-DASSETS=${assets}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_report.cmake
  DEPENDS ${assets} ${CMAKE_SOURCE_DIR}/cmake/embed_report.cmake
  COMMENT "Embedding the report's assets"
  VERBATIM)
target_sources(berth_sim_page PRIVATE ${embedded})

if(BERTH_TESTS)
  file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/report/*_support.cc)
  berth_tests(sim report ${support})
  set_tests_properties(report PROPERTIES TIMEOUT 300)
endif()
