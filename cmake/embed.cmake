# embed(TARGET FILE SYMBOL): FILE's bytes in TARGET as `const char SYMBOL[]`, which ends in a 0.
function(embed target file symbol)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.c)
  add_custom_command(OUTPUT ${made} DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${source} -D MADE=${made} -D SYMBOL=${symbol} -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake)
  target_sources(${target} PRIVATE ${made})
endfunction()
