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
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/report/*_test.cc)
  file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/report/*_support.cc)
  add_executable(test_report ${tests} ${support})
  target_include_directories(test_report PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(test_report PRIVATE berth_sim berth_flags GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(test_report PRIVATE ${BERTH_TEST_OPTIONS})
  berth_precompile(test_report tests)
  add_test(NAME report COMMAND test_report)
  set_tests_properties(report PROPERTIES TIMEOUT 300)
endif()
