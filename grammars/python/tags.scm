(function_definition name: (identifier) @name) @definition.function

(class_definition name: (identifier) @name) @definition.class

(type_alias_statement left: (type (identifier) @name)) @definition.type

((expression_statement (assignment left: (identifier) @name)) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(import_statement name: (dotted_name) @name) @import
(import_statement name: (aliased_import name: (dotted_name) @source alias: (identifier) @name)) @import
(import_from_statement module_name: (_) @source name: (dotted_name) @name) @import
(import_from_statement module_name: (_) @source name: (aliased_import alias: (identifier) @name)) @import
(import_from_statement module_name: (_) @source (wildcard_import) @name) @import
(future_import_statement name: (dotted_name) @name) @import
