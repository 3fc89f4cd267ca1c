(function_declaration (simple_identifier) @name) @definition.function
(class_declaration "interface" (type_identifier) @name) @definition.interface
(class_declaration "enum" (type_identifier) @name) @definition.enum
(class_declaration (type_identifier) @name) @definition.class
(object_declaration (type_identifier) @name) @definition.class
(companion_object "companion" @name) @definition.class
(secondary_constructor "constructor" @name) @definition.method
(type_alias (type_identifier) @name) @definition.type
((property_declaration
  (modifiers (property_modifier) @_const)
  (variable_declaration (simple_identifier) @name)) @definition.constant
  (#eq? @_const "const"))

(import_header (identifier) @name .) @import
(import_header (identifier) @source (import_alias (_) @name)) @import
