(module_definition name: (_) @name) @definition.module

(struct_definition (type_head (identifier) @name)) @definition.struct
(struct_definition (type_head (_ . (identifier) @name))) @definition.struct
(struct_definition (type_head (_ . (_ . (identifier) @name)))) @definition.struct
(abstract_definition (type_head (identifier) @name)) @definition.type
(abstract_definition (type_head (_ . (identifier) @name))) @definition.type
(primitive_definition (type_head (_) @name)) @definition.type

(function_definition (signature (identifier) @name)) @definition.function
(function_definition (signature (call_expression . (_) @name))) @definition.function
(function_definition (signature (_ . (call_expression . (_) @name)))) @definition.function
(function_definition (signature (_ . (_ . (call_expression . (_) @name))))) @definition.function
(macro_definition (signature (call_expression . (_) @name))) @definition.macro

(assignment . (call_expression . (_) @name)) @definition.function
(assignment . (typed_expression . (call_expression . (_) @name))) @definition.function
(assignment . (where_expression . (call_expression . (_) @name))) @definition.function
(const_statement (assignment . (identifier) @name)) @definition.constant

(using_statement (identifier) @name) @import
(using_statement (import_path) @name) @import
(using_statement (selected_import . (_) @source (_) @name)) @import
(import_statement (identifier) @name) @import
(import_statement (import_path) @name) @import
(import_statement (selected_import . (_) @source (_) @name)) @import
