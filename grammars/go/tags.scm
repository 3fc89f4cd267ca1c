(function_declaration name: (identifier) @name) @definition.function

(method_declaration name: (field_identifier) @name) @definition.method

(type_declaration (type_spec name: (type_identifier) @name type: (struct_type))) @definition.struct
(type_declaration (type_spec name: (type_identifier) @name type: (interface_type))) @definition.interface
(type_declaration (type_spec name: (type_identifier) @name)) @definition.type
(type_declaration (type_alias name: (type_identifier) @name)) @definition.type

(const_declaration (const_spec name: (identifier) @name)) @definition.constant
(var_declaration (var_spec name: (identifier) @name)) @definition.constant
(var_declaration (var_spec_list (var_spec name: (identifier) @name))) @definition.constant

(import_declaration (import_spec !name path: (_ (_) @name))) @import
(import_declaration (import_spec name: (_) @name path: (_ (_) @source))) @import
(import_declaration (import_spec_list (import_spec !name path: (_ (_) @name)))) @import
(import_declaration (import_spec_list (import_spec name: (_) @name path: (_ (_) @source)))) @import
