qkv_app(labs FOLDERS kit scores heads positions mixers training LINKS qkv::report qkv::check qkv::lesson PRIVATE_LINKS tomlplusplus::tomlplusplus)
# What every lab includes takes longer to compile than the lab itself.
target_precompile_headers(qkv_labs PRIVATE apps/labs/kit/lab_kit.h)
qkv_test(apps/labs qkv::labs)
if(TARGET apps_labs_test)
  target_sources(apps_labs_test PRIVATE tests/train/loop/observed_run.cc)
endif()
