# Builds for another processor, with Debian's cross compiler and its packages unpacked in a folder (scripts/image --arch does so):
# -DCMAKE_TOOLCHAIN_FILE=cmake/cross.cmake -DBERTH_CROSS=aarch64-linux-gnu -DCMAKE_SYSROOT=FOLDER
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BERTH_CROSS)
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${BERTH_CROSS})
set(CMAKE_CXX_COMPILER ${BERTH_CROSS}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${BERTH_CROSS})
# Programs are this machine's; all else is in the folder.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${BERTH_CROSS}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
