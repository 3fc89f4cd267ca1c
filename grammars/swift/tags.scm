(function_declaration name: (_) @name) @definition.function
(protocol_function_declaration name: (_) @name) @definition.method
(class_declaration "struct" name: (_) @name) @definition.struct
(class_declaration "enum" name: (_) @name) @definition.enum
(class_declaration name: (_) @name) @definition.class
(protocol_declaration name: (_) @name) @definition.interface
(typealias_declaration name: (_) @name) @definition.type
(associatedtype_declaration name: (_) @name) @definition.type
(macro_declaration (simple_identifier) @name) @definition.macro
(init_declaration "init" @name) @definition.method
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method

(import_declaration (identifier) @name) @import
