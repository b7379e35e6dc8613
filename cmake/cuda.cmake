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
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/device/cuda/*.c ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu)
  add_library(weir_cuda MODULE ${cuda_sources})
  set_target_properties(weir_cuda PROPERTIES PREFIX "" LINKER_LANGUAGE C CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
    CUDA_VISIBILITY_PRESET hidden INSTALL_RPATH "$ORIGIN" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(weir_cuda PRIVATE ${CMAKE_SOURCE_DIR})
  # Without these two the objects want libstdc++ (__cxa_guard_*, __gxx_personality_v0).
  target_compile_options(weir_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false$<SEMICOLON>-Xcompiler=-fno-exceptions,-fno-threadsafe-statics,-fPIC>
    "$<$<COMPILE_LANGUAGE:C>:$<TARGET_PROPERTY:weir_flags,INTERFACE_COMPILE_OPTIONS>>")
  target_compile_definitions(weir_cuda PRIVATE _GNU_SOURCE)
  target_link_libraries(weir_cuda PRIVATE weir_engine CUDA::cudart_static CUDA::cublasLt)
  target_link_options(weir_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,--as-needed)
  install(TARGETS weir_cuda LIBRARY DESTINATION lib/weir)
endif()
