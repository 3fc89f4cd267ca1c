(function (function_statement name: (_) @name)) @definition.function
(subroutine (subroutine_statement name: (_) @name)) @definition.function
(module (module_statement (name) @name)) @definition.module
(submodule (submodule_statement (name) @name)) @definition.module
(program (program_statement (name) @name)) @definition.module
(derived_type_definition (derived_type_statement (type_name) @name)) @definition.struct

(use_statement (module_name) @source (included_items (identifier) @name)) @import
(use_statement (module_name) @name .) @import
