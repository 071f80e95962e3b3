qkv_app(bench LINKS qkv::report)
qkv_test(apps/bench qkv::bench)
