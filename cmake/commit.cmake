# The commit that `berth --version` names, looked at before every build: -DSOURCE=FOLDER -DOUTPUT=FILE -P cmake/commit.cmake. OUTPUT is
# written only where its text changes, so that nothing is compiled or linked otherwise. Outside of git, or without it, the commit is
# $BERTH_COMMIT (packages and images are built so), or empty.
set(commit "$ENV{BERTH_COMMIT}")
find_program(git git)
if(commit STREQUAL "" AND git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  execute_process(COMMAND ${git} -C ${SOURCE} diff --quiet HEAD -- src cmake CMakeLists.txt RESULT_VARIABLE changed ERROR_QUIET)
  if(NOT commit STREQUAL "" AND changed EQUAL 1)
    string(APPEND commit " with changes")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "namespace berth {\nextern const char* const kCommit;\nconst char* const kCommit = \"@commit@\";\n}  // namespace berth\n" @ONLY)
