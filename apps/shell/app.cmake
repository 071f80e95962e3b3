# Its verbs tell of the verbs of all: of the book, and of the apps whose names come before this one's.
get_property(other_apps GLOBAL PROPERTY QKV_APPS)
list(TRANSFORM other_apps REPLACE "(.+)" "qkv_\\1_verbs")
qkv_app(shell LINKS ${other_apps})
get_property(verbs_of_apps GLOBAL PROPERTY QKV_VERBS_OF_APPS)
list_of_functions(qkv_shell_verbs all_verbs cli/verb.h Verb FILES ${files_of_verbs} ${verbs_of_apps}
                  FIRST ${first_verbs})
qkv_test(apps/shell)
