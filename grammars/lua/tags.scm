(function_declaration name: (_) @name) @definition.function

(assignment_statement
  (variable_list . name: (_) @name)
  (expression_list . value: (function_definition))) @definition.function
(variable_declaration
  (assignment_statement
    (variable_list . name: (_) @name)
    (expression_list . value: (function_definition)))) @definition.function
((variable_declaration
  (assignment_statement (variable_list . name: (identifier) @name))) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(field name: (_) @name value: (function_definition)) @definition.function

((function_call
  name: (identifier) @_require
  arguments: (arguments (string (string_content) @name))) @import
  (#eq? @_require "require"))
((variable_declaration
  (assignment_statement
    (variable_list . name: (identifier) @name)
    (expression_list
      value: (function_call
        name: (identifier) @_require
        arguments: (arguments (string (string_content) @source)))))) @import
  (#eq? @_require "require"))
