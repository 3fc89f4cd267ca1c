(class_interface . (identifier) @name) @definition.class
(class_implementation . (identifier) @name) @definition.class
(protocol_declaration . (identifier) @name) @definition.interface
(method_definition (identifier) @name) @definition.method
(method_declaration (identifier) @name) @definition.method

(module_import path: (_) @name) @import
