# Compiler flags shared by everything that we build: warnings, sanitizers, the linker, the compiler cache.
add_library(berth_flags INTERFACE)
target_compile_options(berth_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                             -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers)
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE -Werror)
endif()
target_include_directories(berth_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)

if(BERTH_SANITIZE)
  target_compile_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all)
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
endif()

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()
find_program(BERTH_MOLD mold)
if(BERTH_MOLD AND NOT CMAKE_CROSSCOMPILING)  # a cross compiler looks for it by another name
  add_link_options(-fuse-ld=mold)
endif()
