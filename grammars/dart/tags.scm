(class_definition name: (identifier) @name) @definition.class
(mixin_declaration (identifier) @name) @definition.class
(extension_declaration name: (identifier) @name) @definition.class
(extension_type_declaration name: (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name) @definition.enum
(type_alias . (type_identifier) @name) @definition.type

(function_signature name: (identifier) @name) @definition.function
(getter_signature name: (identifier) @name) @definition.function
(setter_signature name: (identifier) @name) @definition.function

(method_signature (function_signature name: (identifier) @name)) @definition.method
(method_signature (getter_signature name: (identifier) @name)) @definition.method
(method_signature (setter_signature name: (identifier) @name)) @definition.method
(method_signature (operator_signature (binary_operator) @name)) @definition.method
(method_signature (operator_signature "operator" @name)) @definition.method
(method_signature (constructor_signature name: (identifier) @name . (formal_parameter_list))) @definition.method
(method_signature (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.method
(declaration (function_signature name: (identifier) @name)) @definition.method
(declaration (constructor_signature name: (identifier) @name . (formal_parameter_list))) @definition.method
(declaration (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.method
(declaration (constant_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.method
(declaration (redirecting_factory_constructor_signature . (_) . (identifier) @name)) @definition.method

(static_final_declaration_list (static_final_declaration . (identifier) @name)) @definition.constant

(import_or_export (library_import (import_specification (configurable_uri) @source (identifier) @name))) @import
(import_or_export (library_import (import_specification . (configurable_uri) @name .))) @import
(import_or_export (library_export (configurable_uri) @name)) @import
(part_directive (uri) @name) @import
