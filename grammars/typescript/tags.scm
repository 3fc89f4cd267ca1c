(abstract_class_declaration name: (type_identifier) @name) @definition.class

(interface_declaration name: (_) @name) @definition.interface

(enum_declaration name: (_) @name) @definition.enum

(type_alias_declaration name: (_) @name) @definition.type

(internal_module name: (_) @name) @definition.module
(module name: (nested_identifier) @name) @definition.module
(module name: (identifier) @name) @definition.module
(module name: (string (string_fragment) @name)) @definition.module

(function_signature name: (identifier) @name) @definition.function

(method_signature name: (_) @name) @definition.method
(abstract_method_signature name: (_) @name) @definition.method

(public_field_definition
  name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.method

(import_statement
  (import_require_clause (identifier) @name source: (string (string_fragment) @source))) @import
