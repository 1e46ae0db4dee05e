# ditar_add_library(NAME [CONTROL] [SOURCES ...] [HEADERS ...] [PUBLIC ...] [PRIVATE ...])
#   A static library ditar_NAME with alias ditar::NAME; public headers live under include/ of the
#   calling folder and are a FILE_SET, so all_verify_interface_header_sets compiles each alone.
#   CONTROL: compiled for a fast build rather than for fast arithmetic (ditar_control_flags).
function(ditar_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CONTROL" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  set(target ditar_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(ditar::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/include
                                  FILES ${arg_HEADERS})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE}
                                         $<BUILD_INTERFACE:ditar_build_flags>)
  if(arg_CONTROL)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:ditar_control_flags>)
  endif()
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# ditar_add_test(NAME SOURCES ... LIBS ... LABELS ... [TIMEOUT s] [PROCESSORS n] [ENVIRONMENT ...])
#   One GoogleTest executable, each case registered with CTest under its own name.
function(ditar_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROCESSORS" "SOURCES;LIBS;LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main GTest::gmock
                                        ditar_build_flags ditar_control_flags)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support
                                             ${CMAKE_BINARY_DIR}/tests/include)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  # gtest_discover_tests flattens lists: of two labels the second would be lost, and every property
  # after it. So the properties are set by a script that ctest reads after the discovery.
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
  file(
    WRITE ${script}
    "if(${name}_TESTS)
  set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\" TIMEOUT ${arg_TIMEOUT}
                       PROCESSORS ${arg_PROCESSORS} ENVIRONMENT \"${arg_ENVIRONMENT}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
