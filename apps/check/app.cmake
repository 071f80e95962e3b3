qkv_library(mutation FOLDERS apps/check/mutation apps/check/precision LINKS qkv::gradcheck)
qkv_app(check LINKS qkv::mutation qkv::gradcheck_documents qkv::report)
qkv_test(apps/check qkv::check qkv::models qkv::report)
