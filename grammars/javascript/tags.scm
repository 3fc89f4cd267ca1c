(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function

(class_declaration name: (_) @name) @definition.class

(method_definition name: (_) @name) @definition.method

(field_definition
  property: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.method

(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)])) @definition.function

(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: (call_expression arguments: (arguments . [(arrow_function) (function_expression)])))) @definition.function

(lexical_declaration
  (variable_declarator name: (identifier) @name value: (class))) @definition.class

((lexical_declaration
  (variable_declarator name: (identifier) @name))  @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(variable_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression) (generator_function)])) @definition.function

(variable_declaration
  (variable_declarator name: (identifier) @name value: (class))) @definition.class

(expression_statement
  (assignment_expression
    left: [(identifier) (member_expression)] @name
    right: [(arrow_function) (function_expression) (generator_function)])) @definition.function

(expression_statement
  (assignment_expression
    left: [(identifier) (member_expression)] @name
    right: (class))) @definition.class

(export_statement "default" @name value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(export_statement "default" @name value: (class)) @definition.class

(pair
  key: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.method

(import_statement (import_clause (identifier) @name) source: (string (string_fragment) @source)) @import
(import_statement
  (import_clause (named_imports [(import_specifier name: (_) @name !alias) (import_specifier alias: (_) @name)]))
  source: (string (string_fragment) @source)) @import
(import_statement
  (import_clause (namespace_import (identifier) @name))
  source: (string (string_fragment) @source)) @import
(import_statement . source: (string (string_fragment) @source)) @import
((lexical_declaration
  (variable_declarator
    name: [(identifier) (object_pattern)] @name
    value: (call_expression
      function: (identifier) @_require
      arguments: (arguments . (string (string_fragment) @source))))) @import
  (#eq? @_require "require"))
((variable_declaration
  (variable_declarator
    name: [(identifier) (object_pattern)] @name
    value: (call_expression
      function: (identifier) @_require
      arguments: (arguments . (string (string_fragment) @source))))) @import
  (#eq? @_require "require"))
