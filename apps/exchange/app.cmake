qkv_app(exchange FOLDERS hugging_face)

set(run_program ${CMAKE_CURRENT_BINARY_DIR}/run_program.cc)
add_custom_command(OUTPUT ${run_program} VERBATIM
  COMMAND ${CMAKE_COMMAND} -D output=${run_program} -D file=${CMAKE_CURRENT_SOURCE_DIR}/apps/exchange/run.c
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/run_program.cmake
  DEPENDS apps/exchange/run.c cmake/run_program.cmake cmake/literal.cmake)
target_sources(qkv_exchange PRIVATE ${run_program})
qkv_test(apps/exchange qkv::exchange)
foreach(program fuzz_test fuzzer)
  if(TARGET ${program})
    target_sources(${program} PRIVATE tests/apps/exchange/fuzz_hugging_face.cc)
    target_link_libraries(${program} PRIVATE qkv::exchange)
    target_compile_options(qkv_exchange PRIVATE ${coverage})  # of libFuzzer
  endif()
endforeach()

if(QKV_BUILD_TESTS AND NOT QKV_SANITIZE AND NOT QKV_SANITIZE_THREADS)
  # Decoders as programs in C; skipped without NumPy.
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
