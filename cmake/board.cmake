# The dashboard's pages are put into berth_scheduler_board as strings. The bundle is made by scripts/web (npm), in web/dist; it is no part of
# the repository. Without it the program is built all the same, and its only page says how to get the others.
set(dist ${CMAKE_SOURCE_DIR}/web/dist)
file(GLOB bundle CONFIGURE_DEPENDS ${dist}/index.html)
if(bundle)
  set(board_assets ${dist}/index.html ${dist}/app.js ${dist}/app.css ${dist}/licences.txt)
  message(STATUS "Dashboard: the bundle in web/dist")
else()
  set(board_assets ${CMAKE_SOURCE_DIR}/src/scheduler/board/assets/index.html)
  message(STATUS "Dashboard: no bundle (scripts/web makes it): a page that says so")
endif()
set(board_source ${CMAKE_BINARY_DIR}/generated/board_assets.cc)
add_custom_command(
  OUTPUT ${board_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${board_source} "-DASSETS=${board_assets}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_board.cmake
  DEPENDS ${board_assets} ${CMAKE_SOURCE_DIR}/cmake/embed_board.cmake
  COMMENT "Embedding the dashboard"
  VERBATIM)
target_sources(berth_scheduler_board PRIVATE ${board_source})
