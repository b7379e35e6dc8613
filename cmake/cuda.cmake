# The CUDA module, weir_cuda.so: found, not required. The server never links anything of CUDA; it opens the module at run
# time (engine/device/cuda_module.h).
set(WEIR_CUDA AUTO CACHE STRING "The CUDA module: AUTO builds it where nvcc, cudart_static and cublasLt are; ON, OFF")
set_property(CACHE WEIR_CUDA PROPERTY STRINGS AUTO ON OFF)
set(WEIR_CUDA_FOUND OFF)
find_package(CUDAToolkit QUIET) # its headers are what the tests on the CUDA double need
if(NOT WEIR_CUDA STREQUAL "OFF" AND NOT WEIR_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # Set before the language is enabled: CMake 3.25's own lists of architectures are older than CUDA 13.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "90" CACHE STRING "Architectures of the CUDA module; the preset release has all")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt AND TARGET CUDA::cudart_static)
      set(WEIR_CUDA_FOUND ON)
    endif()
  endif()
endif()
if(WEIR_CUDA STREQUAL "ON" AND NOT WEIR_CUDA_FOUND)
  message(FATAL_ERROR "WEIR_CUDA=ON, but nvcc, cudart_static or cublasLt is missing, or this is a sanitizer's build")
endif()
message(STATUS "CUDA module: ${WEIR_CUDA_FOUND}")

if(WEIR_CUDA_FOUND)
  # The same objects are in the module and in the programs of tests/device.
  file(GLOB cuda_kernel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu)
  file(GLOB cuda_backend_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/device/cuda/*.c)
  add_library(weir_cuda_kernels OBJECT ${cuda_kernel_sources})
  add_library(weir_cuda_backend OBJECT ${cuda_backend_sources})
  set_target_properties(weir_cuda_kernels PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
    CUDA_VISIBILITY_PRESET hidden)
  target_include_directories(weir_cuda_kernels PRIVATE ${CMAKE_SOURCE_DIR})
  # Without these two the objects want libstdc++ (__cxa_guard_*, __gxx_personality_v0).
  target_compile_options(weir_cuda_kernels PRIVATE
    -fmad=false -Xcompiler=-fno-exceptions,-fno-threadsafe-statics,-fPIC)
  target_compile_definitions(weir_cuda_kernels PRIVATE _GNU_SOURCE)
  target_link_libraries(weir_cuda_kernels PUBLIC weir_kernels CUDA::cudart_static)
  target_link_libraries(weir_cuda_backend PRIVATE weir_flags PUBLIC weir_cuda_kernels weir_engine CUDA::cublasLt)

  add_library(weir_cuda MODULE)
  set_target_properties(weir_cuda PROPERTIES PREFIX "" LINKER_LANGUAGE C CUDA_RUNTIME_LIBRARY Static
    INSTALL_RPATH "$ORIGIN" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(weir_cuda PRIVATE weir_cuda_backend weir_cuda_kernels)
  target_link_options(weir_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,--as-needed)
  install(TARGETS weir_cuda LIBRARY DESTINATION lib/weir)
endif()
