(function_def (function_command (argument_list . (argument) @name))) @definition.function
(macro_def (macro_command (argument_list . (argument) @name))) @definition.macro
((normal_command (identifier) @_define (argument_list . (argument) @name)) @definition.constant
  (#match? @_define "^(?i:project|option|set|add_library|add_executable|add_custom_target)$"))

((normal_command (identifier) @_import (argument_list . (argument) @name)) @import
  (#match? @_import "^(?i:include|find_package|add_subdirectory)$"))
