qkv_app(exchange FOLDERS hugging_face)

file(GLOB c_program_files CONFIGURE_DEPENDS apps/exchange/program/*.c)
set(c_program_source ${CMAKE_CURRENT_BINARY_DIR}/c_program_template.cc)
add_custom_command(OUTPUT ${c_program_source} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${c_program_source}
          -D folder=${CMAKE_CURRENT_SOURCE_DIR}/apps/exchange/program
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/c_program.cmake
  DEPENDS ${c_program_files} cmake/c_program.cmake cmake/literal.cmake)
target_sources(qkv_exchange PRIVATE ${c_program_source})
qkv_test(apps/exchange qkv::exchange)
foreach(program fuzz_test fuzzer)
  if(TARGET ${program})
    target_sources(${program} PRIVATE tests/apps/exchange/fuzz_hugging_face.cc)
    target_link_libraries(${program} PRIVATE qkv::exchange)
    target_compile_options(qkv_exchange PRIVATE ${coverage})  # of libFuzzer
  endif()
endforeach()

if(QKV_BUILD_TESTS AND NOT QKV_SANITIZE AND NOT QKV_SANITIZE_THREADS)
  # Some of them as programs in C; skipped without NumPy.
  add_test(NAME CProgram.AnswersAsQkvDoes COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/apps/exchange/c_program/run)
  # Every model as ONNX; skipped where python3-onnx or onnxruntime-web is missing.
  add_test(NAME Onnx.ComputesTheLogitsOfEveryModel
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/apps/exchange/onnx/run)
  # The models of Hugging Face in PyTorch; skipped where there is none.
  add_test(NAME PyTorch.AgreesOnTheModelsOfHuggingFace
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/pytorch/run ../apps/exchange/hugging_face_test.py)
  set_tests_properties(CProgram.AnswersAsQkvDoes Onnx.ComputesTheLogitsOfEveryModel
                       PyTorch.AgreesOnTheModelsOfHuggingFace PROPERTIES TIMEOUT 600
                       SKIP_RETURN_CODE 77 ENVIRONMENT "QKV=$<TARGET_FILE:qkv>")
endif()
