# Every command of docs/course.md, a test for each lesson; and that docs/course.zh.md has the same lessons.
add_test(NAME Course.IsTheSameInBothLanguages
         COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tests/course/course_test.py texts)
# The mistakes of the lessons are compiled and linked with Ninja's own commands.
if(NOT QKV_SANITIZE AND CMAKE_GENERATOR STREQUAL "Ninja")
  foreach(lesson RANGE 1 8)
    add_test(NAME Course.Lesson${lesson}
             COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/tests/course/course_test.py ${lesson})
    set_tests_properties(Course.Lesson${lesson} PROPERTIES TIMEOUT 300 ENVIRONMENT
      "QKV=$<TARGET_FILE:qkv>;QKV_NINJA=${CMAKE_MAKE_PROGRAM};OMP_WAIT_POLICY=passive")
  endforeach()
endif()
