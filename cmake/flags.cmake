# Flags of our own code: warnings are errors, and the hardening that a network service wants.
add_library(weir_flags INTERFACE)
target_compile_definitions(weir_flags INTERFACE _GNU_SOURCE)
target_compile_options(weir_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wundef
  -fno-strict-aliasing -fstack-protector-strong -fstack-clash-protection -fvisibility=hidden)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(weir_flags INTERFACE -fcf-protection)
endif()
target_link_options(weir_flags INTERFACE -Wl,-z,relro,-z,now)

if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(weir_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
