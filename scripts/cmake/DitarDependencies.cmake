# Every external dependency is a Debian package or comes with the CUDA toolkit; scripts/setup.sh
# installs the packages. Found here once, used by target name elsewhere.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(spdlog 1.9 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZeroMQ REQUIRED IMPORTED_TARGET libzmq>=4.3.3)
pkg_check_modules(IsaL REQUIRED IMPORTED_TARGET libisal)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

if(DITAR_BUILD_WORKER)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  find_package(MPI REQUIRED COMPONENTS C)
  # oneDNN's own package file asks for OpenCL's headers, which only its GPU engine needs.
  find_path(Dnnl_INCLUDE_DIR dnnl.hpp REQUIRED)
  find_library(Dnnl_LIBRARY dnnl REQUIRED)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${Dnnl_LIBRARY}
                                              INTERFACE_INCLUDE_DIRECTORIES ${Dnnl_INCLUDE_DIR})
endif()
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(DITAR_ENABLE_CUDA)
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know nvcc's flag
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()
