(fun_decl clause: (function_clause name: (_) @name)) @definition.function
(record_decl name: (_) @name) @definition.struct
(type_alias name: (type_name name: (_) @name)) @definition.type
(opaque name: (type_name name: (_) @name)) @definition.type
(pp_define lhs: (macro_lhs name: (_) @name)) @definition.macro
(module_attribute name: (_) @name) @definition.constant

(import_attribute module: (_) @source funs: (fa fun: (_) @name)) @import
(pp_include file: (_) @name) @import
(pp_include_lib file: (_) @name) @import
