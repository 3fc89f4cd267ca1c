(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(namespace_definition name: (namespace_name) @name body: (_)) @definition.module
(const_declaration (const_element . (name) @name)) @definition.constant

(namespace_use_declaration (namespace_use_clause !alias [(qualified_name) (name)] @name)) @import
(namespace_use_declaration (namespace_use_clause . (_) @source alias: (name) @name)) @import
(namespace_use_declaration
  (namespace_name) @source body: (namespace_use_group (namespace_use_clause !alias (_) @name))) @import
(namespace_use_declaration
  (namespace_name) @source body: (namespace_use_group (namespace_use_clause alias: (name) @name))) @import
