# Everything third-party comes from Debian packages; ./dev installs them. Headers are system includes.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(EVENT REQUIRED IMPORTED_TARGET libevent_core)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)

find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(dnnl INTERFACE IMPORTED)
target_include_directories(dnnl SYSTEM INTERFACE ${DNNL_INCLUDE})
target_link_libraries(dnnl INTERFACE ${DNNL_LIBRARY} gomp) # gomp: its number of threads is set through OpenMP

# llhttp comes as C sources (package node-llhttp). Its default build accepts what strict mode refuses (CVE-2023-30589 and
# others), so strict mode is part of the target: whoever sees the header gets it.
find_path(LLHTTP_INCLUDE llhttp.h PATHS /usr/share/include/llhttp /usr/include/llhttp NO_DEFAULT_PATH REQUIRED)
find_path(LLHTTP_SOURCE llhttp.c PATHS /usr/share/llhttp NO_DEFAULT_PATH REQUIRED)
add_library(llhttp STATIC ${LLHTTP_SOURCE}/llhttp.c ${LLHTTP_SOURCE}/api.c ${LLHTTP_SOURCE}/http.c)
target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE})
target_compile_definitions(llhttp PUBLIC LLHTTP_STRICT_MODE=1)
target_compile_options(llhttp PRIVATE -O2 -w)
