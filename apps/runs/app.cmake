qkv_app(runs FOLDERS replay sweep LINKS qkv::report qkv::lesson)
qkv_test(apps/runs qkv::runs)
