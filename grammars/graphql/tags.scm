(object_type_definition (name) @name) @definition.struct
(input_object_type_definition (name) @name) @definition.struct
(union_type_definition (name) @name) @definition.struct
(interface_type_definition (name) @name) @definition.interface
(enum_type_definition (name) @name) @definition.enum
(scalar_type_definition (name) @name) @definition.type
(directive_definition (name) @name) @definition.macro
(schema_definition "schema" @name) @definition.module

(object_type_extension (name) @name) @definition.struct
(input_object_type_extension (name) @name) @definition.struct
(union_type_extension (name) @name) @definition.struct
(interface_type_extension (name) @name) @definition.interface
(enum_type_extension (name) @name) @definition.enum

(operation_definition (name) @name) @definition.function
(fragment_definition (fragment_name) @name) @definition.function
