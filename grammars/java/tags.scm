(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.struct
(module_declaration name: (_) @name) @definition.module

(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(compact_constructor_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method

(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant
((field_declaration (modifiers) @_modifiers declarator: (variable_declarator name: (identifier) @name)) @definition.constant
  (#match? @_modifiers "static")
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(import_declaration (_) @name) @import
