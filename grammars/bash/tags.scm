(function_definition name: (word) @name) @definition.function

((declaration_command "readonly" (variable_assignment name: (variable_name) @name)) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

((command
  name: (command_name) @_source
  . argument: [(string) (raw_string) (word) (concatenation)] @name) @import
  (#any-of? @_source "source" "."))
