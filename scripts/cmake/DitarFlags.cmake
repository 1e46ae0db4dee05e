# One INTERFACE target holds every compile and link flag; all own targets link it PRIVATE.
add_library(ditar_build_flags INTERFACE)
target_compile_features(ditar_build_flags INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

target_compile_options(
  ditar_build_flags
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow
            -Wnon-virtual-dtor -Woverloaded-virtual>)
# GCC 12 at -O3 sees overlapping copies in std::string's operator+ that are not there (GCC PR 105651).
target_compile_options(
  ditar_build_flags
  INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
if(DITAR_WERROR)
  target_compile_options(ditar_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(DITAR_SANITIZE)
  target_compile_options(
    ditar_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${DITAR_SANITIZE}
                                -fno-omit-frame-pointer -fno-sanitize-recover=all -O1>)
  target_link_options(ditar_build_flags INTERFACE -fsanitize=${DITAR_SANITIZE})
  # GCC's manual on -fsanitize: sanitizers cause false positives of this warning.
  target_compile_options(
    ditar_build_flags
    INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Line tables are enough for backtraces, and full debug information doubles a cold build.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

# Code that waits for files, sockets and processes gains nothing from -O2, which makes JSON-heavy
# sources twice as slow to compile. Arithmetic (kernels, engine, scores, statistics) keeps -O2.
add_library(ditar_control_flags INTERFACE)
target_compile_options(
  ditar_control_flags
  INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release>>:-O1>)
