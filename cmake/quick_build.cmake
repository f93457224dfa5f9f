# What makes a build from nothing quick: precompiled headers, and several sources of a room compiled as one.
#
# berth_precompile(TARGET rooms|tests): the headers that nearly every source reads are compiled once and not with each of them;
# of the tests of a room that is half of the time. Sources include what they need all the same, so that they compile without it:
# scripts/lint compiles them so, and so do sanitizers and clang. BERTH_UNITY follows the same rule. A compiler cache shares no
# objects between work trees of different paths with it: BERTH_PRECOMPILE=OFF is for those.
if(BERTH_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(quick OFF)
else()
  set(quick ON)
endif()
option(BERTH_PRECOMPILE "compile the headers that nearly every source reads only once" ${quick})
if(BERTH_PRECOMPILE)
  # g++ 12 does not know of code from precompiled headers that it is the library's, and warns of what it inlines from there.
  target_compile_options(berth_flags INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# What several sources instantiate alike is compiled once. So names in the unnamed namespaces of a room's sources, and of its tests,
# must differ: "redefinition of" is the message. A source that must be compiled for itself:
# set_source_files_properties(... SKIP_UNITY_BUILD_INCLUSION ON).
option(BERTH_UNITY "compile several sources of a room as one" ${quick})
if(BERTH_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
  # Types of unnamed namespaces in members of a source's own Impl: its file is no header, although it is included here.
  target_compile_options(berth_flags INTERFACE -Wno-subobject-linkage)
endif()

# What the tests of the rooms are compiled with: they are run once, and their code is most of what there is to compile.
set(BERTH_TEST_OPTIONS "$<$<CONFIG:RelWithDebInfo>:-O1>")

function(berth_precompile target for)
  if(BERTH_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM berth_precompiled_${for})
  endif()
endfunction()

if(BERTH_PRECOMPILE)
  set(source ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  set(headers <algorithm> <array> <charconv> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory> <mutex> <optional>
              <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
              <tl/expected.hpp>)
  add_library(berth_precompiled_rooms OBJECT ${source})
  target_link_libraries(berth_precompiled_rooms PRIVATE berth_flags fmt::fmt tl::expected)
  target_precompile_headers(berth_precompiled_rooms PRIVATE ${headers})
  if(BERTH_TESTS)
    add_library(berth_precompiled_tests OBJECT ${source})
    target_link_libraries(berth_precompiled_tests PRIVATE berth_flags fmt::fmt tl::expected GTest::gtest GTest::gmock)
    target_compile_options(berth_precompiled_tests PRIVATE ${BERTH_TEST_OPTIONS})
    target_precompile_headers(berth_precompiled_tests PRIVATE ${headers} <gtest/gtest.h> <gmock/gmock.h> <nlohmann/json.hpp>)
  endif()
endif()
