(function_definition declarator: (function_declarator declarator: (_) @name)) @definition.function
(function_definition declarator: (_ declarator: (function_declarator declarator: (_) @name))) @definition.function
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @definition.function
(function_definition declarator: (operator_cast) @name) @definition.function

(class_specifier name: (_) @name body: (_)) @definition.class
(struct_specifier name: (_) @name body: (_)) @definition.struct
(union_specifier name: (_) @name body: (_)) @definition.struct
(enum_specifier name: (_) @name body: (_)) @definition.enum
(concept_definition name: (_) @name) @definition.interface

(namespace_definition name: (_) @name) @definition.module
(module_declaration name: (_) @name) @definition.module

(type_definition type: (struct_specifier body: (_)) declarator: (type_identifier) @name) @definition.struct
(type_definition type: (enum_specifier body: (_)) declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(alias_declaration name: (type_identifier) @name) @definition.type

(declaration declarator: (function_declarator declarator: (_) @name)) @definition.function
(declaration declarator: (_ declarator: (function_declarator declarator: (_) @name))) @definition.function
(field_declaration declarator: (function_declarator declarator: (_) @name)) @definition.method
(field_declaration declarator: (_ declarator: (function_declarator declarator: (_) @name))) @definition.method
(field_declaration declarator: (reference_declarator (function_declarator declarator: (_) @name))) @definition.method

(preproc_function_def name: (identifier) @name) @definition.macro
(preproc_def name: (identifier) @name value: (_)) @definition.constant

(preproc_include path: (_) @name) @import
(import_declaration name: (_) @name) @import
