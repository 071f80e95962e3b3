qkv_app(labs LINKS qkv::report qkv::check qkv::lesson PRIVATE_LINKS tomlplusplus::tomlplusplus)
# What every lab includes takes longer to compile than the lab itself.
target_precompile_headers(qkv_labs PRIVATE apps/labs/kit.h)
qkv_test(apps/labs qkv::labs)
