qkv_library(mutation FOLDERS apps/check/mutation apps/check/precision LINKS qkv::gradcheck_report)
qkv_app(check LINKS qkv::mutation qkv::report)
qkv_test(apps/check qkv::check qkv::models qkv::report)
