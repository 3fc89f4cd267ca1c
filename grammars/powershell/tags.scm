(function_statement (function_name) @name) @definition.function
(class_statement . (simple_name) @name) @definition.class
(enum_statement (simple_name) @name) @definition.enum
(class_method_definition (simple_name) @name) @definition.method

((pipeline
  (pipeline_chain
    (command
      command_name: (command_name) @_import
      command_elements: (command_elements . (command_argument_sep) . (generic_token) @name @source)))) @import
  (#match? @_import "^(?i:import-module)$"))
((pipeline
  (pipeline_chain
    (command
      command_name: (command_name) @_using
      command_elements: (command_elements (generic_token) (generic_token) @name)))) @import
  (#match? @_using "^(?i:using)$"))
