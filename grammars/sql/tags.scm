(create_table (object_reference) @name) @definition.struct
(create_view (object_reference) @name) @definition.struct
(create_materialized_view (object_reference) @name) @definition.struct
(create_function (object_reference) @name) @definition.function
(create_trigger (object_reference) @name) @definition.function
(create_type (object_reference) @name) @definition.type
(create_schema (identifier) @name) @definition.module
(create_database (identifier) @name) @definition.module
(create_index column: (_) @name) @definition.field
(create_sequence (object_reference) @name) @definition.field
(create_role (identifier) @name) @definition.field
